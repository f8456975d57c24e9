/**
 * Tools as strangers write them, with one fault each. What TypeScript would refuse is cast: they were compiled elsewhere.
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErasedTool from "../../../src/ErasedTool.ts"
import * as Tool from "../../../src/Tool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"

export class Counter extends Tool.Service<Counter>()("counter", {
  description: "Counts.",
  parameters: { n: Schema.Natural, label: Schema.optionalKey(Schema.String) },
  progress: Schema.Int,
  success: Schema.Struct({ counted: Schema.Int }),
  failure: Schema.String
}) {}

type Execute = (parameters: Tool.Parameters<typeof Counter>) => unknown

/** As `toLayer` runs a handler. */
const stranger = (execute: Execute): Layer.Layer<Counter> => Counter.toLayer(execute as never)

/** More than one value shows the fault, so that there is something to reduce. */
const many = (n: number) => n >= 3

const counted = (n: number) => ({ counted: n })

export const good = stranger(({ n }) =>
  ToolStream.gen(function* () {
    for (let i = 0; i < Math.min(n, 5); i++) {
      yield* Effect.sleep(10)
      yield* ToolStream.progress(i)
    }
    return counted(n)
  })
)

export const plain = stranger(({ n }) => (many(n) ? Effect.fail("too many") : Effect.succeed(counted(n))))

export const tools = {
  rejects: stranger(({ n }) =>
    Effect.promise(() => (many(n) ? Promise.reject(new Error("socket hang up")) : Promise.resolve(counted(n))))
  ),
  throws: stranger(({ n }) => {
    if (many(n)) throw new Error("n is too large")
    return Effect.succeed(counted(n))
  }),
  returnsNothing: stranger(({ n }) => (many(n) ? undefined : Effect.succeed(counted(n)))),
  isAsync: stranger(async ({ n }) => counted(n)),
  succeedsWithNothing: stranger(({ n }) => Effect.succeed(many(n) ? undefined : counted(n))),
  misfitProgress: stranger(({ n }) =>
    ToolStream.gen(function* () {
      for (let i = 0; i < Math.min(n, 5); i++) yield* ToolStream.progress(i === 2 ? 0.5 : i)
      return counted(n)
    })
  ),
  misfitSuccess: stranger(({ n }) => Effect.succeed(counted(many(n) ? 0.5 : n))),
  neverEnds: stranger(({ n }) => (many(n) ? Effect.never : Effect.succeed(counted(n)))),
  pollsForEver: stranger(({ n }) => (many(n) ? Effect.forever(Effect.sleep(10)) : Effect.succeed(counted(n)))),
  deaf: stranger(({ n }) =>
    ToolStream.callback((emit: (n: number) => Effect.Effect<void>) =>
      Effect.uninterruptible(
        Effect.gen(function* () {
          yield* emit(0)
          for (let i = 0; i < (many(n) ? 500 : 1); i++) yield* Effect.sleep(10)
          return counted(n)
        })
      )
    )
  ),
  deafForEver: stranger(({ n }) =>
    many(n) ? Effect.uninterruptible(Effect.forever(Effect.sleep(10))) : Effect.succeed(counted(n))
  ),
  /** Its timer is never cleared. */
  opensCallback: stranger(() =>
    ToolStream.callback((emit: (n: number) => Effect.Effect<void>) =>
      Effect.callback<{ readonly counted: number }>((resume) => {
        let i = 0
        const timer = setInterval(() => {
          Effect.runFork(emit(i++))
          if (i === 20) {
            clearInterval(timer)
            resume(Effect.succeed(counted(i)))
          }
        }, 2)
      })
    )
  ),
  /** The same in virtual time: a fiber that nobody ends. */
  forksAway: stranger(({ n }) =>
    ToolStream.callback((emit: (n: number) => Effect.Effect<void>) =>
      Effect.gen(function* () {
        if (!many(n)) return counted(n)
        yield* Effect.forkDetach(
          Effect.forEach([0, 1, 2, 3], (i) => Effect.andThen(emit(i), Effect.sleep(10)), { discard: true })
        )
        yield* Effect.sleep(100)
        return counted(n)
      })
    )
  )
}

let calls = 0

/** Its second run differs, which is its own affair; and it emits after its result, which is dropped. */
export const shared = stranger(() =>
  ToolStream.callback((emit: (n: number) => Effect.Effect<void>) =>
    Effect.gen(function* () {
      yield* emit(calls++)
      yield* Effect.forkDetach(Effect.andThen(Effect.sleep(50), emit(-1)))
      return counted(calls)
    })
  )
)

export const erased = ErasedTool.fromImplementation(Counter, {
  execute: ({ n }) => ToolStream.succeed(counted(n))
})
