/**
 * `build`: build the project and say what is wrong with it. Its log is progress,
 * line by line; the result has the diagnostics that compilers, linters and tests
 * wrote, and the end of the log.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as CommandTask from "../../src/CommandTask.ts"
import { cutToText, isBlank, LastLines, OutputLines } from "../../src/OutputLines.ts"
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
import * as Spill from "../../src/Spill.ts"
import * as Sandbox from "../../src/Sandbox.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolContent from "../../src/ToolContent.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { FileUnreachable, WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import { Diagnostic, Diagnostics, maxKept } from "./Diagnostics.ts"
import type { Found } from "./Family.ts"
import { find, NoBuildFound } from "./Project.ts"

/** UTF-16 code units told of a line. Less cuts the messages of compilers; more of one line says little. */
const maxLine = 2_000

/** What is returned of the end of the log: some 3,000 tokens. The diagnostics are returned by themselves. */
const tailLimits = { maxLines: 100, maxUnits: 12_000 }

const known = {
  command: Schema.String.annotate({ description: "The command that was run." }),
  diagnostics: Schema.Array(Diagnostic).annotate({
    description: `What is wrong, and where, each once: the first ${maxKept}, errors before all else.`
  }),
  errors: Schema.Natural.annotate({ description: "Diagnostics that are errors, returned or not." }),
  warnings: Schema.Natural.annotate({ description: "Diagnostics that are warnings, returned or not." }),
  tail: Schema.Array(Schema.String).annotate({ description: "The last lines of the log." }),
  cutLines: Schema.Natural.annotate({ description: `Lines of these that go on after ${maxLine} UTF-16 code units.` }),
  omittedLines: Schema.Natural.annotate({ description: "Lines before these." }),
  spill: Schema.optionalKey(
    Spill.Spilled.annotate({ description: "Where all of the raw log is, if `tail` does not show all of its lines." })
  ),
  ...Aftermath.fields
}

