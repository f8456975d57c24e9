/**
 * A sampler over any `LanguageModel` of `effect/ai`.
 *
 * The model is shown the tools and runs none of them; the names and the parameters that it asks for come as it wrote
 * them. What it gives with a part and wants back (`metadata`) is kept with the part.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import { LanguageModel } from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ToolContent } from "../../src/ToolContent.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as History from "../agent/History.ts"
import { Sampler, type SamplerEvent } from "../agent/Sampler.ts"
import type * as Port from "../agent/Sampler.ts"
import * as SamplerError from "../agent/SamplerError.ts"
import * as WireIds from "../agent/WireIds.ts"
import { type Described, toolSchema } from "../dialects/ToolSchema.ts"

/** The name of the provider, and of what it wants back. */
const provider = "effect-ai"

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Sampler, never, LanguageModel> = Layer.effect(
  Sampler,
  Effect.map(LanguageModel, (model) =>
    Sampler.of({
      sample: (request) =>
        ToolStream.callbackArray<SamplerEvent, Port.Response, SamplerError.SamplerError, never>((emit) =>
          Effect.gen(function* () {
            const reader = new Reader()
            yield* model
              .streamText({
                prompt: messages(request),
                toolkit: toolkitOf(request.tools),
                disableToolCallResolution: true,
                toolCallValidation: "deferred"
              })
              .pipe(
                Stream.runForEachArray((parts) => {
                  const events = parts.flatMap((part) => reader.read(part))
                  return Arr.isArrayNonEmpty(events) ? emit(events) : Effect.void
                }),
                Effect.mapError((error) => SamplerError.fromReason(provider, reasonOf(error)))
              )
            return yield* reader.end
          })
        )
    })
  )
)

// -----------------------------------------------------------------------------
// The request
// -----------------------------------------------------------------------------

type Tools = Record<string, ReturnType<typeof definitionOf>>

const definitionOf = (tool: Described) => {
  // A plain object schema is what every provider's own layer can work with.
  const { description, name, parameters } = toolSchema(tool, "openai")
  return AiTool.dynamic(name, { description, parameters })
}

const known = new WeakMap<Described, ReturnType<typeof definitionOf>>()

const toolkitOf = (tools: ReadonlyArray<Described>): Toolkit.WithHandler<Tools> => ({
  tools: Object.fromEntries(
    tools.map((tool) => {
      const made = known.get(tool) ?? definitionOf(tool)
      known.set(tool, made)
      return [tool.name, made]
    })
  ),
  handle: () => Effect.die(new Error("a call is not run by the model"))
})

/**
 * The history in its words. The results of a reply stand right after it.
 *
 * @category converting
 * @since 0.1.0
 */
export const messages = ({
  history,
  system
}: Pick<Port.Request, "history" | "system">): ReadonlyArray<Prompt.MessageEncoded> => {
  const ids = WireIds.make(history)
  const said = history.flatMap((item): ReadonlyArray<Prompt.MessageEncoded> => {
    if (item._tag === "Message") return [{ role: "user", content: contentOf(item.content) }]
    if (item.parts.length === 0) return []
    const reply: Prompt.AssistantMessageEncoded = {
      role: "assistant",
      content: item.parts.map((part) => partOf(part, ids))
    }
    const results = History.callsOf(item).map((call): Prompt.ToolResultPartEncoded => ({
      type: "tool-result",
      id: ids.get(call.callId) ?? call.callId,
      name: WireIds.nameOf(call),
      isFailure: call.result.isError,
      result: textOf(call.result.content),
      modelOutput: contentOf(call.result.content)
    }))
    return results.length === 0 ? [reply] : [reply, { role: "tool", content: results }]
  })
  return system === undefined ? said : [{ role: "system", content: system }, ...said]
}

