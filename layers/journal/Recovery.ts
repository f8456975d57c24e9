/**
 * What becomes of the calls that a dead process left without a terminal: each gets
 * exactly one.
 *
 * - It is known that its tool did not start: `Interrupted`, phase `not-started`.
 * - Its tool changes nothing by being run twice, says the program it is compiled into:
 *   the call is made again, under its id, as the next attempt.
 * - Anything else is `Lost`: whether it was executed is not known. Of the processes that it left, and that were ended
 *   since, it is told which.
 *
 * To recover again, or to be killed while recovering, changes nothing: what has a
 * terminal keeps it, and what has none is found again.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Accepted, type JournalError, type OpenCall, Records, type Service } from "../../src/Journal.ts"
import { type Leftover, nameLeft, Processes } from "../../src/Processes.ts"
import * as Session from "../../src/Session.ts"
import type { ToolCall } from "../../src/ToolCall.ts"
import { fromReason, Interrupted, Lost, type ToolErrorReason } from "../../src/ToolError.ts"
import { Terminal } from "../../src/ToolEvent.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"

/**
 * A call that was open, and how it ended.
 *
 * @category models
 * @since 0.1.0
 */
export const Recovered = Schema.Struct({
  call: Accepted.fields.call,
  /** Made again as this attempt; absent if it was not. */
  attempt: Schema.optionalKey(Schema.Natural),
  terminal: Terminal
})
export type Recovered = typeof Recovered.Type

/** A call that took the process down so often is not made again. */
const maxAttempts = 3

/** Calls that are made again at the same time. */
const concurrency = 4

/**
 * Ends every call that a dead process left open, in the order of their acceptance.
 *
 * @category recovery
 * @since 0.1.0
 */
export const recover: Effect.Effect<ReadonlyArray<Recovered>, JournalError, Records | ToolRuntime> = Effect.gen(
  function* () {
    const records = yield* Records
    const runtime = yield* ToolRuntime
    const processes = yield* Effect.serviceOption(Processes)
    const leftovers = processes._tag === "Some" ? processes.value.leftovers : []
    const open = yield* records.claim
    return (yield* Effect.forEach(
      open,
      (call) => {
        const fate = fateOf(call, leftovers)
        return fate._tag === "Repeat"
          ? repeated(runtime, call, fate.parameters, fate.attempt)
          : settled(records, call, fate.reason)
      },
      { concurrency }
    )).filter((recovered) => recovered !== undefined)
  }
).pipe(Effect.withSpan("Recovery.recover"))

type Fate =
  | { readonly _tag: "Settle"; readonly reason: ToolErrorReason }
  | { readonly _tag: "Repeat"; readonly parameters: unknown; readonly attempt: number }

const fateOf = ({ accepted, decoded, started }: OpenCall, leftovers: ReadonlyArray<Leftover>): Fate => {
  if (decoded !== undefined) {
    // The start of what changes something is durable before it happens.
    if (started === undefined && !decoded.readOnly) {
      return { _tag: "Settle", reason: new Interrupted({ why: "the process crashed", phase: "not-started" }) }
    }
    const attempt = (started?.attempt ?? 1) + 1
    if ((started?.repeatable ?? decoded.readOnly) && !decoded.hidden && attempt <= maxAttempts) {
      return { _tag: "Repeat", parameters: decoded.parameters, attempt }
    }
  }
  const ended = leftovers.filter(({ callId }) => callId === accepted.call.callId)
  const detail = `What it left running was ended when the program started again: ${ended.map(nameLeft).join(", ")}.`
  return { _tag: "Settle", reason: new Lost(ended.length === 0 ? {} : { detail }) }
}

/** The call is somebody else's by now: it has a terminal, or was claimed by another. */
const others: ReadonlySet<JournalError["reason"]> = new Set(["Settled", "Closed"])

/** Undefined if it is somebody else's. */
const settled = (
  records: Service,
  { accepted, nextSeq, started }: OpenCall,
  reason: ToolErrorReason
): Effect.Effect<Recovered | undefined, JournalError> =>
  Effect.gen(function* () {
    const { call } = accepted
    const now = yield* Clock.currentTimeMillis
    const { callId, externalId } = call
    const terminal: Terminal = {
      _tag: "Terminal",
      callId,
      ...(externalId === undefined ? {} : { externalId }),
      result: { _tag: "Failure", error: fromReason(call, reason) },
      stats: {
        durationMs: since(accepted.at, now),
        queuedMs: since(accepted.at, started?.at ?? now),
        progress: { emitted: nextSeq, delivered: nextSeq, merged: 0, dropped: 0 }
      }
    }
    return yield* Effect.matchEffect(records.write(terminal, "durable"), {
      onFailure: (error) => (others.has(error.reason) ? Exit.succeed(undefined) : Exit.fail(error)),
      onSuccess: () => Exit.succeed({ call, terminal })
    })
  })

/** In whole ms. The clock may have been set back in between. */
const since = (from: number, to: number): number => Math.max(0, Math.round(to - from))

/** In a session like its own, which ends with it. */
const repeated = (
  runtime: ToolRuntime["Service"],
  { accepted, approved, nextSeq }: OpenCall,
  parameters: unknown,
  attempt: number
): Effect.Effect<Recovered | undefined> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { sessionId } = accepted.call
      const session = yield* Session.make({ workspace: accepted.workspace, id: sessionId })
      const call: ToolCall = { ...accepted.call, parameters }
      const last = yield* runtime.resume(call, { attempt, seq: nextSeq, approval: approved }).pipe(
        Stream.filter((event) => event._tag === "Terminal"),
        Stream.runLast,
        Effect.provideService(Session.CurrentSession, session)
      )
      return last._tag === "None" ? undefined : { call: accepted.call, attempt, terminal: last.value }
    })
  )
