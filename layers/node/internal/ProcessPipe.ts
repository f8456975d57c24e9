/**
 * One of the pipes of a process: what it brings waits here until it is taken.
 *
 * **Contract**
 *
 * - It is read no further ahead than two chunks that nobody took, of at most 128 KiB: what comes next blocks the process.
 * - What is taken is valid until `release`, and what is in it then is not what was.
 *
 * It begins with Node's `data`, a fresh buffer for each chunk. A pipe that brings more while its reader keeps up goes on
 * with one buffer that is used again and again: `onread`, see docs/decisions/0014.
 *
 * @since 0.1.0
 */
import { Socket, type SocketConstructorOpts } from "node:net"
import type { Readable } from "node:stream"

/** Chunks that wait to be taken before the pipe is paused: with one, each chunk of a flood would pause it. */
const maxQueued = 2

/** Buffers of fewer bytes are left to the garbage collector. */
const minReleased = 16 * 1024

/** The buffer that is used again, in bytes. With half of it there are twice as many chunks; of more, little is filled. */
const bufferBytes = 128 * 1024

/**
 * @category models
 * @since 0.1.0
 */
export class ProcessPipe {
  /** Nothing more comes. */
  ended = false
  private source: Readable
  private readonly queue: Array<Uint8Array> = []
  private lent: Uint8Array | undefined
  private chunks = 0
  private discards = false
  /** The buffer that is used again, if one is, and whether it has to be released before anything is read. */
  private reused: ArrayBufferLike | undefined
  private isHalted = false
  private readonly changed: () => void
  private readonly give: (bytes: Uint8Array) => boolean

  /**
   * `changed` is called when it brought something, and when it ended. `give` is offered a chunk before, where none waits:
   * true says that it was taken, and it does not come to the queue.
   */
  constructor(source: Readable, changed: () => void, give: (bytes: Uint8Array) => boolean = () => false) {
    this.changed = changed
    this.give = give
    this.source = this.watched(source)
    // "data", not "readable", which comes a turn later. On exit, Node resumes the pipes it takes for unread, and that
    // undoes a pause: the queue takes what comes then.
    source.on("data", (chunk: Buffer) => {
      this.chunks++
      // Not Node's own kind, whose `slice` is no copy.
      const isDone = this.bring(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength))
      if (this.queue.length >= maxQueued) source.pause()
      // One that brought something once often brings no more.
      else if (isDone && this.chunks > 1 && source.readableLength === 0) this.reuse()
    })
  }

  get isEmpty(): boolean {
    return this.queue.length === 0
  }

  /** The next chunk. What was taken before must have been released. */
  take(): Uint8Array | undefined {
    this.lent = this.queue.shift()
    if (this.isEmpty && this.reused === undefined && this.source.isPaused()) this.source.resume()
    return this.lent
  }

  /**
   * Ends the use of what was taken. Left to the garbage collector, a flood keeps some 80 MB of buffers that nobody reads.
   * A small one may be a part of a pool that others use.
   */
  release(): void {
    const { lent } = this
    this.lent = undefined
    if (this.isHalted && this.isEmpty) this.goOn()
    if (lent === undefined || lent.buffer === this.reused) return
    const { buffer, byteLength } = lent
    if (byteLength >= minReleased && buffer.byteLength === byteLength && buffer instanceof ArrayBuffer)
      buffer.transfer(0)
  }

  /** Throws away what comes. */
  discard(): void {
    this.discards = true
    this.goOn()
  }

  close(): void {
    this.source.destroy()
  }

  /** Whether nobody holds it any more: as a rule it is taken and released on the spot. */
  private bring(bytes: Uint8Array): boolean {
    if (this.discards) return true
    if (!this.isFree || !this.isGiven(bytes)) {
      this.queue.push(bytes)
      this.changed()
    }
    return this.discards || this.isFree
  }

  /** Nothing waits to be taken, or to be released. */
  private get isFree(): boolean {
    return this.isEmpty && this.lent === undefined
  }

  private isGiven(bytes: Uint8Array): boolean {
    // Before it is given: who takes it may have released it by then.
    this.lent = bytes
    if (this.give(bytes)) return true
    this.lent = undefined
    return false
  }

  private goOn(): void {
    this.isHalted = false
    this.source.resume()
  }

  /** A failed read is the end of what can be read. */
  private watched(source: Readable): Readable {
    const end = () => {
      this.ended = true
      this.changed()
    }
    return source.on("end", end).on("error", end).on("close", end)
  }

  /** Puts another reader in the place of Node's, which is left without a handle: nothing that Node does to it matters. */
  private reuse(): void {
    const { source } = this
    if (!hasHandle(source)) return
    const { buffer } = Buffer.allocUnsafeSlow(bufferBytes)
    const handle = source._handle
    source._handle = null
    this.reused = buffer
    const options: Omit<SocketConstructorOpts, "handle"> & { readonly handle: unknown } = {
      handle,
      onread: {
        buffer: new Uint8Array(buffer),
        callback: (length) => {
          this.isHalted = !this.bring(new Uint8Array(buffer, 0, length))
          return !this.isHalted
        }
      }
    }
    this.source = this.watched(new Socket(options as SocketConstructorOpts))
    this.source.resume()
  }
}

/** The handle of Node's own is private: where it is not what it was, Node goes on reading. */
const hasHandle = (source: Readable): source is Readable & { _handle: object | null } =>
  source instanceof Socket &&
  "_handle" in source &&
  typeof source._handle === "object" &&
  source._handle !== null &&
  "readStart" in source._handle &&
  "readStop" in source._handle
