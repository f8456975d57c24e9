/**
 * How a command is started in a sandbox: by bubblewrap on Linux, by seatbelt on macOS.
 *
 * **Contract**
 *
 * - What was asked for is what the command gets, or it is not started.
 * - `/tmp` is a folder of the session, on the host's disk, gone with the session. What a program left that died, the next
 *   one removes.
 * - Bubblewrap says whether it made the sandbox before it runs anything in it; seatbelt is tried once.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { SpawnFailed } from "../../../src/Processes.ts"
import { type Sandbox, writes } from "../../../src/Sandbox.ts"
import type { Session } from "../../../src/Session.ts"
import * as Bubblewrap from "./Bubblewrap.ts"
import * as SandboxView from "./SandboxView.ts"
import * as Seatbelt from "./Seatbelt.ts"
import * as TemporaryFolders from "./TemporaryFolders.ts"
import { isExecutable } from "./ProgramPath.ts"

/**
 * What is given to the system to start.
 *
 * @category models
 * @since 0.1.0
 */
export interface Launch {
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Told through the descriptor 3. The descriptor 4 tells whether the sandbox was made. */
  readonly told?: Buffer | undefined
  /** Descriptors that would be handed down, and /dev/null, which is to stand for them. */
  readonly closed?: { readonly fds: ReadonlyArray<number>; readonly by: number } | undefined
  /** The process that is started is not the command: it waits for it, and all is over with it. */
  readonly isKeeper: boolean
}

/**
 * What makes sandboxes here.
 *
 * @category models
 * @since 0.1.0
 */
export type Maker = { readonly _tag: "Bubblewrap" | "Seatbelt"; readonly program: string }

/** The PATH is not searched: a folder of the workspace may stand in it. */
const places = ["/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin"]

/** In ms. It takes ten; a machine on which it takes longer than this has other troubles. */
const trialMs = 10_000

/**
 * The maker of this system, or why there is none.
 *
 * @category constructors
 * @since 0.1.0
 */
export const maker = (bwrap?: string, platform: NodeJS.Platform = process.platform): Maker | string => {
  switch (platform) {
    case "linux": {
      const found = (bwrap === undefined ? places.map((place) => `${place}/bwrap`) : [bwrap]).find(isExecutable)
      return found === undefined
        ? `bubblewrap is not installed (no ${bwrap ?? `bwrap in ${places.join(", ")}`}). Have the user install the package bubblewrap`
        : { _tag: "Bubblewrap", program: found }
    }
    case "darwin":
      return { _tag: "Seatbelt", program: "/usr/bin/sandbox-exec" }
    default:
      return `there is none for ${platform}. Have the user run it on Linux or macOS`
  }
}

/**
 * A command that is to be started, and with what.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wanted {
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** Real and absolute. */
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** The environment of who keeps it: nothing of it is the command's. */
  readonly keeperEnv: NodeJS.ProcessEnv
}

/**
 * Gives what is to be started for commands of a session, in a working directory with a real path. It throws what the
 * system would say of it.
 *
 * @category models
 * @since 0.1.0
 */
export type Sandboxes = (
  sandbox: Sandbox,
  session: Session,
  cwd: string
) => Effect.Effect<(wanted: Wanted) => Launch, SpawnFailed>

/**
 * Those of one program. What it leaves on the disk goes when the scope closes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (maker: Maker | string, home: string): Effect.Effect<Sandboxes, never, Scope.Scope> =>
  Effect.gen(function* () {
    const placeOf = yield* TemporaryFolders.make
    const closed = yield* Effect.cached(closedDescriptors(yield* Effect.scope))
    /** Those that work. */
    const tried = new Set<string>()

    return Effect.fnUntraced(function* (sandbox, session, cwd) {
      if (typeof maker === "string") return yield* unavailable(sandbox, maker)
      const refuse = (error: unknown) => unavailable(sandbox, error instanceof Error ? error.message : String(error))
      const { base, emptyFile, folder } = yield* Effect.mapError(placeOf(session), (code) =>
        refuse(`its temporary folder cannot be made (${code})`)
      )
      const temporary = writes(sandbox) === "anywhere" ? undefined : folder
      const view = yield* Effect.try({
        try: () => SandboxView.make({ sandbox, workspace: session.workspace, home, base, temporary }),
        catch: refuse
      })
      const { fits, launch, trial } = makers[maker._tag](maker.program, view, emptyFile)
      if (!fits(cwd)) return yield* outOfSight(cwd)
      const name = `${sandbox.join()} ${view.workspace}`
      if (trial !== undefined && !tried.has(name)) {
        const why = tryOut(maker.program, trial)
        if (why !== undefined) return yield* cannotBeMade(sandbox, maker.program, why)
        tried.add(name)
      }
      const handedDown = yield* closed
      return (wanted) => ({ ...launch(wanted), closed: handedDown })
    }) satisfies Sandboxes
  })

