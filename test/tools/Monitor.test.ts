import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as os from "node:os"
import * as NodeProcesses from "../../layers/node/Processes.ts"
import * as Re2 from "../../layers/Re2.ts"
import * as LawCheck from "../../layers/testing/LawCheck.ts"
import * as ScriptedProcess from "../../layers/testing/ScriptedProcess.ts"
import * as Session from "../../src/Session.ts"
import { Spill } from "../../src/Spill.ts"
import type * as Tool from "../../src/Tool.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { type Completed, layer, Monitor } from "../../tools/Monitor.ts"

type Parameters = Tool.Parameters<typeof Monitor>
type Progress = Tool.Progress<typeof Monitor>

const session = Session.layer({ workspace: os.tmpdir() })
const Real = Layer.merge(Layer.provide(layer, [NodeProcesses.layer, Re2.layer]), session)

const run = Effect.fnUntraced(function* (parameters: Parameters, progress: Array<Progress> = []) {
  const { execute } = yield* Monitor
  const result = yield* ToolStream.runForEachArray(execute(parameters), (chunk) =>
    Effect.sync(() => {
      progress.push(...chunk)
    })
  )
  return { result, progress, lines: progress.map(({ line }) => line) }
})

/** Processes that do what the script says, whatever the command. */
const scripted = (script: ScriptedProcess.Script, log?: Array<ScriptedProcess.Spawned>) =>
  Effect.provide(Layer.merge(Layer.provide(layer, [ScriptedProcess.layer(() => script, log), Re2.layer]), session))

const write = (output: string): ScriptedProcess.Action => ({ _tag: "Write", stream: "stdout", output })
const sleep = (ms: number): ScriptedProcess.Action => ({ _tag: "Sleep", ms })
const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => `${from + n}\n`).join("")
const exited = { _tag: "Exited", code: 0 } as const

// A declaration is of any tool: its functions are typed where they are written.
const isError = Monitor.isError as ((result: Completed) => boolean) | undefined
const toContent = Monitor.toContent as ((result: Completed) => ReadonlyArray<ToolContent>) | undefined
const content = (result: Completed) => toContent?.(result).map((item) => (item.type === "text" ? item.text : item.type))

