/**
 * `Spill` on plain files, named by what is in them.
 *
 * **Details**
 *
 * - Directories are 0700 and files 0600. A program has a directory of its own, which
 *   no other writes to, or counts.
 * - While it is written an output is a file of its own. At its end the file is named
 *   by the SHA-256 of its bytes, and what is there already is not kept twice. Handles
 *   cannot be guessed and say nothing of the bytes: that of one session is of no use
 *   to another, though both may stand for the same file.
 * - Of one output at most 256 MiB are kept, of all of a program 1 GiB, unless the
 *   options say otherwise. Who goes first to make room is said in `SpillQuota`.
 * - The first write that fails, on a full disk for one, ends the writing of that
 *   output, and is logged. It never fails the call.
 * - A file goes with the last session that has a handle for it, all of them when the
 *   layer's scope closes. What a program left that ended without, the next start
 *   removes: the name of its directory says which process it was, on which boot of
 *   which machine. What cannot be told to be dead stays: that of another machine or
 *   container, in a cache that they share.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { createHash, randomUUID } from "node:crypto"
import { constants, mkdirSync, readdirSync, renameSync, unlinkSync } from "node:fs"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { CurrentSession } from "../../src/Session.ts"
import {
  makeHandle,
  type Missing,
  NotSpilled,
  type Part,
  Spill,
  type Spilled,
  stateOf,
  type Store
} from "../../src/Spill.ts"
import { type Limits, SpillQuota } from "../../src/SpillQuota.ts"
import * as Owner from "./internal/Owner.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Where the files go. Default: `toolstream/spill` in `$XDG_CACHE_HOME`, or in `~/.cache`. */
  readonly directory?: string | undefined
  /** Bytes kept of one output. Default: 256 MiB. */
  readonly outputBytes?: number | undefined
  /** Bytes kept of all outputs of this program. Default: 1 GiB. */
  readonly totalBytes?: number | undefined
}

/** Less loses the logs of large builds; more fills the disks of small machines. */
const defaults: Limits = { outputBytes: 256 * 1024 * 1024, totalBytes: 1024 * 1024 * 1024 }

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: Options): Layer.Layer<never> =>
  Layer.effect(
    Spill,
    Effect.gen(function* () {
      const directory = path.resolve(options.directory ?? defaultDirectory())
      const { outputBytes = defaults.outputBytes, totalBytes = defaults.totalBytes } = options
      yield* removeLeftovers(directory)
      const files = new Files(directory, { outputBytes, totalBytes })
      yield* Effect.addFinalizer(() => files.close)
      return files
    })
  )

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = layerWith({})

const defaultDirectory = (): string => {
  const cache = process.env["XDG_CACHE_HOME"]
  // A relative one is to be ignored, says the XDG Base Directory Specification 0.8.
  const base = cache !== undefined && path.isAbsolute(cache) ? cache : path.join(os.homedir(), ".cache")
  return path.join(base, "toolstream", "spill")
}

const toError = (error: unknown): NodeJS.ErrnoException => (error instanceof Error ? error : new Error(String(error)))

/** What went wrong is a value, of a kind that says why. */
const attempt = <A>(call: () => Promise<A>): Effect.Effect<A, NodeJS.ErrnoException> =>
  Effect.tryPromise({ try: call, catch: toError })

/** Of names, which takes microseconds. */
const attemptNow = <A>(call: () => A): Effect.Effect<A, NodeJS.ErrnoException> =>
  Effect.try({ try: call, catch: toError })

const removeDirectory = (directory: string): Effect.Effect<void> =>
  Effect.ignore(attempt(() => fs.rm(directory, { recursive: true, force: true })))

/** What is gone already, or was never made, is as it should be. */
const unlink = (file: string): Effect.Effect<void> => Effect.ignore(attemptNow(() => unlinkSync(file)))

/** Removes what programs left that have ended. */
const removeLeftovers = Effect.fnUntraced(function* (directory: string) {
  const names = yield* Effect.orElseSucceed(
    attemptNow(() => readdirSync(directory)),
    (): ReadonlyArray<string> => []
  )
  for (const name of names) {
    const owner = /^(\d+-.*)\.[\da-f-]{36}$/.exec(name)?.[1]
    // Of no age: of whom it cannot be known whether they are gone, nothing is removed.
    if (owner !== undefined && (yield* Owner.isGone(owner, 0))) yield* removeDirectory(path.join(directory, name))
  }
})

const toWrite = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND | constants.O_NOFOLLOW

