/**
 * The progress of one call, each item encoded: the time of an item, by how many there are.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { live } from "../progress.ts"
import type { Curve } from "./Curve.ts"
import { raced } from "./raced.ts"

const sizes = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000]
/** The largest takes seconds. */
const rounds = 3

export const trace = (): Promise<ReadonlyArray<Curve>> =>
  Effect.gen(function* () {
    const context = yield* Layer.build(live)
    const counting = (name: string) => (to: number) =>
      Effect.runPromiseWith(context)(
        Effect.gen(function* () {
          const { dispatch } = yield* ToolRuntime.ToolRuntime
          let seen = 0
          yield* ToolStream.runForEachArray(dispatch(yield* ToolCall.make({ name, parameters: { to } })), (chunk) => {
            seen += chunk.length
            return Effect.void
          })
          if (seen !== to) throw new Error(`saw ${seen} of ${to} items`)
        })
      )
    return yield* Effect.promise(async (): Promise<ReadonlyArray<Curve>> => {
      const lines = [
        await raced("in chunks", sizes, counting("count"), { rounds }),
        await raced("one by one", sizes, counting("count_singly"), { rounds })
      ]
      const x = { label: "items of progress in a call", unit: "count" } as const
      return [
        { id: "progress", title: "Time of an item of progress", x, y: { label: "time of each", unit: "ns" }, lines }
      ]
    })
  }).pipe(Effect.scoped, Effect.runPromise)
