/**
 * `bash`: run a shell command. Its output is progress, as the process writes it;
 * the result says how it ended and what a terminal would show, first and last
 * part.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { maxPieceBytes, omissionToText, pieces, type Rendered } from "../../src/BoundedText.ts"
import * as CommandTask from "../../src/CommandTask.ts"
import {
  Aftermath,
  aftermathToText,
  bashCommand,
  ExitStatus,
  isSuccess,
  type Output,
  Processes,
  SpawnFailed,
  Withheld
} from "../../src/Processes.ts"
import * as Sandbox from "../../src/Sandbox.ts"
import * as Spill from "../../src/Spill.ts"
import { TerminalDecoder, TerminalText } from "../../src/TerminalText.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolContent from "../../src/ToolContent.ts"
import * as ToolStream from "../../src/ToolStream.ts"

/** Bytes of output kept at each end: some 4,000 tokens. A model that needs more asks the command for less. */
const keptBytes = 15_000

const known = {
  output: Schema.String.annotate({
    description: "stdout and stderr interleaved, as a terminal shows them: the first and the last 15,000 bytes."
  }),
  stdoutBytes: Schema.Natural.annotate({ description: "Bytes written to stdout." }),
  stderrBytes: Schema.Natural.annotate({ description: "Bytes written to stderr." }),
  omittedBytes: Schema.Natural.annotate({ description: "Bytes left out of the middle of `output`." }),
  marker: Schema.optionalKey(
    Schema.String.annotate({ description: "The line of `output` that stands for them. No other line is the same." })
  ),
  spill: Schema.optionalKey(
    Spill.Spilled.annotate({ description: "Where all of the raw output is, if some is omitted." })
  ),
  ...Aftermath.fields
}

/**
 * What is known of a command that has not ended.
 *
 * @category models
 * @since 0.1.0
 */
export const Partial = Schema.Struct(known)
export type Partial = typeof Partial.Type

/**
 * @category models
 * @since 0.1.0
 */
export const Completed = Schema.Struct({
  exit: ExitStatus,
  ...known,
  withheld: Withheld,
  sandbox: Sandbox.Told
})
export type Completed = typeof Completed.Type

/**
 * A command that goes on in the background, as a task of the session.
 *
 * @category models
 * @since 0.1.0
 */
export const Started = Schema.Struct({
  taskId: Schema.String.annotate({ description: "Names it to the tools for tasks." })
})
export type Started = typeof Started.Type

/** What a model reads: the output, and how it ended. */
const content = (
  self: Partial,
  end: string,
  notes: ReadonlyArray<string> = []
): ReadonlyArray<ToolContent.ToolContent> =>
  ToolContent.withNote(
    self.output,
    [
      end,
      ...(self.output === "" ? ["No output."] : []),
      ...omissionToText("the output", self),
      ...(self.spill === undefined ? [] : [Spill.toText(self.spill)]),
      ...notes,
      ...aftermathToText(self)
    ].join(" ")
  )

const isError = (success: Completed | Started): boolean => "exit" in success && !isSuccess(success.exit)

const description =
  "Runs a command in bash, in the workspace, and returns its output and exit status. There is no terminal " +
  "and stdin is empty, so commands must not ask questions. Each call is a new shell: variables and `cd` are not kept. " +
  "Processes left in the background by `&` are ended when the command exits; for a server, or work of minutes, set " +
  "`background`: the result is a task id at once, for task_output, wait_tasks and kill_task. " +
  "Long output is cut in the middle; all of it can be read by read_output then."

/**
 * Runs a command as `bash -c COMMAND` does, without a terminal, with an empty
 * stdin. It fails only when the command could not be run: one that exits 1 is a
 * success that is to be seen as an error.
 *
 * **Details**
 *
 * The call ends when the command itself exits. What it left in the background is
 * ended then, and named in the result.
 *
 * In the background, a command is a task of the session and the result is its id,
 * at once. So is that of a call whose command the session takes to the background
 * while it runs, see `Tasks.background`. `timeoutMs` then holds for the task.
 *
 * @category tools
 * @since 0.1.0
 */
