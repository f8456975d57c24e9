import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { CurrentClocks } from "../src/Clocks.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { call, deaf, erased, partial, type Play, runtime, start, succeeds, terminal, terminalEvent } from "./Harness.ts"

describe("the total clock", () => {
  const hangs: Play = () =>
    ToolStream.withPartial(
      ToolStream.callback((emit) => Effect.andThen(emit(1), Effect.never)),
      () => [1]
    )
  const timedOut = (limitMs: number, phase: string, more = {}) => ({
    _tag: "TimedOut",
    clock: "total",
    limitMs,
    phase,
    ...more
  })

  it.effect("runs out for a running call, which is stopped, with what was known", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const {
        runtime: { events }
      } = yield* runtime({ t: erased("t", hangs, { total: 10 }) })
      const fiber = yield* start(events(call("1")))
      yield* TestClock.adjust(9)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      const all = yield* Fiber.join(fiber)
      assert.deepStrictEqual(terminal(all), timedOut(10, "stopped", { partial: partial([1]) }))
      assert.deepStrictEqual(terminalEvent(all).stats, {
        durationMs: 10,
        queuedMs: 0,
        progress: { emitted: 1, delivered: 1, merged: 0, dropped: 0 }
      })
    })
  )

  it.effect("runs out while a middleware waits: not started", () =>
    Effect.gen(function* () {
      const {
        runtime: { events }
      } = yield* runtime(
        { t: succeeds },
        {
          middleware: [(next) => (prepared) => ToolStream.unwrap(Effect.as(Effect.never, next(prepared)))]
        }
      )
      const fiber = yield* start(Stream.provideService(events(call("1")), CurrentClocks, { total: 10 }))
      yield* TestClock.adjust(10)
      const all = yield* Fiber.join(fiber)
      assert.deepStrictEqual(terminal(all), timedOut(10, "not-started"))
      assert.strictEqual(terminalEvent(all).stats.queuedMs, 10)
    })
  )

  it.effect("runs out for a deaf tool: detached after the grace, which the tool may set", () =>
    Effect.gen(function* () {
      const release = yield* Deferred.make<void>()
      const {
        runtime: { events }
      } = yield* runtime({ t: erased("t", deaf(release), { total: 10, grace: 5 }) })
      const fiber = yield* start(events(call("1")))
      yield* TestClock.adjust(10)
      yield* TestClock.adjust(4)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(terminal(yield* Fiber.join(fiber)), timedOut(10, "detached"))
      yield* Deferred.succeed(release, undefined)
    })
  )

  it.effect("of two the one that comes first holds", () =>
    Effect.gen(function* () {
      const {
        runtime: { events }
      } = yield* runtime({ t: erased("t", hangs, { total: 10 }) })
      for (const [total, wanted] of [
        [5, 5],
        [20, 10]
      ] as const) {
        const fiber = yield* start(Stream.provideService(events(call("1")), CurrentClocks, { total }))
        yield* TestClock.adjust(20)
        assert.deepStrictEqual(
          terminal(yield* Fiber.join(fiber)),
          timedOut(wanted, "stopped", { partial: partial([1]) })
        )
      }
    })
  )

  it.effect("is over when the call is: a later call is not touched by it", () =>
    Effect.gen(function* () {
      const {
        runtime: { events, inFlight }
      } = yield* runtime({ t: erased("t", succeeds, { total: 10 }) })
      for (let i = 0; i < 3; i++) assert.deepStrictEqual(terminal(yield* Stream.runCollect(events(call("1")))), [7])
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* inFlight, [])
    })
  )
})