const partOf = (
  part: History.Reply["parts"][number],
  ids: ReadonlyMap<string, string>
): Prompt.AssistantMessagePartEncoded => {
  const options = optionsOf(part.opaque)
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...options }
    case "reasoning":
      return { type: "reasoning", text: part.text, ...options }
    case "call":
      return {
        type: "tool-call",
        id: ids.get(part.callId) ?? part.callId,
        name: WireIds.nameOf(part),
        params: WireIds.parametersOf(part),
        ...options
      }
  }
}

const Options = Schema.Record(Schema.String, Schema.NullOr(Schema.Json))
const isOptions = Schema.is(Options)

const optionsOf = (opaque: History.Opaque | undefined): { readonly options?: typeof Options.Type } =>
  opaque?.provider === provider && isOptions(opaque.value) ? { options: opaque.value } : {}

const contentOf = (content: ReadonlyArray<ToolContent>): Array<Prompt.TextPartEncoded | Prompt.FilePartEncoded> =>
  content.map((item) => {
    switch (item.type) {
      case "text":
        return { type: "text", text: item.text }
      case "image":
        return { type: "file", mediaType: item.mimeType, data: item.data }
      case "resource":
        return { type: "text", text: `[resource: ${item.uri}]` }
    }
  })

const textOf = (content: ReadonlyArray<ToolContent>): string =>
  content.map((item) => (item.type === "text" ? item.text : `[${item.type}]`)).join("\n")

// -----------------------------------------------------------------------------
// The response
// -----------------------------------------------------------------------------

type Part = Response.StreamPart<Tools, "deferred">

/** A part of the response that grows. */
interface Growing {
  readonly type: "text" | "reasoning" | "call"
  readonly id: string
  readonly name: string
  readonly index: number
  text: string
  metadata: Readonly<Record<string, Schema.Json | null>>
  /** Of a call: it has come whole. An id may be used again. */
  whole: boolean
}

class Reader {
  private readonly parts: Array<Growing> = []
  private finish: Response.FinishPart | undefined
  private model: string | undefined
  private failed: unknown

  read(part: Part): ReadonlyArray<SamplerEvent> {
    switch (part.type) {
      case "text-start":
      case "text-end":
        this.grow("text", part.id, part.metadata)
        return []
      case "text-delta":
        this.grow("text", part.id, part.metadata).text += part.delta
        return part.delta === "" ? [] : [{ _tag: "Text", text: part.delta }]
      case "reasoning-start":
      case "reasoning-end":
        this.grow("reasoning", part.id, part.metadata)
        return []
      case "reasoning-delta":
        this.grow("reasoning", part.id, part.metadata).text += part.delta
        return part.delta === "" ? [] : [{ _tag: "Reasoning", text: part.delta }]
      case "tool-params-start":
        return part.providerExecuted ? [] : this.begin(part.id, part.name)
      case "tool-params-delta": {
        const call = this.call(part.id)
        if (call === undefined || part.delta === "") return []
        call.text += part.delta
        return [{ _tag: "ToolCallDelta", index: call.index, text: part.delta }]
      }
      case "tool-params-end": {
        const call = this.call(part.id)
        return call === undefined ? [] : [{ _tag: "ToolCallEnd", index: call.index }]
      }
      case "tool-call":
        return part.providerExecuted ? [] : this.whole(part)
      case "response-metadata":
        this.model = part.modelId ?? this.model
        return []
      case "finish":
        this.finish = part
        return [{ _tag: "Usage", usage: usageOf(part.usage) }]
      case "error":
        this.failed = part.error
        return []
      default:
        return []
    }
  }

