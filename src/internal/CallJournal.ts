/**
 * What the journal is told of one call, and what becomes of the call when it cannot be.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { isDone } from "./Done.ts"
import type { Accepted, Durability, Entry, JournalError, Writer } from "../Journal.ts"
import type { Extent } from "../Permission.ts"
import type { Session } from "../Session.ts"
import type { ToolCall } from "../ToolCall.ts"
import * as ToolContent from "../ToolContent.ts"
import { fromReason, type ToolError, ToolErrorReason, ToolFailed, Unavailable } from "../ToolError.ts"
import type * as ToolEvent from "../ToolEvent.ts"
import type { PreparedCall } from "../ToolMiddleware.ts"
import { isOwn } from "../ToolRegistry.ts"
import type { ToolResult } from "../ToolResult.ts"

const utf8 = new TextEncoder()

/** A watermark is written when this time has passed since the last. */
const watermarkMs = 1000

/** @internal */
export class CallJournal {
  private readonly journal: Writer
  private readonly call: ToolCall
  private readonly clock: Clock.Clock
  private readonly attempt: number
  /** Of the call as it is going to run. */
  private prepared: PreparedCall | undefined
  private accepted = false
  private begun = false
  private emitted = 0
  private bytes = 0
  private markedAt = -Infinity

  constructor(journal: Writer, call: ToolCall, clock: Clock.Clock, attempt: number) {
    this.journal = journal
    this.call = call
    this.clock = clock
    this.attempt = attempt
  }

  /** Its time and place in the journal. A call that is made again has both. */
  accept(session: Session): Effect.Effect<void, ToolError> {
    if (this.attempt > 1) {
      this.accepted = true
      return Exit.void
    }
    const { callId, externalId, name, sessionId } = this.call
    const call: Accepted["call"] =
      externalId === undefined ? { callId, sessionId, name } : { callId, sessionId, externalId, name }
    return this.keep({ _tag: "Accepted", call, workspace: session.workspace, at: this.now }, "buffered", () => {
      this.accepted = true
    })
  }

  decoded(prepared: PreparedCall): Effect.Effect<void, ToolError> {
    this.prepared = prepared
    const { tool } = prepared
    const redact = tool.redact?.parameters
    return Effect.flatMap(
      Effect.zip(prepared.parametersHash, tool.encodeParameters(prepared.parameters)),
      ([parametersHash, parameters]) =>
        this.keep({
          _tag: "Decoded",
          callId: this.call.callId,
          parameters: redact === undefined ? parameters : redact(parameters),
          parametersHash,
          hidden: redact !== undefined,
          readOnly: readOnly(prepared)
        })
    )
  }

  approved(by: string, extent: Extent, parametersHash: string): Effect.Effect<void, ToolError> {
    return this.keep({ _tag: "Approved", callId: this.call.callId, by, extent, parametersHash, at: this.now })
  }

  /** Durable before the tool runs, where it may change something. Undefined if that has been told. */
  started(): Effect.Effect<void, ToolError> | undefined {
    const { attempt, prepared } = this
    if (this.begun || prepared === undefined) return undefined
    this.begun = true
    return this.keep(
      { _tag: "Started", callId: this.call.callId, attempt, repeatable: repeatable(prepared), at: this.now },
      // What takes the process down must not be made again for ever.
      readOnly(prepared) && attempt === 1 ? "buffered" : "durable"
    )
  }

  /** The values, or how far they have come. A journal that takes none of it says so at the terminal. */
  progress(events: ReadonlyArray<ToolEvent.Progress>): Effect.Effect<void> | undefined {
    if (this.journal.progress === "full") {
      const redact = this.prepared?.tool.redact?.progress
      const hidden = redact === undefined ? events : events.map((event) => ({ ...event, value: redact(event.value) }))
      return untold(Effect.forEach(hidden, (event) => this.journal.write(event, "buffered"), { discard: true }))
    }
    for (const { value } of events) this.bytes += utf8.encode(JSON.stringify(value) ?? "null").length
    this.emitted += events.length
    if (this.now - this.markedAt < watermarkMs) return undefined
    this.markedAt = this.now
    const { bytes, emitted } = this
    const { callId, seq } = events.at(-1)!
    return untold(this.journal.write({ _tag: "Watermark", callId, seq, emitted, bytes }, "buffered"))
  }

