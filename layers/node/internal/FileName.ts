/**
 * Names of files: bytes to the file system, text to everybody else.
 *
 * Within this folder a name, or a path, is *raw*: a string with one code unit for
 * each byte. So names are compared, sorted and used as keys as what they are, and
 * survive JSON.
 *
 * **Laws** (for all raw names)
 *
 * - `parse(format(raw))` is `raw`.
 * - `format` gives well-formed text without control characters.
 *
 * @since 0.1.0
 */
import { isUtf8 } from "node:buffer"

/**
 * A name or a path, one code unit for each byte.
 *
 * @category models
 * @since 0.1.0
 */
export type Raw = string

/** C0, DEL, C1. */
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f-\u009f]/

/** What reads as an escape. Both cases are read, so both are escaped. */
const escape = /\\x([0-9a-fA-F]{2})/g

/**
 * @category constructors
 * @since 0.1.0
 */
export const fromBuffer = (bytes: Uint8Array): Raw =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")

/**
 * @category converting
 * @since 0.1.0
 */
export const toBuffer = (raw: Raw): Buffer => Buffer.from(raw, "latin1")

/**
 * The bytes of well-formed text in the text form. Any other text is taken too: `\xff` is a byte, everything else is
 * UTF-8.
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (text: string): Raw => {
  const utf8 = Buffer.from(text, "utf8").toString("latin1")
  return utf8.replace(escape, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/**
 * The text form: itself, where it is plain text. A control character, a byte that is not UTF-8, and a backslash in
 * front of `x` and two hex digits are written `\xHH`, byte by byte.
 *
 * @category converting
 * @since 0.1.0
 */
export const format = (raw: Raw): string => {
  const bytes = toBuffer(raw)
  const text = isUtf8(bytes) ? bytes.toString("utf8") : undefined
  if (text !== undefined && !controls.test(text) && text.search(escape) === -1) return text
  const parts: Array<string> = []
  for (let at = 0; at < bytes.length;) {
    const length = lengthOfCharacter(bytes, at)
    const character = length === 0 ? undefined : bytes.toString("utf8", at, at + length)
    const escaped = character === undefined || controls.test(character) || raw.slice(at, at + 4).search(escape) === 0
    const taken = Math.max(length, 1)
    parts.push(escaped ? hexOf(bytes.subarray(at, at + taken)) : character)
    at += taken
  }
  return parts.join("")
}

/**
 * The names of a path: `.` and empty ones are left out, `..` is kept. A slash at the end leaves a `.` there, because
 * it asks for a directory.
 *
 * @category combinators
 * @since 0.1.0
 */
export const split = (path: Raw): ReadonlyArray<Raw> => {
  const names = path.split("/").filter((name) => name !== "" && name !== ".")
  return /(^|\/)\.?$/.test(path) && names.length > 0 ? [...names, "."] : names
}

/** An absolute path of names. */
export const join = (names: ReadonlyArray<Raw>): Raw => `/${names.join("/")}`

/** Of the UTF-8 character that starts there, in bytes; 0 if none does. */
const lengthOfCharacter = (bytes: Buffer, at: number): number => {
  const lead = bytes[at]!
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  return at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)) ? length : 0
}

const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")
