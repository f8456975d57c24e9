import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as ErasedTool from "../src/ErasedTool.ts"
import * as ProgressPolicy from "../src/ProgressPolicy.ts"
import type * as ToolMiddleware from "../src/ToolMiddleware.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { call, erased, type Play, runtime, start, terminal, terminalEvent } from "./Harness.ts"

const middleware: ToolMiddleware.ToolMiddleware = (next) => (prepared) =>
  ProgressPolicy.forCall(next(prepared), prepared)

const Step = Schema.Union([
  Schema.TaggedStruct("Emit", { count: Schema.Literals([1, 1, 2, 5]) }),
  Schema.TaggedStruct("Sleep", { ms: Schema.Literals([1, 3, 10]) })
])
type Step = typeof Step.Type

const plan = {
  steps: Schema.Array(Step).check(Schema.isMaxLength(12)),
  ends: Schema.Literals(["succeeds", "fails", "hangs"]),
  /** How long the reader takes for each chunk, in ms. */
  pace: Schema.Literals([0, 0, 2, 7, 50])
}

/** Emits 1, 2, 3… */
const play =
  (steps: ReadonlyArray<Step>, ends: "succeeds" | "fails" | "hangs", emitted: Array<number>): Play =>
  () =>
    ToolStream.callbackArray((emit) =>
      Effect.gen(function* () {
        for (const step of steps) {
          if (step._tag === "Sleep") yield* Effect.sleep(step.ms)
          else {
            const values = Array.from({ length: step.count }, (_, i) => emitted.length + 1 + i)
            emitted.push(...values)
            yield* emit(values as [number, ...Array<number>])
          }
        }
        return yield* ends === "succeeds" ? Effect.succeed([0]) : ends === "fails" ? Effect.fail("no") : Effect.never
      })
    )

/** Values that were merged are told by their sum: nothing of them is lost. */
const sum = (older: unknown, newer: unknown) => Number(older) + Number(newer)

const policies = {
  lossless: ProgressPolicy.lossless,
  latest: ProgressPolicy.latest,
  sample: ProgressPolicy.sample(5),
  shown: ProgressPolicy.shown(5),
  coalesce: ProgressPolicy.coalesce<unknown>(sum),
  // Even values stand alone.
  coalesceSome: ProgressPolicy.coalesce<unknown>((older, newer) =>
    Number(newer) % 2 === 0 ? undefined : sum(older, newer)
  )
} satisfies Record<string, ProgressPolicy.ProgressPolicy>
const Name = Schema.Literals(["lossless", "latest", "sample", "shown", "coalesce", "coalesceSome"])

