/**
 * A sampler over OpenAI's Responses. Nothing is stored there: the history goes with every
 * request.
 *
 * **Source** OpenAI, API reference, Responses and "Streaming events".
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ToolContent } from "../../src/ToolContent.ts"
import { type Described, type OpenAiFunction, toolSchema } from "../dialects/ToolSchema.ts"
import * as History from "./History.ts"
import * as EventStream from "./internal/EventStream.ts"
import { Parts } from "./internal/Parts.ts"
import * as Provider from "./internal/Provider.ts"
import * as Refusal from "./internal/Refusal.ts"
import * as WireIds from "./WireIds.ts"
import { type Request, type Response, Sampler, type SamplerEvent } from "./Sampler.ts"
import { MalformedResponse, type Reason } from "./SamplerError.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends Provider.Options {
  readonly apiKey: Redacted.Redacted
  /** Default: `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined
  /** Of one response, thoughts included. Default: the provider's. */
  readonly maxTokens?: number | undefined
  /** How hard a model thinks that can: then its thoughts go back with the calls they led to. Default: as it does. */
  readonly effort?: string | undefined
}

/** The name of the provider, and of what it wants back. */
const provider = "openai"

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Sampler["Service"], never, HttpClient> =>
  Provider.sampler(options, {
    provider,
    apiKey: options.apiKey,
    baseUrl: options.baseUrl ?? "https://api.openai.com/v1",
    path: "/responses",
    authorize: HttpClientRequest.bearerToken(options.apiKey),
    body: (asked) => body(options, asked),
    reader: () => new Reader(Redacted.value(options.apiKey))
  })

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Sampler, never, HttpClient> => Layer.effect(Sampler, make(options))

/**
 * With the key from `OPENAI_API_KEY`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (options: Omit<Options, "apiKey">): Layer.Layer<Sampler, Config.ConfigError, HttpClient> =>
  Layer.effect(
    Sampler,
    Effect.flatMap(Config.Redacted("OPENAI_API_KEY"), (apiKey) => make({ ...options, apiKey }))
  )

// -----------------------------------------------------------------------------
// The request
// -----------------------------------------------------------------------------

type Item = Readonly<Record<string, unknown>>

const body = ({ effort, maxTokens, model }: Options, { history, sessionId, system, tools }: Request) => ({
  model,
  stream: true,
  store: false,
  ...(system === undefined ? {} : { instructions: system.toWellFormed() }),
  ...(tools.length === 0 ? {} : { tools: tools.map(definitionOf) }),
  ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
  ...(effort === undefined ? {} : { reasoning: { effort, summary: "auto" }, include: ["reasoning.encrypted_content"] }),
  ...(sessionId === undefined ? {} : { prompt_cache_key: sessionId }),
  input: input(history)
})

const definitions = new WeakMap<Described, OpenAiFunction>()

const definitionOf = (tool: Described): OpenAiFunction => {
  const known = definitions.get(tool)
  if (known !== undefined) return known
  const made = toolSchema(tool, "openai")
  definitions.set(tool, made)
  return made
}

/**
 * The history in its words. The outputs of a reply stand right after its calls.
 *
 * @category converting
 * @since 0.1.0
 */
export const input = (history: History.History): ReadonlyArray<Item> => {
  const ids = WireIds.make(history)
  return history.flatMap((item): ReadonlyArray<Item> => {
    if (item._tag === "Message") return [{ role: "user", content: contentOf(item.content) }]
    return [
      ...item.parts.flatMap((part): ReadonlyArray<Item> => {
        switch (part.type) {
          case "text":
            return part.text === ""
              ? []
              : [{ role: "assistant", content: [{ type: "output_text", text: part.text.toWellFormed() }] }]
          case "reasoning":
            return part.opaque?.provider === provider ? reasoning(part.opaque.value) : []
          case "call":
            return [
              {
                type: "function_call",
                call_id: ids.get(part.callId),
                name: WireIds.nameOf(part),
                arguments: JSON.stringify(WireIds.parametersOf(part))
              }
            ]
        }
      }),
      ...History.callsOf(item).map(({ callId, result }) => ({
        type: "function_call_output",
        call_id: ids.get(callId),
        output: outputOf(result.content)
      }))
    ]
  })
}

