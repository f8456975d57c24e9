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
  const vector = bytes.length < minVector ? undefined : (found ??= load()).vector
  return vector === undefined ? isPlainScalar(bytes, 0) : vector(bytes)
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

/** Loaded when it is first needed: most commands say a line or two. */
let found: { readonly vector: ((bytes: Uint8Array) => boolean) | undefined } | undefined

/** Bytes that are looked at at once, and in one call. */
const lane = 16
const pageBytes = 64 * 1024

const load = (): { readonly vector: ((bytes: Uint8Array) => boolean) | undefined } => {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module))
    const page = new Uint8Array((exports.page as WebAssembly.Memory).buffer)
    const anySpecial = exports.anySpecial as (length: number) => number
    return {
      vector: (bytes) => {
        const end = bytes.length - (bytes.length % lane)
        for (let from = 0; from < end; from += pageBytes) {
          const to = Math.min(end, from + pageBytes)
          page.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to))
          if (anySpecial(to - from) !== 0) return false
        }
        return isPlainScalar(bytes, end)
      }
    }
  } catch {
    // Compiling may be forbidden, or vectors unknown.
    return { vector: undefined }
  }
}

const text = (value: string): ReadonlyArray<number> => [value.length, ...Array.from(value, (c) => c.charCodeAt(0))]
const section = (id: number, content: ReadonlyArray<number>): ReadonlyArray<number> => [id, content.length, ...content]
/** Sixteen times the same byte. */
const all = (byte: number): ReadonlyArray<number> => [0x41, ...signed(byte), 0xfd, 0x0f] // i32.const byte, i8x16.splat
/** LEB128 of a number below 8192. */
const signed = (value: number): ReadonlyArray<number> =>
  value < 0x40 ? [value] : [(value & 0x7f) | 0x80, value >> 7]

/** A byte is special if it is neither of 0x20 to 0x7e nor of 0x09 to 0x0a. Below either range, the difference wraps. */
const anySpecial: ReadonlyArray<number> = [
  ...[0x02, 0x01, 0x7f, 0x02, 0x7b], // locals: 1 at: i32; 2 found, 3 bytes: v128. 0 is the parameter, length: i32
  ...[0x03, 0x40], // loop
  ...[0x20, 2], // found
  ...[0x20, 1, 0xfd, 0x00, 0x00, 0x00, 0x22, 3], // bytes = v128.load at
  ...[...all(0x20), 0xfd, 0x71, ...all(0x5f), 0xfd, 0x2c], // bytes - 0x20 >= 0x5f, unsigned
  ...[0x20, 3, ...all(0x09), 0xfd, 0x71, ...all(0x02), 0xfd, 0x2c], // bytes - 0x09 >= 0x02, unsigned
  ...[0xfd, 0x4e, 0xfd, 0x50, 0x21, 2], // found = found or (… and …)
  ...[0x20, 1, 0x41, lane, 0x6a, 0x22, 1], // at = at + 16
  ...[0x20, 0, 0x49, 0x0d, 0x00, 0x0b], // as long as at < length
  ...[0x20, 2, 0xfd, 0x53, 0x0b] // whether any bit of found is set
]

/** `anySpecial(length)` looks at the first bytes of `page`: more than none, and a multiple of 16. */
const module = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]), // types: (i32) -> i32
  ...section(3, [1, 0]), // functions
  ...section(5, [1, 0x01, 1, 1]), // memories: one page, and no more
  ...section(7, [2, ...text("page"), 0x02, 0, ...text("anySpecial"), 0x00, 0]), // exports
  ...section(10, [1, anySpecial.length, ...anySpecial]) // code
])
