import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as CallStage from "../src/CallStage.ts"
import * as Clocks from "../src/Clocks.ts"
import { CurrentClocks } from "../src/Clocks.ts"
import * as Detached from "../src/Detached.ts"
import type * as ToolMiddleware from "../src/ToolMiddleware.ts"
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

describe("the idle clock", () => {
  /** Emits at these times, then hangs. */
  const emitsAt =
    (...times: ReadonlyArray<number>): Play =>
    () =>
      ToolStream.callback((emit) =>
        Effect.gen(function* () {
          let now = 0
          for (const [n, time] of times.entries()) {
            yield* Effect.sleep(time - now)
            now = time
            yield* emit(n)
          }
          return yield* Effect.never
        })
      )

  it.effect("runs out after a silence, not after work that shows", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const {
        runtime: { events }
      } = yield* runtime({ t: erased("t", emitsAt(9, 18, 27), { idle: 10 }) })
      const fiber = yield* start(events(call("1")))
      for (let i = 0; i < 36; i++) yield* TestClock.adjust(1)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      const all = yield* Fiber.join(fiber)
      assert.strictEqual(all.length, 4)
      assert.deepStrictEqual(terminal(all), { _tag: "TimedOut", clock: "idle", limitMs: 10, phase: "stopped" })
    })
  )

  it.effect("stands still while progress waits for its reader", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const {
        runtime: { events }
      } = yield* runtime({ t: erased("t", emitsAt(1, 2), { idle: 10 }) })
      const slow = events(call("1")).pipe(Stream.mapEffect((event) => Effect.as(Effect.sleep(100), event)))
      const fiber = yield* start(slow)
      // The second value waits until 101, its emitter until 201.
      for (let i = 0; i < 210; i++) yield* TestClock.adjust(1)
      assert.isUndefined(fiber.pollUnsafe())
      for (let i = 0; i < 105; i++) yield* TestClock.adjust(1)
      assert.deepStrictEqual(terminal(yield* Fiber.join(fiber)), {
        _tag: "TimedOut",
        clock: "idle",
        limitMs: 10,
        phase: "stopped"
      })
    })
  )

  it.effect("does not run before the tool does, nor in a stage around it", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const waits: ToolMiddleware.ToolMiddleware = (next) => (prepared) =>
        ToolStream.lift(next(prepared), (run) =>
          CallStage.within("queue", "a turn", Effect.sleep(50)).pipe(
            Effect.andThen(run),
            Effect.tap(() => CallStage.within("drain", "the store", Effect.sleep(50)))
          )
        )
      const {
        runtime: { events, inFlight }
      } = yield* runtime({ t: erased("t", succeeds, { idle: 10 }) }, { middleware: [waits] })
      const fiber = yield* start(events(call("1")))
      const states = Effect.map(inFlight, (calls) => calls.map(({ phase, waitsFor }) => [phase, waitsFor?.stage]))
      assert.deepStrictEqual(yield* states, [["waiting", "queue"]])
      yield* TestClock.adjust(50)
      assert.deepStrictEqual(yield* states, [["running", "drain"]])
      yield* TestClock.adjust(50)
      assert.deepStrictEqual(terminal(yield* Fiber.join(fiber)), [7])
    })
  )
})

describe("the clocks of waiting", () => {
  const waits =
    (stage: "queue" | "approval", times: ReadonlyArray<number>): ToolMiddleware.ToolMiddleware =>
    (next) =>
    (prepared) =>
      ToolStream.lift(next(prepared), (run) =>
        Effect.andThen(
          Effect.forEach(times, (ms) =>
            Effect.andThen(CallStage.within(stage, `${ms} ms`, Effect.sleep(ms)), Effect.sleep(100))
          ),
          run
        )
      )

  for (const stage of ["queue", "approval"] as const) {
    it.effect(`${stage}: runs while the call waits, adds up, and is an ending of its own`, () =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const {
          runtime: { events, inFlight }
        } = yield* runtime({ t: succeeds }, { middleware: [waits(stage, [30, 30])] })
        const run = (ms: number) => start(Stream.provideService(events(call("1")), CurrentClocks, { [stage]: ms }))
        const enough = yield* run(61)
        for (let i = 0; i < 26; i++) yield* TestClock.adjust(10)
        assert.deepStrictEqual(terminal(yield* Fiber.join(enough)), [7])
        const tooLittle = yield* run(50)
        yield* TestClock.adjust(130)
        assert.deepStrictEqual(
          (yield* inFlight).map(({ waitsFor }) => waitsFor),
          [{ stage, detail: "30 ms" }]
        )
        yield* TestClock.adjust(20)
        assert.deepStrictEqual(terminal(yield* Fiber.join(tooLittle)), {
          _tag: "TimedOut",
          clock: stage,
          limitMs: 50,
          phase: "not-started"
        })
      })
    )
  }
})