/**
 * What is known of a build that has not ended.
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
export const Built = Schema.Struct({
  exit: ExitStatus,
  ...known,
  withheld: Withheld,
  sandbox: Sandbox.Told
})
export type Built = typeof Built.Type

const isError = ({ exit }: Built): boolean => !isSuccess(exit)

/** What a model reads: the diagnostics, the end of the log unless all is well, and how it ended. */
const content = (
  self: Partial,
  end: string,
  withTail: boolean,
  notes: ReadonlyArray<string> = []
): ReadonlyArray<ToolContent.ToolContent> => {
  const { command, diagnostics, errors, omittedLines, tail, warnings } = self
  const status = [
    `${command}: ${end}`,
    `${count(errors, "error")}, ${count(warnings, "warning")}.`,
    ...(withTail && tail.length === 0 ? ["No output."] : []),
    ...(withTail && omittedLines > 0 ? [`${omittedLines} lines of the log are omitted.`] : []),
    ...(withTail ? cutToText(self.cutLines, maxLine) : []),
    ...(self.spill === undefined ? [] : [Spill.toText(self.spill)]),
    ...notes,
    ...aftermathToText(self)
  ]
  return [
    ...(diagnostics.length === 0 ? [] : [ToolContent.text(diagnostics.map(describe).join("\n"))]),
    ...ToolContent.withNote(withTail ? tail.join("\n") : "", status.join(" "))
  ]
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`

const describe = ({ code, column, file, line, message, severity }: Diagnostic): string =>
  `${[file, line, column].filter((part) => part !== undefined).join(":")}: ${severity}${
    code === undefined ? "" : ` ${code}`
  }: ${message}`

const description =
  "Builds the project and returns the diagnostics of its compilers, linters and tests (tsc, gcc, clang, rustc, go, " +
  "eslint, pytest, cmake, make) by file and line, and the end of the log. Finds the build from package.json, Cargo.toml, " +
  "go.mod, Makefile, CMakeLists.txt or pyproject.toml, unless a command is given. Give a command to run tests or a linter."

/**
 * Runs the build of the project, or the command that is given, and reads its log.
 * A build that fails is a success of this tool that is to be seen as an error.
 *
 * **Details**
 *
 * Lines are as `monitor` tells them, and none is suppressed. How the build is found
 * is said in `Project`.
 *
 * @category tools
 * @since 0.1.0
 */
export class Build extends Tool.Service<Build>()("build", {
  title: "Build the project",
  description,
  describe: Sandbox.describe(description),
  parameters: {
    command: Schema.optionalKey(
      Schema.NonEmptyString.annotate({
        description: "Run as `bash -c COMMAND`. Default: the build that is found in the directory."
      })
    ),
    cwd: Schema.optionalKey(
      Schema.String.annotate({
        description: "Directory of the project, absolute or relative to the workspace. Default: the workspace."
      })
    ),
    timeoutMs: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 })).annotate({
        description: "Milliseconds after which the build is ended. Default: never."
      })
    )
  },
  progress: Schema.Struct({
    stream: Schema.Literals(["stdout", "stderr"]),
    line: Schema.String,
    /** UTF-16 code units that are missing at the end of the line. */
    omittedUnits: Schema.optionalKey(Schema.Natural)
  }),
  success: Built,
  partial: Partial,
  failure: Schema.Union([NoBuildFound, FileUnreachable, SpawnFailed]),
  isError,
  // Two builds of one project write the same files.
  resources: ({ cwd = "." }) => ({ writes: [`build:${cwd}`] }),
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  // More than processes get between SIGTERM and SIGKILL: nearly every command is stopped and none given up.
  clocks: ({ timeoutMs }) => ({ grace: 3_000, ...(timeoutMs === undefined ? {} : { total: timeoutMs }) }),
  toContent: (built) => {
    const { exit } = built
    const end = exit._tag === "Exited" ? `exit status ${exit.code}.` : `killed by ${exit.signal}.`
    // Only where it may be the reason.
    return content(built, end, isError(built), isError(built) ? Sandbox.toText(built.sandbox ?? Sandbox.off) : [])
  },
  toPartialContent: (partial) => content(partial, "stopped before its end.", true)
}) {}

type Progress = Tool.Progress<typeof Build>

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = Build.toLayer(
  Effect.gen(function* () {
    const files = yield* WorkspaceFiles
    const path = yield* Path.Path
    const processes = yield* Processes
    const commands = yield* CommandTask.make

    return ({ command, cwd = "." }: Tool.Parameters<typeof Build>) =>
      ToolStream.suspend(() => {
        const log = new Log()
        return ToolStream.callbackArray<Progress, Built, NoBuildFound | FileUnreachable | SpawnFailed, Scope.Scope>(
          Effect.fnUntraced(function* (emit) {
            log.start(yield* Clock.Clock)
            const { path: directory, type } = yield* files.resolve(cwd)
            if (type === "file") return yield* new FileUnreachable({ path: cwd, reason: { _tag: "WrongType", type } })
            const workspace = yield* files.resolve(".")
            log.place = placing(path, workspace.path, directory)
            log.command = command ?? (yield* find(files, path, directory))
            const tell = Effect.suspend(() => {
              const lines = log.take()
              return Arr.isReadonlyArrayNonEmpty(lines) ? emit(lines) : Effect.void
            })
            const spawn = processes.spawn(bashCommand(log.command, { cwd: directory }))
            const running = yield* commands.attended(
              { command: log.command, spawn },
              {
                output: (output) => {
                  log.read(output)
                  return tell
                },
                end: Effect.suspend(() => {
                  log.end()
                  return tell
                })
              }
            )
            const { exit } = yield* CommandTask.settle(running, {
              isCut: () => log.isCut,
              tell: (rest) => {
                log.rest = rest
              }
            })
            return { exit, ...log.known(), withheld: running.withheld, ...(yield* Sandbox.told) }
          })
        ).pipe(ToolStream.withPartial(() => log.known()))
      })
  })
)

/** How a file of a diagnostic is shown: both paths have their links resolved. */
const placing =
  (path: Path.Path, workspace: string, base: string) =>
  ({ directory, file }: Found): string => {
    const absolute = path.resolve(base, directory ?? ".", file)
    const relative = path.relative(workspace, absolute)
    return relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative) ? absolute : relative
  }

/** What one call has seen so far. */
class Log {
  command = ""
  place: (found: Found) => string = ({ file }) => file
  rest: CommandTask.Rest = { leftBehind: [] }
  private readonly diagnostics = new Diagnostics()
  private readonly tail = new LastLines(tailLimits)
  private readonly streams: Readonly<Record<Output["stream"], OutputLines>>
  private lines: Array<Progress> = []
  private elapsedMs: () => number = () => 0

  constructor() {
    const lines = (stream: Output["stream"]) =>
      new OutputLines(maxLine, (line, omittedUnits) => {
        this.diagnostics.read(line)
        if (isBlank(line)) return
        this.tail.add(line, omittedUnits)
        this.lines.push(omittedUnits === 0 ? { stream, line } : { stream, line, omittedUnits })
      })
    this.streams = { stdout: lines("stdout"), stderr: lines("stderr") }
  }

  start(clock: Clock.Clock): void {
    const startedAt = clock.currentTimeMillisUnsafe()
    this.elapsedMs = () => Math.max(0, Math.round(clock.currentTimeMillisUnsafe() - startedAt))
  }

  read({ bytes, stream }: Output): void {
    this.streams[stream].write(bytes)
  }

  end(): void {
    this.streams.stdout.end()
    this.streams.stderr.end()
    this.diagnostics.end()
  }

  /** `tail` is not all of it. */
  get isCut(): boolean {
    return this.tail.cutLines > 0 || this.tail.total > this.tail.render().length
  }

  take(): ReadonlyArray<Progress> {
    const { lines } = this
    this.lines = []
    return lines
  }

  known(): Partial {
    const tail = this.tail.render()
    const { error, warning } = this.diagnostics.counts
    return {
      command: this.command,
      diagnostics: this.diagnostics.kept().map((found) => {
        const { directory: _directory, ...diagnostic } = found
        return { ...diagnostic, file: this.place(found) }
      }),
      errors: error,
      warnings: warning,
      tail,
      cutLines: this.tail.cutLines,
      omittedLines: this.tail.total - tail.length,
      ...this.rest,
      durationMs: this.elapsedMs()
    }
  }
}
