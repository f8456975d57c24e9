/**
 * The output of a process, read as it is pulled and ended by the process's exit.
 *
 * **Contract**
 *
 * - Both pipes are read at once, each no further ahead than `ProcessPipe` says,
 *   until a pull takes what they brought.
 * - It ends when both pipes are at end-of-file, or some time after the exit: when
 *   the pipes are empty and quiet and nobody of the command is at work, half a second
 *   after it in any case. Someone whom the command left behind may hold them open,
 *   and may go on writing.
 * - What the command itself wrote is read to its last byte, however slowly it is
 *   pulled: a pipe counts as empty only when, after the exit, a whole turn of the
 *   event loop brought nothing, or when more was read since than a pipe can hold.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import type { Readable } from "node:stream"
import type { Output } from "../../../src/Processes.ts"
import { ProcessPipe } from "./ProcessPipe.ts"

/**
 * Looks in a row, `lookMs` apart, that find the pipes silent after the exit and nobody at work. Someone who still holds
 * them is often about to end (`exec > >(tee log)`): fewer lose such output, more make every command wait that starts
 * something in the background. Looks and not time: on a busy machine neither he nor this process may get any.
 */
const quietLooks = 5
const lookMs = 20

/** How long after the exit those are listened to who never fall silent, or never rest, in ms. */
const talkMs = 500

/**
 * More bytes than a pipe or socket can hold on any usual system (Linux: 208 KiB
 * by default). What is read beyond it after the exit was not written by the command.
 */
const capacity = 4 * 1024 * 1024

/** One of the two pipes, and what is known of it since the exit. */
class Source {
  readonly name: Output["stream"]
  readonly pipe: ProcessPipe
  /** It was seen empty, and so many bytes were read. */
  emptied = false
  afterExit = 0

  constructor(name: Output["stream"], pipe: ProcessPipe) {
    this.name = name
    this.pipe = pipe
  }

  /** Nothing more comes, and all was taken. */
  get over(): boolean {
    return this.pipe.ended && this.pipe.isEmpty
  }

  get drained(): boolean {
    return this.pipe.ended || this.emptied || this.afterExit >= capacity
  }
}

type Next = Pull.Pull<NonEmptyReadonlyArray<Output>>

/**
 * @category models
 * @since 0.1.0
 */
export class ProcessOutput {
  /** The next chunks, at most one of each pipe. */
  readonly pull: Next
  private readonly sources: readonly [Source, Source]
  private exitedAt: number | undefined
  private silent = false
  private closed = false
  /** Of the pull that waits: it has released what it took, and nothing is queued. */
  private resume: ((next: Next) => void) | undefined
  private timer: NodeJS.Timeout | undefined
  private turn: NodeJS.Immediate | undefined
  private readonly isBusy: () => boolean

  /** `isBusy` tells whether somebody of the process, who may hold the pipes, is at work. */
  constructor(stdout: Readable, stderr: Readable, isBusy: () => boolean) {
    this.isBusy = isBusy
    const changed = () => this.look()
    const source = (name: Output["stream"], readable: Readable): Source => {
      const source: Source = new Source(name, new ProcessPipe(readable, changed, (bytes) => this.give(source, bytes)))
      return source
    }
    this.sources = [source("stdout", stdout), source("stderr", stderr)]
    this.pull = Effect.suspend(() => this.next())
  }

  /** To be called when the process has exited. */
  exited(): void {
    this.exitedAt = performance.now()
    this.look()
  }

  /** Throws away what comes, so that a process that is to end can say so without waiting for a reader. */
  discard(): void {
    for (const { pipe } of this.sources) pipe.discard()
  }

  /** Closes the read ends: nothing waits for those who hold the others. */
  close(): void {
    this.closed = true
    for (const { pipe } of this.sources) pipe.close()
    this.look()
  }

  private next(): Next {
    const [stdout, stderr] = this.sources
    stdout.pipe.release()
    stderr.pipe.release()
    if (this.closed || !this.hasQueued) return this.over() ? Cause.done() : this.wait
    const first = this.take(stdout)
    const second = this.take(stderr)
    if (first === undefined) return second === undefined ? this.pull : Exit.succeed([second])
    return Exit.succeed(second === undefined ? [first] : [first, second])
  }

  private get hasQueued(): boolean {
    const [stdout, stderr] = this.sources
    return !stdout.pipe.isEmpty || !stderr.pipe.isEmpty
  }

  private take(source: Source): Output | undefined {
    const bytes = source.pipe.take()
    return bytes === undefined ? undefined : this.taken(source, bytes)
  }

  private taken(source: Source, bytes: Uint8Array): Output {
    this.silent = false
    if (this.exitedAt !== undefined) source.afterExit += bytes.length
    return { stream: source.name, bytes }
  }

  private over(): boolean {
    if (this.closed || this.sources.every((source) => source.over)) return true
    return (
      this.exitedAt !== undefined &&
      !this.hasQueued &&
      this.sources.every((source) => source.drained) &&
      (this.silent || performance.now() - this.exitedAt >= talkMs)
    )
  }

  /**
   * What a pipe brought goes to the pull that waits, if one does. From here to the reader all is done at once, and
   * little: somebody may wait for a single line, and each step of it is one of a processor that slept.
   */
  private give(source: Source, bytes: Uint8Array): boolean {
    const { resume } = this
    if (resume === undefined || this.closed) return false
    this.stop()
    resume(Exit.succeed([this.taken(source, bytes)]))
    return true
  }

  /** Until a pipe has something, or ends, or the output is over: then it is the next. */
  private readonly wait: Next = Effect.callback((resume) => {
    // It may have come since it was asked for.
    if (this.closed || this.hasQueued) return resume(this.pull)
    this.resume = resume
    if (this.exitedAt !== undefined) this.listen()
    return this.left
  })

  /** The pull that waits is interrupted. */
  private readonly left: Effect.Effect<void> = Effect.sync(() => this.stop())

  private stop(): void {
    this.resume = undefined
    if (this.timer !== undefined) clearTimeout(this.timer)
    if (this.turn !== undefined) clearImmediate(this.turn)
    this.timer = this.turn = undefined
  }

  /** Ends the pull that waits, if there is no more; after the exit, listens. What was brought it has been given. */
  private look(): void {
    const { resume } = this
    if (resume === undefined) return
    if (this.over()) {
      this.stop()
      resume(this.pull)
    } else if (this.exitedAt !== undefined && this.timer === undefined && this.turn === undefined) this.listen()
  }

  private listen(): void {
    // Empty already at the exit, or since the last chunk. After a delay the timer alone does not tell: the loop looks at
    // timers before it looks at input.
    this.afterPoll(() => {
      for (const source of this.sources) source.emptied = true
      this.lookAgain(quietLooks)
    })
  }

  private lookAgain(left: number): void {
    this.silent = left === 0
    if (this.over()) return this.look()
    const again = () => this.lookAgain(this.isBusy() ? quietLooks : left - 1)
    this.timer = setTimeout(() => this.afterPoll(again), lookMs)
  }

  /** Runs `then` when the event loop has asked the kernel for input once more. Two turns: the first may still be this one. */
  private afterPoll(then: () => void): void {
    this.turn = setImmediate(() => {
      this.turn = setImmediate(then)
    })
  }
}
