/**
 * The port to a model: what has been said goes in, what the model says comes out as it
 * says it, and ends in one response.
 *
 * **Contract**
 *
 * - Events tell of one response. After `Retrying` they tell of another one: what was
 *   told before it is void.
 * - A call begins with `ToolCallStart`; whatever the order in which a provider mixes
 *   several, `index` says whose a piece is. Its pieces, joined, are its text.
 * - The response holds all that the events told, and what providers want back.
 * - Nothing is executed by it: what is asked for is for the caller to do.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type { ToolStream } from "../../src/ToolStream.ts"
import type { Described } from "../dialects/ToolSchema.ts"
import * as History from "./History.ts"
import type { SamplerError } from "./SamplerError.ts"

/**
 * @category models
 * @since 0.1.0
 */
export const SamplerEvent = Schema.Union([
  Schema.TaggedStruct("Text", { text: Schema.String }),
  Schema.TaggedStruct("Reasoning", { text: Schema.String }),
  Schema.TaggedStruct("ToolCallStart", {
    /** Of the call among those of the response, from 0. */
    index: Schema.Natural,
    /** The provider's. */
    id: Schema.String,
    name: Schema.String
  }),
  Schema.TaggedStruct("ToolCallDelta", { index: Schema.Natural, text: Schema.String }),
  Schema.TaggedStruct("ToolCallEnd", { index: Schema.Natural }),
  /** So far, of this response. The last one holds. */
  Schema.TaggedStruct("Usage", { usage: History.Usage }),
  /** The response is given up and asked for again, after so long. */
  Schema.TaggedStruct("Retrying", {
    /** From 1. */
    attempt: Schema.Natural,
    delayMs: Schema.Natural,
    why: Schema.String
  })
])
export type SamplerEvent = typeof SamplerEvent.Type

/**
 * @category models
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  parts: Schema.Array(Schema.Union([History.Text, History.Reasoning, History.AskedCall])),
  stop: History.ReplyStop,
  usage: History.Usage,
  model: Schema.optionalKey(Schema.String)
})
export type Response = typeof Response.Type

/**
 * What the model is given.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** Who it is and how it works. */
  readonly system?: string | undefined
  readonly history: History.History
  /** What it may call. Names are sent as they are: they match `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly tools: ReadonlyArray<Described>
  /** The conversation, for providers that keep caches by it. */
  readonly sessionId?: string | undefined
}

/**
 * @category services
 * @since 0.1.0
 */
export class Sampler extends Context.Service<
  Sampler,
  { readonly sample: (request: Request) => ToolStream<SamplerEvent, Response, SamplerError> }
>()("toolstream/agent/Sampler") {}
