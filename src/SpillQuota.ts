/**
 * How much a store of spilled output may hold, and who goes when there is no room.
 *
 * **Laws**
 *
 * - All together never hold more than `totalBytes`, and nobody more than `outputBytes`.
 * - Who goes is who ended first; where all are still written, who began first. Never
 *   who asks: it gets less instead, once it is alone.
 * - Room is taken before it is used, at once: however many write side by side, what
 *   one was given no other is.
 *
 * @since 0.1.0
 */

/**
 * In bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  /** Of one output. */
  readonly outputBytes: number
  /** Of all together. */
  readonly totalBytes: number
}

/**
 * The books of one store: who holds how much.
 *
 * @category models
 * @since 0.1.0
 */
export class SpillQuota<in out A> {
  /** Bytes held by all. */
  total = 0
  private readonly limits: Limits
  /** Those that are written, in the order in which they began, and those that have ended, in that order. */
  private readonly written = new Map<A, number>()
  private readonly ended = new Map<A, number>()

  constructor(limits: Limits) {
    this.limits = limits
  }

  begin(holder: A): void {
    this.written.set(holder, 0)
  }

  /** Gives `holder` room for `bytes` more, or for as many as it may have. Who was `removed` for that holds nothing any more. */
  take(holder: A, bytes: number): { readonly granted: number; readonly removed: ReadonlyArray<A> } {
    const held = this.written.get(holder)
    if (held === undefined) return { granted: 0, removed: [] }
    const granted = Math.max(0, Math.min(bytes, Math.min(this.limits.outputBytes, this.limits.totalBytes) - held))
    const removed: Array<A> = []
    while (this.total + granted > this.limits.totalBytes) {
      const oldest = this.oldest(holder)
      if (oldest === undefined) break
      this.release(oldest)
      removed.push(oldest)
    }
    this.written.set(holder, held + granted)
    this.total += granted
    return { granted, removed }
  }

  /** Room that was taken and not used. */
  giveBack(holder: A, bytes: number): void {
    const held = this.written.get(holder)
    if (held === undefined) return
    this.written.set(holder, held - bytes)
    this.total -= bytes
  }

  /** It is written no more. Of one that has ended: it is as new as one that ends now. */
  end(holder: A): void {
    const held = this.written.get(holder) ?? this.ended.get(holder)
    if (held === undefined) return
    this.written.delete(holder)
    this.ended.delete(holder)
    this.ended.set(holder, held)
  }

  /** It holds nothing any more. */
  release(holder: A): void {
    this.total -= this.written.get(holder) ?? this.ended.get(holder) ?? 0
    this.written.delete(holder)
    this.ended.delete(holder)
  }

  private oldest(besides: A): A | undefined {
    for (const [holder, bytes] of this.ended) if (bytes > 0) return holder
    for (const [holder, bytes] of this.written) if (bytes > 0 && holder !== besides) return holder
    return undefined
  }
}
