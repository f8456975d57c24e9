/**
 * A sampler over Anthropic's Messages, and over whatever speaks its protocol.
 *
 * **Source** Anthropic, API reference, Messages and "Streaming messages", version 2023-06-01.
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
import { type AnthropicTool, type Described, toolSchema } from "../dialects/ToolSchema.ts"
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
  /** Default: `https://api.anthropic.com`. */
  readonly baseUrl?: string | undefined
  /** Of one response, thoughts included. Default: 16,000. */
  readonly maxTokens?: number | undefined
  /** Tokens that it may think before it answers. Default: it does not think. */
  readonly thinkingTokens?: number | undefined
}

/** The name of the provider, and of what it wants back. */
const provider = "anthropic"

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Sampler["Service"], never, HttpClient> =>
  Provider.sampler(options, {
    provider,
    apiKey: options.apiKey,
    baseUrl: options.baseUrl ?? "https://api.anthropic.com",
    path: "/v1/messages",
    authorize: HttpClientRequest.setHeaders({
      "x-api-key": Redacted.value(options.apiKey),
      "anthropic-version": "2023-06-01"
    }),
    body: (asked) => body(options, asked),
    reader: () => new Reader(Redacted.value(options.apiKey))
  })

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Sampler, never, HttpClient> => Layer.effect(Sampler, make(options))

/**
 * With the key from `ANTHROPIC_API_KEY`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (options: Omit<Options, "apiKey">): Layer.Layer<Sampler, Config.ConfigError, HttpClient> =>
  Layer.effect(
    Sampler,
    Effect.flatMap(Config.Redacted("ANTHROPIC_API_KEY"), (apiKey) => make({ ...options, apiKey }))
  )

// -----------------------------------------------------------------------------
// The request
// -----------------------------------------------------------------------------

type Block = Readonly<Record<string, unknown>> & { readonly type: string }

interface WireMessage {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<Block>
}

/** Everything up to here is the same in the next request, and cheaper if it was kept. */
const cached = { cache_control: { type: "ephemeral" } } as const

const body = ({ maxTokens = 16_000, model, thinkingTokens }: Options, { history, system, tools }: Request) => ({
  model,
  max_tokens: thinkingTokens === undefined ? maxTokens : Math.max(maxTokens, thinkingTokens + 1),
  stream: true,
  ...(system === undefined ? {} : { system: [{ type: "text", text: system.toWellFormed(), ...cached }] }),
  ...(tools.length === 0 ? {} : { tools: tools.map(definitionOf) }),
  ...(thinkingTokens === undefined ? {} : { thinking: { type: "enabled", budget_tokens: thinkingTokens } }),
  messages: cacheLast(messages(history))
})

const definitions = new WeakMap<Described, AnthropicTool>()

const definitionOf = (tool: Described): AnthropicTool => {
  const known = definitions.get(tool)
  if (known !== undefined) return known
  const made = toolSchema(tool, "anthropic")
  definitions.set(tool, made)
  return made
}

/**
 * The history in its words. The results of a reply stand at the beginning of the message after it.
 *
 * @category converting
 * @since 0.1.0
 */
export const messages = (history: History.History): ReadonlyArray<WireMessage> => {
  const ids = WireIds.make(history)
  const out: Array<WireMessage> = []
  const add = (role: WireMessage["role"], content: ReadonlyArray<Block>) => {
    const last = out.at(-1)
    if (content.length === 0) return
    if (last?.role !== role) out.push({ role, content })
    else out[out.length - 1] = { role, content: [...last.content, ...content] }
  }
  for (const item of history) {
    if (item._tag === "Message") {
      add("user", blocks(item.content))
      continue
    }
    add(
      "assistant",
      item.parts.flatMap((part): ReadonlyArray<Block> => {
        switch (part.type) {
          case "text":
            // It refuses blank ones.
            return part.text.trim() === "" ? [] : [{ type: "text", text: part.text.toWellFormed() }]
          case "reasoning":
            return part.opaque?.provider === provider ? thinking(part.text, part.opaque.value) : []
          case "call":
            return [
              {
                type: "tool_use",
                id: ids.get(part.callId),
                name: WireIds.nameOf(part),
                input: WireIds.parametersOf(part)
              }
            ]
        }
      })
    )
    add(
      "user",
      History.callsOf(item).map(({ callId, result }) => ({
        type: "tool_result",
        tool_use_id: ids.get(callId),
        content: blocks(result.content),
        ...(result.isError ? { is_error: true } : {})
      }))
    )
  }
  return out
}

