import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Pg from "@effect/sql-pg/PgClient"
import { assert, describe, layer } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as net from "node:net"
import { inspect } from "node:util"
import * as SqlJournal from "../../../layers/journal/SqlJournal.ts"
import * as JournalCheck from "../../../layers/testing/JournalCheck.ts"
import type * as Journal from "../../../src/Journal.ts"
import * as PostgresServer from "../../PostgresServer.ts"

class Server extends Context.Service<Server, PostgresServer.Server>()("test/Server") {}

const accepted = (callId: string): Journal.Accepted => ({
  _tag: "Accepted",
  call: { callId, sessionId: "session", name: "tool" },
  workspace: "/",
  at: 0
})

const decoded = (callId: string): Journal.Decoded => ({
  _tag: "Decoded",
  callId,
  parameters: {},
  parametersHash: "hash",
  hidden: false,
  readOnly: false
})

const started = (callId: string): Journal.Started => ({
  _tag: "Started",
  callId,
  attempt: 1,
  repeatable: false,
  at: 0
})

const watermark = (callId: string, seq: number): Journal.Watermark => ({
  _tag: "Watermark",
  callId,
  seq,
  emitted: seq + 1,
  bytes: 1
})

const terminal = (callId: string, value = ""): Journal.Entry => ({
  _tag: "Terminal",
  callId,
  result: { _tag: "Success", value, content: [], isError: false },
  stats: { durationMs: 0, queuedMs: 0, progress: { emitted: 0, delivered: 0, merged: 0, dropped: 0 } }
})

/** Succeeds before long. */
const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, { schedule: Schedule.spaced(20), times: 400 })

