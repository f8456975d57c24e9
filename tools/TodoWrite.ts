/**
 * `todo_write`: the model's list of what is to be done, for whoever watches. The list is
 * replaced as a whole: what the call says is all there is. No progress.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../src/Tool.ts"
import * as ToolContent from "../src/ToolContent.ts"

/**
 * One thing to be done.
 *
 * @category models
 * @since 0.1.0
 */
export const Todo = Schema.Struct({
  id: Schema.NonEmptyString.annotate({ description: "Unique in the list." }),
  content: Schema.NonEmptyString.annotate({ description: "What is to be done, in one sentence." }),
  status: Schema.Literals(["pending", "in_progress", "completed"])
})
export type Todo = typeof Todo.Type

/**
 * The list was not changed.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateTodo extends Schema.TaggedError<DuplicateTodo>()("DuplicateTodo", {
  id: Schema.String
}) {
  override get message() {
    return `Two todos have the id ${JSON.stringify(this.id)}. The list was not changed: give each an id of its own.`
  }
}

/**
 * @category tools
 * @since 0.1.0
 */
export class TodoWrite extends Tool.Service<TodoWrite>()("todo_write", {
  title: "Write the list of todos",
  description:
    "Shows the user what you are going to do, and how far you are. Give the whole list each time: it replaces the one " +
    "before. Use it for work of three steps or more; have one todo in progress at a time, and complete each as soon as " +
    "it is done.",
  parameters: { todos: Schema.Array(Todo) },
  success: Schema.Struct({ todos: Schema.Array(Todo) }),
  failure: DuplicateTodo,
  // A note that nobody but its readers depends on.
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: ({ todos }) => [ToolContent.text(summary(todos))]
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = TodoWrite.toLayer(({ todos }) => {
  const ids = new Set<string>()
  const twice = todos.find(({ id }) => ids.size === ids.add(id).size)
  return twice === undefined ? Effect.succeed({ todos }) : Effect.fail(new DuplicateTodo({ id: twice.id }))
})

const summary = (todos: ReadonlyArray<Todo>): string => {
  if (todos.length === 0) return "The list is empty now."
  const count = (status: Todo["status"]) => todos.filter((todo) => todo.status === status).length
  const next = todos.find(({ status }) => status === "in_progress") ?? todos.find(({ status }) => status === "pending")
  return [
    `${count("completed")} of ${todos.length} done, ${count("in_progress")} in progress.`,
    next === undefined ? "Nothing is left." : `Next: ${next.content}`
  ].join(" ")
}
