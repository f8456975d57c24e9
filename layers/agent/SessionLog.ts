/**
 * What a conversation writes down as it goes, so that it can be taken up again: an
 * append-only list of records. Read from the first to the last they give its history.
 *
 * **Laws**
 *
 * - A response with calls is written before any of them starts, each result before its
 *   reader sees it: after a crash it is known of every call whether it had ended.
 * - `replay` gives a history, whatever the records are and wherever they end. The calls
 *   that have no result are given apart, for whoever knows more of them.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as History from "./History.ts"

/**
 * A response that asks for calls, each with the `callId` it was given.
 *
 * @category models
 * @since 0.1.0
 */
export const Asked = Schema.TaggedStruct("Asked", {
  parts: Schema.Array(
    Schema.Union([
      History.Text,
      History.Reasoning,
      Schema.Struct({ ...History.AskedCall.fields, callId: Schema.String })
    ])
  ),
  stop: History.ReplyStop,
  usage: History.Usage,
  model: Schema.optionalKey(Schema.String)
})
export type Asked = typeof Asked.Type

/**
 * @category models
 * @since 0.1.0
 */
export const SessionRecord = Schema.Union([
  Schema.TaggedStruct("Opened", {
    sessionId: Schema.String,
    /** The directory, absolute. */
    workspace: Schema.String,
    /** In ms since 1970. */
    at: Schema.Finite
  }),
  Schema.TaggedStruct("Said", { message: History.Message }),
  /** A response without calls. */
  Schema.TaggedStruct("Replied", { reply: History.Reply }),
  Asked,
  Schema.TaggedStruct("Answered", { callId: Schema.String, result: History.CallResult }),
  /** What was there becomes the summary and the last `kept` items. */
  Schema.TaggedStruct("Compacted", { summary: History.Message, kept: Schema.Natural })
])
export type SessionRecord = typeof SessionRecord.Type

/**
 * Where the records of one conversation go.
 *
 * @category models
 * @since 0.1.0
 */
export interface SessionLog {
  /** Returns when they are kept, as far as that can be done: who cannot keep them says so in the log of the program. */
  readonly append: (records: ReadonlyArray<SessionRecord>) => Effect.Effect<void>
}

/**
 * A response whose calls have not all ended.
 *
 * @category models
 * @since 0.1.0
 */
export interface Open {
  readonly asked: Asked
  /** By `callId`. */
  readonly answers: ReadonlyMap<string, History.CallResult>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Replayed {
  readonly history: History.History
  /** The last response, if some of its calls have no result. It is no part of the history yet. */
  readonly open: Open | undefined
}

/**
 * What a call reads as of which nothing is known.
 *
 * @category constructors
 * @since 0.1.0
 */
export type Unknown = (call: Extract<Asked["parts"][number], { type: "call" }>) => History.CallResult

/**
 * The history that the records tell. `unknown` stands for the result of a call that has none and after which more was
 * said: that happens to no file that was written here.
 *
 * @category converting
 * @since 0.1.0
 */
export const replay = (records: Iterable<SessionRecord>, unknown: Unknown): Replayed => {
  let history: Array<History.Item> = []
  let asked: Asked | undefined
  let answers = new Map<string, History.CallResult>()
  const settle = () => {
    if (asked !== undefined) history.push(close({ asked, answers }, unknown))
    asked = undefined
    answers = new Map()
  }
  for (const record of records) {
    if (record._tag === "Answered") {
      answers.set(record.callId, record.result)
      if (asked !== undefined && isAnswered({ asked, answers })) settle()
      continue
    }
    settle()
    switch (record._tag) {
      case "Opened":
        break
      case "Said":
        history.push(record.message)
        break
      case "Replied":
        history.push(record.reply)
        break
      case "Asked":
        asked = record
        break
      case "Compacted":
        history = [record.summary, ...history.slice(history.length - record.kept)]
    }
  }
  return { history, open: asked === undefined ? undefined : { asked, answers } }
}

const isAnswered = ({ answers, asked }: Open): boolean =>
  asked.parts.every((part) => part.type !== "call" || answers.has(part.callId))

/**
 * The response with the results of its calls, in their order.
 *
 * @category converting
 * @since 0.1.0
 */
export const close = ({ answers, asked: { parts, ...rest } }: Open, unknown: Unknown): History.Reply => ({
  ...rest,
  _tag: "Reply",
  parts: parts.map((part) =>
    part.type === "call" ? { ...part, result: answers.get(part.callId) ?? unknown(part) } : part
  )
})
