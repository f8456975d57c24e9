/**
 * Content whose text is bounded: the first and the last of it, and how much is missing
 * in between.
 *
 * **Laws**
 *
 * - The texts that are kept take at most `limitBytes` in UTF-8, each cut between code
 *   points. Beside them there are two notes, in items of their own.
 * - What fits is as it was. Images and resources stay, in their order.
 * - The note where bytes are missing is the only item, and part of no other, that says
 *   just that, whatever the texts say. The last note quotes it.
 *
 * @since 0.1.0
 */
import { marker, omissionToText } from "./BoundedText.ts"
import * as ToolContent from "./ToolContent.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface BoundedContent {
  /** Without the last note: see `withNote`. */
  readonly content: ReadonlyArray<ToolContent.ToolContent>
  readonly omittedBytes: number
  readonly marker: string
  /** All of the texts, one after another, a line feed between two. */
  readonly whole: Uint8Array
  /** Bytes of `whole` before those that are omitted. */
  readonly headBytes: number
}

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/**
 * Bounds content. Undefined if it fits.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  content: ReadonlyArray<ToolContent.ToolContent>,
  limitBytes: number
): BoundedContent | undefined => {
  let units = 0
  for (const item of content) if (item.type === "text") units += item.text.length
  // A UTF-16 code unit is at most three bytes: of nearly all content this is all that is asked.
  if (units * 3 <= limitBytes) return undefined
  const texts = content.map((item) => (item.type === "text" ? encoder.encode(item.text) : undefined))
  const total = texts.reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0)
  if (total <= limitBytes) return undefined
  const half = Math.floor(limitBytes / 2)
  const head = ends(texts, half, headOf)
  const tail = ends(texts.toReversed(), half, tailOf)
  const line = marker(total - head.bytes - tail.bytes, [...head.kept, ...tail.kept])
  // An item of which both ends are kept is in both: its head is in front of the marker.
  const cutAt = head.kept.length - 1
  const tailFrom = texts.length - tail.kept.length
  const bounded: Array<ToolContent.ToolContent> = []
  for (const [index, item] of content.entries()) {
    if (item.type !== "text") bounded.push(item)
    else if (index <= cutAt) push(bounded, head.kept[index]!)
    if (index === cutAt) bounded.push(ToolContent.text(line))
    if (item.type === "text" && index >= tailFrom) push(bounded, tail.kept[texts.length - 1 - index]!)
  }
  const whole = join(texts.filter((bytes) => bytes !== undefined))
  const before = texts.slice(0, cutAt).filter((bytes) => bytes !== undefined).length
  return {
    content: bounded,
    omittedBytes: total - head.bytes - tail.bytes,
    marker: line,
    whole,
    headBytes: head.bytes + before
  }
}

/**
 * The content with what is to be said of it: that bytes are omitted, and where they are.
 *
 * @category converting
 * @since 0.1.0
 */
export const withNote = (self: BoundedContent, where: string): ReadonlyArray<ToolContent.ToolContent> => [
  ...self.content,
  ToolContent.text([...omissionToText("this result", self), where].join(" "))
]

/** A piece that is nothing is no item. */
const push = (content: Array<ToolContent.ToolContent>, text: string): void => {
  if (text !== "") content.push(ToolContent.text(text))
}

/** Texts from one end on, as far as there is room, and one that is cut: an entry for each item up to that. */
const ends = (
  texts: ReadonlyArray<Uint8Array | undefined>,
  room: number,
  cut: (bytes: Uint8Array, room: number) => Uint8Array
) => {
  const kept: Array<string> = []
  let bytes = 0
  for (const text of texts) {
    if (text === undefined) {
      kept.push("")
      continue
    }
    const part = text.length <= room - bytes ? text : cut(text, room - bytes)
    kept.push(decoder.decode(part))
    bytes += part.length
    if (part.length < text.length) break
  }
  return { kept, bytes }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

const headOf = (bytes: Uint8Array, room: number): Uint8Array => {
  let end = room
  while (end > 0 && isContinuation(bytes[end])) end--
  return bytes.subarray(0, end)
}

const tailOf = (bytes: Uint8Array, room: number): Uint8Array => {
  let start = bytes.length - room
  while (isContinuation(bytes[start])) start++
  return bytes.subarray(start)
}

const join = (texts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(texts.reduce((sum, { length }) => sum + length + 1, -1))
  let at = 0
  for (const text of texts) {
    whole.set(text, at)
    at += text.length
    if (at < whole.length) whole[at++] = 0x0a
  }
  return whole
}
