/**
 * `call`: one call, its progress as it comes, then its result.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import * as ToolCall from "../../src/ToolCall.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import { Signals } from "../node/Signals.ts"
import * as Follow from "./Follow.ts"
import * as JsonLines from "../JsonLines.ts"

/**
 * Where the parameters of a call are.
 *
 * @category models
 * @since 0.1.0
 */
export type Source<E, R> = { readonly text: string } | { readonly bytes: Stream.Stream<Uint8Array, E, R> }

/**
 * Runs the call. Gives whether it succeeded.
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fn("cli.call")(function* <E, R>(
  options: { readonly name: string; readonly id: string | undefined; readonly parameters: Source<E, R> },
  manner: Follow.Manner
) {
  const runtime = yield* ToolRuntime
  const signals = yield* Signals
  const line =
    "text" in options.parameters
      ? { text: options.parameters.text }
      : // Who ends the program while it waits for parameters gets the terminal of a call without any.
        yield* Effect.raceFirst(JsonLines.whole(options.parameters.bytes), Effect.as(signals.first, { text: "" }))
  const call = yield* ToolCall.fromText({ name: options.name, text: line.text, externalId: options.id })
  const unreadable = "unreadable" in line ? line.unreadable : undefined
  return yield* Follow.follow(unreadable === undefined ? call : { ...call, malformed: unreadable }, manner, runtime)
})
