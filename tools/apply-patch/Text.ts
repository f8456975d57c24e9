/**
 * The bytes of a text file as lines, and back, without losing one.
 *
 * **Laws**
 *
 * - `toBytes(fromBytes(bytes))` is `bytes`, whatever they are: the byte order mark,
 *   each line's own terminator and bytes that are not UTF-8 are kept.
 * - A line that is not replaced keeps its bytes.
 *
 * @since 0.1.0
 */

/**
 * @category models
 * @since 0.1.0
 */
export interface Line {
  /** Without terminator. Bytes that are not UTF-8 stand as U+FFFD. */
  readonly text: string
  readonly terminator: Terminator
  /** The bytes of the text, where they are not UTF-8. */
  readonly raw?: Uint8Array | undefined
}

/** None only at the last line. */
export type Terminator = "" | "\n" | "\r\n" | "\r"

/**
 * @category models
 * @since 0.1.0
 */
export interface Text {
  /** U+FEFF, if the file starts with it. */
  readonly mark: string
  readonly lines: ReadonlyArray<Line>
}

/**
 * Replaces `removed` lines from index `at` on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Edit {
  readonly at: number
  readonly removed: number
  readonly added: ReadonlyArray<string>
  /** The last added line ends the file, without a newline. */
  readonly bare: boolean
}

/**
 * Why bytes are not edited as text: what they are instead.
 *
 * @category predicates
 * @since 0.1.0
 */
export const notText = (bytes: Uint8Array): string | undefined =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
    ? "UTF-16 text"
    : bytes.includes(0)
      ? "binary data (it has NUL bytes)"
      : undefined

const newlinesAndReturns = /\r\n|\n|\r/g

/**
 * Cuts bytes into lines. A carriage return that stands alone is a terminator only if `returns` says so: in most files
 * it is a byte like any other.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromBytes = (bytes: Uint8Array, returns: boolean): Text => {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
  const mark = text.startsWith("\ufeff") ? "\ufeff" : ""
  // A file may hold U+FFFD itself. Then its length tells nothing, and its lines are compared with their bytes.
  const lines = text.includes("\ufffd") ? linesOfBytes(bytes.subarray(mark === "" ? 0 : 3), returns) : undefined
  return { mark, lines: lines ?? linesOf(text.slice(mark.length), returns) }
}

const linesOf = (text: string, returns: boolean): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  let from = 0
  if (returns) {
    for (const { 0: found, index } of text.matchAll(newlinesAndReturns)) {
      const terminator = found === "\n" ? "\n" : found === "\r" ? "\r" : "\r\n"
      lines.push({ text: text.slice(from, index), terminator })
      from = index + found.length
    }
  } else {
    // As the expression would, in a fifth of the time.
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      const returned = at > from && text.charCodeAt(at - 1) === 13
      lines.push({ text: text.slice(from, returned ? at - 1 : at), terminator: returned ? "\r\n" : "\n" })
      from = at + 1
    }
  }
  if (from < text.length) lines.push({ text: text.slice(from), terminator: "" })
  return lines
}

/** Terminators are ASCII: a text of one unit for each byte has the lines where the bytes have them. */
const linesOfBytes = (bytes: Uint8Array, returns: boolean): ReadonlyArray<Line> => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  let at = 0
  return linesOf(bytewise(bytes), returns).map(({ terminator, text: units }) => {
    const raw = bytes.subarray(at, at + units.length)
    at += units.length + terminator.length
    const text = decoder.decode(raw)
    return text.includes("\ufffd") ? { text, terminator, raw } : { text, terminator }
  })
}

/** Units that stand for the bytes 0 to 255. Not a decoder: the Web's `latin1` is windows-1252. */
const bytewise = (bytes: Uint8Array): string => {
  const parts: Array<string> = []
  // More arguments than this overflow the stack of some engines.
  for (let at = 0; at < bytes.length; at += 8192) parts.push(String.fromCharCode(...bytes.subarray(at, at + 8192)))
  return parts.join("")
}

/**
 * @category converting
 * @since 0.1.0
 */
export const toBytes = ({ lines, mark }: Text): Uint8Array => {
  const encoder = new TextEncoder()
  const pieces: Array<Uint8Array> = []
  let pending: Array<string> = [mark]
  for (const { raw, terminator, text } of lines) {
    if (raw !== undefined) {
      pieces.push(encoder.encode(pending.join("")), raw)
      pending = []
    } else pending.push(text)
    pending.push(terminator)
  }
  pieces.push(encoder.encode(pending.join("")))
  if (pieces.length === 1) return pieces[0]!
  const bytes = new Uint8Array(pieces.reduce((total, piece) => total + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

/**
 * Makes edits, which are in the order of their places and do not overlap. Added lines end like most lines of the file
 * do: a patch does not say how.
 *
 * @category combinators
 * @since 0.1.0
 */
export const edit = ({ lines, mark }: Text, edits: ReadonlyArray<Edit>): Text => {
  const terminator = commonTerminator(lines)
  const edited: Array<Line> = []
  let at = 0
  for (const { added, at: start, bare, removed } of edits) {
    for (; at < start; at++) edited.push(lines[at]!)
    added.forEach((text, index) =>
      edited.push({ text, terminator: bare && index === added.length - 1 ? "" : terminator })
    )
    at = start + removed
  }
  for (; at < lines.length; at++) edited.push(lines[at]!)
  // The last line of the file had no terminator, and something was put behind it.
  return {
    mark,
    lines: edited.map((line, i) => (line.terminator !== "" || i === edited.length - 1 ? line : { ...line, terminator }))
  }
}

/** The one that most lines have, the first of several; a newline where there is none. */
const commonTerminator = (lines: ReadonlyArray<Line>): Terminator => {
  const counts = new Map<Terminator, number>()
  for (const { terminator } of lines) if (terminator !== "") counts.set(terminator, (counts.get(terminator) ?? 0) + 1)
  return [...counts].reduce<readonly [Terminator, number]>(
    (best, next) => (next[1] > best[1] ? next : best),
    ["\n", 0]
  )[0]
}
