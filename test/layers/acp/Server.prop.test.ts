import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as Sessions from "../../../layers/acp/Sessions.ts"
import * as ScriptedSampler from "../../../layers/testing/ScriptedSampler.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as Plan from "../agent/Plan.ts"
import * as Editor from "./Editor.ts"

const Run = Schema.Struct({
  steps: Plan.Plan.fields.steps,
  /** When the user cancels, on the clock of the plan. What hangs is cancelled in the end. */
  cancelAt: Schema.Literals([0, 1, 3, 5, 9, 15, 21, 33, 200]),
  /** Once more after the answer, and twice at once. */
  cancelsAgain: Schema.Boolean,
  /** How long the editor takes for an update, in turns of its event loop. */
  slow: Schema.Literals([0, 1, 3])
})

/** Lets the promises on both sides settle: nothing but the clock is waited for then. */
const settled = Effect.promise(async () => {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
})

const advance = (ms: number) =>
  Effect.forEach(
    Array.from({ length: ms }, (_, at) => at),
    () => Effect.andThen(TestClock.adjust(1), settled),
    { discard: true }
  )

describe("acp, whatever the turn", () => {
  it.effect.prop(
    "each call begins with tool_call, has one terminal status, and nothing after; a cancelled prompt is answered once",
    { run: Arbitrary.schema(Run) },
    ({ run: { cancelAt, cancelsAgain, slow, steps } }) =>
      Effect.gen(function* () {
        const world = Plan.makeWorld()
        const model = ScriptedSampler.make(steps.map(Plan.script))
        const layer = Layer.mergeAll(Plan.layer(world), model.layer, Sessions.layerMemory)
        yield* Effect.gen(function* () {
          const editor = yield* Editor.connect({
            update: async () => {
              for (let turn = 0; turn < slow; turn++) await new Promise((resolve) => setImmediate(resolve))
            }
          })
          const { sessionId } = yield* editor.session("/")
          let stop: string | undefined
          const fiber = yield* Effect.forkChild(
            Effect.map(editor.prompt(sessionId), ({ stopReason }) => {
              stop = stopReason
            }),
            { startImmediately: true }
          )
          // Asked at once, a cancel may be there before the turn is.
          if (cancelAt > 0) yield* advance(cancelAt)
          const early = stop
          yield* editor.cancel(sessionId)
          if (cancelsAgain) yield* editor.cancel(sessionId)
          yield* advance(20)
          yield* Fiber.join(fiber)
          if (early === undefined && stop !== "cancelled") {
            // They met on the way: the answer was the next thing that the agent said.
            const at = editor.log.findIndex(([, message]) => "method" in message && message.method === "session/cancel")
            const after = editor.log.slice(at).filter(([from]) => from === "agent")
            assert.deepStrictEqual(
              after.map(([, message]) => "result" in message),
              [true],
              `${stop}, after a cancel`
            )
          } else assert.strictEqual(stop, early ?? "cancelled")
          if (cancelsAgain) yield* editor.cancel(sessionId)
          const said = editor.log.length
          yield* advance(40)
          assert.isAtMost(editor.log.length, said + 1, "nothing but the cancel after the answer")
          assert.deepStrictEqual(editor.schema.stops, [stop])
          assert.deepStrictEqual(editor.schema.breaches, [])
          const calls = yield* Effect.flatMap(ToolRuntime.ToolRuntime, ({ inFlight }) => inFlight)
          assert.deepStrictEqual(
            calls.map(({ phase }) => phase),
            []
          )
        }).pipe(Effect.provide(layer))
      }),
    { arbitrary: { runs: Number(process.env["RUNS"] ?? 200) }, timeout: 120_000 }
  )
})
