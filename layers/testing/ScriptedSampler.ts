/**
 * A model whose responses are data, and which remembers what it was asked: for tests of
 * whatever stands on a sampler.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ToolStream from "../../src/ToolStream.ts"
import * as History from "../agent/History.ts"
import * as Sampler from "../agent/Sampler.ts"
import { fromReason, Reason, type SamplerError } from "../agent/SamplerError.ts"

/**
 * One response, and how it comes.
 *
 * @category models
 * @since 0.1.0
 */
export const Script = Schema.Struct({
  /** A text comes in two pieces, the parameters of a call too. */
  parts: Schema.Array(Schema.Union([History.Text, History.Reasoning, History.AskedCall])),
  /** Default: `calls` if there are calls, else `end`. */
  stop: Schema.optionalKey(History.ReplyStop),
  /** Default: one token each. */
  usage: Schema.optionalKey(History.Usage),
  /** Before each part. */
  everyMs: Schema.optionalKey(Schema.Natural),
  /** After all parts it fails for this reason, instead of giving its response. */
  fails: Schema.optionalKey(Reason),
  /** After all parts nothing comes any more. */
  hangs: Schema.optionalKey(Schema.Boolean),
  /** After all parts it is told that the response is given up, and all comes again. */
  retries: Schema.optionalKey(Schema.Boolean)
})
export type Script = typeof Script.Type

/**
 * @category models
 * @since 0.1.0
 */
export interface ScriptedSampler {
  /** What it was asked so far. */
  readonly requests: ReadonlyArray<Sampler.Request>
  readonly sampler: Sampler.Sampler["Service"]
  readonly layer: Layer.Layer<Sampler.Sampler>
}

/** What is said when the scripts have run out. */
const last: Script = { parts: [{ type: "text", text: "(end of script)" }] }

/**
 * Says one script after another; or whatever the request deserves, the first of which is number 0.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  scripts: ReadonlyArray<Script> | ((request: Sampler.Request, number: number) => Script)
): ScriptedSampler => {
  const requests: Array<Sampler.Request> = []
  const scriptOf = typeof scripts === "function" ? scripts : (_: unknown, number: number) => scripts[number] ?? last
  const sampler = Sampler.Sampler.of({
    sample: (request) =>
      ToolStream.suspend(() => {
        const number = requests.push(request) - 1
        return response(scriptOf(request, number))
      })
  })
  return { requests, sampler, layer: Layer.succeed(Sampler.Sampler, sampler) }
}

/**
 * What a script says, as a sampler says it.
 *
 * @category converting
 * @since 0.1.0
 */
export const response = (script: Script): ToolStream.ToolStream<Sampler.SamplerEvent, Sampler.Response, SamplerError> =>
  ToolStream.callbackArray((emit) =>
    Effect.gen(function* () {
      const { parts, usage = { inputTokens: 1, outputTokens: 1 } } = script
      const told = Effect.forEach(
        parts.map((part, index) => eventsOf(part, parts.slice(0, index).filter(({ type }) => type === "call").length)),
        (events) =>
          script.everyMs === undefined ? emit(events) : Effect.andThen(Effect.sleep(script.everyMs), emit(events)),
        { discard: true }
      )
      yield* told
      if (script.retries === true) {
        yield* emit([{ _tag: "Retrying", attempt: 1, delayMs: 0, why: "as scripted" }])
        yield* told
      }
      if (script.hangs === true) return yield* Effect.never
      if (script.fails !== undefined) return yield* fromReason("scripted", script.fails)
      yield* emit([{ _tag: "Usage", usage }])
      const stop = script.stop ?? (parts.some(({ type }) => type === "call") ? "calls" : "end")
      return { parts, stop, usage, model: "scripted" }
    })
  )

const eventsOf = (
  part: Sampler.Response["parts"][number],
  index: number
): NonEmptyReadonlyArray<Sampler.SamplerEvent> => {
  const half = part.text.length >> 1
  const pieces = [part.text.slice(0, half), part.text.slice(half)] as const
  switch (part.type) {
    case "text":
      return [
        { _tag: "Text", text: pieces[0] },
        { _tag: "Text", text: pieces[1] }
      ]
    case "reasoning":
      return [{ _tag: "Reasoning", text: part.text }]
    case "call":
      return [
        { _tag: "ToolCallStart", index, id: part.id, name: part.name },
        { _tag: "ToolCallDelta", index, text: pieces[0] },
        { _tag: "ToolCallDelta", index, text: pieces[1] },
        { _tag: "ToolCallEnd", index }
      ]
  }
}