describe("monitor, on real processes", () => {
  it.layer(Real, { excludeTestServices: true })((it) => {
    it.effect("C147: what is said of the lines stands behind them, and counts those that are cut", () =>
      Effect.gen(function* () {
        const silent = yield* run({ command: "true" })
        assert.deepStrictEqual(content(silent.result), ["Exit status 0. No output."])
        const { result } = yield* run({ command: "printf '%03000d\n' 0; echo 'Exit status 0. No output.'; exit 3" })
        assert.deepStrictEqual(content(result), [
          `${"0".repeat(2_000)}\nExit status 0. No output.`,
          "Exit status 3. 1 of these goes on after 2000 UTF-16 code units; the rest is not shown. " +
            `All 3027 bytes: read_output {"handle":"${result.spill?.handle}"}.`
        ])
      })
    )

    it.effect("C40: half lines wait, code points are whole, and the last line is told before the end", () =>
      Effect.gen(function* () {
        const command = "printf 'rea'; sleep 0.1; printf 'dy\\n\\xe2\\x82'; sleep 0.1; printf '\\xac\\ntail'"
        const { lines, result } = yield* run({ command })
        assert.deepStrictEqual(lines, ["ready", "€", "tail"])
        assert.deepStrictEqual(result.exit, { _tag: "Exited", code: 0 })
        assert.deepStrictEqual([result.lines, result.suppressed, result.tail], [3, 0, ["ready", "€", "tail"]])
        assert.isFalse(isError?.(result))
      })
    )

    it.effect("C30: a command of more than 128 KiB runs", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* run({ command: `: ${"x".repeat(200_000)}; echo end` })).lines, ["end"])
      })
    )

    it.effect("C42: carriage returns and blank lines follow the rule, and the exit comes last", () =>
      Effect.gen(function* () {
        const { lines, result } = yield* run({ command: "printf 'l1\\r\\nl2\\n\\nbusy\\rready\\n'; exit 7" })
        assert.deepStrictEqual(lines, ["l1", "l2", "ready"])
        assert.deepStrictEqual(result.exit, { _tag: "Exited", code: 7 })
        assert.isTrue(isError?.(result))
        assert.deepStrictEqual(content(result), ["l1\nl2\nready", "Exit status 7."])
      })
    )

    it.effect("C17, C21, C23: what is told is plain text", () =>
      Effect.gen(function* () {
        const { lines } = yield* run({
          command:
            "printf 'a\\0b\\n'; for i in 1 2 3; do printf '\\rAt %d%%' $i; done; printf '\\n\\033[31mred\\033[0m\\033]0;t\\a\\n'"
        })
        assert.deepStrictEqual(lines, ["a\\0b", "At 3%", "red"])
      })
    )

    it.effect("the streams keep apart, and the environment and the folder are those of the call", () =>
      Effect.gen(function* () {
        const { progress } = yield* run({
          command: "printf half; echo err >&2; echo; echo $A $PWD",
          cwd: "/",
          env: { A: "b" }
        })
        assert.sameDeepMembers(progress, [
          { stream: "stdout", line: "half" },
          { stream: "stderr", line: "err" },
          { stream: "stdout", line: "b /" }
        ])
      })
    )

    it.effect("a line that matches `until` ends the command at once, as a success", () =>
      Effect.gen(function* () {
        const start = performance.now()
        const { lines, result } = yield* run({
          command: "echo starting; echo 'listening on :3000'; echo after; sleep 30; echo never",
          until: "listening on .*\\d+$"
        })
        assert.isBelow(performance.now() - start, 10_000)
        assert.deepStrictEqual(lines, ["starting", "listening on :3000"])
        assert.strictEqual(result.matched, "listening on :3000")
        assert.deepStrictEqual(result.exit, { _tag: "Signalled", signal: "SIGTERM" })
        assert.deepStrictEqual(result.leftBehind, [])
        assert.isFalse(isError?.(result))
        assert.include(content(result)?.at(-1), "matched")
      })
    )

    it.effect("`until` that never matches leaves the command its own end", () =>
      Effect.gen(function* () {
        const { result } = yield* run({ command: "echo one; exit 3", until: "^two$" })
        assert.isUndefined(result.matched)
        assert.isTrue(isError?.(result))
      })
    )

    it.effect("a pattern that cannot be had runs nothing", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(run({ command: "echo one", until: "(?=a)" }))
        assert.strictEqual(failure._tag, "InvalidPattern")
        assert.include(failure.message, "look-around")
      })
    )

    it.effect("a command that cannot be run is the declared failure", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(run({ command: "echo one", cwd: "/dev/null" }))
        assert.strictEqual(failure._tag, "SpawnFailed")
      })
    )

    it.effect("what the command leaves in the background is ended and named", () =>
      Effect.gen(function* () {
        const { result } = yield* run({
          // Until then it is another bash.
          command: 'sleep 30 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; echo done'
        })
        assert.deepStrictEqual(
          result.leftBehind.map(({ fate, name }) => [name, fate]),
          [["sleep", "terminated"]]
        )
        assert.include(content(result)?.at(-1), "Left in the background: sleep")
      })
    )

    it.effect("what the end does not show can be read, and of what it shows nothing is kept", () =>
      Effect.gen(function* () {
        const { result } = yield* run({ command: "seq 1 20000; printf '\\xff'", maxEventsPerSecond: 1 })
        assert(result.spill !== undefined)
        const { handle, ...rest } = result.spill
        assert.deepStrictEqual(rest, { sizeBytes: 108_895, complete: true })
        const { bytes } = yield* (yield* Spill).read(handle, 108_888, 100)
        assert.deepStrictEqual(Buffer.from(bytes), Buffer.from("20000\n\xff", "latin1"))
        assert.include(content(result)?.at(-1), `All 108895 bytes: read_output {"handle":"${handle}"}.`)
        assert.isUndefined((yield* run({ command: "seq 1 50" })).result.spill)
      })
    )

    it.effect("a last line without an end that matches ends a command that has closed its output", () =>
      Effect.gen(function* () {
        const { lines, result } = yield* run({ command: "printf ready; exec >&- 2>&-; sleep 30", until: "^ready$" })
        assert.deepStrictEqual([lines, result.matched], [["ready"], "ready"])
        assert.deepStrictEqual(result.exit, { _tag: "Signalled", signal: "SIGTERM" })
      })
    )

    it.effect("a flood at an unlimited rate is told whole and in order, within bounds for each line", () =>
      Effect.gen(function* () {
        const { execute } = yield* Monitor
        let next = 1
        let omitted = 0
        const result = yield* ToolStream.runForEachArray(
          execute({ command: "seq 1 100000; head -c 5000 /dev/zero | tr '\\0' x", maxEventsPerSecond: 0 }),
          (chunk) =>
            Effect.sync(() => {
              for (const { line, omittedUnits } of chunk) {
                if (omittedUnits === undefined) assert.strictEqual(line, String(next++))
                else omitted = line.length + omittedUnits
              }
            })
        )
        assert.deepStrictEqual([next, omitted], [100_001, 5_000])
        assert.deepStrictEqual([result.lines, result.suppressed, result.tail.length], [100_001, 0, 50])
      })
    )
  })

  const Runtime = ToolRuntime.layer.pipe(Layer.provide(ToolRegistry.layer(Monitor)), Layer.provideMerge(Real))

  it.live("one that is watched is not left to the session, and is told of by whoever cancels it", () =>
    Effect.gen(function* () {
      const runtime = yield* ToolRuntime.ToolRuntime
      const { tasks } = yield* Session.CurrentSession
      const parameters = { command: "seq 1 200; echo ready; sleep 30", maxEventsPerSecond: 0 }
      const call = yield* ToolCall.make({ name: "monitor", parameters })
      const ready = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Effect.flip(
          ToolStream.runForEachArray(runtime.dispatch(call), (chunk) =>
            (chunk as ReadonlyArray<Progress>).at(-1)?.line === "ready"
              ? Deferred.succeed(ready, undefined)
              : Effect.void
          )
        )
      )
      yield* Deferred.await(ready)
      assert.isUndefined(yield* tasks.background(call.callId))
      assert.deepStrictEqual(yield* tasks.all, [])
      yield* runtime.cancel(call.callId, "enough")
      const { reason } = yield* Fiber.join(fiber)
      const partial = "partial" in reason ? reason.partial : undefined
      const known = yield* Schema.decodeUnknownEffect(Monitor.partialSchema)(partial?.value)
      assert.deepStrictEqual([known.lines, known.spill?.sizeBytes], [201, 698])
    }).pipe(Effect.provide(Runtime))
  )

  it.live("a timeout ends the command and tells what is known", () =>
    Effect.gen(function* () {
      const runtime = yield* ToolRuntime.ToolRuntime
      const parameters = { command: "seq 1 100; sleep 30", maxEventsPerSecond: 10, timeoutMs: 1_500 }
      const call = yield* ToolCall.make({ name: "monitor", parameters })
      const error = yield* Effect.flip(ToolStream.runResult(runtime.dispatch(call)))
      assert.strictEqual(error.reason._tag, "TimedOut")
      const partial = "partial" in error.reason ? error.reason.partial : undefined
      const { lines, suppressed, tail } = yield* Schema.decodeUnknownEffect(Monitor.partialSchema)(partial?.value)
      assert.deepStrictEqual([lines, tail.at(-1)], [100, "100"])
      // 10 at once, and the last one when the bucket allows it.
      assert.include([89, 90], suppressed)
    }).pipe(Effect.provide(Runtime))
  )
})

