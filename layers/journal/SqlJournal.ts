/**
 * A journal in a Postgres database, which several processes may share.
 *
 * **Contract**
 *
 * - What is durable is committed: one transaction for all entries that wait, and as durable as the server makes it (its
 *   `fsync` and `synchronous_commit`; where either is off, a warning is logged).
 * - Calls belong to the process that accepted them, as long as it holds a lock on a connection of its own. A process
 *   that is dead, or that the server has lost, holds none: its calls can be claimed by others, by each call one. A
 *   process that lost its connection only, and comes back, keeps the calls that nobody has claimed meanwhile; of the
 *   others it writes nothing more.
 * - While the database cannot be reached, new calls are refused, and those that run end; what they wrote is written when
 *   it can be reached again. Nobody needs to do anything for that.
 * - The connection must be the server's own, or that of a pooler which gives whole sessions.
 *
 * Nothing of the configuration is in its failures or logs.
 *
 * @since 0.1.0
 */
import { PgClient } from "@effect/sql-pg/PgClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import * as Journal from "../../src/Journal.ts"
import * as Followers from "./internal/Followers.ts"
import * as GroupCommit from "./internal/GroupCommit.ts"
import * as Entries from "./internal/SqlEntries.ts"
import { attempt, fromSql, isOfData } from "./internal/SqlFault.ts"
import { migrate } from "./internal/SqlMigrations.ts"
import * as Presence from "./internal/SqlPresence.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Default: "watermark". */
  readonly progress?: Journal.Service["progress"] | undefined
  /** How long one transaction may take. What takes longer has failed. Default: 30 seconds. */
  readonly timeout?: Duration.Input | undefined
  /**
   * How often readers look by themselves for what another process has written, should the server's word be lost, and how
   * often it is asked whether the server is there. Default: 2 seconds.
   */
  readonly pollInterval?: Duration.Input | undefined
  /** How much may wait to be written, in UTF-16 code units of JSON. Default: 16 Mi. */
  readonly bufferLimit?: number | undefined
}

/**
 * Makes the tables where there are none, in the first schema of the connection's `search_path`.
 *
 * **Example**
 *
 * ```ts
 * SqlJournal.layer().pipe(Layer.provide(PgClient.layerConfig({ url: Config.Redacted("DATABASE_URL") })))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<Journal.Records, Journal.JournalError, PgClient> =>
  Journal.layer(make(options))

/**
 * As a value. When its scope closes, what waits is written, and calls that are still open are those of a dead process.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: Options = {}
): Effect.Effect<Journal.Service, Journal.JournalError, PgClient | Scope.Scope> =>
  Effect.gen(function* () {
    const sql = yield* PgClient
    const timeout = Duration.fromInputUnsafe(options.timeout ?? "30 seconds")
    const poll = Duration.fromInputUnsafe(options.pollInterval ?? "2 seconds")
    const followers = Followers.make()
    let writer: Entries.Writer = { id: 0, epoch: 0 }
    /** A claim failed. It may have taken calls of which this process does not know. */
    let uncertain = false

    const timed = <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, Journal.JournalError> =>
      attempt(effect).pipe(Effect.timeoutOrElse({ duration: timeout, orElse: () => Exit.fail(tooLate(timeout)) }))

    /** What cannot be kept for what it is must not keep the others waiting: they go without it. */
    const keep = (rows: ReadonlyArray<Entries.Row>): ReturnType<typeof Entries.keep> =>
      Effect.catchIf(Entries.keep(sql, writer, rows), isOfData, (error) => {
        const half = rows.length >> 1
        return half === 0
          ? Effect.succeed(new Map(rows.map((row) => [row, fromSql(error)])))
          : Effect.zipWith(keep(rows.slice(0, half)), keep(rows.slice(half)), (some, others) =>
              some === undefined || others === undefined ? undefined : new Map([...some, ...others])
            )
      })

    const turn = Semaphore.makeUnsafe(1)

    // It ends after the writing, so that nobody takes this process for dead before it has written all.
    const presence = yield* Presence.make({
      client: sql,
      pulseMs: Duration.toMillis(poll),
      heard: followers.wake,
      prepare: Effect.andThen(prepare(sql), warn(sql)),
      entered: (next, before) =>
        turn.withPermit(
          Effect.map(before === undefined ? Effect.void : timed(Entries.move(sql, before, next)), () => {
            writer = { id: next, epoch: 0 }
          })
        )
    })

    const commits = yield* GroupCommit.make({
      limit: options.bufferLimit ?? 16 << 20,
      retryMs: 1_000,
      closeMs: 5_000,
      turn,
      ready: Effect.asVoid(presence.session),
      commit: (rows, refused) =>
        Effect.gen(function* () {
          if (refused.length > 0) writer = (yield* timed(Entries.takeBack(sql, writer, refused))) ?? writer
          if (rows.length === 0) return new Map()
          const lost = yield* timed(keep(rows))
          if (lost === undefined) return yield* takenForDead()
          const callIds = [...new Set(rows.map(({ callId }) => callId))]
          followers.wake(callIds)
          // Whoever is not told looks by himself before long.
          const told = Effect.flatMap(presence.session, (session) => session.tell(callIds))
          yield* Effect.forkDetach(Effect.ignore(told))
          return lost
        }),
      refuse: (callId) => Effect.flatMap(timed(Entries.refuse(sql, callId)), Effect.fail)
    })

    const events = (callId: string, from = 0): Stream.Stream<Journal.Kept, Journal.JournalError> => {
      const look = (after: number) =>
        Effect.flatMap(timed(Entries.read(sql, callId, after, from)), (rows) => {
          if (rows !== undefined) return Exit.succeed(rows.length === 0 ? undefined : rows)
          return commits.owns(callId) ? Exit.succeed(undefined) : Exit.fail(unknown(callId))
        })
      return Stream.unfold<number, ReadonlyArray<Journal.Kept>, Journal.JournalError, never>(-1, (after) =>
        after === ended
          ? Effect.succeed(undefined)
          : Effect.gen(function* () {
              const rows = yield* followers.look(callId, look(after), Effect.sleep(poll))
              const kept = yield* Effect.forEach(rows, ({ body }) => decode(body))
              return [kept, kept.at(-1)?._tag === "Terminal" ? ended : rows.at(-1)!.n] as const
            })
      ).pipe(Stream.flattenIterable)
    }

    return {
      progress: options.progress ?? "watermark",
      write: commits.write,
      events,
      claim: Effect.andThen(
        presence.session,
        turn.withPermit(
          Effect.gen(function* () {
            const known = uncertain ? commits.owned() : undefined
            uncertain = true
            const claimed = yield* timed(Entries.claim(sql, writer, known))
            const calls = yield* Effect.forEach(claimed, open)
            for (const { callId, next } of claimed) commits.adopt(callId, next)
            uncertain = false
            return calls
          })
        )
      )
    }
  })

