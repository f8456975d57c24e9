/**
 * A turn with a model that answers at once: it asks for ten trivial calls, gets their results, and says one word. Theirs
 * is the loop that a program writes on `Chat` of `effect/ai`, which runs the calls of a response itself.
 */
import * as Chat from "effect/ai/Chat"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Conversation from "../../layers/agent/Conversation.ts"
import * as History from "../../layers/agent/History.ts"
import type { Sampler } from "../../layers/agent/Sampler.ts"
import * as LanguageModelSampler from "../../layers/effect-ai/LanguageModelSampler.ts"
import * as ScriptedSampler from "../../layers/testing/ScriptedSampler.ts"
import * as Tool from "../../src/Tool.ts"
import { text } from "../../src/ToolContent.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { compare, type Comparison, type Contender, race } from "./race.ts"

const ours = "a turn with ten calls, `Conversation.turn`"
const oursOverTheirs = "a turn with ten calls over effect/ai's `LanguageModel`"
const theirs = "effect/ai's `Chat.streamText`, until no calls"

export const comparisons: ReadonlyArray<Comparison> = [
  { id: "turn.10-calls.vs-effect-ai", ours, theirs, unit: "us", floor: 2 },
  { id: "turn.same-model.vs-effect-ai", ours: oursOverTheirs, theirs, unit: "us", floor: null }
]

const calls = 10
const ids = Array.from({ length: calls }, (_, index) => `call_${index}`)
const parameters = { text: "Hello." }

class Echo extends Tool.Service<Echo>()("echo", {
  description: "Gives back the text.",
  parameters: { text: Schema.String },
  success: Schema.Struct({ text: Schema.String })
}) {}

const live = ToolRuntime.layerWith().pipe(
  Layer.provideMerge(ToolRegistry.layer(Echo)),
  Layer.provide(Echo.toLayer(({ text }) => Effect.succeed({ text })))
)

const Text = Schema.Struct({ text: Schema.String })
const AiTools = Toolkit.make(
  AiTool.make("echo", { description: "Gives back the text.", parameters: Text, success: Text })
)
const AiToolsLive = AiTools.toLayer({ echo: ({ text }) => Effect.succeed({ text }) })

const usage = {
  inputTokens: { uncached: 1, total: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

const asking: ReadonlyArray<Response.StreamPartEncoded> = [
  ...ids.map((id) => ({ type: "tool-call", id, name: "echo", params: parameters }) as const),
  { type: "finish", reason: "tool-calls", usage }
]
const saying: ReadonlyArray<Response.StreamPartEncoded> = [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "Done." },
  { type: "text-end", id: "t" },
  { type: "finish", reason: "stop", usage }
]

const model = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: () => Effect.die("not asked"),
    streamText: ({ prompt }) =>
      Stream.fromIterable(prompt.content.some(({ role }) => role === "tool") ? saying : asking)
  })
)

const scripted = ScriptedSampler.make(({ history }) =>
  history.length === 1
    ? { parts: ids.map((id) => ({ type: "call", id, name: "echo", text: JSON.stringify(parameters) })) }
    : { parts: [{ type: "text", text: "Done." }] }
)

const check = (results: number) => {
  if (results !== calls) throw new Error(`${results} results`)
}

export const measure = (rounds: number) =>
  Effect.gen(function* () {
    const run = Effect.runPromiseWith(yield* Effect.context())
    const contender = <E>(name: string, turn: Effect.Effect<number, E>): Contender => ({
      name,
      run: (n) =>
        run(
          Effect.suspend(() => {
            let i = 0
            return Effect.whileLoop({ while: () => i++ < n, body: () => turn, step: check })
          })
        )
    })

    const conversing = Effect.scoped(
      Effect.gen(function* () {
        const conversation = yield* Conversation.make({ system: "Echo." })
        yield* conversation.say([text("Go.")])
        yield* ToolStream.runForEachArray(conversation.turn, () => Effect.void)
        return (yield* conversation.history).flatMap(History.callsOf).length
      })
    )
    const tools = yield* Layer.build(live)
    const over = (sampler: Context.Context<Sampler>) => Effect.provideContext(conversing, Context.merge(tools, sampler))
    const oursNow = over(yield* Layer.build(scripted.layer))
    const oursThere = over(yield* Layer.build(Layer.provide(LanguageModelSampler.layer, model)))

    const theirModel = yield* Layer.build(model)
    const toolkit = yield* AiTools
    const chatting = Effect.gen(function* () {
      const chat = yield* Chat.fromPrompt([{ role: "system", content: "Echo." }])
      let results = 0
      let prompt: string | [] = "Go."
      for (;;) {
        let called = false
        yield* Stream.runForEach(chat.streamText({ prompt, toolkit }), (part) =>
          Effect.sync(() => {
            if (part.type === "tool-call") called = true
            if (part.type === "tool-result" && !part.preliminary) results++
          })
        )
        if (!called) return results
        prompt = []
      }
    }).pipe(Effect.provideContext(theirModel))

    const contenders = [contender(ours, oursNow), contender(oursOverTheirs, oursThere), contender(theirs, chatting)]
    const samples = yield* Effect.promise(() => race(contenders, { rounds }))
    return compare(samples, comparisons)
  }).pipe(Effect.scoped, Effect.provide(AiToolsLive), Effect.runPromise)