describe("monitor, on scripted processes", () => {
  it.effect("lines beyond the rate are suppressed and counted in the next event, and none without need", () =>
    Effect.gen(function* () {
      const script = { actions: [write(numbered(1, 8)), sleep(1_500), write("later\n")], exit: exited }
      const fiber = yield* Effect.forkChild(run({ command: "x", maxEventsPerSecond: 2 }).pipe(scripted(script)))
      yield* TestClock.adjust(0)
      yield* TestClock.adjust(500)
      yield* TestClock.adjust(500)
      yield* TestClock.adjust(500)
      const { progress, result } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(progress, [
        { stream: "stdout", line: "1" },
        { stream: "stdout", line: "2" },
        // The last of the flood, half a second later: nothing else was written until then.
        { stream: "stdout", line: "8", suppressed: 5 },
        { stream: "stdout", line: "later" }
      ])
      assert.deepStrictEqual([result.lines, result.suppressed], [9, 5])
      assert.deepStrictEqual(result.tail, ["1", "2", "3", "4", "5", "6", "7", "8", "later"])
    })
  )

  it.effect("when the last line of a flood was told, nothing is done until the next one comes", () =>
    Effect.gen(function* () {
      let asked = 0
      const clock = new Proxy(yield* Clock.Clock, {
        get: (target, key) => {
          if (key === "currentTimeMillisUnsafe") asked++
          const value: unknown = Reflect.get(target, key)
          return typeof value === "function" ? value.bind(target) : value
        }
      })
      const script = { actions: [write(numbered(1, 5)), sleep(3_600_000)], exit: exited }
      const progress: Array<Progress> = []
      const fiber = yield* Effect.forkChild(
        run({ command: "x", maxEventsPerSecond: 1 }, progress).pipe(
          scripted(script),
          Effect.provideService(Clock.Clock, clock)
        )
      )
      for (let n = 0; n < 4; n++) yield* TestClock.adjust(500 * n)
      assert.deepStrictEqual(
        progress.map(({ line }) => line),
        ["1", "5"]
      )
      yield* TestClock.adjust(3_600_000)
      yield* Fiber.join(fiber)
      assert.isBelow(asked, 50)
    })
  )

  it.effect("the last line is told at the exit, whatever the rate", () =>
    Effect.gen(function* () {
      const script = {
        actions: [write(numbered(1, 6)), write("unfinished")],
        exit: { _tag: "Exited", code: 1 }
      } as const
      const { progress, result } = yield* run({ command: "x", maxEventsPerSecond: 1 }).pipe(scripted(script))
      assert.deepStrictEqual(progress, [
        { stream: "stdout", line: "1" },
        { stream: "stdout", line: "unfinished", suppressed: 5 }
      ])
      assert.deepStrictEqual([result.lines, result.suppressed], [7, 5])
      assert.include(content(result)?.at(-1), "5 were too many")
    })
  )

  it.effect("a line that matches is told whatever the rate, and nothing after it", () =>
    Effect.gen(function* () {
      const log: Array<ScriptedProcess.Spawned> = []
      const script = { actions: [write(`${numbered(1, 5)}ready\n${numbered(6, 9)}`)] }
      const parameters = { command: "x", maxEventsPerSecond: 1, until: "ready" }
      const { progress, result } = yield* run(parameters).pipe(scripted(script, log))
      assert.deepStrictEqual(progress, [
        { stream: "stdout", line: "1" },
        { stream: "stdout", line: "ready", suppressed: 4 }
      ])
      assert.deepStrictEqual([result.matched, result.lines, result.suppressed], ["ready", 6, 4])
      assert.deepStrictEqual(log[0]?.status, { _tag: "Signalled", signal: "SIGTERM" })
    })
  )

  it.effect("a flood that goes on is told at its rate, in order", () =>
    Effect.gen(function* () {
      const actions = Array.from({ length: 100 }, (_, n) => [write(numbered(10 * n, 10 * n + 9)), sleep(100)]).flat()
      const progress: Array<Progress> = []
      const fiber = yield* Effect.forkChild(
        run({ command: "x", maxEventsPerSecond: 5 }, progress).pipe(scripted({ actions, exit: exited }))
      )
      for (let n = 0; n <= 200; n++) yield* TestClock.adjust(50)
      const { result } = yield* Fiber.join(fiber)
      const numbers = progress.map(({ line }) => Number(line))
      assert.deepStrictEqual(
        numbers,
        numbers.toSorted((a, b) => a - b)
      )
      assert.strictEqual(numbers.at(-1), 999)
      // Five at once, five a second for ten seconds, and the last.
      assert.isAtMost(progress.length, 56)
      assert.isAtLeast(progress.length, 50)
      const told = progress.reduce((sum, { suppressed = 0 }) => sum + suppressed, progress.length)
      assert.deepStrictEqual([told, result.lines, result.suppressed], [1_000, 1_000, 1_000 - progress.length])
    })
  )

  it.effect("interrupted, it ends the command and lets nothing run on", () =>
    Effect.gen(function* () {
      const log: Array<ScriptedProcess.Spawned> = []
      const script = { actions: [write(numbered(1, 10)), sleep(60_000)] }
      const fiber = yield* Effect.forkChild(run({ command: "x", maxEventsPerSecond: 1 }).pipe(scripted(script, log)))
      yield* TestClock.adjust(0)
      yield* TestClock.adjust(100)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(log[0]?.status, { _tag: "Signalled", signal: "SIGTERM" })
    })
  )

  it.effect("the law holds", () =>
    Effect.gen(function* () {
      const Script = Schema.toCodecJson(ScriptedProcess.Script)
      const parameters = Arbitrary.map(
        Arbitrary.all({
          script: Arbitrary.schema(ScriptedProcess.Script),
          until: Arbitrary.schema(Schema.Literals(["a", "(", "^$"])),
          rate: Arbitrary.schema(Schema.Literals([0, 1, 50]))
        }),
        ({ rate, script, until }) => ({
          command: JSON.stringify(Schema.encodeSync(Script)(script)),
          maxEventsPerSecond: rate,
          ...(until === "^$" ? {} : { until })
        })
      )
      const read = Schema.decodeUnknownSync(Script)
      const processes = ScriptedProcess.layer(({ args }) => read(JSON.parse(args[1]!)))
      const report = yield* LawCheck.check(Monitor, {
        parameters,
        runs: 8,
        steps: 3,
        allow: ["Endless"],
        seed: 1
      }).pipe(Effect.provide(Layer.provide(layer, [processes, Re2.layer])))
      assert.isAbove(report.endings["Success"] ?? 0, 0)
      assert.isAbove(report.endings["ToolFailed"] ?? 0, 0)
      assert.isAbove(report.endings["Interrupted (stopped)"] ?? 0, 0)
    })
  )
})
