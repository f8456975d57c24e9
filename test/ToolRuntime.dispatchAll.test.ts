import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import type * as Journal from "../src/Journal.ts"
import type { ToolError } from "../src/ToolError.ts"
import type { Terminal } from "../src/ToolEvent.ts"
import type { ToolResult } from "../src/ToolResult.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { call, deaf, emitThenHang, type Play, runtime, succeeds, verdict } from "./Harness.ts"

const told = (ends: ReadonlyArray<Result.Result<ToolResult, ToolError>>): ReadonlyArray<unknown> =>
  ends.map((end) => (Result.isSuccess(end) ? end.success.value : end.failure.reason._tag))

const late =
  (ms: number): Play =>
  () =>
    ToolStream.callback((emit) => Effect.andThen(emit(1), Effect.as(Effect.sleep(ms), [ms])))

describe("dispatchAll", () => {
  it.effect("gives the ends in the order of the calls, whichever came first, and waits for no reader of progress", () =>
    Effect.gen(function* () {
      const {
        runtime: { dispatchAll, inFlight, stats }
      } = yield* runtime({ late: late(20), soon: late(10), now: succeeds, fails: () => ToolStream.fail("no") })
      const ending = yield* Effect.forkChild(
        dispatchAll([call("1", "late"), call("2", "now"), call("3", "no tool"), call("4", "soon"), call("5", "fails")]),
        { startImmediately: true }
      )
      assert.deepStrictEqual(
        (yield* inFlight).map(({ call }) => call.callId),
        ["1", "4"],
        "all of them have begun"
      )
      yield* TestClock.adjust(19)
      assert.isUndefined(ending.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(told(yield* Fiber.join(ending)), [[20], [7], "ToolNotFound", [10], "ToolFailed"])
      assert.deepStrictEqual(yield* dispatchAll([]), [])
      assert.strictEqual((yield* stats).dropped, 0, "nobody was to read it")
    })
  )

  it.effect("ids are accepted once: a callId while it is in flight, an externalId in a batch", () =>
    Effect.gen(function* () {
      const {
        runtime: { batch, dispatchAll }
      } = yield* runtime({ soon: late(10) })
      const calls = [call("1", "soon", {}, "x"), call("1", "soon", {}, "y"), call("2", "soon", {}, "x")]
      const some = yield* Effect.forkChild(dispatchAll(calls), { startImmediately: true })
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(told(yield* Fiber.join(some)), [[10], "DuplicateCall", [10]])
      const inBatch = yield* Effect.forkChild((yield* batch).dispatchAll(calls), { startImmediately: true })
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(told(yield* Fiber.join(inBatch)), [[10], "DuplicateCall", "DuplicateCall"])
    })
  )

  it.effect("a reader that leaves ends them all, side by side; those that have ended stay ended", () =>
    Effect.gen(function* () {
      const journal: Array<Journal.Entry> = []
      const release = yield* Deferred.make<void>()
      const {
        runtime: { dispatchAll, inFlight, stats }
      } = yield* runtime({ deaf: deaf(release), hangs: emitThenHang, now: succeeds }, { journal })
      const calls = [call("1", "deaf"), call("2", "deaf"), call("3", "hangs"), call("4", "now")]
      const ending = yield* Effect.forkChild(dispatchAll(calls), { startImmediately: true })
      yield* TestClock.adjust(0)
      const leaving = yield* Effect.forkChild(Fiber.interrupt(ending), { startImmediately: true })
      yield* TestClock.adjust(99)
      assert.isUndefined(leaving.pollUnsafe(), "it waits for the tools that do not stop")
      yield* TestClock.adjust(1)
      assert.isDefined(leaving.pollUnsafe(), "for as long as for one of them")
      assert.deepStrictEqual(
        (yield* inFlight).map(({ phase }) => phase),
        ["detached", "detached"]
      )
      const terminals = journal.flatMap((entry) => (entry._tag === "Terminal" ? [[entry.callId, entry.result]] : []))
      assert.strictEqual(terminals.length, 4)
      const { 1: detached, 3: stopped, 4: ended } = Object.fromEntries(terminals) as Record<string, Terminal["result"]>
      assert.deepInclude(verdict(detached!), { why: "consumer left", phase: "detached" })
      assert.deepInclude(verdict(stopped!), { why: "consumer left", phase: "stopped" })
      assert.deepStrictEqual(verdict(ended!), [7])
      yield* Deferred.succeed(release, undefined)
      assert.strictEqual((yield* stats).late, 2)
    })
  )

  it.effect("calls that cannot all be had begin no more, and those that have begun are ended", () =>
    Effect.gen(function* () {
      const {
        runtime: { dispatchAll, inFlight }
      } = yield* runtime({ hangs: emitThenHang })
      const calls = function* () {
        yield call("1", "hangs")
        throw new Error("no more")
      }
      const exit = yield* Effect.exit(dispatchAll({ [Symbol.iterator]: calls }))
      assert.include(String(exit), "no more")
      assert.deepStrictEqual(yield* inFlight, [])
    })
  )
})