const reasoning = (value: Schema.Json): ReadonlyArray<Item> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? [{ ...value }] : []

const contentOf = (content: ReadonlyArray<ToolContent>): ReadonlyArray<Item> =>
  content.map((item) => {
    switch (item.type) {
      case "text":
        return { type: "input_text", text: item.text.toWellFormed() }
      case "image":
        return { type: "input_image", image_url: `data:${item.mimeType};base64,${item.data}` }
      case "resource":
        return { type: "input_text", text: `[resource: ${item.uri.toWellFormed()}]` }
    }
  })

/** A text, unless there is more to it: not every server that speaks this protocol takes a list. */
const outputOf = (content: ReadonlyArray<ToolContent>): string | ReadonlyArray<Item> =>
  content.some(({ type }) => type === "image")
    ? contentOf(content)
    : content
        .map((item) => (item.type === "text" ? item.text : item.type === "resource" ? `[resource: ${item.uri}]` : ""))
        .join("\n")
        .toWellFormed() || "(nothing)"

// -----------------------------------------------------------------------------
// The response
// -----------------------------------------------------------------------------

const Tokens = Schema.Struct({
  input_tokens: Schema.optional(Schema.NullOr(Schema.Natural)),
  output_tokens: Schema.optional(Schema.NullOr(Schema.Natural)),
  input_tokens_details: Schema.optional(
    Schema.NullOr(Schema.Struct({ cached_tokens: Schema.optional(Schema.NullOr(Schema.Natural)) }))
  )
})

const OutputItem = Schema.Struct({
  type: Schema.String,
  id: Schema.optional(Schema.NullOr(Schema.String)),
  call_id: Schema.optional(Schema.NullOr(Schema.String)),
  name: Schema.optional(Schema.NullOr(Schema.String)),
  arguments: Schema.optional(Schema.NullOr(Schema.String)),
  summary: Schema.optional(Schema.NullOr(Schema.Json)),
  encrypted_content: Schema.optional(Schema.NullOr(Schema.String))
})

const output_index = Schema.Natural

const Ended = Schema.Struct({
  status: Schema.optional(Schema.NullOr(Schema.String)),
  model: Schema.optional(Schema.NullOr(Schema.String)),
  usage: Schema.optional(Schema.NullOr(Tokens)),
  incomplete_details: Schema.optional(
    Schema.NullOr(Schema.Struct({ reason: Schema.optional(Schema.NullOr(Schema.String)) }))
  ),
  error: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        code: Schema.optional(Schema.NullOr(Schema.String)),
        message: Schema.optional(Schema.NullOr(Schema.String))
      })
    )
  )
})

/** Of the kinds of messages that there are, those that tell something. Others come, and are left out. */
const Message = Schema.Union([
  Schema.Struct({
    type: Schema.Literals(["response.output_item.added", "response.output_item.done"]),
    output_index,
    item: OutputItem
  }),
  Schema.Struct({
    type: Schema.Literals([
      "response.output_text.delta",
      "response.refusal.delta",
      "response.reasoning_summary_text.delta",
      "response.reasoning_text.delta",
      "response.function_call_arguments.delta"
    ]),
    output_index,
    delta: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literals(["response.completed", "response.incomplete", "response.failed"]),
    response: Ended
  }),
  Schema.Struct({
    type: Schema.Literal("error"),
    code: Schema.optional(Schema.NullOr(Schema.String)),
    message: Schema.optional(Schema.NullOr(Schema.String)),
    error: Ended.fields.error
  })
])
type Message = typeof Message.Type

const decode = EventStream.decoder(Message)

const known = new Set<string>([
  "response.output_item.added",
  "response.output_item.done",
  "response.output_text.delta",
  "response.refusal.delta",
  "response.reasoning_summary_text.delta",
  "response.reasoning_text.delta",
  "response.function_call_arguments.delta",
  "response.completed",
  "response.incomplete",
  "response.failed",
  "error"
])

