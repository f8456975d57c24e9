/**
 * `kill_task`: end a command in the background, and all that it started.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CurrentSession } from "../src/Session.ts"
import * as Tasks from "../src/Tasks.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolContent from "../src/ToolContent.ts"

/**
 * @category models
 * @since 0.1.0
 */
export const Ended = Schema.Struct({
  /** False if it had ended before: its status says how. */
  killed: Schema.Boolean,
  task: Tasks.TaskInfo
})
export type Ended = typeof Ended.Type

/**
 * @category tools
 * @since 0.1.0
 */
export class KillTask extends Tool.Service<KillTask>()("kill_task", {
  title: "End a background task",
  description:
    "Ends a background task with all processes of its group: SIGTERM, and after a while SIGKILL. " +
    "Returns when none of them runs. Its output can still be read.",
  parameters: {
    taskId: Schema.String.annotate({ description: "As bash or list_tasks told it." })
  },
  success: Ended,
  failure: Tasks.TaskNotFound,
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  // A task that ignores SIGTERM takes that long to end.
  clocks: () => ({ grace: 6_000 }),
  toContent: ({ killed, task }) => [
    ToolContent.text(`${killed ? "Ended." : "It had already ended."} ${Tasks.toText(task)}`)
  ]
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = KillTask.toLayer(({ taskId }) =>
  Effect.gen(function* () {
    const { tasks } = yield* CurrentSession
    const task = yield* tasks.get(taskId)
    const killed = yield* task.kill("kill_task")
    return { killed, task: yield* task.info }
  })
)
