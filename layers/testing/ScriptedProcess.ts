/**
 * The port `Processes`, answered by scripts: no process is started, and time is
 * that of the clock, which a test can move.
 *
 * It keeps the contract of the port: output that nobody pulls holds the process
 * up; `output` ends when the command has exited and what it wrote was read; the
 * closing of the scope ends it. A piece of output is overwritten at the next pull,
 * as the port says it may be.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import {
  type Command,
  ExitStatus,
  LeftBehind,
  type Output,
  type Process,
  Processes,
  SpawnFailed
} from "../../src/Processes.ts"

/**
 * One thing that a process does.
 *
 * @category models
 * @since 0.1.0
 */
export const Action = Schema.Union([
  /** It goes on when there is room in the pipe, see `pipe`. */
  Schema.TaggedStruct("Write", {
    stream: Schema.Literals(["stdout", "stderr"]),
    output: Schema.Union([Schema.String, Schema.Uint8Array])
  }),
  Schema.TaggedStruct("Sleep", { ms: Schema.Natural })
])
export type Action = typeof Action.Type

/**
 * What a process does, and how it ends by itself.
 *
 * @category models
 * @since 0.1.0
 */
export const Script = Schema.Struct({
  actions: Schema.Array(Action),
  /** Absent: it runs until it is ended. */
  exit: Schema.optionalKey(ExitStatus),
  /** How long it takes to end at SIGTERM. With 2 seconds or more it is killed then. Default: no time. */
  termMs: Schema.optionalKey(Schema.Natural),
  /** What outlives it, and what becomes of that. */
  leftBehind: Schema.optionalKey(Schema.Array(LeftBehind)),
  withheld: Schema.optionalKey(Schema.Array(Schema.String))
})
export type Script = typeof Script.Type

/**
 * A process that was started.
 *
 * @category models
 * @since 0.1.0
 */
export interface Spawned {
  readonly command: Command
  readonly pid: number
  /** Undefined while it runs. */
  readonly status: ExitStatus | undefined
  /** Actions that it has done. */
  readonly done: number
}

/** Time that a process has between SIGTERM and SIGKILL, in ms. As on Node. */
const killAfterMs = 2_000

/** Pieces of output that a pipe holds before it holds the process up. */
const pipe = 1

/**
 * Answers every command with a script, or with why it cannot be run. What was
 * started is added to `log`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  respond: (command: Command) => Script | SpawnFailed,
  log: Array<Spawned> = []
): Layer.Layer<Processes> =>
  Layer.succeed(
    Processes,
    Processes.of({
      leftovers: [],
      spawn: (command) =>
        Effect.suspend(() => {
          const script = respond(command)
          if (script instanceof SpawnFailed) return Effect.fail(script)
          return Effect.map(
            Effect.acquireRelease(start(command, script, log), ({ sweep }) => sweep),
            (process): Process => process
          )
        })
    })
  )

const start = Effect.fnUntraced(function* (command: Command, script: Script, log: Array<Spawned>) {
  const index = log.length
  const pid = firstPid + index
  log.push({ command, pid, status: undefined, done: 0 })
  const note = (part: Partial<Spawned>) => {
    log[index] = { ...log[index]!, ...part }
  }
  const queue = yield* Queue.bounded<Output, Cause.Done>(pipe)
  const exit = yield* Deferred.make<ExitStatus>()
  const exited = (status: ExitStatus) =>
    Effect.suspend(() => {
      if (!Deferred.doneUnsafe(exit, Effect.succeed(status))) return Effect.void
      note({ status })
      return Queue.end(queue)
    })
  const actions = Effect.forEach(
    script.actions,
    (action, n) =>
      Effect.andThen(
        action._tag === "Sleep" ? Effect.sleep(action.ms) : Queue.offer(queue, outputOf(action)),
        Effect.sync(() => note({ done: n + 1 }))
      ),
    { discard: true }
  )
  // Not a child of whoever spawns: it runs until the scope ends it.
  const fiber = yield* Effect.forkDetach(
    Effect.andThen(actions, script.exit === undefined ? Effect.never : exited(script.exit)),
    { startImmediately: true }
  )
  const { termMs = 0 } = script
  const end = Effect.andThen(
    Effect.sleep(Math.min(termMs, killAfterMs)),
    Effect.andThen(
      Fiber.interrupt(fiber),
      exited({ _tag: "Signalled", signal: termMs < killAfterMs ? "SIGTERM" : "SIGKILL" })
    )
  )
  let swept = false
  return {
    pid,
    output: Stream.fromPull(Effect.succeed(pullOf(queue))),
    exit: Deferred.await(exit),
    sweep: Effect.uninterruptible(
      Effect.suspend(() => {
        const left = script.leftBehind ?? []
        if (swept) return Effect.succeed(left)
        swept = true
        return Effect.as(Effect.raceFirst(end, Deferred.await(exit)), left)
      })
    ),
    withheld: script.withheld ?? []
  } satisfies Process
})

/** No process of a system has it by accident: those count from 1. */
const firstPid = 10_000

const outputOf = ({ output, stream }: Extract<Action, { readonly _tag: "Write" }>): Output => ({
  stream,
  // A copy: it is overwritten, and a script is run again.
  bytes: typeof output === "string" ? new TextEncoder().encode(output) : output.slice()
})

const pullOf = (queue: Queue.Dequeue<Output, Cause.Done>) => {
  let last: Output | undefined
  return Effect.suspend(() => {
    last?.bytes.fill(0)
    return Effect.map(Queue.take(queue), (output): NonEmptyReadonlyArray<Output> => {
      last = output
      return [output]
    })
  })
}

/**
 * A process that writes and exits: what most tests need.
 *
 * @category constructors
 * @since 0.1.0
 */
export const exits = (code: number, ...writes: ReadonlyArray<string>): Script => ({
  actions: writes.map((output): Action => ({ _tag: "Write", stream: "stdout", output })),
  exit: { _tag: "Exited", code }
})
