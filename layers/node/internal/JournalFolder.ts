/**
 * The storage of a journal: a folder of the user's own, 0700, with files that are 0600.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import { crc32 } from "node:zlib"
import { type File, type Storage, StorageError } from "../../journal/Storage.ts"
import * as LockFiles from "./LockFiles.ts"
import { attempt, type Errno, node, readFully, wait } from "./SystemCalls.ts"

const fdatasync = promisify(fs.fdatasync)
const fsync = promisify(fs.fsync)
const ftruncate = promisify(fs.ftruncate)

/**
 * How often is looked whether another process has written, in ms. Where the system tells of changes it is the time after
 * which one that was not told is seen.
 */
const pollMs = 250

/** What a journal makes. Anything else in a folder is somebody else's. */
const own = /^[^.]+\.(?:\d{8,}(?:-\d{8,})?\.jsonl|tmp|lock\..*)$/

const toRead = fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW
const toWrite = fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_NOFOLLOW

const doing =
  (what: string) =>
  <A>(effect: Effect.Effect<A, Errno>): Effect.Effect<A, StorageError> =>
    Effect.mapError(effect, (code) => new StorageError({ code, doing: what }))

const words: Readonly<Record<Errno, string>> = {
  EACCES: "it may not be read or written",
  EPERM: "it may not be read or written",
  ENOENT: "it does not exist",
  ENOTDIR: "it is no directory",
  EEXIST: "it is no directory",
  EROFS: "its file system cannot be written to"
}

/** What a person is told of the folder that they named. */
const usable =
  (folder: string) =>
  <A>(effect: Effect.Effect<A, Errno>): Effect.Effect<A, StorageError> =>
    Effect.mapError(effect, (code) => refused(folder, words[code] ?? code))

const refused = (folder: string, why: string) => new StorageError({ code: why, doing: `${folder} as a journal` })

/** A file system that cannot be written to has nothing that is not on its disk. */
const unlessReadOnly = (effect: Effect.Effect<void, Errno>): Effect.Effect<void, Errno> =>
  Effect.catch(effect, (code) => (code === "EROFS" || code === "EINVAL" ? Effect.void : Effect.fail(code)))

/**
 * Opens the folder, and makes it if it is not there.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = Effect.fnUntraced(function* (directory: string) {
  const folder = path.resolve(directory)
  yield* makeFolder(folder).pipe(usable(folder))
  yield* keepToUser(folder)
  return make(folder)
})

/**
 * The folder of a journal that is only read.
 *
 * @category constructors
 * @since 0.1.0
 */
export const existing = Effect.fnUntraced(function* (directory: string) {
  const folder = path.resolve(directory)
  yield* attempt(() => fs.readdirSync(folder)).pipe(usable(folder))
  return make(folder)
})

/** What is in it survives a loss of power only if it does, too. */
const makeFolder = (folder: string): Effect.Effect<void, Errno> =>
  Effect.gen(function* () {
    const first = yield* attempt(() => fs.mkdirSync(folder, { recursive: true, mode: 0o700 }))
    if (first === undefined) return
    for (let made = folder; made.length >= first.length; made = path.dirname(made))
      yield* syncFolder(path.dirname(made))
  })

/** Others see nothing of it. Only a folder that is a journal's is changed: it may be anything that was named by mistake. */
const keepToUser = Effect.fnUntraced(function* (folder: string) {
  const stats = yield* attempt(() => fs.statSync(folder)).pipe(usable(folder))
  if (!stats.isDirectory()) return yield* refused(folder, "it is no directory")
  if (process.getuid !== undefined && stats.uid !== process.getuid())
    return yield* refused(folder, "it belongs to another user")
  if ((stats.mode & 0o077) === 0) return
  const names = yield* attempt(() => fs.readdirSync(folder)).pipe(usable(folder))
  if (!names.every((name) => own.test(name))) {
    return yield* refused(folder, "others may look into it, and it holds other files; name a folder of its own")
  }
  yield* attempt(() => fs.chmodSync(folder, 0o700)).pipe(usable(folder))
})

const syncFolder = (folder: string): Effect.Effect<void, Errno> =>
  Effect.acquireUseRelease(
    attempt(() => fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)),
    (fd) => wait(() => fsync(fd)),
    (fd) => Effect.ignore(attempt(() => fs.closeSync(fd)))
  ).pipe(unlessReadOnly)

const make = (folder: string): Storage => {
  const at = (name: string) => path.join(folder, name)
  return {
    folder,
    list: () => wait(() => fs.promises.readdir(folder)).pipe(doing(`reading ${folder}`)),
    open: (name, mode) =>
      attempt(() => fs.openSync(at(name), mode === "read" ? toRead : toWrite, 0o600)).pipe(
        Effect.map((fd) => fileOf(at(name), fd)),
        doing(`opening ${at(name)}`)
      ),
    rename: (from, to) => attempt(() => fs.renameSync(at(from), at(to))).pipe(doing(`renaming ${at(from)}`)),
    remove: (name) =>
      wait(() => fs.promises.unlink(at(name))).pipe(
        Effect.catch((code) => (code === "ENOENT" ? Effect.void : Effect.fail(code))),
        doing(`removing ${at(name)}`)
      ),
    syncFolder: () => syncFolder(folder).pipe(doing(`syncing ${folder}`)),
    lock: (name) => LockFiles.take(folder, name),
    left: (name) => LockFiles.left(folder, name),
    watch: () => watch(folder),
    crc32
  }
}

const fileOf = (file: string, fd: number): File => ({
  size: () => attempt(() => fs.fstatSync(fd).size).pipe(doing(`looking at ${file}`)),
  modifiedAt: () => attempt(() => fs.fstatSync(fd).mtimeMs).pipe(doing(`looking at ${file}`)),
  read: (offset, length) => readFully(node, fd, offset, length).pipe(doing(`reading ${file}`)),
  write: (offset, bytes) => wait(() => node.write(fd, bytes, offset)).pipe(doing(`writing ${file}`)),
  truncate: (length) => wait(() => ftruncate(fd, length)).pipe(doing(`cutting ${file}`)),
  // Its size is synced with its bytes: they could not be read without it.
  sync: () => wait(() => fdatasync(fd)).pipe(unlessReadOnly, doing(`syncing ${file}`)),
  close: () => Effect.ignore(attempt(() => fs.closeSync(fd)))
})

/** Where there is nothing to tell of changes, or no more of it, it only looks again and again. */
const watch = (folder: string) =>
  Effect.gen(function* () {
    const changed = Latch.makeUnsafe(false)
    yield* Effect.acquireRelease(
      Effect.option(
        attempt(() =>
          fs
            .watch(folder, { persistent: false }, () => void changed.openUnsafe())
            // It may go, or run out of room for what happened. Then there is the other way.
            .on("error", () => {})
        )
      ),
      (watcher) => Effect.sync(() => (watcher._tag === "Some" ? watcher.value.close() : undefined))
    )
    return Effect.raceFirst(changed.await, Effect.sleep(pollMs)).pipe(
      Effect.andThen(Effect.sync(() => void changed.closeUnsafe()))
    )
  })
