/**
 * A sampler over Chat Completions: of OpenAI, and of the many servers that speak the same
 * protocol, more or less.
 *
 * **Source** OpenAI, API reference, Chat and "Streaming"; `reasoning_content` and `reasoning` of those who show thoughts.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { text, type ToolContent } from "../../src/ToolContent.ts"
import { type Described, toolSchema } from "../dialects/ToolSchema.ts"
import * as History from "./History.ts"
import * as EventStream from "./internal/EventStream.ts"
import { Parts } from "./internal/Parts.ts"
import * as Provider from "./internal/Provider.ts"
import * as Refusal from "./internal/Refusal.ts"
import * as WireIds from "./WireIds.ts"
import { type Request, type Response, Sampler, type SamplerEvent } from "./Sampler.ts"
import type { Reason } from "./SamplerError.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends Provider.Options {
  /** None, for a server that asks for none. */
  readonly apiKey?: Redacted.Redacted | undefined
  /** Default: `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined
  /** How it is called in errors. Default: `chat`. */
  readonly provider?: string | undefined
  /** Of one response. Default: the provider's. */
  readonly maxTokens?: number | undefined
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Sampler["Service"], never, HttpClient> =>
  Provider.sampler(options, {
    provider: options.provider ?? "chat",
    apiKey: options.apiKey,
    baseUrl: options.baseUrl ?? "https://api.openai.com/v1",
    path: "/chat/completions",
    authorize: options.apiKey === undefined ? identity : HttpClientRequest.bearerToken(options.apiKey),
    body: (asked) => body(options, asked),
    reader: (key) => new Reader(key)
  })

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Sampler, never, HttpClient> => Layer.effect(Sampler, make(options))

// -----------------------------------------------------------------------------
// The request
// -----------------------------------------------------------------------------

type WireMessage = Readonly<Record<string, unknown>> & { readonly role: string }

const body = ({ maxTokens, model }: Options, { history, system, tools }: Request) => ({
  model,
  stream: true,
  stream_options: { include_usage: true },
  ...(tools.length === 0 ? {} : { tools: tools.map(definitionOf) }),
  ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
  messages: [
    ...(system === undefined ? [] : [{ role: "system", content: system.toWellFormed() }]),
    ...messages(history)
  ]
})

const definitions = new WeakMap<Described, object>()

const definitionOf = (tool: Described): object => {
  const known = definitions.get(tool)
  if (known !== undefined) return known
  const { description, name, parameters } = toolSchema(tool, "openai")
  const made = { type: "function", function: { name, description, parameters } }
  definitions.set(tool, made)
  return made
}

const shown = "The images of the results above, in their order:"

/**
 * The history in its words. The results of a reply stand right after it, each a message of its own; what pictures there
 * are in them comes after all of them, in a message of the user: this protocol has no other place for it.
 *
 * @category converting
 * @since 0.1.0
 */
export const messages = (history: History.History): ReadonlyArray<WireMessage> => {
  const ids = WireIds.make(history)
  return history.flatMap((item): ReadonlyArray<WireMessage> => {
    if (item._tag === "Message") return [{ role: "user", content: contentOf(item.content) }]
    const calls = History.callsOf(item)
    const said = item.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
    if (said === "" && calls.length === 0) return []
    const images = calls.flatMap(({ result }) => result.content.filter(({ type }) => type === "image"))
    return [
      {
        role: "assistant",
        content: said === "" ? null : said.toWellFormed(),
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map((call) => ({
                id: ids.get(call.callId),
                type: "function",
                function: { name: WireIds.nameOf(call), arguments: JSON.stringify(WireIds.parametersOf(call)) }
              }))
            })
      },
      ...calls.map(({ callId, result }) => ({
        role: "tool",
        tool_call_id: ids.get(callId),
        content: textOf(result.content) || "(nothing)"
      })),
      ...(images.length === 0 ? [] : [{ role: "user", content: contentOf([text(shown), ...images]) }])
    ]
  })
}

const textOf = (content: ReadonlyArray<ToolContent>): string =>
  content
    .map((item) => {
      switch (item.type) {
        case "text":
          return item.text
        case "image":
          return "[an image: see below]"
        case "resource":
          return `[resource: ${item.uri}]`
      }
    })
    .join("\n")
    .toWellFormed()

/** A text, unless there is more to it: not every server takes a list. */
const contentOf = (content: ReadonlyArray<ToolContent>): string | ReadonlyArray<object> =>
  content.every(({ type }) => type !== "image")
    ? textOf(content)
    : content.map((item) =>
        item.type === "image"
          ? { type: "image_url", image_url: { url: `data:${item.mimeType};base64,${item.data}` } }
          : { type: "text", text: textOf([item]) }
      )

// -----------------------------------------------------------------------------
// The response
// -----------------------------------------------------------------------------

const optional = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))

