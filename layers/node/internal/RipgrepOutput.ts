/**
 * The JSON that ripgrep prints, read in bounded memory.
 *
 * ripgrep prints whole lines, and every match within them: a record can be as
 * long as the file. Of a record that is longer than `maxRecord` only the path,
 * the number and the start of the line are kept, the rest is dropped as it comes.
 *
 * **Source** grep-printer 0.3 (ripgrep 15), `printer::JSON`: one record a line;
 * text is `{ text }`, or `{ bytes }` in base64 where it is not UTF-8; within `data`
 * the order is path, lines, line_number, absolute_offset, submatches.
 *
 * @since 0.1.0
 */
import * as PlainText from "../../../src/PlainText.ts"

/** UTF-16 code units kept of a line. A longer one is not written by hand; fewer would cut what is. */
export const maxText = 4096

/** Bytes of a record that are held. The start of a line, escaped, must fit (6 bytes a code unit), and a path. */
const maxRecord = 64 * 1024

/** Bytes of escaped text that surely hold `maxText` code units. */
const maxEscaped = 6 * maxText

/**
 * What was read.
 *
 * @category models
 * @since 0.1.0
 */
export type Record =
  | {
      readonly _tag: "Lines"
      readonly path: string
      readonly match: boolean
      /** Of the first of `lines`, from 1. */
      readonly line: number
      /** Bytes from the start of the file. */
      readonly offset: number
      /** Plain, without terminators, each at most `maxText` UTF-16 code units. */
      readonly lines: ReadonlyArray<string>
    }
  | {
      readonly _tag: "FileEnd"
      readonly path: string
      /** Bytes before the first NUL, if there is one. */
      readonly binaryOffset: number | undefined
    }
  /** The search was made, whatever happened to single files. */
  | { readonly _tag: "Summary" }

type Text = { readonly text: string } | { readonly bytes: string }

/**
 * Reads records from pieces of output.
 *
 * @category constructors
 * @since 0.1.0
 */
export class Reader {
  private held: Array<Buffer> = []
  private size = 0
  private long: LongRecord | undefined

  push(bytes: Uint8Array): ReadonlyArray<Record> {
    const records: Array<Record> = []
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let from = 0
    while (from < chunk.length) {
      const newline = chunk.indexOf(10, from)
      this.take(chunk.subarray(from, newline < 0 ? chunk.length : newline))
      if (newline < 0) break
      from = newline + 1
      const record = this.finish()
      if (record !== undefined) records.push(record)
    }
    return records
  }

  private take(piece: Buffer): void {
    if (this.long !== undefined) return this.long.push(piece)
    this.held.push(piece)
    this.size += piece.length
    if (this.size > maxRecord) {
      this.long = new LongRecord()
      for (const part of this.held) this.long.push(part)
      this.held = []
    }
  }

  private finish(): Record | undefined {
    const { held, long } = this
    this.held = []
    this.size = 0
    this.long = undefined
    return long !== undefined ? long.finish() : fromJson(JSON.parse(Buffer.concat(held).toString()))
  }
}

const fromJson = (record: {
  readonly type: string
  readonly data: {
    readonly path: Text
    readonly lines: Text
    readonly line_number: number
    readonly absolute_offset: number
    readonly binary_offset: number | null
  }
}): Record | undefined => {
  const { data, type } = record
  switch (type) {
    case "match":
    case "context":
      return {
        _tag: "Lines",
        path: textOf(data.path),
        match: type === "match",
        line: data.line_number,
        offset: data.absolute_offset,
        lines: linesOf(textOf(data.lines))
      }
    case "end":
      return { _tag: "FileEnd", path: textOf(data.path), binaryOffset: data.binary_offset ?? undefined }
    case "summary":
      return { _tag: "Summary" }
  }
}

const textOf = (text: Text): string => ("text" in text ? text.text : Buffer.from(text.bytes, "base64").toString())

/** A match over several lines is one record. */
const linesOf = (text: string): ReadonlyArray<string> =>
  text
    .replace(/\r?\n$/, "")
    .split(/\r?\n/)
    .map((line) => PlainText.make(PlainText.take(line, maxText)))

/** A record too long to be held: the states of its reading, in their order. */
class LongRecord {
  private state: "start" | "text" | "after" | "rest" = "start"
  /** Latin-1, so that an index is a byte. Bounded in every state. */
  private held = ""
  private start: RegExpExecArray | undefined
  private text = ""
  private escaped = false

  push(piece: Buffer): void {
    let from = 0
    if (this.state === "start") {
      this.held += piece.toString("latin1")
      if (this.held.length <= maxRecord) return
      const start = startOfRecord.exec(this.held)
      // No line: what it is then must be short.
      if (start === null) return void (this.state = "rest")
      const rest = Buffer.from(this.held.slice(start[0].length), "latin1")
      this.start = start
      this.held = ""
      this.state = "text"
      return this.push(rest)
    }
    if (this.state === "text") {
      for (; from < piece.length; from++) {
        const byte = piece[from]!
        if (this.escaped) this.escaped = false
        else if (byte === 0x5c) this.escaped = true
        else if (byte === 0x22) break
      }
      if (this.text.length < maxEscaped) this.text += piece.toString("latin1", 0, Math.min(from, maxEscaped))
      if (from === piece.length) return
      this.state = "after"
    }
    if (this.state === "after") {
      this.held += piece.toString("latin1", from, from + 128)
      if (this.held.length >= 128) this.state = "rest"
    }
  }

  finish(): Record | undefined {
    const numbers = numbersOfRecord.exec(this.held)
    if (this.start === undefined || numbers === null) return undefined
    const [, type, pathKind, path, textKind] = this.start
    return {
      _tag: "Lines",
      path: decode(pathKind!, path!),
      match: type === "match",
      line: Number(numbers[1]),
      offset: Number(numbers[2]),
      lines: linesOf(decode(textKind!, this.text.slice(0, maxEscaped)))
    }
  }
}

const startOfRecord =
  /^\{"type":"(match|context)","data":\{"path":\{"(text|bytes)":"((?:[^"\\]|\\.)*)"\},"lines":\{"(text|bytes)":"/

const numbersOfRecord = /^"\},"line_number":(\d+),"absolute_offset":(\d+)/

/** The start of a JSON string or of base64, cut where no escape is cut. */
const decode = (kind: string, latin1: string): string => {
  if (kind === "bytes") return Buffer.from(latin1.slice(0, latin1.length & ~3), "base64").toString()
  let end = 0
  for (;;) {
    const next = latin1[end] !== "\\" ? 1 : latin1[end + 1] === "u" ? 6 : 2
    if (end + next > latin1.length) break
    end += next
  }
  return JSON.parse(`"${Buffer.from(latin1.slice(0, end), "latin1").toString()}"`)
}