  readonly end: Effect.Effect<Port.Response, SamplerError.SamplerError> = Effect.suspend(() => {
    const { finish, model } = this
    if (this.failed !== undefined) {
      return Effect.fail(
        SamplerError.fromReason(provider, new SamplerError.ServerFault({ detail: String(this.failed) }))
      )
    }
    if (finish === undefined) {
      return Effect.fail(SamplerError.fromReason(provider, new SamplerError.Disconnected({ detail: "it said no end" })))
    }
    const parts = this.parts.flatMap(({ id, metadata, name, text, type }): Port.Response["parts"] => {
      const opaque = Object.keys(metadata).length === 0 ? {} : { opaque: { provider, value: metadata } }
      if (type === "call") return [{ type, id, name, text, ...opaque }]
      return text === "" && Object.keys(metadata).length === 0 ? [] : [{ type, text, ...opaque }]
    })
    return Effect.succeed({
      parts,
      stop: stopOf(finish.reason, parts),
      usage: usageOf(finish.usage),
      ...(model === undefined ? {} : { model })
    })
  })

  private grow(type: "text" | "reasoning", id: string, metadata: Growing["metadata"]): Growing {
    const known = this.parts.findLast((part) => part.type === type && part.id === id)
    if (known !== undefined) {
      known.metadata = { ...known.metadata, ...metadata }
      return known
    }
    const part: Growing = { type, id, name: "", index: -1, text: "", metadata, whole: false }
    this.parts.push(part)
    return part
  }

  private call(id: string): Growing | undefined {
    return this.parts.findLast((part) => part.type === "call" && part.id === id)
  }

  private begin(id: string, name: string): ReadonlyArray<SamplerEvent> {
    const index = this.parts.filter(({ type }) => type === "call").length
    this.parts.push({ type: "call", id, name, index, text: "", metadata: {}, whole: false })
    return [{ _tag: "ToolCallStart", index, id, name }]
  }

  /** The call as it is, whether or not its pieces came before. */
  private whole({ id, metadata, name, params }: Response.ToolCallPart<string, unknown>): ReadonlyArray<SamplerEvent> {
    const begun = this.call(id)
    const isNew = begun === undefined || begun.whole
    const before = isNew ? this.begin(id, name) : []
    const call = isNew ? this.call(id) : begun
    if (call === undefined) return before
    call.whole = true
    call.metadata = metadata
    if (call.text !== "") return before
    const text = JSON.stringify(params ?? {})
    call.text = text
    const { index } = call
    return [
      ...before,
      { _tag: "ToolCallDelta", index, text },
      ...(isNew ? [{ _tag: "ToolCallEnd", index } as const] : [])
    ]
  }
}

const usageOf = ({ inputTokens, outputTokens }: Response.Usage): History.Usage => ({
  inputTokens: inputTokens.total ?? 0,
  outputTokens: outputTokens.total ?? 0,
  ...(inputTokens.cacheRead ? { cacheReadTokens: inputTokens.cacheRead } : {}),
  ...(inputTokens.cacheWrite ? { cacheWriteTokens: inputTokens.cacheWrite } : {})
})

const stopOf = (reason: Response.FinishReason, parts: Port.Response["parts"]): History.ReplyStop => {
  switch (reason) {
    case "length":
      return "length"
    case "content-filter":
      return "refusal"
    default:
      return parts.some(({ type }) => type === "call") ? "calls" : "end"
  }
}

const reasonOf = (error: AiError.AiError): SamplerError.Reason => {
  const { reason } = error
  const detail = reason.message
  switch (reason._tag) {
    case "RateLimitError":
      return new SamplerError.TooManyRequests({
        detail,
        ...(reason.retryAfter === undefined ? {} : { retryAfterMs: Math.ceil(Duration.toMillis(reason.retryAfter)) })
      })
    case "AuthenticationError":
    case "QuotaExhaustedError":
      return new SamplerError.NotAuthorized({ detail })
    case "NetworkError":
      return new SamplerError.Unreachable({ detail })
    case "InternalProviderError":
      return new SamplerError.ServerFault({ detail })
    case "InvalidResponseError":
    case "InvalidOutputError":
      return new SamplerError.MalformedResponse({ detail })
    default:
      return new SamplerError.InvalidRequest({ status: 400, detail })
  }
}
