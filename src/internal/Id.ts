/**
 * Ids that are unique for ever: UUID version 7.
 *
 * **Source** RFC 9562, section 5.7, with the counter of section 6.2, method 2:
 * the random part is drawn once a millisecond and counted up within it, so ids of
 * one process sort in the order they were made. They are not secrets.
 *
 * @since 0.1.0
 */

const random = new Uint8Array(10)
let last = 0
/** The random part: 26 bits that count, 48 that do not. */
let counter = 0
let tail = ""

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0")

/** @internal */
export const make = (): string => {
  const now = Date.now()
  // A clock that goes back, or a counter that runs over, must not repeat an id.
  if (now > last || counter >= 0x3ffffff) {
    last = Math.max(now, last + (now > last ? 0 : 1))
    crypto.getRandomValues(random)
    // Starts in the lower half, so that there is room to count.
    counter = ((random[0]! << 16) | (random[1]! << 8) | random[2]!) & 0x1ffffff
    tail = random.subarray(4).reduce((text, byte) => text + hex(byte, 2), "")
  } else counter++
  const time = hex(last, 12)
  const high = 0x7000 | (counter >>> 14)
  const low = 0x8000 | (counter & 0x3fff)
  return `${time.slice(0, 8)}-${time.slice(8)}-${hex(high, 4)}-${hex(low, 4)}-${tail}`
}
