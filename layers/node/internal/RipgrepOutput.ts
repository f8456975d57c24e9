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
 * Bytes are read as Latin-1, so that an index is a byte: strings are searched and compared without leaving JavaScript.
 *
 * @category constructors
 * @since 0.1.0
 */
export class Reader {
  /** The start of a record whose end has not come. */
  private rest = ""
  private long: LongRecord | undefined
  private readonly paths: Paths

  /** What was searched, in the text form of names. */
  constructor(target: string, options: { readonly isDirectory: boolean }) {
    this.paths = new Paths(target, options.isDirectory)
  }

  push(bytes: Uint8Array): ReadonlyArray<Record> {
    const records: Array<Record> = []
    const add = (record: Record | undefined) => {
      if (record !== undefined) records.push(record)
    }
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")
    let newline = chunk.indexOf("\n")
    if (newline < 0) {
      this.hold(chunk)
      return records
    }
    let from = 0
    if (this.rest !== "" || this.long !== undefined) {
      this.hold(chunk.slice(0, newline))
      add(this.long === undefined ? this.record(this.rest, 0, this.rest.length) : this.long.finish())
      this.rest = ""
      this.long = undefined
      from = newline + 1
      newline = chunk.indexOf("\n", from)
    }
    for (; newline >= 0; newline = chunk.indexOf("\n", from)) {
      add(this.record(chunk, from, newline))
      from = newline + 1
    }
    this.hold(chunk.slice(from))
    return records
  }

  private hold(piece: string): void {
    if (this.long !== undefined) return this.long.push(piece)
    this.rest += piece
    if (this.rest.length <= maxRecord) return
    this.long = new LongRecord(this.paths)
    this.long.push(this.rest)
    this.rest = ""
  }

  private record(text: string, from: number, to: number): Record | undefined {
    if (to - from > maxRecord) {
      const long = new LongRecord(this.paths)
      long.push(text.slice(from, to))
      return long.finish()
    }
    const { path, starts } = this.paths
    if (starts !== undefined && text.startsWith(starts.match, from)) {
      const match = this.match(text, from + starts.match.length, to)
      if (match !== undefined) return match
    } else if (starts !== undefined && text.startsWith(starts.end, from)) {
      return { _tag: "FileEnd", path, binaryOffset: undefined }
    } else if (text.startsWith(startOfBegin, from)) {
      this.paths.begin(text.slice(from + startOfBegin.length, to - 2))
      return undefined
    }
    return fromJson(JSON.parse(utf8(text.slice(from, to))), this.paths)
  }

  /**
   * The record that comes most, of which only what is needed is decoded: not every match within the line, and numbers of
   * no use. To read all costs as much as the search.
   */
  private match(text: string, from: number, to: number): Record | undefined {
    const end = text.indexOf(endOfText, from)
    const offset = text.indexOf(beforeOffset, end)
    if (end < 0 || offset < 0 || offset >= to) return undefined
    return {
      _tag: "Lines",
      path: this.paths.path,
      match: true,
      lines: linesOfJson(text.slice(from, end)),
      line: digits(text, end + endOfText.length),
      offset: digits(text, offset + beforeOffset.length)
    }
  }
}

const utf8 = (latin1: string): string => Buffer.from(latin1, "latin1").toString()

/** A string of its own: a part of another keeps all of that in memory, here some 64 KiB for each line that is kept. */
const copied = (latin1: string): string => Buffer.from(latin1, "latin1").toString("latin1")

/** What JSON writes as it is, in one byte, and names in their text form, too. */
const isSimple = (json: string): boolean => !/[^ -[\]-~]/.test(json)

const digits = (text: string, from: number): number => {
  let number = 0
  for (let at = from; ; at++) {
    const digit = text.charCodeAt(at) - 0x30
    if (!(digit >= 0 && digit <= 9)) return number
    number = 10 * number + digit
  }
}

const startOfBegin = '{"type":"begin","data":{"path":'

/** No text holds it: there a quote has a backslash before it. */
const endOfText = '"},"line_number":'
const beforeOffset = ',"absolute_offset":'

/** Turns paths as they are printed into those of files; that of the last one is remembered. */
class Paths {
  path = ""
  /** How records of the last file start: a match up to its text, and the end of a file that is not binary. */
  starts: { readonly match: string; readonly end: string } | undefined
  private printed: string | undefined
  private readonly target: string
  private readonly isDirectory: boolean

  constructor(target: string, isDirectory: boolean) {
    this.target = target
    this.isDirectory = isDirectory
  }

  /** The records up to its end are of this file. */
  begin(json: string): void {
    this.of(JSON.parse(utf8(json)))
    this.starts = {
      match: `{"type":"match","data":{"path":${json},"lines":{"text":"`,
      end: `{"type":"end","data":{"path":${json},"binary_offset":null,`
    }
  }

  of(text: Text): string {
    const printed = "text" in text ? text.text : text.bytes
    if (printed === this.printed) return this.path
    this.printed = printed
    this.starts = undefined
    this.path = this.isDirectory ? `${this.target === "/" ? "" : this.target}/${nameOf(text)}` : this.target
    return this.path
  }
}

/** The text form, without the `./` in front. */
const nameOf = (text: Text): string => {
  if ("text" in text && isSimple(text.text)) return text.text.slice(2)
  const bytes = "text" in text ? Buffer.from(text.text) : Buffer.from(text.bytes, "base64")
  return FileName.format(FileName.fromBuffer(bytes.subarray(2)))
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

/** The same of a JSON string, without its quotes. */
const linesOfJson = (json: string): ReadonlyArray<string> => {
  const line = json.endsWith("\\n") ? json.slice(0, -2) : json
  return isSimple(line) ? [copied(PlainText.take(line, maxText))] : linesOf(JSON.parse(`"${utf8(json)}"`))
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

  push(piece: string): void {
    let from = 0
    if (this.state === "start") {
      this.held += piece
      if (this.held.length <= maxRecord) return
      const start = startOfRecord.exec(this.held)
      // No line: what it is then must be short.
      if (start === null) return void (this.state = "rest")
      const rest = this.held.slice(start[0].length)
      this.start = start
      this.held = ""
      this.state = "text"
      return this.push(rest)
    }
    if (this.state === "text") {
      for (; from < piece.length; from++) {
        const byte = piece.charCodeAt(from)
        if (this.escaped) this.escaped = false
        else if (byte === 0x5c) this.escaped = true
        else if (byte === 0x22) break
      }
      if (this.text.length < maxEscaped) this.text += copied(piece.slice(0, Math.min(from, maxEscaped)))
      if (from === piece.length) return
      this.state = "after"
    }
    if (this.state === "after") {
      this.held += copied(piece.slice(from, from + 128))
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
