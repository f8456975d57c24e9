/**
 * `monitor`: run a command and tell each line of its output as an event.
 *
 * **Details**
 *
 * A line ends with a line feed, or with the output. Escape sequences are left out;
 * a carriage return starts the line anew, so that of a progress bar the last frame
 * is told; blank lines are skipped and not counted. A line is told as soon as its
 * end is read, unless there are too many: a bucket holds the events of one second
 * and is refilled at the given rate. While it is empty lines are suppressed and
 * counted, except that the last line of a flood is told when the bucket allows it,
 * or when the command ends: what a command says before it falls silent is never
 * suppressed. The next event carries the count. A line that matches `until` is
 * always told.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as CommandTask from "../src/CommandTask.ts"
import { cutToText, isBlank, LastLines, OutputLines } from "../src/OutputLines.ts"
import { InvalidPattern, type Pattern, Patterns } from "../src/Patterns.ts"
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
} from "../src/Processes.ts"
import * as Spill from "../src/Spill.ts"
import * as Sandbox from "../src/Sandbox.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolContent from "../src/ToolContent.ts"
import * as ToolStream from "../src/ToolStream.ts"

/** Events a second when the call names no rate: more than anybody follows, and a flood of it costs a model its context. */
const defaultRate = 50

/** UTF-16 code units told of a line. Less cuts stack traces of one line; more of one line says little. */
const maxLine = 2_000

/** What is returned of the end: some 2,000 tokens. The lines were told as they came. */
const tailLimits = { maxLines: 50, maxUnits: 8_000 }

const known = {
  lines: Schema.Natural.annotate({ description: "Lines that were not blank." }),
  suppressed: Schema.Natural.annotate({ description: "Lines of these that were not told as events." }),
  tail: Schema.Array(Schema.String).annotate({ description: "The last lines, told or not." }),
  cutLines: Schema.Natural.annotate({ description: `Lines of these that go on after ${maxLine} UTF-16 code units.` }),
  spill: Schema.optionalKey(
    Spill.Spilled.annotate({ description: "Where all of the raw output is, if `tail` does not show all of its lines." })
  ),
  ...Aftermath.fields
}

/**
 * What is known of a command that is still watched.
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
  /** Of a command that was ended at a match: how that ended it. */
  exit: ExitStatus,
  matched: Schema.optionalKey(Schema.String).annotate({
    description: "The line that matched `until`. The command was ended then."
  }),
  ...known,
  withheld: Withheld,
  sandbox: Sandbox.Told
})
export type Completed = typeof Completed.Type

const isError = ({ exit, matched }: Completed): boolean => matched === undefined && !isSuccess(exit)

/** What a model reads: the last lines, and how it ended. */
const content = (
  self: Partial,
  end: string,
  notes: ReadonlyArray<string> = []
): ReadonlyArray<ToolContent.ToolContent> =>
  ToolContent.withNote(
    self.tail.join("\n"),
    [
      end,
      ...(self.lines === 0 ? ["No output."] : []),
      ...(self.lines > self.tail.length ? [`${self.lines} lines, the last ${self.tail.length} are shown.`] : []),
      ...cutToText(self.cutLines, maxLine),
      ...(self.spill === undefined ? [] : [Spill.toText(self.spill)]),
      ...(self.suppressed > 0 ? [`${self.suppressed} were too many and not told as events.`] : []),
      ...notes,
      ...aftermathToText(self)
    ].join(" ")
  )

const description =
  "Runs a command in bash, in the workspace, and reports each line of its output as an event while it runs, then how it " +
  "ended and its last lines. With `until` it ends at the first line that matches, and ends the command: use it to wait " +
  "for something. Blank lines are skipped; of a line that is redrawn (progress bars) the last state is reported. There " +
  "is no terminal and stdin is empty."

/**
 * Runs a command as `bash` does and tells each complete line of its output as one
 * event. It succeeds when the command exits, whatever the status, or when a line
 * matches `until`: then the command is ended.
 *
 * **Details**
 *
 * It has no time limit of its own: `timeoutMs` is the call's total clock.
 *
 * @category tools
 * @since 0.1.0
 */
