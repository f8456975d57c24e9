/**
 * What a journal in files asks of the system: a folder of files, and locks.
 *
 * **Contract**
 *
 * - What was written is there for every reader at once, and survives the end of the
 *   process. What survives a loss of power is what was synced: the bytes of a file by
 *   its `sync`, its name (made, renamed, removed) by `syncFolder`.
 * - After a `sync` that failed, nothing is known of what was written since the last
 *   one that succeeded, and no later `sync` of the same `File` says anything of it.
 * - A lock is held until it is released or its process has ended, by one holder.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/**
 * The system said no.
 *
 * @category errors
 * @since 0.1.0
 */
export class StorageError extends Schema.TaggedError<StorageError>()("StorageError", {
  /** Such as ENOSPC. */
  code: Schema.String,
  /** What was to be done. */
  doing: Schema.String
}) {
  override get message() {
    return `${this.doing}: ${this.code}`
  }
}

/**
 * Somebody else holds the lock, or it cannot be known that nobody does.
 *
 * @category errors
 * @since 0.1.0
 */
export class Locked extends Schema.TaggedError<Locked>()("Locked", {
  /** The file that says so. */
  file: Schema.String
}) {}

/**
 * An open file. Offsets and lengths are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface File {
  readonly size: () => Effect.Effect<number, StorageError>
  /** When it was written to last, in ms since 1970. */
  readonly modifiedAt: () => Effect.Effect<number, StorageError>
  /** Fewer than asked for at the end of the file only. */
  readonly read: (offset: number, length: number) => Effect.Effect<Uint8Array, StorageError>
  /** Gives how many of the bytes were written: it may be less than all. */
  readonly write: (offset: number, bytes: Uint8Array) => Effect.Effect<number, StorageError>
  readonly truncate: (length: number) => Effect.Effect<void, StorageError>
  /** Whoever wrote to it: it may be asked of a file that was opened to be read. */
  readonly sync: () => Effect.Effect<void, StorageError>
  readonly close: () => Effect.Effect<void>
}

/**
 * How a session was left: `clean`, if every call has its terminal.
 *
 * @category models
 * @since 0.1.0
 */
export type Left = "clean" | "open"

/**
 * A lock that is held.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lock {
  readonly release: (left: Left) => Effect.Effect<void>
  /** Gives it up, and leaves nothing of it: what it was for is gone. */
  readonly remove: () => Effect.Effect<void>
}

/**
 * A folder. Names are plain: letters of ASCII, digits and `%.~_-`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Storage {
  /** For people. */
  readonly folder: string
  readonly list: () => Effect.Effect<ReadonlyArray<string>, StorageError>
  /** `write` makes it if it is not there. A file that is not there to be read is ENOENT. */
  readonly open: (name: string, mode: "read" | "write") => Effect.Effect<File, StorageError>
  /** Over what has the name already. */
  readonly rename: (from: string, to: string) => Effect.Effect<void, StorageError>
  /** Nothing, if it is not there. */
  readonly remove: (name: string) => Effect.Effect<void, StorageError>
  readonly syncFolder: () => Effect.Effect<void, StorageError>
  readonly lock: (name: string) => Effect.Effect<Lock, StorageError | Locked>
  /** How its last holder left it. Undefined, if it is held, or the holder has ended without a word. */
  readonly left: (name: string) => Effect.Effect<Left | undefined, StorageError>
  /** Begins to watch. What it gives waits until something may have changed since it was asked last, and not for long. */
  readonly watch: () => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
  /** CRC-32 (ISO-HDLC, that of zlib) of bytes, or of a text as UTF-8. */
  readonly crc32: (data: string | Uint8Array) => number
}

/**
 * Writes all of it.
 *
 * @category running
 * @since 0.1.0
 */
export const writeFully = (file: File, offset: number, bytes: Uint8Array): Effect.Effect<void, StorageError> =>
  bytes.length === 0
    ? Effect.void
    : Effect.flatMap(file.write(offset, bytes), (written) =>
        written === 0
          ? Effect.fail(new StorageError({ code: "EIO", doing: "writing, and nothing was written" }))
          : writeFully(file, offset + written, bytes.subarray(written))
      )
