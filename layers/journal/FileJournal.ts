/**
 * A journal in files: for each session a row of append-only JSON lines, with one writer.
 *
 * **Details**
 *
 * - What several calls write at a time goes to the disk together: one write, one sync.
 *   What need not be durable waits for some ms, for company.
 * - A torn last line is cut off by the next writer; one that is not what was written is
 *   logged, and the others are read without it.
 * - Files are rotated by their size. Calls that ended in a file that is older than what is
 *   kept leave; open ones stay. In memory are the open calls alone.
 * - Who writes a session holds its lock. A process that has ended holds none.
 * - A write that failed is taken back before anything else is written. Until there is room
 *   again each new call is tried, and refused; the terminals that could not be written are
 *   tried again with whatever comes next. Progress is, too, unless 8 MiB wait already: then
 *   it is refused, and not kept.
 * - A reader in another process that tells what it just synced, of a writer whose own sync
 *   failed and which crashes before it can write it again, has told what is then lost.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Journal from "../../src/Journal.ts"
import * as Find from "./internal/Find.ts"
import * as Segment from "./internal/Segment.ts"
import { type Limits, SessionWriter, toJournalError } from "./internal/SessionWriter.ts"
import * as Tail from "./internal/Tail.ts"
import type { Locked, Storage, StorageError } from "./Storage.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Whether the values of progress are kept, or how far it came. Default: `watermark`. */
  readonly progress?: "watermark" | "full" | undefined
  /** Of one file, in bytes. More takes longer to compact, less makes more files. Default: 16 MiB. */
  readonly rotateBytes?: number | undefined
  /** How long what need not be durable may wait for more. Default: 10 ms. */
  readonly linger?: Duration.Input | undefined
  /** How long the calls of a file are kept that have ended in it. Default: 7 days. */
  readonly keepFor?: Duration.Input | undefined
  /** Bytes of a session from which on they leave earlier. Default: 1 GiB. */
  readonly keepBytes?: number | undefined
}

/** Sessions that are open at a time, if they have nothing to do. Each is an open file; more of them end at the system's limit. */
const maxIdle = 64

/**
 * The journal in a folder. It closes with the scope, when all is written that can be.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (storage: Storage, options: Options = {}): Effect.Effect<Journal.Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sessions = new Sessions(
      storage,
      {
        rotateBytes: options.rotateBytes ?? 16 * 1024 * 1024,
        lingerMs: Duration.toMillis(options.linger ?? 10),
        keepMs: Duration.toMillis(options.keepFor ?? "7 days"),
        keepBytes: options.keepBytes ?? 1024 * 1024 * 1024
      },
      yield* Effect.context<never>()
    )
    yield* Effect.addFinalizer(() => sessions.close)
    return {
      progress: options.progress ?? "watermark",
      write: (entry, durability) => sessions.write(entry, durability),
      events: (callId, from = 0) => Stream.unwrap(sessions.events(callId, from)),
      claim: sessions.claim
    }
  })

/** What this process writes. */
class Sessions {
  private readonly storage: Storage
  private readonly limits: Limits
  private readonly context: Context.Context<never>
  /** By the name of the session, and by its id if calls of it were accepted. */
  private readonly writers = new Map<string, SessionWriter>()
  private readonly byId = new Map<string, SessionWriter>()
  /** The last of those that wait for their session to be opened, in the order in which they came. */
  private readonly arrivals = new Map<string, Deferred.Deferred<void>>()
  /** By the id of a call whose terminal is not durable. */
  private readonly calls = new Map<string, SessionWriter>()
  /** Sessions that are being opened or closed. */
  private readonly busy = new Map<string, Deferred.Deferred<void>>()
  private closed = false

  constructor(storage: Storage, limits: Limits, context: Context.Context<never>) {
    this.storage = storage
    this.limits = limits
    this.context = context
  }

  write(entry: Journal.Entry, durability: Journal.Durability): Effect.Effect<void, Journal.JournalError> {
    return Effect.suspend(() => {
      if (this.closed) return failed("Closed", "it has been closed")
      const callId = Journal.callIdOf(entry)
      const writer = this.calls.get(callId)
      if (entry._tag === "Accepted") {
        return writer === undefined
          ? this.accept(entry, durability)
          : failed("Settled", `the call ${callId} was accepted before`)
      }
      if (writer === undefined) return this.stranger(callId)
      return entry._tag === "Terminal" && writer.ending.has(callId) ? settled(callId) : writer.write(entry, durability)
    })
  }

