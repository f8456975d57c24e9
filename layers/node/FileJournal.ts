/**
 * A journal in a folder of files.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Journal from "../../src/Journal.ts"
import * as Files from "../journal/FileJournal.ts"
import * as Inspection from "../journal/Inspection.ts"
import type { StorageError } from "../journal/Storage.ts"
import * as JournalFolder from "./internal/JournalFolder.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends Files.Options {
  /** Made, with what it is in, if it is not there. */
  readonly directory: string
}

/**
 * The journal, until the scope closes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ directory, ...options }: Options): Effect.Effect<Journal.Service, StorageError, Scope.Scope> =>
  Effect.flatMap(JournalFolder.open(directory), (storage) => Files.make(storage, options))

/**
 * The same, for the runtimes that are built on it, and for its readers. It fails if the folder cannot be used.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Journal.Records, StorageError> => Journal.layer(make(options))

/**
 * What stands in the files of a folder, for a person who looks into them. See `layers/journal/Inspection`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const inspect = (
  directory: string,
  options: { readonly follow?: boolean | undefined } = {}
): Stream.Stream<Inspection.Found, StorageError> =>
  Stream.unwrap(Effect.map(JournalFolder.existing(directory), (storage) => Inspection.calls(storage, options)))
