/**
 * The lines of what a program writes, as plain text, while it writes.
 *
 * **Laws**
 *
 * - How the bytes are cut into chunks does not show.
 * - A line is well-formed UTF-16 without control characters besides tab. Escape
 *   sequences are left out, NUL is shown as `\0`.
 * - A line ends with a line feed, or with the output. A carriage return starts it
 *   anew: what follows replaces it, and before a line feed, or before nothing, it
 *   hides nothing. So of a progress bar its last frame is told.
 * - Work is linear in the input, state is bounded.
 *
 * @since 0.1.0
 */
import { asciiText, isPlain } from "./internal/PlainBytes.ts"
import * as PlainText from "./PlainText.ts"
import { TerminalDecoder } from "./TerminalText.ts"

/** Bytes decoded at once. Of more, each line that is kept holds more in memory; of fewer, more lines are joined of two parts. */
const pieceBytes = 16 * 1024

/**
 * Bytes of one stream to lines, which are given to `onLine` as soon as they are complete.
 *
 * @category models
 * @since 0.1.0
 */
export class OutputLines {
  /** UTF-16 code units kept of a line. */
  readonly limit: number
  private readonly onLine: (line: string, omittedUnits: number) => void
  private readonly decoder = new TerminalDecoder()
  /** The decoder is surely not within a character or an escape sequence: it never is after a line feed. */
  private between = true
  private line = ""
  private omitted = 0
  /** After a carriage return: the next text replaces the line. */
  private returned = false

  /** `onLine` is told how many UTF-16 code units of the end of a long line are missing. */
  constructor(limit: number, onLine: (line: string, omittedUnits: number) => void) {
    this.limit = limit
    this.onLine = onLine
  }

  /** Keeps nothing of `bytes`. */
  write(bytes: Uint8Array): void {
    if (!isPlain(bytes)) {
      this.read(this.decoder.decode(bytes))
      this.between = bytes[bytes.length - 1] === 0x0a
      return
    }
    const plain = this.between ? 0 : bytes.indexOf(0x0a) + 1
    this.between ||= plain > 0
    if (!this.between) return this.read(this.decoder.decode(bytes))
    if (plain > 0) this.read(this.decoder.decode(bytes.subarray(0, plain)))
    // In pieces: a string of more than 128 KiB is memory that the kernel gives, clears and takes back.
    for (let from = plain; from < bytes.length; from += pieceBytes) {
      this.read(asciiText(bytes, from, Math.min(from + pieceBytes, bytes.length)))
    }
  }

  /** Gives a last line that has no line feed. To be called once, last. */
  end(): void {
    this.read(this.decoder.end())
    if (this.line !== "") this.finish()
  }

  private read(text: string): void {
    const length = text.length
    // Each is looked for again only behind the last one: text without it is searched once.
    let newline = indexOf(text, "\n", 0)
    let carriage = indexOf(text, "\r", 0)
    for (let i = 0; i < length;) {
      if (newline < carriage) {
        this.append(text, i, newline)
        this.finish()
        i = newline + 1
        newline = indexOf(text, "\n", i)
      } else {
        this.append(text, i, carriage)
        i = carriage + 1
        if (carriage === length) break
        this.returned = true
        carriage = indexOf(text, "\r", i)
      }
    }
  }

  private append(text: string, from: number, to: number): void {
    if (from === to) return
    if (this.returned) {
      this.line = ""
      this.omitted = 0
      this.returned = false
    }
    const room = this.limit - this.line.length
    if (this.omitted > 0) this.omitted += to - from
    else if (to - from <= room) this.line = this.line === "" ? text.slice(from, to) : this.line + text.slice(from, to)
    else {
      // One more than fits, so that half of a pair is seen.
      const kept = PlainText.take(text.slice(from, from + room + 1), room)
      this.line += kept
      this.omitted = to - from - kept.length
    }
  }

  private finish(): void {
    const { line, omitted } = this
    this.line = ""
    this.omitted = 0
    this.returned = false
    this.onLine(line, omitted)
  }
}

/** Its end, where there is none. */
const indexOf = (text: string, what: string, from: number): number => {
  const found = text.indexOf(what, from)
  return found < 0 ? text.length : found
}

/**
 * Whether a line says nothing: it is empty, or white space.
 *
 * @category models
 * @since 0.1.0
 */
export const isBlank = (line: string): boolean => {
  // Almost every line ends at its first code unit.
  const first = line.charCodeAt(0)
  return !(first > 0x20 && first < 0x7f) && line.trim() === ""
}

/**
 * The last lines of many, bounded in number and in UTF-16 code units.
 *
 * @category models
 * @since 0.1.0
 */
export class LastLines {
  /** Lines that were added. */
  total = 0
  private readonly maxLines: number
  private readonly maxUnits: number
  private readonly lines: Array<string> = []
  /** Which of `lines` are not whole. */
  private readonly cut: Array<boolean> = []

  constructor(limits: { readonly maxLines: number; readonly maxUnits: number }) {
    this.maxLines = limits.maxLines
    this.maxUnits = limits.maxUnits
  }

  /** `omittedUnits` of its end are missing already. */
  add(line: string, omittedUnits = 0): void {
    this.lines[this.total % this.maxLines] = line
    this.cut[this.total++ % this.maxLines] = omittedUnits > 0
  }

  /** The last one whole, and as many before it as there is room for. */
  render(): ReadonlyArray<string> {
    return this.last().lines
  }

  /** How many of those that are rendered have no end. */
  get cutLines(): number {
    return this.last().cut
  }

  private last(): { readonly lines: ReadonlyArray<string>; readonly cut: number } {
    const shown: Array<string> = []
    let units = 0
    let cut = 0
    for (let n = this.total - 1; n >= 0 && n >= this.total - this.maxLines; n--) {
      const line = this.lines[n % this.maxLines] ?? ""
      units += line.length
      if (shown.length > 0 && units > this.maxUnits) break
      shown.push(line)
      if (this.cut[n % this.maxLines]) cut++
    }
    return { lines: shown.toReversed(), cut }
  }
}

/**
 * That lines are cut: one sentence, or none. To stand apart from the lines.
 *
 * @category converting
 * @since 0.1.0
 */
export const cutToText = (cutLines: number, limit: number): ReadonlyArray<string> =>
  cutLines === 0
    ? []
    : [
        `${cutLines} of these ${cutLines === 1 ? "goes" : "go"} on after ${limit} UTF-16 code units; the rest is not shown.`
      ]
