/**
 * What `npm run bench` measures, part by part. Each part runs in a process of its own, which loads nothing of the others:
 * what one makes the compiler believe, and what it holds, is not what another has to live with.
 */
import type { Comparison, Measured } from "./race.ts"

export interface Part {
  readonly comparisons: ReadonlyArray<Comparison>
  readonly measure: (rounds: number) => Promise<ReadonlyArray<Measured>>
}

export interface Entry {
  /** What it is about, on the page. */
  readonly title: string
  readonly load: () => Promise<Part>
}

export const parts: Readonly<Record<string, Entry>> = {
  call: { title: "Calls", load: () => import("./call.ts") },
  files: { title: "Files", load: () => import("./files.ts") },
  journal: { title: "The journal in files", load: () => import("./journal.ts") },
  mcp: { title: "MCP", load: () => import("./mcp.ts") },
  memory: { title: "Memory", load: () => import("./memory.ts") },
  monitor: { title: "Lines of a process", load: () => import("./monitor.ts") },
  peers: { title: "Other libraries", load: () => import("./peers/peers.ts") },
  process: { title: "Commands", load: () => import("./process.ts") },
  progress: { title: "Progress", load: () => import("./progress.ts") },
  start: { title: "From nothing to the first answer", load: () => import("./start.ts") },
  turn: { title: "Turns with a model", load: () => import("./turn.ts") }
}