const Chunk = Schema.Struct({
  model: optional(Schema.String),
  choices: optional(
    Schema.Array(
      Schema.Struct({
        delta: optional(
          Schema.Struct({
            content: optional(Schema.String),
            refusal: optional(Schema.String),
            reasoning_content: optional(Schema.String),
            reasoning: optional(Schema.String),
            tool_calls: optional(
              Schema.Array(
                Schema.Struct({
                  index: optional(Schema.Natural),
                  id: optional(Schema.String),
                  function: optional(
                    Schema.Struct({ name: optional(Schema.String), arguments: optional(Schema.String) })
                  )
                })
              )
            )
          })
        ),
        finish_reason: optional(Schema.String)
      })
    )
  ),
  usage: optional(
    Schema.Struct({
      prompt_tokens: optional(Schema.Natural),
      completion_tokens: optional(Schema.Natural),
      prompt_tokens_details: optional(Schema.Struct({ cached_tokens: optional(Schema.Natural) }))
    })
  ),
  error: optional(Schema.Unknown)
})

const decode = EventStream.decoder(Chunk)

class Reader implements EventStream.Reader {
  response: Response | undefined
  private readonly parts = new Parts()
  private readonly key: string | undefined
  private model: string | undefined
  private finish: string | undefined
  private usage = History.noUsage
  private refused = false
  /** The id of the call at each index. */
  private readonly ids = new Map<number, string>()
  /** Of the next call. */
  private calls = 0
  /** By index: which call its pieces belong to. */
  private readonly keys = new Map<number, number>()

  constructor(key: string | undefined) {
    this.key = key
  }

  readonly read: EventStream.Reader["read"] = (message) =>
    Result.flatMap(decode(message), (chunk): Result.Result<ReadonlyArray<SamplerEvent>, Reason> => {
      if (chunk.error !== undefined && chunk.error !== null) {
        return Result.fail(
          Refusal.ofCode(Refusal.codeOf(message), Refusal.messageOf(JSON.stringify(message)), this.key)
        )
      }
      return Result.succeed(this.take(chunk))
    })

  /** Some say the end by `[DONE]`, which is no JSON, and some by nothing: then the reason to finish has to have come. */
  readonly closed = (): void => {
    if (this.finish === undefined) return
    this.parts.endCalls()
    this.response = {
      parts: this.parts.parts,
      stop: this.stopOf(this.finish),
      usage: this.usage,
      ...(this.model === undefined ? {} : { model: this.model })
    }
  }

  private take({ choices, model, usage }: typeof Chunk.Type): ReadonlyArray<SamplerEvent> {
    this.model ??= model ?? undefined
    const events: Array<SamplerEvent> = []
    const choice = choices?.[0]
    const delta = choice?.delta
    if (delta !== undefined && delta !== null) {
      events.push(...this.parts.reasoning("reasoning", delta.reasoning_content ?? delta.reasoning ?? ""))
      events.push(...this.parts.text("text", delta.content ?? ""))
      if (delta.refusal) {
        this.refused = true
        events.push(...this.parts.text("text", delta.refusal))
      }
      for (const [position, call] of (delta.tool_calls ?? []).entries()) {
        events.push(...this.piece(call.index ?? position, call.id ?? "", call.function ?? {}))
      }
    }
    if (typeof choice?.finish_reason === "string") {
      this.finish = choice.finish_reason
      events.push(...this.parts.endCalls())
    }
    if (usage !== undefined && usage !== null) {
      const cached = usage.prompt_tokens_details?.cached_tokens
      this.usage = {
        inputTokens: usage.prompt_tokens ?? 0,
        outputTokens: usage.completion_tokens ?? 0,
        ...(cached ? { cacheReadTokens: cached } : {})
      }
      events.push({ _tag: "Usage", usage: this.usage })
    }
    return events
  }

  /** A piece of the call at this index. One with another id is another call: some servers give all the same index. */
  private piece(
    index: number,
    id: string,
    {
      arguments: text,
      name
    }: { readonly name?: string | null | undefined; readonly arguments?: string | null | undefined }
  ): ReadonlyArray<SamplerEvent> {
    const current = this.keys.get(index)
    const isNew = current === undefined || (id !== "" && this.ids.get(index) !== id && !!name)
    const key = isNew ? this.calls++ : current
    const before = isNew && current !== undefined ? this.parts.callEnd(current) : []
    const begun = isNew ? this.parts.callStart(key, id, name ?? "") : []
    if (isNew) {
      this.keys.set(index, key)
      this.ids.set(index, id)
    }
    return [...before, ...begun, ...(this.parts.callDelta(key, text ?? "") ?? [])]
  }

  private stopOf(finish: string): History.ReplyStop {
    switch (finish) {
      case "length":
        return "length"
      case "content_filter":
        return "refusal"
      default:
        return this.parts.hasCalls ? "calls" : this.refused ? "refusal" : "end"
    }
  }
}
