/**
 * What a terminal would show of the bytes that a program writes, as text of
 * bounded size.
 *
 * **Laws**
 *
 * - How the bytes are cut into chunks does not show.
 * - The text is well-formed UTF-16 and holds no control character besides tab
 *   and line feed. NUL is shown as `\0`.
 * - Work is linear in the input, state is bounded.
 *
 * Not emulated: the cursor. A carriage return starts the line anew and what
 * follows replaces it, which is right for progress bars and needs no columns.
 *
 * @since 0.1.0
 */
import { BoundedText, maxPieceBytes, type Rendered } from "./BoundedText.ts"
import { asciiText, isPlain, plainText } from "./internal/PlainBytes.ts"

/**
 * Longest control sequence, in UTF-16 code units; what goes on longer is text
 * after all. Real ones have some ten; without a bound `ESC [` before a flood of
 * digits would hide it.
 */
const maxSequence = 256

/** The same for a string (a title, a link, a copy to the clipboard), which also ends with the line. */
const maxString = 64 * 1024

/**
 * C0 besides tab, line feed and carriage return; DEL and C1. An expression, because its search is several times as fast
 * as a loop over the code units. It keeps the place of its last match: set `lastIndex` before each use.
 */
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** Bytes up to which the decoder takes longer to begin than to decode: a line, which somebody may wait for. */
const maxLine = 128

/**
 * Short text that is gathered before it is taken in, in UTF-16 code units. With less, each line costs what all of it
 * does; with more, the one that is too many is a pause.
 */
const maxGathered = 4 * 1024

type State = "text" | "escape" | "sequence" | "string" | "stringEscape"

/**
 * Bytes of one stream to text without escape sequences and control characters.
 * Keeps tab, line feed and carriage return.
 *
 * **Source** ECMA-48, 5th edition, 5.3 to 5.6; xterm's `ctlseqs` for OSC that end in BEL.
 *
 * @category models
 * @since 0.1.0
 */
export class TerminalDecoder {
  /** Made for the first bytes that are not plain: it takes longer to make than most commands' output to read. */
  private decoder: TextDecoder | undefined
  private state: State = "text"
  private length = 0
  /** The last chunk may have ended within a character. */
  private unfinished = false

  decode(bytes: Uint8Array): string {
    this.decoder ??= new TextDecoder("utf-8", { ignoreBOM: true })
    const text = this.decoder.decode(bytes, { stream: true })
    this.unfinished = (bytes.at(-1) ?? 0) >= 0x80 || (this.unfinished && bytes.length === 0)
    return this.filter(text)
  }

  /**
   * The text of plain bytes, which is what they say, in pieces of at most 16 KiB; undefined if these are not, or continue
   * what was not.
   */
  decodePlain(bytes: Uint8Array): ReadonlyArray<string> | undefined {
    if (this.state !== "text" || this.unfinished) return undefined
    const { length } = bytes
    if (length <= maxLine) {
      const text = plainText(bytes)
      return text === undefined ? undefined : text === "" ? [] : [text]
    }
    if (!isPlain(bytes)) return undefined
    if (length <= maxPieceBytes) return [asciiText(bytes, 0, length)]
    // Not cut from one: a string of more than 128 KiB is memory that the kernel gives, clears and takes back.
    const pieces: Array<string> = []
    for (let from = 0; from < length; from += maxPieceBytes) {
      pieces.push(asciiText(bytes, from, Math.min(from + maxPieceBytes, length)))
    }
    return pieces
  }

  /** What an incomplete last character stands for. To be called once, last. */
  end(): string {
    return this.decoder === undefined ? "" : this.filter(this.decoder.decode())
  }

  private filter(text: string): string {
    const length = text.length
    let out = ""
    for (let i = 0; i < length;) {
      if (this.state !== "text") {
        if (this.escape(text.charCodeAt(i))) i++
        continue
      }
      control.lastIndex = i
      const found = control.test(text) ? control.lastIndex - 1 : length
      if (found > i) out += i === 0 && found === length ? text : text.slice(i, found)
      i = found + 1
      if (found === length) break
      const code = text.charCodeAt(found)
      if (code === 0x1b) this.enter("escape")
      if (code !== 0) continue
      while (i < length && text.charCodeAt(i) === 0) i++
      out += "\\0".repeat(i - found)
    }
    return out
  }

  private enter(state: State): void {
    this.state = state
    this.length = 0
  }

  /** One code unit within an escape sequence. False if it does not belong to it: then it is looked at again. */
  private escape(code: number): boolean {
    this.length++
    switch (this.state) {
      case "escape": {
        if (code === 0x5b /* [ */) this.enter("sequence")
        // OSC, DCS, SOS, PM, APC
        else if (code === 0x5d || code === 0x50 || code === 0x58 || code === 0x5e || code === 0x5f) this.enter("string")
        else if (code === 0x1b) this.enter("escape")
        else if (code >= 0x20 && code <= 0x2f && this.length <= maxSequence) return true
        else {
          this.enter("text")
          return code >= 0x30 && code <= 0x7e
        }
        return true
      }
      case "sequence": {
        if (code >= 0x20 && code <= 0x3f && this.length <= maxSequence) return true
        this.enter("text")
        return code >= 0x40 && code <= 0x7e
      }
      case "string": {
        if (code === 0x1b) this.enter("stringEscape")
        // BEL, CAN, SUB, ST
        else if (code === 0x07 || code === 0x18 || code === 0x1a || code === 0x9c) this.enter("text")
        else if (code === 0x0a || this.length > maxString) {
          this.enter("text")
          return false
        }
        return true
      }
      default: {
        if (code === 0x5c /* \ */) {
          this.enter("text")
          return true
        }
        this.enter("escape")
        return false
      }
    }
  }
}

