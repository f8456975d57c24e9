import { assert, describe, it } from "@effect/vitest"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Conversation from "../../../layers/agent/Conversation.ts"
import * as History from "../../../layers/agent/History.ts"
import * as EffectAi from "../../../layers/effect-ai/EffectAi.ts"
import * as LanguageModelSampler from "../../../layers/effect-ai/LanguageModelSampler.ts"
import { LawCheck } from "../../../layers/testing/index.ts"
import * as Tool from "../../../src/Tool.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import { text } from "../../../src/ToolContent.ts"
import type { ToolEvent } from "../../../src/ToolEvent.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"

class Count extends Tool.Service<Count>()("count", {
  description: "Counts.",
  parameters: { to: Schema.Natural, ends: Schema.optionalKey(Schema.Literals(["die", "fail", "report"])) },
  progress: Schema.Natural,
  success: Schema.Natural,
  failure: Schema.String,
  isError: (counted) => counted > 100,
  toContent: (counted) => [{ type: "text", text: `counted ${counted}` }]
}) {}

const ours = ToolRuntime.layerWith().pipe(
  Layer.provideMerge(ToolRegistry.layer(Count)),
  Layer.provide(
    Count.toLayer(
      Effect.succeed(({ ends, to }) =>
        ToolStream.callback((emit: (n: number) => Effect.Effect<void>) =>
          Effect.gen(function* () {
            for (let n = 1; n <= to; n++) yield* emit(n)
            if (ends === "die") return yield* Effect.die(new Error("died"))
            if (ends === "fail") return yield* Effect.fail("failed")
            return ends === "report" ? 101 : to
          })
        )
      )
    )
  )
)

type Parts = ReadonlyArray<Response.StreamPartEncoded>

const usage = {
  inputTokens: { uncached: 3, total: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined }
}
const finish = (reason: Response.FinishReason): Response.StreamPartEncoded => ({ type: "finish", reason, usage })
const call = (id: string, name: string, params: unknown): Response.StreamPartEncoded => ({
  type: "tool-call",
  id,
  name,
  params
})

/** A model that says these, and remembers what it was asked. */
const model = (said: ReadonlyArray<Parts>) => {
  const prompts: Array<Prompt.Prompt> = []
  const layer = Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () => Effect.die("not asked"),
      streamText: ({ prompt }) =>
        Stream.suspend(() => Stream.fromIterable(said[prompts.push(prompt) - 1] ?? [finish("stop")]))
    })
  )
  return { layer, prompts }
}

describe("EffectAi.toToolkit", () => {
  it.effect(
    "progress is preliminary, and every call has one result that is not: also one that dies or is not there",
    () =>
      Effect.gen(function* () {
        const toolkit = yield* EffectAi.toToolkit
        const handled = (name: string, params: unknown) =>
          Effect.flatMap(toolkit.handle(name, params, "id"), (results) => Stream.runCollect(results))
        const good = yield* handled("count", { to: 2 })
        assert.deepStrictEqual(
          good.map(({ encodedResult, isFailure, preliminary }) => [encodedResult, isFailure, preliminary]),
          [
            [1, false, true],
            [2, false, true],
            [2, false, false]
          ]
        )
        const [output] = good.at(-1)?.modelOutput ?? []
        assert(output?.type === "text" && output.text === "counted 2")
        for (const [params, says] of [
          [{ to: 1, ends: "die" }, "a bug in it"],
          [{ to: 1, ends: "fail" }, "failed"],
          [{ to: "x" }, "parameters are invalid"],
          [{ to: 0, ends: "report" }, "101"]
        ] as const) {
          const last = (yield* handled("count", params)).at(-1)
          assert.isTrue(last?.isFailure)
          assert.isFalse(last?.preliminary)
          assert.include(JSON.stringify([last?.encodedResult, last?.modelOutput]), says)
        }
        assert.include(JSON.stringify(yield* handled("cuont", {})), "Did you mean count?")
      }).pipe(Effect.provide(ours))
  )

  it.effect("the loop of effect/ai runs it", () =>
    Effect.gen(function* () {
      const toolkit = yield* EffectAi.toToolkit
      const { layer } = model([
        [call("1", "count", { to: 1 }), call("2", "count", { to: 0, ends: "die" }), finish("tool-calls")]
      ])
      const parts = yield* LanguageModel.streamText({ prompt: "count", toolkit }).pipe(
        Stream.runCollect,
        Effect.provide(layer)
      )
      const results = parts.flatMap((part) => (part.type === "tool-result" ? [part] : []))
      assert.sameDeepMembers(
        results.map(({ id, isFailure, preliminary }) => [id, isFailure, preliminary]),
        [
          ["1", false, true],
          ["1", false, false],
          ["2", true, false]
        ]
      )
    }).pipe(Effect.provide(ours))
  )
})

