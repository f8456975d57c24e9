/**
 * The one writer of a session.
 *
 * **Details**
 *
 * - What is written waits in memory, in order. One flush at a time takes all of it: one
 *   write, one sync, and whoever waited for any of it goes on (group commit).
 * - What was written since the last sync that succeeded is not trusted: before anything
 *   else is written the file is opened anew and cut back to there. A sync that failed
 *   is never asked again.
 * - What failed and whose writer was not told stays in front of what waits, and is
 *   tried again with it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Journal from "../../../src/Journal.ts"
import { type File, type Lock, type Storage, StorageError, writeFully } from "../Storage.ts"
import * as Compaction from "./Compaction.ts"
import * as Line from "./Line.ts"
import { OpenCalls } from "./OpenCalls.ts"
import * as Scan from "./Scan.ts"
import * as Segment from "./Segment.ts"

/** @internal */
export interface Limits {
  /** Of a segment, in bytes. */
  readonly rotateBytes: number
  /** How long what is not written may wait for more, in ms. */
  readonly lingerMs: number
  /** How long closed calls are kept, in ms and in bytes of their session. */
  readonly keepMs: number
  readonly keepBytes: number
}

/** Bytes that wait to be written. Who has more to say waits until they are: a disk that is full must not fill the memory. */
const maxPending = 8 * 1024 * 1024

/** In ms. How often is tried what failed, if nobody writes: whoever follows a call waits for its terminal. */
const retryMs = 1000

const encoder = new TextEncoder()

interface Pending {
  readonly tag: Journal.Entry["_tag"]
  readonly callId: string
  readonly line: string
  /** Told when it is durable, or is not. */
  waiter: ((exit: Exit.Exit<void, Journal.JournalError>) => void) | undefined
}

interface Current {
  readonly file: File
  /** Bytes that are durable. */
  good: number
  /** Nothing of it is durable, not even its name. */
  fresh: boolean
}

/**
 * Why the journal could not do it.
 *
 * @internal
 */
export const toJournalError = (storage: Storage, error: StorageError): Journal.JournalError =>
  new Journal.JournalError({
    reason: error.code === "ENOSPC" || error.code === "EDQUOT" ? "NoSpace" : "Io",
    detail: `${error.message} (${storage.folder})`
  })

/** @internal */
export class SessionWriter {
  readonly name: string
  sessionId: string
  /** Of calls that have no terminal, whoever accepted them. */
  private readonly open = new Set<string>()
  /** Of calls whose terminal is on its way. */
  readonly ending = new Set<string>()
  /** The first segment that each reader has not read: compaction leaves it, and what comes after it, alone. */
  private readonly readers = new Map<object, number>()
  private readonly replacing = Semaphore.makeUnsafe(1)
  /** Opened by a claim, and nothing else: closed with its last call. */
  claimed = false
  private unclaimed = new OpenCalls()
  private readonly storage: Storage
  private readonly limits: Limits
  /** Of all writers, by the id of a call whose terminal is not durable. */
  private readonly calls: Map<string, SessionWriter>
  private readonly lock: Lock
  private readonly context: Context.Context<never>
  private readonly onIdle: (session: SessionWriter) => void
  private readonly changed = Latch.makeUnsafe(false)
  /** Of changes that there were. */
  version = 0
  /** Of the last segment. */
  private number = 0
  private current: Current | undefined
  /** What comes after `good`, and the descriptor, are not to be trusted. */
  private dirty = false
  private failed = false
  private pending: Array<Pending> = []
  private pendingBytes = 0
  private flushing: Fiber.Fiber<void> | undefined
  private timer: Fiber.Fiber<void> | undefined
  private compacting: Fiber.Fiber<void> | undefined
  /** Its id was said by who opened it. */
  private readonly isNamed: boolean
  isClosed = false

  constructor(options: {
    readonly name: string
    /** If it is known. It stands in the files, too. */
    readonly sessionId: string | undefined
    readonly calls: Map<string, SessionWriter>
    readonly storage: Storage
    readonly limits: Limits
    readonly lock: Lock
    readonly context: Context.Context<never>
    readonly onIdle: (session: SessionWriter) => void
  }) {
    this.name = options.name
    this.sessionId = options.sessionId ?? options.name
    this.isNamed = options.sessionId !== undefined
    this.calls = options.calls
    this.storage = options.storage
    this.limits = options.limits
    this.lock = options.lock
    this.context = options.context
    this.onIdle = options.onIdle
  }

