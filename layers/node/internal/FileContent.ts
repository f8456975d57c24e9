/**
 * The whole content of a file.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { hash } from "node:crypto"
import type { BigIntStats } from "node:fs"
import { constants } from "node:fs"
import type { Raw } from "./FileName.ts"
import { attempt, type Errno, readFully, type SystemCalls } from "./SystemCalls.ts"

/** Bytes of a file that is read or changed as a whole. It is held in memory, old and new, until the commit is over. */
export const maxBytes = 64 * 1024 * 1024

/** The code with which a file of more than `maxBytes` is refused. */
export const tooLarge: Errno = "EFBIG"

/**
 * @category models
 * @since 0.1.0
 */
export interface FileContent {
  readonly bytes: Uint8Array
  /** SHA-256, in hex. */
  readonly hash: string
  /** Of the open file, after it was read. */
  readonly stats: BigIntStats
}

/**
 * SHA-256, in hex.
 *
 * @category converting
 * @since 0.1.0
 */
export const hashOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex")

/**
 * Opens a file while `use` runs.
 *
 * @category running
 * @since 0.1.0
 */
export const withOpen = <A, E>(
  calls: SystemCalls,
  path: Raw,
  flags: number,
  mode: number | undefined,
  use: (fd: number) => Effect.Effect<A, E>
): Effect.Effect<A, E | Errno> =>
  Effect.acquireUseRelease(
    attempt(() => calls.open(path, flags, mode)),
    use,
    (fd) => Effect.ignore(attempt(() => calls.close(fd)))
  )

/**
 * Reads a regular file of at most `maxBytes`. What is not one fails with EINVAL. A link is opened only by a path
 * through a descriptor of the file itself.
 *
 * @category running
 * @since 0.1.0
 */
export const read = (calls: SystemCalls, path: Raw): Effect.Effect<FileContent, Errno> =>
  withOpen(calls, path, constants.O_RDONLY | constants.O_NONBLOCK, undefined, (fd) =>
    Effect.gen(function* () {
      const before = yield* attempt(() => calls.fstat(fd))
      if (!before.isFile()) return yield* Effect.fail("EINVAL")
      if (before.size > maxBytes) return yield* Effect.fail(tooLarge)
      const bytes = yield* readFully(calls, fd, 0, Number(before.size))
      const stats = yield* attempt(() => calls.fstat(fd))
      // It was written to in between: half of it may be old. Its writer is not done, or will be seen as a conflict.
      return { bytes, hash: hashOf(bytes), stats }
    })
  )
