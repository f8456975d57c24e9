import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Guards from "../../layers/Guards.ts"
import * as Output from "../../layers/Output.ts"
import * as Grants from "../../layers/permissions/Grants.ts"
import * as Permissions from "../../layers/Permissions.ts"
import * as Progress from "../../layers/Progress.ts"
import * as RateLimits from "../../layers/RateLimits.ts"
import * as Resources from "../../layers/Resources.ts"
import * as Telemetry from "../../layers/Telemetry.ts"
import * as LawCheck from "../../layers/testing/LawCheck.ts"
import * as ScriptedTool from "../../layers/testing/ScriptedTool.ts"
import * as Clocks from "../../src/Clocks.ts"
import type * as ErasedTool from "../../src/ErasedTool.ts"
import * as Permission from "../../src/Permission.ts"
import * as ProgressPolicy from "../../src/ProgressPolicy.ts"
import type * as ToolEvent from "../../src/ToolEvent.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import { call, guarded, terminalEvent } from "../Harness.ts"

const { layerWith } = Guards
const allowed: Permissions.Judge = () => Effect.succeed({ _tag: "Allowed" })

/** Every call is permitted, by a rule. No files are asked for. */
const guards = (options: Guards.Options): Layer.Layer<never> =>
  layerWith({ permissions: { rules: allowed }, ...options }) as Layer.Layer<never>

const script = (
  actions: ReadonlyArray<ScriptedTool.Action>,
  end: ScriptedTool.End,
  more = {}
): ScriptedTool.Script => ({
  actions,
  end,
  ...more
})
const emit = (value: Schema.Json): ScriptedTool.Action => ({ _tag: "Emit", value })
const sleep = (ms: number): ScriptedTool.Action => ({ _tag: "Sleep", ms })
const succeed: ScriptedTool.End = { _tag: "Succeed", value: "done" }

/** Tools that keep the law, each in another way. */
const scripts: Record<string, ScriptedTool.Script> = {
  emits: script([emit(1), emit(2), sleep(5), emit(3)], succeed),
  fails: script([emit(1), sleep(3)], { _tag: "Fail", failure: "no" }),
  dies: script([sleep(2), emit(1)], { _tag: "Die", message: "bug" }),
  cleans: script([emit(1), sleep(20), emit(2)], succeed, { cleanUpMs: 50 }),
  late: script([emit(1)], succeed, { late: 3 })
}

const around = (name: string, tool: ErasedTool.ErasedTool): ErasedTool.ErasedTool => ({
  ...tool,
  resources: () => ({ writes: ["it"], exclusive: name === "cleans" }),
  progressPolicy: name === "emits" ? ProgressPolicy.latest : undefined
})

const middlewares = {
  permissions: Layer.provide(Permissions.layerWith({ rules: allowed }), Grants.layerMemory()),
  output: Output.layerWith({ limitBytes: 3 }),
  progress: Progress.layer,
  rates: RateLimits.layer({ scripted: { limit: 1_000_000, window: "1 day" } }),
  resources: Resources.layerWith({ capacity: 2 }),
  telemetry: Telemetry.layer
}

/** Every order of a list. */
const orders = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length < 2
    ? [items]
    : items.flatMap((item, i) => orders([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]))

