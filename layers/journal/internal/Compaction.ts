/**
 * Compaction: closed calls leave, open ones stay.
 *
 * The oldest segments, up to the last one that is older than what is kept, become one,
 * with the lines of the calls that are open at its end. So a call is there whole, or not
 * at all, and it takes the memory of the open calls alone to know which.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type File, type Storage, type StorageError, writeFully } from "../Storage.ts"
import * as Line from "./Line.ts"
import { OpenCalls } from "./OpenCalls.ts"
import * as Scan from "./Scan.ts"
import * as Segment from "./Segment.ts"

/** @internal */
export interface Options {
  /** The number of the first segment that is needed as it is. */
  readonly before: () => number
  /** Does it while nobody begins to read, unless one of the segments up to a number is needed by now. */
  readonly alone: <E>(last: number, effect: Effect.Effect<void, E>) => Effect.Effect<void, E>
  readonly keepMs: number
  readonly keepBytes: number
}

/**
 * Whoever asks holds the session's lock.
 *
 * @internal
 */
export const run = Effect.fnUntraced(function* (storage: Storage, session: string, options: Options) {
  const { live } = Segment.of(session, yield* storage.list())
  const old = yield* oldest(storage, live, options)
  const last = old.at(-1)
  const header = last === undefined ? Option.none() : yield* headerOf(storage, last)
  if (last === undefined || Option.isNone(header)) return
  if (old.length === 1 && header.value.compacted) return
  const open = new OpenCalls()
  yield* Effect.forEach(old, (segment) =>
    Scan.segment(storage, segment, { entry: (e) => open.add(e), corrupt: ignore })
  )
  const made = Segment.make(session, old[0]!.first, last.last)
  const temporary = Segment.temporary(session)
  const copied = Effect.acquireUseRelease(
    storage.open(temporary, "write"),
    (file) =>
      Effect.gen(function* () {
        yield* file.truncate(0)
        const entry: Scan.Header = { ...header.value, compacted: true }
        const out = new Output(file)
        out.add(Line.make(JSON.stringify(entry), storage.crc32))
        for (const segment of old) {
          yield* Scan.segment(storage, segment, {
            entry: (entry) => {
              if (open.has(entry.callId)) out.add(`${entry.line}\n`)
            },
            corrupt: ignore
          })
          yield* out.flush
        }
        yield* file.sync()
      }),
    (file) => file.close()
  )
  const replace = Effect.gen(function* () {
    yield* storage.rename(temporary, made.name)
    // Its name is there for good before what it stands for goes.
    yield* storage.syncFolder()
    yield* Effect.forEach(old, ({ name }) => (name === made.name ? Effect.void : storage.remove(name)), {
      discard: true
    })
  })
  yield* copied.pipe(
    Effect.andThen(options.alone(last.last, replace)),
    // Not there any more, if all went well.
    Effect.ensuring(Effect.ignore(storage.remove(temporary))),
    Effect.uninterruptible
  )
})

const ignore = () => {}

const headerOf = (storage: Storage, segment: Segment.Segment) =>
  Effect.acquireUseRelease(
    storage.open(segment.name, "read"),
    (file) =>
      Effect.map(file.read(0, 4096), (bytes) => {
        for (const raw of new Line.Splitter(0).push(bytes)) {
          const line = Line.text(raw)
          return line === undefined ? Option.none<Scan.Header>() : Scan.headerOf(line)
        }
        return Option.none<Scan.Header>()
      }),
    (file) => file.close()
  )

const sizeOf = (storage: Storage, { name }: Segment.Segment) =>
  Effect.acquireUseRelease(
    storage.open(name, "read"),
    (file) => file.size(),
    (file) => file.close()
  )

/** Segments that are done with, the oldest first. */
const oldest = Effect.fnUntraced(function* (
  storage: Storage,
  live: ReadonlyArray<Segment.Segment>,
  { before, keepBytes, keepMs }: Options
) {
  const now = yield* Clock.currentTimeMillis
  let bytes = 0
  for (let index = live.length - 1; index >= 0; index--) {
    const segment = live[index]!
    const next = live[index + 1]
    if (next !== undefined && segment.last < before()) {
      const sealed = yield* headerOf(storage, next)
      const isOld = Option.isSome(sealed) && now - sealed.value.at >= keepMs
      if (isOld || bytes >= keepBytes) return live.slice(0, index + 1)
    }
    bytes += yield* sizeOf(storage, segment)
  }
  return []
})

const encoder = new TextEncoder()

/** What goes to the new file, segment by segment. */
class Output {
  private readonly file: File
  private offset = 0
  private lines: Array<string> = []

  constructor(file: File) {
    this.file = file
  }

  add(line: string): void {
    this.lines.push(line)
  }

  readonly flush: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    const bytes = encoder.encode(this.lines.join(""))
    this.lines = []
    const offset = this.offset
    this.offset += bytes.length
    return writeFully(this.file, offset, bytes)
  })
}
