/**
 * Finds the session of a call among all files of a journal.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Storage, StorageError } from "../Storage.ts"
import * as Line from "./Line.ts"
import * as Scan from "./Scan.ts"
import * as Segment from "./Segment.ts"

/**
 * The segment that has the beginning of a call. Undefined, if none has.
 *
 * @internal
 */
export const beginning = Effect.fnUntraced(function* (storage: Storage, callId: string) {
  const names = yield* storage.list()
  for (const session of Segment.sessions(names)) {
    const found = yield* inSession(storage, session, callId)
    if (found !== undefined) return found
  }
  return undefined
})

const inSession = Effect.fnUntraced(function* (storage: Storage, session: string, callId: string) {
  /** A segment that was removed while this looked: what stands for it has not been looked at. */
  for (let attempts = 0; attempts < 3; attempts++) {
    const { live } = Segment.of(session, yield* storage.list())
    let missing = false
    for (const segment of live) {
      const found = yield* contains(storage, segment, callId).pipe(
        Effect.catch((error) => (error.code === "ENOENT" ? Effect.succeed(undefined) : Effect.fail(error)))
      )
      if (found === true) return segment
      missing ||= found === undefined
    }
    if (!missing) return undefined
  }
  return undefined
})

const contains = (
  storage: Storage,
  { name }: Segment.Segment,
  callId: string
): Effect.Effect<boolean | undefined, StorageError> =>
  Effect.acquireUseRelease(
    storage.open(name, "read"),
    (file) => {
      const splitter = new Line.Splitter(0)
      const next: Effect.Effect<boolean, StorageError> = Effect.flatMap(
        Effect.suspend(() => file.read(splitter.end, Scan.pieceBytes)),
        (piece) => {
          for (const raw of splitter.push(piece)) {
            const line = Line.text(raw)
            if (line === undefined || !line.includes(callId)) continue
            const subject = Line.subjectOf(line)
            if (subject?.tag === "Accepted" && subject.callId === callId) return Effect.succeed(true)
          }
          return piece.length < Scan.pieceBytes ? Effect.succeed(false) : next
        }
      )
      return next
    },
    (file) => file.close()
  )
