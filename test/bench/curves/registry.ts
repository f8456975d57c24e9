/**
 * Tools in the registry: the time of a call of one of them, of a snapshot of all, and of registering each.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as ErasedTool from "../../../src/ErasedTool.ts"
import * as Tool from "../../../src/Tool.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import type { Curve } from "./Curve.ts"
import { raced } from "./raced.ts"

const sizes = [10, 30, 100, 300, 1000, 3000, 10_000]
const rounds = 9
/** Each a program that declares and registers all of its tools anew. */
const registeringRounds = 5

/** A declaration of its own, erased: what registering a tool takes the first time. */
export const declared = (index: number): Effect.Effect<ErasedTool.ErasedTool, ErasedTool.NoJsonCodec> => {
  class Numbered extends Tool.Service<Numbered>()(`tool_${index}`, {
    description: `Gives back the text, for the ${index}th time.`,
    parameters: { text: Schema.String, times: Schema.optionalKey(Schema.Natural) },
    success: Schema.Struct({ text: Schema.String })
  }) {}
  return Effect.provide(
    ErasedTool.fromTool(Numbered),
    Numbered.toLayer(({ text }) => Effect.succeed({ text }))
  )
}

/** So many tools, declared and registered until the scope closes. */
export const registered = (count: number) =>
  Effect.gen(function* () {
    const { register } = yield* ToolRegistry.ToolRegistry
    for (let index = 0; index < count; index++) yield* register(yield* declared(index))
  })

export const trace = (): Promise<ReadonlyArray<Curve>> =>
  Effect.gen(function* () {
    const live = Layer.fresh(ToolRuntime.layerWith().pipe(Layer.provideMerge(ToolRegistry.layerEmpty)))
    const of = new Map<number, Context.Context<ToolRuntime.ToolRuntime | ToolRegistry.ToolRegistry>>()
    for (const size of sizes) {
      const context = yield* Layer.build(live)
      yield* Effect.provideContext(registered(size), context)
      of.set(size, context)
    }

    const calling = (size: number) => {
      const { dispatch } = Context.get(of.get(size)!, ToolRuntime.ToolRuntime)
      const name = `tool_${size - 1}`
      return Effect.runPromise(
        Effect.suspend(() => {
          let left = callsAtATime
          const one = Effect.flatMap(ToolCall.make({ name, parameters: { text: "Hello." } }), (call) =>
            ToolStream.runResult(dispatch(call))
          )
          return Effect.whileLoop({ while: () => left-- > 0, body: () => one, step: () => {} })
        })
      )
    }
    const snapshot = async (size: number) => {
      const { length } = await Effect.runPromise(Context.get(of.get(size)!, ToolRegistry.ToolRegistry).snapshot)
      if (length !== size) throw new Error(`${length} of ${size} tools are listed`)
    }
    const registering = (size: number) =>
      Effect.runPromise(
        Effect.gen(function* () {
          const scope = yield* Scope.make()
          const context = yield* Layer.buildWithScope(live, scope)
          yield* Scope.provide(Effect.provideContext(registered(size), context), scope)
          yield* Scope.close(scope, Exit.void)
        })
      )

    return yield* Effect.promise(async (): Promise<ReadonlyArray<Curve>> => {
      const call = await raced("a call of one of them", sizes, calling, { rounds, cost: "whole" })
      const lines = [
        { ...call, points: call.points.map(([size, ns]) => [size, ns / callsAtATime] as const) },
        await raced("a snapshot of all", sizes, snapshot, { rounds, cost: "whole" }),
        await raced("registering each, and removing it", sizes, registering, { rounds: registeringRounds })
      ]
      const x = { label: "tools in the registry", unit: "count" } as const
      return [{ id: "registry", title: "Tools in the registry", x, y: { label: "time", unit: "ns" }, lines }]
    })
  }).pipe(Effect.scoped, Effect.runPromise)

/** Of one sample: what starts a fiber is no part of a call. */
const callsAtATime = 100
