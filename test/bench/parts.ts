/**
 * What `npm run bench` measures, part by part. Each part runs in a process of its own: what one makes the compiler
 * believe is not what another has to live with.
 */
import * as Call from "./call.ts"
import * as Files from "./files.ts"
import * as Journal from "./journal.ts"
import * as Mcp from "./mcp.ts"
import * as Monitor from "./monitor.ts"
import * as Process from "./process.ts"
import * as Progress from "./progress.ts"
import type { Comparison, Measured } from "./race.ts"
import * as Start from "./start.ts"
import * as Turn from "./turn.ts"

export interface Part {
  readonly comparisons: ReadonlyArray<Comparison>
  readonly measure: (rounds: number) => Promise<ReadonlyArray<Measured>>
}

export const parts: Readonly<Record<string, Part>> = {
  call: Call,
  files: Files,
  journal: Journal,
  mcp: Mcp,
  monitor: Monitor,
  process: Process,
  progress: Progress,
  start: Start,
  turn: Turn
}
