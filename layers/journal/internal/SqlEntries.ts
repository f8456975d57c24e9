/**
 * What is said to the database.
 *
 * Every entry has its number within its call, counted by whoever the call belongs to. So an entry that is sent again,
 * because nobody knows whether it arrived, is the same row; and an entry of somebody who has lost the call is none.
 *
 * A statement whose connection is lost may still be carried out, and even begin, after whatever is sent next on another.
 * What is kept is kept in the name of a writer's row and epoch, which is locked for it: who deletes the row, or raises the
 * epoch, has waited for all that was under way, and nothing comes after it.
 *
 * @since 0.1.0
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { SqlError } from "effect/sql/SqlError"
import * as Journal from "../../../src/Journal.ts"
import { claiming, journalKey } from "./SqlPresence.ts"

/** Who writes. */
export interface Writer {
  readonly id: number
  readonly epoch: number
}

/** An entry on its way. */
export interface Row {
  readonly callId: string
  readonly n: number
  readonly tag: Journal.Entry["_tag"]
  readonly seq: number | null
  readonly body: string
}

/** A call that was another writer's, and the number of its next entry. */
export interface Claimed {
  readonly callId: string
  readonly next: number
  readonly bodies: ReadonlyArray<string>
  readonly nextSeq: number
}

/** One entry of a call, as it stands. */
export interface Kept {
  readonly n: number
  readonly body: string
}

// With their types: what an array holds does not say them where it is empty, or holds nothing but null. Wide enough for
// a `seq` is a float.
const texts = (values: ReadonlyArray<string>) => Result.getOrThrow(PgTypes.array(values, PgTypes.OID.text))
const ints = (values: ReadonlyArray<number>) => Result.getOrThrow(PgTypes.array(values, PgTypes.OID.int4))
const floats = (values: ReadonlyArray<number | null>) => Result.getOrThrow(PgTypes.array(values, PgTypes.OID.float8))

/**
 * Keeps what a writer writes, of the calls that are its own, all in one transaction. Gives what is not kept, and why;
 * undefined where this is no writer any more.
 */
export const keep = (
  sql: PgClient,
  writer: Writer,
  rows: ReadonlyArray<Row>
): Effect.Effect<ReadonlyMap<Row, Journal.JournalError> | undefined, SqlError> =>
  Effect.gen(function* () {
    const kept = new Set(
      (yield* sql.unsafe<{ readonly place: number }>(keeping, [
        writer.id,
        writer.epoch,
        texts(rows.map(({ callId }) => callId)),
        ints(rows.map(({ n }) => n)),
        texts(rows.map(({ tag }) => tag)),
        floats(rows.map(({ seq }) => seq)),
        texts(rows.map(({ body }) => body))
      ])).map(({ place }) => Number(place))
    )
    // Rows are counted from 1.
    const others = rows.filter((_, index) => !kept.has(index + 1))
    if (others.length === 0) return new Map()
    if (kept.size === 0 && !(yield* isWriter(sql, writer))) return undefined
    return yield* why(sql, others)
  })

/**
 * What a statement changes its other parts do not see: a call that is accepted here is no call yet for `ours`. The
 * locks on the calls let nobody claim one in between.
 */
const keeping = `
  WITH alive AS MATERIALIZED (
    SELECT FROM toolstream_writers WHERE id = $1::int AND epoch = $2::int FOR SHARE
  ), given AS MATERIALIZED (
    SELECT given.* FROM unnest($3::text[], $4::int[], $5::text[], $6::float8[], $7::text[])
      WITH ORDINALITY AS given (call_id, n, tag, seq, body, place)
    WHERE EXISTS (SELECT FROM alive)
  ), fresh AS (
    INSERT INTO toolstream_calls (call_id, writer, settled)
    SELECT call_id, $1::int, EXISTS (SELECT FROM given t WHERE t.call_id = a.call_id AND t.tag = 'Terminal')
    FROM given a WHERE tag = 'Accepted' AND n = 0 ORDER BY place
    ON CONFLICT DO NOTHING RETURNING call_id
  ), ours AS (
    SELECT call_id FROM toolstream_calls
    WHERE call_id IN (SELECT call_id FROM given) AND writer = $1::int AND NOT settled
    FOR NO KEY UPDATE
  ), kept AS (
    INSERT INTO toolstream_entries (call_id, n, tag, seq, body)
    SELECT call_id, n, tag, seq::bigint, body FROM given
    WHERE call_id IN (SELECT call_id FROM fresh UNION ALL SELECT call_id FROM ours) ORDER BY place
    ON CONFLICT DO NOTHING RETURNING call_id, n, tag
  ), settled AS (
    UPDATE toolstream_calls SET settled = true
    WHERE call_id IN (SELECT call_id FROM kept WHERE tag = 'Terminal') AND call_id IN (SELECT call_id FROM ours)
  )
  SELECT place FROM given JOIN kept USING (call_id, n)`

