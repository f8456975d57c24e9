/**
 * What becomes of a history that gets too long for the model.
 *
 * Items are replaced or kept whole, so a call is never parted from its result: see
 * `History`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { text } from "../../src/ToolContent.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as History from "./History.ts"
import type { Sampler } from "./Sampler.ts"
import type { SamplerError } from "./SamplerError.ts"

/**
 * What there is to decide on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pressure {
  readonly history: History.History
  /** The model has refused the history as too long. */
  readonly forced: boolean
}

/**
 * A summary in place of all but the last `kept` items.
 *
 * @category models
 * @since 0.1.0
 */
export interface Compacted {
  readonly summary: History.Message
  readonly kept: number
}

/**
 * Asked before each sample. Undefined leaves the history as it is.
 *
 * @category models
 * @since 0.1.0
 */
export type Compact = (
  pressure: Pressure,
  sampler: Sampler["Service"]
) => Effect.Effect<Compacted | undefined, SamplerError>

/**
 * Leaves every history as it is.
 *
 * @category constructors
 * @since 0.1.0
 */
export const none: Compact = () => Effect.undefined

/** UTF-16 code units of one part that the summariser is shown. More makes its own request too long. */
const maxPart = 4000

/** UTF-16 code units that it is shown of all. About 100,000 tokens. */
const maxAll = 400_000

const instruction =
  "What follows is the record of a conversation between a user and a model that works with tools. The model will " +
  "continue it, and will have forgotten all of it but your summary. Write that summary: what the user wants and has " +
  "decided, in their words where it matters; what was found out, with names of files, lines and commands; what was " +
  "changed, and how it was checked; what failed and why; what is left to do, and the very next step. Say nothing that " +
  "is not in the record."

/**
 * Has the model itself summarise what is old, when its last response came near its limit.
 *
 * @category constructors
 * @since 0.1.0
 */
export const summarising = (options: {
  /** Tokens that the model can read. */
  readonly contextTokens: number
  /** The part of them from which on it is summarised. Default: 0.8. Less forgets early; more leaves no room for a response. */
  readonly at?: number | undefined
  /** UTF-16 code units of the latest items that are kept as they are. Default: 40,000. The last item is kept always. */
  readonly keepUnits?: number | undefined
}): Compact => {
  const { at = 0.8, contextTokens, keepUnits = 40_000 } = options
  return ({ forced, history }, sampler) => {
    if (!forced && contextUsed(history) < at * contextTokens) return Effect.undefined
    const kept = lastItems(history, keepUnits)
    const old = history.slice(0, history.length - kept)
    // Nothing is won by a summary of a single message.
    if (old.length < 2) return Effect.undefined
    const record = History.toText(old, maxPart)
    const shown = record.length <= maxAll ? record : record.slice(record.length - maxAll).toWellFormed()
    const ask: History.Message = { _tag: "Message", from: "program", content: [text(`${instruction}\n\n${shown}`)] }
    return Effect.map(
      ToolStream.runResult(sampler.sample({ history: [ask], tools: [] })),
      ({ parts }): Compacted | undefined => {
        const summary = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")
        return summary.trim() === ""
          ? undefined
          : {
              kept,
              summary: {
                _tag: "Message",
                from: "summary",
                content: [text(`What was said before, in short:\n\n${summary}`)]
              }
            }
      }
    )
  }
}

/** Tokens that the last response has read and written; none, if nothing is known since the last summary. */
const contextUsed = (history: History.History): number => {
  const last = history.findLast((item) => item._tag === "Reply" || item.from === "summary")
  return last?._tag === "Reply" ? last.usage.inputTokens + last.usage.outputTokens : 0
}

/** How many of the last items fit. At least one. */
const lastItems = (history: History.History, maxUnits: number): number => {
  let units = 0
  const tooMany = history.findLastIndex((item) => (units += History.toText([item], maxPart).length) > maxUnits)
  return Math.max(1, history.length - 1 - tooMany)
}
