/**
 * Calls in flight at once: the time of each, from the first start to the last end, and the memory of each while they wait.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Tool from "../../../src/Tool.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { settledHeap } from "../heap.ts"
import { median } from "../race.ts"
import type { Curve } from "./Curve.ts"
import { raced } from "./raced.ts"

const sizes = [1, 10, 100, 300, 1000, 3000, 10_000, 30_000]
const rounds = 7
const heldRounds = 5

class Wait extends Tool.Service<Wait>()("wait", {
  description: "Waits until it may end.",
  parameters: { text: Schema.String },
  success: Schema.String
}) {}

/** What so much in flight costs when it is next to nothing. */
const promisesAtOnce = async (size: number) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const one = async (text: string) => {
    await promise
    return { text }
  }
  const all = Array.from({ length: size }, () => one("Hello."))
  resolve()
  await Promise.all(all)
}

export const trace = (): Promise<ReadonlyArray<Curve>> =>
  Effect.gen(function* () {
    let gate = Deferred.makeUnsafe<void>()
    const live = ToolRuntime.layer.pipe(
      Layer.provide(ToolRegistry.layer(Wait)),
      Layer.provide(Wait.toLayer(({ text }) => Effect.as(Deferred.await(gate), text)))
    )
    const run = Effect.runPromiseWith(yield* Layer.build(live))

    /** Runs so many at once, and asks something while all of them wait. */
    const atOnce = <A>(size: number, ask: () => A): Promise<A> => {
      gate = Deferred.makeUnsafe()
      return run(
        Effect.gen(function* () {
          const runtime = yield* ToolRuntime.ToolRuntime
          const one = Effect.flatMap(ToolCall.make({ name: "wait", parameters: { text: "Hello." } }), (call) =>
            ToolStream.runResult(runtime.dispatch(call))
          )
          const all = Effect.forEach(Array.from({ length: size }), () => one, {
            concurrency: "unbounded",
            discard: true
          })
          const fiber = yield* Effect.forkChild(all, { startImmediately: true })
          const { length } = yield* runtime.inFlight
          if (length !== size) throw new Error(`${length} of ${size} calls are in flight`)
          const asked = ask()
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.join(fiber)
          return asked
        })
      )
    }

    return yield* Effect.promise(async (): Promise<ReadonlyArray<Curve>> => {
      const time = await raced("a call", sizes, (size) => atOnce(size, () => {}), { rounds })
      const bare = await raced("a bare promise", sizes, promisesAtOnce, { rounds })
      const held: Array<readonly [number, number]> = []
      for (const size of sizes) {
        const bytes: Array<number> = []
        for (let round = 0; round < heldRounds; round++) {
          const before = settledHeap()
          bytes.push(((await atOnce(size, settledHeap)) - before) / size)
        }
        held.push([size, median(bytes)])
      }
      const x = { label: "calls in flight at once", unit: "count" } as const
      return [
        { id: "calls", title: "Time of a call", x, y: { label: "time of each", unit: "ns" }, lines: [time, bare] },
        {
          id: "calls-memory",
          title: "Memory of a call in flight",
          x,
          y: { label: "bytes of each", unit: "bytes" },
          lines: [{ name: "heap, after a collection", cost: "each", points: held }]
        }
      ]
    })
  }).pipe(Effect.scoped, Effect.runPromise)
