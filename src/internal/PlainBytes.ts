/**
 * Whether bytes are what a terminal shows as they are: printable ASCII, tab and line feed.
 *
 * Of a flood, this is what every byte goes through. A loop over words takes 0.65 s for a GiB, WebAssembly 0.1 s, the
 * copy into its memory included.
 *
 * @since 0.1.0
 */

/** Of each byte, whether it is a control character other than tab and line feed, or not ASCII. */
const special = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a ? 0 : 1
)

/** What is faster looked at here than copied to where it is looked at sixteen at once. */
const minVector = 512

/** @internal */
export const isPlain = (bytes: Uint8Array): boolean => {
  const scan = bytes.length < minVector ? undefined : vectorScan()
  return scan === undefined ? isPlainScalar(bytes, 0) : scan(bytes)
}

/**
 * The same byte by byte, from `from` on.
 *
 * @internal
 */
export const isPlainScalar = (bytes: Uint8Array, from: number): boolean => {
  for (let at = from; at < bytes.length; at++) if (special[bytes[at]!] !== 0) return false
  return true
}

/** Of each byte, what it shows; undefined if it is special. */
const shown = Array.from(special, (isSpecial, byte) => (isSpecial ? undefined : String.fromCharCode(byte)))

/**
 * The text of a few bytes, undefined if they are not plain: what is short has been read before a decoder has begun.
 *
 * @internal
 */
export const plainText = (bytes: Uint8Array): string | undefined => {
  let text = ""
  for (let at = 0; at < bytes.length; at++) {
    const character = shown[bytes[at]!]
    if (character === undefined) return undefined
    text += character
  }
  return text
}

/**
 * Bytes of which each is a character as it is, as text: that of plain bytes. What Node makes it by does not look at them
 * again, as a decoder does: a flood is read a tenth faster.
 *
 * @internal
 */
export const asciiText: (bytes: Uint8Array, from: number, to: number) => string = /* @__PURE__ */ (() => {
  const { Buffer } = globalThis as { readonly Buffer?: typeof globalThis.Buffer }
  if (Buffer !== undefined) {
    return (bytes, from, to) => Buffer.from(bytes.buffer, bytes.byteOffset, to).toString("latin1", from)
  }
  const decoder = new TextDecoder()
  return (bytes, from, to) => decoder.decode(bytes.subarray(from, to))
})()

type Scan = (bytes: Uint8Array) => boolean

/** Undefined before it was loaded, null where it cannot be. */
let loaded: Scan | null | undefined

/**
 * The same by vectors, where there are any. Loaded when it is first needed: most commands say a line or two.
 *
 * @internal
 */
export const vectorScan = (): Scan | undefined => (loaded === undefined ? (loaded = load()) : loaded) ?? undefined

/** Bytes that are looked at in one turn of the loop, and in one call. */
const turnBytes = 32
const pageBytes = 64 * 1024

const load = (): Scan | null => {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module))
    const page = new Uint8Array((exports.page as WebAssembly.Memory).buffer)
    const anySpecial = exports.anySpecial as (length: number) => number
    return (bytes) => {
      const end = bytes.length - (bytes.length % turnBytes)
      for (let from = 0; from < end; from += pageBytes) {
        const to = Math.min(end, from + pageBytes)
        page.set(bytes.subarray(from, to))
        if (anySpecial(to - from) !== 0) return false
      }
      return isPlainScalar(bytes, end)
    }
  } catch {
    // Compiling may be forbidden, or vectors unknown.
    return null
  }
}

const section = (id: number, content: ReadonlyArray<number>): ReadonlyArray<number> => [id, content.length, ...content]
const name = (text: string): ReadonlyArray<number> => [text.length, ...Array.from(text, (char) => char.charCodeAt(0))]

/** i32.const, i8x16.splat: sixteen times the same byte, below 0x40 or as LEB128 of two bytes. */
const all = (...byte: ReadonlyArray<number>): ReadonlyArray<number> => [0x41, ...byte, 0xfd, 0x0f]

/**
 * Sixteen bytes at `at + offset`. One is special if it is neither of 0x20 to 0x7e nor of 0x09 to 0x0a: if neither of two
 * differences, which wrap below the range, gives 0 with its length subtracted, which does not wrap.
 */
const sixteen = (offset: number): ReadonlyArray<ReadonlyArray<number>> => [
  [0x20, 1, 0xfd, 0x00, 0x00, offset, 0x22, 3], // bytes = v128.load (at + offset)
  [...all(0x20), 0xfd, 0x71, ...all(0xde, 0x00), 0xfd, 0x73], // (bytes i8x16.sub 0x20) i8x16.sub_sat_u 0x5e
  [0x20, 3, ...all(0x09), 0xfd, 0x71, ...all(0x01), 0xfd, 0x73], // (bytes i8x16.sub 0x09) i8x16.sub_sat_u 0x01
  [0xfd, 0x77, 0x20, 2, 0xfd, 0x50, 0x21, 2] // found = (… i8x16.min_u …) v128.or found
]

const anySpecial: ReadonlyArray<number> = [
  [0x02, 0x01, 0x7f, 0x02, 0x7b], // locals: 1 at: i32; 2 found, 3 bytes: v128. 0 is the parameter length: i32
  [0x03, 0x40], // loop
  ...sixteen(0),
  ...sixteen(16),
  [0x20, 1, 0x41, turnBytes, 0x6a, 0x22, 1], // at = at i32.add 32
  [0x20, 0, 0x49, 0x0d, 0x00, 0x0b], // br_if (at i32.lt_u length), end
  [0x20, 2, 0xfd, 0x53, 0x0b] // v128.any_true found, end
].flat()

/** `anySpecial(length)` looks at the first bytes of `page`: more than none, and a multiple of 32. */
const module = Uint8Array.from(
  [
    [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]), // types: (i32) -> i32
    section(3, [1, 0]), // functions
    section(5, [1, 0x01, 1, 1]), // memories: one page, and no more
    section(7, [2, ...name("page"), 0x02, 0, ...name("anySpecial"), 0x00, 0]), // exports
    section(10, [1, anySpecial.length, ...anySpecial]) // code
  ].flat()
)
