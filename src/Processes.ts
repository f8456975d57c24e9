/**
 * The port through which tools run processes of the operating system.
 *
 * **Contract**
 *
 * - A process leads a session and a process group of its own, without a terminal,
 *   and reads /dev/null, or the input that it was given and then end-of-file. That
 *   it does not read all of it is no failure: what it makes of its input is its own.
 * - It is contained by the scope it was spawned in: when that closes, it and all
 *   that it started get SIGTERM and, after a grace period, SIGKILL; closing returns
 *   when nothing of it is alive. How far that reaches says `containment`.
 * - `output` ends when the command has exited and its pipes are empty, not at
 *   end-of-file: what the command left behind may hold the pipes open for ever.
 *   No byte that the command itself wrote is lost.
 * - Output that nobody pulls blocks the process, and holds no memory.
 * - It runs in the sandbox of who spawns it, `CurrentSandbox`, or not at all.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/**
 * What to run, and how.
 *
 * @category models
 * @since 0.1.0
 */
export interface Command {
  /** A name found on the PATH, or an absolute path. */
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** Absolute, or relative to the session's workspace, which is the default. */
  readonly cwd?: string | undefined
  /** Set in addition to the environment that the port passes on. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** What it reads on stdin, text as UTF-8. Default: nothing. */
  readonly input?: string | Uint8Array | undefined
}

/** Bytes in one argument of a program on Linux, its final NUL included (MAX_ARG_STRLEN). */
const maxArgument = 128 * 1024

/** UTF-16 code units in one part of a longer script: at most three bytes each. */
const partLength = 40_000

/**
 * Runs a script as `bash -c SCRIPT` does, however long it is, up to 2 MiB.
 *
 * **Details**
 *
 * One that is too long for an argument is given in parts, which bash joins and
 * evaluates in place of the script, with no parameters left. Only the prefix of a
 * syntax error's message tells the difference. A file or stdin would be seen: `$0`
 * changes, and what the script itself starts could read the rest of it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const bashCommand = (script: string, options: Pick<Command, "cwd" | "env"> = {}): Command => ({
  ...options,
  program: "bash",
  args: argumentsOf(script)
})

const argumentsOf = (script: string): ReadonlyArray<string> => {
  if (script.length * 3 < maxArgument || new TextEncoder().encode(script).length < maxArgument) return ["-c", script]
  const parts: Array<string> = []
  for (let from = 0; from < script.length;) {
    const end = from + partLength
    const last = script.charCodeAt(end - 1)
    // Not between the halves of a surrogate pair.
    const to = last >= 0xd800 && last <= 0xdbff ? end - 1 : end
    parts.push(script.slice(from, to))
    from = to
  }
  const joined = parts.map((_, index) => `\${${index + 1}}`).join("")
  return ["-c", `eval "shift ${parts.length};${joined}"`, "bash", ...parts]
}

/**
 * How a process ended.
 *
 * @category models
 * @since 0.1.0
 */
export const ExitStatus = Schema.Union([
  Schema.TaggedStruct("Exited", { code: Schema.Int }),
  Schema.TaggedStruct("Signalled", {
    signal: Schema.String.annotate({ description: "Name of the signal, such as SIGKILL." })
  })
])
export type ExitStatus = typeof ExitStatus.Type

/**
 * Whether a process exited with status 0.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isSuccess = (exit: ExitStatus): boolean => exit._tag === "Exited" && exit.code === 0

/**
 * A process that outlived the command, and what became of it: ended by SIGTERM,
 * by SIGKILL, or still alive, because no signal ends it.
 *
 * @category models
 * @since 0.1.0
 */
export const LeftBehind = Schema.Struct({
  /** Of its group where no more is known. */
  pid: Schema.Int,
  /** Of its program, as the system shortens it. */
  name: Schema.optionalKey(Schema.String),
  fate: Schema.Literals(["terminated", "killed", "alive"])
})
export type LeftBehind = typeof LeftBehind.Type

/**
 * What a program left running that died.
 *
 * @category models
 * @since 0.1.0
 */
export interface Leftover extends LeftBehind {
  /** The call that started it. */
  readonly callId?: string
}

/**
 * What a tool tells of a command, whatever its output is for, once it is swept.
 *
 * @category models
 * @since 0.1.0
 */