describe("Guards", { timeout: 60_000 }, () => {
  for (const [name, one] of Object.entries(scripts)) {
    it.effect(`a tool keeps the law through the whole stack: ${name}`, () =>
      Effect.gen(function* () {
        const { tool } = ScriptedTool.make(one)
        const report = yield* LawCheck.checkErased(around(name, tool), {
          parameters: [{}],
          // What the tool does wrong is its own: the stack has to keep the law around it.
          allow: ["Defect", "Unquiet"],
          steps: 5,
          runtime: ToolRuntime.layerWith({ grace: 1000 }).pipe(
            Layer.provide(
              guards({ rates: { scripted: { limit: 1_000_000, window: "1 day" } }, resources: { capacity: 2 } })
            )
          )
        })
        assert.isAbove(report.calls, 10)
      })
    )
  }

  it.effect("the law holds in every order of the middlewares", () =>
    Effect.gen(function* () {
      const { permissions, telemetry, ...ordered } = middlewares
      // Every order with the fifth would be five times as many: it takes turns among the places.
      const all = orders(Object.values(ordered)).map((order, index) => order.toSpliced(index % 5, 0, permissions))
      for (const order of all) {
        for (const name of ["emits", "cleans"]) {
          const one = scripts[name]!
          const runtime = order
            .reduce((layer, middleware) => Layer.provide(layer, middleware), ToolRuntime.layerWith({ grace: 1000 }))
            .pipe(Layer.provide(telemetry))
          yield* LawCheck.checkErased(around(name, ScriptedTool.make(one).tool), {
            parameters: [{}],
            allow: ["Defect", "Unquiet"],
            steps: 2,
            runtime
          })
        }
      }
    })
  )

  it.effect(
    "by default what is compiled in and reads only runs; the rest is asked for, and refused where nobody is",
    () =>
      Effect.gen(function* () {
        const { tool } = ScriptedTool.make(script([], succeed))
        const reads = {
          ...tool,
          descriptor: { ...tool.descriptor, hints: { ...tool.descriptor.hints, readOnly: true } }
        }
        const tools = { writes: tool, reads, claims: { ...reads, isForeign: true } }
        const ends = (options: Guards.Options, below: Layer.Layer<never> = Layer.empty, origin?: string) =>
          Effect.gen(function* () {
            const layer = Layer.provide(layerWith(options) as Layer.Layer<never>, below)
            const { events } = yield* guarded(tools, layer, origin === undefined ? {} : { origin })
            return yield* Effect.forEach(Object.keys(tools), (name) =>
              Effect.map(Stream.runCollect(events(call(name, name))), (events) => {
                const { result } = terminalEvent(events)
                return result._tag === "Success" ? "ran" : result.error.reason._tag
              })
            )
          })
        const [no, ran] = ["PermissionDenied", "ran"]
        assert.deepStrictEqual(yield* ends({}), [no, ran, no])
        assert.deepStrictEqual(yield* ends({}, Layer.empty, "a plugin"), [no, no, no], "hints of others are claims")
        assert.deepStrictEqual(yield* ends({}, Permission.layerAllowAll), [ran, ran, ran])
        assert.deepStrictEqual(yield* ends({ permissions: { rules: allowed } }), [ran, ran, ran])
        assert.deepStrictEqual(yield* ends({ permissions: false }), [ran, ran, ran])
      })
  )

  it.effect("each can be turned off", () =>
    Effect.gen(function* () {
      const { tool } = ScriptedTool.make(script([sleep(10)], succeed))
      const exclusive = { ...tool, resources: () => ({ exclusive: true }) }
      for (const [options, together] of [
        [{}, 1],
        [{ resources: false }, 2]
      ] as const) {
        const { events, inFlight } = yield* guarded({ exclusive }, guards(options))
        const fibers = yield* Effect.forEach(["1", "2"], (id) =>
          Effect.forkChild(Stream.runDrain(events(call(id, "exclusive"))), { startImmediately: true })
        )
        const running = (yield* inFlight).filter(({ phase }) => phase === "running")
        assert.strictEqual(running.length, together)
        for (let i = 0; i < 2; i++) yield* TestClock.adjust(10)
        yield* Effect.forEach(fibers, Fiber.join)
      }
    })
  )
})

// -----------------------------------------------------------------------------
// Chaos: random tools, clocks, cancels, conflicts and readers at once.
// -----------------------------------------------------------------------------

