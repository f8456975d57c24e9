/**
 * Follows one call through the files of its session, from its first entry to its
 * terminal: what is there, and then what comes, by one loop.
 *
 * **Details**
 *
 * - Of a session that is written in this process it reads as far as the writer has made
 *   it durable. Of another process's it makes durable what it is about to tell.
 * - It keeps the segment open that it reads. Whatever becomes of its name, it is read to
 *   its end. If compaction put another one in place of what comes next, what was told
 *   already is known by its `seq`.
 * - A line that is cut short under its eyes, because its writer took a failed write back,
 *   sends it to the beginning of the segment once.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import * as Journal from "../../../src/Journal.ts"
import type { File, Storage, StorageError } from "../Storage.ts"
import * as Line from "./Line.ts"
import * as Scan from "./Scan.ts"
import * as Segment from "./Segment.ts"
import { type SessionWriter, toJournalError } from "./SessionWriter.ts"

/** @internal */
export interface Options {
  readonly storage: Storage
  readonly session: string
  /** The number of the segment that has its beginning. Undefined, if it has been accepted, and may not be there yet. */
  readonly begins: number | undefined
  readonly callId: string
  readonly from: number
  /** The writer, while it is one of this process. */
  readonly writer: () => SessionWriter | undefined
  readonly isClosed: () => boolean
}

/** @internal */
export const events = (options: Options): Stream.Stream<Journal.Kept, Journal.JournalError> =>
  Stream.fromPull(
    Effect.gen(function* () {
      const tail = new Tail(options)
      yield* Effect.addFinalizer(() => tail.leave)
      yield* tail.register(options.writer())
      tail.awaitForeign = yield* options.storage.watch()
      return tail.pull
    })
  ).pipe(Stream.scoped)

/** What one look gave: entries, or that there is nothing yet. */
type Look = ReadonlyArray<Journal.Kept>

class Tail {
  awaitForeign: Effect.Effect<void> = Effect.void
  private readonly options: Options
  /** The number of the last segment that was read to its end. */
  private done = 0
  private segment: Segment.Segment | undefined
  private file: File | undefined
  private splitter = new Line.Splitter(0)
  /** The `seq` to be told next. */
  private next: number
  /** It is past the beginning of the call, and where that was. */
  private accepted = false
  private begins: number
  private ended = false
  /** Where lines are that were not what they should be, after a second look. */
  private readonly suspects = new Set<number>()
  private registered: SessionWriter | undefined

  constructor(options: Options) {
    this.options = options
    this.next = options.from
    this.begins = options.begins ?? Infinity
  }

  readonly leave: Effect.Effect<void> = Effect.suspend(() => {
    this.registered?.readNoMore(this)
    return this.file?.close() ?? Effect.void
  })

  readonly pull: Pull.Pull<Arr.NonEmptyReadonlyArray<Journal.Kept>, Journal.JournalError> = Effect.suspend(() => {
    if (this.ended) return Cause.done()
    if (this.options.isClosed()) return closed
    const writer = this.options.writer()
    const version = writer?.version ?? 0
    return Effect.flatMap(
      Effect.mapError(this.look(writer), (error) =>
        error._tag === "StorageError" ? toJournalError(this.options.storage, error) : error
      ),
      (look): Tail["pull"] => {
        if (Arr.isReadonlyArrayNonEmpty(look.entries)) return Effect.succeed(look.entries)
        if (look.more) return this.pull
        return Effect.andThen(writer === undefined ? this.awaitForeign : writer.awaitChange(version), this.pull)
      }
    )
  })

