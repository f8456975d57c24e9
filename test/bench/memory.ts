/**
 * What is held for a call in flight, for a registered tool, for a session; and what is left of a million calls. Heap after
 * collections, each in a process of its own, see `memory-child.ts`.
 */
import * as child_process from "node:child_process"
import * as path from "node:path"
import type { Held } from "./memory-child.ts"
import { compare, type Comparison } from "./race.ts"

const call = "a call in flight, whose tool sleeps"
const promise = "a promise that waits for a timer"
const tool = "a tool that is registered and was listed"
const aiTool = "a tool of an effect/ai Toolkit"
const session = "a session, with a call in it"
const million = "what is left of a million calls"
const oneByte = "1 byte"
const oneMegabyte = "1 MB"

const comparison = { unit: "bytes", floor: null, lowerIsBetter: true } as const
export const comparisons: ReadonlyArray<Comparison> = [
  { ...comparison, id: "memory.call.vs-promise", ours: call, theirs: promise },
  { ...comparison, id: "memory.tool.vs-toolkit", ours: tool, theirs: aiTool },
  { ...comparison, id: "memory.session", ours: session, theirs: oneByte },
  { ...comparison, id: "memory.million-calls", ours: million, theirs: oneMegabyte, unit: "MB" }
]

const asked: ReadonlyArray<readonly [name: string, held: Held]> = [
  [call, "call"],
  [promise, "promise"],
  [tool, "tool"],
  [aiTool, "aiTool"],
  [session, "session"],
  [million, "million"]
]

/** They differ by little. */
const maxRounds = 3

/** Without the flags of the races: code that is not used is thrown away, as in any program. */
const heldBy = (held: Held) =>
  new Promise<number>((resolve, reject) => {
    let bytes = Number.NaN
    child_process
      .fork(path.join(import.meta.dirname, "memory-child.ts"), [held], { execArgv: [] })
      .on("message", (message) => (bytes = Number(message)))
      .on("error", reject)
      .on("exit", (code) => (code === 0 ? resolve(bytes) : reject(new Error(`${held} ended with ${String(code)}`))))
  })

export const measure = async (rounds: number) => {
  const names = [...asked.map(([name]) => name), oneByte, oneMegabyte]
  const samples = new Map<string, Array<number>>(names.map((name) => [name, []]))
  for (let round = 0; round < Math.min(rounds, maxRounds); round++) {
    for (const [name, held] of asked) samples.get(name)!.push(await heldBy(held))
    samples.get(oneByte)!.push(1)
    samples.get(oneMegabyte)!.push(1e6)
  }
  return compare(samples, comparisons)
}
