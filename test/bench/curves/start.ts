/**
 * Start and exit of a command, by the memory of the process that starts it: a fork copies the tables of its pages.
 */
import * as child_process from "node:child_process"
import * as path from "node:path"
import type { Curve } from "./Curve.ts"
import type { Sample } from "./start-child.ts"

/** Bytes that are held in addition to what is loaded. */
const sizes = [0, 1e8, 3e8, 1e9, 3e9]

const sampled = (bytes: number) =>
  new Promise<Sample>((resolve, reject) => {
    let sample: Sample | undefined
    child_process
      .fork(path.join(import.meta.dirname, "start-child.ts"), [String(bytes)])
      .on("message", (message) => (sample = message as Sample))
      .on("error", reject)
      .on("exit", (code) =>
        sample === undefined ? reject(new Error(`start-child.ts ended with ${String(code)}`)) : resolve(sample)
      )
  })

export const trace = async (): Promise<ReadonlyArray<Curve>> => {
  const samples: Array<Sample> = []
  for (const size of sizes) samples.push(await sampled(size))
  const points = (of: (sample: Sample) => number) => samples.map((sample) => [sample.rssBytes, of(sample)] as const)
  return [
    {
      id: "start",
      title: "Start and exit of a command",
      x: { label: "what is resident of the process that starts it", unit: "bytes" },
      y: { label: "time", unit: "ns" },
      lines: [
        { name: "true, through bash", cost: "whole", points: points(({ ours }) => ours) },
        { name: "a raw spawn of it", cost: "whole", points: points(({ raw }) => raw) }
      ]
    }
  ]
}
