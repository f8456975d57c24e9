/**
 * The JSON that ripgrep prints, read in bounded memory.
 *
 * ripgrep ran in the directory that was searched, and calls what is below `./…`.
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
import * as FileName from "./FileName.ts"

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
      /** In the text form of names. */
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
  private readonly paths: Paths

  /** What was searched, in the text form of names. */
  constructor(target: string, options: { readonly isDirectory: boolean }) {
    this.paths = new Paths(target, options.isDirectory)
  }

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
      this.long = new LongRecord(this.paths)
      for (const part of this.held) this.long.push(part)
      this.held = []
    }
  }

  private finish(): Record | undefined {
    const { held, long } = this
    this.held = []
    this.size = 0
    this.long = undefined
    if (long !== undefined) return long.finish()
    const whole = held.length === 1 ? held[0]! : Buffer.concat(held)
    return this.usual(whole) ?? fromJson(JSON.parse(whole.toString()), this.paths)
  }

  /**
   * The records that come most, of which only what is needed is decoded: not every match within the line, and numbers of
   * no use. To read all costs as much as the search.
   */
  private usual(record: Buffer): Record | undefined {
    const { path, start } = this.paths
    if (startsWith(record, startOfEnd) && record.includes(notBinary))
      return { _tag: "FileEnd", path, binaryOffset: undefined }
    if (start.length === 0 || !startsWith(record, start)) return undefined
    const end = record.indexOf(endOfText, start.length)
    const offset = record.indexOf(beforeOffset, end)
    if (end < 0 || offset < 0) return undefined
    const number = (from: number, to: number) => Number.parseInt(record.toString("latin1", from, to), 10)
    return {
      _tag: "Lines",
      path,
      match: true,
      lines: linesOf(JSON.parse(record.toString("utf8", start.length - 1, end + 1))),
      line: number(end + endOfText.length, offset),
      offset: number(offset + beforeOffset.length, offset + beforeOffset.length + 20)
    }
  }
}

const startsWith = (bytes: Buffer, start: Buffer): boolean =>
  bytes.length >= start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0

/** No text holds it: there a quote has a backslash before it. */
const endOfText = Buffer.from('"},"line_number":')
const beforeOffset = Buffer.from(',"absolute_offset":')
const startOfEnd = Buffer.from('{"type":"end","data":{"path":{"')
const notBinary = Buffer.from(',"binary_offset":null,')

/** Turns paths as they are printed into those of files; that of the last one is remembered. */
class Paths {
  /** How a match in the last file starts, up to its text. */
  start = Buffer.alloc(0)
  path = ""
  private printed: string | undefined
  private readonly target: string
  private readonly isDirectory: boolean

  constructor(target: string, isDirectory: boolean) {
    this.target = target
    this.isDirectory = isDirectory
  }

  of(text: Text): string {
    const printed = "text" in text ? text.text : text.bytes
    if (printed !== this.printed) {
      const bytes = Buffer.from(printed, "text" in text ? "utf8" : "base64")
      const { target } = this
      this.printed = printed
      this.start = Buffer.from(`{"type":"match","data":{"path":${JSON.stringify(text)},"lines":{"text":"`)
      this.path = this.isDirectory
        ? `${target === "/" ? "" : target}/${FileName.format(FileName.fromBuffer(bytes.subarray(2)))}`
        : target
    }
    return this.path
  }
}

interface Json {
  readonly type: string
  readonly data: {
    readonly path: Text
    readonly lines: Text
    readonly line_number: number
    readonly absolute_offset: number
    readonly binary_offset: number | null
  }
}

const fromJson = ({ data, type }: Json, paths: Paths): Record | undefined => {
  switch (type) {
    case "match":
    case "context":
      return {
        _tag: "Lines",
        path: paths.of(data.path),
        match: type === "match",
        line: data.line_number,
        offset: data.absolute_offset,
        lines: linesOf(textOf(data.lines))
      }
    case "begin":
      // The records up to its end are of this file.
      paths.of(data.path)
      return undefined
    case "end":
      return { _tag: "FileEnd", path: paths.of(data.path), binaryOffset: data.binary_offset ?? undefined }
    case "summary":
      return { _tag: "Summary" }
  }
}

const textOf = (text: Text): string => ("text" in text ? text.text : Buffer.from(text.bytes, "base64").toString())

/** A match over several lines is one record. */
const linesOf = (text: string): ReadonlyArray<string> => {
  const end = text.endsWith("\r\n") ? text.length - 2 : text.endsWith("\n") ? text.length - 1 : text.length
  const lines = text.slice(0, end)
  return lines.includes("\n") ? lines.split(/\r?\n/).map(plain) : [plain(lines)]
}

const plain = (line: string): string => PlainText.make(PlainText.take(line, maxText))

/** A record too long to be held: the states of its reading, in their order. */
class LongRecord {
  private state: "start" | "text" | "after" | "rest" = "start"
  /** Latin-1, so that an index is a byte. Bounded in every state. */
  private held = ""
  private start: RegExpExecArray | undefined
  private text = ""
  private escaped = false
  private readonly paths: Paths

  constructor(paths: Paths) {
    this.paths = paths
  }

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
      path: this.paths.of(pathKind === "text" ? { text: decode("text", path!) } : { bytes: path! }),
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
