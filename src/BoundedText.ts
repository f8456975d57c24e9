/**
 * The first and the last bytes of a text of any length, and how many are
 * missing in between.
 *
 * **Laws**
 *
 * - Memory is `2 * limit` bytes, whatever is appended; time is linear in it.
 * - How the text is cut into appends does not show; `appendAll` appends what the
 *   other stands for, omitted bytes included.
 * - What is rendered is well-formed: cuts are between code points.
 * - The line that stands for what is omitted occurs once in what is rendered,
 *   whatever the text says: see `marker`.
 *
 * @since 0.1.0
 */

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/**
 * Bytes of a piece of text, at most: see `pieces`.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxPieceBytes = 16 * 1024

/** Where text becomes bytes. Shared: nothing is in it between two appends. */
const scratch = new Uint8Array(maxPieceBytes)

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

const empty = new Uint8Array(0)

/** Memory for `length` bytes: most commands say a line or two, and memory that is touched is copied after each fork. */
const reserve = (bytes: Uint8Array<ArrayBuffer>, length: number, limit: number): Uint8Array<ArrayBuffer> => {
  if (length <= bytes.length) return bytes
  const grown = new Uint8Array(Math.min(limit, Math.max(length, bytes.length * 2, 1024)))
  grown.set(bytes)
  return grown
}

/**
 * A text of which something may be omitted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rendered {
  readonly text: string
  readonly omittedBytes: number
  /** The line in `text` that stands for what is omitted, if anything is. No other is the same. */
  readonly marker?: string
}

/**
 * The line that stands for omitted bytes, and that `around` does not hold: text that
 * imitates it gets it a number. Quote it where you say that something is omitted, and
 * no imitation is believed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const marker = (omittedBytes: number, around: ReadonlyArray<string>): string => {
  const imitation = new RegExp(`\\[\\.\\.\\. ${omittedBytes} bytes omitted(?: #(\\d+))? \\.\\.\\.\\]`, "g")
  const taken = new Set(around.flatMap((text) => Array.from(text.matchAll(imitation), ([, number]) => number ?? "1")))
  let number = 1
  while (taken.has(String(number))) number++
  return `[... ${omittedBytes} bytes omitted${number === 1 ? "" : ` #${number}`} ...]`
}

/**
 * That bytes are omitted, and where: one sentence, or none. To stand apart from the text.
 *
 * @category converting
 * @since 0.1.0
 */
export const omissionToText = (
  what: string,
  { marker, omittedBytes }: Pick<Rendered, "marker" | "omittedBytes">
): ReadonlyArray<string> =>
  omittedBytes === 0
    ? []
    : [`${omittedBytes} bytes of ${what} are omitted${marker === undefined ? "" : `, where "${marker}" stands`}.`]

/**
 * @category models
 * @since 0.1.0
 */
export class BoundedText {
  /** Bytes kept at each end. */
  readonly limit: number
  private head = empty
  private headLength = 0
  /** A ring, written at `tailEnd`. */
  private tail = empty
  private tailEnd = 0
  private tailLength = 0
  private total = 0

  constructor(limit: number) {
    this.limit = limit
  }

  append(text: string): void {
    for (let from = 0; from < text.length;) {
      const { read, written } = encoder.encodeInto(from === 0 ? text : text.slice(from), scratch)
      this.appendBytes(scratch.subarray(0, written))
      from += read
    }
  }

  appendAll(other: BoundedText): void {
    this.appendBytes(other.head.subarray(0, other.headLength))
    // Then the other's head was full, so that ours is, and its tail is full, and replaces ours.
    this.total += other.total - other.headLength - other.tailLength
    for (const bytes of other.tailParts()) this.appendBytes(bytes)
  }

  get isEmpty(): boolean {
    return this.total === 0
  }

  clear(): void {
    this.headLength = this.tailEnd = this.tailLength = this.total = 0
  }

  /** The text, with a line between its ends that says how many bytes are omitted, if any. */
  render(): Rendered {
    const kept = new Uint8Array(this.headLength + this.tailLength)
    kept.set(this.head.subarray(0, this.headLength))
    let at = this.headLength
    for (const bytes of this.tailParts()) {
      kept.set(bytes, at)
      at += bytes.length
    }
    if (this.total === kept.length) return { text: decoder.decode(kept), omittedBytes: 0 }
    // The first byte after the head is lost: its last code point is whole if it says so itself.
    let headEnd = this.headLength
    while (headEnd > 0 && isContinuation(kept[headEnd - 1])) headEnd--
    const lead = kept[headEnd - 1] ?? 0
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    headEnd = headEnd - 1 + length <= this.headLength ? headEnd - 1 + length : headEnd - 1
    let tailStart = this.headLength
    while (isContinuation(kept[tailStart])) tailStart++
    const omittedBytes = this.total - headEnd - (kept.length - tailStart)
    const head = decoder.decode(kept.subarray(0, headEnd))
    const tail = decoder.decode(kept.subarray(tailStart))
    const line = marker(omittedBytes, [head, tail])
    return { text: `${head}\n${line}\n${tail}`, omittedBytes, marker: line }
  }

  /** The same of text that is bytes already: UTF-8, cut between code points. */
  appendBytes(bytes: Uint8Array): void {
    this.total += bytes.length
    const toHead = Math.min(bytes.length, this.limit - this.headLength)
    if (toHead > 0) {
      this.head = reserve(this.head, this.headLength + toHead, this.limit)
      this.head.set(toHead === bytes.length ? bytes : bytes.subarray(0, toHead), this.headLength)
      this.headLength += toHead
    }
    if (toHead === bytes.length) return
    const rest = bytes.subarray(Math.max(toHead, bytes.length - this.limit))
    if (this.tail.length === 0) this.tail = new Uint8Array(this.limit)
    const untilEnd = Math.min(rest.length, this.limit - this.tailEnd)
    this.tail.set(rest.subarray(0, untilEnd), this.tailEnd)
    this.tail.set(rest.subarray(untilEnd), 0)
    this.tailEnd = (this.tailEnd + rest.length) % this.limit
    this.tailLength = Math.min(this.tailLength + rest.length, this.limit)
  }

  private tailParts(): ReadonlyArray<Uint8Array> {
    return this.tailLength < this.limit
      ? [this.tail.subarray(0, this.tailLength)]
      : [this.tail.subarray(this.tailEnd), this.tail.subarray(0, this.tailEnd)]
  }
}

/**
 * Cuts a text into pieces of at most 16 KiB each, between code points.
 *
 * @category converting
 * @since 0.1.0
 */
export const pieces = (text: string): ReadonlyArray<string> => {
  // A UTF-16 code unit is at most three bytes.
  if (text.length * 3 <= scratch.length) return text === "" ? [] : [text]
  const cut: Array<string> = []
  for (let from = 0; from < text.length;) {
    const { read } = encoder.encodeInto(text.slice(from), scratch)
    cut.push(text.slice(from, from + read))
    from += read
  }
  return cut
}
