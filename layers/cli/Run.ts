/**
 * `run`: many calls, one a line, side by side.
 *
 * **Contract**
 *
 * - A call starts when its line is read, without waiting for the next; or, with
 *   `after`, when the terminals of the calls it names have been printed.
 * - Every line that was read and is not blank has exactly one terminal. A signal ends
 *   the reading, and what runs or waits.
 * - An id is accepted once. A repetition is a `DuplicateCall`, also of a call that
 *   still waits.
 * - No more lines are read than there are calls in flight: see `maxCalls`.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { DuplicateCall, InvalidParameters } from "../../src/ToolError.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import { Signals } from "../node/Signals.ts"
import * as Follow from "./Follow.ts"
import * as JsonLines from "../JsonLines.ts"
import * as Request from "./Request.ts"

/**
 * Calls in flight or waiting. More would run out of file descriptors and memory, less would be felt by a batch that
 * is really meant to run at once.
 */
const maxCalls = 256

/** The name of a call whose line does not tell it. */
const nameless = "(unknown)"

/**
 * Runs what the lines ask for. Gives whether all of it succeeded.
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fn("cli.run")(function* <E, R>(
  input: Stream.Stream<Uint8Array, E, R>,
  manner: Follow.Manner
) {
  const runtime = yield* ToolRuntime
  const signals = yield* Signals
  const batch = yield* runtime.batch
  /** By id: done when its terminal has been printed. */
  const ends = new Map<string, Deferred.Deferred<void>>()

  /** In the order of the lines: what a line refers to is what came before it. */
  const accept = ({ after, call, issues }: Request.Request) => {
    const id = call.externalId
    const unknown = after.flatMap((id, index) =>
      ends.has(id) ? [] : [{ path: ["after", index], message: `No earlier line has the id ${JSON.stringify(id)}` }]
    )
    const repeated = id !== undefined && ends.has(id)
    const end = Deferred.makeUnsafe<void>()
    if (id !== undefined && !repeated) ends.set(id, end)
    const awaited = after.flatMap((id) => ends.get(id) ?? [])
    const problems = [...issues, ...unknown]
    const named = call.name === "" ? { ...call, name: nameless } : call
    const outcome = repeated
      ? Follow.refuse(named, new DuplicateCall(), manner)
      : problems.length > 0
        ? Follow.refuse(named, new InvalidParameters({ issues: problems }), manner)
        : Effect.raceFirst(
            Effect.as(Effect.forEach(awaited, Deferred.await, { discard: true }), true),
            Effect.as(signals.first, false)
          ).pipe(
            Effect.flatMap((released) =>
              released ? Follow.follow(call, manner, batch) : Follow.interrupted(call, manner)
            )
          )
    return Effect.ensuring(outcome, Deferred.succeed(end, undefined))
  }

  return yield* JsonLines.lines(input, signals.first).pipe(
    Stream.mapEffect((line) => Effect.map(Request.fromLine(line), accept)),
    Stream.mapEffect((outcome) => outcome, { concurrency: maxCalls, unordered: true }),
    Stream.runFold(
      () => true,
      (all, succeeded) => all && succeeded
    )
  )
})