const isWriter = (sql: PgClient, { epoch, id }: Writer) =>
  Effect.map(
    sql.unsafe("SELECT FROM toolstream_writers WHERE id = $1::int AND epoch = $2::int", [id, epoch]),
    (found) => found.length > 0
  )

/** Nothing of what was sent before and did arrive: that is kept. */
const why = (sql: PgClient, rows: ReadonlyArray<Row>) =>
  Effect.map(
    sql.unsafe<{
      readonly writer: number | null
      readonly settled: boolean | null
      readonly same: boolean
    }>(
      `SELECT c.writer, c.settled, e.body IS NOT NULL AS same
      FROM unnest($1::text[], $2::int[], $3::text[]) WITH ORDINALITY AS given (call_id, n, body, place)
      LEFT JOIN toolstream_calls c USING (call_id)
      LEFT JOIN toolstream_entries e ON e.call_id = given.call_id AND e.n = given.n AND e.body = given.body
      ORDER BY given.place`,
      [texts(rows.map(({ callId }) => callId)), ints(rows.map(({ n }) => n)), texts(rows.map(({ body }) => body))]
    ),
    (found) =>
      new Map(
        rows.flatMap((row, index) => {
          const of = found[index]
          return of?.same === true ? [] : [[row, refusal(row.callId, of?.writer ?? undefined, of?.settled === true)]]
        })
      )
  )

const refusal = (callId: string, writer: number | undefined, settled: boolean): Journal.JournalError =>
  writer === undefined
    ? new Journal.JournalError({ reason: "Unknown", detail: `no call ${callId} was accepted` })
    : settled
      ? new Journal.JournalError({ reason: "Settled", detail: `call ${callId} has its terminal` })
      : new Journal.JournalError({
          reason: "Closed",
          detail: `call ${callId} is another process's, which took this one for dead`
        })

/** Why nothing more is kept of a call that is not this writer's, or no call. */
export const refuse = (sql: PgClient, callId: string): Effect.Effect<Journal.JournalError, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly writer: number; readonly settled: boolean }>(
      "SELECT writer, settled FROM toolstream_calls WHERE call_id = $1",
      [callId]
    ),
    ([call]) => refusal(callId, call?.writer, call?.settled === true)
  )

/**
 * Takes back what was refused, in case that it arrived all the same or is under way. A call of which nothing is left is
 * none. Gives who writes from then on.
 */
export const takeBack = (
  sql: PgClient,
  { id }: Writer,
  rows: ReadonlyArray<Row>
): Effect.Effect<Writer | undefined, SqlError> =>
  sql.withTransaction(
    Effect.gen(function* () {
      const [writer] = yield* sql.unsafe<Writer>(
        "UPDATE toolstream_writers SET epoch = epoch + 1 WHERE id = $1::int RETURNING id, epoch",
        [id]
      )
      if (writer === undefined) return undefined
      const callIds = texts(rows.map(({ callId }) => callId))
      yield* sql.unsafe(
        `DELETE FROM toolstream_entries e USING unnest($2::text[], $3::int[]) AS given (call_id, n), toolstream_calls c
        WHERE e.call_id = given.call_id AND e.n = given.n
          AND c.call_id = e.call_id AND c.writer = $1::int AND NOT c.settled`,
        [id, callIds, ints(rows.map(({ n }) => n))]
      )
      yield* sql.unsafe(
        `DELETE FROM toolstream_calls c WHERE call_id = ANY($2::text[]) AND writer = $1::int
          AND NOT EXISTS (SELECT FROM toolstream_entries e WHERE e.call_id = c.call_id)`,
        [id, callIds]
      )
      return writer
    })
  )

