import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Tool from "../../../src/Tool.ts"
import type { ToolContent } from "../../../src/ToolContent.ts"
import { KillTask } from "../../../tools/KillTask.ts"
import { ListTasks } from "../../../tools/ListTasks.ts"
import { WaitTasks } from "../../../tools/WaitTasks.ts"
import * as Background from "./Background.ts"

/** What a model reads, without what differs from run to run. */
const content = <T extends Tool.AnyDeclaration>(tool: T, success: Tool.Success<T>) => {
  const toContent = tool.toContent as ((success: Tool.Success<T>) => ReadonlyArray<ToolContent>) | undefined
  return toContent?.(success).map((item) =>
    item.type === "text" ? item.text.replaceAll(/task_\w{13}/g, "task_").replaceAll(/[\d.]+ s,/g, "_ s,") : item.type
  )
}

const untilFile = (name: string) => `until [ -e ${name} ]; do sleep 0.01; done`

describe("list_tasks", () => {
  it.live("tells of all tasks in the order in which they started, running or not", () =>
    Background.session(
      Effect.gen(function* () {
        const none = yield* Background.call(ListTasks, {})
        assert.deepStrictEqual([none.tasks, content(ListTasks, none)], [[], ["There are no tasks."]])
        const running = yield* Background.start("sleep 300\n# a second line")
        const exited = yield* Background.start("echo 123; exit 2")
        yield* (yield* Background.task(exited)).ended
        const listed = yield* Background.call(ListTasks, {})
        assert.deepStrictEqual(
          listed.tasks.map(({ command, outputBytes, status, taskId }) => [taskId, status, outputBytes, command]),
          [
            [running, { _tag: "Running" }, 0, "sleep 300\n# a second line"],
            [exited, { _tag: "Exited", code: 2 }, 4, "echo 123; exit 2"]
          ]
        )
        assert.deepStrictEqual(content(ListTasks, listed), [
          "task_: running, _ s, 0 bytes of output: sleep 300␊# a second line\n" +
            "task_: exited with 2, _ s, 4 bytes of output: echo 123; exit 2"
        ])
      })
    )
  )
})

describe("kill_task", () => {
  it.live("C36: nothing of the group runs when it answers; the second time it had already ended", () =>
    Background.session(
      Effect.gen(function* () {
        const taskId = yield* Background.start("echo $$; bash -c 'sleep 300 & sleep 300'")
        const pid = Number(yield* Background.written(taskId, "\n"))
        const first = yield* Background.call(KillTask, { taskId })
        assert.deepStrictEqual(Background.inGroup(pid), [])
        assert.isTrue(first.killed)
        assert.deepStrictEqual(first.task.status, { _tag: "Killed", by: "kill_task" })
        assert.match(content(KillTask, first)?.[0] ?? "", /^Ended\. task_: ended by kill_task, /)
        const second = yield* Background.call(KillTask, { taskId })
        assert.deepStrictEqual(second, { killed: false, task: first.task })
        assert.match(content(KillTask, second)?.[0] ?? "", /^It had already ended\. task_: ended by kill_task, /)
        assert.strictEqual(yield* Background.output(taskId), `${pid}\n`)
      })
    )
  )

  it.live("C36: of two at once one has ended it", () =>
    Background.session(
      Effect.gen(function* () {
        const taskId = yield* Background.start("sleep 300")
        const kill = Background.call(KillTask, { taskId })
        const killed = (yield* Effect.all([kill, kill], { concurrency: 2 })).map(({ killed }) => killed)
        assert.deepStrictEqual(killed.toSorted(), [false, true])
        const unknown = yield* Effect.flip(Background.call(KillTask, { taskId: "task_unknown" }))
        assert.strictEqual(unknown._tag, "TaskNotFound")
      })
    )
  )
})

describe("wait_tasks", () => {
  it.live("waits for any, or for all, and ends nothing", () =>
    Background.session(
      Effect.gen(function* () {
        const a = yield* Background.start(untilFile("a"))
        const b = yield* Background.start(untilFile("b"))
        const wait = (mode: "any" | "all") =>
          Effect.forkChild(Background.call(WaitTasks, { taskIds: [a, b, a], mode, timeoutMs: 8_000 }), {
            startImmediately: true
          })
        const any = yield* wait("any")
        const all = yield* wait("all")
        yield* Background.touch("b")
        const first = yield* Fiber.join(any)
        assert.deepStrictEqual([first.timedOut, first.running], [false, [a]])
        assert.deepStrictEqual(
          first.tasks.map(({ status, taskId }) => [taskId, status._tag]),
          [
            [a, "Running"],
            [b, "Exited"]
          ]
        )
        yield* Background.touch("a")
        const both = yield* Fiber.join(all)
        assert.deepStrictEqual([both.timedOut, both.running, both.tasks.length], [false, [], 2])
        assert.strictEqual(content(WaitTasks, both)?.length, 1)
      })
    )
  )

  it.live("that the time is over is a success that says who still runs", () =>
    Background.session(
      Effect.gen(function* () {
        const runs = yield* Background.start("sleep 300")
        const ended = yield* Background.start("true")
        yield* (yield* Background.task(ended)).ended
        const waited = yield* Background.call(WaitTasks, { taskIds: [runs, ended], mode: "all", timeoutMs: 50 })
        assert.deepStrictEqual([waited.timedOut, waited.running], [true, [runs]])
        assert.strictEqual(content(WaitTasks, waited)?.at(-1), "The time is over. Still running: task_.")
        const { info } = yield* Background.task(runs)
        assert.strictEqual((yield* info).status._tag, "Running")
        const unknown = yield* Effect.flip(Background.call(WaitTasks, { taskIds: [runs, "task_unknown"], mode: "any" }))
        assert(unknown._tag === "TaskNotFound")
        assert.deepStrictEqual([unknown.taskId, unknown.known], ["task_unknown", [runs, ended]])
      })
    )
  )

  it("C11: ids without number and times that no timer can hold are no parameters", () => {
    const decode = Schema.decodeUnknownExit(Schema.toCodecJson(WaitTasks.parametersSchema))
    const ids = Array.from({ length: 21 }, (_, index) => `task_${index}`)
    assert.isTrue(Exit.isSuccess(decode({ taskIds: ids.slice(1), mode: "all" })))
    assert.isTrue(Exit.isFailure(decode({ taskIds: ids, mode: "all" })))
    assert.isTrue(Exit.isFailure(decode({ taskIds: [], mode: "all" })))
    for (const timeoutMs of [0, -1, 1.5, "9", 600_001]) {
      assert.isTrue(Exit.isFailure(decode({ taskIds: ["a"], mode: "any", timeoutMs })), String(timeoutMs))
    }
  })
})