export class Monitor extends Tool.Service<Monitor>()("monitor", {
  title: "Watch a command",
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
    env: Schema.optionalKey(
      Schema.Record(Schema.String, Schema.String).annotate({
        description: "Environment variables to set for the command."
      })
    ),
    timeoutMs: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 })).annotate({
        description: "Milliseconds after which the command is ended. Default: never."
      })
    ),
    maxEventsPerSecond: Schema.optionalKey(
      Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })).annotate({
        description:
          `Most events a second, 0 for no limit. Default: ${defaultRate}. The events of one second may come at once. ` +
          "Lines beyond are suppressed and counted; the last line before a silence is always reported."
      })
    ),
    until: Schema.optionalKey(
      Schema.NonEmptyString.annotate({
        description:
          "Regular expression (RE2 syntax: no look-around, no back-references) that is looked for in each line. The first " +
          "line that matches ends the command and the call, as a success."
      })
    )
  },
  progress: Schema.Struct({
    stream: Schema.Literals(["stdout", "stderr"]),
    line: Schema.String,
    /** UTF-16 code units that are missing at the end of the line. */
    omittedUnits: Schema.optionalKey(Schema.Natural),
    /** Lines between the event before and this one that were not told. */
    suppressed: Schema.optionalKey(Schema.Natural)
  }),
  success: Completed,
  partial: Partial,
  failure: Schema.Union([SpawnFailed, InvalidPattern]),
  isError,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  // More than processes get between SIGTERM and SIGKILL: nearly every command is stopped and none given up.
  clocks: ({ timeoutMs }) => ({ grace: 3_000, ...(timeoutMs === undefined ? {} : { total: timeoutMs }) }),
  toContent: (completed) => {
    const { exit, matched } = completed
    return content(
      completed,
      matched !== undefined
        ? "The last line matched, and the command was ended."
        : exit._tag === "Exited"
          ? `Exit status ${exit.code}.`
          : `Killed by ${exit.signal}.`,
      // Only where it may be the reason.
      isError(completed) ? Sandbox.toText(completed.sandbox ?? Sandbox.off) : []
    )
  },
  toPartialContent: (partial) => content(partial, "Stopped before its end.")
}) {}

type Progress = Tool.Progress<typeof Monitor>

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = Monitor.toLayer(
  Effect.gen(function* () {
    const processes = yield* Processes
    const patterns = yield* Patterns
    const commands = yield* CommandTask.make

    return ({ command, cwd, env, maxEventsPerSecond = defaultRate, until }: Tool.Parameters<typeof Monitor>) =>
      ToolStream.suspend(() => {
        const watch = new Watch(maxEventsPerSecond)
        return ToolStream.callbackArray<Progress, Completed, SpawnFailed | InvalidPattern, Scope.Scope>(
          Effect.fnUntraced(function* (emit) {
            if (until !== undefined) watch.until = yield* patterns.compile(until)
            watch.start(yield* Clock.Clock)
            const options = { command, spawn: processes.spawn(bashCommand(command, { cwd, env })) }
            const running = yield* commands.attended(options, viewing(watch, emit, yield* Effect.scope))
            if (until !== undefined) {
              yield* Effect.forkScoped(Effect.andThen(Deferred.await(watch.enough), running.stop("a match")))
            }
            const { exit } = yield* CommandTask.settle(running, {
              isCut: () => watch.isCut,
              tell: ({ leftBehind, ...rest }) => {
                watch.rest = {
                  ...rest,
                  leftBehind: watch.matched === undefined ? leftBehind : leftBehind.filter(CommandTask.isAlive)
                }
              }
            })
            const { matched } = watch
            return {
              exit,
              ...(matched === undefined ? {} : { matched }),
              ...watch.known(),
              withheld: running.withheld,
              ...(yield* Sandbox.told)
            }
          })
        ).pipe(ToolStream.withPartial(() => watch.known()))
      })
  })
)

/** Tells what is read as it is read. The process waits for its reader, and a line that is held for the bucket. */
const viewing = (
  watch: Watch,
  emit: (events: Arr.NonEmptyReadonlyArray<Progress>) => Effect.Effect<void>,
  scope: Scope.Scope
): CommandTask.Viewer => {
  const tell = Effect.suspend(() => {
    const events = watch.take()
    const told = Arr.isReadonlyArrayNonEmpty(events) ? emit(events) : Effect.void
    return watch.matched === undefined ? told : Effect.andThen(told, Deferred.succeed(watch.enough, undefined))
  })
  let releasing = false
  const release: Effect.Effect<void> = Effect.suspend(() => {
    releasing = watch.holds
    if (!releasing) return Effect.void
    return Effect.andThen(
      Effect.sleep(watch.untilRelease()),
      Effect.suspend(() => {
        watch.release()
        return Effect.andThen(tell, release)
      })
    )
  })
  return {
    output: (output) => {
      watch.read(output)
      return watch.holds && !releasing
        ? Effect.andThen(tell, Effect.forkIn(release, scope, { startImmediately: true }))
        : tell
    },
    end: Effect.suspend(() => {
      watch.end()
      return tell
    })
  }
}

