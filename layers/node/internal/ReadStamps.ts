/**
 * What each session has read, to tell whether somebody changed it since.
 *
 * A file counts as unchanged while its device, inode, size and times are. Where a
 * file was changed so shortly before it was read that its times would not show the
 * next change, and where this session wrote it, its content is compared as well:
 * there, content that is the same again is unchanged, whatever the times say.
 *
 * Known by their real path, not by inode: editors replace files. A session forgets
 * when it ends, and keeps the files it read last.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { BigIntStats } from "node:fs"
import type { Session } from "../../../src/Session.ts"
import type { Raw } from "./FileName.ts"

/**
 * What is known of a file that was read: its content, by SHA-256, or what the file system says of it.
 *
 * @category models
 * @since 0.1.0
 */
export type Stamp = { readonly hash: string } | { readonly stats: BigIntStats }

/** Files remembered for a session. What a session read before its last so many files, it may overwrite unasked. */
const maxFiles = 10_000

/** In ms. The clock of file times ticks every 1 to 10 ms on Linux: two changes within a tick have the same times. */
const tickMs = 50

/**
 * Whether another change, made now, might leave these times as they are.
 *
 * @category guards
 * @since 0.1.0
 */
export const isFresh = ({ ctimeMs }: BigIntStats): boolean => Date.now() - Number(ctimeMs) < tickMs

/**
 * @category models
 * @since 0.1.0
 */
export class ReadStamps {
  private readonly sessions = new Map<string, Map<Raw, Stamp>>()

  /** Remembers it until the session ends. */
  record(session: Session, path: Raw, stamp: Stamp): Effect.Effect<void> {
    return Effect.suspend(() => {
      const known = this.sessions.get(session.id)
      const files = known ?? new Map<Raw, Stamp>()
      files.delete(path)
      files.set(path, stamp)
      if (files.size > maxFiles) files.delete(files.keys().next().value!)
      if (known !== undefined) return Effect.void
      this.sessions.set(session.id, files)
      return Scope.addFinalizer(
        session.scope,
        Effect.sync(() => this.sessions.delete(session.id))
      )
    })
  }

  forget(session: Session, path: Raw): void {
    this.sessions.get(session.id)?.delete(path)
  }

  /** Whether what is there now is not what the session read. */
  isChanged(session: Session, path: Raw, now: { readonly hash: string; readonly stats: BigIntStats }): boolean {
    const read = this.sessions.get(session.id)?.get(path)
    if (read === undefined) return false
    return "hash" in read ? read.hash !== now.hash : !isSame(read.stats, now.stats)
  }

  /** Sessions that have read something. */
  get size(): number {
    return this.sessions.size
  }
}

/**
 * Whether nothing was written to it in between, as far as its times tell.
 *
 * @category guards
 * @since 0.1.0
 */
export const isSame = (a: BigIntStats, b: BigIntStats): boolean =>
  a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs
