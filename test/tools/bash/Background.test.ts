import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Session from "../../../src/Session.ts"
import { Spill } from "../../../src/Spill.ts"
import type { TaskInfo } from "../../../src/Tasks.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { Bash } from "../../../tools/bash/Bash.ts"
import * as Background from "../tasks/Background.ts"
import { verdictOf } from "../../Harness.ts"

/** Starts a call in the foreground, and waits until it has shown something. */
const begin = Effect.fnUntraced(function* (command: string, timeoutMs?: number) {
  const runtime = yield* ToolRuntime.ToolRuntime
  const parameters = { command, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
  const made = yield* ToolCall.make({ name: "bash", parameters })
  const shown = yield* Deferred.make<void>()
  const fiber = yield* Effect.forkChild(
    Effect.exit(ToolStream.runForEachArray(runtime.dispatch(made), () => Deferred.succeed(shown, undefined)))
  )
  yield* Deferred.await(shown)
  return { callId: made.callId, cancel: runtime.cancel(made.callId, "enough"), exit: Fiber.join(fiber) }
})

const status = (taskId: string) =>
  Effect.flatMap(Background.task(taskId), ({ ended }) => Effect.map(ended, (info) => info.status))

describe("bash in the background", () => {
  it.live("the result is a task, at once, and no progress", () =>
    Background.session(
      Effect.gen(function* () {
        const runtime = yield* ToolRuntime.ToolRuntime
        const progress: Array<unknown> = []
        const started = yield* ToolStream.runForEachArray(
          runtime.call(Bash, { command: "echo one; until [ -e go ]; do sleep 0.01; done; echo two", background: true }),
          (chunk) => Effect.sync(() => progress.push(...chunk))
        )
        assert("taskId" in started)
        assert.match(started.taskId, /^task_/)
        const { ended, info } = yield* Background.task(started.taskId)
        assert.strictEqual(yield* Background.written(started.taskId, "one"), "one\n")
        assert.strictEqual((yield* info).status._tag, "Running")
        yield* Background.touch("go")
        const end = yield* ended
        assert.deepStrictEqual(end.status, { _tag: "Exited", code: 0 })
        assert.strictEqual(end.outputBytes, 8)
        assert.strictEqual(yield* Background.output(started.taskId), "one\ntwo\n")
        assert.deepStrictEqual(progress, [])
      })
    )
  )

  it.live("C26: a command that cannot be started is the declared failure, and no task", () =>
    Background.session(
      Effect.gen(function* () {
        const failure = yield* Effect.flip(Background.start("true", { cwd: "/nonexistent-xyz" }))
        assert.strictEqual(failure._tag, "SpawnFailed")
        const { tasks } = yield* Session.CurrentSession
        assert.deepStrictEqual(yield* tasks.all, [])
      })
    )
  )

  it.live("C33: how it ended is true: by itself, by a signal, by its timeout", () =>
    Background.session(
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* status(yield* Background.start("exit 7")), { _tag: "Exited", code: 7 })
        const killed = yield* Background.start("kill -9 $$")
        assert.deepStrictEqual(yield* status(killed), { _tag: "Signalled", signal: "SIGKILL" })
        const late = yield* Background.start("echo early; sleep 60", { timeoutMs: 300 })
        assert.deepStrictEqual(yield* status(late), { _tag: "TimedOut", limitMs: 300 })
        assert.strictEqual(yield* Background.output(late), "early\n")
        const inTime = yield* Background.start("exit 3", { timeoutMs: 5_000 })
        assert.deepStrictEqual(yield* status(inTime), { _tag: "Exited", code: 3 })
      })
    )
  )

  it.live("a call that the session takes to the background ends with the task, which goes on untouched", () =>
    Background.session(
      Effect.gen(function* () {
        const { tasks } = yield* Session.CurrentSession
        const running = yield* begin("echo one $$; until [ -e go ]; do sleep 0.01; done; echo two $$")
        assert.deepStrictEqual(yield* tasks.all, [])
        const moved = yield* tasks.background(running.callId)
        assert(moved !== undefined)
        assert.deepStrictEqual(verdictOf(yield* running.exit), { taskId: moved.id })
        assert.isUndefined(yield* tasks.background(running.callId))
        assert.deepStrictEqual(yield* tasks.all, [moved])
        assert.match(yield* Background.output(moved.id), /^one \d+\n$/)
        yield* Background.touch("go")
        assert.deepStrictEqual(yield* status(moved.id), { _tag: "Exited", code: 0 })
        assert.match(yield* Background.output(moved.id), /^one (\d+)\ntwo \1\n$/)
      })
    )
  )

  it.live("a timeout goes with it to the background", () =>
    Background.session(
      Effect.gen(function* () {
        const { tasks } = yield* Session.CurrentSession
        const running = yield* begin("echo one; sleep 60", 1_000)
        const moved = yield* tasks.background(running.callId)
        assert(moved !== undefined)
        assert.deepStrictEqual(yield* status(moved.id), { _tag: "TimedOut", limitMs: 1_000 })
      })
    )
  )

  it.live("one that nobody reads goes to the background all the same", () =>
    Background.session(
      Effect.gen(function* () {
        const { tasks } = yield* Session.CurrentSession
        const runtime = yield* ToolRuntime.ToolRuntime
        const made = yield* ToolCall.make({ name: "bash", parameters: { command: "seq 1 200000; echo end" } })
        const held = yield* Deferred.make<void>()
        const goOn = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          ToolStream.runForEachArray(runtime.dispatch(made), () =>
            Effect.andThen(Deferred.succeed(held, undefined), Deferred.await(goOn))
          )
        )
        yield* Deferred.await(held)
        const moved = yield* tasks.background(made.callId)
        assert(moved !== undefined)
        // Its reader still holds the first progress. It does not hold the task.
        const info = yield* moved.ended
        assert.deepStrictEqual(info.status, { _tag: "Exited", code: 0 })
        const { bytes, sizeBytes } = yield* moved.read(info.outputBytes - 11, 100)
        assert.strictEqual(new TextDecoder().decode(bytes), "200000\nend\n")
        assert.strictEqual(sizeBytes, info.outputBytes)
        yield* Deferred.succeed(goOn, undefined)
        assert.deepStrictEqual((yield* Fiber.join(fiber)).value, { taskId: moved.id })
      })
    )
  )

  it.live("C07: a call that is cancelled takes its command with it, and it is no task", () =>
    Background.session(
      Effect.gen(function* () {
        const { tasks } = yield* Session.CurrentSession
        const running = yield* begin("echo $$; sleep 300 & sleep 300")
        assert.isTrue(yield* running.cancel)
        const { partial, ...reason } = verdictOf(yield* running.exit) as { partial: { value: { output: string } } }
        assert.deepStrictEqual<unknown>(reason, { _tag: "Interrupted", why: "enough", phase: "stopped" })
        const pid = Number(partial.value.output)
        assert.deepStrictEqual(Background.inGroup(pid), [])
        assert.deepStrictEqual(yield* tasks.all, [])
        assert.isUndefined(yield* tasks.background(running.callId))
      })
    )
  )

  it.live("C36: the whole group is dead when a kill answers, and a second one finds it so", () =>
    Background.session(
      Effect.gen(function* () {
        const taskId = yield* Background.start("echo $$; sleep 300 & echo ready; sleep 300")
        const pid = Number((yield* Background.written(taskId, "ready")).split("\n")[0])
        const task = yield* Background.task(taskId)
        assert.isTrue(yield* task.kill("me"))
        assert.deepStrictEqual(Background.inGroup(pid), [])
        assert.isFalse(yield* task.kill("somebody else"))
        assert.deepStrictEqual((yield* task.info).status, { _tag: "Killed", by: "me" })
      })
    )
  )

  it.live("C36: an exit that races with a kill does not overwrite it, and the other way round", () =>
    Background.session(
      Effect.gen(function* () {
        const polite = yield* Background.start("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done")
        yield* Background.written(polite, "ready")
        const task = yield* Background.task(polite)
        const answers = yield* Effect.all([task.kill("a"), task.kill("b"), task.kill("c")], { concurrency: 3 })
        assert.deepStrictEqual(answers, [true, false, false])
        assert.deepStrictEqual(yield* status(polite), { _tag: "Killed", by: "a" })
        const done = yield* Background.start("exit 4")
        yield* status(done)
        assert.isFalse(yield* (yield* Background.task(done)).kill("late"))
        assert.deepStrictEqual(yield* status(done), { _tag: "Exited", code: 4 })
      })
    )
  )

  it.live("C39: when the session closes nothing of its tasks runs, or it is named", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      let infos: ReadonlyArray<Effect.Effect<TaskInfo>> = []
      const pids = yield* Background.session(
        Effect.gen(function* () {
          const started = [
            yield* Background.start("echo $$; sleep 300"),
            yield* Background.start("trap '' TERM; echo $$; sleep 300 & sleep 300; while :; do sleep 1; done"),
            yield* Background.start("setsid sh -c 'echo $$; exec sleep 300' & sleep 300")
          ]
          const { tasks } = yield* Session.CurrentSession
          const all = yield* tasks.all
          assert.deepStrictEqual(
            all.map(({ id }) => id),
            started
          )
          infos = all.map(({ info }) => info)
          return yield* Effect.forEach(started, (taskId) => Effect.map(Background.written(taskId, "\n"), Number))
        })
      ).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => lines.push(String(message)))])))
      for (const { status } of yield* Effect.all(infos)) {
        assert.deepStrictEqual(status, { _tag: "Killed", by: "the end of the session" })
      }
      const [plain, stubborn, escaped] = pids as [number, number, number]
      assert.deepStrictEqual([...Background.inGroup(plain), ...Background.inGroup(stubborn)], [])
      if (Background.inGroup(escaped).length > 0) {
        process.kill(escaped, "SIGKILL")
        assert.include(lines.join("\n"), `(pid ${escaped})`)
      }
    })
  )

  it.live("C39: when the program closes before its session nothing of the tasks runs, and they say why", () =>
    Effect.gen(function* () {
      const session = yield* Session.make({ workspace: "/" })
      const pid = yield* Background.session(
        Effect.gen(function* () {
          const taskId = yield* Background.start("echo $$; sleep 300 & sleep 300")
          return Number(yield* Background.written(taskId, "\n"))
        }).pipe(Effect.provideService(Session.CurrentSession, session))
      )
      assert.deepStrictEqual(Background.inGroup(pid), [])
      const [task] = yield* session.tasks.all
      assert.deepStrictEqual((yield* task!.info).status, { _tag: "Killed", by: "the end of the program" })
    })
  )

  it.live("of output that is cut all is kept, byte for byte, and of other output nothing", () =>
    Background.session(
      Effect.gen(function* () {
        const { read } = yield* Spill
        const cut = yield* Background.call(Bash, { command: "seq 1 100000; printf '\\xff\\0'" })
        assert("exit" in cut && cut.spill !== undefined)
        assert.deepStrictEqual({ ...cut.spill, handle: "" }, { handle: "", sizeBytes: cut.stdoutBytes, complete: true })
        const { bytes } = yield* read(cut.spill.handle, cut.stdoutBytes - 9, 100)
        assert.deepStrictEqual(Buffer.from(bytes), Buffer.from("100000\n\xff\0", "latin1"))
        assert.strictEqual((yield* read(cut.spill.handle, 0, 4)).bytes.toString(), "49,10,50,10")
        // 12,000 bytes that are shown as 36,000.
        const binary = yield* Background.call(Bash, { command: "head -c 12000 /dev/zero | tr '\\0' '\\377'" })
        assert("exit" in binary)
        assert.strictEqual(binary.spill?.sizeBytes, 12_000)
        // Much of it, of which the last frame is shown.
        const frames = yield* Background.call(Bash, { command: "for i in {1..20000}; do printf '\\r%d%%' $i; done" })
        assert("exit" in frames)
        assert.deepStrictEqual([frames.output, frames.spill], ["20000%", undefined])
      })
    )
  )

  it.live("what is known of a cancelled call says where its output is, if it is cut", () =>
    Background.session(
      Effect.gen(function* () {
        const { tasks } = yield* Session.CurrentSession
        const running = yield* begin("seq 1 100000; touch done; sleep 300")
        yield* Background.call(Bash, { command: "until [ -e done ]; do sleep 0.01; done" })
        yield* running.cancel
        type Known = { partial: { value: { stdoutBytes: number; spill: { sizeBytes: number; complete: boolean } } } }
        const { partial } = verdictOf(yield* running.exit) as Known
        assert.isAbove(partial.value.spill.sizeBytes, 64 * 1024)
        assert.isTrue(partial.value.spill.complete)
        assert.deepStrictEqual(yield* tasks.all, [])
      })
    )
  )

  it.live("C18: 50 MB in the background leave memory where it was, and all of it can be read", () =>
    Background.session(
      Effect.gen(function* () {
        const before = process.memoryUsage().rss
        const taskId = yield* Background.start("head -c 50000000 /dev/zero; echo end")
        const { ended, read } = yield* Background.task(taskId)
        assert.strictEqual((yield* ended).outputBytes, 50_000_004)
        const { bytes } = yield* read(49_999_999, 100)
        assert.strictEqual(new TextDecoder().decode(bytes), "\0end\n")
        assert.isBelow(process.memoryUsage().rss - before, 64 * 1024 * 1024)
      })
    )
  )
})
