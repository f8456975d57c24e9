/**
 * Text that can be shown to a model and carried by any protocol: well-formed
 * UTF-16 without control characters, except tab and newline.
 *
 * Control characters are replaced by their pictures (`␀`, `␛`), one for one:
 * what was there stays visible, and nothing of it acts on a terminal.
 *
 * @since 0.1.0
 */

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

// oxlint-disable-next-line no-control-regex
const controlsOfLine = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g

const picture = (control: string): string => {
  const code = control.charCodeAt(0)
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd"
}

/**
 * Makes any string plain. The length in UTF-16 code units stays the same.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (text: string): string => text.toWellFormed().replace(controls, picture)

/**
 * As `make`, for what must stay on one line, such as a path: newlines are
 * replaced too.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeLine = (text: string): string => text.toWellFormed().replace(controlsOfLine, picture)

/**
 * At most the first `units` UTF-16 code units, never half of a surrogate pair.
 *
 * @category combinators
 * @since 0.1.0
 */
export const take = (text: string, units: number): string => {
  if (text.length <= units) return text
  const last = text.charCodeAt(units - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? units - 1 : units)
}