  /** Durable before anybody sees it. Gives why it is not. */
  terminal(terminal: ToolEvent.Terminal): Effect.Effect<string | undefined> {
    // What the journal did not take at its beginning has no end in it.
    if (!this.accepted) return Exit.succeed(undefined)
    const entry = hiding(terminal, this.prepared)
    return Effect.matchCauseEffect(whole(this.journal.write(entry, "durable")), {
      onFailure: (cause) => {
        const failed = cause.reasons.find((reason) => reason._tag === "Fail")
        return Effect.as(
          Effect.logError(`the end of ${this.call.callId} is not in the journal`, cause),
          failed === undefined ? "the journal failed" : failed.error.detail
        )
      },
      onSuccess: () => Exit.succeed(undefined)
    })
  }

  private get now(): number {
    return this.clock.currentTimeMillisUnsafe()
  }

  /** Or the call does not go on: nothing that may have happened is unknown to the journal. */
  private keep(
    entry: Entry,
    durability: Durability = "buffered",
    /** Called in one step with the writing: an interruption comes before both, or after. */
    written?: () => void
  ): Effect.Effect<void, ToolError> {
    const write = this.journal.write(entry, durability)
    return Effect.catchCause(whole(written === undefined ? write : Effect.map(write, written)), (cause) => {
      const failed = cause.reasons.find((reason) => reason._tag === "Fail")
      const refusal = Exit.fail(
        fromReason(
          this.call,
          new Unavailable({
            detail: failed === undefined ? "the journal failed" : `the journal takes no calls: ${failed.error.detail}`
          })
        )
      )
      return failed === undefined ? Effect.andThen(Effect.logError("journal", cause), refusal) : refusal
    })
  }
}

/** A claim of a tool that is not compiled into the program counts for nothing. */
const readOnly = ({ origin, tool }: PreparedCall): boolean => isOwn(tool, origin) && tool.descriptor.hints.readOnly

/** Whether to run it twice is the same as to run it once. */
export const repeatable = (prepared: PreparedCall): boolean =>
  readOnly(prepared) || (isOwn(prepared.tool, prepared.origin) && prepared.tool.descriptor.hints.idempotent)

/** What it began to write it writes. */
const whole = (effect: Effect.Effect<void, JournalError>): Effect.Effect<void, JournalError> =>
  isDone(effect) ? effect : Effect.uninterruptible(effect)

const untold = (effect: Effect.Effect<void, JournalError>): Effect.Effect<void> =>
  Effect.catchCause(whole(effect), (cause) => Effect.logWarning("progress is not in the journal", cause))

/** As it may be kept: of what was declared as secret there is a hash, also in what the model reads of it. */
const hiding = (terminal: ToolEvent.Terminal, prepared: PreparedCall | undefined): ToolEvent.Terminal => {
  const redact = prepared?.tool.redact
  const { result } = terminal
  if (redact === undefined) return terminal
  if (result._tag === "Success") {
    return redact.success === undefined
      ? terminal
      : { ...terminal, result: { _tag: "Success", ...hidden(result, redact.success) } }
  }
  const { reason } = result.error
  if (reason._tag === "ToolFailed" && redact.failure !== undefined) {
    const failure = redact.failure(reason.failure)
    const told = new ToolFailed({ failure, detail: JSON.stringify(failure) ?? "null" })
    return { ...terminal, result: { _tag: "Failure", error: fromReason(prepared!.call, told) } }
  }
  if ("partial" in reason && reason.partial !== undefined && redact.success !== undefined) {
    const { partial: _hidden, ...known } = encodeReason(reason) as typeof reason
    return { ...terminal, result: { _tag: "Failure", error: fromReason(prepared!.call, decodeReason(known)) } }
  }
  return terminal
}

const encodeReason = Schema.encodeSync(ToolErrorReason)
const decodeReason = Schema.decodeUnknownSync(ToolErrorReason)

const hidden = (result: ToolResult, redact: (json: unknown) => unknown): ToolResult => {
  const value = redact(result.value)
  return { ...result, value, content: [ToolContent.text(JSON.stringify(value) ?? "null")] }
}