const Key = Schema.Literals(["a", "b"])
const Name = Schema.Literals(["lossless", "latest", "sample", "coalesce"])
const Wild = Schema.Struct({
  actions: Schema.Array(
    Schema.Union([
      Schema.TaggedStruct("Emit", { value: Schema.Literals([1, 2]) }),
      Schema.TaggedStruct("Sleep", { ms: Schema.Literals([0, 1, 7]) }),
      Schema.TaggedStruct("Yield", {})
    ])
  ).check(Schema.isMaxLength(6)),
  ends: Schema.Literals(["Succeed", "Fail", "Die", "Throw", "Interrupt", "Hang", "MisfitSuccess"]),
  deaf: Schema.Literals([false, false, false, true]),
  cleanUpMs: Schema.Literals([0, 0, 3]),
  reads: Schema.Array(Key).check(Schema.isMaxLength(2)),
  writes: Schema.Array(Key).check(Schema.isMaxLength(1)),
  exclusive: Schema.Literals([false, false, false, true]),
  tools: Name,
  consumers: Name,
  /** In ms; 0 is none. */
  total: Schema.Literals([0, 0, 5, 20]),
  idle: Schema.Literals([0, 0, 3, 10]),
  queue: Schema.Literals([0, 0, 4]),
  after: Schema.Literals([0, 0, 1]),
  pace: Schema.Literals([0, 0, 3, 15]),
  cancelAt: Schema.Literals([0, 0, 0, 2, 9]),
  /** Operations of a fiber between two turns of others; and after how many turns it is cancelled, if it is. */
  operations: Schema.Literals([2048, 2048, 4, 5, 7]),
  cancelTurns: Schema.Literals([-1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25]),
  leavesAfter: Schema.Literals([99, 99, 99, 0, 1])
})
type Wild = typeof Wild.Type

const policies: Record<typeof Name.Type, ProgressPolicy.ProgressPolicy> = {
  lossless: ProgressPolicy.lossless,
  latest: ProgressPolicy.latest,
  sample: ProgressPolicy.sample(4),
  coalesce: ProgressPolicy.coalesce<unknown>((older, newer) => Number(older) + Number(newer))
}

const end = (tag: Wild["ends"]): ScriptedTool.End => {
  switch (tag) {
    case "Succeed":
      return succeed
    case "Fail":
      return { _tag: "Fail", failure: "no" }
    case "Die":
    case "Throw":
      return { _tag: tag, message: "bug" }
    default:
      return { _tag: tag }
  }
}