const blocks = (content: ReadonlyArray<ToolContent>): ReadonlyArray<Block> => {
  const made = content.flatMap((item): ReadonlyArray<Block> => {
    switch (item.type) {
      case "text":
        return item.text.trim() === "" ? [] : [{ type: "text", text: item.text.toWellFormed() }]
      case "image":
        return [{ type: "image", source: { type: "base64", media_type: item.mimeType, data: item.data } }]
      case "resource":
        return [{ type: "text", text: `[resource: ${item.uri.toWellFormed()}]` }]
    }
  })
  return made.length === 0 ? [{ type: "text", text: "(nothing)" }] : made
}

const thinking = (text: string, kept: Schema.Json): ReadonlyArray<Block> => {
  const { data, signature }: Readonly<Record<string, unknown>> =
    typeof kept === "object" && kept !== null ? { ...kept } : {}
  return data === undefined ? [{ type: "thinking", thinking: text, signature }] : [{ type: "redacted_thinking", data }]
}

const cacheLast = (messages: ReadonlyArray<WireMessage>): ReadonlyArray<WireMessage> => {
  const last = messages.at(-1)
  const block = last?.content.at(-1)
  if (last === undefined || block === undefined) return messages
  return [...messages.slice(0, -1), { ...last, content: [...last.content.slice(0, -1), { ...block, ...cached }] }]
}

// -----------------------------------------------------------------------------
// The response
// -----------------------------------------------------------------------------

const Tokens = Schema.Struct({
  input_tokens: Schema.optional(Schema.NullOr(Schema.Natural)),
  output_tokens: Schema.optional(Schema.NullOr(Schema.Natural)),
  cache_read_input_tokens: Schema.optional(Schema.NullOr(Schema.Natural)),
  cache_creation_input_tokens: Schema.optional(Schema.NullOr(Schema.Natural))
})

const index = Schema.Natural

/** Of the kinds of messages that there are, those that tell something. Others may come, and are left out. */
const Message = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("message_start"),
    message: Schema.Struct({ model: Schema.optional(Schema.String), usage: Schema.optional(Tokens) })
  }),
  Schema.Struct({
    type: Schema.Literal("content_block_start"),
    index,
    content_block: Schema.Struct({
      type: Schema.String,
      id: Schema.optional(Schema.String),
      name: Schema.optional(Schema.String),
      text: Schema.optional(Schema.String),
      thinking: Schema.optional(Schema.String),
      data: Schema.optional(Schema.String),
      input: Schema.optional(Schema.Unknown)
    })
  }),
  Schema.Struct({
    type: Schema.Literal("content_block_delta"),
    index,
    delta: Schema.Struct({
      type: Schema.String,
      text: Schema.optional(Schema.String),
      thinking: Schema.optional(Schema.String),
      signature: Schema.optional(Schema.String),
      partial_json: Schema.optional(Schema.String)
    })
  }),
  Schema.Struct({ type: Schema.Literal("content_block_stop"), index }),
  Schema.Struct({
    type: Schema.Literal("message_delta"),
    delta: Schema.Struct({ stop_reason: Schema.optional(Schema.NullOr(Schema.String)) }),
    usage: Schema.optional(Tokens)
  }),
  Schema.Struct({ type: Schema.Literal("message_stop") }),
  Schema.Struct({
    type: Schema.Literal("error"),
    error: Schema.Struct({ type: Schema.optional(Schema.String), message: Schema.optional(Schema.String) })
  })
])
type Message = typeof Message.Type

const decode = EventStream.decoder(Message)

