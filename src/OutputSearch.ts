/**
 * Finds lines in what a program wrote, and where each begins in the bytes.
 *
 * What is searched is what `OutputPart` shows: lines as a terminal shows them, without
 * escape sequences. Which byte a line begins at is known again from the line feeds, as
 * nothing that is left out holds one.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { OutputLines } from "./OutputLines.ts"
import { startOf } from "./OutputPart.ts"
import type { Search, SearchFailed, TextQuery } from "./Search.ts"
import type { NotSpilled, Part } from "./Spill.ts"

/** Bytes of one read. Smaller ones cost a call each for nothing; larger ones are read again to find one line. */
const pieceBytes = 64 * 1024

/**
 * UTF-16 code units searched of one line. Who writes more in one line writes data; it would have to be held.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxLine = 64 * 1024

/**
 * A line that matches.
 *
 * @category models
 * @since 0.1.0
 */
export interface Match {
  /** From 1, of the whole output. */
  readonly line: number
  /** Plain text. The end of a very long line may be missing. */
  readonly text: string
}

/**
 * One search of the lines from an offset to what is the end when it starts. An offset
 * within a line begins there.
 *
 * @category models
 * @since 0.1.0
 */
export interface OutputSearch {
  readonly sizeBytes: number
  /** In order. To be run once. */
  readonly matches: Stream.Stream<Match, NotSpilled | SearchFailed>
  /** Where a line begins of those that were searched, or ends the last of them. To be asked in their order. */
  readonly offsetOf: (line: number) => Effect.Effect<number, NotSpilled>
  /** Lines so far of which only the first code units were searched. */
  readonly cutLines: () => number
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (
  source: (offset: number, length: number) => Effect.Effect<Part, NotSpilled>,
  search: Search["Service"],
  query: TextQuery & { readonly offsetBytes?: number | undefined }
): Effect.fn.Return<OutputSearch, NotSpilled> {
  const { sizeBytes } = yield* source(0, 0)
  const from = startOf(query.offsetBytes ?? 0, sizeBytes)
  const pieces = new Pieces(source, sizeBytes)
  let skipped = 0
  for (let at = 0; at < from;) {
    const bytes = yield* pieces.read(at, from)
    if (bytes.length === 0) break
    skipped += countLines(bytes)
    at += bytes.length
  }
  /** Of the pieces that were searched: where they begin, and in which line. */
  const places: Array<{ readonly offset: number; readonly line: number }> = []
  const lines = new Lines()
  let at = from
  let line = skipped + 1
  const text = Stream.fromPull(
    Effect.succeed(
      Effect.suspend((): Effect.Effect<NonEmptyReadonlyArray<Uint8Array>, NotSpilled | Cause.Done> => {
        if (at >= sizeBytes) return lines.ended ? Cause.done() : Effect.succeed([lines.end()])
        return Effect.map(pieces.read(at, sizeBytes), (bytes) => {
          places.push({ offset: at, line })
          // It became shorter: what is left has been read.
          at = bytes.length === 0 ? sizeBytes : at + bytes.length
          line += countLines(bytes)
          return [lines.push(bytes)]
        })
      })
    )
  )

  /** Where the last line that was asked for begins, or the piece that it was looked for in. */
  let found = { line: skipped + 1, offset: from }
  let place = 0

  /** Counts line feeds from the last place known, which is in the same piece as the beginning of the line. */
  const offsetOf = Effect.fnUntraced(function* (line: number) {
    while (place + 1 < places.length && places[place + 1]!.line < line) found = places[++place]!
    const start = places[place]
    if (start === undefined || found.line >= line) return found.offset
    const bytes = yield* pieces.read(start.offset, places[place + 1]?.offset ?? sizeBytes)
    let index = found.offset - start.offset - 1
    for (let left = line - found.line; left > 0; left--) {
      index = bytes.indexOf(0x0a, index + 1)
      if (index < 0) return sizeBytes
    }
    found = { line, offset: start.offset + index + 1 }
    return found.offset
  })

  return {
    sizeBytes,
    matches: Stream.map(search.searchText(query, text), (found) => ({ line: skipped + found.line, text: found.text })),
    offsetOf,
    cutLines: () => lines.cut
  }
})

/** Reads an output piece by piece, and remembers the last one. */
class Pieces {
  private last: { readonly offset: number; readonly bytes: Uint8Array } | undefined
  private readonly source: (offset: number, length: number) => Effect.Effect<Part, NotSpilled>
  private readonly sizeBytes: number

  constructor(source: (offset: number, length: number) => Effect.Effect<Part, NotSpilled>, sizeBytes: number) {
    this.source = source
    this.sizeBytes = sizeBytes
  }

  /** Some of the bytes before `end`; none only if there are none. */
  read(offset: number, end: number): Effect.Effect<Uint8Array, NotSpilled> {
    const { last } = this
    const length = Math.min(pieceBytes, end - offset)
    if (last?.offset === offset && last.bytes.length >= length) return Effect.succeed(last.bytes.subarray(0, length))
    return Effect.map(this.source(offset, Math.min(pieceBytes, this.sizeBytes - offset)), ({ bytes }) => {
      this.last = { offset, bytes }
      return bytes.subarray(0, length)
    })
  }
}

/** Bytes to the lines that a terminal would show of them: as many, each with its line feed. */
class Lines {
  cut = 0
  ended = false
  private text = ""
  private readonly encoder = new TextEncoder()
  private readonly lines = new OutputLines(maxLine, (line, omitted) => {
    if (omitted > 0) this.cut++
    this.text += `${line}\n`
  })

  push(bytes: Uint8Array): Uint8Array {
    this.lines.write(bytes)
    return this.take()
  }

  end(): Uint8Array {
    this.ended = true
    this.lines.end()
    return this.take()
  }

  private take(): Uint8Array {
    const { text } = this
    this.text = ""
    return this.encoder.encode(text)
  }
}

const countLines = (bytes: Uint8Array): number => {
  let count = 0
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) count++
  return count
}