describe("the chaos property", () => {
  it.effect.prop(
    "whatever happens at once: one terminal for each call, last; the counts add up; nothing is left in flight",
    {
      calls: Schema.Array(Wild).check(Schema.isMinLength(1), Schema.isMaxLength(8)),
      capacity: Schema.Literals([1, 2, 100])
    },
    ({ calls, capacity }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const made = calls.map((one) =>
          ScriptedTool.make({
            // A deaf tool that hangs would hang for ever.
            actions: one.actions,
            end: one.deaf && one.ends === "Hang" ? succeed : end(one.ends),
            deaf: one.deaf,
            cleanUpMs: one.cleanUpMs
          })
        )
        const tools = Object.fromEntries(
          calls.map((one, n): [string, ErasedTool.ErasedTool] => [
            `${n}`,
            { ...made[n]!.tool, resources: () => one, progressPolicy: policies[one.tools] }
          ])
        )
        const alone = { ...ScriptedTool.make(script([], succeed)).tool, resources: () => ({ exclusive: true }) }
        const runtime = yield* guarded(
          { ...tools, alone },
          guards({ resources: { capacity, maxWaiting: 6 }, clocks: { caps: { total: 150 } } })
        )
        const { cancel, events, inFlight, stats } = runtime
        const seen: Array<Array<ToolEvent.ToolEvent>> = calls.map(() => [])
        const readers: Array<Fiber.Fiber<unknown, unknown>> = []
        for (const [n, one] of calls.entries()) {
          yield* TestClock.adjust(one.after)
          const clocks: Clocks.Clocks = {
            ...(one.total > 0 ? { total: one.total } : {}),
            ...(one.idle > 0 ? { idle: one.idle } : {}),
            ...(one.queue > 0 ? { queue: one.queue } : {})
          }
          const read = events(call(`${n}`, `${n}`)).pipe(
            Stream.mapEffect((event) => {
              seen[n]!.push(event)
              return one.pace > 0 ? Effect.as(Effect.sleep(one.pace), event) : Effect.succeed(event)
            }),
            Stream.takeUntil((event) => event._tag === "Progress" && seen[n]!.length > one.leavesAfter),
            Stream.runDrain,
            Effect.provideService(Clocks.CurrentClocks, clocks),
            Effect.provideService(ProgressPolicy.CurrentProgressPolicy, policies[one.consumers]),
            Effect.provideService(References.MaxOpsBeforeYield, one.operations)
          )
          readers.push(yield* Effect.forkChild(read, { startImmediately: true }))
          if (one.cancelTurns >= 0) {
            const turns = Effect.forEach(Array.from({ length: one.cancelTurns }), () => Effect.yieldNow)
            yield* Effect.forkChild(Effect.andThen(turns, cancel(`${n}`, "user")), { startImmediately: true })
          }
          if (one.cancelAt > 0) {
            yield* Effect.forkChild(Effect.andThen(Effect.sleep(one.cancelAt), cancel(`${n}`, "user")))
          }
        }
        for (let i = 0; i < 900 && readers.some((reader) => reader.pollUnsafe() === undefined); i++) {
          yield* TestClock.adjust(i < 60 ? 1 : 10)
        }
        // The grace of those that ended last, and what is deaf.
        for (let i = 0; i < 8; i++) yield* TestClock.adjust(25)
        for (const [n, one] of calls.entries()) {
          const exit = readers[n]!.pollUnsafe()
          assert.strictEqual(exit?._tag, "Success", `the reader of ${n} has its end`)
          const terminals = seen[n]!.filter((event) => event._tag === "Terminal")
          const left = seen[n]!.length > one.leavesAfter && terminals.length === 0
          if (left) continue
          assert.strictEqual(terminals.length, 1)
          const last = seen[n]!.at(-1)!
          assert(last._tag === "Terminal", "the terminal is last")
          const { delivered, dropped, emitted, merged } = last.stats.progress
          assert.strictEqual(emitted, delivered + merged + dropped)
          assert.strictEqual(delivered, seen[n]!.length - 1)
          assert.deepStrictEqual(
            seen[n]!.slice(0, -1).map((event) => event._tag === "Progress" && event.seq),
            seen[n]!.slice(0, -1).map((_, seq) => seq)
          )
          const ran = made[n]!.runs.length
          const reason = last.result._tag === "Failure" ? last.result.error.reason : undefined
          const phase = reason === undefined ? "completed" : "phase" in reason ? reason.phase : undefined
          if (phase === "not-started" || reason?._tag === "Busy") assert.strictEqual(ran, 0, "it says it did not start")
          if (reason?._tag === "TimedOut") {
            const limit = reason.clock === "total" && one.total === 0 ? 150 : one[reason.clock as "total"]
            assert.strictEqual(reason.limitMs, limit)
          }
          if (reason?._tag === "Interrupted" && reason.why === "user") {
            assert.isTrue(one.cancelAt > 0 || one.cancelTurns >= 0)
          }
        }
        assert.deepStrictEqual(yield* inFlight, [])
        assert.strictEqual((yield* stats).detached, 0)
        const last = yield* Effect.forkChild(Stream.runCollect(events(call("alone", "alone"))), {
          startImmediately: true
        })
        yield* TestClock.adjust(1)
        assert.strictEqual(last.pollUnsafe()?._tag, "Success", "nobody holds anything")
      }),
    { arbitrary: { runs: 1000 }, timeout: 60_000 }
  )
})
