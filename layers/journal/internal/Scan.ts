/**
 * Reads a segment, a piece at a time.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { File, Storage, StorageError } from "../Storage.ts"
import * as Line from "./Line.ts"
import type { Segment } from "./Segment.ts"

/** Of one read. Between two of them others get their turn: more would keep them waiting for more than some ms. */
export const pieceBytes = 512 * 1024

/**
 * A line that is not what was written.
 *
 * @internal
 */
export interface Corrupt {
  readonly file: string
  readonly offset: number
  readonly bytes: number
}

/** @internal */
export interface Entry extends Line.Subject {
  readonly offset: number
  /** The line as it stands there, without its newline. */
  readonly line: string
}

/** @internal */
export interface Visitor {
  readonly entry: (entry: Entry) => void
  readonly corrupt: (corrupt: Corrupt) => void
}

/**
 * The first line of every segment.
 *
 * @internal
 */
export const Header = Schema.TaggedStruct("Segment", {
  version: Schema.Literal(1),
  sessionId: Schema.String,
  /** When it was begun, in ms since 1970: the one before is as old. */
  at: Schema.Finite,
  /** Nothing is in it but calls that were open when it was made. */
  compacted: Schema.Boolean
})
export type Header = typeof Header.Type

export const isHeader = ({ tag }: Line.Subject): boolean => tag === "Segment"

const decodeHeader = Schema.decodeUnknownOption(Header)

export const headerOf = (line: string) => decodeHeader(Line.parse(Line.entryOf(line)))

/** Tells a visitor of a line. */
export const visit = (storage: Storage, file: string, raw: Line.Raw, end: number, visitor: Visitor): void => {
  const line = Line.text(raw)
  const subject = line !== undefined && Line.isIntact(raw, line, storage.crc32) ? Line.subjectOf(line) : undefined
  if (line === undefined || subject === undefined) {
    visitor.corrupt({ file, offset: raw.offset, bytes: end - raw.offset })
  } else visitor.entry({ ...subject, offset: raw.offset, line })
}

/**
 * The whole lines of an open file from an offset on. Gives where the last one ends: what comes after it is none yet.
 *
 * @internal
 */
export const lines = (
  storage: Storage,
  name: string,
  file: File,
  visitor: Visitor
): Effect.Effect<number, StorageError> => {
  const splitter = new Line.Splitter(0)
  const next: Effect.Effect<number, StorageError> = Effect.flatMap(
    Effect.suspend(() => file.read(splitter.end, pieceBytes)),
    (piece) => {
      for (const raw of splitter.push(piece)) visit(storage, name, raw, splitter.offset, visitor)
      return piece.length < pieceBytes ? Effect.succeed(splitter.offset) : next
    }
  )
  return next
}

/**
 * All lines of a segment.
 *
 * @internal
 */
export const segment = (storage: Storage, { name }: Segment, visitor: Visitor): Effect.Effect<number, StorageError> =>
  Effect.acquireUseRelease(
    storage.open(name, "read"),
    (file) => lines(storage, name, file, visitor),
    (file) => file.close()
  )
