/**
 * `wait_tasks`: wait until background tasks have ended, any or all of them.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CurrentSession } from "../src/Session.ts"
import * as Tasks from "../src/Tasks.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolContent from "../src/ToolContent.ts"

/** Longest wait, in ms. A model that waits longer is not told what else happens. */
const maxTimeoutMs = 600_000

/** Wait when the call names none, in ms. */
const defaultTimeoutMs = 30_000

/** Tasks in one call. */
const maxTasks = 20

/**
 * @category models
 * @since 0.1.0
 */
export const Waited = Schema.Struct({
  /** The time was over first. */
  timedOut: Schema.Boolean,
  /** All that were waited for, in the order given. */
  tasks: Schema.Array(Tasks.TaskInfo),
  /** Ids of those that still run. */
  running: Schema.Array(Schema.String)
})
export type Waited = typeof Waited.Type

/**
 * Waits. That the time is over is a success, which says who still runs; nothing
 * is ended by it.
 *
 * @category tools
 * @since 0.1.0
 */
export class WaitTasks extends Tool.Service<WaitTasks>()("wait_tasks", {
  title: "Wait for background tasks",
  description:
    "Waits until any, or all, of the given background tasks have ended, or the time is over. " +
    "Nothing is ended by it. Their output is read with task_output.",
  parameters: {
    taskIds: Schema.Array(Schema.String)
      .check(Schema.isMinLength(1), Schema.isMaxLength(maxTasks))
      .annotate({
        description: `At most ${maxTasks}.`
      }),
    mode: Schema.Literals(["any", "all"]).annotate({ description: "Until the first of them has ended, or the last." }),
    timeoutMs: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxTimeoutMs })).annotate({
        description: `Milliseconds to wait at most. Default: ${defaultTimeoutMs}.`
      })
    )
  },
  success: Waited,
  failure: Tasks.TaskNotFound,
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: ({ running, tasks, timedOut }) => [
    ToolContent.text(tasks.map(Tasks.toText).join("\n")),
    ...(timedOut ? [ToolContent.text(`The time is over. Still running: ${running.join(", ")}.`)] : [])
  ]
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = WaitTasks.toLayer(({ mode, taskIds, timeoutMs = defaultTimeoutMs }) =>
  Effect.gen(function* () {
    const { tasks } = yield* CurrentSession
    const waited = yield* Effect.forEach(new Set(taskIds), tasks.get)
    const ends = waited.map(({ ended }) => ended)
    const wait =
      mode === "any"
        ? Effect.asVoid(Effect.raceAll(ends))
        : Effect.all(ends, { concurrency: "unbounded", discard: true })
    const inTime = yield* Effect.timeoutOption(wait, timeoutMs)
    const infos = yield* Effect.forEach(waited, ({ info }) => info)
    const running = infos.filter(({ status }) => status._tag === "Running").map(({ taskId }) => taskId)
    // Some may have ended just then.
    const satisfied = mode === "any" ? running.length < infos.length : running.length === 0
    return { timedOut: Option.isNone(inTime) && !satisfied, tasks: infos, running }
  })
)
