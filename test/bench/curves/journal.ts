/**
 * Calls in a journal in files: the time of writing each, until all is in the files, and of opening it again in a fresh
 * process, which claims what is open; and the most memory that this process has.
 */
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fill, openOf } from "../journal-fill.ts"
import { median } from "../race.ts"
import type { Curve } from "./Curve.ts"

const sizes = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]
const rounds = 3
/** What takes a minute has one. */
const roundsOf = (size: number) => (size >= 1_000_000 ? 1 : rounds)

interface Opening {
  readonly ms: number
  readonly rssBytes: number
}

interface Sample {
  readonly writeMs: number
  readonly opening: Opening
}

/** Of one journal: they differ by whether the collector came in between. */
const openings = 3

const sampled = async (directory: string, size: number): Promise<Sample> => {
  const start = performance.now()
  await Effect.runPromise(fill(directory, size))
  const writeMs = performance.now() - start
  const opened = Array.from({ length: openings }, (): Opening => {
    const args = [path.join(import.meta.dirname, "../journal-open.ts"), directory, String(openOf(size))]
    const { stderr, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" })
    if (stdout === "") throw new Error(stderr)
    return JSON.parse(stdout)
  })
  const of = (value: (opening: Opening) => number) => median(opened.map(value))
  return { writeMs, opening: { ms: of(({ ms }) => ms), rssBytes: of(({ rssBytes }) => rssBytes) } }
}

export const trace = async (): Promise<ReadonlyArray<Curve>> => {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "bench-journals-")))
  try {
    // What compiles the code of writing is no part of it.
    await sampled(path.join(folder, "first"), 10_000)
    const found: Array<readonly [size: number, samples: ReadonlyArray<Sample>]> = []
    for (const size of sizes) {
      const samples: Array<Sample> = []
      for (let round = 0; round < roundsOf(size); round++) {
        const directory = path.join(folder, `${size}-${round}`)
        samples.push(await sampled(directory, size))
        fs.rmSync(directory, { recursive: true })
      }
      found.push([size, samples])
    }
    const points = (of: (sample: Sample, size: number) => number) =>
      found.map(([size, samples]) => [size, median(samples.map((sample) => of(sample, size)))] as const)
    const x = { label: "calls in the journal", unit: "count" } as const
    return [
      {
        id: "journal",
        title: "Calls in a journal in files",
        x,
        y: { label: "time of each", unit: "ns" },
        lines: [
          { name: "writing each", cost: "each", points: points(({ writeMs }, size) => (writeMs * 1e6) / size) },
          { name: "opening, of each", cost: "each", points: points(({ opening }, size) => (opening.ms * 1e6) / size) }
        ]
      },
      {
        id: "journal-memory",
        title: "Memory of a process that opens a journal",
        x,
        y: { label: "resident, at most", unit: "bytes" },
        lines: [{ name: "all that is resident", cost: "whole", points: points(({ opening }) => opening.rssBytes) }]
      }
    ]
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
