/**
 * One call, from its acceptance to its terminal: printed, limited, and cancelled
 * when the user wants the program to end.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { CurrentClocks } from "../../src/Clocks.ts"
import { coalesceAsDeclared, CurrentProgressPolicy } from "../../src/ProgressPolicy.ts"
import type { ToolCall } from "../../src/ToolCall.ts"
import { Interrupted, type ToolErrorReason } from "../../src/ToolError.ts"
import type * as ToolEvent from "../../src/ToolEvent.ts"
import { type Dispatch, ToolRuntime } from "../../src/ToolRuntime.ts"
import { Signals } from "../node/Signals.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import * as Printer from "./Printer.ts"

/**
 * How calls are printed and limited.
 *
 * @category models
 * @since 0.1.0
 */
export interface Manner {
  readonly printer: Printer.Make
  /** Whether progress that waits for a slow reader is merged, where its tool can: a person reads the same text. */
  readonly merges: boolean
  /** In ms, of each call. */
  readonly cancelAfter: number | undefined
  /** The total clock in ms, of each call. */
  readonly timeout: number | undefined
}

/** Between two attempts to cancel a call that is not accepted yet, in ms. */
const again = 2

/**
 * Runs a call and prints its events. Gives whether it ended with a success.
 *
 * @category running
 * @since 0.1.0
 */
export const follow = Effect.fn("cli.follow")(function* (call: ToolCall, manner: Manner, { events }: Dispatch) {
  const runtime = yield* ToolRuntime
  const signals = yield* Signals
  if (yield* signals.received) return yield* interrupted(call, manner)
  const print = manner.printer(yield* StandardStreams, call)
  const outcome = { succeeded: false }
  const run = events(call).pipe(
    Stream.runForEach((event) => {
      outcome.succeeded = isSuccess(event)
      return print(event)
    }),
    Effect.provideService(CurrentClocks, manner.timeout === undefined ? {} : { total: manner.timeout }),
    Effect.provideService(CurrentProgressPolicy, manner.merges ? coalesceAsDeclared : undefined)
  )
  const why =
    manner.cancelAfter === undefined
      ? signals.first
      : Effect.raceFirst(
          signals.first,
          Effect.as(Effect.sleep(manner.cancelAfter), `cancelled after ${manner.cancelAfter} ms`)
        )
  const cancel = Effect.flatMap(why, (why) =>
    Effect.repeat(runtime.cancel(call.callId, why), {
      until: (cancelled) => cancelled,
      schedule: Schedule.spaced(again)
    })
  )
  yield* Effect.raceFirst(run, Effect.andThen(cancel, Effect.never))
  return outcome.succeeded
})

/**
 * Prints the terminal of a call that is not executed, for a reason that only the
 * command line knows. Gives that it did not succeed.
 *
 * @category running
 * @since 0.1.0
 */
export const refuse = Effect.fnUntraced(function* (call: ToolCall, reason: ToolErrorReason, manner: Manner) {
  const runtime = yield* ToolRuntime
  const print = manner.printer(yield* StandardStreams, call)
  yield* Stream.runForEach(runtime.refuse(call, reason), print)
  return false
})

/**
 * Prints the terminal of a call that was still waiting when the user ended the program.
 *
 * @category running
 * @since 0.1.0
 */
export const interrupted = (call: ToolCall, manner: Manner) =>
  Effect.flatMap(Signals, ({ first }) =>
    Effect.flatMap(first, (why) => refuse(call, new Interrupted({ why, phase: "not-started" }), manner))
  )

const isSuccess = (event: ToolEvent.ToolEvent): boolean => event._tag === "Terminal" && event.result._tag === "Success"