/** Another number's calls are this writer's, unless somebody has claimed them. */
export const move = (sql: PgClient, from: number, to: number): Effect.Effect<void, SqlError> =>
  sql.withTransaction(
    Effect.andThen(
      sql.unsafe("DELETE FROM toolstream_writers WHERE id = $1::int", [from]),
      Effect.asVoid(
        sql.unsafe("UPDATE toolstream_calls SET writer = $2::int WHERE writer = $1::int AND NOT settled", [from, to])
      )
    )
  )

/**
 * Makes the open calls of dead writers this writer's. Claims happen one after the other, so that each sees what the one
 * before has done, or has not done because it died. A writer is dead when its lock can be had.
 */
export const claim = (
  sql: PgClient,
  writer: Writer,
  known: ReadonlyArray<string> | undefined
): Effect.Effect<ReadonlyArray<Claimed>, SqlError> =>
  sql.withTransaction(
    Effect.gen(function* () {
      // One that hangs in between holds up the others no longer than this.
      yield* sql.unsafe("SET LOCAL idle_in_transaction_session_timeout = '10s'")
      yield* sql.unsafe(`SELECT pg_advisory_xact_lock(${journalKey}, ${claiming})`)
      const dead = yield* sql.unsafe<{ readonly id: number }>(
        `SELECT id FROM (SELECT id FROM toolstream_writers WHERE id <> $1::int OFFSET 0) w
        WHERE pg_try_advisory_xact_lock(${journalKey}, id)`,
        [writer.id]
      )
      const ids = ints(dead.map(({ id }) => id))
      yield* sql.unsafe("DELETE FROM toolstream_writers WHERE id = ANY($1::int[])", [ids])
      // Its own that it does not know are those of a claim that it did not hear of. None are looked for without a list.
      const claimed = yield* sql.unsafe<{ readonly call_id: string; readonly place: string }>(
        `UPDATE toolstream_calls SET writer = $1::int
        WHERE NOT settled AND (writer = ANY($2::int[]) OR (writer = $1::int AND call_id <> ALL($3::text[])))
        RETURNING call_id, place`,
        [writer.id, ids, known === undefined ? null : texts(known)]
      )
      if (claimed.length === 0) return []
      const found = yield* sql.unsafe<{
        readonly call_id: string
        readonly next: number
        readonly next_seq: string
        readonly bodies: ReadonlyArray<string> | null
      }>(
        `SELECT c.call_id, max(e.n) + 1 AS next, coalesce(max(e.seq) + 1, 0)::text AS next_seq,
          array_agg(e.body ORDER BY e.n) FILTER (WHERE e.tag NOT IN ('Progress', 'Watermark')) AS bodies
        FROM toolstream_calls c JOIN toolstream_entries e USING (call_id)
        WHERE c.call_id = ANY($1::text[]) GROUP BY c.call_id ORDER BY c.place`,
        [texts(claimed.map(({ call_id }) => call_id))]
      )
      return found.map(({ bodies, call_id, next, next_seq }) => ({
        callId: call_id,
        next: Number(next),
        nextSeq: Number(next_seq),
        bodies: bodies ?? []
      }))
    })
  )

/** How many entries are read at once. */
const page = 256

/** What is kept of the events of a call after an entry; undefined if there is no such call. */
export const read = (
  sql: PgClient,
  callId: string,
  after: number,
  from: number
): Effect.Effect<ReadonlyArray<Kept> | undefined, SqlError> =>
  Effect.gen(function* () {
    const kept = yield* sql.unsafe<Kept>(
      `SELECT n, body FROM toolstream_entries WHERE call_id = $1 AND n > $2::int
        AND (tag = 'Terminal' OR (tag IN ('Progress', 'Watermark') AND seq >= $3::float8))
      ORDER BY n LIMIT ${page}`,
      [callId, after, from]
    )
    if (kept.length > 0) return kept
    const calls = yield* sql.unsafe("SELECT FROM toolstream_calls WHERE call_id = $1", [callId])
    return calls.length === 0 ? undefined : []
  })

/** Forgets the calls that have ended and were accepted so many seconds ago. Gives how many. */
export const prune = (sql: PgClient, seconds: number): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly pruned: number }>(
      `WITH pruned AS (
        DELETE FROM toolstream_calls WHERE settled AND accepted_at < now() - make_interval(secs => $1::float8) RETURNING 1
      ) SELECT count(*)::int AS pruned FROM pruned`,
      [seconds]
    ),
    ([row]) => Number(row?.pruned ?? 0)
  )