const toRead = constants.O_RDONLY | constants.O_NOFOLLOW

/** What is in one file, and whose it is. */
interface Content {
  path: string
  readonly sharers: Set<SpillFile>
}

/** A store in a directory that is named and made when it is needed. */
class Files implements Store {
  private readonly files = new Map<string, SpillFile>()
  /** What has ended, by its hash. */
  private readonly contents = new Map<string, Content>()
  private readonly sessions = new WeakSet<Scope.Scope>()
  readonly quota: SpillQuota<Content>
  private readonly parent: string
  private own: string | undefined

  constructor(parent: string, limits: Limits) {
    this.parent = parent
    this.quota = new SpillQuota(limits)
  }

  /** Two of one process do not share one: each removes its own. */
  private readonly directory: Effect.Effect<string> = Effect.suspend(() =>
    this.own !== undefined
      ? Effect.succeed(this.own)
      : Effect.map(Owner.current, (owner) => (this.own ??= path.join(this.parent, `${owner}.${randomUUID()}`)))
  )

  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    this.own === undefined ? Effect.void : removeDirectory(this.own)
  )

  readonly open: Store["open"] = Effect.uninterruptible(
    Effect.gen({ self: this }, function* () {
      const { scope: session } = yield* CurrentSession
      const file = new SpillFile(makeHandle(), session, this, yield* this.directory)
      this.files.set(file.handle, file)
      this.quota.begin(file.content)
      if (!this.sessions.has(session)) {
        this.sessions.add(session)
        yield* Scope.addFinalizer(session, this.closeSession(session))
      }
      yield* file.open
      yield* Effect.addFinalizer(() => file.close)
      return {
        handle: file.handle,
        write: file.write,
        state: Effect.sync(() => file.state),
        discard: Effect.suspend(() => this.drop(file))
      }
    })
  )

  readonly read: Store["read"] = (handle, offset, length) =>
    Effect.flatMap(CurrentSession, ({ scope }) => {
      const file = this.files.get(handle)
      return file === undefined || file.session !== scope
        ? Effect.fail(new NotSpilled({ handle, why: "unknown" }))
        : file.read(offset, length)
    })

  /** Their sharers have nothing any more. Returns when the room is free. */
  remove(contents: ReadonlyArray<Content>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const sharers = contents.flatMap(({ sharers }) => Array.from(sharers))
      // All names first, and at once. A file that is open takes room until it is closed, too.
      return Effect.andThen(
        Effect.forEach(contents, (content) => this.forget(content), { discard: true }),
        Effect.forEach(sharers, (file) => file.removed, { discard: true })
      )
    })
  }

  private forget(content: Content): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.quota.release(content)
      for (const { handle } of content.sharers) this.files.delete(handle)
      content.sharers.clear()
      const hash = path.basename(content.path)
      if (this.contents.get(hash) === content) this.contents.delete(hash)
      return unlink(content.path)
    })
  }

  /** Names what has been written by its hash; if that is there already, it is that. */
  settle(file: SpillFile, hash: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { content } = file
      const known = this.contents.get(hash)
      if (known !== undefined) {
        file.content = known
        known.sharers.add(file)
        this.quota.end(known)
        this.quota.release(content)
        return unlink(content.path)
      }
      this.quota.end(content)
      const named = path.join(path.dirname(content.path), hash)
      return Effect.ignore(
        Effect.map(
          attemptNow(() => renameSync(content.path, named)),
          () => {
            content.path = named
            this.contents.set(hash, content)
          }
        )
      )
    })
  }

  /** One handle less. */
  private drop(file: SpillFile): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { content } = file
      this.files.delete(file.handle)
      if (content.sharers.size > 1) {
        content.sharers.delete(file)
        return file.removed
      }
      return content.sharers.has(file) ? this.remove([content]) : Effect.void
    })
  }

  private closeSession(session: Scope.Scope): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        Array.from(this.files.values()).filter((file) => file.session === session),
        (file) => this.drop(file),
        { discard: true }
      )
    )
  }
}

class SpillFile {
  readonly handle: string
  readonly session: Scope.Scope
  content: Content
  private readonly files: Files
  private readonly hash = createHash("sha256")
  private sizeBytes = 0
  private missing: Missing | undefined
  private file: fs.FileHandle | undefined
  private ended = false

  constructor(handle: string, session: Scope.Scope, files: Files, directory: string) {
    this.handle = handle
    this.session = session
    this.files = files
    this.content = { path: path.join(directory, handle), sharers: new Set([this]) }
  }