describe("who sets a clock", () => {
  const hangs: Play = () => ToolStream.fromEffect(Effect.never)
  /** The limit that held. */
  const limitOf = (options: {
    readonly declared?: Clocks.Declared
    readonly caller?: Clocks.Clocks
    readonly policy?: Clocks.Policy
  }) =>
    Effect.gen(function* () {
      const {
        runtime: { events }
      } = yield* runtime({ t: erased("t", hangs, options.declared ?? {}) }, { clocks: options.policy ?? {} })
      const fiber = yield* start(Stream.provideService(events(call("1")), CurrentClocks, options.caller ?? {}))
      yield* TestClock.adjust(10_000)
      const exit = fiber.pollUnsafe()
      if (exit === undefined) return yield* Effect.as(Fiber.interrupt(fiber), "none")
      const reason = terminal(yield* Fiber.join(fiber)) as { readonly _tag: string; readonly limitMs?: number }
      return reason.limitMs ?? reason
    })

  it.effect("limits of tool and caller both hold, defaults are replaced, caps are not exceeded", () =>
    Effect.gen(function* () {
      const byDefault = { total: Clocks.byDefault(50) }
      assert.strictEqual(yield* limitOf({}), "none")
      assert.strictEqual(yield* limitOf({ declared: { total: 50 }, caller: { total: 70 } }), 50)
      assert.strictEqual(yield* limitOf({ declared: byDefault }), 50)
      assert.strictEqual(yield* limitOf({ declared: byDefault, caller: { total: 70 } }), 70)
      assert.strictEqual(yield* limitOf({ declared: byDefault, caller: { total: Infinity } }), "none")
      assert.strictEqual(yield* limitOf({ declared: byDefault, policy: { tools: { t: { total: 60 } } } }), 60)
      assert.strictEqual(yield* limitOf({ policy: { defaults: { total: 90 } } }), 90)
      assert.strictEqual(yield* limitOf({ declared: byDefault, policy: { defaults: { total: 90 } } }), 50)
      assert.strictEqual(
        yield* limitOf({ caller: { total: "1 minute" }, policy: { caps: { total: "1 second" } } }),
        1000
      )
      assert.strictEqual(yield* limitOf({ policy: { caps: { total: 80 } } }), 80)
    })
  )

  it.effect("C11: a clock out of range is an error of whoever set it, and never fires at once", () =>
    Effect.gen(function* () {
      for (const total of [0, -1, 1.5, 2 ** 31, "nonsense" as never, Number.NaN]) {
        const byCaller = yield* limitOf({ caller: { total } })
        assert.match(JSON.stringify(byCaller), /"Unavailable".*the total clock is .*; give 1 to 2147483647 whole mill/)
        const byTool = yield* limitOf({ declared: { total } })
        assert.match(JSON.stringify(byTool), /"ToolDefect".*the total clock is .*"not-started"/)
      }
      assert.strictEqual(yield* limitOf({ caller: { total: 2 ** 31 - 1 } }), "none")
    })
  )
})

describe("a detached call", () => {
  it.effect("is listed until it ends, can be waited for, and killed by the means its tool gave", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const killed = yield* Deferred.make<void>()
      const deafs: Play = () =>
        ToolStream.fromEffect(
          Detached.killable(
            Effect.uninterruptible(Effect.as(Deferred.await(killed), [1])),
            Effect.asVoid(Deferred.succeed(killed, undefined))
          )
        )
      const release = yield* Deferred.make<void>()
      const {
        runtime: { cancel, events, inFlight, stats }
      } = yield* runtime({ t: deafs, u: deaf(release) })
      const fibers = [yield* start(events(call("1"))), yield* start(events(call("2", "u")))]
      yield* Effect.forkChild(Effect.andThen(cancel("1", "user"), cancel("2", "user")), { startImmediately: true })
      yield* TestClock.adjust(100)
      yield* TestClock.adjust(100)
      for (const fiber of fibers) {
        assert.deepStrictEqual(terminal(yield* Fiber.join(fiber)), {
          _tag: "Interrupted",
          why: "user",
          phase: "detached"
        })
      }
      const [first, second] = yield* inFlight
      assert.deepStrictEqual([first?.phase, second?.phase], ["detached", "detached"])
      assert.isFalse(yield* second!.kill, "it gave no means")
      const stopped = yield* Effect.forkChild(first!.stopped, { startImmediately: true })
      assert.isUndefined(stopped.pollUnsafe())
      assert.isTrue(yield* first!.kill)
      yield* Fiber.join(stopped)
      yield* Deferred.succeed(release, undefined)
      yield* second!.stopped
      assert.deepStrictEqual(yield* inFlight, [])
      assert.deepStrictEqual(yield* stats, { detached: 0, late: 2, dropped: 1 })
    })
  )
})

it.live("C13: calls leave no timer behind, however far their clocks", () =>
  Effect.gen(function* () {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
    const yields: Play = () =>
      ToolStream.callback((emit) => Effect.andThen(emit(1), Effect.andThen(Effect.yieldNow, Effect.succeed([1]))))
    const {
      runtime: { events }
    } = yield* runtime({ t: erased("t", yields, { total: "1 hour", idle: "1 hour" }) })
    const before = timers()
    const all = Array.from({ length: 100 }, (_, n) => Stream.runDrain(events(call(`${n}`))))
    const running = yield* Effect.forkChild(Effect.all(all, { concurrency: "unbounded" }), { startImmediately: true })
    assert.isAtLeast(timers(), before + 200, "each has both its clocks")
    yield* Fiber.join(running)
    assert.isAtMost(timers(), before)
  })
)