/** Whether a carriage return stands at `at`, and after it something that starts the line anew. */
const isReplaced = (text: string, at: number): boolean => {
  const after = text.charCodeAt(at + 1)
  return at + 1 < text.length && after !== 0x0a && after !== 0x0d
}

/**
 * The screen that several decoded streams are written to, with its first and
 * last bytes kept.
 *
 * @category models
 * @since 0.1.0
 */
export class TerminalText {
  /** The lines that are complete, and the one that may still be replaced. */
  private readonly lines: BoundedText
  private readonly line: BoundedText
  private returned = false
  /** Plain text that is still to be taken in. */
  private gathered = ""

  /** `limit` is the number of bytes kept at each end. */
  constructor(limit: number) {
    this.lines = new BoundedText(limit)
    this.line = new BoundedText(limit)
  }

  /** Takes text from a `TerminalDecoder`. */
  write(text: string): void {
    this.settle()
    for (let from = 0; from < text.length;) {
      const next = text.charCodeAt(from)
      if (next === 0x0d) {
        this.returned = true
        from++
        continue
      }
      // A carriage return before a line feed, or before nothing, hides nothing.
      if (this.returned && next !== 0x0a) this.line.clear()
      this.returned = false
      const found = text.indexOf("\r", from)
      const end = found === -1 ? text.length : found
      const frame = from === 0 && end === text.length ? text : text.slice(from, end)
      from = end
      // Replaced at once, as all but the last of many frames are: not worth keeping until then.
      if (isReplaced(text, end) && !frame.includes("\n")) continue
      this.plain(frame)
    }
  }

  /** Takes a line, or some, that a `TerminalDecoder` found to be plain: later, for somebody may wait for them. */
  gather(plain: string): void {
    this.gathered += plain
    if (this.gathered.length > maxGathered) this.settle()
  }

  /** Takes bytes that a `TerminalDecoder` found to be plain. */
  writePlain(bytes: Uint8Array): void {
    this.settle()
    const end = bytes.lastIndexOf(0x0a) + 1
    if (bytes.length === 0) return
    // A carriage return before a line feed hides nothing.
    if (this.returned && bytes[0] !== 0x0a) this.line.clear()
    this.returned = false
    if (end > 0) {
      this.endLine()
      this.lines.appendBytes(end === bytes.length ? bytes : bytes.subarray(0, end))
    }
    if (end < bytes.length) this.line.appendBytes(end === 0 ? bytes : bytes.subarray(end))
  }

  /** What is on the screen now. */
  render(): Rendered {
    this.settle()
    const all = new BoundedText(this.lines.limit)
    all.appendAll(this.lines)
    all.appendAll(this.line)
    return all.render()
  }

  private settle(): void {
    const { gathered } = this
    if (gathered === "") return
    this.gathered = ""
    this.write(gathered)
  }

  /** What is in the line cannot be replaced any more. */
  private endLine(): void {
    if (this.line.isEmpty) return
    this.lines.appendAll(this.line)
    this.line.clear()
  }

  private plain(text: string): void {
    const end = text.lastIndexOf("\n") + 1
    if (end > 0) {
      this.endLine()
      this.lines.append(end === text.length ? text : text.slice(0, end))
    }
    if (end < text.length) this.line.append(end === 0 ? text : text.slice(end))
  }
}

/** Longest beginning of an escape sequence that is looked for, in bytes. */
const maxBeginning = 4 * 1024

/** An escape sequence without its end, as `TerminalDecoder` knows them; of bytes, one code unit each. */
const beginning =
  // oxlint-disable-next-line no-control-regex
  /^\u001b(?:[\u0020-\u002f]*|\[[\u0020-\u003f]*|[\]PX^_][^\u0007\u0018\u001a\u000a]*)$/

/**
 * How many bytes at the end are only the beginning of a character or of an escape
 * sequence: the rest is still to come, if it is one.
 *
 * @category converting
 * @since 0.1.0
 */
export const unfinished = (bytes: Uint8Array): number => {
  const last = bytes.subarray(Math.max(0, bytes.length - maxBeginning))
  // The one that ends a string may be taken for another: what follows it is left out either way.
  const sequence = last.subarray(Math.max(0, last.lastIndexOf(0x1b)))
  if (beginning.test(Array.from(sequence, (byte) => String.fromCharCode(byte)).join(""))) return sequence.length
  for (let length = 1; length < 4 && length <= bytes.length; length++) {
    const byte = bytes[bytes.length - length] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const whole = byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1
    return byte < 0xf8 && whole > length ? length : 0
  }
  return 0
}