  get state(): Spilled {
    return stateOf(this.handle, this.sizeBytes, this.missing)
  }

  readonly open: Effect.Effect<void> = Effect.suspend(() => {
    if (this.isOrphan) return this.removed
    return attemptNow(() => mkdirSync(path.dirname(this.content.path), { recursive: true, mode: 0o700 })).pipe(
      Effect.andThen(attempt(() => fs.open(this.content.path, toWrite, 0o600))),
      Effect.flatMap((file) => {
        this.file = file
        // The session closed meanwhile: the file was not there yet to be removed.
        return this.isOrphan ? this.files.remove([this.content]) : Effect.void
      }),
      Effect.catch((error) => this.failed(error))
    )
  })

  /** Not interrupted: the system reads the bytes until it is done. */
  readonly write = (bytes: Uint8Array): Effect.Effect<void> =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        if (bytes.length === 0) return Effect.void
        if (this.file === undefined || this.missing !== undefined) {
          this.missing ??= "closed"
          return Effect.void
        }
        const { granted, removed } = this.files.quota.take(this.content, bytes.length)
        const appended = this.append(bytes.subarray(0, granted))
        const written = removed.length === 0 ? appended : Effect.andThen(this.files.remove(removed), appended)
        if (granted === bytes.length) return written
        return Effect.andThen(
          written,
          Effect.sync(() => {
            this.missing ??= "limit"
          })
        )
      })
    )

  readonly read = (offset: number, length: number): Effect.Effect<Part, NotSpilled> =>
    Effect.suspend(() => {
      const { ended, sizeBytes } = this
      const { path } = this.content
      const wanted = Math.max(0, Math.min(length, sizeBytes - offset))
      if (wanted === 0) return Effect.succeed({ bytes: new Uint8Array(0), sizeBytes, ended })
      return Effect.acquireUseRelease(
        attempt(() => fs.open(path, toRead)),
        (file) => attempt(() => file.read(new Uint8Array(wanted), 0, wanted, offset)),
        (file) => Effect.ignore(attempt(() => file.close()))
      ).pipe(
        Effect.map(({ buffer, bytesRead }) => ({ bytes: buffer.subarray(0, bytesRead), sizeBytes, ended })),
        Effect.catch(({ code }) =>
          // It got its name between the look and the opening.
          code === "ENOENT" && path !== this.content.path
            ? this.read(offset, length)
            : Effect.fail(new NotSpilled({ handle: this.handle, why: code === "ENOENT" ? "unknown" : "unreadable" }))
        )
      )
    })

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    if (this.ended) return Effect.void
    return Effect.andThen(
      this.closeFile,
      Effect.suspend(() => {
        if (this.ended) return Effect.void
        this.ended = true
        return this.files.settle(this, this.hash.digest("hex"))
      })
    )
  })

  /** What it had is gone. */
  readonly removed: Effect.Effect<void> = Effect.suspend(() => {
    this.sizeBytes = 0
    this.missing = "removed"
    this.ended = true
    return this.closeFile
  })

  private readonly closeFile: Effect.Effect<void> = Effect.suspend(() => {
    const { file } = this
    this.file = undefined
    return file === undefined ? Effect.void : Effect.ignore(attempt(() => file.close()))
  })

  /** Nobody can ask for it. */
  private get isOrphan(): boolean {
    return this.session.state._tag === "Closed" || this.ended
  }

  /** Writes what there is room for. */
  private append(bytes: Uint8Array): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { file } = this
      if (bytes.length === 0 || file === undefined) return Effect.void
      return attempt(() => file.write(bytes)).pipe(
        Effect.flatMap(({ bytesWritten }) => {
          // It was removed meanwhile, to make room.
          if (this.ended) return Effect.void
          this.sizeBytes += bytesWritten
          this.hash.update(bytes.subarray(0, bytesWritten))
          return this.append(bytes.subarray(bytesWritten))
        }),
        Effect.catch((error) => {
          this.files.quota.giveBack(this.content, bytes.length)
          return this.failed(error)
        })
      )
    })
  }

  private failed({ code, message }: NodeJS.ErrnoException): Effect.Effect<void> {
    this.missing ??= code === "ENOSPC" || code === "EDQUOT" ? "disk full" : "disk failed"
    return this.isOrphan
      ? Effect.void
      : Effect.logWarning(`the output ${this.handle} ends after ${this.sizeBytes} bytes: ${message}`)
  }
}
