/**
 * Bytes to which others are appended, in memory that grows with them.
 *
 * @since 0.1.0
 */

/** The first allocation, in bytes: most commands say less. */
const first = 1024

/** @internal */
export class GrowingBytes {
  length = 0
  private bytes = new Uint8Array(0)

  append(bytes: Uint8Array): void {
    const needed = this.length + bytes.length
    if (needed > this.bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2, first))
      grown.set(this.bytes.subarray(0, this.length))
      this.bytes = grown
    }
    this.bytes.set(bytes, this.length)
    this.length = needed
  }

  /** A copy of at most `length` bytes from `offset` on. */
  read(offset: number, length: number): Uint8Array {
    return this.bytes.slice(Math.min(offset, this.length), Math.min(offset + length, this.length))
  }

  /** All of them, without a copy: valid until the next `append`. */
  get view(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
}