const reasonOf = <A>(effect: Effect.Effect<A, Journal.JournalError>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

/** A process of the journal, and its client. */
const opened = (schema: string, options?: SqlJournal.Options, config?: Pg.PgPoolConfig) =>
  Effect.gen(function* () {
    const server = yield* Server
    const client = yield* Layer.build(config === undefined ? server.layer(schema) : Pg.layer(config))
    return yield* Effect.provide(SqlJournal.make(options), client)
  })

/** Whoever looks at the database from outside. */
const outsider = (schema: string): Effect.Effect<PgClient, never, Server | Scope.Scope> =>
  Effect.flatMap(Server, (server) =>
    Effect.map(Effect.orDie(Layer.build(server.layer(schema))), (client) => Context.get(client, Pg.PgClient))
  )

const fresh = Effect.flatMap(Server, (server) => server.schema)

describe.skipIf(PostgresServer.absent)("SqlJournal (with Debian's package postgresql)", { timeout: 60_000 }, () => {
  layer(Layer.effect(Server, PostgresServer.make), { excludeTestServices: true, timeout: "60 seconds" })((it) => {
    for (const progress of ["watermark", "full"] as const) {
      it.effect(`keeps the contract of journals, progress: ${progress}`, () =>
        Effect.gen(function* () {
          const server = yield* Server
          const schema = yield* server.schema
          const open = Effect.provideService(opened(schema, { progress }), Server, server)
          const report = yield* JournalCheck.check({ open, shared: true }, { rounds: 6 })
          assert.isAbove(report.claimed, 0)
        })
      )
    }

    it.effect("what waits is committed together, in its order", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const journal = yield* opened(schema)
        const sql = yield* outsider(schema)
        const calls = Array.from({ length: 64 }, (_, index) => `call-${index}`)
        yield* Effect.forEach(calls, (callId) => journal.write(accepted(callId), "buffered"), { discard: true })
        yield* Effect.forEach(calls, (callId) => journal.write(terminal(callId), "durable"), {
          concurrency: "unbounded",
          discard: true
        })
        const rows = yield* sql.unsafe<{ call_id: string; xmin: string }>(
          "SELECT call_id, xmin::text FROM toolstream_calls ORDER BY place"
        )
        assert.deepStrictEqual(
          rows.map(({ call_id }) => call_id),
          calls
        )
        const transactions = yield* sql.unsafe<{ count: number }>(
          "SELECT count(DISTINCT xmin::text)::int AS count FROM toolstream_entries"
        )
        assert.isAtMost(transactions[0]!.count, 3)
      })
    )

    it.effect("the database itself refuses a second terminal", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const journal = yield* opened(schema)
        const sql = yield* outsider(schema)
        yield* journal.write(accepted("a"), "buffered")
        yield* journal.write(terminal("a"), "durable")
        const error = yield* Effect.flip(
          sql.unsafe("INSERT INTO toolstream_entries (call_id, n, tag, body) VALUES ('a', 9, 'Terminal', '{}')")
        )
        assert.strictEqual(error.reason._tag, "UniqueViolation")
        assert.strictEqual(yield* reasonOf(journal.write(terminal("a", "again"), "durable")), "Settled")
      })
    )

    it.effect("processes that start at the same time make the tables once", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const journals = yield* Effect.forEach([1, 2, 3, 4], () => opened(schema), { concurrency: "unbounded" })
        yield* journals[3]!.write(accepted("a"), "durable")
        yield* journals[3]!.write(terminal("a"), "durable")
        for (const journal of journals) {
          assert.lengthOf(yield* Stream.runCollect(journal.events("a")), 1)
          assert.deepStrictEqual(yield* journal.claim, [])
        }
      })
    )

    it.effect("a reader elsewhere is told at once; and looks by itself where nobody tells it", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const writer = yield* opened(schema)
        const [patient, watchful] = [
          yield* opened(schema, { pollInterval: "1 hour" }),
          yield* opened(schema, { pollInterval: 50 })
        ]
        const sql = yield* outsider(schema)
        const follow = (journal: Journal.Service, callId: string) =>
          Effect.forkChild(Effect.timeout(Stream.runCollect(journal.events(callId)), 5_000), {
            startImmediately: true
          })
        yield* writer.write(accepted("told"), "durable")
        yield* writer.write(accepted("untold"), "durable")
        const readers = [yield* follow(patient, "told"), yield* follow(watchful, "untold")]
        yield* writer.write(watermark("told", 0), "buffered")
        yield* writer.write(terminal("told"), "durable")
        yield* sql.unsafe(
          "INSERT INTO toolstream_entries (call_id, n, tag, body) VALUES ('untold', 1, 'Terminal', $1)",
          [JSON.stringify(terminal("untold"))]
        )
        const [told, untold] = yield* Effect.forEach(readers, Fiber.join)
        assert.deepStrictEqual(told, [watermark("told", 0), terminal("told")])
        assert.deepStrictEqual(untold, [terminal("untold")])
      })
    )

    it.effect("while the server is away new calls are refused and running ones end; then it heals by itself", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const schema = yield* fresh
        const journal = yield* opened(schema, { bufferLimit: 2_000 })
        yield* journal.write(accepted("runs"), "buffered")
        yield* journal.write(started("runs"), "durable")
        yield* server.stop

        const refused = yield* Effect.flip(journal.write(accepted("new"), "durable"))
        assert.strictEqual(refused.reason, "Io")
        assert.strictEqual(yield* reasonOf(journal.write(accepted("newer"), "buffered")), "Io")
        // It was not accepted, so there is nothing to end.
        assert.notStrictEqual(yield* reasonOf(journal.write(terminal("new"), "durable")), "Settled")
        yield* journal.write(watermark("runs", 3), "buffered")
        const fill = Effect.forEach(
          Array.from({ length: 100 }, (_, seq) => watermark("runs", 4 + seq)),
          (entry) => journal.write(entry, "buffered")
        )
        assert.strictEqual(yield* reasonOf(fill), "NoSpace")
        assert.strictEqual(yield* reasonOf(journal.write(terminal("runs"), "durable")), "Io")
        assert.strictEqual(yield* reasonOf(journal.claim), "Io")
        assert.strictEqual(yield* reasonOf(Stream.runDrain(journal.events("runs"))), "Io")

        yield* server.start
        // Nobody writes anything.
        const kept = yield* eventually(
          Effect.filterOrFail(Stream.runCollect(journal.events("runs")), (kept) => kept.at(-1)?._tag === "Terminal")
        )
        assert.deepStrictEqual(kept[0], watermark("runs", 3))
        yield* eventually(journal.write(accepted("new"), "durable"))
        yield* journal.write(terminal("new"), "durable")
        const other = yield* opened(schema)
        assert.deepStrictEqual(yield* other.claim, [])
        assert.strictEqual(yield* reasonOf(Stream.runDrain(other.events("newer"))), "Unknown")
      })
    )

    it.effect("who lost only its connection keeps its calls; what was claimed meanwhile is not its own", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const journal = yield* opened(schema)
        const other = yield* opened(schema)
        const sql = yield* outsider(schema)
        yield* journal.write(accepted("kept"), "durable")
        const cut = sql.unsafe(
          `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
          AND objid = (SELECT writer FROM toolstream_calls WHERE NOT settled ORDER BY place LIMIT 1)`
        )
        const writerOf = Effect.map(
          sql.unsafe<{ writer: number }>("SELECT writer FROM toolstream_calls ORDER BY place LIMIT 1"),
          ([call]) => call!.writer
        )
        const before = yield* writerOf
        yield* cut
        yield* eventually(Effect.filterOrFail(writerOf, (writer) => writer !== before))
        assert.deepStrictEqual(yield* other.claim, [])
        yield* journal.write(started("kept"), "durable")

        // The next number is taken, so that it cannot come back.
        const lock = (name: string) =>
          `SELECT ${name}(hashtext('toolstream.journal.' || current_schema()), (SELECT last_value + 1 FROM toolstream_writer)::int)`
        yield* Effect.scoped(
          Effect.gen(function* () {
            const connection = yield* sql.reserve
            yield* connection.execute(lock("pg_advisory_lock"), [], undefined)
            yield* cut
            const claimed = yield* eventually(Effect.filterOrFail(other.claim, (calls) => calls.length > 0))
            assert.strictEqual(claimed[0]!.started?.callId, "kept")
            yield* connection.execute("SELECT pg_advisory_unlock_all()", [], undefined)
          })
        )
        assert.strictEqual(yield* reasonOf(journal.write(terminal("kept", "of a dead process"), "durable")), "Closed")
        yield* other.write(terminal("kept", "of another"), "durable")
        assert.deepStrictEqual(yield* Stream.runCollect(journal.events("kept")), [terminal("kept", "of another")])
        // It works as before.
        yield* journal.write(accepted("next"), "durable")
        yield* journal.write(terminal("next"), "durable")
      })
    )

    it.effect("wherever connections are cut: what was taken is there once, what was refused is not", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const schema = yield* fresh
        const sql = yield* outsider(schema)
        // What was sent before a cut arrives, and its answer does not: after every fourth batch that accepts calls, and
        // now and then anywhere.
        let cutting = false
        let batches = 0
        const stream = () => {
          const socket = net.connect({ path: `${server.folder}/.s.PGSQL.${PostgresServer.port}` })
          const write = socket.write.bind(socket)
          socket.write = (...args: ReadonlyArray<unknown>) => {
            const done = Reflect.apply(write, socket, args) as boolean
            const accepts = Buffer.from(args[0] as Uint8Array).includes('"_tag":"Accepted"')
            if (cutting && (accepts ? ++batches % 4 === 0 : Math.random() < 0.04)) socket.destroy()
            return done
          }
          return socket
        }
        const journal = yield* opened(schema, {}, { ...server.config(schema), stream })
        cutting = true
        const taken: Array<string> = []
        const refused: Array<string> = []
        const told = (entry: Journal.Entry) =>
          Effect.map(Effect.exit(journal.write(entry, "durable")), (exit) => {
            assert.notInclude(String(exit), "broken")
            const list = Exit.isSuccess(exit) ? taken : refused
            list.push(`${entry._tag} ${entry._tag === "Accepted" ? entry.call.callId : entry.callId}`)
            return Exit.isSuccess(exit)
          })
        yield* Effect.forEach(
          Array.from({ length: 150 }, (_, index) => `call-${index}`),
          (callId) =>
            Effect.gen(function* () {
              if (!(yield* told(accepted(callId)))) return
              yield* journal.write(decoded(callId), "buffered")
              yield* told(started(callId))
              yield* told(terminal(callId))
            }),
          { concurrency: 5, discard: true }
        )
        cutting = false
        yield* eventually(journal.write(accepted("last"), "durable"))
        const rows = yield* sql.unsafe<{ readonly entry: string }>(
          "SELECT tag || ' ' || call_id AS entry FROM toolstream_entries WHERE tag <> 'Decoded' ORDER BY call_id, n"
        )
        const found = rows.map(({ entry }) => entry)
        // A terminal that could not be written is written later.
        const late = refused.filter((entry) => entry.startsWith("Terminal"))
        assert.deepStrictEqual(found.toSorted(), [...taken, ...late, "Accepted last"].toSorted())
        assert.isAbove(refused.length, 5)
        const open = yield* sql.unsafe("SELECT FROM toolstream_calls WHERE NOT settled")
        assert.lengthOf(open, 1)
      }).pipe(Effect.provide(Logger.layer([])))
    )

    it.effect("what cannot be kept for what it is keeps nothing else waiting", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const journal = yield* opened(schema)
        // More than an index of Postgres takes.
        const long = Array.from({ length: 9_000 }, (_, index) => (index * index).toString(36)).join("")
        const ends = yield* Effect.forEach(
          ["a", "nul \0", "b", "half \ud800", "c"].flatMap((callId) => [callId, `${callId} ${long}`]),
          (callId) => Effect.exit(journal.write(accepted(callId), "durable")),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          ends.map((exit) => exit._tag),
          ["Success", "Failure", "Failure", "Failure", "Success", "Failure", "Failure", "Failure", "Success", "Failure"]
        )
        const other = yield* opened(schema)
        yield* journal.write(terminal("a"), "durable")
        assert.lengthOf(yield* Stream.runCollect(other.events("a")), 1)
      })
    )

    it.effect("a full disk is told as such", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const journal = yield* opened(schema)
        const sql = yield* outsider(schema)
        yield* journal.write(accepted("runs"), "durable")
        yield* sql.unsafe(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`)
        yield* sql.unsafe("CREATE TRIGGER full_disk BEFORE INSERT ON toolstream_entries EXECUTE FUNCTION full_disk()")
        assert.strictEqual(yield* reasonOf(journal.write(accepted("new"), "durable")), "NoSpace")
        assert.strictEqual(yield* reasonOf(journal.write(terminal("runs"), "durable")), "NoSpace")
        yield* sql.unsafe("DROP TRIGGER full_disk ON toolstream_entries")
        yield* eventually(journal.write(accepted("new"), "durable"))
        assert.lengthOf(yield* Stream.runCollect(journal.events("runs")), 1)
      })
    )

    it.effect("calls that ended long ago can be forgotten", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const journal = yield* opened(schema)
        const sql = yield* outsider(schema)
        for (const callId of ["open", "old", "new"]) yield* journal.write(accepted(callId), "durable")
        for (const callId of ["old", "new"]) yield* journal.write(terminal(callId), "durable")
        yield* sql.unsafe("UPDATE toolstream_calls SET accepted_at = now() - interval '8 days' WHERE call_id <> 'new'")
        assert.strictEqual(yield* Effect.provideService(SqlJournal.prune("7 days"), Pg.PgClient, sql), 1)
        assert.strictEqual(yield* reasonOf(Stream.runDrain(journal.events("old"))), "Unknown")
        assert.lengthOf(yield* Stream.runCollect(journal.events("new")), 1)
      })
    )

    it.effect("no password is in a failure or a log", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const schema = yield* fresh
        const secret = "s3cret-of-ours"
        const said: Array<unknown> = []
        const heard = Logger.make(({ cause, message }) => void said.push(message, Cause.pretty(cause)))
        const config = server.config(schema)
        const url = `postgres://${PostgresServer.username}:${secret}@/${PostgresServer.database}?host=${encodeURIComponent(server.folder)}`
        const attempts = [
          { ...config, password: Redacted.make(secret) },
          { url: Redacted.make(url) },
          { url: Redacted.make(`${url}&sslmode=nonsense`) },
          { url: Redacted.make(`postgres://${secret}:not a url`) },
          { ...config, password: Redacted.make(secret), host: "/nowhere" }
        ]
        const errors = yield* Effect.forEach(attempts, (config) =>
          Effect.flip(Effect.scoped(opened(schema, {}, config)))
        ).pipe(Effect.provide(Logger.layer([heard])))
        for (const error of errors) {
          const told = [...said, error]
            .map((each) => `${inspect(each, { depth: 20 })} ${JSON.stringify(each)}`)
            .join("\n")
          assert.notInclude(told, secret)
        }
        assert.deepStrictEqual(
          errors.map(({ _tag }) => _tag),
          attempts.map(() => "JournalError")
        )
        // One that has begun well, and whose server then goes away.
        yield* Effect.gen(function* () {
          const journal = yield* opened(schema)
          yield* server.stop
          yield* Effect.exit(journal.write(accepted("a"), "durable"))
          yield* server.start
        }).pipe(Effect.scoped, Effect.provide(Logger.layer([heard])))
        assert.notInclude(inspect(said, { depth: 20 }), PostgresServer.password)
        assert.isAbove(said.length, 0)
      })
    )

    it.effect("when its scope closes what waits is written, and nothing more is taken", () =>
      Effect.gen(function* () {
        const schema = yield* fresh
        const scope = yield* Scope.make()
        const journal = yield* Scope.provide(opened(schema), scope)
        yield* journal.write(accepted("a"), "buffered")
        yield* journal.write(decoded("a"), "buffered")
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(yield* reasonOf(journal.write(terminal("a"), "durable")), "Closed")
        const heir = yield* opened(schema)
        const [call] = yield* heir.claim
        assert.deepStrictEqual(call?.decoded, decoded("a"))
      })
    )
  })
})
