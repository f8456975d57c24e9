/**
 * What a journal knows of the calls that a conversation had open when its process died.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type JournalError, Records } from "../../src/Journal.ts"
import type { ToolRuntime } from "../../src/ToolRuntime.ts"
import * as Recovery from "../journal/Recovery.ts"
import { type CallResult, fromTerminal } from "./History.ts"

/** How long a call may take to get its terminal of which another process says that it runs it. */
const patience = "5 seconds"

/**
 * Ends the calls that dead processes left open, and gives what is known of each: nothing, of one that the journal does
 * not know, or that another process still runs. For `Conversation.Options.recover`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<
  (callId: string) => Effect.Effect<CallResult | undefined>,
  JournalError,
  Records | ToolRuntime
> = Effect.gen(function* () {
  yield* Recovery.recover
  const records = yield* Records
  return (callId) =>
    records.events(callId).pipe(
      Stream.filter((event) => event._tag === "Terminal"),
      Stream.runHead,
      Effect.map((terminal) => (terminal._tag === "Some" ? fromTerminal(terminal.value) : undefined)),
      Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.undefined }),
      Effect.catch((error) => Effect.as(Effect.logDebug("recall", error), undefined))
    )
})