  // ---------------------------------------------------------------------------
  // Opening
  // ---------------------------------------------------------------------------

  /** Takes over what is there. Everything in it is durable from then on. */
  readonly start: Effect.Effect<void, StorageError> = Effect.gen({ self: this }, function* () {
    const { storage } = this
    const names = yield* storage.list()
    const { live, superseded } = Segment.of(this.name, names)
    const leftovers = names.filter((name) => name === Segment.temporary(this.name))
    if (live.length > 0 || superseded.length > 0 || leftovers.length > 0) {
      // What a compaction renamed before its process ended has its name for good before anything is removed for it.
      yield* storage.syncFolder()
      for (const name of [...superseded.map(({ name }) => name), ...leftovers]) yield* storage.remove(name)
    }
    const visitor: Scan.Visitor = {
      entry: (entry) => {
        if (!Scan.isHeader(entry)) return this.unclaimed.add(entry)
        const header = Scan.headerOf(entry.line)
        if (Option.isNone(header)) unreadable = entry.line
        else if (!this.isNamed) this.sessionId = header.value.sessionId
        else if (header.value.sessionId !== this.sessionId) unreadable = entry.line
      },
      corrupt: (corrupt) => corrupted.push(corrupt)
    }
    const corrupted: Array<Scan.Corrupt> = []
    let unreadable: string | undefined
    for (const [index, segment] of live.entries()) {
      const isSealed = index < live.length - 1 || segment.first < segment.last
      if (isSealed) yield* Scan.segment(storage, segment, visitor)
      else this.current = yield* this.takeOver(segment, visitor)
      this.number = segment.last
    }
    if (unreadable !== undefined) {
      if (this.current !== undefined) yield* this.current.file.close()
      return yield* new StorageError({
        code: "of another session, or of another version",
        doing: `reading the header ${unreadable}`
      })
    }
    for (const id of this.unclaimed.ids) {
      this.open.add(id)
      this.calls.set(id, this)
    }
    for (const { bytes, file, offset } of corrupted) {
      yield* Effect.logWarning(
        `the journal ${storage.folder}: ${file} has a line of ${bytes} bytes at ${offset} that is not what was written; ` +
          "the others are read without it"
      )
    }
  })

  /** Cuts off a line that has no end, and goes on behind the last one that has. */
  private takeOver({ name }: Segment.Segment, visitor: Scan.Visitor): Effect.Effect<Current, StorageError> {
    const { storage } = this
    return Effect.flatMap(storage.open(name, "write"), (file) =>
      Effect.gen(function* () {
        const good = yield* Scan.lines(storage, name, file, visitor)
        if ((yield* file.size()) > good) yield* file.truncate(good)
        // The one who wrote it may have ended before it was.
        yield* file.sync()
        return { file, good, fresh: good === 0 }
      }).pipe(Effect.onError(() => file.close()))
    )
  }

  /** The calls that it found, once. */
  readonly claim: Effect.Effect<ReadonlyArray<Journal.OpenCall>> = Effect.suspend(() => {
    const { unclaimed } = this
    this.unclaimed = new OpenCalls()
    return unclaimed.decoded
  })

  // ---------------------------------------------------------------------------
  // Writing
  // ---------------------------------------------------------------------------

  get isIdle(): boolean {
    return this.open.size === 0 && this.pending.length === 0 && this.flushing === undefined && this.readers.size === 0
  }

