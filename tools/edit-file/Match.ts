/**
 * Where a text stands in a file of any bytes.
 *
 * A file is looked at as *units*: a string with one code unit for each byte, or
 * for each code unit of UTF-16 where a byte order mark says so. Nothing is lost
 * either way, so what is not replaced comes out as it went in. A text is turned
 * into the same units before it is looked for.
 *
 * @since 0.1.0
 */
import * as Lookalikes from "../../src/Lookalikes.ts"
import * as PlainText from "../../src/PlainText.ts"

/**
 * A file, taken apart.
 *
 * @category models
 * @since 0.1.0
 */
export interface Units {
  readonly encoding: "bytes" | "utf-16le" | "utf-16be"
  /** The bytes of the byte order mark. It is no part of the text. */
  readonly mark: Uint8Array
  readonly units: string
  /** Half a code unit at the end. */
  readonly rest: Uint8Array
}

/**
 * A stretch of units, from `start` to before `end`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Where a text stands.
 *
 * @category models
 * @since 0.1.0
 */
export interface Matches {
  readonly tier: "exact" | "tolerant"
  /** In order, without overlap. */
  readonly spans: ReadonlyArray<Span>
  /** Some stand across others: what is meant is not clear, even if `spans` is one. */
  readonly overlap: boolean
}

/** One code unit for a byte: every byte has a character of its own in this encoding. */
const decodeBytes = (bytes: Uint8Array): string => new TextDecoder("windows-1252").decode(bytes)

/** The byte of each of these characters, by its code. */
const byteOf = new Uint8Array(0x10000)
for (const [byte, unit] of [...decodeBytes(Uint8Array.from({ length: 256 }, (_, byte) => byte))].entries()) {
  byteOf[unit.charCodeAt(0)] = byte
}

const encodeBytes = (units: string, bytes: Uint8Array): Uint8Array => {
  for (let index = 0; index < units.length; index++) bytes[index] = byteOf[units.charCodeAt(index)]!
  return bytes
}

const startsWith = (bytes: Uint8Array, ...mark: ReadonlyArray<number>) =>
  mark.every((byte, index) => bytes[index] === byte)

/**
 * @category constructors
 * @since 0.1.0
 */
export const fromBytes = (bytes: Uint8Array): Units => {
  const isLittle = startsWith(bytes, 0xff, 0xfe)
  if (isLittle || startsWith(bytes, 0xfe, 0xff)) {
    const end = bytes.length & ~1
    return {
      encoding: isLittle ? "utf-16le" : "utf-16be",
      mark: bytes.subarray(0, 2),
      units: unitsOfUtf16(bytes.subarray(2, end), isLittle),
      rest: bytes.subarray(end)
    }
  }
  const mark = startsWith(bytes, 0xef, 0xbb, 0xbf) ? 3 : 0
  return {
    encoding: "bytes",
    mark: bytes.subarray(0, mark),
    units: decodeBytes(bytes.subarray(mark)),
    rest: new Uint8Array()
  }
}

/** Not by a decoder: it would replace half of a surrogate pair. */
const unitsOfUtf16 = (bytes: Uint8Array, isLittle: boolean): string => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts: Array<string> = []
  for (let at = 0; at < bytes.length; at += 8192) {
    const length = Math.min(4096, (bytes.length - at) / 2)
    parts.push(String.fromCharCode(...Array.from({ length }, (_, index) => view.getUint16(at + 2 * index, isLittle))))
  }
  return parts.join("")
}

/**
 * The units of a text, in the encoding of a file.
 *
 * @category converting
 * @since 0.1.0
 */
export const unitsOf = (text: string, { encoding }: Units): string =>
  encoding === "bytes" ? decodeBytes(new TextEncoder().encode(text)) : text

/**
 * The text of some units. What is no text is replaced.
 *
 * @category converting
 * @since 0.1.0
 */
export const textOf = (units: string, { encoding }: Units): string =>
  encoding === "bytes"
    ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(encodeBytes(units, new Uint8Array(units.length)))
    : units

/**
 * The bytes of a file whose units are now these.
 *
 * @category converting
 * @since 0.1.0
 */
