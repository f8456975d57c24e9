/**
 * The tables of the journal, as they came to be. What stands here is never changed, only added to.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"

/**
 * A writer that may write has a row, of which it knows the epoch. A call belongs to the writer that may add to it;
 * `settled` says again what its terminal says, for the index.
 */
const calls = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE SEQUENCE toolstream_writer AS integer`
  yield* sql`CREATE TABLE toolstream_writers (id integer PRIMARY KEY, epoch integer NOT NULL DEFAULT 0)`
  yield* sql`CREATE TABLE toolstream_calls (
    call_id text PRIMARY KEY,
    place bigint GENERATED ALWAYS AS IDENTITY,
    writer integer NOT NULL,
    settled boolean NOT NULL DEFAULT false,
    accepted_at timestamptz NOT NULL DEFAULT now()
  )`
  yield* sql`CREATE INDEX toolstream_calls_open ON toolstream_calls (writer) WHERE NOT settled`
  // Text, not jsonb: that has no NUL, and does not give numbers and keys back as they were.
  yield* sql`CREATE TABLE toolstream_entries (
    call_id text NOT NULL REFERENCES toolstream_calls ON DELETE CASCADE,
    n integer NOT NULL,
    tag text NOT NULL,
    seq bigint,
    body text NOT NULL,
    PRIMARY KEY (call_id, n)
  )`
  yield* sql`CREATE UNIQUE INDEX toolstream_terminal ON toolstream_entries (call_id) WHERE tag = 'Terminal'`
})

/** Brings the tables up to date. */
export const migrate = Migrator.make({})({
  loader: Migrator.fromRecord({ "0001_calls": calls }),
  table: "toolstream_migrations"
})
