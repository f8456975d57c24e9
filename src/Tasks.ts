/**
 * What goes on in a session beside its calls: commands in the background.
 *
 * **Contract**
 *
 * - A task belongs to the session it was started in. When the session closes, all
 *   of its tasks are ended, and who survives is named in the log.
 * - Its status is true: `Running` while the command itself runs, then how it ended, and
 *   that never changes again. The first who ends it is the one that is told.
 * - Its output can be read while it runs and after its end, again and again.
 * - Of the tasks that have ended the last 100 are remembered.
 * - A command that a call waits for is in the foreground: it is not listed, and
 *   goes with the call. `background` takes it out of the call's hands.
 *
 * The table is memory only. What makes a task of a process is `CommandTask`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Token from "./internal/Token.ts"
import * as PlainText from "./PlainText.ts"
import { LeftBehind } from "./Processes.ts"
import type { NotSpilled, Part, Spilled } from "./Spill.ts"

/**
 * @category models
 * @since 0.1.0
 */
export const TaskStatus = Schema.Union([
  Schema.TaggedStruct("Running", {}),
  Schema.TaggedStruct("Exited", { code: Schema.Int }),
  Schema.TaggedStruct("Signalled", { signal: Schema.String }),
  /** It was ended by somebody: the model, the session's end. */
  Schema.TaggedStruct("Killed", { by: Schema.String }),
  Schema.TaggedStruct("TimedOut", { limitMs: Schema.Natural })
])
export type TaskStatus = typeof TaskStatus.Type

/**
 * A task as it is listed.
 *
 * @category models
 * @since 0.1.0
 */
export const TaskInfo = Schema.Struct({
  taskId: Schema.String,
  command: Schema.String,
  status: TaskStatus,
  /** Since its start; until its end, if it has ended. */
  durationMs: Schema.Natural,
  outputBytes: Schema.Natural,
  /** Processes that outlived it, and what became of them. */
  leftBehind: Schema.Array(LeftBehind)
})
export type TaskInfo = typeof TaskInfo.Type

/**
 * @category models
 * @since 0.1.0
 */
export interface Task {
  /** `task_…`; not to be guessed. */
  readonly id: string
  readonly info: Effect.Effect<TaskInfo>
  /** Waits for the end of the command, and for its output to be whole. */
  readonly ended: Effect.Effect<TaskInfo>
  /** At most `length` bytes of its output from `offset` on. */
  readonly read: (offset: number, length: number) => Effect.Effect<Part, NotSpilled>
  /** Where its output is, once any of it had to be stored. */
  readonly spilled: Effect.Effect<Spilled | undefined>
  /** Waits until there are more than `sizeBytes` bytes of output to read, or the task has ended. */
  readonly more: (sizeBytes: number) => Effect.Effect<void>
  /** Ends it, its whole group, and waits until nothing of it is alive. False if it had ended already. */
  readonly kill: (by: string) => Effect.Effect<boolean>
  /** Gives up its output: nobody can ask for it any more. */
  readonly forget: Effect.Effect<void>
}

/**
 * A command that a call waits for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Foreground {
  /** Undefined where the tool was called outside of a runtime: then nobody can name it. */
  readonly callId: string | undefined
  /** Leaves it to the session, and lets the call end. Undefined if it has ended, was left before, or cannot be left. */
  readonly leave: Effect.Effect<Task | undefined>
  /** Ends it, and waits until nothing of it is alive. Gives what outlived it. */
  readonly stop: (by: string) => Effect.Effect<TaskInfo>
}

/**
 * No such task in this session.
 *
 * @category errors
 * @since 0.1.0
 */
export class TaskNotFound extends Schema.TaggedError<TaskNotFound>()("TaskNotFound", {
  taskId: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message() {
    return this.known.length === 0
      ? `There is no task ${this.taskId}; there are no tasks.`
      : `There is no task ${this.taskId}. There are ${this.known.join(", ")}.`
  }
}

/**
 * The tasks of one session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tasks {
  /** In the order in which they were added. */
  readonly all: Effect.Effect<ReadonlyArray<Task>>
  readonly get: (taskId: string) => Effect.Effect<Task, TaskNotFound>
  /** Lists a task that runs. In a session that has closed it is ended at once. */
  readonly add: (task: Task) => Effect.Effect<void>
  /** Makes a command known that a call waits for, until `detach`. */
  readonly attach: (command: Foreground) => Effect.Effect<void>
  readonly detach: (command: Foreground) => Effect.Effect<void>
  /**
   * Sends the command that a call waits for to the background. The call then ends with the task, which goes on
   * untouched. Undefined if the call waits for no command, or for one that is of no use without it.
   */
  readonly background: (callId: string) => Effect.Effect<Task | undefined>
}

