import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as Gate from "../../../layers/resources/Gate.ts"

// -----------------------------------------------------------------------------
// Model: who asks, when, for what, how long it stays, and when it is interrupted.
// The model is the law itself, looked at whenever something changes.
// -----------------------------------------------------------------------------

const key = Schema.Literals(["a", "b", "c"])
const Visitor = Schema.Struct({
  reads: Schema.Array(key).check(Schema.isMaxLength(2)),
  writes: Schema.Array(key).check(Schema.isMaxLength(2)),
  exclusive: Schema.Literals([false, false, false, true]),
  weight: Schema.Literals([1, 1, 1, 2, 3]),
  /** After the one before, in ms. */
  after: Schema.Literals([0, 0, 2]),
  stays: Schema.Literals([0, 2, 4, 10]),
  interruptedAt: Schema.Literals([0, 0, 0, 1, 3, 7])
})
type Visitor = typeof Visitor.Type

const conflict = (a: Visitor, b: Visitor): boolean =>
  a.exclusive ||
  b.exclusive ||
  a.writes.some((key) => b.writes.includes(key) || b.reads.includes(key)) ||
  b.writes.some((key) => a.reads.includes(key))

const aWhile = Effect.forEach(Array.from({ length: 60 }), () => TestClock.adjust(5), { discard: true })

describe("Gate", () => {
  it.effect.prop(
    "excludes, keeps the order of arrival among those in conflict, and leaves nobody behind",
    {
      visitors: Schema.Array(Visitor).check(Schema.isMaxLength(14)),
      capacity: Schema.Literals([2, 3, 100])
    },
    ({ capacity, visitors }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const gate = Gate.make({ capacity })
        const inside = new Set<number>()
        const entered: Array<number> = []
        const gone = new Set<number>()
        const fibers: Array<Fiber.Fiber<unknown>> = []
        for (const [i, visitor] of visitors.entries()) {
          yield* TestClock.adjust(visitor.after)
          const visit = gate.within(
            visitor,
            Effect.suspend(() => {
              for (const other of inside) {
                assert.isFalse(conflict(visitor, visitors[other]!), `${i} is inside with ${other}`)
              }
              for (let earlier = 0; earlier < i; earlier++) {
                if (!entered.includes(earlier) && !gone.has(earlier)) {
                  assert.isFalse(conflict(visitor, visitors[earlier]!), `${i} passed ${earlier}`)
                }
              }
              inside.add(i)
              entered.push(i)
              const load = [...inside].reduce((sum, n) => sum + Math.min(visitors[n]!.weight, capacity), 0)
              assert.isAtMost(load, capacity)
              return Effect.ensuring(
                Effect.sleep(visitor.stays),
                Effect.sync(() => inside.delete(i))
              )
            })
          )
          const fiber = yield* Effect.forkChild(
            Effect.ensuring(
              visit,
              Effect.sync(() => gone.add(i))
            ),
            { startImmediately: true }
          )
          fibers.push(fiber)
          if (visitor.interruptedAt > 0) {
            yield* Effect.forkChild(
              Effect.andThen(
                Effect.sleep(visitor.interruptedAt),
                // From here on it is in nobody's way.
                Effect.suspend(() => (entered.includes(i) ? Effect.void : Effect.sync(() => gone.add(i))))
              ).pipe(Effect.andThen(Fiber.interrupt(fiber))),
              { startImmediately: true }
            )
          }
        }
        yield* aWhile
        for (const [i, fiber] of fibers.entries()) {
          const exit = fiber.pollUnsafe()
          assert.isDefined(exit, `${i} was let in, or left`)
          if (exit?._tag === "Failure") {
            const died = exit.cause.reasons.find((reason) => reason._tag === "Die")
            assert.isUndefined(died?.defect, String(died?.defect))
          }
          if (visitors[i]!.interruptedAt === 0) assert.include(entered, i)
        }
        assert.deepStrictEqual(yield* gate.counts, { inside: 0, waiting: 0 })
      }),
    { arbitrary: { runs: 500 } }
  )

  it.effect("lets readers in together, and a writer that came between them before those behind it", () =>
    Effect.gen(function* () {
      const gate = Gate.make()
      const log: Array<string> = []
      const visit = (name: string, claim: Gate.Claim) =>
        Effect.forkChild(
          gate.within(
            claim,
            Effect.andThen(
              Effect.sync(() => log.push(name)),
              Effect.sleep(10)
            )
          ),
          { startImmediately: true }
        )
      yield* visit("read 1", { reads: ["a"] })
      yield* visit("read 2", { reads: ["a"] })
      yield* visit("write", { writes: ["a"] })
      yield* visit("read 3", { reads: ["a"] })
      yield* visit("other", { writes: ["b"] })
      assert.deepStrictEqual(log, ["read 1", "read 2", "other"])
      assert.deepStrictEqual(yield* gate.counts, { inside: 3, waiting: 2 })
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(log.slice(3), ["write"])
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(log.slice(4), ["read 3"])
    })
  )

  it.effect("10,000 on one key take no more than linear time", () =>
    Effect.gen(function* () {
      const gate = Gate.make()
      const start = performance.now()
      let runs = 0
      const all = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 10_000 }, (_, i) => i),
          (i) =>
            gate.within(
              i % 10 === 0 ? { writes: ["a"] } : { reads: ["a", `b${i % 7}`] },
              Effect.andThen(
                Effect.yieldNow,
                Effect.sync(() => runs++)
              )
            ),
          { concurrency: "unbounded", discard: true }
        ),
        { startImmediately: true }
      )
      yield* Fiber.join(all)
      assert.strictEqual(runs, 10_000)
      assert.isBelow(performance.now() - start, 2000)
    })
  )
})
