/**
 * SHA-256 of text, where it is called: what the platform has answers later, and a call
 * that waits for nothing would wait for that.
 *
 * **Source** FIPS 180-4, sections 4.1.2, 5.1.1 and 6.2.
 *
 * @since 0.1.0
 */

const primes: ReadonlyArray<number> = (() => {
  const found: Array<number> = []
  for (let n = 2; found.length < 64; n++) if (found.every((prime) => n % prime !== 0)) found.push(n)
  return found
})()

/** The first 32 bits of the fractional part. */
const fraction = (x: number): number => ((x - Math.floor(x)) * 0x1_0000_0000) | 0

const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))
const initial = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))

const utf8 = new TextEncoder()
const words = new Int32Array(64)

/** Of the text in UTF-8, in hex. */
export const hex = (text: string): string => {
  const bytes = padded(utf8.encode(text))
  const state = Int32Array.from(initial)
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < bytes.length; at += 64) block(state, view, at)
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("")
}

/** With one bit, zeros, and the length in bits at the end of a block. */
const padded = (message: Uint8Array): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64)
  bytes.set(message)
  bytes[message.length] = 0x80
  new DataView(bytes.buffer).setBigUint64(bytes.length - 8, BigInt(message.length) * 8n)
  return bytes
}

const rotated = (x: number, by: number): number => (x >>> by) | (x << (32 - by))

const block = (state: Int32Array, view: DataView, at: number): void => {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i)
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15]!
    const y = words[i - 2]!
    const s0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3)
    const s1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10)
    words[i] = (words[i - 16]! + s0 + words[i - 7]! + s1) | 0
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let i = 0; i < 64; i++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i]! + words[i]!) | 0
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) state[i] = state[i]! + value
}