export const toBytes = ({ encoding, mark, rest }: Units, units: string): Uint8Array => {
  const width = encoding === "bytes" ? 1 : 2
  const bytes = new Uint8Array(mark.length + units.length * width + rest.length)
  bytes.set(mark)
  if (encoding === "bytes") {
    encodeBytes(units, bytes.subarray(mark.length))
  } else {
    const view = new DataView(bytes.buffer, mark.length)
    const isLittle = encoding === "utf-16le"
    for (let index = 0; index < units.length; index++) view.setUint16(2 * index, units.charCodeAt(index), isLittle)
  }
  bytes.set(rest, bytes.length - rest.length)
  return bytes
}

/**
 * Where `text`, which is not empty, stands: exactly; or, if it does nowhere, but for line ends and lookalikes. Half of a
 * CRLF is no place to start or end.
 *
 * @category matching
 * @since 0.1.0
 */
export const find = (file: Units, text: string): Matches => {
  const needle = unitsOf(text, file)
  const exact = spansOf(file.units, needle)
  if (exact.spans.length > 0) return { tier: "exact", ...exact }
  const folded = fold(file)
  const found = spansOf(folded.units, fold({ ...file, units: needle }).units)
  return {
    tier: "tolerant",
    spans: found.spans.map(({ end, start }) => ({ start: folded.origin(start), end: folded.origin(end) })),
    overlap: found.overlap
  }
}

const spansOf = (units: string, needle: string): { readonly spans: ReadonlyArray<Span>; readonly overlap: boolean } => {
  const spans: Array<Span> = []
  let overlap = false
  for (let start = units.indexOf(needle); start >= 0;) {
    const end = start + needle.length
    const whole = !isInCrlf(units, start) && !isInCrlf(units, end)
    if (whole) {
      spans.push({ start, end })
      if (spans.length === 1) {
        const next = units.indexOf(needle, start + 1)
        overlap = next >= 0 && next < end
      }
    }
    start = units.indexOf(needle, whole ? end : start + 1)
  }
  return { spans, overlap }
}

const isInCrlf = (units: string, at: number): boolean => units[at] === "\n" && units[at - 1] === "\r"

/**
 * The ASCII form of each lookalike, by its units. A lookalike in UTF-8 starts with a byte that starts nothing else.
 */
const lookalikes = (() => {
  const all = String.fromCharCode(...Array.from({ length: 0x3001 - 0x80 }, (_, index) => index + 0x80))
  const folded = Lookalikes.fold(all)
  const forms = { bytes: new Map<string, string>(), text: new Map<string, string>() }
  for (let index = 0; index < all.length; index++) {
    if (folded[index] === all[index]) continue
    forms.text.set(all[index]!, folded[index]!)
    forms.bytes.set(decodeBytes(new TextEncoder().encode(all[index])), folded[index]!)
  }
  const pattern = (keys: Iterable<string>) => new RegExp(`\\r\\n|${[...keys].join("|")}`, "g")
  return {
    bytes: { forms: forms.bytes, pattern: pattern(forms.bytes.keys()) },
    text: { forms: forms.text, pattern: pattern(forms.text.keys()) }
  }
})()

interface Folded {
  readonly units: string
  /** The position in the original of one in what was folded. */
  readonly origin: (at: number) => number
}

/** CRLF becomes LF and a lookalike its ASCII form: one unit each, so that no match can start or end within one. */
const fold = ({ encoding, units }: Units): Folded => {
  const { forms, pattern } = encoding === "bytes" ? lookalikes.bytes : lookalikes.text
  const parts: Array<string> = []
  /** Behind each replacement: the position there, and how many units are missing so far. */
  const ends: Array<number> = []
  const missing: Array<number> = []
  let from = 0
  let length = 0
  let lost = 0
  for (const match of units.matchAll(pattern)) {
    const [replaced] = match
    const form = replaced === "\r\n" ? "\n" : forms.get(replaced)!
    parts.push(units.slice(from, match.index), form)
    length += match.index - from + 1
    from = match.index + replaced.length
    if (replaced.length > 1) {
      lost += replaced.length - 1
      ends.push(length)
      missing.push(lost)
    }
  }
  parts.push(units.slice(from))
  return {
    units: parts.join(""),
    origin: (at) => {
      let low = 0
      let high = ends.length
      while (low < high) {
        const middle = (low + high) >> 1
        if (ends[middle]! <= at) low = middle + 1
        else high = middle
      }
      return at + (low === 0 ? 0 : missing[low - 1]!)
    }
  }
}

