/**
 * The output of a process, read as it is pulled and ended by the process's exit.
 *
 * **Contract**
 *
 * - Both pipes are read at once, each no further ahead than three chunks of at most
 *   64 KiB (one of them in Node's own buffer), until a pull takes them.
 * - It ends when both pipes are at end-of-file, or some time after the exit: when
 *   the pipes are empty and quiet. Someone whom the command left behind may hold
 *   them open, and may go on writing.
 * - What the command itself wrote is read to its last byte, however slowly it is
 *   pulled: a pipe counts as empty only when, after the exit, a whole turn of the
 *   event loop brought nothing, or when more was read since than a pipe can hold.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import type { Readable } from "node:stream"
import type { Output } from "../../../src/Processes.ts"

/**
 * How long the pipes must be silent after the exit, in ms. Someone who still
 * holds them is often about to end (`exec > >(tee log)`): shorter loses such
 * output, longer makes every command wait that starts something in the background.
 */
const quietMs = 100

/** How long after the exit those who never fall silent are listened to, in ms. */
const talkMs = 500

/**
 * More bytes than a pipe or socket can hold on any usual system (Linux: 208 KiB
 * by default). What is read beyond it after the exit was not written by the command.
 */
const capacity = 4 * 1024 * 1024

/** Chunks of a pipe that wait for a pull before it is paused: with one, each chunk of a flood would pause it. */
const maxQueued = 2

/** Buffers of fewer bytes are left to the garbage collector. */
const minReleased = 16 * 1024

/** One of the two pipes. */
class Source {
  readonly name: Output["stream"]
  readonly pipe: Readable
  readonly queue: Array<Buffer> = []
  ended = false
  discards = false
  /** Since the exit: was it seen empty, and how many bytes were read. */
  emptied = false
  afterExit = 0

  constructor(name: Output["stream"], pipe: Readable) {
    this.name = name
    this.pipe = pipe
  }

  /** Nothing more comes, and all was taken. */
  get over(): boolean {
    return this.ended && this.queue.length === 0
  }

  get drained(): boolean {
    return this.ended || this.emptied || this.afterExit >= capacity
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export class ProcessOutput {
  /** The next chunks, at most one of each pipe. */
  readonly pull: Pull.Pull<NonEmptyReadonlyArray<Output>>
  private readonly sources: ReadonlyArray<Source>
  private exitedAt: number | undefined
  private silent = false
  private lent: Array<Uint8Array> = []
  private closed = false
  private wake: (() => void) | undefined

  constructor(stdout: Readable, stderr: Readable) {
    this.sources = [new Source("stdout", stdout), new Source("stderr", stderr)]
    for (const source of this.sources) {
      const wake = () => this.wake?.()
      const end = () => {
        source.ended = true
        wake()
      }
      // "data", not "readable", which comes a turn later. On exit, Node resumes the pipes it takes for unread, and that
      // undoes a pause: the queue takes what comes then. A failed read is the end of what can be read.
      source.pipe
        .on("data", (chunk: Buffer) => {
          if (source.discards) return
          if (source.queue.push(chunk) >= maxQueued) source.pipe.pause()
          wake()
        })
        .on("end", end)
        .on("error", end)
        .on("close", end)
    }
    this.pull = Effect.suspend(() => this.next())
  }

  /** To be called when the process has exited. */
  exited(): void {
    this.exitedAt = performance.now()
    this.wake?.()
  }

  /** Throws away what comes, so that a process that is to end can say so without waiting for a reader. */
  discard(): void {
    for (const source of this.sources) {
      source.discards = true
      source.pipe.resume()
    }
  }

  /** Closes the read ends: nothing waits for those who hold the others. */
  close(): void {
    this.closed = true
    for (const { pipe } of this.sources) pipe.destroy()
    this.wake?.()
  }

  private next(): Pull.Pull<NonEmptyReadonlyArray<Output>> {
    this.release()
    if (this.closed || !this.hasQueued()) return this.over() ? Cause.done() : Effect.andThen(this.wait, this.pull)
    const taken: Array<Output> = []
    for (const source of this.sources) this.take(source, taken)
    return Arr.isReadonlyArrayNonEmpty(taken) ? Exit.succeed(taken) : this.pull
  }

  private hasQueued(): boolean {
    for (const { queue } of this.sources) if (queue.length > 0) return true
    return false
  }

  private take(source: Source, taken: Array<Output>): void {
    const read = source.queue.shift()
    if (read === undefined) return
    if (source.queue.length === 0 && source.pipe.isPaused()) source.pipe.resume()
    // Not Node's own kind, whose `slice` is no copy.
    const bytes = new Uint8Array(read.buffer, read.byteOffset, read.byteLength)
    this.silent = false
    if (this.exitedAt !== undefined) source.afterExit += bytes.length
    this.lent.push(bytes)
    taken.push({ stream: source.name, bytes })
  }

  /**
   * Frees what the last pull gave. Left to the garbage collector, a flood keeps some 80 MB of buffers that nobody reads.
   * A small one may be a part of a pool that others use.
   */
  private release(): void {
    for (const { buffer, byteLength } of this.lent) {
      if (byteLength >= minReleased && buffer.byteLength === byteLength && buffer instanceof ArrayBuffer)
        buffer.transfer(0)
    }
    this.lent.length = 0
  }

  private over(): boolean {
    if (this.closed || this.sources.every((source) => source.over)) return true
    return (
      this.exitedAt !== undefined &&
      this.sources.every((source) => source.queue.length === 0) &&
      this.sources.every((source) => source.drained) &&
      (this.silent || performance.now() - this.exitedAt >= talkMs)
    )
  }

  /** Until a pipe has something, or ends, or the output is over. */
  private readonly wait: Effect.Effect<void> = Effect.callback<void>((resume) => {
    let timer: NodeJS.Timeout | undefined
    let turn: NodeJS.Immediate | undefined
    const stop = () => {
      clearTimeout(timer)
      clearImmediate(turn)
      this.wake = undefined
    }
    const done = () => {
      stop()
      resume(Effect.void)
    }
    // Runs `then` when the event loop has asked the kernel for input once more. Two turns: the first may still be this one.
    const afterPoll = (then: () => void) => {
      turn = setImmediate(() => {
        turn = setImmediate(then)
      })
    }
    const listen = () => {
      const exitedAt = this.exitedAt
      if (exitedAt === undefined) return
      // Empty already at the exit, or since the last chunk. After a delay the timer alone does not tell: the loop looks at
      // timers before it looks at input.
      afterPoll(() => {
        for (const source of this.sources) source.emptied = true
        if (this.over()) return done()
        timer = setTimeout(
          () =>
            afterPoll(() => {
              this.silent = true
              done()
            }),
          Math.max(0, Math.min(quietMs, exitedAt + talkMs - performance.now()))
        )
      })
    }
    this.wake = () => {
      if (this.hasQueued() || this.over()) return done()
      // Woken by the exit.
      if (timer === undefined && turn === undefined) listen()
    }
    listen()
    return Effect.sync(stop)
  })
}
