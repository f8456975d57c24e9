/**
 * A Postgres server of the tests' own: its data in a new folder, a socket there and no port, and everything synced.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** Where Debian's package puts the programs, the newest version first. */
const programs: string | undefined = (fs.existsSync("/usr/lib/postgresql") ? fs.readdirSync("/usr/lib/postgresql") : [])
  .toSorted((a, b) => Number(b) - Number(a))
  .map((version) => `/usr/lib/postgresql/${version}/bin`)
  .find((folder) => fs.existsSync(path.join(folder, "postgres")))

/** Debian's package `postgresql` is not here: tests that need it skip themselves. */
export const absent: boolean = programs === undefined

/** The server refuses to be root. */
const asRoot = process.getuid?.() === 0
const owner = "nobody"
const idOf = (flag: string) => Number(execFileSync("id", [flag, owner], { encoding: "utf8" }))

/** With the words before it that make it somebody else's, and end it with us. */
const command = (program: string, args: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] => [
  "setpriv",
  [
    ...(asRoot ? [`--reuid=${idOf("-u")}`, `--regid=${idOf("-g")}`, "--clear-groups"] : []),
    "--pdeathsig=QUIT",
    path.join(programs!, program),
    ...args
  ]
]

export interface Server {
  /** Where its socket is. */
  readonly folder: string
  /** A schema that is new: a journal of its own. */
  readonly schema: Effect.Effect<string, SqlError>
  readonly config: (schema: string) => PgClient.PgPoolConfig
  readonly layer: (schema: string) => Layer.Layer<PgClient.PgClient, SqlError>
  /** With every connection there is. */
  readonly stop: Effect.Effect<void>
  /** Again, after `stop`. */
  readonly start: Effect.Effect<void>
}

export const port = 5432
export const database = "postgres"
export const username = "toolstream"
export const password = "not-to-be-told"

/** Of whoever connects to the server in a folder. */
export const configOf = (folder: string, schema: string): PgClient.PgPoolConfig => ({
  host: folder,
  port,
  database,
  username,
  password: Redacted.make(password),
  startupParameters: { search_path: schema }
})

/** Runs until the scope closes. */
export const make: Effect.Effect<Server, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "postgres-"))
      if (asRoot) fs.chownSync(folder, idOf("-u"), idOf("-g"))
      return folder
    }),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
  )
  const data = path.join(folder, "data")
  const passwordFile = path.join(folder, "password")
  fs.writeFileSync(passwordFile, password)
  // Before the first start there is nothing to lose.
  const settings = ["--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
  const [program, args] = command("initdb", [
    ...settings,
    `--pgdata=${data}`,
    `--username=${username}`,
    `--pwfile=${passwordFile}`
  ])
  execFileSync(program, args, { cwd: folder, stdio: "ignore" })

  let running: ChildProcess | undefined
  const start = Effect.callback<void>((resume) => {
    const settings = {
      listen_addresses: "",
      unix_socket_directories: folder,
      port,
      fsync: "on",
      synchronous_commit: "on",
      max_connections: 50,
      shared_buffers: "16MB",
      log_min_messages: "log"
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
    const [program, args] = command("postgres", ["-D", data, ...flags])
    const server = spawn(program, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] })
    running = server
    let log = ""
    server.stderr.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-10_000)
      if (log.includes("database system is ready to accept connections")) resume(Effect.void)
    })
    server.on("exit", (status, signal) => resume(Effect.die(new Error(`postgres: ${status ?? signal}\n${log}`))))
  })
  const stop = (signal: NodeJS.Signals) =>
    Effect.callback<void>((resume) => {
      const server = running
      running = undefined
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) return resume(Effect.void)
      server.on("exit", () => resume(Effect.void))
      server.kill(signal)
    })
  yield* Effect.acquireRelease(start, () => stop("SIGQUIT"))

  const config = (schema: string) => configOf(folder, schema)
  let schemas = 0
  return {
    folder,
    config,
    layer: (schema) => PgClient.layer(config(schema)),
    schema: Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const schema = `test_${++schemas}`
      yield* sql.unsafe(`CREATE SCHEMA ${schema}`)
      return schema
    }).pipe(Effect.provide(PgClient.layer(config("public")))),
    stop: stop("SIGINT"),
    start
  }
})
