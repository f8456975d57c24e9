/**
 * That this process lives, as the others see it: a lock that the server holds for a connection, and lets go when the
 * connection ends. The same connection hears what the others have written.
 *
 * A number is taken from a sequence and locked, and calls belong to that number. Where the connection is lost, another
 * one gets another number: whether the server has noticed the loss of the first then matters no more.
 *
 * @since 0.1.0
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { JournalError } from "../../../src/Journal.ts"
import { fromSql } from "./SqlFault.ts"

/** Locks are two numbers. The first stands for the journal in this schema, the second for a writer or for a task. */
export const journalKey = "hashtext('toolstream.journal.' || coalesce(current_schema(), ''))"

/** Second numbers that no writer has: those begin at 1. */
export const migrating = 0
export const claiming = -1

const channel = "toolstream_journal"

/** What a notification may carry: Postgres takes less than 8,000 bytes. Too long a list stands for all calls. */
const longest = 7_900
const everything = "*"

/** Between attempts to connect again, in ms. */
const firstPause = 50
const longestPause = 1_000

export interface Session {
  readonly writer: number
  /** Tells the other processes that these calls have something new. */
  readonly tell: (callIds: ReadonlyArray<string>) => Effect.Effect<void, SqlError>
}

export interface Presence {
  /** The session there is. While the first attempt to get another one lasts, it is waited for. */
  readonly session: Effect.Effect<Session, JournalError>
}

type State =
  | { readonly _tag: "Present"; readonly session: Session }
  | { readonly _tag: "Returning"; readonly tried: Deferred.Deferred<Session, JournalError> }
  | { readonly _tag: "Lost"; readonly why: JournalError }

interface Options {
  readonly client: PgClient
  /** In ms. So often it is asked whether the other side is still there. */
  readonly pulseMs: number
  /** Of these calls, of all if none is named, somebody has written something. */
  readonly heard: (callIds?: ReadonlyArray<string>) => void
  /** Before the first session is there: with the lock that one process at a time has. */
  readonly prepare: Effect.Effect<void, JournalError>
  /** A session has begun, in the place of another one if there was one. */
  readonly entered: (writer: number, before: number | undefined) => Effect.Effect<void, JournalError>
}

export const make = (options: Options): Effect.Effect<Presence, JournalError, Scope.Scope> =>
  Effect.gen(function* () {
    const { client, entered, heard, prepare, pulseMs } = options

    const connect = Effect.gen(function* () {
      const connection = yield* Effect.flatMap(PgConnection.make(client.config), (connection) => connection.pin)
      const notifications = yield* connection.listen(channel)
      return { connection, notifications }
    })

    const enter = Effect.gen(function* () {
      const { connection, notifications } = yield* connect
      const { rows } = yield* connection.query(
        `SELECT w.writer, pg_advisory_lock(${journalKey}, w.writer)
        FROM (SELECT nextval('toolstream_writer')::int AS writer) w`
      )
      // After the lock: a row without one is a dead process's.
      yield* connection.query("INSERT INTO toolstream_writers (id) VALUES ($1)", [rows[0]?.["writer"]])
      const session: Session = {
        writer: Number(rows[0]?.["writer"]),
        tell: (callIds) => Effect.asVoid(connection.query("SELECT pg_notify($1, $2)", [channel, payloadOf(callIds)]))
      }
      const pulse = Effect.forever(
        connection.query("SELECT 1").pipe(
          Effect.timeout(Duration.millis(pulseMs)),
          Effect.catchTag("TimeoutError", () => Effect.fail(gone())),
          Effect.delay(Duration.millis(pulseMs))
        )
      )
      const hear = Effect.forever(
        Effect.map(Queue.take(notifications), ({ payload, processId }) => {
          if (processId !== connection.processId) heard(callIdsOf(payload))
        })
      )
      return { session, lost: Effect.raceFirst(hear, pulse) }
    })

    const initial: State = { _tag: "Returning", tried: Deferred.makeUnsafe() }
    let state: State = initial
    let last: number | undefined

    /** One session, from its begin to its loss. */
    const attend = Effect.gen(function* () {
      const { lost, session } = yield* Effect.mapError(enter, fromSql)
      yield* entered(session.writer, last)
      last = session.writer
      if (state._tag === "Returning") Deferred.doneUnsafe(state.tried, Effect.succeed(session))
      state = { _tag: "Present", session }
      // What was told in between was told to nobody.
      heard()
      return yield* Effect.mapError(lost, (error) => (error._tag === "SqlError" ? fromSql(error) : error))
    }).pipe(Effect.scoped, Effect.flip, Effect.catchDefect(broken))

    const live = Effect.gen(function* () {
      let pause = firstPause
      while (true) {
        const why = yield* attend
        const wasPresent = state._tag === "Present"
        if (state._tag === "Returning") Deferred.doneUnsafe(state.tried, Effect.fail(why))
        if (wasPresent) {
          pause = firstPause
          state = { _tag: "Returning", tried: Deferred.makeUnsafe() }
          yield* Effect.logWarning("journal: the connection is lost, connecting again", why.detail)
          continue
        }
        state = { _tag: "Lost", why }
        yield* Effect.sleep(pause)
        pause = Math.min(2 * pause, longestPause)
      }
    })

    // One process at a time makes the tables.
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { connection } = yield* Effect.mapError(connect, fromSql)
        yield* Effect.mapError(connection.query(`SELECT pg_advisory_lock(${journalKey}, ${migrating})`), fromSql)
        yield* prepare
      })
    )
    yield* Effect.forkScoped(live, { startImmediately: true })
    yield* Deferred.await(initial.tried)

    return {
      session: Effect.suspend(() => {
        switch (state._tag) {
          case "Present":
            return Exit.succeed(state.session)
          case "Returning":
            return Deferred.await(state.tried)
          case "Lost":
            return Exit.fail(state.why)
        }
      })
    }
  })

/** It begins again all the same: others wait for it. */
const broken = (defect: unknown) =>
  Effect.as(Effect.logError("journal", defect), new JournalError({ reason: "Io", detail: "it is broken: see the log" }))

const gone = () => new JournalError({ reason: "Io", detail: "the server does not answer" })

/** One a line. */
const payloadOf = (callIds: ReadonlyArray<string>): string => {
  const payload = callIds.join("\n")
  return payload.length < longest && new TextEncoder().encode(payload).length < longest ? payload : everything
}

const callIdsOf = (payload: string): ReadonlyArray<string> | undefined =>
  payload === everything ? undefined : payload.split("\n")