  write(entry: Journal.Entry, durability: Journal.Durability): Effect.Effect<void, Journal.JournalError> {
    const text = JSON.stringify(Journal.toJson(entry))
    if (text.length > Line.maxBytes / 4) {
      return Effect.fail(new Journal.JournalError({ reason: "Io", detail: `an entry of ${text.length} letters` }))
    }
    const tag = entry._tag
    const callId = Journal.callIdOf(entry)
    const line = Line.make(text, this.storage.crc32)
    if (tag === "Accepted") {
      this.open.add(callId)
      this.calls.set(callId, this)
    }
    if (tag === "Terminal") {
      this.open.delete(callId)
      this.ending.add(callId)
    }
    const one: Pending = { tag, callId, line, waiter: undefined }
    this.pending.push(one)
    this.pendingBytes += line.length
    const waits =
      durability === "durable" ||
      this.pendingBytes > maxPending ||
      // Whether there is room again is not known before it was tried.
      (this.failed && isRefusable(one))
    if (!waits) {
      if (this.flushing === undefined) this.later(this.limits.lingerMs)
      return Exit.void
    }
    return Effect.callback<void, Journal.JournalError>((resume) => {
      one.waiter = resume
      this.flush()
    })
  }

  /** From now on what it has to read stays as it is, from this segment on. */
  reads(reader: object, segment: number): Effect.Effect<void> {
    return this.replacing.withPermits(1)(Effect.sync(() => void this.readers.set(reader, segment)))
  }

  readNoMore(reader: object): void {
    this.readers.delete(reader)
  }

  /** When more became durable than in that version, or the writer was closed. */
  awaitChange(since: number): Effect.Effect<void> {
    return Effect.suspend(() => (this.isClosed || this.version !== since ? Effect.void : this.changed.await))
  }

  /** How much of a segment is durable. Undefined: all that is in it. */
  durable(segment: number): number | undefined {
    return this.current === undefined || segment < this.number ? undefined : this.current.good
  }

