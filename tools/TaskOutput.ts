/**
 * `task_output`: what a background task has written, any part of it, again and
 * again, while it runs and after its end.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as OutputPart from "../src/OutputPart.ts"
import { CurrentSession } from "../src/Session.ts"
import * as Spill from "../src/Spill.ts"
import * as Tasks from "../src/Tasks.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolContent from "../src/ToolContent.ts"

/** Longest wait, in ms. */
const maxWaitMs = 600_000

/**
 * A part of the output.
 *
 * @category models
 * @since 0.1.0
 */
export const Output = Schema.Struct({
  taskId: Schema.String,
  status: Tasks.TaskStatus,
  ...OutputPart.fields,
  lostBytes: Schema.Natural.annotate({ description: "Bytes after them that could not be kept." }),
  spill: Schema.optionalKey(Spill.Spilled.annotate({ description: "Where the whole output is." }))
})
export type Output = typeof Output.Type

/**
 * @category tools
 * @since 0.1.0
 */
export class TaskOutput extends Tool.Service<TaskOutput>()("task_output", {
  title: "Read the output of a background task",
  description:
    "Reads what a background task has written, while it runs or after its end, with its status. " +
    "Reading removes nothing: go on at nextOffsetBytes, or read the end with a negative offsetBytes.",
  parameters: {
    taskId: Schema.String.annotate({ description: "As bash or list_tasks told it." }),
    ...OutputPart.parameters,
    waitMs: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxWaitMs })).annotate({
        description:
          "Milliseconds to wait at most for output after offsetBytes, or for the end of the task. Default: 0."
      })
    )
  },
  success: Output,
  failure: Schema.Union([Tasks.TaskNotFound, Spill.NotSpilled]),
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: (part) => ToolContent.withNote(part.output, note(part))
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = TaskOutput.toLayer(({ limitBytes, offsetBytes = 0, taskId, waitMs = 0 }) =>
  Effect.gen(function* () {
    const { tasks } = yield* CurrentSession
    const task = yield* tasks.get(taskId)
    const seen = offsetBytes >= 0 ? offsetBytes : (yield* task.read(0, 0)).sizeBytes
    if (waitMs > 0) yield* Effect.timeoutOption(task.more(seen), waitMs)
    // Before the output: what has ended then writes no more.
    const { outputBytes, status } = yield* task.info
    const part = yield* OutputPart.read(task.read, { offsetBytes, limitBytes, ended: status._tag !== "Running" })
    const spill = yield* task.spilled
    return {
      taskId,
      status,
      ...part,
      lostBytes: Math.max(0, outputBytes - part.sizeBytes),
      ...(spill && { spill })
    }
  })
)

const note = (output: Output): string =>
  [
    `${output.taskId}: ${Tasks.statusToText(output.status)}.`,
    ...OutputPart.toText(output),
    ...(output.lostBytes > 0 ? [`${output.lostBytes} more could not be kept${Spill.why(output.spill)}.`] : []),
    ...(output.spill && output.nextOffsetBytes - output.offsetBytes < output.sizeBytes
      ? [`To search all of it: ${Spill.toCall(output.spill, { pattern: "…" })}.`]
      : [])
  ].join(" ")