  private accept(entry: Journal.Accepted, durability: Journal.Durability): Effect.Effect<void, Journal.JournalError> {
    const { sessionId } = entry.call
    const previous = this.arrivals.get(sessionId)
    const known = this.byId.get(sessionId)
    if (known !== undefined && previous === undefined) return known.write(entry, durability)
    const arrival = Deferred.makeUnsafe<void>()
    this.arrivals.set(sessionId, arrival)
    const name = Segment.sessionName(sessionId, this.storage.crc32)
    const inTurn = previous === undefined ? Effect.void : Deferred.await(previous)
    return Effect.andThen(inTurn, Effect.mapError(this.opened(name, sessionId), this.toJournalError)).pipe(
      Effect.map((writer) => {
        // It had nothing to do, and was closed to make room for others; or all of it was.
        if (writer.isClosed) return this.write(entry, durability)
        writer.claimed = false
        this.byId.set(sessionId, writer)
        return writer.write(entry, durability)
      }),
      // It has its place now: the next one.
      Effect.ensuring(
        Effect.sync(() => {
          if (this.arrivals.get(sessionId) === arrival) this.arrivals.delete(sessionId)
          Deferred.doneUnsafe(arrival, Effect.void)
        })
      ),
      Effect.uninterruptible,
      Effect.flatten
    )
  }

  /** A call that is not open here. */
  private stranger(callId: string): Effect.Effect<never, Journal.JournalError> {
    return Effect.gen({ self: this }, function* () {
      const found = yield* Find.beginning(this.storage, callId)
      if (found === undefined) return yield* failed("Unknown", `it has no call ${callId}`)
      const isOurs = this.writers.has(found.session) || (yield* this.storage.left(found.session)) === "clean"
      return yield* isOurs ? settled(callId) : failed("Unknown", `the call ${callId} is not this process's`)
    }).pipe(Effect.mapError((error) => (error._tag === "JournalError" ? error : this.toJournalError(error))))
  }

  events(
    callId: string,
    from: number
  ): Effect.Effect<Stream.Stream<Journal.Kept, Journal.JournalError>, Journal.JournalError> {
    return Effect.gen({ self: this }, function* () {
      if (this.closed) return yield* failed("Closed", "it has been closed")
      const open = this.calls.get(callId)
      const found =
        open === undefined
          ? yield* Effect.mapError(Find.beginning(this.storage, callId), this.toJournalError)
          : { session: open.name, last: undefined }
      if (found === undefined) return yield* failed("Unknown", `it has no call ${callId}`)
      const { last: begins, session } = found
      return Tail.events({
        storage: this.storage,
        session,
        begins,
        callId,
        from,
        writer: () => this.writers.get(session),
        isClosed: () => this.closed
      })
    })
  }

  /** One after another: each may be long, and all of them together are no more in memory than their open calls. */
  readonly claim: Effect.Effect<ReadonlyArray<Journal.OpenCall>, Journal.JournalError> = Effect.gen(
    { self: this },
    function* () {
      if (this.closed) return yield* failed("Closed", "it has been closed")
      const names = yield* Effect.mapError(this.storage.list(), this.toJournalError)
      for (const name of Segment.sessions(names)) {
        if (this.writers.has(name)) continue
        yield* Effect.catch(this.takeOver(name), (error) =>
          Effect.logError(`the calls of the session ${name} are not recovered`, error)
        )
      }
      const claimed = yield* Effect.forEach([...this.writers.values()], (writer) => writer.claim)
      return claimed
        .flatMap(inOrder)
        .toSorted((a, b) => a.at - b.at)
        .map(({ call }) => call)
    }
  )

  /** Nothing, if another process has it, or every call of it has its terminal. */
  private takeOver(name: string): Effect.Effect<void, StorageError> {
    return Effect.gen({ self: this }, function* () {
      if ((yield* this.storage.left(name)) === "clean") {
        return yield* this.exclusively(
          name,
          Effect.catchTag(this.forget(name), "Locked", () => Effect.void)
        )
      }
      const writer = yield* Effect.catchTag(this.opened(name, undefined), "Locked", () => Effect.succeed(undefined))
      if (writer === undefined) return
      writer.claimed = !this.byId.has(writer.sessionId)
      if (writer.claimed && writer.isIdle) yield* this.closeIdle(writer)
    })
  }

