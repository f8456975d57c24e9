/**
 * A trivial call, `{ text }` in and `{ text }` out, both validated. Ours is minted, looked up, decoded, run
 * and encoded, and ends with its one terminal.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Guards from "../../layers/Guards.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import { compare, type Comparison, type Contender, race } from "./race.ts"
import * as AiSdk from "./aiSdk.ts"
import * as Zod from "./zod.ts"

const dispatch = "a trivial call, dispatched"
const events = "a trivial call, as events"
const typed = "a trivial call, typed"
const guarded = "a trivial call, dispatched behind all guards"
const toolkit = "effect/ai's `Toolkit.handle`, drained"
const generator = "an async generator with zod in and out"
const fromText = "a trivial call, dispatched from text"
const aiSdk = "the AI SDK's `parseToolCall` and `executeToolCall`"
const sleeping = "10,000 calls at once that sleep 10 ms"
const eachSleeping = "10,000 calls at once that sleep 10 ms, each with a reader of its own"
const promises = "10,000 promises at once that sleep 10 ms"

const unit = "ns/call"
const vsToolkit: ReadonlyArray<Comparison> = [
  { id: "call.trivial.vs-toolkit", ours: dispatch, theirs: toolkit, unit, floor: 12, goal: 60 },
  { id: "call.events.vs-toolkit", ours: events, theirs: toolkit, unit, floor: null },
  { id: "call.typed.vs-toolkit", ours: typed, theirs: toolkit, unit, floor: null }
]
const vsGenerator: ReadonlyArray<Comparison> = [
  { id: "call.trivial.vs-zod-generator", ours: dispatch, theirs: generator, unit, floor: 1 / 12, goal: 1 / 3 }
]
const guards: ReadonlyArray<Comparison> = [
  { id: "call.guarded.vs-toolkit", ours: guarded, theirs: toolkit, unit, floor: 8, goal: 30 }
]
const vsAiSdk: ReadonlyArray<Comparison> = [
  { id: "call.trivial.vs-ai-sdk", ours: fromText, theirs: aiSdk, unit, floor: 1.5, goal: 6 }
]
const crowd: ReadonlyArray<Comparison> = [
  { id: "call.10k-at-once.vs-promises", ours: sleeping, theirs: promises, unit: "ms", floor: 1 / 2.5, goal: 1 / 1.3 },
  { id: "call.10k-readers.vs-promises", ours: eachSleeping, theirs: promises, unit: "ms", floor: null }
]
export const comparisons = [...vsGenerator, ...vsToolkit, ...guards, ...vsAiSdk, ...crowd]

const Text = Schema.Struct({ text: Schema.String })
const text = "Hello."

class Echo extends Tool.Service<Echo>()("echo", {
  description: "Gives back the text.",
  parameters: { text: Schema.String },
  success: Text,
  hints: { readOnly: true }
}) {}

class Sleep extends Tool.Service<Sleep>()("sleep", {
  description: "Sleeps.",
  parameters: { text: Schema.String },
  success: Text
}) {}

const SleepLive = Sleep.toLayer(({ text }) => Effect.as(Effect.sleep(10), { text }))

/** Calls in flight at once. */
const crowdSize = 10_000

const EchoLive = Echo.toLayer(({ text }) => Effect.succeed({ text }))

const AiEcho = AiTool.make("echo", { description: "Gives back the text.", parameters: Text, success: Text })
const AiTools = Toolkit.make(AiEcho)
const AiToolsLive = AiTools.toLayer({ echo: ({ text }) => Effect.succeed({ text }) })

const live = ToolRuntime.layer.pipe(
  Layer.provide(ToolRegistry.layer(Echo, Sleep)),
  Layer.provide([EchoLive, SleepLive]),
  Layer.merge(AiToolsLive)
)

/** Every guard, and none of them has anything to do. */
const guardsLive = Guards.layerWith({
  clocks: { defaults: { total: "1 hour", idle: "1 hour", queue: "1 hour", approval: "1 hour" } },
  rates: { other: { limit: 1, window: "1 second" } }
}).pipe(Layer.provide(Layer.mock(WorkspaceFiles, {})))

/** A runtime of its own: the layer of the other one is built once in a program, without guards. */
const guardedLive = ToolRuntime.layerWith().pipe(
  Layer.provide(guardsLive),
  Layer.provide(ToolRegistry.layer(Echo)),
  Layer.provide(EchoLive)
)

const check = (result: unknown) => {
  if ((result as { readonly text?: unknown } | undefined)?.text !== text)
    throw new Error(`got ${JSON.stringify(result)}`)
}