/**
 * Forgets calls that have ended and were accepted longer ago than this. Gives how many.
 *
 * @category running
 * @since 0.1.0
 */
export const prune = (olderThan: Duration.Input): Effect.Effect<number, Journal.JournalError, PgClient> =>
  Effect.flatMap(PgClient, (sql) =>
    attempt(Entries.prune(sql, Duration.toSeconds(Duration.fromInputUnsafe(olderThan))))
  )

/** Stands for the entry after which nothing comes. */
const ended = Infinity

const prepare = (sql: PgClient): Effect.Effect<void, Journal.JournalError> =>
  migrate.pipe(
    Effect.provideService(SqlClient, sql),
    Effect.catchTag("MigrationError", ({ message }) => Effect.fail(unreadable(message))),
    attempt,
    Effect.asVoid
  )

const warn = (sql: PgClient) =>
  sql
    .unsafe<{ readonly name: string }>(
      "SELECT name FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit') AND setting = 'off'"
    )
    .pipe(
      attempt,
      Effect.flatMap((off) =>
        off.length === 0
          ? Effect.void
          : Effect.logWarning(
              "journal: what is durable may be lost",
              off.map(({ name }) => `${name} is off`)
            )
      )
    )

const open = ({ bodies, callId, nextSeq }: Entries.Claimed): Effect.Effect<Journal.OpenCall, Journal.JournalError> =>
  Effect.gen(function* () {
    const [accepted, ...others] = yield* Effect.forEach(bodies, parse)
    if (accepted?._tag !== "Accepted") return yield* unreadable(`call ${callId} does not begin with its acceptance`)
    const start: Journal.OpenCall = { accepted, nextSeq }
    return others.reduce(
      (open, entry) => (entry._tag === "Accepted" || entry._tag === "Terminal" ? open : Journal.follow(open, entry)),
      start
    )
  })

const parse = (body: string): Effect.Effect<Journal.Entry, Journal.JournalError> =>
  Effect.flatMap(
    Effect.try({ try: () => JSON.parse(body) as unknown, catch: () => unreadable("an entry is no JSON") }),
    (json) =>
      Effect.mapError(Journal.fromJson(json), (error) => unreadable(`an entry cannot be read: ${error.message}`))
  )

const decode = (body: string): Effect.Effect<Journal.Kept, Journal.JournalError> =>
  Effect.flatMap(parse(body), (entry) => (isKept(entry) ? Exit.succeed(entry) : Exit.fail(unreadable("no event"))))

const isKept = (entry: Journal.Entry): entry is Journal.Kept =>
  entry._tag === "Progress" || entry._tag === "Watermark" || entry._tag === "Terminal"

const unreadable = (detail: string) => new Journal.JournalError({ reason: "Io", detail })

const unknown = (callId: string) =>
  new Journal.JournalError({ reason: "Unknown", detail: `no call ${callId} was accepted` })

/** It has not noticed that its connection is lost. It will, and then takes another number. */
const takenForDead = () => new Journal.JournalError({ reason: "Io", detail: "another process took this one for dead" })

const tooLate = (timeout: Duration.Duration) =>
  new Journal.JournalError({ reason: "Io", detail: `the database has not answered for ${Duration.format(timeout)}` })