/**
 * The number of the line on which each position, in order, stands. From 1.
 *
 * @category matching
 * @since 0.1.0
 */
export const linesOf = ({ units }: Units, positions: ReadonlyArray<number>): ReadonlyArray<number> => {
  let line = 1
  let newline = units.indexOf("\n")
  return positions.map((position) => {
    for (; newline >= 0 && newline < position; newline = units.indexOf("\n", newline + 1)) line++
    return line
  })
}

// -----------------------------------------------------------------------------
// What comes closest
// -----------------------------------------------------------------------------

/** Lines compared. With `maxCompared` it bounds the work: a fifth of a second. */
const maxLines = 50_000

/** UTF-16 code units of a line that are compared. */
const maxCompared = 160

/** Bytes of a file that are looked at. */
const maxLooked = 4 * 1024 * 1024

/** Lines that are shown for one place, and places. */
const maxHeight = 5
const maxPlaces = 3

/** Share of pairs of letters that two lines have in common at least to be worth showing. */
const threshold = 0.45

/**
 * The lines of a file that come closest to a text that does not stand there.
 *
 * @category matching
 * @since 0.1.0
 */
export const closest = (file: Units, text: string): ReadonlyArray<{ readonly line: number; readonly text: string }> => {
  const wanted = text.split(/\r?\n/)
  const longest = wanted.reduce(
    (best, line, index) => (line.trim().length > wanted[best]!.trim().length ? index : best),
    0
  )
  const anchor = squeeze(wanted[longest]!)
  // White space alone is like too much.
  if (anchor.length < 2) return []
  const score = similarityTo(anchor)
  const lines = textOf(file.units.slice(0, maxLooked), file).split(/\r?\n/).slice(0, maxLines)
  const best = lines
    .map((line, index) => ({ index, score: score(squeeze(line)) }))
    .filter(({ score }) => score >= threshold)
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, maxPlaces)
  const height = Math.min(wanted.length, maxHeight)
  const before = Math.min(longest, height - 1)
  const shown = new Set(best.flatMap(({ index }) => Array.from({ length: height }, (_, n) => index - before + n)))
  return [...shown]
    .filter((index) => index >= 0 && index < lines.length)
    .toSorted((a, b) => a - b)
    .map((index) => ({ line: index + 1, text: PlainText.make(PlainText.take(lines[index]!, 200)) }))
}

/** Without what a model gets wrong most: white space, and lookalikes. */
const squeeze = (line: string): string =>
  Lookalikes.fold(PlainText.take(line, 2 * maxCompared))
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, maxCompared)

/** Dice's coefficient of the pairs of letters: linear, and indifferent to where something was put in between. */
const similarityTo = (wanted: string): ((line: string) => number) => {
  const pairs = new Map<number, number>()
  const counts = new Uint8Array(maxCompared)
  for (let at = 1; at < wanted.length; at++) {
    const pair = wanted.charCodeAt(at - 1) * 0x10000 + wanted.charCodeAt(at)
    const known = pairs.get(pair) ?? pairs.size
    pairs.set(pair, known)
    counts[known]!++
  }
  const left = new Uint8Array(maxCompared)
  return (line) => {
    if (line === wanted) return 1
    // The most that so different lengths can have in common.
    const [short, long] = [Math.min(line.length, wanted.length), Math.max(line.length, wanted.length)]
    if (short < 2 || (2 * (short - 1)) / (short + long - 2) < threshold) return 0
    left.set(counts)
    let common = 0
    for (let at = 1; at < line.length; at++) {
      const pair = pairs.get(line.charCodeAt(at - 1) * 0x10000 + line.charCodeAt(at))
      if (pair === undefined || left[pair] === 0) continue
      left[pair]!--
      common++
    }
    return (2 * common) / (line.length + wanted.length - 2)
  }
}
