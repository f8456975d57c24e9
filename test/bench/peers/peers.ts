/**
 * What other libraries take for the same. Each is raced in a process of its own, beside ours and beside what needs no
 * library: what one makes the compiler believe, and the garbage that it leaves, is not what another has to live with.
 */
import * as child_process from "node:child_process"
import * as path from "node:path"
import type { PeerResults } from "../document.ts"
import type { Comparison, Measured, Unit } from "../race.ts"
import * as Calls from "./call.ts"
import type { Peer } from "./Peer.ts"
import * as Processes from "./process.ts"

export interface Task {
  readonly title: string
  readonly ours: string
  /** What needs no library. */
  readonly raw: string
  readonly unit: Unit
  readonly peers: Readonly<Record<string, Peer<unknown>>>
}

export const tasks = {
  call: {
    title: "A trivial call",
    ours: "a trivial call, dispatched",
    raw: "an async generator with zod",
    unit: "ns/call",
    peers: Calls.peers
  },
  start: {
    title: "Start and exit of a command",
    ours: "start and exit of `true` through bash, dispatched",
    raw: "a raw spawn",
    unit: "ms",
    peers: Processes.peers
  },
  "1gib": {
    title: "1 GiB of output",
    ours: "1 GiB through bash, dispatched",
    raw: "a raw spawn's 'data' events",
    unit: "ms",
    peers: Processes.peers
  }
} as const satisfies Readonly<Record<string, Task>>

export type TaskName = keyof typeof tasks

/** Ours beside a peer's, and the peer's over what needs no library. */
export const comparisonsOf = (name: TaskName, peer: string): readonly [Comparison, Comparison] => {
  const { ours, raw, unit, peers }: Task = tasks[name]
  const theirs = peers[peer]!.what
  const id = `peers.${name}.${peer}`
  return [
    { id, ours, theirs, unit, floor: null },
    { id: `${id}.over-raw`, ours: theirs, theirs: raw, unit, floor: null, lowerIsBetter: true }
  ]
}

/** Rows of `measure`, task by task. */
export const byTask = (measured: ReadonlyArray<Measured>): ReadonlyArray<PeerResults> =>
  names.map((name) => {
    const { ours, peers, raw, title }: Task = tasks[name]
    return {
      title,
      ours,
      raw,
      peers: Object.entries(peers).map(([peer, { package: of }]) => {
        const [beside, overRaw] = comparisonsOf(name, peer).map(({ id }) => measured.find(({ row }) => row.id === id))
        if (beside === undefined || overRaw === undefined) throw new Error(`${name} of ${peer} was not measured`)
        return { package: of, beside, overRaw }
      })
    }
  })

const names = Object.keys(tasks) as ReadonlyArray<TaskName>

export const comparisons: ReadonlyArray<Comparison> = names.flatMap((name) =>
  Object.keys(tasks[name].peers).flatMap((peer) => comparisonsOf(name, peer))
)

const raced = (name: TaskName, peer: string, rounds: number) =>
  new Promise<ReadonlyArray<Measured>>((resolve, reject) => {
    let measured: ReadonlyArray<Measured> | undefined
    child_process
      .fork(path.join(import.meta.dirname, "measure.ts"), [name, peer, String(rounds)], {
        execArgv: ["--no-flush-bytecode"]
      })
      .on("message", (message) => (measured = message as ReadonlyArray<Measured>))
      .on("error", reject)
      .on("exit", (code) =>
        measured === undefined ? reject(new Error(`${name} of ${peer} ended with ${String(code)}`)) : resolve(measured)
      )
  })

export const measure = async (rounds: number): Promise<ReadonlyArray<Measured>> => {
  const all: Array<Measured> = []
  for (const name of names) {
    for (const peer of Object.keys(tasks[name].peers)) all.push(...(await raced(name, peer, rounds)))
  }
  return all
}