const known = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
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
  private model: string | undefined
  private stop: string | undefined
  private tokens: typeof Tokens.Type = {}
  /** Of a call that came whole, and not in pieces. */
  private readonly inputs = new Map<number, unknown>()

  constructor(key: string) {
    this.key = key
  }

  readonly read: EventStream.Reader["read"] = (message) =>
    isKnown(message) ? Result.flatMap(decode(message), (message) => this.take(message)) : Result.succeed([])

  private take(message: Message): Result.Result<ReadonlyArray<SamplerEvent>, Reason> {
    const { parts } = this
    switch (message.type) {
      case "message_start":
        this.model = message.message.model
        return Result.succeed(this.count(message.message.usage))
      case "content_block_start":
        return Result.succeed(this.begin(message.index, message.content_block))
      case "content_block_delta": {
        const { delta, index } = message
        if (delta.text !== undefined) return Result.succeed(parts.text(index, delta.text))
        if (delta.thinking !== undefined) return Result.succeed(parts.reasoning(index, delta.thinking))
        if (delta.signature !== undefined) {
          parts.keep(index, "reasoning", { provider, value: { signature: delta.signature } })
          return Result.succeed([])
        }
        if (delta.partial_json === undefined) return Result.succeed([])
        const told = parts.callDelta(index, delta.partial_json)
        return told === undefined
          ? Result.fail(new MalformedResponse({ detail: "a piece of a call that has not begun" }))
          : Result.succeed(told)
      }
      case "content_block_stop": {
        const { index } = message
        const input = this.inputs.get(index)
        const whole =
          input === undefined || parts.callText(index) !== "" ? [] : parts.callDelta(index, JSON.stringify(input))
        return Result.succeed([...(whole ?? []), ...parts.callEnd(index)])
      }
      case "message_delta":
        this.stop = message.delta.stop_reason ?? this.stop
        return Result.succeed(this.count(message.usage))
      case "message_stop":
        this.response = {
          parts: parts.parts,
          stop: this.stopOf(),
          usage: this.usage,
          ...(this.model === undefined ? {} : { model: this.model })
        }
        return Result.succeed(parts.endCalls())
      case "error":
        return Result.fail(Refusal.ofCode(message.error.type ?? "", message.error.message ?? "", this.key))
    }
  }

  private begin(
    index: number,
    block: Extract<Message, { type: "content_block_start" }>["content_block"]
  ): ReadonlyArray<SamplerEvent> {
    switch (block.type) {
      case "text":
        return this.parts.text(index, block.text ?? "")
      case "thinking":
        return this.parts.reasoning(index, block.thinking ?? "")
      case "redacted_thinking":
        this.parts.keep(index, "reasoning", { provider, value: { data: block.data ?? "" } })
        return []
      case "tool_use":
        if (typeof block.input === "object" && block.input !== null && Object.keys(block.input).length > 0) {
          this.inputs.set(index, block.input)
        }
        return this.parts.callStart(index, block.id ?? "", block.name ?? "")
      default:
        return []
    }
  }

  private count(tokens: typeof Tokens.Type | undefined): ReadonlyArray<SamplerEvent> {
    if (tokens === undefined) return []
    this.tokens = { ...this.tokens, ...tokens }
    return [{ _tag: "Usage", usage: this.usage }]
  }

  private get usage(): History.Usage {
    const {
      cache_creation_input_tokens: written,
      cache_read_input_tokens: read,
      input_tokens,
      output_tokens
    } = this.tokens
    return {
      inputTokens: (input_tokens ?? 0) + (read ?? 0) + (written ?? 0),
      outputTokens: output_tokens ?? 0,
      ...(read ? { cacheReadTokens: read } : {}),
      ...(written ? { cacheWriteTokens: written } : {})
    }
  }

  private stopOf(): History.ReplyStop {
    switch (this.stop) {
      case "max_tokens":
      case "model_context_window_exceeded":
        return "length"
      case "refusal":
        return "refusal"
      default:
        return this.parts.hasCalls ? "calls" : "end"
    }
  }
}
