/**
 * How a command is started in a sandbox: by bubblewrap on Linux, by seatbelt on macOS.
 *
 * **Contract**
 *
 * - What was asked for is what the command gets, or it is not started.
 * - `/tmp` is a folder of the session, on the host's disk, gone with the session. What a program left that died, the next
 *   one removes.
 * - Whether it can be had is tried, with the very sandbox, before the first command that is to run in it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { SpawnFailed } from "../../../src/Processes.ts"
import { type Sandbox, writes } from "../../../src/Sandbox.ts"
import type { Session } from "../../../src/Session.ts"
import * as Bubblewrap from "./Bubblewrap.ts"
import * as SandboxView from "./SandboxView.ts"
import * as Seatbelt from "./Seatbelt.ts"
import * as TemporaryFolders from "./TemporaryFolders.ts"

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
  /** Told through the descriptor 3. */
  readonly told?: Buffer | undefined
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

const isExecutable = (file: string): boolean => {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return true
  } catch {
    return false
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
  Effect.map(TemporaryFolders.make, (placeOf): Sandboxes => {
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
      if (!tried.has(name)) {
        const why = tryOut(maker.program, trial)
        if (why !== undefined) return yield* unavailable(sandbox, cannotBeMade(maker, why))
        tried.add(name)
      }
      return launch
    })
  })

/** What one maker makes of a view. */
interface Made {
  /** Whether a directory is seen in it. */
  readonly fits: (directory: string) => boolean
  /** Arguments that make it and run nothing in it. */
  readonly trial: ReadonlyArray<string>
  readonly launch: (wanted: Wanted) => Launch
}

const nothing = ["/bin/sh", "-c", ":"]

const makers: Readonly<Record<Maker["_tag"], (program: string, view: SandboxView.View, emptyFile: string) => Made>> = {
  Bubblewrap: (bwrap, view, emptyFile) => {
    const host = Bubblewrap.host()
    const options = Bubblewrap.options(view, host, emptyFile)
    return {
      fits: (directory) => Bubblewrap.isVisible(view, host, directory),
      trial: [...options, "--", ...nothing],
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
      trial: ["-p", profile, ...nothing],
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

const cannotBeMade = ({ _tag, program }: Maker, why: string): string =>
  `${program} cannot make it here (${why})` +
  (_tag === "Bubblewrap"
    ? ". Have the user allow this program to make user namespaces, with bubblewrap 0.8 or later"
    : "")

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
