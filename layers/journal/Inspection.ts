/**
 * What the files of a journal say, for a person who looks into them: of every call how
 * far it came or how it ended, and what could not be read.
 *
 * It takes no lock and changes nothing. In memory are the open calls alone.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Journal from "../../src/Journal.ts"
import * as Line from "./internal/Line.ts"
import * as Scan from "./internal/Scan.ts"
import * as Segment from "./internal/Segment.ts"
import type { Storage, StorageError } from "./Storage.ts"

/**
 * A call as it stands in the files.
 *
 * @category models
 * @since 0.1.0
 */
export const Call = Schema.TaggedStruct("Call", {
  call: Journal.Accepted.fields.call,
  workspace: Schema.String,
  /** `accepted`: it is not known to have started. */
  state: Schema.Literals(["accepted", "started", "succeeded", "failed"]),
  /** Ms since 1970. */
  acceptedAt: Schema.Finite,
  startedAt: Schema.optionalKey(Schema.Finite),
  attempt: Schema.optionalKey(Schema.Natural),
  /** From acceptance to the terminal. */
  durationMs: Schema.optionalKey(Schema.Natural),
  /** The tag of the reason, and what the model read of it. */
  reason: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String)
})
export type Call = typeof Call.Type

/**
 * A line that is not what was written, or that says nothing that is known here.
 *
 * @category models
 * @since 0.1.0
 */
export const Corrupt = Schema.TaggedStruct("Corrupt", {
  file: Schema.String,
  /** Bytes. */
  offset: Schema.Natural,
  bytes: Schema.Natural
})
export type Corrupt = typeof Corrupt.Type

/**
 * @category models
 * @since 0.1.0
 */
export type Found = Call | Corrupt

/**
 * Every call, session by session: those that have ended in the order of their ends, then the open ones. With `follow`
 * it goes on: with every call that starts or ends from then on.
 *
 * @category constructors
 * @since 0.1.0
 */
export const calls = (
  storage: Storage,
  options: { readonly follow?: boolean | undefined } = {}
): Stream.Stream<Found, StorageError> => {
  const views = new Map<string, View>()
  const sessions = Effect.map(storage.list(), (names) =>
    Segment.sessions(names).map((session) => {
      const view = views.get(session) ?? new View(storage, session)
      views.set(session, view)
      return view
    })
  )
  const eachView = (of: (view: View) => Stream.Stream<Found, StorageError>) =>
    Stream.flatMap(Stream.fromIterableEffect(sessions), of)
  const first = eachView((view) =>
    Stream.concat(
      view.news,
      Stream.suspend(() => Stream.fromIterable(view.open))
    )
  )
  if (options.follow !== true) return first
  const more = Stream.unwrap(
    Effect.map(storage.watch(), (changed) =>
      Stream.forever(
        Stream.concat(
          Stream.drain(Stream.fromEffect(changed)),
          eachView((view) => view.changes)
        )
      )
    )
  )
  return Stream.concat(first, more)
}

/** One session, as far as it was read. */
class View {
  private readonly storage: Storage
  private readonly session: string
  private readonly calls = new Map<string, Call>()
  /** The last segment that was read to its end, and how far the one after it was read. */
  private done = 0
  private offset = 0

  constructor(storage: Storage, session: string) {
    this.storage = storage
    this.session = session
  }

  get open(): ReadonlyArray<Call> {
    return [...this.calls.values()]
  }

  /** What has ended since, and what cannot be read. */
  get news(): Stream.Stream<Found, StorageError> {
    return Stream.filter(this.changes, (found) => found._tag === "Corrupt" || isEnded(found))
  }

  /** And what has started. */
  get changes(): Stream.Stream<Found, StorageError> {
    return Stream.flatMap(
      Stream.fromIterableEffect(
        Effect.map(this.storage.list(), (names) =>
          Segment.of(this.session, names).live.filter(({ last }) => last > this.done)
        )
      ),
      (segment) => this.segment(segment)
    )
  }

  private segment(segment: Segment.Segment): Stream.Stream<Found, StorageError> {
    return Stream.unwrap(
      this.storage.open(segment.name, "read").pipe(
        Effect.flatMap((file) =>
          Effect.as(
            Effect.addFinalizer(() => file.close()),
            file
          )
        ),
        Effect.map((file) => {
          // What stands for segments that were read already has the calls that are still open.
          if (segment.first <= this.done) this.calls.clear()
          const splitter = new Line.Splitter(this.done === segment.last - 1 ? this.offset : 0)
          const pieces = Stream.unfold<boolean, ReadonlyArray<Found>, StorageError, never>(true, (more) =>
            more
              ? Effect.gen({ self: this }, function* () {
                  const piece = yield* file.read(splitter.end, Scan.pieceBytes)
                  const lines: Array<Scan.Entry | Scan.Corrupt> = []
                  for (const raw of splitter.push(piece)) {
                    Scan.visit(this.storage, segment.name, raw, splitter.offset, {
                      entry: (entry) => lines.push(entry),
                      corrupt: (corrupt) => lines.push(corrupt)
                    })
                  }
                  const found = yield* Effect.forEach(lines, (line) => this.read(line, segment.name))
                  return [found.flat(), piece.length === Scan.pieceBytes] as const
                })
              : Effect.succeed(undefined)
          )
          return Stream.ensuring(
            Stream.flattenIterable(pieces),
            Effect.sync(() => {
              this.offset = splitter.offset
              this.done = segment.last - 1
            })
          )
        }),
        // Removed by a compaction since it was listed: what stands for it comes next time.
        Effect.catch((error) => (error.code === "ENOENT" ? Effect.succeed(Stream.empty) : Effect.fail(error)))
      )
    )
  }

  private read(line: Scan.Entry | Scan.Corrupt, file: string): Effect.Effect<ReadonlyArray<Found>> {
    if (!("line" in line)) return Effect.succeed([{ _tag: "Corrupt", ...line }])
    if (!isShown(line.tag)) return Effect.succeed([])
    return Effect.match(Journal.fromJson(Line.parse(Line.entryOf(line.line))), {
      onFailure: (): ReadonlyArray<Found> => [{ _tag: "Corrupt", file, offset: line.offset, bytes: line.line.length }],
      onSuccess: (entry) => this.add(entry)
    })
  }

  private add(entry: Journal.Entry): ReadonlyArray<Found> {
    const callId = Journal.callIdOf(entry)
    if (entry._tag === "Accepted") {
      const { at: acceptedAt, call, workspace } = entry
      this.calls.set(callId, { _tag: "Call", call, workspace, state: "accepted", acceptedAt })
      return []
    }
    const call = this.calls.get(callId)
    if (call === undefined) return []
    if (entry._tag === "Started") {
      const started: Call = { ...call, state: "started", startedAt: entry.at, attempt: entry.attempt }
      this.calls.set(callId, started)
      return [started]
    }
    if (entry._tag !== "Terminal") return []
    this.calls.delete(callId)
    const { result, stats } = entry
    const ended = { ...call, durationMs: stats.durationMs }
    return result._tag === "Success"
      ? [{ ...ended, state: "succeeded", ...(result.isError ? { reason: "isError" } : {}) }]
      : [{ ...ended, state: "failed", reason: result.error.reason._tag, message: result.error.message }]
  }
}

const isShown = (tag: string): boolean => tag === "Accepted" || tag === "Started" || tag === "Terminal"

const isEnded = ({ state }: Call): boolean => state === "succeeded" || state === "failed"
