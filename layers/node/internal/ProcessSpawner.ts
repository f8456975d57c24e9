/**
 * Starts processes, and holds them until nothing of them is left.
 *
 * Loaded by the first that is started: most calls of a program that makes one start none.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ChildProcess, type ChildProcessByStdio, spawn as spawnChild } from "node:child_process"
import * as fs from "node:fs"
import { Socket } from "node:net"
import * as path from "node:path"
import type { Readable, Writable } from "node:stream"
import {
  type Command,
  type Containment,
  type ExitStatus,
  type LeftBehind,
  type Process,
  type Processes,
  SpawnFailed
} from "../../../src/Processes.ts"
import { CurrentSandbox, type Sandbox } from "../../../src/Sandbox.ts"
import { CurrentSession } from "../../../src/Session.ts"
import { CurrentToolCall } from "../../../src/ToolCall.ts"
import { type Cell, choose, kept, systemFacts } from "./ProcessContainment.ts"
import type * as ProcessEnvironment from "./ProcessEnvironment.ts"
import { ProcessGroup } from "./ProcessGroup.ts"
import { ProcessOutput } from "./ProcessOutput.ts"
import * as ProcessSandbox from "./ProcessSandbox.ts"
import type { ProcessTable } from "./ProcessTable.ts"
import * as ProgramPath from "./ProgramPath.ts"

/** Time for a command to end after SIGTERM, in ms. Shorter cuts clean-ups off; longer makes a cancelled call seem stuck. */
const graceMs = 2_000

/** The same for what a command left behind when it had exited by itself. The model waits for it. */
const sweepGraceMs = 500

/** There is no terminal and nobody to answer: what would ask, page or open an editor must not. */
const unattended = {
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  EDITOR: "true",
  VISUAL: "true",
  GIT_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0"
}

type Child = ChildProcessByStdio<Writable | null, Readable, Readable>

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly containment: Containment | "best"
  readonly environment: ReturnType<typeof ProcessEnvironment.make>
  /** Of the user. */
  readonly home: string
  readonly bwrap: string | undefined
}

/**
 * Should the program exit before the scope closes, what runs is killed on the way out.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (
  table: ProcessTable | undefined,
  { bwrap, containment, environment: { passed, withheld }, home }: Options
): Effect.fn.Return<Processes["Service"]["spawn"], never, Scope.Scope> {
  const running = yield* killedAtExit
  const cells = choose(containment, systemFacts(table))
  const environment = { ...passed, ...unattended }
  const sandboxes = yield* ProcessSandbox.make(ProcessSandbox.maker(bwrap), home)
  // What keeps them together is part of every sandbox.
  const sandboxedCells = choose("marker", systemFacts(table))

  return Effect.fnUntraced(function* (command: Command) {
    const session = yield* CurrentSession
    const sandbox = yield* CurrentSandbox
    const call = yield* Effect.serviceOption(CurrentToolCall)
    const callId = call._tag === "Some" ? call.value.callId : undefined
    const cwd = path.resolve(session.workspace, command.cwd ?? ".")
    const way: Way =
      sandbox.length === 0
        ? { cells: () => cells(callId) }
        : { cells: () => sandboxedCells(callId), launch: (cwd) => sandboxes(sandbox, session, cwd) }
    const kept = withheld.filter((name) => command.env?.[name] === undefined)
    // What ends it asks for nothing of its caller's: `acquireRelease` would merge two contexts for it.
    const started = Effect.uninterruptible(
      Effect.flatMap(Effect.scope, (scope) =>
        Effect.flatMap(start(command, cwd, environment, way), (started) => {
          const self = new Running(started, running, table, kept)
          return Effect.as(Scope.addFinalizer(scope, self.end), self)
        })
      )
    )
    return yield* sandbox.length === 0
      ? Effect.map(started, (self): Process => self)
      : inSandbox(sandbox, started, maxSandboxes)
  })
})

/** The groups that run. */
const killedAtExit: Effect.Effect<Set<ProcessGroup>, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const groups = new Set<ProcessGroup>()
      const kill = () => {
        for (const group of groups) group.signal("SIGKILL")
      }
      process.once("exit", kill)
      return { groups, kill }
    }),
    ({ kill }) => Effect.sync(() => process.removeListener("exit", kill))
  ),
  ({ groups }) => groups
)

/** A process from its start until nothing of its group is left. */
class Running implements Process {
  readonly pid: number
  readonly containment: Containment
  readonly output: Process["output"]
  readonly exit: Effect.Effect<ExitStatus>
  readonly sweep: Effect.Effect<ReadonlyArray<LeftBehind>>
  /** What the scope does when it closes. */
  readonly end: Effect.Effect<void>
  readonly withheld: ReadonlyArray<string>
  /** What was started. */
  readonly program: string
  /** Waits until its sandbox, if it has one, was made, or failed. */
  readonly isMade: Effect.Effect<boolean>

