import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as LawCheck from "../../../layers/testing/LawCheck.ts"
import * as Bash from "../../../tools/bash/Bash.ts"
import * as KillTask from "../../../tools/KillTask.ts"
import * as ListTasks from "../../../tools/ListTasks.ts"
import * as TaskOutput from "../../../tools/TaskOutput.ts"
import * as WaitTasks from "../../../tools/WaitTasks.ts"
import * as Background from "./Background.ts"

// The clocks of the machine: a busy one may take its time.
const options = { clock: "real", grace: "5 seconds", limit: "10 seconds", seed: 1, steps: 2 } as const

describe("the law holds for", () => {
  it.live("list_tasks, task_output and wait_tasks, while tasks run and after their end", () =>
    Background.session(
      Effect.gen(function* () {
        const runs = yield* Background.start("echo one; sleep 300")
        const ended = yield* Background.start("seq 1 100")
        yield* LawCheck.check(ListTasks.ListTasks, { ...options, runs: 1 })
        const read = yield* LawCheck.check(TaskOutput.TaskOutput, {
          ...options,
          parameters: [
            { taskId: runs, offsetBytes: 4, waitMs: 30 },
            { taskId: ended, limitBytes: 7 },
            { taskId: "task_x" }
          ]
        })
        assert.isAbove(read.endings["Success"] ?? 0, 0)
        assert.isAbove(read.endings["ToolFailed"] ?? 0, 0)
        const waited = yield* LawCheck.check(WaitTasks.WaitTasks, {
          ...options,
          parameters: [
            { taskIds: [runs, ended], mode: "all", timeoutMs: 30 },
            { taskIds: [runs, ended], mode: "any" }
          ]
        })
        assert.isAbove(waited.endings["Interrupted (stopped)"] ?? 0, 0)
        const { tasks } = yield* Background.call(ListTasks.ListTasks, {})
        assert.deepStrictEqual(
          tasks.map(({ status }) => status._tag),
          ["Running", "Exited"]
        )
      })
    )
  )

  it.live(
    "bash in the background and kill_task",
    () =>
      Background.session(
        Effect.gen(function* () {
          const report = yield* LawCheck.check(Bash.Bash, {
            ...options,
            parameters: [{ command: "echo one; sleep 300", background: true }]
          })
          assert.isAbove(report.endings["Success"] ?? 0, 0)
          const { tasks } = yield* Background.call(ListTasks.ListTasks, {})
          assert.isAbove(tasks.length, 0)
          yield* LawCheck.check(KillTask.KillTask, { ...options, parameters: tasks.slice(0, 3) })
          const after = yield* Background.call(ListTasks.ListTasks, {})
          assert.strictEqual(after.tasks[0]?.status._tag, "Killed")
        })
      ),
    30_000
  )
})