export const measure = (rounds: number) =>
  Effect.gen(function* () {
    const runtime = yield* ToolRuntime.ToolRuntime
    const handlers = yield* AiTools
    const run = Effect.runPromiseWith(yield* Effect.context())

    /** The calls follow each other in one fiber: what starts and ends that fiber is no part of a call. */
    const inOneFiber = <A, E>(
      name: string,
      one: () => Effect.Effect<A, E>,
      textOf: (result: A) => unknown
    ): Contender => ({
      name,
      run: (n) =>
        run(
          Effect.suspend(() => {
            let i = 0
            let result: A
            return Effect.andThen(
              Effect.whileLoop({ while: () => i++ < n, body: one, step: (value) => (result = value) }),
              Effect.sync(() => check(textOf(result)))
            )
          })
        )
    })
    const minted = () => ToolCall.make({ name: "echo", parameters: { text } })

    const behindGuards = Context.get(yield* Layer.build(guardedLive), ToolRuntime.ToolRuntime)
    const oursGuarded = inOneFiber(
      guarded,
      () => Effect.flatMap(minted(), (call) => ToolStream.runResult(behindGuards.dispatch(call))),
      ({ value }) => value
    )
    const ours = inOneFiber(
      dispatch,
      () => Effect.flatMap(minted(), (call) => ToolStream.runResult(runtime.dispatch(call))),
      ({ value }) => value
    )
    const oursAsEvents = inOneFiber(
      events,
      () => Effect.flatMap(minted(), (call) => Stream.runCollect(runtime.events(call))),
      ([event]) => (event?._tag === "Terminal" && event.result._tag === "Success" ? event.result.value : undefined)
    )
    const oursTyped = inOneFiber(
      typed,
      () => ToolStream.runResult(runtime.call(Echo, { text })),
      (result) => result
    )
    const theirToolkit = inOneFiber(
      toolkit,
      () => Effect.flatMap(handlers.handle("echo", { text }), Stream.runLast),
      (last) => (last._tag === "Some" ? last.value.encodedResult : undefined)
    )
    const theirGenerator = yield* Effect.promise(async (): Promise<Contender> => {
      const z = await Zod.load()
      const [input, output] = [z.object({ text: z.string() }), z.object({ text: z.string() })]
      async function* echo(parameters: unknown) {
        const { text } = input.parse(parameters)
        return output.parse({ text })
      }
      return {
        name: generator,
        run: async (n) => {
          let result: unknown
          for (let i = 0; i < n; i++) result = (await echo({ text }).next()).value
          check(result)
        }
      }
    })

    const json = JSON.stringify({ text })
    const oursFromText = inOneFiber(
      fromText,
      () => ToolStream.runResult(runtime.dispatchText({ name: "echo", text: json })),
      ({ value }) => value
    )
    const theirSdk = yield* Effect.promise(async (): Promise<Contender> => {
      const [z, sdk] = await Promise.all([Zod.load(), AiSdk.load()])
      const echo = sdk.tool({
        description: "Gives back the text.",
        inputSchema: z.object({ text: z.string() }),
        execute: ({ text }: { readonly text: string }) => Promise.resolve({ text })
      })
      return {
        name: aiSdk,
        run: async (n) => {
          let result: unknown
          for (let i = 0; i < n; i++) result = await AiSdk.call(sdk, { echo }, "echo", json)
          check(result)
        }
      }
    })

    const many = Array.from({ length: crowdSize }, () => ({ name: "sleep", parameters: { text } }))
    const times = (n: number, crowd: Effect.Effect<unknown, unknown>) => run(Effect.repeat(crowd, { times: n - 1 }))
    const atOnce: Contender = {
      name: sleeping,
      run: (n) => times(n, Effect.flatMap(Effect.forEach(many, ToolCall.make), runtime.dispatchAll))
    }
    const eachRead: Contender = {
      name: eachSleeping,
      run: (n) =>
        times(
          n,
          Effect.forEach(
            many,
            (request) => Effect.flatMap(ToolCall.make(request), (call) => ToolStream.runResult(runtime.dispatch(call))),
            { concurrency: "unbounded", discard: true }
          )
        )
    }
    const timers: Contender = {
      name: promises,
      run: async (n) => {
        const sleep = async () => {
          await new Promise((resolve) => setTimeout(resolve, 10))
          return { text }
        }
        for (let i = 0; i < n; i++) await Promise.all(Array.from({ length: crowdSize }, sleep))
      }
    }

    // More than one race: the garbage of Toolkit would be collected in the others' samples.
    return yield* Effect.promise(async () => [
      ...compare(await race([ours, theirGenerator], { rounds }), vsGenerator),
      ...compare(await race([ours, oursAsEvents, oursTyped, theirToolkit], { rounds }), vsToolkit),
      ...compare(await race([oursGuarded, theirToolkit], { rounds }), guards),
      ...compare(await race([oursFromText, theirSdk], { rounds }), vsAiSdk),
      ...compare(await race([atOnce, eachRead, timers], { rounds }), crowd)
    ])
  }).pipe(Effect.provide(live), Effect.scoped, Effect.runPromise)
