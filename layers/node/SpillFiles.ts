/**
 * `Spill` on plain files: one for each output, in a directory for each session.
 *
 * **Details**
 *
 * - Directories are 0700 and files 0600. Names are the handles, which cannot be
 *   guessed.
 * - The first write that fails ends the writing of that output, and is logged. It
 *   never fails the call.
 * - The files of a session are removed when it closes, all of them when the layer's
 *   scope closes. What a program left that ended without, the next start removes:
 *   the name of its directory says which process it was, on which boot of which
 *   machine. What cannot be told to be dead stays: that of another machine or
 *   container, in a cache that they share.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { CurrentSession } from "../../src/Session.ts"
import { makeHandle, NotSpilled, type Part, Spill, type Spilled, type Store } from "../../src/Spill.ts"
import * as Owner from "./internal/Owner.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Where the files go. Default: `toolstream/spill` in `$XDG_CACHE_HOME`, or in `~/.cache`. */
  readonly directory?: string | undefined
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: Options): Layer.Layer<never> =>
  Layer.effect(
    Spill,
    Effect.gen(function* () {
      const directory = path.resolve(options.directory ?? defaultDirectory())
      yield* removeLeftovers(directory)
      // Two of one process do not share one: each removes its own.
      const own = path.join(directory, `${yield* Owner.current}.${randomUUID()}`)
      yield* Effect.addFinalizer(() => remove(own))
      return make(own)
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

/** What went wrong is a value, of a kind that says why. */
const attempt = <A>(call: () => Promise<A>): Effect.Effect<A, NodeJS.ErrnoException> =>
  Effect.tryPromise({
    try: call,
    catch: (error): NodeJS.ErrnoException => (error instanceof Error ? error : new Error(String(error)))
  })

const remove = (directory: string): Effect.Effect<void> =>
  Effect.ignore(attempt(() => fs.rm(directory, { recursive: true, force: true })))

/** Removes what programs left that have ended. */
const removeLeftovers = Effect.fnUntraced(function* (directory: string) {
  const names = yield* Effect.orElseSucceed(
    attempt(() => fs.readdir(directory)),
    (): ReadonlyArray<string> => []
  )
  for (const name of names) {
    const owner = /^(\d+-.*)\.[\da-f-]{36}$/.exec(name)?.[1]
    // Of no age: of whom it cannot be known whether they are gone, nothing is removed.
    if (owner !== undefined && (yield* Owner.isGone(owner, 0))) yield* remove(path.join(directory, name))
  }
})

/** A store in a directory that is made when it is needed. */
const make = (own: string): Store => {
  const directories = new WeakMap<Scope.Scope, Deferred.Deferred<string>>()
  const files = new Map<string, SpillFile>()

  const removeSession = (session: Scope.Scope, directory: string) =>
    Effect.suspend(() => {
      for (const [handle, file] of files) {
        if (file.session !== session) continue
        file.end()
        files.delete(handle)
      }
      return remove(directory)
    })

  /** The directory of a session. That of one that has closed is removed at once, and nothing can be written there. */
  const directoryOf = Effect.fnUntraced(function* (session: Scope.Scope) {
    const known = directories.get(session)
    if (known !== undefined) return yield* Deferred.await(known)
    const made = Deferred.makeUnsafe<string>()
    directories.set(session, made)
    const directory = path.join(own, randomUUID())
    // What is wrong with it is told by the file that cannot be opened there.
    yield* Effect.ignore(attempt(() => fs.mkdir(directory, { recursive: true, mode: 0o700 })))
    yield* Scope.addFinalizer(session, removeSession(session, directory))
    yield* Deferred.succeed(made, directory)
    return directory
  })

  const open = Effect.fnUntraced(function* () {
    const { scope: session } = yield* CurrentSession
    const handle = makeHandle()
    const file = new SpillFile(handle, path.join(yield* directoryOf(session), handle), session)
    files.set(handle, file)
    yield* file.open
    yield* Effect.addFinalizer(() => file.close)
    return {
      handle,
      write: file.write,
      state: Effect.sync(() => file.state),
      discard: Effect.suspend(() => {
        files.delete(handle)
        return Effect.andThen(file.close, Effect.ignore(attempt(() => fs.unlink(file.path))))
      })
    }
  })

  return {
    open: Effect.uninterruptible(Effect.suspend(open)),
    read: (handle, offset, length) =>
      Effect.flatMap(CurrentSession, ({ scope }) => {
        const file = files.get(handle)
        return file === undefined || file.session !== scope
          ? Effect.fail(new NotSpilled({ handle, why: "unknown" }))
          : file.read(offset, length)
      })
  }
}

const toWrite = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND | constants.O_NOFOLLOW

const toRead = constants.O_RDONLY | constants.O_NOFOLLOW

class SpillFile {
  readonly session: Scope.Scope
  readonly path: string
  private readonly handle: string
  private sizeBytes = 0
  private complete = true
  private file: fs.FileHandle | undefined

  constructor(handle: string, path: string, session: Scope.Scope) {
    this.handle = handle
    this.path = path
    this.session = session
  }

  get state(): Spilled {
    return { handle: this.handle, sizeBytes: this.sizeBytes, complete: this.complete }
  }

  readonly open: Effect.Effect<void> = Effect.suspend(() =>
    attempt(() => fs.open(this.path, toWrite, 0o600)).pipe(
      Effect.map((file) => {
        this.file = file
      }),
      Effect.catch((error) => this.failed(error))
    )
  )

  /** Not interrupted: the system reads the bytes until it is done. */
  readonly write = (bytes: Uint8Array): Effect.Effect<void> =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        const { file } = this
        if (bytes.length === 0) return Effect.void
        if (file === undefined || !this.complete) {
          this.complete = false
          return Effect.void
        }
        return attempt(() => file.write(bytes)).pipe(
          Effect.flatMap(({ bytesWritten }) => {
            this.sizeBytes += bytesWritten
            return this.write(bytes.subarray(bytesWritten))
          }),
          Effect.catch((error) => this.failed(error))
        )
      })
    )

  readonly read = (offset: number, length: number): Effect.Effect<Part, NotSpilled> =>
    Effect.suspend(() => {
      const { sizeBytes } = this
      const wanted = Math.max(0, Math.min(length, sizeBytes - offset))
      if (wanted === 0) return Effect.succeed({ bytes: new Uint8Array(0), sizeBytes })
      return Effect.acquireUseRelease(
        attempt(() => fs.open(this.path, toRead)),
        (file) => attempt(() => file.read(new Uint8Array(wanted), 0, wanted, offset)),
        (file) => Effect.ignore(attempt(() => file.close()))
      ).pipe(
        Effect.map(({ buffer, bytesRead }) => ({ bytes: buffer.subarray(0, bytesRead), sizeBytes })),
        Effect.mapError(
          ({ code }) => new NotSpilled({ handle: this.handle, why: code === "ENOENT" ? "unknown" : "unreadable" })
        )
      )
    })

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    const { file } = this
    this.file = undefined
    return file === undefined ? Effect.void : Effect.ignore(attempt(() => file.close()))
  })

  /** Nothing is written from here on. */
  end(): void {
    this.complete = false
  }

  private failed({ message }: Error): Effect.Effect<void> {
    this.complete = false
    // Nobody can ask for it.
    if (this.session.state._tag === "Closed") return Effect.void
    return Effect.logWarning(`the output ${this.handle} ends after ${this.sizeBytes} bytes: ${message}`)
  }
}