const isKnown = (message: unknown): boolean =>
  typeof message === "object" &&
  message !== null &&
  "type" in message &&
  typeof message.type === "string" &&
  known.has(message.type)

class Reader implements EventStream.Reader {
  response: Response | undefined
  private readonly parts = new Parts()
  private readonly key: string
  private refused = false

  constructor(key: string) {
    this.key = key
  }

  readonly read: EventStream.Reader["read"] = (message) =>
    isKnown(message) ? Result.flatMap(decode(message), (message) => this.take(message)) : Result.succeed([])

  private take(message: Message): Result.Result<ReadonlyArray<SamplerEvent>, Reason> {
    const { parts } = this
    switch (message.type) {
      case "response.output_item.added":
        return Result.succeed(this.begin(message.output_index, message.item))
      case "response.output_item.done":
        return Result.succeed(this.end(message.output_index, message.item))
      case "response.refusal.delta":
        this.refused = true
        return Result.succeed(parts.text(message.output_index, message.delta))
      case "response.output_text.delta":
        return Result.succeed(parts.text(message.output_index, message.delta))
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return Result.succeed(parts.reasoning(message.output_index, message.delta))
      case "response.function_call_arguments.delta": {
        const told = parts.callDelta(message.output_index, message.delta)
        return told === undefined
          ? Result.fail(new MalformedResponse({ detail: "a piece of a call that has not begun" }))
          : Result.succeed(told)
      }
      case "response.completed":
      case "response.incomplete":
        return Result.succeed(this.finish(message.response))
      case "response.failed":
        return Result.fail(this.failure(message.response.error))
      case "error":
        return Result.fail(this.failure(message.error ?? message))
    }
  }

  private begin(index: number, item: typeof OutputItem.Type): ReadonlyArray<SamplerEvent> {
    return item.type === "function_call" ? this.parts.callStart(index, item.call_id ?? "", item.name ?? "") : []
  }

  /** The item is told once more, whole. */
  private end(index: number, item: typeof OutputItem.Type): ReadonlyArray<SamplerEvent> {
    const { parts } = this
    if (item.type === "reasoning" && typeof item.encrypted_content === "string") {
      const { encrypted_content, id, summary } = item
      parts.keep(index, "reasoning", {
        provider,
        value: { type: "reasoning", ...(id ? { id } : {}), summary: summary ?? [], encrypted_content }
      })
    }
    if (item.type !== "function_call") return []
    const text = parts.callText(index)
    const begun = text === undefined ? this.begin(index, item) : []
    const whole = text ? [] : (parts.callDelta(index, item.arguments ?? "") ?? [])
    return [...begun, ...whole, ...parts.callEnd(index)]
  }

  private finish(ended: typeof Ended.Type): ReadonlyArray<SamplerEvent> {
    const { parts } = this
    const { input_tokens, input_tokens_details, output_tokens } = ended.usage ?? {}
    const cached = input_tokens_details?.cached_tokens
    const usage: History.Usage = {
      inputTokens: input_tokens ?? 0,
      outputTokens: output_tokens ?? 0,
      ...(cached ? { cacheReadTokens: cached } : {})
    }
    this.response = {
      parts: parts.parts,
      stop:
        ended.status === "incomplete"
          ? ended.incomplete_details?.reason === "content_filter"
            ? "refusal"
            : "length"
          : parts.hasCalls
            ? "calls"
            : this.refused
              ? "refusal"
              : "end",
      usage,
      ...(typeof ended.model === "string" ? { model: ended.model } : {})
    }
    return [...parts.endCalls(), { _tag: "Usage", usage }]
  }

  private failure(
    error:
      | { readonly code?: string | null | undefined; readonly message?: string | null | undefined }
      | null
      | undefined
  ): Reason {
    return Refusal.ofCode(error?.code ?? "", error?.message ?? "", this.key)
  }
}
