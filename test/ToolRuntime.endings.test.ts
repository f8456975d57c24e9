import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as ToolRuntime from "../src/ToolRuntime.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { call, partial, type Play, runtime, start, succeeds, terminal } from "./Harness.ts"

describe("ToolRuntime", () => {
  it.effect("a call has its tool's progress and result", () =>
    Effect.gen(function* () {
      const {
        runtime: { events }
      } = yield* runtime({
        t: ({ n = 0 }) =>
          ToolStream.gen(function* () {
            yield* ToolStream.progress(n)
            return [n, n]
          })
      })
      assert.deepStrictEqual(yield* Stream.runCollect(events(call("1", "t", { n: 3 }, "x"))), [
        { _tag: "Progress", callId: "1", externalId: "x", seq: 0, value: 3 },
        {
          _tag: "Terminal",
          callId: "1",
          externalId: "x",
          result: { _tag: "Success", value: [3, 3], content: [{ type: "text", text: "[3,3]" }], isError: false },
          stats: { durationMs: 0, queuedMs: 0, progress: { emitted: 1, delivered: 1, merged: 0, dropped: 0 } }
        }
      ])
    })
  )

  it.effect("a call that is being started is in flight: it can cancel itself, and its id is taken", () =>
    Effect.gen(function* () {
      let running: ToolRuntime.ToolRuntime["Service"] | undefined
      const seen: Array<unknown> = []
      const here = <A, E>(effect: Effect.Effect<A, E>) => void Effect.runFork(effect)
      const { runtime: made } = yield* runtime({
        // All of it before the tool gives its stream, where nothing of the call is asynchronous.
        t: ({ n }) => {
          here(
            Effect.map(running!.inFlight, (calls) => seen.push(calls.map(({ call, phase }) => [call.callId, phase])))
          )
          if (n === 0) here(Effect.map(running!.cancel("1", "by itself"), (found) => seen.push(found)))
          if (n === 1)
            here(Effect.map(Stream.runCollect(running!.events(call("1"))), (events) => seen.push(terminal(events))))
          return ToolStream.succeed([7])
        }
      })
      running = made
      const ended = (n: number) => Effect.map(Stream.runCollect(made.events(call("1", "t", { n }))), terminal)
      assert.deepStrictEqual(yield* ended(0), { _tag: "Interrupted", why: "by itself", phase: "stopped" })
      assert.deepStrictEqual(yield* ended(1), [7])
      assert.deepStrictEqual(seen, [[["1", "running"]], true, [["1", "running"]], { _tag: "DuplicateCall" }])
      assert.deepStrictEqual(yield* made.inFlight, [])
    })
  )

  it.effect("an effect that makes a call makes another in every run, side by side, too", () =>
    Effect.gen(function* () {
      const { runtime: made } = yield* runtime({ t: () => ToolStream.fromEffect(Effect.as(Effect.sleep(10), [7])) })
      for (const one of [
        ToolStream.runResult(made.dispatchText({ name: "t", text: "" })),
        ToolStream.runForEachArray(made.dispatchText({ name: "t", text: "" }), () => Effect.void)
      ]) {
        const [first, second] = [
          yield* Effect.forkChild(one, { startImmediately: true }),
          yield* Effect.forkChild(one, { startImmediately: true })
        ]
        assert.strictEqual((yield* made.inFlight).length, 2)
        yield* Fiber.interrupt(first)
        assert.strictEqual((yield* made.inFlight).length, 1)
        yield* TestClock.adjust(10)
        assert.deepStrictEqual((yield* Fiber.join(second)).value, [7])
      }
    })
  )

  const bug: Play = () => {
    throw new Error("bug")
  }
  it.effect.each<[string, Play | undefined, unknown, unknown]>([
    ["a declared failure", () => ToolStream.fail("no"), {}, { _tag: "ToolFailed", failure: "no", detail: "no" }],
    ["a throw before the stream (C129)", bug, {}, { _tag: "ToolDefect", detail: "bug", phase: "stopped" }],
    [
      "nothing returned by the handler (C129)",
      () => undefined as never,
      {},
      { _tag: "ToolDefect", detail: "Expected a ToolStream or an Effect, but got undefined", phase: "stopped" }
    ],
    [
      "an AbortError that nobody asked for (C125)",
      () => ToolStream.fromEffect(Effect.promise(() => Promise.reject(new DOMException("gave up", "AbortError")))),
      {},
      { _tag: "ToolDefect", detail: "gave up", phase: "stopped" }
    ],
    [
      "a defect inside",
      () => ToolStream.fromEffect(Effect.die(new Error("bug"))),
      {},
      { _tag: "ToolDefect", detail: "bug", phase: "stopped" }
    ],
    [
      "a defect of a finalizer",
      () =>
        ToolStream.gen(function* () {
          yield* Effect.addFinalizer(() => Effect.die("late bug"))
          return []
        }),
      {},
      { _tag: "ToolDefect", detail: "late bug", phase: "stopped" }
    ],
    [
      "a defect, with what was known",
      () => ToolStream.withPartial(ToolStream.fromEffect(Effect.die("bug")), () => [4]),
      {},
      { _tag: "ToolDefect", detail: "bug", phase: "stopped", partial: partial([4]) }
    ],
    [
      "its own interruption (C125)",
      () => ToolStream.fromEffect(Effect.interrupt),
      {},
      { _tag: "Interrupted", why: "the tool interrupted itself", phase: "stopped" }
    ],
    [
      "a success that does not fit",
      () => ToolStream.succeed([0.5]),
      {},
      { _tag: "InvalidOutput", what: "success", issue: "Expected an integer\n  at [0]", phase: "completed" }
    ],
    [
      "a failure that does not fit",
      () => ToolStream.fail(3 as unknown as string),
      {},
      { _tag: "InvalidOutput", what: "failure", issue: "Expected string", phase: "completed" }
    ],
    [
      "parameters that do not decode",
      succeeds,
      { n: "x" },
      { _tag: "InvalidParameters", issues: [{ path: ["n"], message: "Expected number" }] }
    ],
    [
      "unknown keys, all of them",
      succeeds,
      JSON.parse('{"m":1,"__proto__":{"n":1}}'),
      {
        _tag: "InvalidParameters",
        issues: [
          { path: ["m"], message: "is not known; there are n" },
          { path: ["__proto__"], message: "is not known; there are n" }
        ]
      }
    ],
    ["an unknown name", undefined, {}, { _tag: "ToolNotFound", suggestions: ["other"] }]
  ])("%s is the terminal", ([_, play, parameters, wanted]) =>
    Effect.gen(function* () {
      const {
        runtime: { events }
      } = yield* runtime(play ? { t: play } : { other: succeeds })
      assert.deepStrictEqual(terminal(yield* Stream.runCollect(events(call("1", "t", parameters)))), wanted)
    })
  )

  it.effect.each<[string, Play]>([
    [
      "emitted one by one, and caught",
      () =>
        ToolStream.callback((emit) =>
          Effect.andThen(
            Effect.ignoreCause(Effect.forEach([1, 2, 0.5, 3], emit)),
            Effect.as(Effect.ignoreCause(emit(4)), [])
          )
        )
    ],
    [
      "in a chunk",
      () =>
        ToolStream.gen(function* () {
          for (const n of [1, 2, 0.5, 3]) yield* ToolStream.progress(n)
          return []
        })
    ]
  ])("progress that does not fit interrupts the tool, after all that fits: %s", ([_, play]) =>
    Effect.gen(function* () {
      const {
        runtime: { events }
      } = yield* runtime({ t: play })
      const all = yield* Stream.runCollect(events(call("1")))
      assert.deepStrictEqual(
        all.slice(0, -1).map((event) => event._tag === "Progress" && event.value),
        [1, 2]
      )
      assert.deepStrictEqual(terminal(all), {
        _tag: "InvalidOutput",
        what: "progress",
        issue: "Expected an integer",
        phase: "stopped"
      })
    })
  )

  it.effect(
    "nothing of a tool is told after progress that does not fit, even if it cannot be interrupted and goes on",
    () =>
      Effect.gen(function* () {
        let wentOn = false
        const {
          runtime: { events }
        } = yield* runtime({
          t: () =>
            ToolStream.callback((emit) =>
              Effect.uninterruptible(
                Effect.andThen(
                  Effect.forEach([1, 0.5, 2], (n) => Effect.exit(emit(n))),
                  Effect.sync(() => {
                    wentOn = true
                    return [1]
                  })
                )
              )
            )
        })
        const all = yield* Stream.runCollect(events(call("1")))
        assert.deepStrictEqual(
          all.slice(0, -1).map((event) => event._tag === "Progress" && event.value),
          [1]
        )
        assert.deepStrictEqual(terminal(all), {
          _tag: "InvalidOutput",
          what: "progress",
          issue: "Expected an integer",
          phase: "stopped"
        })
        assert.isTrue(wentOn)
      })
  )

  it.effect("a defect leaves sibling calls alone", () =>
    Effect.gen(function* () {
      const {
        runtime: { events }
      } = yield* runtime({ t: bug, slow: () => ToolStream.fromEffect(Effect.as(Effect.sleep(10), [1])) })
      const slow = yield* start(events(call("1", "slow")))
      yield* Stream.runDrain(events(call("2")))
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(terminal(yield* Fiber.join(slow)), [1])
    })
  )
})