export const Aftermath = Schema.Struct({
  leftBehind: Schema.Array(LeftBehind).annotate({ description: "Processes that outlived the command." }),
  durationMs: Schema.Natural
})
export type Aftermath = typeof Aftermath.Type

/**
 * Names of the environment variables that the port kept from a command.
 *
 * @category models
 * @since 0.1.0
 */
export const Withheld = Schema.Array(Schema.String).annotate({
  description: "Names of environment variables that were not passed to the command."
})

/** A duration from here on, in ms, is worth telling a model. */
const longMs = 10_000

/**
 * What a model is to know of it, a sentence each: nothing if nobody was left
 * behind and it took less than 10 s.
 *
 * @category converting
 * @since 0.1.0
 */
export const aftermathToText = ({ durationMs, leftBehind }: Aftermath): ReadonlyArray<string> => [
  ...(leftBehind.length === 0 ? [] : [`Left in the background: ${leftBehind.map(nameLeft).join(", ")}.`]),
  ...(durationMs < longMs ? [] : [`Took ${Math.round(durationMs / 1000)} s.`])
]

/**
 * For people: what it was, and what became of it.
 *
 * @category converting
 * @since 0.1.0
 */
export const nameLeft = ({ fate, name, pid }: LeftBehind): string =>
  `${name === undefined ? "process" : name} (pid ${pid}, ${fate === "alive" ? "still running" : fate})`

/**
 * A piece of output, as it was read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Output {
  readonly stream: "stdout" | "stderr"
  /** Valid until the next pull, which may free it: copy what is kept. */
  readonly bytes: Uint8Array
}

/**
 * By what those are known that a command starts, the best first:
 *
 * - `namespace`: the kernel keeps them together, and ends them with the command.
 * - `cgroup`: the kernel keeps a list of them.
 * - `marker`: by a variable in their environment, by their descent, and by their
 *   session. Not reached is who leaves the session, empties or overwrites its
 *   environment, and has lost all kin.
 * - `group`: by their process group; who makes another is not reached. On Windows
 *   only the command itself is.
 *
 * @category models
 * @since 0.1.0
 */
export const Containment = Schema.Literals(["namespace", "cgroup", "marker", "group"])
export type Containment = typeof Containment.Type

/**
 * @category models
 * @since 0.1.0
 */
export interface Process {
  readonly pid: number
  /** Missing where nothing runs that could be contained, as in a script for tests. */
  readonly containment?: Containment | undefined
  /** To be run once. Who still writes when it has ended waits, until `sweep`. */
  readonly output: Stream.Stream<Output>
  /**
   * Waits for the command itself, not for what it leaves behind. In a sandbox of Linux a death by a signal is the exit
   * status 128 + its number.
   */
  readonly exit: Effect.Effect<ExitStatus>
  /**
   * Ends whatever of the process is alive, and gives what outlived the command. Run before `exit` it ends the command
   * too. The scope's closing runs it; it works once, and remembers what it found. A `namespace` ends with its command:
   * what is left in it then is killed at once, and not named.
   */
  readonly sweep: Effect.Effect<ReadonlyArray<LeftBehind>>
  /** Names of environment variables that were not passed on. */
  readonly withheld: ReadonlyArray<string>
}

/**
 * The command could not be run. Nothing was started.
 *
 * @category errors
 * @since 0.1.0
 */
export class SpawnFailed extends Schema.TaggedError<SpawnFailed>()("SpawnFailed", {
  /** What was wrong: the working directory, the program, the size of the arguments, the sandbox, or anything else. */
  reason: Schema.Literals(["WorkingDirectory", "ProgramNotFound", "ArgumentsTooLong", "SandboxUnavailable", "Other"]),
  /** Says what was wrong with which path or limit, and what to do. */
  message: Schema.String
}) {}

/**
 * @category services
 * @since 0.1.0
 */
export class Processes extends Context.Service<
  Processes,
  {
    readonly spawn: (command: Command) => Effect.Effect<Process, SpawnFailed, Scope.Scope>
    /** What programs left running that died: it was ended before anything was started. */
    readonly leftovers: ReadonlyArray<Leftover>
  }
>()("toolstream/Processes") {}