  constructor(
    { cell, child, isMade }: Started,
    running: Set<ProcessGroup>,
    table: ProcessTable | undefined,
    withheld: ReadonlyArray<string>
  ) {
    const pid = child.pid
    const group = new ProcessGroup(pid, cell, table)
    const output = new ProcessOutput(child.stdout, child.stderr, () => group.isBusy)
    const exit = Deferred.makeUnsafe<ExitStatus>()
    running.add(group)
    child.once("exit", (code, signal) => {
      group.leaderReaped = true
      group.leaderKilled = signal === "SIGKILL"
      output.exited()
      Deferred.doneUnsafe(
        exit,
        Effect.succeed(signal === null ? { _tag: "Exited", code: code ?? 0 } : { _tag: "Signalled", signal })
      )
    })
    // A signal that could not be sent, which `group` sends, and sees for itself.
    child.on("error", () => {})

    let swept: ReadonlyArray<LeftBehind> | undefined
    this.pid = pid
    this.withheld = withheld
    this.program = child.spawnfile
    this.isMade = isMade
    this.containment = cell.level
    this.exit = Deferred.await(exit)
    // Its end does not close the pipes: one who was left behind and writes would die of that before it is named.
    this.output = Stream.fromPull(Effect.succeed(output.pull))
    this.sweep = Effect.uninterruptible(
      Effect.suspend(() => {
        if (swept !== undefined) return Effect.succeed(swept)
        output.discard()
        return Effect.map(group.end(group.leaderReaped ? sweepGraceMs : graceMs), (left) => {
          swept = left
          output.close()
          running.delete(group)
          return swept
        })
      })
    )
    this.end = Effect.asVoid(this.sweep)
  }
}

/** A process that was started, and what it is held in. */
interface Started {
  readonly child: Child & { readonly pid: number }
  readonly cell: Cell
  readonly isMade: Effect.Effect<boolean>
}

/** What is to be hidden may vanish while it is hidden. More than so often is no accident. */
const maxSandboxes = 5

/** Starts a process until its sandbox is made, so that nothing was run where it was not. */
const inSandbox = (
  sandbox: Sandbox,
  started: Effect.Effect<Running, SpawnFailed, Scope.Scope>,
  times: number
): Effect.Effect<Process, SpawnFailed, Scope.Scope> =>
  Effect.flatMap(started, (process) =>
    Effect.flatMap(process.isMade, (isMade) => {
      if (isMade) return Effect.succeed<Process>(process)
      if (times > 1) return Effect.andThen(process.end, inSandbox(sandbox, started, times - 1))
      const said = Stream.runFold(
        process.output,
        () => "",
        (text, { bytes }) => text + Buffer.from(bytes).toString()
      )
      return Effect.flatMap(said, (text) =>
        ProcessSandbox.cannotBeMade(sandbox, process.program, text.trim().split("\n")[0] ?? "")
      )
    })
  )

/** How commands are started: as they are, in a cell, or as a sandbox wants it. */
interface Way {
  readonly cells: () => Cell
  readonly launch?: (cwd: string) => ReturnType<ProcessSandbox.Sandboxes>
}

/** Starts a process, or says why not. Node says so either at once or in an event. */
const start = (
  command: Command,
  cwd: string,
  environment: NodeJS.ProcessEnv,
  { cells, launch }: Way
): Effect.Effect<Started, SpawnFailed> =>
  Effect.suspend(() => {
    const cell = cells()
    const failed = (error: unknown) => diagnose(error, command, cwd)
    // Later wins. Node changes the directory and leaves the variable that says where it is.
    const env: NodeJS.ProcessEnv = { ...environment, PWD: cwd, ...command.env, ...cell.env }
    const { input } = command
    // Node's pipe is a socket. A first shell takes one for a remote login, and `bash -c` reads ~/.bashrc then.
    if (input !== undefined && !(Number(env.SHLVL) >= 1)) env.SHLVL = "1"
    const spawned = (wanted: ProcessSandbox.Launch): Effect.Effect<Started, SpawnFailed> => {
      const child = Effect.try({
        try: (): Child => {
          // What runs a command in a cell reports one that is not there by an exit code, like any other.
          if (wanted.program !== command.program && ProgramPath.find(command.program, cwd, env.PATH) === undefined)
            throw notFound
          return spawnLaunch(wanted, input !== undefined)
        },
        catch: failed
      })
      return Effect.flatMap(child, (child) => {
        // Its reader has left, or never came: that is for its status to say.
        child.stdin?.on("error", () => {}).end(input)
        return hasPid(child)
          ? Effect.succeed({
              child,
              cell: wanted.isKeeper ? kept(cell) : cell,
              isMade: wanted.told === undefined ? Effect.succeed(true) : isMadeBy(child)
            })
          : Effect.callback<never, SpawnFailed>((resume) => {
              child.once("error", (error) => resume(Effect.fail(failed(error))))
              child.stdout.destroy()
              child.stderr.destroy()
            })
      })
    }
    const { program } = command
    const started =
      launch === undefined
        ? spawned({ program: cell.program(program), args: cell.args(program, command.args), cwd, env, isKeeper: false })
        : Effect.try({ try: () => fs.realpathSync(cwd), catch: failed }).pipe(
            Effect.flatMap((real) =>
              Effect.flatMap(launch(real), (wanted) =>
                Effect.try({
                  try: () => wanted({ program, args: command.args, cwd: real, env, keeperEnv: cell.env }),
                  catch: failed
                })
              )
            ),
            Effect.flatMap(spawned)
          )
    return Effect.tapError(started, () => cell.close)
  })

