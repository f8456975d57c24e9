/**
 * A tool that is watched from inside of the runtime: what it gave, and whether it
 * still runs, whatever anybody else says about it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { ErasedTool } from "../../../src/ErasedTool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"

/** One run of the tool. */
export interface Run {
  readonly callId: string
  /** Progress, encoded, as far as it was given before the end. */
  readonly emitted: Array<unknown>
  /** Progress that was given after the end. */
  late: number
  open: boolean
}

export interface Watched {
  readonly tool: ErasedTool
  readonly runs: ReadonlyArray<Run>
}

export const watch = (tool: ErasedTool): Watched => {
  const runs: Array<Run> = []
  return {
    runs,
    tool: {
      ...tool,
      run: (prepared) =>
        ToolStream.suspend(() => {
          const run: Run = { callId: prepared.call.callId, emitted: [], late: 0, open: true }
          runs.push(run)
          return tool.run(prepared).pipe(
            ToolStream.mapProgress((value) => {
              if (run.open) run.emitted.push(value)
              else run.late++
              return value
            }),
            ToolStream.lift(
              Effect.onExit(() =>
                Effect.sync(() => {
                  run.open = false
                })
              )
            )
          )
        })
    }
  }
}