/** Ended tasks that are remembered. Fewer, and a model asks in vain for what it started; more hold disk and memory. */
const maxEnded = 100

const sessionEnd = "the end of the session"

/**
 * A new id, which cannot be guessed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeId = (): string => `task_${Token.make()}`

/**
 * The tasks of a session that closes with the scope.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Tasks, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => new Table()),
  (table) => table.close
)

/**
 * The tasks of a session that never closes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeUnsafe = (): Tasks => new Table()

class Table implements Tasks {
  private readonly listed = new Map<string, Task>()
  /** Ids of listed tasks that have ended, the first to end first. */
  private readonly ended = new Set<string>()
  private readonly foreground = new Set<Foreground>()
  private closed = false

  readonly all: Tasks["all"] = Effect.sync(() => Array.from(this.listed.values()))

  readonly get: Tasks["get"] = (taskId) =>
    Effect.suspend(() => {
      const task = this.listed.get(taskId)
      return task === undefined
        ? Effect.fail(new TaskNotFound({ taskId, known: Array.from(this.listed.keys()) }))
        : Effect.succeed(task)
    })

  readonly add: Tasks["add"] = (task) =>
    Effect.suspend(() => {
      this.listed.set(task.id, task)
      const watched = Effect.forkDetach(Effect.andThen(task.ended, this.retire(task)))
      return Effect.andThen(watched, this.closed ? Effect.asVoid(task.kill(sessionEnd)) : Effect.void)
    })

  readonly attach: Tasks["attach"] = (command) =>
    Effect.suspend(() => {
      if (this.closed) return Effect.asVoid(command.stop(sessionEnd))
      this.foreground.add(command)
      return Effect.void
    })

  readonly detach: Tasks["detach"] = (command) => Effect.sync(() => this.foreground.delete(command))

  readonly background: Tasks["background"] = (callId) =>
    Effect.suspend(() => {
      for (const command of this.foreground) if (command.callId === callId) return command.leave
      return Effect.undefined
    })

  readonly close: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.closed = true
    const ended = yield* Effect.all(
      [
        ...Array.from(this.listed.values(), (task) => Effect.andThen(task.kill(sessionEnd), task.info)),
        ...Array.from(this.foreground, (command) => command.stop(sessionEnd))
      ],
      { concurrency: "unbounded" }
    )
    const survivors = ended.flatMap(({ command, leftBehind, taskId }) =>
      leftBehind
        .filter(({ fate }) => fate === "alive")
        .map(({ name, pid }) => `${name ?? "a process"} (pid ${pid}) of ${taskId}, ${shorten(command)}`)
    )
    if (survivors.length > 0) yield* Effect.logWarning(`alive at the end of their tasks: ${survivors.join("; ")}`)
  })

  private retire(task: Task): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.ended.add(task.id)
      const [oldest] = this.ended
      if (oldest === undefined || this.ended.size <= maxEnded) return Effect.void
      this.ended.delete(oldest)
      const forgotten = this.listed.get(oldest)
      this.listed.delete(oldest)
      return forgotten?.forget ?? Effect.void
    })
  }
}

/** UTF-16 code units of a command that tell it from others. */
const maxCommand = 120

const shorten = (command: string): string => {
  const line = PlainText.makeLine(command)
  return line.length <= maxCommand ? line : `${PlainText.take(line, maxCommand)}…`
}

/**
 * A status in words.
 *
 * @category converting
 * @since 0.1.0
 */
export const statusToText = (status: TaskStatus): string => {
  switch (status._tag) {
    case "Running":
      return "running"
    case "Exited":
      return `exited with ${status.code}`
    case "Signalled":
      return `killed by ${status.signal}`
    case "Killed":
      return `ended by ${status.by}`
    case "TimedOut":
      return `ended by its timeout of ${status.limitMs} ms`
  }
}

/**
 * A task on one line, for a model.
 *
 * @category converting
 * @since 0.1.0
 */
export const toText = (info: TaskInfo): string =>
  `${info.taskId}: ${statusToText(info.status)}, ${Math.round(info.durationMs / 100) / 10} s, ` +
  `${info.outputBytes} bytes of output: ${shorten(info.command)}${leftToText(info.leftBehind)}`

const leftToText = (left: ReadonlyArray<LeftBehind>): string =>
  left.length === 0
    ? ""
    : ` (outlived by ${left.map(({ fate, name, pid }) => `${name ?? "process"} ${pid}, ${fate}`).join("; ")})`
