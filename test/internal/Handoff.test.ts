import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import { Handoff, last } from "../../src/internal/Handoff.ts"

const make = () => new Handoff<number, string, string>(last)
const now = { startImmediately: true } as const

describe("Handoff, drained", () => {
  it.effect("who is done at once holds nobody up; who is not holds up the emitter until it is", () =>
    Effect.gen(function* () {
      const handoff = make()
      const seen: Array<unknown> = []
      const goesOn = yield* Deferred.make<void>()
      const reader = yield* Effect.forkChild(
        handoff.drain(([n]) => {
          seen.push(n)
          return n === 2 ? Deferred.await(goesOn) : Effect.void
        }),
        now
      )
      const emitter = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3], (n) =>
          Effect.andThen(
            handoff.emit([n]),
            Effect.sync(() => seen.push(`after ${n}`))
          )
        ),
        now
      )
      assert.deepStrictEqual(seen, [1, "after 1", 2])
      yield* Deferred.succeed(goesOn, undefined)
      yield* Fiber.join(emitter)
      handoff.end(Exit.succeed("end"))
      assert.strictEqual(yield* Fiber.join(reader), "end")
      assert.deepStrictEqual(seen, [1, "after 1", 2, "after 2", 3, "after 3"])
    })
  )

  it.effect("what comes and what ends while the reader is at work comes after that, in its order", () =>
    Effect.gen(function* () {
      const handoff = make()
      const seen: Array<unknown> = []
      const gate = yield* Deferred.make<void>()
      const aside = yield* Effect.forkChild(Effect.andThen(Deferred.await(gate), handoff.emit([2])), now)
      const reader = yield* Effect.forkChild(
        handoff.drain(([n]) => {
          seen.push(`begin ${n}`)
          if (n === 1) {
            // Both happen here and now.
            Deferred.doneUnsafe(gate, Effect.void)
            handoff.end(Exit.succeed("end"))
          }
          seen.push(`end ${n}`)
          return n === 1
            ? Effect.andThen(
                Effect.yieldNow,
                Effect.sync(() => seen.push("done 1"))
              )
            : Effect.void
        }),
        now
      )
      yield* handoff.emit([1])
      assert.strictEqual(yield* Fiber.join(reader), "end")
      yield* Fiber.join(aside)
      assert.deepStrictEqual(seen, ["begin 1", "end 1", "done 1", "begin 2", "end 2"])
    })
  )

  it.effect(
    "a reader that fails, throws or gives nothing fails in its own fiber; the emitter waits for whoever reads next",
    () =>
      Effect.gen(function* () {
        for (const fail of [
          () => Effect.fail("reader"),
          (): Effect.Effect<void, string> => {
            throw new Error("reader")
          },
          () => undefined as never
        ]) {
          const handoff = make()
          const reader = yield* Effect.forkChild(Effect.exit(handoff.drain(fail)), now)
          const emitter = yield* Effect.forkChild(handoff.emit([1]), now)
          assert.isTrue(Exit.isFailure(yield* Fiber.join(reader)))
          assert.isUndefined(emitter.pollUnsafe())
          handoff.leave()
          yield* Fiber.join(emitter)
          assert.deepStrictEqual([handoff.emitted, handoff.dropped], [1, 0])
        }
      })
  )

  const Op = Schema.Struct({
    /** Of each emitter, how many it emits. */
    emits: Schema.Array(Schema.Literals([0, 1, 2, 5])).check(Schema.isMaxLength(3)),
    /** The reader has to wait after every so many. */
    waitsEvery: Schema.Literals([1, 2, 3, 100]),
    drains: Schema.Boolean,
    operations: Schema.Literals([2048, 3, 4, 5]),
    /** The first emitter is interrupted after so many turns. */
    interruptAfter: Schema.Literals([0, 1, 2, 5, 100])
  })

  it.effect.prop(
    "whoever reads, and however: the order of each emitter is kept, nothing comes twice, and the counts add up",
    { op: Arbitrary.schema(Op) },
    ({ op }) =>
      Effect.gen(function* () {
        const handoff = make()
        const seen: Array<number> = []
        const see = ([n]: readonly [number, ...Array<number>]) => {
          seen.push(n)
          return seen.length % op.waitsEvery === 0 ? Effect.yieldNow : Effect.void
        }
        const pulling = Effect.catchTag(
          Effect.forever(
            Effect.flatMap(
              Effect.suspend(() => handoff.pull()),
              see
            )
          ) as Effect.Effect<never, { readonly _tag: "Done" }>,
          "Done",
          () => Effect.succeed("end")
        )
        const inSteps = Effect.provideService(References.MaxOpsBeforeYield, op.operations)
        const reader = yield* Effect.forkChild(inSteps(op.drains ? handoff.drain(see) : pulling), now)
        const emitters = yield* Effect.forEach(op.emits, (count, who) =>
          Effect.forkChild(
            inSteps(
              Effect.forEach(Array.from({ length: count }), (_, n) => handoff.emit([who * 10 + n]), { discard: true })
            ),
            now
          )
        )
        yield* Effect.repeat(Effect.yieldNow, { times: op.interruptAfter })
        if (emitters[0] !== undefined) yield* Fiber.interrupt(emitters[0])
        for (const emitter of emitters) yield* Fiber.await(emitter)
        handoff.end(Exit.succeed("end"))
        assert.strictEqual(yield* Fiber.join(reader), "end")
        for (const [who, count] of op.emits.entries()) {
          const own = seen.filter((n) => Math.floor(n / 10) === who).map((n) => n % 10)
          assert.deepStrictEqual(own, Array.from({ length: count }, (_, n) => n).slice(0, own.length))
          if (who > 0) assert.strictEqual(own.length, count)
        }
        assert.strictEqual(handoff.emitted, seen.length + handoff.dropped)
      }),
    { arbitrary: { runs: 400 } }
  )
})