describe("ProgressPolicy", () => {
  it.effect.prop(
    "every value is delivered, merged or dropped; order stays; the last comes before the end",
    { ...plan, tools: Name, consumers: Name, cancelAt: Schema.Literals([0, 0, 0, 1, 4, 30]) },
    ({ cancelAt, consumers, ends, pace, steps, tools }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const emitted: Array<number> = []
        const tool: ErasedTool.ErasedTool = {
          ...erased("t", play(steps, ends, emitted)),
          progressPolicy: policies[tools]
        }
        const {
          runtime: { cancel, events, inFlight }
        } = yield* runtime({ t: tool }, { middleware: [middleware] })
        const times: Array<number> = []
        const reader = yield* Effect.forkChild(
          events(call("1")).pipe(
            Stream.mapEffect((event) =>
              Effect.gen(function* () {
                times.push(yield* Effect.clockWith((clock) => clock.currentTimeMillis))
                if (pace > 0 && event._tag === "Progress") yield* Effect.sleep(pace)
                return event
              })
            ),
            Stream.runCollect,
            Effect.provideService(ProgressPolicy.CurrentProgressPolicy, policies[consumers])
          ),
          { startImmediately: true }
        )
        if (cancelAt > 0 || ends === "hangs") {
          yield* Effect.forkChild(Effect.andThen(Effect.sleep(cancelAt > 0 ? cancelAt : 200), cancel("1", "user")))
        }
        for (let i = 0; i < 400 && reader.pollUnsafe() === undefined; i++) yield* TestClock.adjust(i < 60 ? 1 : 20)
        const all = yield* Fiber.join(reader)
        const { stats } = terminalEvent(all)
        const values = all.flatMap((event) => (event._tag === "Progress" ? [event.value as number] : []))
        assert.strictEqual(stats.progress.emitted, emitted.length)
        assert.strictEqual(stats.progress.delivered, values.length)
        const { delivered, dropped, merged } = stats.progress
        assert.strictEqual(emitted.length, delivered + merged + dropped)
        assert.deepStrictEqual(yield* inFlight, [])
        const ended = terminal(all)
        const interrupted = (ended as { readonly _tag?: string })._tag === "Interrupted"
        const lossless = [tools, consumers].every((name) => name === "lossless")
        const merges = [tools, consumers].every((name) => name === "lossless" || name.startsWith("coalesce"))
        if (lossless) assert.deepStrictEqual(values, emitted.slice(0, values.length))
        if (merges && !interrupted) {
          assert.strictEqual(dropped, 0)
          assert.strictEqual(
            values.reduce((a, b) => a + b, 0),
            emitted.reduce((a, b) => a + b, 0)
          )
        }
        if (!merges && !interrupted && [tools, consumers].every((name) => !name.startsWith("coalesce"))) {
          assert.deepStrictEqual(
            values,
            values.toSorted((a, b) => a - b)
          )
          assert.strictEqual(new Set(values).size, values.length)
          assert.strictEqual(values.at(-1), emitted.at(-1), "the last value comes before the end")
        }
      }),
    { arbitrary: { runs: 150 } }
  )

  it.effect("a slow reader holds up nobody, and gets the newest", () =>
    Effect.gen(function* () {
      const emitted: Array<number> = []
      const steps = Array.from({ length: 1000 }, (): Step => ({ _tag: "Emit", count: 1 }))
      const { runtime: r } = yield* runtime(
        { t: erased("t", play(steps, "hangs", emitted)) },
        { middleware: [middleware] }
      )
      const seen: Array<unknown> = []
      yield* Effect.forkChild(
        r.events(call("1")).pipe(
          Stream.runForEach((event) =>
            Effect.andThen(
              Effect.sync(() => seen.push(event._tag === "Progress" ? event.value : event._tag)),
              Effect.sleep(10)
            )
          ),
          Effect.provideService(ProgressPolicy.CurrentProgressPolicy, ProgressPolicy.latest)
        ),
        { startImmediately: true }
      )
      yield* TestClock.adjust(0)
      assert.strictEqual(emitted.length, 1000, "the tool did not wait")
      yield* TestClock.adjust(10)
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(seen, [1, 1000])
      yield* r.cancel("1", "user")
    })
  )

  it.effect("a sample comes at once, then no more often than its time, and the last at the end", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const steps = Array.from({ length: 25 }, (_, i): Step =>
        i % 2 === 0 ? { _tag: "Emit", count: 1 } : { _tag: "Sleep", ms: 3 }
      )
      const self = ToolStream.callbackArray<number, number, never, never>((emit) =>
        Effect.gen(function* () {
          let n = 0
          for (const step of steps) yield* step._tag === "Sleep" ? Effect.sleep(step.ms) : emit([++n])
          return n
        })
      )
      const seen: Array<readonly [number, number]> = []
      const run = ProgressPolicy.apply(self, ProgressPolicy.sample(10)).pipe(
        ToolStream.runForEachArray(([value]) =>
          Effect.clockWith((clock) => Effect.map(clock.currentTimeMillis, (now) => void seen.push([now, value])))
        )
      )
      const fiber = yield* Effect.forkChild(run, { startImmediately: true })
      for (let i = 0; i < 60; i++) yield* TestClock.adjust(1)
      assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed(13))
      assert.deepStrictEqual(seen, [
        [0, 1],
        [10, 4],
        [20, 7],
        [30, 10],
        [36, 13]
      ])
    })
  )

  it.effect(
    "what is shown is merged where it can be, comes no more often than its time, and keeps no tool waiting",
    () =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const emittedAt: Array<number> = []
        const now = Effect.clockWith((clock) => clock.currentTimeMillis)
        const self = ToolStream.callbackArray<number, number, never, never>((emit) =>
          Effect.gen(function* () {
            for (let n = 1; n <= 8; n++) {
              yield* emit([n])
              emittedAt.push(yield* now)
              if (n === 4) yield* Effect.sleep(15)
            }
            return 0
          })
        )
        const seen: Array<readonly [number, number]> = []
        // An even value stands alone: what it meets gives way.
        const policy = {
          ...ProgressPolicy.shown(10),
          merge: (older: number, newer: number) => (newer % 2 === 0 ? undefined : older + newer)
        }
        const run = ProgressPolicy.apply(self, policy).pipe(
          ToolStream.runForEachArray(([value]) => Effect.map(now, (at) => void seen.push([at, value])))
        )
        const fiber = yield* Effect.forkChild(run, { startImmediately: true })
        for (let i = 0; i < 40; i++) yield* TestClock.adjust(1)
        assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed(0))
        assert.deepStrictEqual(emittedAt, [0, 0, 0, 0, 15, 15, 15, 15])
        assert.deepStrictEqual(seen, [
          [0, 1],
          [10, 4],
          [15, 8]
        ])
      })
  )

  it.effect("what a detached call still holds is dropped, and counted", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const deaf: Play = () =>
        ToolStream.callback((emit) =>
          Effect.uninterruptible(
            Effect.andThen(emit(1), emit(2)).pipe(Effect.andThen(Effect.sleep(5000)), Effect.as([]))
          )
        )
      const tool = { ...erased("t", deaf), progressPolicy: ProgressPolicy.sample(1000) }
      const { runtime: r } = yield* runtime({ t: tool }, { middleware: [middleware] })
      const reader = yield* start(r.events(call("1")))
      yield* Effect.forkChild(r.cancel("1", "user"), { startImmediately: true })
      yield* TestClock.adjust(100)
      const { progress } = terminalEvent(yield* Fiber.join(reader)).stats
      assert.deepStrictEqual(progress, { emitted: 2, delivered: 1, merged: 0, dropped: 1 })
      yield* TestClock.adjust(5000)
    })
  )

  it("refuses a sample of no time, or of too much", () => {
    for (const ms of [0, -1, Number.NaN, 2 ** 31]) assert.throws(() => ProgressPolicy.sample(ms), /milliseconds/)
  })
})
