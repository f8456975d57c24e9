/**
 * What has been said in a conversation: by the user, by the program, by the model, and
 * by the tools it called. It belongs to no provider.
 *
 * **Laws**
 *
 * - A call holds its result. There is no form for a call without one, none for a result
 *   without its call, none for a result that stands elsewhere: whoever cuts a history,
 *   cuts between items.
 * - Whatever a provider gave with a part and wants back is kept with the part
 *   (`opaque`), and is for that provider alone.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as PlainText from "../../src/PlainText.ts"
import { ToolContent } from "../../src/ToolContent.ts"
import { toContent } from "../../src/ToolError.ts"
import type { Terminal } from "../../src/ToolEvent.ts"

/**
 * What a provider wants back as it gave it: the signature of a reasoning, the id of an item.
 *
 * @category models
 * @since 0.1.0
 */
export const Opaque = Schema.Struct({ provider: Schema.String, value: Schema.Json })
export type Opaque = typeof Opaque.Type

/**
 * @category models
 * @since 0.1.0
 */
export const Text = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  opaque: Schema.optionalKey(Opaque)
})
export type Text = typeof Text.Type

/**
 * What the model thought. Some providers show a summary, some nothing: then `text` is empty.
 *
 * @category models
 * @since 0.1.0
 */
export const Reasoning = Schema.Struct({
  type: Schema.Literal("reasoning"),
  text: Schema.String,
  opaque: Schema.optionalKey(Opaque)
})
export type Reasoning = typeof Reasoning.Type

const asked = {
  type: Schema.Literal("call"),
  /** The provider's id. It may be empty, and may have been used before. */
  id: Schema.String,
  /** As the model wrote it: perhaps no tool has it. */
  name: Schema.String,
  /** The parameters, as the model wrote them: perhaps no JSON. */
  text: Schema.String,
  /** The model was stopped within it. It is not executed. */
  truncated: Schema.optionalKey(Schema.Literal(true)),
  opaque: Schema.optionalKey(Opaque)
}

/**
 * A call that the model asks for.
 *
 * @category models
 * @since 0.1.0
 */
export const AskedCall = Schema.Struct(asked)
export type AskedCall = typeof AskedCall.Type

/**
 * What the model reads of how a call ended.
 *
 * @category models
 * @since 0.1.0
 */
export const CallResult = Schema.Struct({ content: Schema.Array(ToolContent), isError: Schema.Boolean })
export type CallResult = typeof CallResult.Type

/**
 * A call, and how it ended.
 *
 * @category models
 * @since 0.1.0
 */
export const Call = Schema.Struct({ ...asked, callId: Schema.String, result: CallResult })
export type Call = typeof Call.Type

/**
 * Tokens of one response. `inputTokens` counts all of the input, what was read from a cache and written to one, too.
 *
 * @category models
 * @since 0.1.0
 */
export const Usage = Schema.Struct({
  inputTokens: Schema.Natural,
  outputTokens: Schema.Natural,
  cacheReadTokens: Schema.optionalKey(Schema.Natural),
  cacheWriteTokens: Schema.optionalKey(Schema.Natural)
})
export type Usage = typeof Usage.Type

/**
 * Why a response ended: the model had said all (`end`), asks for calls, reached its limit of tokens, would not go on; or
 * whoever listened cancelled it.
 *
 * @category models
 * @since 0.1.0
 */
export const ReplyStop = Schema.Literals(["end", "calls", "length", "refusal", "cancelled"])
export type ReplyStop = typeof ReplyStop.Type

/**
 * What was said to the model: by the user; by the program, which reminds it of something; by a task in the background,
 * which ended; by a summary, of what was said before.
 *
 * @category models
 * @since 0.1.0
 */
export const Message = Schema.TaggedStruct("Message", {
  from: Schema.Literals(["user", "program", "task", "summary"]),
  content: Schema.Array(ToolContent)
})
export type Message = typeof Message.Type

/**
 * What the model said, with the results of what it called.
 *
 * @category models
 * @since 0.1.0
 */
export const Reply = Schema.TaggedStruct("Reply", {
  parts: Schema.Array(Schema.Union([Text, Reasoning, Call])),
  stop: ReplyStop,
  usage: Usage,
  /** The model, as its provider calls it. */
  model: Schema.optionalKey(Schema.String)
})
export type Reply = typeof Reply.Type

/**
 * @category models
 * @since 0.1.0
 */
export const Item = Schema.Union([Message, Reply])
export type Item = typeof Item.Type

/**
 * @category models
 * @since 0.1.0
 */
export type History = ReadonlyArray<Item>

/**
 * No tokens.
 *
 * @category constructors
 * @since 0.1.0
 */
export const noUsage: Usage = { inputTokens: 0, outputTokens: 0 }

/**
 * @category combinators
 * @since 0.1.0
 */
export const addUsage = (a: Usage, b: Usage): Usage => {
  const cacheReadTokens = (a.cacheReadTokens ?? 0) + (b.cacheReadTokens ?? 0)
  const cacheWriteTokens = (a.cacheWriteTokens ?? 0) + (b.cacheWriteTokens ?? 0)
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(cacheReadTokens === 0 ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === 0 ? {} : { cacheWriteTokens })
  }
}

/**
 * The calls of an item, in the order in which the model asked for them.
 *
 * @category combinators
 * @since 0.1.0
 */
export const callsOf = (item: Item): ReadonlyArray<Call> =>
  item._tag === "Message" ? [] : item.parts.filter((part) => part.type === "call")

/**
 * What the model reads of how a call ended.
 *
 * @category converting
 * @since 0.1.0
 */
export const fromTerminal = ({ result }: Terminal): CallResult =>
  result._tag === "Success"
    ? { content: result.content, isError: result.isError }
    : { content: toContent(result.error), isError: true }

/**
 * The history as a text, for whoever is to read it and not to continue it. Of a long text the middle is left out: more
 * than `maxUnits` UTF-16 code units are never shown of one part.
 *
 * @category converting
 * @since 0.1.0
 */
export const toText = (history: History, maxUnits: number): string =>
  history
    .map((item) =>
      item._tag === "Message"
        ? `[${item.from}]\n${shorten(contentText(item.content), maxUnits)}`
        : item.parts.map((part) => partText(part, maxUnits)).join("\n")
    )
    .join("\n\n")

const partText = (part: Text | Reasoning | Call, maxUnits: number): string => {
  switch (part.type) {
    case "text":
      return `[model]\n${shorten(part.text, maxUnits)}`
    case "reasoning":
      return `[model, thinking]\n${shorten(part.text, maxUnits)}`
    case "call":
      return (
        `[model calls ${part.name}]\n${shorten(part.text, maxUnits)}\n` +
        `[${part.result.isError ? "error" : "result"}]\n${shorten(contentText(part.result.content), maxUnits)}`
      )
  }
}

const contentText = (content: ReadonlyArray<ToolContent>): string =>
  content
    .map((item) => {
      switch (item.type) {
        case "text":
          return item.text
        case "image":
          return `[an image, ${item.mimeType}]`
        case "resource":
          return `[${item.uri}]`
      }
    })
    .join("\n")

const shorten = (text: string, maxUnits: number): string => {
  if (text.length <= maxUnits) return text
  const half = Math.floor(maxUnits / 2)
  const head = PlainText.take(text, half)
  const tail = text.slice(text.length - half).toWellFormed()
  return `${head}\n[… ${text.length - head.length - tail.length} left out …]\n${tail}`
}