/** What one call has seen so far, and what of it is to be told. */
class Watch {
  until: Pattern | undefined
  matched: string | undefined
  /** A line has matched, and was told. */
  readonly enough = Deferred.makeUnsafe<void>()
  rest: CommandTask.Rest = { leftBehind: [] }
  private readonly streams: Readonly<Record<Output["stream"], OutputLines>>
  private readonly tail = new LastLines(tailLimits)
  private readonly bucket: Bucket
  private lines = 0
  private suppressed = 0
  private events: Array<Progress> = []
  /** The last line, while it is not told. */
  private held: Progress | undefined
  /** Lines that were not told since the last event, without the one that is held. */
  private skipped = 0
  private clock: Clock.Clock | undefined
  private startedAt = 0
  /** Of the chunk that is read. */
  private now = 0

  constructor(rate: number) {
    this.bucket = new Bucket(rate)
    const lines = (stream: Output["stream"]) =>
      new OutputLines(maxLine, (line, omitted) => this.line(stream, line, omitted))
    this.streams = { stdout: lines("stdout"), stderr: lines("stderr") }
  }

  get holds(): boolean {
    return this.held !== undefined
  }

  start(clock: Clock.Clock): void {
    this.clock = clock
    this.startedAt = this.time()
  }

  read({ bytes, stream }: Output): void {
    this.now = this.time()
    this.streams[stream].write(bytes)
  }

  /** The output has ended. */
  end(): void {
    this.now = this.time()
    this.streams.stdout.end()
    this.streams.stderr.end()
    this.tellHeld()
  }

  /** `tail` is not all of it. */
  get isCut(): boolean {
    return this.tail.cutLines > 0 || this.lines > this.tail.render().length
  }

  /** In ms. */
  untilRelease(): number {
    return this.bucket.wait(this.time())
  }

  /** Tells the line that is held, if it is still the last one and the bucket allows it. */
  release(): void {
    if (this.held !== undefined && this.bucket.take(this.time())) this.tellHeld()
  }

  take(): ReadonlyArray<Progress> {
    const { events } = this
    this.events = []
    return events
  }

  known(): Partial {
    return {
      lines: this.lines,
      suppressed: this.suppressed,
      tail: this.tail.render(),
      cutLines: this.tail.cutLines,
      ...this.rest,
      durationMs: this.clock === undefined ? 0 : Math.max(0, Math.round(this.time() - this.startedAt))
    }
  }

  private line(stream: Output["stream"], line: string, omittedUnits: number): void {
    if (this.matched !== undefined || isBlank(line)) return
    this.lines++
    this.tail.add(line, omittedUnits)
    const event: Progress = omittedUnits === 0 ? { stream, line } : { stream, line, omittedUnits }
    if (this.until?.test(line)) this.matched = line
    if (this.bucket.take(this.now) || this.matched !== undefined) {
      if (this.held !== undefined) this.skipped++
      this.held = undefined
      this.tell(event)
    } else {
      if (this.held !== undefined) this.skipped++
      this.held = event
      this.suppressed++
    }
  }

  private tellHeld(): void {
    if (this.held === undefined) return
    this.suppressed--
    this.tell(this.held)
    this.held = undefined
  }

  private tell(event: Progress): void {
    this.events.push(this.skipped === 0 ? event : { ...event, suppressed: this.skipped })
    this.skipped = 0
  }

  private time(): number {
    return this.clock?.currentTimeMillisUnsafe() ?? 0
  }
}

/** A token bucket: `rate` a second, and as many at once as come in a second, at least one. */
class Bucket {
  private readonly rate: number
  private readonly size: number
  private tokens: number
  private filledAt: number | undefined

  /** With 0 it is never empty. */
  constructor(rate: number) {
    this.rate = rate
    this.size = rate === 0 ? Infinity : Math.max(1, rate)
    this.tokens = this.size
  }

  /** Whether there was one. */
  take(now: number): boolean {
    if (this.rate === 0) return true
    this.fill(now)
    if (this.tokens < 1) return false
    this.tokens--
    return true
  }

  /** Until there is one, in ms, rounded up: a clock that is asked a moment too early would be asked in a loop. */
  wait(now: number): number {
    this.fill(now)
    return Math.max(0, Math.ceil(((1 - this.tokens) * 1000) / this.rate))
  }

  private fill(now: number): void {
    // A clock that was set back refills nothing.
    const elapsed = Math.max(0, now - (this.filledAt ?? now))
    this.tokens = Math.min(this.size, this.tokens + (elapsed * this.rate) / 1000)
    this.filledAt = now
  }
}
