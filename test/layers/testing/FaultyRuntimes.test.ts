import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as LawCheck from "../../../layers/testing/LawCheck.ts"
import { type Law, LawViolation } from "../../../layers/testing/LawViolation.ts"
import * as ScriptedTool from "../../../layers/testing/ScriptedTool.ts"
import * as Journal from "../../../src/Journal.ts"
import type { ToolEvent } from "../../../src/ToolEvent.ts"
import * as ToolMiddleware from "../../../src/ToolMiddleware.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"

// A check that finds nothing in a broken runtime finds nothing at all.

type Runtime = ToolRuntime.ToolRuntime["Service"]

const real = ToolRuntime.layerWith({ grace: 1_000 })

const over = (change: (runtime: Runtime) => Partial<Runtime>) =>
  Layer.effect(
    ToolRuntime.ToolRuntime,
    Effect.map(ToolRuntime.ToolRuntime, (runtime) => ToolRuntime.ToolRuntime.of({ ...runtime, ...change(runtime) }))
  ).pipe(Layer.provide(real))

const inside = (middleware: ToolMiddleware.ToolMiddleware) =>
  real.pipe(Layer.provide(ToolMiddleware.layer(Effect.succeed(middleware))))

/** What is written to the journal of the check instead of the entry. */
const journalling = (change: (entry: Journal.Entry) => ReadonlyArray<Journal.Entry>) =>
  real.pipe(
    Layer.provide(
      Layer.effect(
        Journal.Journal,
        Effect.map(
          Journal.Journal,
          (journal): Journal.Writer | undefined =>
            journal && {
              ...journal,
              write: (entry, durability) =>
                Effect.forEach(change(entry), (changed) => journal.write(changed, durability), { discard: true })
            }
        )
      )
    )
  )

const { tool } = ScriptedTool.make({
  actions: [
    { _tag: "Emit", value: "a" },
    { _tag: "Sleep", ms: 10 },
    { _tag: "Emit", value: "b" },
    { _tag: "Sleep", ms: 10 },
    { _tag: "Emit", value: "c" }
  ],
  end: { _tag: "Succeed", value: null },
  cleanUpMs: 4
})

const check = (runtime: NonNullable<LawCheck.Options["runtime"]>) =>
  LawCheck.checkErased(tool, { parameters: [{}], seed: 1, runtime })