/**
 * What whoever started this program left open for all that it starts: a folder, for one, by which the sandbox could be left.
 * It stays the same, for Node opens nothing that is handed down.
 */
const closedDescriptors = (scope: Scope.Scope): Effect.Effect<Launch["closed"]> =>
  Effect.suspend(() => {
    const fds = inherited()
    if (fds.length === 0) return Effect.undefined
    const opened = Effect.acquireRelease(
      Effect.sync(() => fs.openSync("/dev/null", "r+")),
      (fd) => Effect.sync(() => fs.closeSync(fd))
    )
    return Effect.map(Scope.provide(opened, scope), (by) => ({ fds, by }))
  })

/** **Source** open(2), proc_pid_fdinfo(5): the flags are octal. */
const closeOnExec = 0o2000000

const inherited = (): ReadonlyArray<number> => {
  try {
    return fs.readdirSync("/proc/self/fd").flatMap((name) => {
      const flags = flagsOf(name)
      return Number(name) > 2 && flags !== undefined && (flags & closeOnExec) === 0 ? [Number(name)] : []
    })
  } catch {
    return []
  }
}

const flagsOf = (fd: string): number | undefined => {
  try {
    return Number.parseInt(/^flags:\s*(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0", 8)
  } catch {
    // That of the folder, which was open while it was read.
    return undefined
  }
}

/** What one maker makes of a view. */
interface Made {
  /** Whether a directory is seen in it. */
  readonly fits: (directory: string) => boolean
  /** Arguments that make it and run nothing in it, where a start does not say whether it was made. */
  readonly trial?: ReadonlyArray<string>
  readonly launch: (wanted: Wanted) => Launch
}

const makers: Readonly<Record<Maker["_tag"], (program: string, view: SandboxView.View, emptyFile: string) => Made>> = {
  Bubblewrap: (bwrap, view, emptyFile) => {
    const host = Bubblewrap.hostOf()
    const options = Bubblewrap.options(view, host, emptyFile)
    return {
      fits: (directory) => Bubblewrap.isVisible(view, host, directory),
      launch: ({ args, cwd, env, keeperEnv, program }) => ({
        program: bwrap,
        args: Bubblewrap.args(program, args),
        cwd,
        env: keeperEnv,
        told: Bubblewrap.message(options, cwd, view.temporary === undefined ? env : { ...env, TMPDIR: "/tmp" }),
        isKeeper: true
      })
    }
  },
  Seatbelt: (sandboxExec, view) => {
    const profile = Seatbelt.profile(view)
    return {
      fits: () => true,
      trial: ["-p", profile, "/bin/sh", "-c", ":"],
      launch: ({ args, cwd, env, program }) => ({
        // It looks for the program, and becomes it.
        program: sandboxExec,
        args: ["-p", profile, program, ...args],
        cwd,
        env: { ...env, PWD: cwd, ...(view.temporary === undefined ? {} : { TMPDIR: view.temporary }) },
        isKeeper: false
      })
    }
  }
}

/** What it said, if it could not. */
const tryOut = (program: string, args: ReadonlyArray<string>): string | undefined => {
  const { error, status, stderr } = spawnSync(program, args, {
    env: {},
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
    timeout: trialMs
  })
  if (status === 0) return undefined
  return error?.message ?? (stderr.trim().split("\n")[0] || `it ended with ${status ?? "a signal"}`)
}

/**
 * Who makes the sandbox could not, and said why.
 *
 * @category errors
 * @since 0.1.0
 */
export const cannotBeMade = (sandbox: Sandbox, program: string, why: string): SpawnFailed =>
  unavailable(
    sandbox,
    `${program} cannot make it here (${why})` +
      // It knows no other word for each of several reasons.
      (/namespace|uid map|disable-userns/i.test(why)
        ? ". Have the user allow programs to make user namespaces, with bubblewrap 0.8 or later"
        : ". Have the user see to it")
  )

const unavailable = (sandbox: Sandbox, why: string): SpawnFailed =>
  new SpawnFailed({
    reason: "SandboxUnavailable",
    message: `The sandbox ${sandbox.join(",")} was asked for and cannot be had: ${why}, or choose another sandbox. Nothing was run.`
  })

const outOfSight = (directory: string): SpawnFailed =>
  new SpawnFailed({
    reason: "WorkingDirectory",
    message: `The working directory ${directory} is not to be seen in the sandbox. Nothing was run. Give \`cwd\` a directory in the workspace.`
  })
