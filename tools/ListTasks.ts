/**
 * `list_tasks`: the commands that run, or ran, in the background of the session.
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
export const Listed = Schema.Struct({
  /** In the order in which they went to the background. */
  tasks: Schema.Array(Tasks.TaskInfo)
})
export type Listed = typeof Listed.Type

/**
 * @category tools
 * @since 0.1.0
 */
export class ListTasks extends Tool.Service<ListTasks>()("list_tasks", {
  title: "List background tasks",
  description:
    "Lists the commands that run in the background of this session, and the last that have ended, with how they are.",
  success: Listed,
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: ({ tasks }) => [
    ToolContent.text(tasks.length === 0 ? "There are no tasks." : tasks.map(Tasks.toText).join("\n"))
  ]
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = ListTasks.toLayer(() =>
  Effect.gen(function* () {
    const { tasks } = yield* CurrentSession
    return { tasks: yield* Effect.forEach(yield* tasks.all, ({ info }) => info) }
  })
)
