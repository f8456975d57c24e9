/**
 * Ids that are unique for ever: UUID version 7.
 *
 * **Source** RFC 9562, section 5.7, with the counter of section 6.2, method 2:
 * the random part is drawn once a millisecond and counted up within it, so ids of
 * one process sort in the order they were made. They are not secrets: the generator is the
 * engine's, which every process seeds anew, and `crypto` would take longer to load than a
 * call does.
 *
 * @since 0.1.0
 */

/** The millisecond of the last id. */
let last = 0
/** The random part: 26 bits that count, 48 that do not. */
let counter = 0
let tail = ""
/** The text of the time and of the counter's upper 12 bits, which the next 16,384 ids have in common. */
let head = ""

const bytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** @internal */
export const make = (): string => {
  const now = Date.now()
  // A clock that goes back, or a counter that runs over, must not repeat an id.
  if (now > last || counter >= 0x3ffffff) draw(Math.max(now, last + 1))
  else if ((++counter & 0x3fff) === 0) begin()
  return head + bytes[0x80 | ((counter >>> 8) & 0x3f)] + bytes[counter & 0xff] + tail
}

const draw = (time: number): void => {
  last = time
  // Starts in the lower half, so that there is room to count.
  counter = Math.floor(Math.random() * 2 ** 25)
  tail = `-${Math.floor(Math.random() * 2 ** 48)
    .toString(16)
    .padStart(12, "0")}`
  begin()
}

const begin = (): void => {
  const time = last.toString(16).padStart(12, "0")
  head = `${time.slice(0, 8)}-${time.slice(8)}-7${(counter >>> 14).toString(16).padStart(3, "0")}-`
}