export class Bash extends Tool.Service<Bash>()("bash", {
  title: "Run a shell command",
  description,
  describe: Sandbox.describe(description),
  parameters: {
    command: Schema.NonEmptyString.annotate({
      description: "The command, or a whole script. Run as `bash -c COMMAND`."
    }),
    cwd: Schema.optionalKey(
      Schema.String.annotate({
        description: "Directory to run in, absolute or relative to the workspace. Default: the workspace."
      })
    ),
    timeoutMs: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 })).annotate({
        description: "Milliseconds after which the command is ended."
      })
    ),
    env: Schema.optionalKey(
      Schema.Record(Schema.String, Schema.String).annotate({
        description: "Environment variables to set for the command."
      })
    ),
    background: Schema.optionalKey(
      Schema.Boolean.annotate({ description: "Run it as a task, and do not wait for it. Default: false." })
    )
  },
  progress: Schema.Struct({ stream: Schema.Literals(["stdout", "stderr"]), text: Schema.String }),
  // In UTF-16 code units, of which each is at most three bytes: never more than a piece.
  mergeProgress: (older, newer) =>
    older.stream === newer.stream && 3 * (older.text.length + newer.text.length) <= maxPieceBytes
      ? { stream: older.stream, text: older.text + newer.text }
      : undefined,
  success: Schema.Union([Completed, Started]),
  partial: Partial,
  failure: SpawnFailed,
  isError,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  clocks: ({ background, timeoutMs }) => ({
    // More than processes get between SIGTERM and SIGKILL: nearly every command is stopped and none given up.
    grace: 3_000,
    // In the background it is the task's, not the call's.
    ...(timeoutMs === undefined || background === true ? {} : { total: timeoutMs })
  }),
  toContent: (success) => {
    if (!("exit" in success)) return [ToolContent.text(`Runs in the background as ${success.taskId}.`)]
    const { exit, sandbox, withheld } = success
    return content(
      success,
      exit._tag === "Exited" ? `Exit status ${exit.code}.` : `Killed by ${exit.signal}.`,
      // Only where it may be the reason.
      isError(success)
        ? [
            ...(withheld.length > 0 ? [`Environment variables not passed on: ${withheld.join(", ")}.`] : []),
            ...Sandbox.toText(sandbox ?? Sandbox.off)
          ]
        : []
    )
  },
  toPartialContent: (partial) => content(partial, "Stopped before its end.")
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = Bash.toLayer(
  Effect.gen(function* () {
    const processes = yield* Processes
    const commands = yield* CommandTask.make

    return ({ background, command, cwd, env, timeoutMs }: Tool.Parameters<typeof Bash>) => {
      const spawn = processes.spawn(bashCommand(command, { cwd, env }))
      const options: CommandTask.Options = { command, spawn, timeoutMs }
      return background === true
        ? ToolStream.fromEffect(Effect.map(commands.background(options), ({ id }): Started => ({ taskId: id })))
        : inForeground(commands, options)
    }
  })
)

const inForeground = (commands: CommandTask.Commands, options: CommandTask.Options) =>
  ToolStream.suspend(() => {
    const screen = new Screen()
    return ToolStream.callbackArray<Progress, Completed | Started, SpawnFailed, Scope.Scope>(
      Effect.fnUntraced(function* (emit) {
        screen.start(yield* Clock.Clock)
        const command = yield* commands.foreground(options, {
          output: (output) => emitAll(emit, screen.write(output)),
          end: Effect.suspend(() => emitAll(emit, [...screen.end("stdout"), ...screen.end("stderr")]))
        })
        const outcome = yield* CommandTask.settle(command, {
          isCut: () => screen.rendered.omittedBytes > 0,
          tell: (rest) => {
            screen.rest = rest
          }
        })
        if ("taskId" in outcome) return outcome
        return { exit: outcome.exit, ...screen.known(), withheld: command.withheld, ...(yield* Sandbox.told) }
      })
    ).pipe(ToolStream.withPartial(() => screen.known()))
  })

type Progress = Tool.Progress<typeof Bash>

const emitAll = (
  emit: (progress: Arr.NonEmptyReadonlyArray<Progress>) => Effect.Effect<void>,
  shown: ReadonlyArray<Progress>
): Effect.Effect<void> => (Arr.isReadonlyArrayNonEmpty(shown) ? emit(shown) : Effect.void)

/** What one call has seen so far. */
class Screen {
  rest: CommandTask.Rest = { leftBehind: [] }
  private readonly text = new TerminalText(keptBytes)
  private readonly decoders = { stdout: new TerminalDecoder(), stderr: new TerminalDecoder() }
  private readonly bytes = { stdout: 0, stderr: 0 }
  private last: Rendered | undefined
  private elapsedMs: () => number = () => 0

  start(clock: Clock.Clock): void {
    const startedAt = clock.currentTimeMillisUnsafe()
    this.elapsedMs = () => Math.max(0, Math.round(clock.currentTimeMillisUnsafe() - startedAt))
  }

  /** Gives what is shown of it. */
  write({ bytes, stream }: Output): ReadonlyArray<Progress> {
    this.bytes[stream] += bytes.length
    this.last = undefined
    const decoder = this.decoders[stream]
    const plain = decoder.decodePlain(bytes)
    if (plain === undefined) return this.show(stream, decoder.decode(bytes))
    if (plain.length === 1) this.text.gather(plain[0] ?? "")
    else this.text.writePlain(bytes)
    return plain.map((text) => ({ stream, text }))
  }

  /** No more comes of this stream. */
  end(stream: Output["stream"]): ReadonlyArray<Progress> {
    return this.show(stream, this.decoders[stream].end())
  }

  get rendered(): Rendered {
    return (this.last ??= this.text.render())
  }

  known(): Partial {
    const { marker, omittedBytes, text } = this.rendered
    return {
      output: text,
      stdoutBytes: this.bytes.stdout,
      stderrBytes: this.bytes.stderr,
      omittedBytes,
      ...(marker === undefined ? {} : { marker }),
      ...this.rest,
      durationMs: this.elapsedMs()
    }
  }

  private show(stream: Output["stream"], text: string): ReadonlyArray<Progress> {
    this.last = undefined
    this.text.write(text)
    return pieces(text).map((text) => ({ stream, text }))
  }
}
