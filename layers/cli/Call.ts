/**
 * `call`: one call, its progress as it comes, then its result.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stdio from "effect/Stdio"
import type * as Stream from "effect/Stream"
import * as ToolCall from "../../src/ToolCall.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import { Signals } from "../node/Signals.ts"
import * as Follow from "./Follow.ts"
import * as JsonLines from "../JsonLines.ts"
import { reading } from "./PlatformReason.ts"
import * as Printer from "./Printer.ts"
import { type Options, withJournal } from "./WithTools.ts"

/**
 * Where the parameters of a call are.
 *
 * @category models
 * @since 0.1.0
 */
export type Source<E, R> = { readonly text: string } | { readonly bytes: Stream.Stream<Uint8Array, E, R> }

/**
 * What the subcommand is given.
 *
 * @category models
 * @since 0.1.0
 */
export interface Given extends Options {
  readonly name: string
  /** JSON, or `-` for what is read from stdin. */
  readonly parameters: string
  readonly id: string | undefined
  readonly json: boolean
  /** In ms. */
  readonly cancelAfter: number | undefined
  /** In ms. */
  readonly timeout: number | undefined
  readonly journal: string | undefined
}

/**
 * The subcommand.
 *
 * @category running
 * @since 0.1.0
 */
export const command = (given: Given) =>
  withJournal(
    // What a dead program left open may be made again, by whatever tool it was.
    given.journal === undefined ? { ...given, only: given.name } : given,
    Effect.gen(function* () {
      const { cancelAfter, id, json, name, parameters, timeout } = given
      const { stdin } = yield* Stdio.Stdio
      return yield* run(
        { name, id, parameters: parameters === "-" ? { bytes: reading("stdin", stdin) } : { text: parameters } },
        { printer: json ? Printer.json : Printer.plain, merges: !json, cancelAfter, timeout }
      )
    })
  )

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