  /** From now on nothing goes that it has not read. */
  register(writer: SessionWriter | undefined): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (writer === this.registered) return Effect.void
      this.registered?.readNoMore(this)
      this.registered = writer
      return writer?.reads(this, this.done + 1) ?? Effect.void
    })
  }

  /** Reads a piece. `more`: there may be something else to read at once. */
  private look(
    writer: SessionWriter | undefined
  ): Effect.Effect<{ readonly entries: Look; readonly more: boolean }, StorageError | Journal.JournalError> {
    return Effect.gen({ self: this }, function* () {
      yield* this.register(writer)
      // Before the look at the file: if there is one after it, it is complete.
      const following = this.file === undefined || writer === undefined ? yield* this.following : undefined
      if (this.file === undefined) {
        if (following === undefined) return { entries: [], more: false }
        return { entries: [], more: yield* this.enter(following, writer) }
      }
      const segment = this.segment!
      const { entries, read } = yield* this.read(this.file, segment, writer)
      if (entries.length > 0 || read) return { entries, more: true }
      if (writer !== undefined && writer.durable(segment.last) !== undefined) return { entries, more: false }
      if (writer === undefined && following === undefined) return { entries, more: false }
      yield* this.finish(segment)
      return { entries: [], more: true }
    })
  }

  private readonly following: Effect.Effect<Segment.Segment | undefined, StorageError> = Effect.suspend(() =>
    Effect.map(this.options.storage.list(), (names) =>
      Segment.of(this.options.session, names).live.find(({ last }) => last > (this.segment?.last ?? this.done))
    )
  )

  private enter(
    segment: Segment.Segment,
    writer: SessionWriter | undefined
  ): Effect.Effect<boolean, StorageError | Journal.JournalError> {
    const { storage } = this.options
    return storage.open(segment.name, "read").pipe(
      Effect.tap((file) =>
        writer === undefined ? Effect.onError(storage.syncFolder(), () => file.close()) : Effect.void
      ),
      Effect.map((file) => {
        this.file = file
        this.segment = segment
        this.splitter = new Line.Splitter(0)
        // Compaction put it in place of what was not read yet: the call is there from its beginning, or not at all.
        if (segment.first <= this.done) this.accepted = false
        return true
      }),
      // Removed since it was listed: something else stands for it.
      Effect.catch((error) => (error.code === "ENOENT" ? Effect.succeed(true) : Effect.fail(error)))
    )
  }

  private finish(segment: Segment.Segment): Effect.Effect<void, StorageError | Journal.JournalError> {
    return Effect.gen({ self: this }, function* () {
      const { file, registered } = this
      this.done = segment.last
      this.file = undefined
      this.segment = undefined
      this.suspects.clear()
      if (file !== undefined) yield* file.close()
      if (registered !== undefined) yield* registered.reads(this, segment.last + 1)
      if (!this.accepted && this.begins <= segment.last) return yield* gone(this.options.callId)
    })
  }

  private read(
    file: File,
    segment: Segment.Segment,
    writer: SessionWriter | undefined
  ): Effect.Effect<{ readonly entries: Look; readonly read: boolean }, StorageError> {
    return Effect.gen({ self: this }, function* () {
      const { storage } = this.options
      const durable = writer?.durable(segment.last)
      const size = durable ?? (yield* file.size())
      if (size < this.splitter.end) {
        this.splitter = new Line.Splitter(0)
        return { entries: [], read: true }
      }
      if (size === this.splitter.end) return { entries: [], read: false }
      if (writer === undefined) yield* file.sync()
      const bytes = yield* file.read(this.splitter.end, Math.min(Scan.pieceBytes, size - this.splitter.end))
      const entries: Array<Journal.Kept> = []
      for (const raw of this.splitter.push(bytes)) {
        const line = Line.text(raw)
        // What another process takes back may leave a line that is made of two: every one is looked at.
        if (writer !== undefined && line !== undefined && !line.includes(this.options.callId)) continue
        if (line === undefined || !Line.isIntact(raw, line, storage.crc32)) {
          if (this.suspects.has(raw.offset)) continue
          this.suspects.add(raw.offset)
          this.splitter = new Line.Splitter(0)
          break
        }
        const entry = yield* this.entryOf(line)
        if (entry !== undefined) entries.push(entry)
        if (this.ended) break
      }
      return { entries, read: true }
    })
  }

  private entryOf(line: string): Effect.Effect<Journal.Kept | undefined> {
    const subject = Line.subjectOf(line)
    if (subject?.callId !== this.options.callId) return Effect.succeed(undefined)
    if (subject.tag === "Accepted") {
      this.accepted = true
      this.begins = Math.min(this.begins, this.segment?.last ?? Infinity)
    }
    if (!this.accepted || !isKept(subject.tag)) return Effect.succeed(undefined)
    return Journal.fromJson(Line.parse(Line.entryOf(line))).pipe(
      Effect.map((entry) => {
        if (entry._tag === "Terminal") {
          this.ended = true
          return entry
        }
        if ((entry._tag !== "Progress" && entry._tag !== "Watermark") || entry.seq < this.next) return undefined
        this.next = entry.seq + 1
        return entry
      }),
      Effect.catch((error) =>
        Effect.as(Effect.logError(`the journal has an entry that cannot be understood`, error), undefined)
      )
    )
  }
}

const closed = Effect.fail(new Journal.JournalError({ reason: "Closed", detail: "it has been closed" }))

const isKept = (tag: string): boolean => tag === "Progress" || tag === "Watermark" || tag === "Terminal"

const gone = (callId: string): Effect.Effect<never, Journal.JournalError> =>
  Effect.fail(
    new Journal.JournalError({ reason: "Unknown", detail: `${callId} ended long ago, and is not kept any more` })
  )
