import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Resources from "../../layers/Resources.ts"
import { CurrentClocks } from "../../src/Clocks.ts"
import type * as ErasedTool from "../../src/ErasedTool.ts"
import * as Resource from "../../src/Resources.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import { call, erased, guarded, start, terminal } from "../Harness.ts"

/** A tool that takes its time, and notes when it starts and ends. */
const takes = (log: Array<string>, ms: number, resources: Resource.Resources): ErasedTool.ErasedTool => ({
  ...erased("t", (parameters) =>
    ToolStream.fromEffect(
      Effect.gen(function* () {
        log.push(`+${parameters.n}`)
        yield* Effect.sleep(ms)
        log.push(`-${parameters.n}`)
        return []
      })
    )
  ),
  resources: () => resources
})

const write = { writes: ["host:a"] }

describe("Resources", () => {
  it.effect("calls in conflict run one after another, as they came; the others together; a waiting call says so", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { events, inFlight } = yield* guarded(
        {
          read: takes(log, 10, { reads: ["host:a"] }),
          write: takes(log, 10, write),
          other: takes(log, 10, { writes: ["host:b"] })
        },
        Resources.layer
      )
      const fibers = yield* Effect.forEach(["read", "read", "write", "read", "other"], (name, n) =>
        start(events(call(`${n}`, name, { n })))
      )
      assert.deepStrictEqual(log, ["+0", "+1", "+4"])
      assert.deepStrictEqual(
        (yield* inFlight).map(({ phase, waitsFor }) => [phase, waitsFor]),
        [
          ["running", undefined],
          ["running", undefined],
          ["waiting", { stage: "queue", detail: "write host:a" }],
          ["waiting", { stage: "queue", detail: "read host:a" }],
          ["running", undefined]
        ]
      )
      for (let i = 0; i < 3; i++) yield* TestClock.adjust(10)
      const all = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(
        log.filter((line) => /[23]/.test(line)),
        ["+2", "-2", "+3", "-3"]
      )
      assert.deepStrictEqual(
        all.map(
          (events) =>
            events.at(-1)?._tag === "Terminal" && (events.at(-1) as { stats: { queuedMs: number } }).stats.queuedMs
        ),
        [0, 0, 10, 20, 0]
      )
    })
  )

  it.effect("law: cancelled, or out of its queue clock, while it waits: not started, in nobody's way", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust(0)
      const log: Array<string> = []
      const { cancel, events } = yield* guarded({ t: takes(log, 100, write) }, Resources.layer)
      const [first, second, third, fourth] = yield* Effect.forEach([1, 2, 3, 4], (n) =>
        start(Stream.provideService(events(call(`${n}`, "t", { n })), CurrentClocks, n === 3 ? { queue: 20 } : {}))
      )
      assert.isTrue(yield* cancel("2", "user"))
      assert.deepStrictEqual(terminal(yield* Fiber.join(second!)), {
        _tag: "Interrupted",
        why: "user",
        phase: "not-started"
      })
      yield* TestClock.adjust(20)
      assert.deepStrictEqual(terminal(yield* Fiber.join(third!)), {
        _tag: "TimedOut",
        clock: "queue",
        limitMs: 20,
        phase: "not-started"
      })
      yield* TestClock.adjust(80)
      yield* TestClock.adjust(100)
      yield* Fiber.join(first!)
      yield* Fiber.join(fourth!)
      assert.deepStrictEqual(log, ["+1", "-1", "+4", "-4"])
    })
  )

  it.effect("law: when too many wait, the next is Busy, and did not start", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { events } = yield* guarded({ t: takes(log, 10, {}) }, Resources.layerWith({ capacity: 1, maxWaiting: 2 }))
      const fibers = yield* Effect.forEach([1, 2, 3, 4], (n) => start(events(call(`${n}`, "t", { n }))))
      assert.deepStrictEqual(terminal(yield* Fiber.join(fibers[3]!)), { _tag: "Busy" })
      for (let i = 0; i < 3; i++) yield* TestClock.adjust(10)
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(log, ["+1", "-1", "+2", "-2", "+3", "-3"])
    })
  )

  it.effect("an exclusive call runs alone, a heavy one is not passed by", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { events } = yield* guarded(
        { light: takes(log, 10, {}), heavy: takes(log, 10, { weight: 9 }), alone: takes(log, 10, { exclusive: true }) },
        Resources.layerWith({ capacity: 3 })
      )
      const fibers = yield* Effect.forEach(["light", "alone", "light", "heavy", "light"], (name, n) =>
        start(events(call(`${n}`, name, { n })))
      )
      for (let i = 0; i < 5; i++) yield* TestClock.adjust(10)
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(log, ["+0", "-0", "+1", "-1", "+2", "-2", "+3", "-3", "+4", "-4"])
    })
  )

  it.effect(
    "C70: a file is one file by whatever name, and who asked first goes first, however long the look takes",
    () =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const log: Array<string> = []
        // The first path takes long to look up.
        const files = Layer.succeed(
          WorkspaceFiles,
          WorkspaceFiles.of({
            open: () => Effect.die("not asked"),
            resolve: () => Effect.die("not asked"),
            list: () => Effect.die("not asked"),
            display: () => Effect.die("not asked"),
            hold: () => Effect.die("not asked"),
            keys: (paths) =>
              Effect.as(
                Effect.sleep(paths[0] === "a" ? 5 : 0),
                paths.map((path) => [path === "c" ? "/ws/c" : "/ws/a"])
              )
          })
        )
        const on = (path: string) => takes(log, 10, { writes: [Resource.file(path)] })
        const { events } = yield* guarded(
          { a: on("a"), link: on("link"), c: on("c") },
          Layer.provide(Resources.layer, files),
          { workspace: "/ws" }
        )
        const fibers = yield* Effect.forEach(["a", "a", "link", "c"], (name, n) =>
          start(events(call(`${n}`, name, { n })))
        )
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(log, ["+3"])
        for (let i = 0; i < 8; i++) yield* TestClock.adjust(5)
        yield* Effect.forEach(fibers, Fiber.join)
        assert.deepStrictEqual(
          log.filter((line) => !line.endsWith("3")),
          ["+0", "-0", "+1", "-1", "+2", "-2"]
        )
      })
  )

  it.effect("a tool may call tools for what its own call holds, and is told where it cannot", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      let runtime: Effect.Success<ReturnType<typeof guarded>>
      const calling = (name: string, resources: Resource.Resources): ErasedTool.ErasedTool => ({
        ...erased("t", () =>
          ToolStream.fromEffect(
            Effect.suspend(() =>
              Effect.map(Stream.runCollect(runtime.events(call(`inner ${name}`, name, { n: 9 }))), (events) => {
                log.push(JSON.stringify(terminal(events)))
                return []
              })
            )
          )
        ),
        resources: () => resources
      })
      runtime = yield* guarded(
        {
          write: takes(log, 10, write),
          alone: takes(log, 10, { exclusive: true }),
          shares: calling("write", write),
          all: calling("write", { exclusive: true }),
          upgrades: calling("write", { reads: ["host:a"] })
        },
        Resources.layerWith({ capacity: 1 })
      )
      for (const name of ["shares", "all", "upgrades"]) {
        const fiber = yield* start(runtime.events(call(name, name)))
        const alone = yield* start(runtime.events(call("alone", "alone", { n: 1 })))
        for (let i = 0; i < 3; i++) yield* TestClock.adjust(10)
        yield* Fiber.join(fiber)
        yield* Fiber.join(alone)
      }
      assert.deepStrictEqual(log.slice(0, 10), ["+9", "-9", "[]", "+1", "-1", "+9", "-9", "[]", "+1", "-1"])
      assert.match(log[10]!, /"Unavailable".*only reads/)
    })
  )
})