const spawnLaunch = (launch: ProcessSandbox.Launch, hasInput: boolean): Child => {
  const { args, closed, cwd, env, told } = launch
  // Windows looks in other places, and for other names.
  const isLooked = process.platform !== "win32" && !launch.program.includes("/")
  const found = isLooked ? ProgramPath.find(launch.program, cwd, env.PATH) : undefined
  // If it is not there, the system is to say so.
  const program = found ?? launch.program
  const options = { cwd, env, detached: true, argv0: launch.program }
  if (told === undefined && closed === undefined) {
    return hasInput
      ? spawnChild(program, args, { ...options, stdio: ["pipe", "pipe", "pipe"] })
      : spawnChild(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] })
  }
  const standing = (fd: number): "pipe" | "ignore" | number =>
    fd <= 4 && told !== undefined ? "pipe" : closed?.fds.includes(fd) === true ? closed.by : "ignore"
  const others = Array.from({ length: Math.max(4, ...(closed?.fds ?? [])) - 2 }, (_, i) => standing(i + 3))
  const child = spawnChild(program, args, {
    ...options,
    stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe", ...others]
  })
  const pipe = child.stdio[3]
  if (!hasPipes(child)) throw new TypeError("a pipe is missing")
  // It may have ended before it was told.
  if (told !== undefined && pipe instanceof Socket) pipe.on("error", () => {}).end(told, () => pipe.destroy())
  return child
}

/** Whether who makes the sandbox takes the byte that waits for it; it does so when the sandbox is made. */
const isMadeBy = (child: ChildProcess): Effect.Effect<boolean> => {
  const made = Deferred.makeUnsafe<boolean>()
  const settle = (isMade: boolean) => Deferred.doneUnsafe(made, Effect.succeed(isMade))
  const pipe = child.stdio[4]
  if (pipe instanceof Socket) {
    pipe
      .on("error", () => settle(false))
      .on("end", () => settle(true))
      .on("close", () => settle(false))
    pipe.resume().write("\0")
  }
  return Deferred.await(made)
}

const hasPipes = (child: ChildProcess): child is Child => child.stdout !== null && child.stderr !== null

/** What Node says of a program that is not there. */
const notFound = Object.assign(new Error("not found"), { code: "ENOENT" })

const hasPid = (child: Child): child is Child & { readonly pid: number } => child.pid !== undefined

/** The directory is looked at only now: a look before the start costs every command, and may be out of date at the start. */
const diagnose = (error: unknown, { program }: Command, cwd: string): SpawnFailed => {
  const { code, message } = error as NodeJS.ErrnoException
  const directory = problemOf(cwd)
  if (directory !== undefined) {
    return new SpawnFailed({
      reason: "WorkingDirectory",
      message: `The working directory ${cwd} ${directory}. Nothing was run. Give \`cwd\` a directory that exists.`
    })
  }
  switch (code) {
    case "ENOENT":
      return new SpawnFailed({
        reason: "ProgramNotFound",
        message: `The program ${program} was not found on the PATH. Nothing was run.`
      })
    case "E2BIG":
      return new SpawnFailed({
        reason: "ArgumentsTooLong",
        message:
          "The command with its environment is too long for the operating system (on Linux 128 KiB for each " +
          "argument or variable, about 2 MiB for all). Nothing was run. Write long data to a file first."
      })
    default:
      return new SpawnFailed({
        reason: "Other",
        message: `${program} could not be started: ${message}. Nothing was run.`
      })
  }
}

/** What is wrong with a working directory, if anything. */
const problemOf = (directory: string): string | undefined => {
  try {
    if (!fs.statSync(directory).isDirectory()) return "is not a directory"
    fs.accessSync(directory, fs.constants.X_OK)
    return undefined
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return code === "ENOENT"
      ? "does not exist"
      : code === "ENOTDIR"
        ? "is not a directory"
        : `cannot be entered (${code})`
  }
}