  /** Removes a session in which nothing happened for as long as ended calls are kept. The lock goes last. */
  private forget(name: string): Effect.Effect<void, StorageError | Locked> {
    const { limits, storage } = this
    const old = Effect.gen(function* () {
      const names = yield* storage.list()
      const { live, superseded } = Segment.of(name, names)
      const last = live.at(-1)
      if (last === undefined) return undefined
      const modifiedAt = yield* Effect.acquireUseRelease(
        storage.open(last.name, "read"),
        (file) => file.modifiedAt(),
        (file) => file.close()
      )
      return (yield* Clock.currentTimeMillis) - modifiedAt < limits.keepMs ? undefined : [...superseded, ...live]
    })
    return Effect.gen(function* () {
      if ((yield* old) === undefined) return
      const lock = yield* storage.lock(name)
      // Somebody may have had it in between.
      const segments = yield* Effect.onError(old, () => lock.release("open"))
      if (segments === undefined) return yield* lock.release("open")
      const removed = Effect.forEach(segments, (segment) => storage.remove(segment.name), { discard: true })
      yield* Effect.onError(removed, () => lock.release("open"))
      yield* lock.remove()
    })
  }

  /** Its writer, which is opened if it is not there yet. */
  private opened(name: string, sessionId: string | undefined): Effect.Effect<SessionWriter, StorageError | Locked> {
    return this.exclusively(
      name,
      Effect.suspend(() => {
        const writer = this.writers.get(name)
        return writer === undefined ? this.open(name, sessionId) : Effect.succeed(writer)
      })
    )
  }

  private open(name: string, sessionId: string | undefined): Effect.Effect<SessionWriter, StorageError | Locked> {
    return Effect.gen({ self: this }, function* () {
      const { calls, context, limits, storage } = this
      for (const other of this.writers.values()) {
        if (this.writers.size < maxIdle) break
        if (other.isIdle) yield* this.closeIdle(other)
      }
      const lock = yield* storage.lock(name)
      const onIdle = (writer: SessionWriter) => {
        if (writer.claimed) Effect.runForkWith(context)(this.closeIdle(writer))
      }
      const writer = new SessionWriter({ name, sessionId, storage, limits, lock, context, calls, onIdle })
      // What it found it leaves as it is.
      yield* Effect.onError(writer.start, () => lock.release("open"))
      this.writers.set(name, writer)
      return writer
    })
  }

  private closeIdle(writer: SessionWriter): Effect.Effect<void> {
    return this.exclusively(
      writer.name,
      Effect.suspend(() => (writer.isIdle && !writer.isClosed ? this.closeNow(writer) : Effect.void))
    )
  }

  private closeNow(writer: SessionWriter): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.writers.delete(writer.name)
      this.byId.delete(writer.sessionId)
      return writer.close
    })
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.closed = true
    return Effect.forEach([...this.busy.values()], Deferred.await, { discard: true }).pipe(
      Effect.andThen(
        Effect.suspend(() =>
          Effect.forEach([...this.writers.values()], (writer) => this.closeNow(writer), {
            concurrency: 16,
            discard: true
          })
        )
      )
    )
  })

  /** What opens or closes a session, one after the other, and to its end. */
  private exclusively<A, E>(name: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.uninterruptible(
      Effect.suspend(() => {
        const busy = this.busy.get(name)
        if (busy !== undefined) return Effect.andThen(Deferred.await(busy), this.exclusively(name, effect))
        const done = Deferred.makeUnsafe<void>()
        this.busy.set(name, done)
        return Effect.ensuring(
          effect,
          Effect.sync(() => {
            this.busy.delete(name)
            Deferred.doneUnsafe(done, Effect.void)
          })
        )
      })
    )
  }

  private readonly toJournalError = (error: StorageError | Locked): Journal.JournalError =>
    error._tag === "StorageError"
      ? toJournalError(this.storage, error)
      : new Journal.JournalError({
          reason: "Locked",
          detail: `another process writes this session, says ${error.file}`
        })
}

/** Of one session the order is that of the file, whatever its clock did. */
const inOrder = (calls: ReadonlyArray<Journal.OpenCall>) => {
  let at = -Infinity
  return calls.map((call) => ({ call, at: (at = Math.max(at, call.accepted.at)) }))
}

const failed = (reason: Journal.JournalError["reason"], detail: string): Effect.Effect<never, Journal.JournalError> =>
  Effect.fail(new Journal.JournalError({ reason, detail }))

const settled = (callId: string) => failed("Settled", `the call ${callId} has its terminal`)
