/**
 * What `npm run bench` measures, part by part. Each part runs in a process of its own, which loads nothing of the others:
 * what one makes the compiler believe, and what it holds, is not what another has to live with.
 */
import type { Profile } from "./profile.ts"
import type { Comparison, Measured } from "./race.ts"

export interface Part {
  readonly comparisons: ReadonlyArray<Comparison>
  readonly measure: (rounds: number) => Promise<ReadonlyArray<Measured>>
  /** Where the time goes, asked for when all has been measured: who is being profiled is slower. */
  readonly profiles?: (() => Promise<ReadonlyArray<Profile>>) | undefined
}

export interface Entry {
  /** What it is about, on the page. */
  readonly title: string
  /** What is done in it. */
  readonly says: string
  readonly load: () => Promise<Part>
}

export const parts: Readonly<Record<string, Entry>> = {
  call: {
    title: "Calls",
    says: "`{ text }` in and `{ text }` out, both validated, no model.",
    load: () => import("./call.ts")
  },
  files: {
    title: "Files",
    says: "200 MB of text in 800 files; one file of 1 GB; a patch of 500 files, all or nothing.",
    load: () => import("./files.ts")
  },
  journal: {
    title: "The journal in files",
    says: "What it costs a call, and how long it takes to open in a fresh process.",
    load: () => import("./journal.ts")
  },
  mcp: {
    title: "MCP",
    says: "From the client's request to its response, as JSON-RPC text in memory.",
    load: () => import("./mcp.ts")
  },
  memory: {
    title: "Memory",
    says: "Heap after collections, by one of many, each in a process of its own.",
    load: () => import("./memory.ts")
  },
  monitor: {
    title: "Lines of a process",
    says: "200,000 lines as events, from the start of the command to its exit.",
    load: () => import("./monitor.ts")
  },
  peers: { title: "Other libraries", says: "Each in a process of its own.", load: () => import("./peers/peers.ts") },
  process: {
    title: "Commands",
    says: "Through the tool `bash`, dispatched, in a process that has little memory: a fork takes the longer the more its parent has.",
    load: () => import("./process.ts")
  },
  progress: {
    title: "Progress",
    says: "100,000 items, each validated by its schema on its way out, then a result; the time of one item.",
    load: () => import("./progress.ts")
  },
  start: {
    title: "From nothing to the first answer",
    says: "A fresh process a sample; caches of the file system and of compiled code are warm.",
    load: () => import("./start.ts")
  },
  turn: {
    title: "Turns with a model",
    says: "With a model that answers at once: it asks for ten trivial calls, gets their results, and says one word.",
    load: () => import("./turn.ts")
  }
}
