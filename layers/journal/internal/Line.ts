/**
 * A line of a journal: `{"crc":"9ae0daaf","entry":{…}}`.
 *
 * The checksum is the CRC-32 of the entry's text, byte by byte as it stands there. So
 * a line is JSON, and it is known of each by itself whether it is what was written.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"

/** Longer ones are not written, and what has no end so far on is not read: whatever it is, it must not fill the memory. */
export const maxBytes = 64 * 1024 * 1024

const opening = '{"crc":"'
const middle = '","entry":'
/** Of the checksum, and of the entry. */
const crcAt = opening.length
const entryAt = opening.length + 8 + middle.length

const newline = 10
const brace = "}".charCodeAt(0)

type Crc32 = (data: string | Uint8Array) => number

const hex = (crc: number): string => crc.toString(16).padStart(8, "0")

/** @internal */
export const make = (text: string, crc32: Crc32): string => `${opening}${hex(crc32(text))}${middle}${text}}\n`

const decoder = new TextDecoder()

/**
 * What is between two newlines.
 *
 * @internal
 */
export interface Raw {
  /** In its file. */
  readonly offset: number
  /** Without its newline. Valid until more is pushed. Undefined if it is too long. */
  readonly bytes: Uint8Array | undefined
}

/**
 * Makes lines of bytes that come in pieces.
 *
 * @internal
 */
export class Splitter {
  /** Where the line begins that has no end yet. */
  offset: number
  private pieces: Array<Uint8Array> = []
  private held = 0

  constructor(offset: number) {
    this.offset = offset
  }

  /** Up to here it has seen everything. */
  get end(): number {
    return this.offset + this.held
  }

  /** The piece is kept as it is. */
  *push(piece: Uint8Array): Generator<Raw> {
    let start = 0
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, start)) {
      const last = piece.subarray(start, at)
      const length = this.held + last.length
      const bytes = length > maxBytes ? undefined : this.pieces.length === 0 ? last : concat(this.pieces, last, length)
      const offset = this.offset
      this.pieces = []
      this.held = 0
      this.offset = offset + length + 1
      start = at + 1
      yield { offset, bytes }
    }
    if (start === piece.length) return
    this.held += piece.length - start
    if (this.held <= maxBytes) this.pieces.push(piece.subarray(start))
    else this.pieces = []
  }
}

const concat = (pieces: ReadonlyArray<Uint8Array>, last: Uint8Array, length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  bytes.set(last, at)
  return bytes
}

/**
 * The whole line as text, if it has the form of one. Its checksum was not looked at.
 *
 * @internal
 */
export const text = ({ bytes }: Raw): string | undefined => {
  if (bytes === undefined || bytes.length <= entryAt || bytes[bytes.length - 1] !== brace) return undefined
  const line = decoder.decode(bytes)
  return line.startsWith(opening) && line.startsWith(middle, crcAt + 8) ? line : undefined
}

/**
 * Whether the checksum of a line with the form of one is right.
 *
 * @internal
 */
export const isIntact = ({ bytes }: Raw, line: string, crc32: Crc32): boolean =>
  bytes !== undefined && hex(crc32(bytes.subarray(entryAt, bytes.length - 1))) === line.slice(crcAt, crcAt + 8)

/**
 * The text of the entry.
 *
 * @internal
 */
export const entryOf = (line: string): string => line.slice(entryAt, -1)

/**
 * What an entry is of, without reading all of it.
 *
 * @internal
 */
export interface Subject {
  readonly tag: string
  readonly callId: string
}

/** As it is written. Sticky, so that it looks at the beginning alone. */
const usual = /\{"_tag":"([A-Z][A-Za-z]*)",(?:"call":\{)?"callId":"([^"\\]*)"/y

/** @internal */
export const subjectOf = (line: string): Subject | undefined => {
  usual.lastIndex = entryAt
  const found = usual.exec(line)
  return found === null ? parsedSubject(entryOf(line)) : { tag: found[1]!, callId: found[2]! }
}

const parsedSubject = (text: string): Subject | undefined => {
  const entry = parse(text)
  if (!isRecord(entry)) return undefined
  const call = entry["call"]
  const { _tag: tag } = entry
  const callId = isRecord(call) ? call["callId"] : entry["callId"]
  if (typeof tag !== "string") return undefined
  return { tag, callId: typeof callId === "string" ? callId : "" }
}

/** Undefined, if it is no JSON. */
export const parse = (text: string): unknown => Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
