/**
 * Where the processes of a crash run have their journal.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Layer from "effect/Layer"
import type { SqlError } from "effect/sql/SqlError"
import type { StorageError } from "../../layers/journal/Storage.ts"
import * as SqlJournal from "../../layers/journal/SqlJournal.ts"
import * as FileJournal from "../../layers/node/FileJournal.ts"
import type * as Journal from "../../src/Journal.ts"
import * as PostgresServer from "../PostgresServer.ts"

export type Place =
  | { readonly on: "file"; readonly directory: string }
  | { readonly on: "postgres"; readonly folder: string; readonly schema: string }

export const layer = (place: Place): Layer.Layer<Journal.Records, Journal.JournalError | StorageError | SqlError> =>
  place.on === "file"
    ? FileJournal.layer({ directory: place.directory })
    : SqlJournal.layer().pipe(Layer.provide(PgClient.layer(PostgresServer.configOf(place.folder, place.schema))))
