import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { HeldFiles } from "../../../../layers/node/internal/HeldFiles.ts"

const Request = Schema.Struct({
  keys: Schema.Array(Schema.Literals(["a", "b", "c", "d"])),
  /** In ms: when it comes, how long it holds, when it is interrupted. */
  comes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
  holds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
  interrupted: Schema.UndefinedOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })))
})
type Request = typeof Request.Type

const holding = <A, E>(locks: HeldFiles, keys: Iterable<string>, use: Effect.Effect<A, E>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      const ticket = locks.arrive(keys)
      return restore(Effect.andThen(locks.wait(ticket), use)).pipe(
        Effect.ensuring(Effect.sync(() => locks.leave(ticket)))
      )
    })
  )

/** When each enters and leaves, computed ms by ms from the law alone. */
const model = (requests: ReadonlyArray<Request>) => {
  const arrived = requests.map((_, index) => index).toSorted((a, b) => requests[a]!.comes - requests[b]!.comes || a - b)
  const times = requests.map(() => ({
    entered: undefined as number | undefined,
    left: undefined as number | undefined
  }))
  for (let now = 0; now <= 400; now++) {
    for (let changed = true; changed;) {
      changed = false
      for (const [place, index] of arrived.entries()) {
        const { keys, comes, holds, interrupted } = requests[index]!
        const time = times[index]!
        if (comes > now || time.left !== undefined) continue
        const free = arrived
          .slice(0, place)
          .every(
            (other) => times[other]!.left !== undefined || !requests[other]!.keys.some((key) => keys.includes(key))
          )
        if (time.entered === undefined && free) {
          time.entered = now
          changed = true
        }
        const ends = Math.min(
          time.entered === undefined ? Infinity : time.entered + holds,
          interrupted === undefined ? Infinity : comes + interrupted
        )
        if (ends <= now) {
          time.left = now
          changed = true
        }
      }
    }
  }
  return times
}

describe("HeldFiles", () => {
  it.effect.prop(
    "C70: those with a common file enter in the order they came, the others at once, whoever is interrupted",
    { requests: Schema.Array(Request).check(Schema.isMaxLength(8)) },
    ({ requests }) =>
      Effect.gen(function* () {
        // Two things in one ms have no order: what comes is even, what is interrupted odd.
        const plan = requests.map((each) => ({
          ...each,
          comes: 4 * each.comes,
          holds: 4 * each.holds,
          interrupted: each.interrupted === undefined ? undefined : 4 * each.interrupted + 1
        }))
        const locks = new HeldFiles()
        const start = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        const now = Effect.map(
          Effect.clockWith((clock) => clock.currentTimeMillis),
          (time) => time - start
        )
        const times = plan.map(() => ({
          entered: undefined as number | undefined,
          left: undefined as number | undefined
        }))
        const fibers = yield* Effect.forEach(plan, ({ keys, comes, holds, interrupted }, index) =>
          Effect.forkChild(
            Effect.gen(function* () {
              yield* Effect.sleep(comes)
              const use = Effect.gen(function* () {
                times[index]!.entered = yield* now
                yield* Effect.sleep(holds)
              })
              const held = holding(locks, keys, use).pipe(
                Effect.ensuring(Effect.tap(now, (time) => Effect.sync(() => (times[index]!.left = time))))
              )
              yield* interrupted === undefined ? held : Effect.timeoutOption(held, interrupted)
            })
          )
        )
        for (let step = 0; step < 400; step++) yield* TestClock.adjust(1)
        const exits = yield* Effect.forEach(fibers, Fiber.await)
        assert.isTrue(exits.every(Exit.isSuccess))
        assert.strictEqual(locks.size, 0)
        assert.deepStrictEqual(times, model(plan))
      }),
    { arbitrary: { runs: 60 } }
  )

  it.effect("who needs other files than it waited for keeps its place", () =>
    Effect.sync(() => {
      const locks = new HeldFiles()
      const first = locks.arrive(["a"])
      const second = locks.arrive(["a"])
      const third = locks.arrive(["a", "b"])
      const other = locks.arrive(["c"])
      locks.leave(first)
      assert.deepStrictEqual([second.holds, third.holds, other.holds], [true, false, true])
      locks.again(second, ["a", "b", "c"])
      assert.deepStrictEqual([second.holds, third.holds], [false, false])
      locks.leave(other)
      assert.deepStrictEqual([second.holds, third.holds], [true, false])
      locks.leave(second)
      assert.isTrue(third.holds)
      locks.leave(third)
      assert.strictEqual(locks.size, 0)
    })
  )
})
