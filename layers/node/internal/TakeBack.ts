/**
 * Undoing what an intent says, and tidying up after it.
 *
 * Both look at what is there and not at what was done, so they serve the process
 * that failed and the one that comes after a crash alike, can themselves be broken
 * off, and can be repeated. Each call is made twice before it counts as failed.
 *
 * What somebody else has changed since is left alone and named.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { BigIntStats } from "node:fs"
import { constants } from "node:fs"
import * as FileContent from "./FileContent.ts"
import * as FileName from "./FileName.ts"
import type { Raw } from "./FileName.ts"
import type { Intent, Step } from "./Intent.ts"
import { attempt, type Errno, type SystemCalls, wait, waitForAll, writeFully } from "./SystemCalls.ts"
import * as Walk from "./Walk.ts"

/**
 * Opens a folder of the intent; undefined if it is not there.
 *
 * @category models
 * @since 0.1.0
 */
export type FolderOf = (names: ReadonlyArray<Raw>) => Effect.Effect<Walk.Directory | undefined, Errno>

/**
 * What is not as it was before.
 *
 * @category models
 * @since 0.1.0
 */
export interface Remains {
  readonly step: Step
  /** Somebody changed the file; or the call that failed. */
  readonly why: "changed" | { readonly code: Errno }
}

/** Names that are removed side by side. More would keep everybody else out of the pool. */
const atOnce = 64

const twice = <A>(effect: Effect.Effect<A, Errno>) => Effect.retry(effect, { times: 1 })

/** A call whose object may be gone already. */
const ifThere = (effect: Effect.Effect<void, Errno>): Effect.Effect<void, Errno> =>
  Effect.catch(twice(effect), (code) => (code === "ENOENT" ? Effect.void : Effect.fail(code)))

const statsOf = (calls: SystemCalls, path: Raw): Effect.Effect<BigIntStats | undefined, Errno> =>
  Effect.catch(twice(attempt((): BigIntStats | undefined => calls.lstat(path))), (code) =>
    code === "ENOENT" ? Effect.succeed(undefined) : Effect.fail(code)
  )

/** The content of a regular file; undefined if there is none. */
const contentOf = Effect.fnUntraced(function* (calls: SystemCalls, path: Raw) {
  const stats = yield* statsOf(calls, path)
  return stats?.isFile() === true && stats.size <= FileContent.maxBytes
    ? yield* twice(FileContent.read(calls, path))
    : undefined
})

/**
 * Makes everything as it was.
 *
 * @category running
 * @since 0.1.0
 */
export const takeBack = Effect.fnUntraced(function* (calls: SystemCalls, folderOf: FolderOf, intent: Intent) {
  const remains: Array<Remains> = []
  for (const step of intent.steps.toReversed()) {
    const folder = yield* Effect.result(twice(folderOf(step.folder)))
    if (folder._tag === "Success" && folder.success === undefined) continue
    const undone = yield* Effect.result(
      folder._tag === "Success" && folder.success !== undefined
        ? takeStepBack(calls, folder.success, step)
        : Effect.fail(folder._tag === "Failure" ? folder.failure : "ENOENT")
    )
    if (undone._tag === "Failure") remains.push({ step, why: { code: undone.failure } })
    else if (!undone.success) remains.push({ step, why: "changed" })
  }
  for (const names of intent.created.toReversed()) {
    const parent = yield* Effect.orElseSucceed(twice(folderOf(names.slice(0, -1))), () => undefined)
    if (parent === undefined) continue
    // Somebody may have put something there.
    yield* Effect.ignore(twice(attempt(() => calls.rmdir(Walk.at(parent, names.at(-1)!)))))
  }
  return remains
})