const faults: Record<string, readonly [NonNullable<LawCheck.Options["runtime"]>, Law, RegExp]> = {
  "delivers two terminals": [
    over(({ events }) => ({
      events: (call) =>
        Stream.flatMap(events(call), (event) =>
          Stream.fromIterable<ToolEvent>(event._tag === "Terminal" ? [event, event] : [event])
        )
    })),
    "Terminals",
    /the reader got 1 more after the terminal/
  ],
  "delivers no terminal": [
    over(({ events }) => ({ events: (call) => Stream.filter(events(call), ({ _tag }) => _tag === "Progress") })),
    "Terminals",
    /the reader got no terminal/
  ],
  "never lets the reader go": [
    over(({ events }) => ({ events: (call) => Stream.concat(events(call), Stream.never) })),
    "Terminals",
    /the reader had not ended/
  ],
  "drops progress on its way to the reader": [
    over(({ events }) => ({
      events: (call) => Stream.filter(events(call), (event) => event._tag === "Terminal" || event.value !== "b")
    })),
    "Agreement",
    /the reader got \["a","c"\]/
  ],
  "drops progress on its way to the journal": [
    inside(
      (next) => (prepared) =>
        ToolStream.callback((emit) =>
          ToolStream.runForEachArray(next(prepared), (values) =>
            Effect.forEach(values, (value) => (value === "b" ? Effect.void : emit(value)), { discard: true })
          )
        )
    ),
    "Progress",
    /the journal has \["a","c"\], and the tool gave \["a","b","c"\]/
  ],
  "drops the last progress": [
    inside(
      (next) => (prepared) =>
        ToolStream.callback((emit) =>
          ToolStream.runForEachArray(next(prepared), (values) =>
            Effect.forEach(values, (value) => (value === "c" ? Effect.void : emit(value)), { discard: true })
          )
        )
    ),
    "Progress",
    /the tool gave 3 progress values, and the journal has 2/
  ],
  "reorders progress": [
    inside(
      (next) => (prepared) =>
        ToolStream.callback((emit) =>
          Effect.suspend(() => {
            const all: Array<unknown> = []
            return Effect.tap(
              ToolStream.runForEachArray(next(prepared), (values) => Effect.sync(() => void all.push(...values))),
              () => Effect.forEach(all.toReversed(), emit, { discard: true })
            )
          })
        )
    ),
    "Progress",
    /the journal has \["c","b","a"\]/
  ],
  "invents progress": [
    inside((next) => (prepared) => ToolStream.mapProgress(next(prepared), (value) => `${String(value)}!`)),
    "Progress",
    /the journal has \["a!","b!","c!"\]/
  ],
  "fakes the pulled view": [
    over(({ dispatch }) => ({
      dispatch: (call) => ToolStream.map(dispatch(call), (result) => ({ ...result, value: "another" }))
    })),
    "Agreement",
    /another terminal/
  ],
  "fakes dispatch, and runs nothing": [
    over(() => ({ dispatch: () => ToolStream.succeed({ value: null, content: [], isError: false }) })),
    "Terminals",
    /does not begin with Accepted/
  ],
  "gives another reason": [
    over(({ cancel }) => ({ cancel: (callId) => cancel(callId, "whatever") })),
    "Ending",
    /because of "whatever"/
  ],
  "writes two terminals": [
    journalling((entry) => (entry._tag === "Terminal" ? [entry, entry] : [entry])),
    "Terminals",
    /2 terminals/
  ],
  "writes no terminal": [
    journalling((entry) => (entry._tag === "Terminal" ? [] : [entry])),
    "Terminals",
    /had no terminal/
  ],
  "counts wrongly": [
    journalling((entry) =>
      entry._tag === "Terminal"
        ? [{ ...entry, stats: { ...entry.stats, progress: { ...entry.stats.progress, emitted: 7 } } }]
        : [entry]
    ),
    "Progress",
    /do not add up/
  ],
  "keeps calls in flight": [
    over(() => ({
      inFlight: Effect.succeed([
        {
          call: { callId: "1", sessionId: "1", name: "t", parameters: {} },
          phase: "running",
          stopped: Effect.void,
          kill: Effect.succeed(false)
        }
      ])
    })),
    "Leftovers",
    /1 calls are in flight/
  ],
  "answers before the tool has stopped": [
    inside(
      (next) => (prepared) =>
        ToolStream.callback((emit) =>
          Effect.gen(function* () {
            const fiber = yield* Effect.forkDetach(ToolStream.runForEachArray(next(prepared), ([value]) => emit(value)))
            yield* Effect.sleep(5)
            void fiber
            return { value: null, content: [], isError: false }
          })
        )
    ),
    "Early",
    /the tool was still running/
  ],
  "cannot be closed": [
    Layer.provideMerge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.never)), real),
    "Leftovers",
    /could not be closed/
  ]
}

describe("LawCheck notices a runtime that", () => {
  for (const [name, [runtime, law, detail]] of Object.entries(faults)) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const found = yield* Effect.flip(check(runtime))
        assert(found instanceof LawViolation, String(found))
        assert.strictEqual(found.law, law, found.message)
        assert.match(found.detail, detail)
      })
    )
  }

  it.effect("does not cancel", () =>
    Effect.gen(function* () {
      // One that ends by itself may do so before the interruption takes hold.
      const { tool } = ScriptedTool.make({ actions: [], end: { _tag: "Hang" } })
      const found = yield* Effect.flip(
        LawCheck.checkErased(tool, {
          parameters: [{}],
          seed: 1,
          allow: ["Endless"],
          runtime: over(() => ({ cancel: () => Effect.succeed(true) }))
        })
      )
      assert(found instanceof LawViolation, String(found))
      assert.strictEqual(found.law, "Terminals", found.message)
      assert.match(found.detail, /was interrupted, and 60000 ms later had no terminal/)
    })
  )

  it.effect("is unbroken: it finds nothing", () =>
    Effect.map(Effect.exit(check(over(() => ({})))), (exit) => assert(Exit.isSuccess(exit), String(exit)))
  )
})
