import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { type Claim, Gate, type Ticket } from "../../../layers/resources/Gate.ts"

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
        const gate = new Gate(capacity)
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
        assert.deepStrictEqual([gate.inside, gate.waiting], [0, 0])
      }),
    { arbitrary: { runs: 500 } }
  )

  it.effect("lets readers in together, and a writer that came between them before those behind it", () =>
    Effect.gen(function* () {
      const gate = new Gate()
      const log: Array<string> = []
      const visit = (name: string, claim: Claim) =>
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
      assert.deepStrictEqual([gate.inside, gate.waiting], [3, 2])
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(log.slice(3), ["write"])
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(log.slice(4), ["read 3"])
    })
  )

  it.effect.prop(
    "C70: who has to look what it asks for keeps its place, whoever is interrupted",
    {
      visitors: Schema.Array(
        Schema.Struct({
          /** As it is asked for, and as it turns out to be: another name of the same thing, or more of them. */
          first: Schema.Array(key).check(Schema.isMaxLength(2)),
          writes: Schema.Array(key).check(Schema.isMaxLength(2)),
          after: Schema.Literals([0, 0, 2]),
          looks: Schema.Literals([0, 2, 4]),
          stays: Schema.Literals([0, 2, 4, 10]),
          interruptedAt: Schema.Literals([0, 0, 0, 1, 3, 7])
        })
      ).check(Schema.isMaxLength(10))
    },
    ({ visitors }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const gate = new Gate()
        const inside = new Set<number>()
        const settled = new Set<number>()
        const gone = new Set<number>()
        const entered = new Set<number>()
        const conflict = (a: number, b: number) => visitors[a]!.writes.some((key) => visitors[b]!.writes.includes(key))
        const fibers: Array<Fiber.Fiber<unknown>> = []
        for (const [i, visitor] of visitors.entries()) {
          yield* TestClock.adjust(visitor.after)
          const visit = Effect.suspend(() => {
            const ticket = gate.arrive({ writes: visitor.first }, true)
            const use = Effect.suspend(() => {
              for (const other of inside) assert.isFalse(conflict(i, other), `${i} is inside with ${other}`)
              for (const other of settled) {
                const waits = other < i && !gone.has(other) && !entered.has(other)
                assert.isFalse(waits && conflict(i, other), `${i} passed ${other}, which knew what it asked for`)
              }
              inside.add(i)
              entered.add(i)
              return Effect.ensuring(
                Effect.sleep(visitor.stays),
                Effect.sync(() => inside.delete(i))
              )
            })
            return Effect.sleep(visitor.looks).pipe(
              Effect.andThen(
                Effect.sync(() => {
                  settled.add(i)
                  gate.settle(ticket, { writes: visitor.writes })
                })
              ),
              Effect.andThen(gate.wait(ticket)),
              Effect.andThen(use),
              Effect.ensuring(
                Effect.sync(() => {
                  gone.add(i)
                  gate.leave(ticket)
                })
              )
            )
          })
          const fiber = yield* Effect.forkChild(visit, { startImmediately: true })
          fibers.push(fiber)
          if (visitor.interruptedAt > 0) {
            yield* Effect.forkChild(Effect.andThen(Effect.sleep(visitor.interruptedAt), Fiber.interrupt(fiber)))
          }
        }
        yield* aWhile
        for (const [i, fiber] of fibers.entries()) {
          const exit = fiber.pollUnsafe()
          assert.isDefined(exit, `${i} was let in, or left`)
          const died = exit?._tag === "Failure" ? exit.cause.reasons.find((reason) => reason._tag === "Die") : undefined
          assert.isUndefined(died?.defect, String(died?.defect))
          if (visitors[i]!.interruptedAt === 0) assert.isTrue(entered.has(i))
        }
        assert.deepStrictEqual([gate.inside, gate.waiting], [0, 0])
      }),
    { arbitrary: { runs: 300 } }
  )

  it.effect.prop(
    "who asks from inside shares what it is inside of, passes those outside, and is refused rather than deadlocked",
    {
      parents: Schema.Array(
        Schema.Struct({
          reads: Schema.Array(key).check(Schema.isMaxLength(2)),
          writes: Schema.Array(key).check(Schema.isMaxLength(2)),
          exclusive: Schema.Literals([false, false, false, true]),
          children: Schema.Array(
            Schema.Struct({
              reads: Schema.Array(key).check(Schema.isMaxLength(1)),
              writes: Schema.Array(key).check(Schema.isMaxLength(1)),
              stays: Schema.Literals([0, 2, 5])
            })
          ).check(Schema.isMaxLength(3))
        })
      ).check(Schema.isMaxLength(6)),
      capacity: Schema.Literals([1, 2, 100])
    },
    ({ capacity, parents }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const gate = new Gate(capacity)
        /** What runs, with the tickets it runs inside of. */
        const inside = new Map<Ticket, Claim>()
        const related = (a: Ticket, b: Ticket): boolean =>
          a === b ||
          (a.within !== undefined && related(a.within, b)) ||
          (b.within !== undefined && related(a, b.within))
        const sees = (ticket: Ticket, claim: Claim) => {
          for (const [other, theirs] of inside) {
            const ancestors = related(ticket, other) && !(ticket.within === other.within && ticket !== other)
            const clash =
              claim.exclusive === true ||
              theirs.exclusive === true ||
              [...(claim.writes ?? [])].some((key) =>
                [...(theirs.writes ?? []), ...(theirs.reads ?? [])].includes(key)
              ) ||
              [...(theirs.writes ?? [])].some((key) => [...(claim.reads ?? [])].includes(key))
            assert.isFalse(clash && !ancestors, "two are inside that are in conflict")
          }
        }
        const visit = (claim: Claim, within: Ticket | undefined, use: (ticket: Ticket) => Effect.Effect<void>) =>
          Effect.suspend(() => {
            const ticket = gate.arrive(claim, false, within)
            const leave = Effect.sync(() => {
              inside.delete(ticket)
              gate.leave(ticket)
            })
            if (gate.isDeadlocked(ticket)) return leave
            const run = Effect.suspend(() => {
              sees(ticket, claim)
              inside.set(ticket, claim)
              return use(ticket)
            })
            return Effect.ensuring(Effect.andThen(gate.wait(ticket), run), leave)
          })
        const fibers = yield* Effect.forEach(parents, (parent) =>
          Effect.forkChild(
            visit(parent, undefined, (ticket) =>
              Effect.forEach(
                parent.children,
                (child) =>
                  Effect.andThen(
                    Effect.sleep(1),
                    visit(child, ticket, () => Effect.sleep(child.stays))
                  ),
                { concurrency: "unbounded", discard: true }
              )
            ),
            { startImmediately: true }
          )
        )
        yield* aWhile
        for (const fiber of fibers) {
          const exit = fiber.pollUnsafe()
          assert.isDefined(exit, "nobody waits for ever")
          if (exit?._tag === "Failure") assert.fail(String(exit.cause))
        }
        assert.deepStrictEqual([gate.inside, gate.waiting], [0, 0])
      }),
    { arbitrary: { runs: 500 } }
  )

  it.effect("10,000 on one key take no more than linear time", () =>
    Effect.gen(function* () {
      const gate = new Gate()
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
