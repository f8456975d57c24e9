/**
 * A trivial call, `{ text }` in and `{ text }` out, both validated. Ours is minted, looked up, decoded, run in a fiber
 * of its own and encoded, and ends with its one terminal.
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
import * as Zod from "./zod.ts"

const dispatch = "runtime.dispatch"
const events = "runtime.events, collected"
const typed = "runtime.call"
const guarded = "runtime.dispatch, with all guards"
const toolkit = "effect/ai Toolkit.handle, drained"
const generator = "an async generator with zod in and out"

const unit = "ns/call"
const vsToolkit: ReadonlyArray<Comparison> = [
  { id: "call.trivial.vs-toolkit", ours: dispatch, theirs: toolkit, unit, floor: null },
  { id: "call.events.vs-toolkit", ours: events, theirs: toolkit, unit, floor: null },
  { id: "call.typed.vs-toolkit", ours: typed, theirs: toolkit, unit, floor: null }
]
const vsGenerator: ReadonlyArray<Comparison> = [
  { id: "call.trivial.vs-zod-generator", ours: dispatch, theirs: generator, unit, floor: null }
]
const guards: ReadonlyArray<Comparison> = [
  { id: "call.guarded.vs-toolkit", ours: guarded, theirs: toolkit, unit, floor: 8 }
]
export const comparisons = [...vsGenerator, ...vsToolkit, ...guards]

const Text = Schema.Struct({ text: Schema.String })
const text = "Hello."

class Echo extends Tool.Service<Echo>()("echo", {
  description: "Gives back the text.",
  parameters: { text: Schema.String },
  success: Text,
  hints: { readOnly: true }
}) {}

const EchoLive = Echo.toLayer(({ text }) => Effect.succeed({ text }))

const AiEcho = AiTool.make("echo", { description: "Gives back the text.", parameters: Text, success: Text })
const AiTools = Toolkit.make(AiEcho)
const AiToolsLive = AiTools.toLayer({ echo: ({ text }) => Effect.succeed({ text }) })

const live = ToolRuntime.layer.pipe(
  Layer.provide(ToolRegistry.layer(Echo)),
  Layer.provide(EchoLive),
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

    // More than one race: the garbage of Toolkit would be collected in the others' samples.
    return yield* Effect.promise(async () => [
      ...compare(await race([ours, theirGenerator], { rounds }), vsGenerator),
      ...compare(await race([ours, oursAsEvents, oursTyped, theirToolkit], { rounds }), vsToolkit),
      ...compare(await race([oursGuarded, theirToolkit], { rounds }), guards)
    ])
  }).pipe(Effect.provide(live), Effect.scoped, Effect.runPromise)
