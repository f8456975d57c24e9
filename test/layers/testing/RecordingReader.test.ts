import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as RecordingJournal from "../../../layers/testing/RecordingJournal.ts"
import * as RecordingReader from "../../../layers/testing/RecordingReader.ts"
import * as ScriptedTool from "../../../layers/testing/ScriptedTool.ts"
import * as VirtualClock from "../../../layers/testing/VirtualClock.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"

const script: ScriptedTool.Script = {
  actions: [
    { _tag: "Emit", value: 1 },
    { _tag: "Sleep", ms: 10 },
    { _tag: "Emit", value: 2 }
  ],
  end: { _tag: "Succeed", value: "done" },
  cleanUpMs: 5
}

const run = Effect.fnUntraced(
  function* (options: RecordingReader.Options, leaveAt?: number) {
    const clock = yield* VirtualClock.VirtualClock
    const { runs, tool } = ScriptedTool.make(script)
    const journal = yield* RecordingJournal.make()
    const context = yield* Layer.build(
      Layer.fresh(ToolRuntime.layer.pipe(Layer.provideMerge(ToolRegistry.layerEmpty), Layer.provide(journal.layer)))
    )
    yield* Effect.orDie(Context.get(context, ToolRegistry.ToolRegistry).register(tool))
    const reader = yield* RecordingReader.make(options)
    const call = yield* ToolCall.make({ name: "scripted", parameters: {} })
    const fiber = yield* Effect.forkChild(reader.read(Context.get(context, ToolRuntime.ToolRuntime), call), {
      startImmediately: true
    })
    if (leaveAt !== undefined) {
      yield* clock.advance(leaveAt)
      yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
    }
    yield* clock.settle()
    return {
      end: reader.end,
      got: reader.arrivals.map((arrival) => [
        arrival.at,
        arrival._tag === "Progress" ? arrival.value : arrival.result._tag
      ]),
      journal: journal.entries.map(({ at, entry }) => [at, entry._tag]),
      runs
    }
  },
  Effect.provide(VirtualClock.layer),
  Effect.scoped
)

describe("RecordingReader", () => {
  it.effect("tells what arrived and when, in every view", () =>
    Effect.gen(function* () {
      for (const view of ["events", "pulled", "run"] as const) {
        const { end, got, journal, runs } = yield* run({ view })
        assert.strictEqual(end, "ended")
        assert.deepStrictEqual(got, [
          [0, 1],
          [10, 2],
          [15, "Success"]
        ])
        assert.deepStrictEqual(journal, [
          [0, "Accepted"],
          [0, "Decoded"],
          [0, "Started"],
          [0, "Progress"],
          [10, "Progress"],
          [15, "Terminal"]
        ])
        assert.deepStrictEqual(runs, [{ startedAt: 0, done: 3, closedAt: 15 }])
      }
    })
  )

  it.effect("is slow, leaves and breaks when it is told to, in every view", () =>
    Effect.gen(function* () {
      for (const view of ["events", "pulled", "run"] as const) {
        const slow = yield* run({ view, pace: 100 })
        assert.deepStrictEqual(slow.got, [
          [0, 1],
          [110, 2],
          [215, "Success"]
        ])
        const left = yield* run({ view, leaveAfter: 1 })
        assert.deepStrictEqual([left.end, left.got], ["left", [[0, 1]]])
        assert.strictEqual(left.journal.at(-1)?.[1], "Terminal")
        const broke = yield* run({ view, breakAfter: 2 })
        assert.deepStrictEqual([broke.end, broke.got.length], ["broke", 2])
        const interrupted = yield* run({ view }, 5)
        assert.deepStrictEqual([interrupted.end, interrupted.got], ["interrupted", [[0, 1]]])
      }
    })
  )
})
