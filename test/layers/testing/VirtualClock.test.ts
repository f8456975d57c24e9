import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as VirtualClock from "../../../layers/testing/VirtualClock.ts"

/** Sleeps again and again, after turns of the event loop in between: an adjustment in one large step makes it late. */
const beats = (times: Array<number>) =>
  Effect.forever(
    Effect.gen(function* () {
      yield* Effect.sleep(10)
      for (let i = 0; i < 5; i++) yield* Effect.yieldNow
      yield* Effect.promise(() => Promise.resolve())
      times.push(yield* Clock.currentTimeMillis)
    })
  )

describe("VirtualClock", () => {
  it.effect("advances deadline by deadline, so that nobody is late", () =>
    Effect.gen(function* () {
      const clock = yield* VirtualClock.VirtualClock
      const times: Array<number> = []
      const fiber = yield* Effect.forkChild(beats(times), { startImmediately: true })
      yield* clock.advance(35)
      assert.deepStrictEqual(times, [10, 20, 30])
      assert.strictEqual(yield* clock.now, 35)
      assert.strictEqual(yield* clock.sleepers, 1)
      yield* clock.advance(5)
      assert.deepStrictEqual(times, [10, 20, 30, 40])
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* clock.sleepers, 0)
    }).pipe(Effect.provide(VirtualClock.layer))
  )

  it.effect("settles when nobody sleeps, at the limit, when it is told to, or when it never would", () =>
    Effect.gen(function* () {
      const clock = yield* VirtualClock.VirtualClock
      yield* Effect.forkChild(Effect.sleep("1 day"), { startImmediately: true })
      assert.strictEqual(yield* clock.settle(), "Quiet")
      assert.strictEqual(yield* clock.now, 24 * 60 * 60 * 1000)
      const times: Array<number> = []
      yield* Effect.forkChild(beats(times), { startImmediately: true })
      assert.strictEqual(yield* clock.settle({ limit: 35 }), "Limit")
      assert.strictEqual(times.length, 3)
      assert.strictEqual(yield* clock.settle({ until: () => times.length === 7 }), "Done")
      assert.strictEqual(yield* clock.settle({ maxWakes: 50 }), "Busy")
    }).pipe(Effect.provide(VirtualClock.layer))
  )

  it.effect("lets the first sleep of a finalizer be slept", () =>
    Effect.gen(function* () {
      const clock = yield* VirtualClock.VirtualClock
      let slept = false
      const fiber = yield* Effect.forkChild(
        Effect.ensuring(
          Effect.never,
          Effect.andThen(
            Effect.sleep(10),
            Effect.sync(() => (slept = true))
          )
        ),
        { startImmediately: true }
      )
      yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* clock.settle()
      assert.isTrue(slept)
    }).pipe(Effect.provide(VirtualClock.layer))
  )

  it.effect("is a test clock, and a new one whenever it is provided", () =>
    Effect.gen(function* () {
      const once = Effect.provide(Effect.andThen(TestClock.adjust(10), Clock.currentTimeMillis), VirtualClock.layer)
      assert.deepStrictEqual([yield* once, yield* once], [10, 10])
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    })
  )
})