describe("the chaos of conflicts", () => {
  const Call = Schema.Struct({
    reads: Schema.Array(Schema.Literals(["a", "b"])).check(Schema.isMaxLength(2)),
    writes: Schema.Array(Schema.Literals(["a", "b"])).check(Schema.isMaxLength(1)),
    ms: Schema.Literals([0, 1, 5]),
    after: Schema.Literals([0, 1]),
    cancelAt: Schema.Literals([0, 0, 2, 4])
  })

  it.effect.prop(
    "every call ends, none runs beside one it is in conflict with",
    { calls: Schema.Array(Call).check(Schema.isMaxLength(12)), capacity: Schema.Literals([1, 2, 100]) },
    ({ calls, capacity }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        const running = new Set<(typeof calls)[number]>()
        const tools = Object.fromEntries(
          calls.map((one, n): [string, ErasedTool.ErasedTool] => [
            `${n}`,
            {
              ...erased(`${n}`, () =>
                ToolStream.fromEffect(
                  Effect.suspend(() => {
                    for (const other of running) {
                      assert.isFalse(one.writes.some((key) => [...other.writes, ...other.reads].includes(key)))
                      assert.isFalse(other.writes.some((key) => one.reads.includes(key)))
                    }
                    running.add(one)
                    return Effect.ensuring(
                      Effect.as(Effect.sleep(one.ms), []),
                      Effect.sync(() => running.delete(one))
                    )
                  })
                )
              ),
              resources: () => one
            }
          ])
        )
        const { cancel, events, inFlight } = yield* guarded(tools, Resources.layerWith({ capacity }))
        const fibers: Array<Fiber.Fiber<ReadonlyArray<unknown>>> = []
        for (const [n, one] of calls.entries()) {
          yield* TestClock.adjust(one.after)
          fibers.push(yield* start(events(call(`${n}`, `${n}`))))
          if (one.cancelAt > 0)
            yield* Effect.forkChild(Effect.andThen(Effect.sleep(one.cancelAt), cancel(`${n}`, "user")))
        }
        for (let i = 0; i < 80; i++) yield* TestClock.adjust(1)
        for (const [n, fiber] of fibers.entries()) {
          const ended = terminal((yield* Fiber.join(fiber)) as never)
          const tag = (ended as { readonly _tag?: string })._tag
          assert.isTrue(tag === undefined || (tag === "Interrupted" && calls[n]!.cancelAt > 0), JSON.stringify(ended))
        }
        assert.deepStrictEqual(yield* inFlight, [])
      }),
    { arbitrary: { runs: 150 } }
  )
})
