/**
 * How the program ends: the status it exits with, and the one line it says if
 * something is wrong.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as PlainText from "../../src/PlainText.ts"
import { Signals } from "../node/Signals.ts"
import { StandardStreams } from "../node/StandardStreams.ts"

/** Every terminal is a success. */
export const succeeded = 0

/** Some terminal is a failure, or not every terminal could be written. */
export const failed = 1

/** Nothing wrong with a call: the flags are, or a file cannot be read. */
export const usage = 2

/** A bug of the program. `EX_SOFTWARE` of sysexits(3). */
export const internal = 70

/** Ended by a signal, after all terminals were written. */
export const interrupted = 130

/**
 * The command line asks for what cannot be done. Nothing, or nothing more, was run.
 *
 * @category errors
 * @since 0.1.0
 */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", {
  /** What is wrong and what to do about it, on one line. */
  message: Schema.String
}) {}

/**
 * Where a subcommand leaves its status.
 *
 * @category services
 * @since 0.1.0
 */
export class ExitStatus extends Context.Service<
  ExitStatus,
  {
    readonly set: (status: number) => Effect.Effect<void>
    readonly get: Effect.Effect<number>
  }
>()("toolstream/cli/ExitStatus") {}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<ExitStatus["Service"]> = Effect.sync(() => {
  let status = succeeded
  return ExitStatus.of({
    set: (given) =>
      Effect.sync(() => {
        status = given
      }),
    get: Effect.sync(() => status)
  })
})

/**
 * The status of a failed program and what it says on stderr. No line where it has been said.
 *
 * @category converting
 * @since 0.1.0
 */
export const ofFailure = (
  exit: Exit.Failure<unknown, unknown>
): { readonly status: number; readonly line?: string } => {
  const error = Cause.squash(exit.cause)
  if (Cause.hasInterruptsOnly(exit.cause)) return { status: interrupted }
  switch (tagOf(error)) {
    case "ShowHelp":
      return { status: usage }
    case "UsageError":
    case "PluginFailed":
    case "StorageError":
      return { status: usage, line: lineOf(messageOf(error)) }
    case "OutputClosed":
      return { status: failed, line: lineOf(messageOf(error)) }
    default:
      return { status: internal, line: lineOf(`internal error: ${messageOf(error)}`) }
  }
}

/**
 * Runs a subcommand, and gives the status to exit with. What there is to say about a failure has been said.
 *
 * @category running
 * @since 0.1.0
 */
export const of = Effect.fnUntraced(function* <A, E, R>(subcommand: Effect.Effect<A, E, R>) {
  const status = yield* make
  const { talk } = yield* StandardStreams
  const signals = yield* Signals
  const exit = yield* Effect.exit(Effect.provideService(subcommand, ExitStatus, status))
  if (Exit.isSuccess(exit)) return yield* status.get
  const failure = ofFailure(exit)
  yield* talk(failure.line ?? "")
  // Ctrl-C ends a whole pipeline: that nobody reads the terminals any more is part of it.
  return failure.status === failed && (yield* signals.received) ? interrupted : failure.status
})

/**
 * Something to say on stderr, on one line.
 *
 * @category converting
 * @since 0.1.0
 */
export const lineOf = (text: string): string => `toolstream: ${PlainText.makeLine(text.replace(/\s*\n\s*/g, " "))}\n`

const tagOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined

const messageOf = (error: unknown): string => (error instanceof Error ? error.message || error.name : String(error))
