/**
 * A turn: what happens from a prompt to the model's last word on it. It samples, runs
 * the calls that the model asks for, gives it their results, and samples again.
 *
 * As a `ToolStream` it has the law of one: events as they come, then exactly one
 * result, and nothing after it. `Conversation.turn` makes it.
 *
 * **Order of the events**
 *
 * - `Said` for whatever the model is told: the prompt, what was said meanwhile.
 * - Of each sample: `Sampling`, then pieces of the response; `Retrying` voids them, and
 *   the calls they named. Last `Replied`, or nothing if it was cancelled.
 * - Of each call: `ToolCallStart` as soon as the model names it, `Accepted` when it is
 *   handed to the runtime, then its `Progress` and its one `Terminal`. All have its `callId`. A call that was named and
 *   not accepted by the end of its sample was never made.
 * - All terminals of a response come before the next `Said` and the next `Sampling`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ToolCall } from "../../src/ToolCall.ts"
import * as ToolEvent from "../../src/ToolEvent.ts"
import * as History from "./History.ts"

const callId = Schema.String

/**
 * One thing that happens in a turn. `Progress` and `Terminal` are those of the calls.
 *
 * @category models
 * @since 0.1.0
 */
export const TurnEvent = Schema.Union([
  Schema.TaggedStruct("Said", { message: History.Message }),
  Schema.TaggedStruct("Sampling", {
    /** Of this turn, from 1. */
    sample: Schema.Natural
  }),
  Schema.TaggedStruct("Text", { text: Schema.String }),
  Schema.TaggedStruct("Reasoning", { text: Schema.String }),
  Schema.TaggedStruct("ToolCallStart", {
    callId,
    externalId: Schema.optionalKey(Schema.String),
    /** As the model wrote it. */
    name: Schema.String
  }),
  Schema.TaggedStruct("ToolCallDelta", { callId, text: Schema.String }),
  Schema.TaggedStruct("ToolCallEnd", { callId }),
  Schema.TaggedStruct("Usage", { usage: History.Usage }),
  Schema.TaggedStruct("Retrying", { attempt: Schema.Natural, delayMs: Schema.Natural, why: Schema.String }),
  /** The response is whole. Its calls, if it has any, are accepted next. */
  Schema.TaggedStruct("Replied", {
    stop: History.ReplyStop,
    usage: History.Usage,
    model: Schema.optionalKey(Schema.String)
  }),
  Schema.TaggedStruct("Accepted", { call: ToolCall }),
  ToolEvent.Progress,
  ToolEvent.Terminal,
  /** Items of the history were replaced by a summary of them. */
  Schema.TaggedStruct("Compacted", { replaced: Schema.Natural, kept: Schema.Natural }),
  /** The history stays as it is, and the turn goes on. */
  Schema.TaggedStruct("CompactionFailed", { why: Schema.String })
])
export type TurnEvent = typeof TurnEvent.Type

/**
 * Why a turn ended.
 *
 * - `End`: the model had nothing more to say or to do.
 * - `Length`, `Refusal`: the model was cut off at its limit of tokens; it would not go on.
 * - `Cancelled`: by `Conversation.cancel`.
 * - `LimitReached`: one of `Limits`.
 * - `Repeated`: the same calls were made again and again.
 *
 * @category models
 * @since 0.1.0
 */
export const TurnStop = Schema.Union([
  Schema.TaggedStruct("End", {}),
  Schema.TaggedStruct("Length", {}),
  Schema.TaggedStruct("Refusal", {}),
  Schema.TaggedStruct("Cancelled", { why: Schema.String }),
  Schema.TaggedStruct("LimitReached", {
    limit: Schema.Literals(["samples", "calls", "tokens", "outputUnits"]),
    max: Schema.Natural
  }),
  Schema.TaggedStruct("Repeated", { times: Schema.Natural })
])
export type TurnStop = typeof TurnStop.Type

/**
 * @category models
 * @since 0.1.0
 */
export const TurnResult = Schema.Struct({
  stop: TurnStop,
  samples: Schema.Natural,
  /** That were asked for. */
  calls: Schema.Natural,
  usage: History.Usage
})
export type TurnResult = typeof TurnResult.Type

/**
 * What one turn may spend. A limit is looked at before each further sample, so that no result goes unread without need;
 * calls beyond `calls` are refused, each with its result. Undefined: no limit.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  /** Responses of the model. Default: 200. */
  readonly samples?: number | undefined
  /** Calls that are executed. Default: 1000. */
  readonly calls?: number | undefined
  /** Of input and output, of all its samples. */
  readonly tokens?: number | undefined
  /** UTF-16 code units of text in the results of its calls. */
  readonly outputUnits?: number | undefined
}

/**
 * The event as JSON, one object a line of `--json`.
 *
 * @category converting
 * @since 0.1.0
 */
export const toJson = (event: TurnEvent): unknown => (event._tag === "Terminal" ? ToolEvent.toJson(event) : event)

/**
 * Reads what `toJson` wrote.
 *
 * @category converting
 * @since 0.1.0
 */
export const fromJson = Schema.decodeUnknownEffect(TurnEvent)
