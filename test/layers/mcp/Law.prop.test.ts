import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as ErasedTool from "../../../src/ErasedTool.ts"
import * as Tool from "../../../src/Tool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { runtime } from "../../Harness.ts"
import { client } from "./Wire.ts"

const Step = Schema.Union([
  Schema.TaggedStruct("Emit", { count: Schema.Literals([1, 2, 5]) }),
  Schema.TaggedStruct("Sleep", { ms: Schema.Literals([1, 3, 10]) })
])

const Script = Schema.Struct({
  steps: Schema.Array(Step).check(Schema.isMaxLength(8)),
  ends: Schema.Literals(["succeeds", "is an error", "fails", "breaks", "hangs"])
})
type Script = typeof Script.Type

class Scripted extends Tool.Service<Scripted>()("scripted", {
  description: "Does what its script says.",
  parameters: { script: Script },
  progress: Schema.Int,
  success: Schema.Struct({ emitted: Schema.Array(Schema.Int), bad: Schema.Boolean }),
  failure: Schema.Struct({ no: Schema.Array(Schema.Int) }),
  isError: ({ bad }) => bad
}) {}

/** Emits 1, 2, 3…, and repeats them in its end: what is lost shows twice. */
const scripted = (counts: { started: number; ended: number }) =>
  ErasedTool.fromImplementation(Scripted, {
    execute: ({ script }) =>
      ToolStream.callbackArray((emit) =>
        Effect.gen(function* () {
          counts.started++
          const emitted: Array<number> = []
          for (const step of script.steps) {
            if (step._tag === "Sleep") yield* Effect.sleep(step.ms)
            else {
              const values = Array.from({ length: step.count }, (_, i) => emitted.length + 1 + i)
              emitted.push(...values)
              yield* emit(values as [number, ...Array<number>])
            }
          }
          switch (script.ends) {
            case "succeeds":
            case "is an error":
              return { emitted, bad: script.ends === "is an error" }
            case "fails":
              return yield* Effect.fail({ no: emitted })
            case "breaks":
              return yield* Effect.die(new Error("secret"))
            case "hangs":
              return yield* Effect.never
          }
        }).pipe(
          Effect.ensuring(
            Effect.sync(() => {
              counts.ended++
            })
          )
        )
      )
  })

/** What should be on the wire, in the order it is there. */
const emittedBy = ({ steps }: Script): ReadonlyArray<number> => {
  const count = steps.reduce((sum, step) => sum + (step._tag === "Emit" ? step.count : 0), 0)
  return Array.from({ length: count }, (_, i) => i + 1)
}

describe("the law, over the wire", () => {
  for (const [revision, server, way] of [
    ["2026-07-28", {}, ""],
    ["2026-07-28", { registrations: Layer.empty }, ", by effect's table of tools"],
    ["2025-11-25", {}, ""],
    ["2025-11-25", { registrations: Layer.empty }, ", by effect's table of tools"],
    ["2024-11-05", {}, ""]
  ] as const) {
    it.effect.prop(
      `${revision}${way}: progress in order, then one response or, of what was cancelled, none`,
      { script: Script, tells: Schema.Boolean, cancelAt: Schema.Literals([100, 100, 0, 2, 7, 30]) },
      ({ cancelAt, script, tells }) =>
        Effect.gen(function* () {
          yield* TestClock.adjust(0)
          const counts = { started: 0, ended: 0 }
          const built = yield* runtime({ scripted: scripted(counts) })
          const { callTool, notifications } = yield* client(built, { revision, server })
          const token = "token"
          const calling = yield* Effect.forkChild(
            Effect.exit(
              callTool({
                name: "scripted",
                arguments: { script },
                ...(tells ? { _meta: { progressToken: token } } : {})
              })
            ),
            { startImmediately: true }
          )
          yield* TestClock.adjust(cancelAt)
          const early = calling.pollUnsafe()
          // Interrupting the call sends `notifications/cancelled`.
          if (early === undefined) yield* Effect.forkChild(Fiber.interrupt(calling), { startImmediately: true })
          yield* TestClock.adjust(200)

          assert.strictEqual(counts.started, counts.ended, "nothing runs any more")
          assert.deepStrictEqual(yield* built.runtime.inFlight, [])
          const told = (yield* Queue.clear(notifications)).filter(({ method }) => method === "notifications/progress")
          const progress = told.map(({ payload }) => payload as { progress: number; progressToken: string })
          assert.isTrue(progress.every(({ progressToken }) => progressToken === token))
          const numbers = progress.map(({ progress }) => progress)
          assert.isTrue(
            numbers.every((n, i) => i === 0 || n > numbers[i - 1]!),
            "it rises"
          )
          const all = emittedBy(script)
          if (!tells) assert.deepStrictEqual(numbers, [])

          if (early === undefined) {
            // Without a response, or with one that was on its way.
            assert.deepStrictEqual(numbers, all.slice(0, numbers.length))
            return
          }
          if (tells) assert.deepStrictEqual(numbers, all)
          const { _meta, content, isError, structuredContent } = yield* Effect.flatten(early)
          const failure = (_meta?.["toolstream/error"] as { reason: { _tag: string; failure?: unknown } } | undefined)
            ?.reason
          switch (script.ends) {
            case "succeeds":
            case "is an error": {
              const bad = script.ends === "is an error"
              assert.strictEqual(isError, bad)
              if (revision !== "2024-11-05") assert.deepStrictEqual(structuredContent, { emitted: all, bad })
              assert.deepStrictEqual(content, [{ type: "text", text: JSON.stringify({ emitted: all, bad }) }])
              return
            }
            case "fails":
              assert.isTrue(isError)
              assert.deepStrictEqual(failure, { ...failure, _tag: "ToolFailed", failure: { no: all } })
              return
            case "breaks":
              assert.isTrue(isError)
              assert.strictEqual(failure?._tag, "ToolDefect")
              assert.notInclude(JSON.stringify([content, _meta]), "secret")
              return
            case "hangs":
              assert.fail("it answered")
          }
        })
    )
  }
})
