/**
 * `task_output`: what a background task has written, any part of it, again and
 * again, while it runs and after its end.
 *
 * Offsets count bytes as the command wrote them. The text is what a terminal shows
 * of them, so its length is another. A part is cut after a line where there is
 * one, and never within a character or an escape sequence.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CurrentSession } from "../src/Session.ts"
import { NotSpilled } from "../src/Spill.ts"
import * as Tasks from "../src/Tasks.ts"
import { TerminalDecoder, TerminalText, unfinished } from "../src/TerminalText.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolContent from "../src/ToolContent.ts"

/** Bytes returned when the call names no limit, as many as `bash` shows. */
const defaultLimit = 30_000

/** Most bytes that one call returns: some 20,000 tokens. */
const maxLimit = 64 * 1024

/** Longest wait, in ms. */
const maxWaitMs = 600_000

/** Bytes of a character in UTF-8, at most: a part that is smaller might never get past one. */
const minPart = 4

/**
 * A part of the output.
 *
 * @category models
 * @since 0.1.0
 */
export const Output = Schema.Struct({
  taskId: Schema.String,
  status: Tasks.TaskStatus,
  output: Schema.String.annotate({ description: "stdout and stderr interleaved, as a terminal shows them." }),
  offsetBytes: Schema.Natural.annotate({ description: "Where `output` begins." }),
  nextOffsetBytes: Schema.Natural.annotate({ description: "Where to go on." }),
  sizeBytes: Schema.Natural.annotate({ description: "Bytes that can be read by now." }),
  lostBytes: Schema.Natural.annotate({ description: "Bytes after them that could not be kept." })
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
    offsetBytes: Schema.optionalKey(
      Schema.Int.annotate({
        description: "Where to begin. Negative: so many bytes before the end. Default: 0, the beginning."
      })
    ),
    limitBytes: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxLimit })).annotate({
        description: `Bytes to return at most, or the few more that complete a character. Default: ${defaultLimit}.`
      })
    ),
    waitMs: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxWaitMs })).annotate({
        description:
          "Milliseconds to wait at most for output after offsetBytes, or for the end of the task. Default: 0."
      })
    )
  },
  success: Output,
  failure: Schema.Union([Tasks.TaskNotFound, NotSpilled]),
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: (part) => [
    ToolContent.text(part.output === "" ? "(no output)" : part.output),
    ToolContent.text(note(part))
  ]
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = TaskOutput.toLayer(({ limitBytes = defaultLimit, offsetBytes = 0, taskId, waitMs = 0 }) =>
  Effect.gen(function* () {
    const { tasks } = yield* CurrentSession
    const task = yield* tasks.get(taskId)
    const seen = offsetBytes >= 0 ? offsetBytes : (yield* task.read(0, 0)).sizeBytes
    if (waitMs > 0) yield* Effect.timeoutOption(task.more(seen), waitMs)
    // Before the output: what has ended then writes no more.
    const { outputBytes, status } = yield* task.info
    const size = (yield* task.read(0, 0)).sizeBytes
    const from = Math.min(offsetBytes >= 0 ? offsetBytes : Math.max(0, size + offsetBytes), size)
    const { bytes, sizeBytes } = yield* task.read(from, Math.max(limitBytes, minPart))
    const skipped = from === 0 ? 0 : continuation(bytes)
    const part = bytes.subarray(skipped)
    const isLast = from + bytes.length >= sizeBytes
    const whole = isLast && status._tag !== "Running"
    const shown = whole ? part : part.subarray(0, cut(part, isLast))
    return {
      taskId,
      status,
      output: show(shown),
      offsetBytes: from + skipped,
      nextOffsetBytes: from + skipped + shown.length,
      sizeBytes,
      lostBytes: Math.max(0, outputBytes - sizeBytes)
    }
  })
)

/** How many bytes at the beginning are the rest of a character. */
const continuation = (bytes: Uint8Array): number => {
  const first = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  const length = first < 0 ? bytes.length : first
  // More of them are no character.
  return length < minPart ? length : 0
}

/** Where to end a part after which there is more, or may be. */
const cut = (part: Uint8Array, isLast: boolean): number => {
  const line = isLast ? 0 : part.lastIndexOf(0x0a) + 1
  if (line > 0) return line
  const end = part.length - unfinished(part)
  // What is longer than a part is shown, in pieces.
  return end > 0 || isLast ? end : part.length
}

const show = (bytes: Uint8Array): string => {
  const decoder = new TerminalDecoder()
  // A byte that is no character is shown by three.
  const screen = new TerminalText(Math.max(1, bytes.length * 3))
  screen.write(decoder.decode(bytes))
  screen.write(decoder.end())
  return screen.render().text
}

const note = ({ lostBytes, nextOffsetBytes, offsetBytes, sizeBytes, status, taskId }: Output): string =>
  [
    `${taskId}: ${Tasks.statusToText(status)}.`,
    `Bytes ${offsetBytes} to ${nextOffsetBytes} of ${sizeBytes}.`,
    lostBytes > 0 && `${lostBytes} more could not be kept.`,
    nextOffsetBytes < sizeBytes && `Go on with offsetBytes ${nextOffsetBytes}.`
  ]
    .filter((line) => line !== false)
    .join(" ")
