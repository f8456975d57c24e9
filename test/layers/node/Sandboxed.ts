/**
 * Commands in a real sandbox, and a machine around it that they are to leave alone.
 *
 * @since 0.1.0
 */
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import { type Command, type Process, Processes } from "../../../src/Processes.ts"
import * as Sandbox from "../../../src/Sandbox.ts"
import * as Session from "../../../src/Session.ts"

const repository = path.resolve(import.meta.dirname, "../../..")

/** Why no sandbox can be made here. Undefined if one can. */
export const missing: string | undefined = (() => {
  const options = ["--unshare-user", "--disable-userns", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc"]
  const made = spawnSync("bwrap", [...options, "--", "/bin/sh", "-c", ":"])
  if (made.error !== undefined) return "the package bubblewrap is not installed"
  return made.status === 0 ? undefined : `bubblewrap cannot make a sandbox here: ${String(made.stderr).trim()}`
})()

/** The same, behind the name of what is skipped. */
export const because = missing === undefined ? "" : ` (skipped: ${missing})`

/** In /tmp, which is not the host's there. */
const isHidden = (file: string): boolean => file.startsWith("/tmp/") || file.startsWith("/var/tmp/")

export const isRoot = process.geteuid?.() === 0

/** Of this user, or, of root, where other users find it. Tests set another home. */
const ownCache = isRoot ? "/var/cache" : path.join(os.homedir(), ".cache")

/** A folder of this run that is seen in a sandbox, wherever the repository is. */
const seen = (): string => {
  const cache = isHidden(repository) ? ownCache : path.join(repository, "node_modules", ".cache")
  fs.mkdirSync(cache, { recursive: true })
  return fs.realpathSync(fs.mkdtempSync(path.join(cache, "toolstream-sandbox-")))
}

let copied: string | undefined

/** Node, where a command in a sandbox finds it. */
export const node = (): string => {
  if (!isHidden(process.execPath)) return process.execPath
  if (copied !== undefined) return copied
  const folder = seen()
  fs.chmodSync(folder, 0o755)
  copied = path.join(folder, "node")
  fs.copyFileSync(process.execPath, copied)
  return copied
}

/** For when the tests of a file have ended. */
export const removeNode = (): void => {
  if (copied !== undefined) fs.rmSync(path.dirname(copied), { recursive: true, force: true })
}

/** A workspace, and a folder beside it that is seen in the sandbox: not in /tmp, which is not the host's there. */
export interface World {
  readonly root: string
  readonly workspace: string
  readonly outside: string
  readonly home: string
}

export const world: Effect.Effect<World, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const root = seen()
    const made = {
      root,
      workspace: path.join(root, "workspace"),
      outside: path.join(root, "outside"),
      home: path.join(root, "home")
    }
    for (const folder of Object.values(made)) fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(path.join(made.outside, "file"), "before\n")
    return made
  }),
  ({ root }) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
)

/** Processes whose home is that of the world. The variable is read when the layer is built. */
export const processes = (home: string, options: NodeProcesses.Options = {}) =>
  Layer.unwrap(
    Effect.acquireRelease(
      Effect.sync(() => {
        const before = process.env.HOME
        process.env.HOME = home
        return before
      }),
      (before) =>
        Effect.sync(() => {
          if (before === undefined) delete process.env.HOME
          else process.env.HOME = before
        })
    ).pipe(Effect.as(NodeProcesses.layerWith({ ...options, endLeftovers: false })))
  )

export const spawn = (command: string, options: Omit<Command, "program" | "args"> = {}) =>
  Effect.flatMap(Processes, ({ spawn }) => spawn({ program: "bash", args: ["-c", command], ...options }))

export const ended = Effect.fnUntraced(function* (process: Process) {
  let stdout = ""
  let stderr = ""
  yield* Stream.runForEach(process.output, ({ bytes, stream }) =>
    Effect.sync(() => {
      const text = Buffer.from(bytes).toString()
      if (stream === "stdout") stdout += text
      else stderr += text
    })
  )
  return { exit: yield* process.exit, left: yield* process.sweep, stdout, stderr }
})

/** Runs a script to its end. */
export const run = (script: string, options: Omit<Command, "program" | "args"> = {}) =>
  Effect.scoped(Effect.flatMap(spawn(script, options), ended))

/** Has effects run their commands as the profiles say, in one session. */
export const within =
  (profiles: string, workspace: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.scoped(
      Effect.flatMap(Session.make({ workspace }), (session) =>
        self.pipe(
          Effect.provideService(Session.CurrentSession, session),
          Effect.provideService(Sandbox.CurrentSandbox, Result.getOrThrow(Sandbox.parse(profiles)))
        )
      )
    ) as Effect.Effect<A, E, R>

type Body = (world: World) => Effect.Effect<void, unknown, Processes | Scope.Scope>

const testing = (body: Body) => () =>
  Effect.gen(function* () {
    const made = yield* world
    yield* Effect.provide(body(made), processes(made.home))
  })

/** A test in a world of its own. */
export const inWorld = (name: string, body: Body) => it.live(name, testing(body), 60_000)

/** The same, for what only the super-user can set up. */
export const inWorldOfRoot = (name: string, body: Body) =>
  it.live.skipIf(!isRoot)(isRoot ? name : `${name} (skipped: only root can)`, testing(body), 60_000)

/** Each line is one attempt, and is to fail. Gives those that did not. */
export const succeeding = Effect.fnUntraced(function* (attempts: ReadonlyArray<string>) {
  const script = attempts.map((attempt, i) => `( ${attempt} ) >/dev/null 2>&1 && echo ${i}`).join("\n")
  const { stdout } = yield* run(script)
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => attempts[Number(line)])
})

/** Where programs keep the temporary folders of their sandboxes. */
export const temporaryFolders = (pid: number | undefined = process.pid): ReadonlyArray<string> =>
  fs
    .readdirSync(os.tmpdir())
    .filter((name) => name.startsWith(`toolstream-sandbox.${pid}-`))
    .map((name) => path.join(os.tmpdir(), name))