const Weather = AiTool.make("weather", {
  description: "The weather.",
  parameters: Schema.Struct({ city: Schema.String, days: Schema.optionalKey(Schema.FiniteFromString) }),
  success: Schema.Struct({ degrees: Schema.Finite }),
  failure: Schema.Struct({ why: Schema.String }),
  failureMode: "return"
}).annotate(AiTool.Readonly, true)
const Raw = AiTool.dynamic("raw", {
  description: "Anything.",
  parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] }
})
const Strict = AiTool.make("strict", {
  parameters: Schema.Struct({ n: Schema.Finite }),
  success: Schema.Finite,
  failure: Schema.String
})

const Theirs = Toolkit.make(Weather, Raw, Strict)
const handlers = Theirs.toLayer({
  weather: ({ city, days }, context) =>
    Effect.gen(function* () {
      if (city === "nowhere") return yield* Effect.fail({ why: "no such city" })
      if (city === "storm") return yield* Effect.die(new Error("struck"))
      yield* context.preliminary({ degrees: 1 })
      return { degrees: days ?? 2 }
    }),
  raw: (params) => Effect.succeed({ got: params }),
  strict: ({ n }) => (n < 0 ? Effect.fail("negative") : Effect.succeed(n))
})

const theirs = ToolRuntime.layerWith().pipe(
  Layer.provideMerge(
    Layer.provideMerge(
      Layer.unwrap(Effect.map(Theirs, (toolkit) => EffectAi.layerToolkit(toolkit))).pipe(Layer.provide(handlers)),
      ToolRegistry.layerEmpty
    )
  )
)

describe("EffectAi.fromToolkit", () => {
  const events = (name: string, parameters: unknown) =>
    Effect.gen(function* () {
      const runtime = yield* ToolRuntime.ToolRuntime
      const call = yield* ToolCall.make({ name, parameters })
      return yield* Stream.runCollect(runtime.events(call))
    })
  const endOf = (events: ReadonlyArray<ToolEvent>) => {
    const last = events.at(-1)
    assert(last?._tag === "Terminal")
    return last.result
  }

  it.effect("preliminary results are progress, the last is the one result", () =>
    Effect.gen(function* () {
      const all = yield* events("weather", { city: "Oslo", days: "5" })
      assert.deepStrictEqual(
        all.map((event) => (event._tag === "Progress" ? event.value : event._tag)),
        [{ degrees: 1 }, "Terminal"]
      )
      assert.deepInclude(endOf(all), { _tag: "Success", value: { degrees: 5 } })
      assert.deepInclude(endOf(yield* events("raw", { q: "x" })), { _tag: "Success", value: { got: { q: "x" } } })
      assert.deepInclude(endOf(yield* events("strict", { n: 4 })), { _tag: "Success", value: 4 })
    }).pipe(Effect.provide(theirs))
  )

  it.effect("a failure, a defect and parameters that do not fit end as the law says", () =>
    Effect.gen(function* () {
      for (const [name, parameters, reason, says] of [
        ["weather", { city: "nowhere" }, "ToolFailed", "no such city"],
        ["weather", { city: "storm" }, "ToolDefect", "struck"],
        ["weather", { town: "Oslo" }, "InvalidParameters", "city"],
        ["strict", { n: -1 }, "ToolFailed", "negative"],
        ["raw", "text", "InvalidParameters", "parameters"]
      ] as const) {
        const end = endOf(yield* events(name, parameters))
        assert(end._tag === "Failure", name)
        assert.strictEqual(end.error.reason._tag, reason)
        assert.include(end.error.message, says)
      }
    }).pipe(Effect.provide(theirs))
  )

  it.effect("they are shown as they describe themselves, and keep the law", () =>
    Effect.gen(function* () {
      const { snapshot } = yield* ToolRegistry.ToolRegistry
      const listed = yield* snapshot
      assert.deepStrictEqual(
        listed.map(({ description, hints, name }) => [name, description, hints.readOnly]),
        [
          ["weather", "The weather.", true],
          ["raw", "Anything.", false],
          ["strict", "", false]
        ]
      )
      assert.deepStrictEqual(listed[1]?.parametersSchema, Raw.jsonSchema)
      const tools = yield* Effect.flatMap(Theirs, (toolkit) => EffectAi.fromToolkit(toolkit)).pipe(
        Effect.provide(handlers)
      )
      const [weather] = tools
      assert(weather !== undefined)
      yield* LawCheck.checkErased(weather, { parameters: [{ city: "Oslo" }, { city: "nowhere" }] })
    }).pipe(Effect.provide(theirs))
  )
})

