import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { fromReason, PermissionDenied } from "../src/ToolError.ts"
import * as ToolMiddleware from "../src/ToolMiddleware.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { call, partial, type Play, runtime, start, succeeds, terminal } from "./Harness.ts"

describe("ToolMiddleware", () => {
  it.effect("answers in place of the tool, knowing its decoded parameters", () =>
    Effect.gen(function* () {
      let ran = 0
      const seen: Array<unknown> = []
      const {
        runtime: { events }
      } = yield* runtime(
        { t: () => ToolStream.fromEffect(Effect.sync(() => [++ran])) },
        {
          middleware: [
            (next) => (prepared) => {
              seen.push(prepared.parameters)
              return prepared.call.callId === "no"
                ? ToolStream.fail(fromReason(prepared.call, new PermissionDenied({ by: "test", why: "no" })))
                : next(prepared)
            }
          ]
        }
      )
      assert.deepStrictEqual(terminal(yield* Stream.runCollect(events(call("no")))), {
        _tag: "PermissionDenied",
        by: "test",
        why: "no"
      })
      assert.deepStrictEqual(terminal(yield* Stream.runCollect(events(call("yes", "t", { n: 3 })))), [1])
      assert.deepStrictEqual(terminal(yield* Stream.runCollect(events(call("bad", "t", { n: 0.5 })))), {
        _tag: "InvalidParameters",
        issues: [{ path: ["n"], message: "Expected an integer" }]
      })
      assert.strictEqual(ran, 1)
      assert.deepStrictEqual(seen, [{}, { n: 3 }], "it never sees parameters that do not decode")
    })
  )

  it.effect("is stacked: the first provided runs first, and each can change the stream", () =>
    Effect.gen(function* () {
      const add =
        (name: string): ToolMiddleware.ToolMiddleware =>
        (next) =>
        (prepared) =>
          ToolStream.map(next(prepared), (result) => ({ ...result, value: [name, result.value] }))
      const {
        runtime: { events }
      } = yield* runtime({ t: succeeds }, { middleware: [add("outer"), add("inner")] })
      assert.deepStrictEqual(terminal(yield* Stream.runCollect(events(call("1")))), ["outer", ["inner", [7]]])
    })
  )

  it.effect("changes what is known of a call that is ended, the innermost first", () =>
    Effect.gen(function* () {
      const add = (name: string): ToolMiddleware.ToolMiddleware => {
        return (next) => (prepared) =>
          ToolMiddleware.concluding(next(prepared), prepared, {
            success: Effect.succeed,
            failure: Effect.fail,
            partial: (partial) => ({ ...partial, value: [name, partial.value] })
          })
      }
      const hang: Play = () => ToolStream.withPartial(ToolStream.fromEffect(Effect.never), () => [1])
      const {
        runtime: { cancel, events }
      } = yield* runtime({ t: hang }, { middleware: [add("outer"), add("inner")] })
      const fiber = yield* start(events(call("1")))
      yield* cancel("1", "test")
      assert.deepStrictEqual(terminal(yield* Fiber.join(fiber)), {
        _tag: "Interrupted",
        why: "test",
        phase: "stopped",
        partial: { ...partial([1]), value: ["outer", ["inner", [1]]] }
      })
    })
  )

  it.effect("a defect in it is the call's terminal, and the tool did not start", () =>
    Effect.gen(function* () {
      const {
        runtime: { events }
      } = yield* runtime(
        { t: succeeds },
        {
          middleware: [() => () => ToolStream.fromEffect(Effect.die("bug"))]
        }
      )
      assert.deepStrictEqual(terminal(yield* Stream.runCollect(events(call("1")))), {
        _tag: "ToolDefect",
        detail: "bug",
        phase: "not-started"
      })
    })
  )

  it.effect("the hash of the parameters is one for one value, whatever the order of its keys", () =>
    Effect.gen(function* () {
      const hashes: Array<string> = []
      const {
        runtime: { events }
      } = yield* runtime(
        { t: succeeds },
        {
          middleware: [
            (next) => (prepared) =>
              ToolStream.unwrap(Effect.map(prepared.parametersHash, (hash) => (hashes.push(hash), next(prepared))))
          ]
        }
      )
      for (const parameters of [{ n: 1 }, { n: 1 }, { n: 2 }, {}]) {
        yield* Stream.runDrain(events(call("1", "t", parameters)))
      }
      assert.strictEqual(hashes[0], hashes[1])
      assert.strictEqual(new Set(hashes).size, 3)
      assert.match(hashes[0]!, /^[0-9a-f]{64}$/)
    })
  )

  it.effect("what is held is given back once the call has ended, between whichever operations it is cancelled", () =>
    Effect.gen(function* () {
      let held = 0
      const open = new Set<object>()
      const holder: ToolMiddleware.Holder<object> = {
        acquire: () => {
          const ticket = {}
          held++
          open.add(ticket)
          return ticket
        },
        release: (ticket) => {
          open.delete(ticket)
        }
      }
      const tools: ReadonlyArray<Play> = [
        succeeds,
        () => ToolStream.callback((emit) => Effect.as(emit(1), [1])),
        () => ToolStream.fromEffect(Effect.die("bug")),
        () => ToolStream.fromEffect(Effect.never)
      ]
      const { runtime: r } = yield* runtime(Object.fromEntries(tools.map((tool, n) => [`${n}`, tool])), {
        middleware: [(next) => (prepared) => ToolMiddleware.holding(next(prepared), prepared, holder)]
      })
      let id = 0
      for (const [n] of tools.entries()) {
        for (const operations of [4, 5, 6, 7, 2048]) {
          for (let turns = 0; turns < 16; turns++) {
            const { callId } = call(`${id++}`)
            const reader = yield* start(
              Stream.provideService(r.events(call(callId, `${n}`)), References.MaxOpsBeforeYield, operations)
            )
            for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
            // It may not have been accepted yet.
            while (reader.pollUnsafe() === undefined) yield* Effect.andThen(r.cancel(callId, "test"), Effect.yieldNow)
            assert.strictEqual(open.size, 0, `tool ${n}, ${operations} operations, ${turns} turns`)
          }
        }
      }
      assert.isAbove(held, 200)
    })
  )

  it.effect("what is kept with a call is there for the calls that its tool makes, and for no other", () =>
    Effect.gen(function* () {
      const local = new ToolMiddleware.CallLocal<string>()
      const seen: Array<unknown> = []
      let inner: Effect.Effect<unknown> = Effect.void
      const { runtime: r } = yield* runtime(
        { outer: () => ToolStream.fromEffect(Effect.suspend(() => Effect.as(inner, [1]))), inner: succeeds },
        {
          middleware: [
            (next) => (prepared) => {
              seen.push([prepared.call.name, prepared.caller?.callId, local.ofCaller(prepared)])
              local.set(prepared, `kept with ${prepared.call.callId}`)
              return next(prepared)
            }
          ]
        }
      )
      inner = Stream.runDrain(r.events(call("2", "inner")))
      yield* Stream.runDrain(r.events(call("1", "outer")))
      yield* inner
      assert.deepStrictEqual(seen, [
        ["outer", undefined, undefined],
        ["inner", "1", "kept with 1"],
        ["inner", undefined, undefined]
      ])
    })
  )
})