  /** Closes it when all is written that can be. */
  readonly close: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.isClosed = true
    this.timer?.interruptUnsafe()
    if (this.flushing !== undefined) yield* Fiber.await(this.flushing)
    if (this.pending.length > 0) yield* this.attempt
    if (this.compacting !== undefined) yield* Fiber.interrupt(this.compacting)
    if (this.pending.length > 0) {
      yield* Effect.logError(`the journal ${this.storage.folder} lost ${this.pending.length} entries of ${this.name}`)
    }
    this.wake()
    if (this.current !== undefined) yield* this.current.file.close()
    for (const id of [...this.open, ...this.ending]) this.calls.delete(id)
    yield* this.lock.release(this.open.size + this.pending.length === 0 ? "clean" : "open")
  })

  private later(ms: number): void {
    if (this.timer !== undefined || this.isClosed) return
    this.timer = Effect.runForkWith(this.context)(
      Effect.andThen(
        Effect.sleep(ms),
        Effect.sync(() => {
          this.timer = undefined
          this.flush()
        })
      )
    )
  }

  /** A turn later: what others write in this one goes with it. */
  private flush(): void {
    if (this.flushing !== undefined) return
    this.flushing = Effect.runForkWith(this.context)(
      Effect.uninterruptible(Effect.andThen(Effect.yieldNow, this.flushes))
    )
  }

  private readonly flushes: Effect.Effect<void> = Effect.suspend(() =>
    Effect.flatMap(this.attempt, () => {
      if (this.pending.some(({ waiter }) => waiter !== undefined)) return this.flushes
      this.flushing = undefined
      if (this.pending.length > 0) this.later(this.failed ? retryMs : this.limits.lingerMs)
      if (this.isIdle) this.onIdle(this)
      return Effect.void
    })
  )

  /** Tries to make durable all that waits now, and tells who waits for it. */
  private readonly attempt: Effect.Effect<void> = Effect.suspend(() => {
    const batch = this.pending
    this.pending = []
    this.pendingBytes = 0
    return Effect.flatMap(Effect.exit(this.append(batch.map(({ line }) => line).join(""))), (exit) => {
      this.failed = Exit.isFailure(exit)
      if (Exit.isFailure(exit)) return this.refuse(batch, exit)
      for (const { callId, tag } of batch) {
        if (tag !== "Terminal") continue
        this.ending.delete(callId)
        this.calls.delete(callId)
      }
      for (const { waiter } of batch) waiter?.(Exit.void)
      this.wake()
      return Effect.void
    })
  })

  /** What failed is taken back before anybody is told that it did: others read this file. */
  private refuse(batch: ReadonlyArray<Pending>, exit: Exit.Failure<void, Journal.JournalError>): Effect.Effect<void> {
    return Effect.map(Effect.ignore(this.restore), () => {
      const kept = batch.filter((one) => one.waiter === undefined || !isRefusable(one))
      this.pending = [...kept, ...this.pending]
      this.pendingBytes = this.pending.reduce((bytes, { line }) => bytes + line.length, 0)
      for (const one of batch) {
        const { waiter } = one
        if (waiter === undefined) continue
        if (one.tag === "Accepted") {
          this.open.delete(one.callId)
          this.calls.delete(one.callId)
        }
        one.waiter = undefined
        waiter(exit)
      }
    })
  }

  private wake(): void {
    this.version++
    Effect.runForkWith(this.context)(this.changed.release)
  }

  // ---------------------------------------------------------------------------
  // The file
  // ---------------------------------------------------------------------------

  /** Writes behind what is durable, and makes it so. */
  private append(lines: string): Effect.Effect<void, Journal.JournalError> {
    const { limits, storage } = this
    return Effect.gen({ self: this }, function* () {
      yield* this.restore
      let bytes = encoder.encode(lines)
      let current = this.current
      if (
        current === undefined ||
        (!current.fresh && current.good > 0 && current.good + bytes.length > limits.rotateBytes)
      ) {
        current = yield* this.rotate(current)
      }
      if (current.fresh) bytes = encoder.encode((yield* this.header) + lines)
      this.dirty = true
      yield* writeFully(current.file, current.good, bytes)
      yield* current.file.sync()
      if (current.fresh) {
        yield* storage.syncFolder()
        this.compact()
      }
      current.fresh = false
      current.good += bytes.length
      this.dirty = false
    }).pipe(Effect.mapError((error) => toJournalError(storage, error)))
  }

  /** Cuts off what is not trusted. */
  private readonly restore: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    const { current, storage } = this
    if (!this.dirty || current === undefined) return Effect.void
    const { name } = Segment.make(this.name, this.number, this.number)
    return Effect.gen({ self: this }, function* () {
      // A descriptor whose sync has failed may say that the next one did not.
      const file = yield* storage.open(name, "write")
      yield* Effect.onError(file.truncate(current.good), () => file.close())
      yield* current.file.close()
      this.current = { ...current, file }
      this.dirty = false
    })
  })

  private rotate(full: Current | undefined): Effect.Effect<Current, StorageError> {
    return Effect.gen({ self: this }, function* () {
      const { name } = Segment.make(this.name, this.number + 1, this.number + 1)
      const current: Current = { file: yield* this.storage.open(name, "write"), good: 0, fresh: true }
      this.current = current
      this.number++
      if (full !== undefined) yield* full.file.close()
      return current
    })
  }

  private readonly header: Effect.Effect<string> = Effect.map(Clock.currentTimeMillis, (at) =>
    Line.make(
      JSON.stringify({
        _tag: "Segment",
        version: 1,
        sessionId: this.sessionId,
        at,
        compacted: false
      } satisfies Scan.Header),
      this.storage.crc32
    )
  )

  private get neededFrom(): number {
    return Math.min(this.number, ...this.readers.values())
  }

  /** Beside the writing: of segments that are not written to any more. */
  private compact(): void {
    if (this.compacting !== undefined) return
    const compacted = Compaction.run(this.storage, this.name, {
      before: () => this.neededFrom,
      alone: (last, effect) =>
        this.replacing.withPermits(1)(Effect.suspend(() => (last < this.neededFrom ? effect : Effect.void))),
      keepMs: this.limits.keepMs,
      keepBytes: this.limits.keepBytes
    }).pipe(
      Effect.catchCause((cause) => Effect.logWarning(`the journal ${this.storage.folder} was not compacted`, cause)),
      Effect.ensuring(
        Effect.sync(() => {
          this.compacting = undefined
        })
      )
    )
    this.compacting = Effect.runForkWith(this.context)(Effect.andThen(Effect.yieldNow, compacted))
  }
}

/** Who is told that it is not kept does not go on, or does without. */
const isRefusable = ({ tag }: Pending): boolean =>
  tag === "Accepted" || tag === "Started" || tag === "Progress" || tag === "Watermark"