describe("LanguageModelSampler", () => {
  it.effect(
    "a turn over a LanguageModel: pieces and whole calls, unknown names, ids used twice, and what it wants back",
    () =>
      Effect.gen(function* () {
        const { layer, prompts } = model([
          [
            { type: "response-metadata", modelId: "m1" },
            { type: "reasoning-start", id: "r" },
            { type: "reasoning-delta", id: "r", delta: "hm" },
            { type: "reasoning-end", id: "r", metadata: { p: { signature: "sig" } } },
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: "Let me " },
            { type: "text-delta", id: "t", delta: "see." },
            { type: "text-end", id: "t" },
            { type: "tool-params-start", id: "1", name: "count" },
            { type: "tool-params-delta", id: "1", delta: '{"to":' },
            { type: "tool-params-delta", id: "1", delta: "2}" },
            { type: "tool-params-end", id: "1" },
            call("1", "count", { to: 2 }),
            call("2", "no_such", {}),
            call("1", "count", { to: 3 }),
            finish("tool-calls")
          ],
          [
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: "2." },
            { type: "text-end", id: "t" },
            finish("stop")
          ]
        ])
        const conversation = yield* Conversation.make({ system: "Be brief." }).pipe(
          Effect.provide(Layer.provide(LanguageModelSampler.layer, layer))
        )
        yield* conversation.say([text("count")])
        const tags: Array<string> = []
        const result = yield* ToolStream.runForEachArray(conversation.turn, (events) =>
          Effect.sync(() => void tags.push(...events.map(({ _tag }) => _tag)))
        )
        assert.deepStrictEqual(result.stop, { _tag: "End" })
        assert.deepStrictEqual(result.usage, { inputTokens: 6, outputTokens: 4 })
        assert.strictEqual(tags.filter((tag) => tag === "ToolCallStart").length, 3)
        assert.strictEqual(tags.filter((tag) => tag === "ToolCallEnd").length, 3)
        const calls = (yield* conversation.history).flatMap(History.callsOf)
        assert.deepStrictEqual(
          calls.map(({ text }) => text),
          ['{"to":2}', "{}", '{"to":3}']
        )
        assert.include(JSON.stringify(calls[1]?.result), "There is no such tool")
        assert.include(JSON.stringify(calls[2]?.result), "has this id")
        // The next request has the pairs, and what the model gave with its thought.
        const [, second] = prompts
        const roles = second?.content.map(({ role }) => role)
        assert.deepStrictEqual(roles, ["system", "user", "assistant", "tool"])
        const asked = second?.content.flatMap((message) =>
          message.role === "assistant"
            ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : []))
            : []
        )
        const answered = second?.content.flatMap((message) =>
          message.role === "tool"
            ? message.content.flatMap((part) => (part.type === "tool-result" ? [part.id] : []))
            : []
        )
        assert.strictEqual(new Set(asked).size, 3)
        assert.deepStrictEqual(answered, asked)
        assert.include(JSON.stringify(second), '"signature":"sig"')
      }).pipe(Effect.provide(ours))
  )
})
