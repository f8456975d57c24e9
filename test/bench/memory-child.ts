/**
 * How many bytes of heap one of them takes, when there are many. `node test/bench/memory-child.ts WHAT`
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Session from "../../src/Session.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { registered } from "./curves/registry.ts"
import { settledHeap } from "./heap.ts"

class Echo extends Tool.Service<Echo>()("echo", {
  description: "Gives back the text.",
  parameters: { text: Schema.String },
  success: Schema.Struct({ text: Schema.String })
}) {}

class Sleep extends Tool.Service<Sleep>()("sleep", {
  description: "Sleeps.",
  parameters: { text: Schema.String },
  success: Schema.String
}) {}

const live = ToolRuntime.layerWith().pipe(
  Layer.provideMerge(ToolRegistry.layer(Echo, Sleep)),
  Layer.provide([
    Echo.toLayer(({ text }) => Effect.succeed({ text })),
    Sleep.toLayer(({ text }) => Effect.as(Effect.sleep("1 hour"), text))
  ])
)

const calling = (name: string) =>
  Effect.gen(function* () {
    const { dispatch } = yield* ToolRuntime.ToolRuntime
    const call = yield* ToolCall.make({ name, parameters: { text: "Hello." } })
    return yield* ToolStream.runResult(dispatch(call))
  })

const times = <A, E, R>(count: number, one: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let i = 0
    return Effect.whileLoop({ while: () => i++ < count, body: () => one, step: () => {} })
  })

const many = 10_000
const manyTools = 1000
const manyCalls = 1_000_000
/** So that code is compiled and tables have grown before the first look. */
const warmUps = 50_000

/** What is measured must not be collected before. */
const kept: Array<unknown> = []

/** What `make` leaves on the heap, by one of `count`. */
const left = <E, R>(count: number, make: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    const before = settledHeap()
    kept.push(yield* make)
    return (settledHeap() - before) / count
  })

const inFlight = (count: number) =>
  Effect.forkChild(
    Effect.forEach(Array.from({ length: count }), () => calling("sleep"), { concurrency: "unbounded", discard: true }),
    { startImmediately: true }
  )

/** What of a tool is made when it is first listed stays. */
const listing = Effect.flatMap(ToolRegistry.ToolRegistry, ({ snapshot }) => Effect.asVoid(snapshot))

const aiTools = (count: number) =>
  Effect.suspend(() => {
    const tools = Array.from({ length: count }, (_, index) =>
      AiTool.make(`tool_${index}`, {
        description: `Gives back the text, for the ${index}th time.`,
        parameters: Schema.Struct({ text: Schema.String, times: Schema.optionalKey(Schema.Natural) }),
        success: Schema.Struct({ text: Schema.String })
      })
    )
    const toolkit = Toolkit.make(...tools)
    const echo = ({ text }: { readonly text: string }) => Effect.succeed({ text })
    const handlers = Object.fromEntries(tools.map(({ name }) => [name, echo]))
    return Effect.map(Layer.build(toolkit.toLayer(handlers)), (context) => ({ toolkit, context }))
  })

const sessions = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () =>
    Effect.tap(Session.make({ workspace: "/work" }), (session) =>
      Effect.provideService(calling("echo"), Session.CurrentSession, session)
    )
  )

const timers = (count: number) =>
  Array.from({ length: count }, () => new Promise((resolve) => setTimeout(resolve, 3_600_000)))

/** What can be asked for. */
export type Held = "call" | "promise" | "tool" | "aiTool" | "session" | "million"

const measured: Readonly<
  Record<Held, Effect.Effect<number, unknown, ToolRuntime.ToolRuntime | ToolRegistry.ToolRegistry | Scope.Scope>>
> = {
  call: Effect.gen(function* () {
    yield* Fiber.interrupt(yield* inFlight(many))
    return yield* left(many, inFlight(many))
  }),
  promise: left(
    many,
    Effect.sync(() => timers(many))
  ),
  tool: Effect.andThen(Effect.scoped(registered(10)), left(manyTools, Effect.andThen(registered(manyTools), listing))),
  aiTool: Effect.andThen(Effect.scoped(aiTools(10)), left(manyTools, aiTools(manyTools))),
  session: Effect.andThen(Effect.scoped(sessions(10)), left(many, sessions(many))),
  million: Effect.andThen(times(warmUps, calling("echo")), left(1, times(manyCalls, calling("echo"))))
}

const bytes = await measured[process.argv[2] as Held].pipe(Effect.provide(live), Effect.scoped, Effect.runPromise)
if (process.send === undefined) console.log(bytes)
// What sleeps would keep it.
else process.send(bytes, () => process.exit())