/** Whether it is as it was. */
const takeStepBack = Effect.fnUntraced(function* (calls: SystemCalls, folder: Walk.Directory, step: Step) {
  const name = Walk.at(folder, step.name)
  const temporary = Walk.at(folder, step.temporary)
  const backup = Walk.at(folder, step.backup)
  const remove = (path: Raw) => ifThere(wait(() => calls.unlink(path)))
  const here = yield* statsOf(calls, name)
  const kept = yield* statsOf(calls, backup)
  const isOld = yield* Effect.suspend((): Effect.Effect<boolean, Errno> => {
    switch (step.kind) {
      case "create":
        return Effect.gen(function* () {
          if (here === undefined) return true
          const made = yield* statsOf(calls, temporary)
          // The name is given by a second link to the temporary file, whose first one is removed in the end.
          if (made !== undefined && Walk.keyOf(made) !== Walk.keyOf(here)) return true
          if ((yield* contentOf(calls, name))?.hash !== step.newHash) return false
          yield* remove(name)
          return true
        })
      case "replace":
        return Effect.gen(function* () {
          if (kept === undefined) return true
          if (here !== undefined && Walk.keyOf(here) === Walk.keyOf(kept)) {
            yield* remove(backup)
            return true
          }
          if (here !== undefined && (yield* contentOf(calls, name))?.hash !== step.newHash) return false
          yield* twice(attempt(() => calls.rename(backup, name)))
          return true
        })
      case "delete":
        return Effect.gen(function* () {
          if (kept === undefined) return true
          if (here !== undefined) return false
          yield* twice(attempt(() => calls.rename(backup, name)))
          return true
        })
      case "rewrite":
        return Effect.gen(function* () {
          const old = yield* contentOf(calls, backup)
          // The file is not touched before its copy is whole.
          if (old === undefined || old.hash !== step.oldHash) {
            yield* remove(backup)
            return true
          }
          const now = yield* contentOf(calls, name)
          if (now === undefined) return false
          if (now.hash !== step.oldHash) {
            const made = yield* contentOf(calls, temporary)
            if (made === undefined || !isBetween(now.bytes, old.bytes, made.bytes)) return false
            yield* twice(rewrite(calls, name, old.bytes))
          }
          yield* remove(backup)
          return true
        })
    }
  })
  yield* remove(temporary)
  return isOld
})

/**
 * Removes what was only there to take it back.
 *
 * @category running
 * @since 0.1.0
 */
export const tidy = Effect.fnUntraced(function* (calls: SystemCalls, folderOf: FolderOf, intent: Intent) {
  const folders = new Map<Raw, Walk.Directory | undefined>()
  for (const { folder } of intent.steps) {
    const names = FileName.join(folder)
    if (!folders.has(names)) folders.set(names, yield* twice(folderOf(folder)))
  }
  const names = intent.steps.flatMap(({ kind, folder, backup, temporary }) => {
    const directory = folders.get(FileName.join(folder))
    if (directory === undefined) return []
    return [
      ...(kind === "create" ? [] : [Walk.at(directory, backup)]),
      // Otherwise it has got its name, or never was.
      ...(kind === "create" || kind === "rewrite" ? [Walk.at(directory, temporary)] : [])
    ]
  })
  for (const some of Arr.chunksOf(names, atOnce)) {
    yield* Effect.catch(
      waitForAll(some, (path) => calls.unlink(path)),
      () => Effect.forEach(some, (path) => ifThere(wait(() => calls.unlink(path))), { discard: true })
    )
  }
})

/**
 * Writes over a file that keeps its inode: all its names see the change.
 *
 * @category running
 * @since 0.1.0
 */
export const rewrite = (calls: SystemCalls, path: Raw, bytes: Uint8Array): Effect.Effect<void, Errno> =>
  FileContent.withOpen(calls, path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, undefined, (fd) =>
    Effect.gen(function* () {
      yield* writeFully(calls, fd, bytes)
      yield* attempt(() => calls.ftruncate(fd, bytes.length))
      yield* wait(() => calls.fsync(fd))
    })
  )

/** A rewriting that was broken off: the new content so far, then what was there. Anything else is somebody's change. */
const isBetween = (now: Uint8Array, old: Uint8Array, made: Uint8Array): boolean => {
  const equal = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0
  const shared = Math.min(now.length, made.length)
  const differs = now.subarray(0, shared).findIndex((byte, index) => byte !== made[index])
  const written = differs < 0 ? shared : differs
  return now.length >= old.length
    ? equal(now.subarray(written), old.subarray(Math.min(written, old.length)))
    : equal(now, made)
}
