/**
 * What a program writes, by way of a file that nobody else can open.
 *
 * A pipe wakes its reader for every write. ripgrep writes once for each file that
 * matches and keeps all processors busy meanwhile, so a reader that is woken each time
 * makes the search a third longer. A file is looked at when it is convenient.
 *
 * **Contract**
 *
 * - The file has no name from the start: nothing is left of it, whatever happens.
 * - A writer that is far ahead of its reader is stopped (SIGSTOP) until that has caught
 *   up: the file stays small as long as the reader reads.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** Bytes that the writer may be ahead. Less stops it for nothing; more fills a disk while nobody reads. */
const maxAhead = 32 * 1024 * 1024

/** Bytes of one read. More are not read faster, and what is made of them lives longer. */
const pieceBytes = 64 * 1024

/** Made when it is first needed, and used by all: a fresh one for each read costs more than the read. */
let piece: Buffer | undefined

/** What writes. */
interface Writer {
  readonly signal: (signal: "SIGSTOP" | "SIGCONT") => void
}

/**
 * A file to be written by another program, and read here.
 *
 * @category models
 * @since 0.1.0
 */
export class TailedOutput {
  /** To be the program's standard output, or what it says beside it. */
  readonly fd: number
  private offset = 0
  private ended = false
  private stopped = false
  private writer: Writer | undefined
  private timer: NodeJS.Timeout | undefined
  private wake: (() => void) | undefined

  constructor(fd: number) {
    this.fd = fd
  }

  /** The program runs. To be looked at every `interval` ms; less costs more than it tells, more delays what is found. */
  attach(writer: Writer, interval: number): void {
    this.writer = writer
    this.timer = setInterval(() => this.look(), interval)
  }

  /** The program has ended: what is there now is all. */
  end(): void {
    this.ended = true
    clearInterval(this.timer)
    this.wake?.()
  }

  close(): void {
    clearInterval(this.timer)
    fs.closeSync(this.fd)
  }

  /** The next bytes, valid until the next read of any output; undefined if there are none now. */
  read(): Uint8Array | undefined {
    const bytes = (piece ??= Buffer.allocUnsafeSlow(pieceBytes))
    const length = fs.readSync(this.fd, bytes, 0, bytes.length, this.offset)
    this.offset += length
    if (length === 0) this.go()
    return length === 0 ? undefined : bytes.subarray(0, length)
  }

  /** Whether all has been read that there will ever be. To be asked after a `read` that gave nothing. */
  get finished(): boolean {
    return this.ended && this.ahead <= 0
  }

  /** Waits until there may be more. */
  readonly more: Effect.Effect<void> = Effect.callback((resume) => {
    if (this.ended) return resume(Effect.void)
    this.wake = () => {
      this.wake = undefined
      resume(Effect.void)
    }
  })

  /** Bytes that are written and not read. */
  private get ahead(): number {
    return fs.fstatSync(this.fd).size - this.offset
  }

  private look(): void {
    const { ahead } = this
    // Again at every look: the reader of another output of the writer may have let it go on.
    if (ahead > maxAhead) {
      this.stopped = true
      this.writer?.signal("SIGSTOP")
    }
    if (ahead > 0) this.wake?.()
  }

  private go(): void {
    if (!this.stopped) return
    this.stopped = false
    this.writer?.signal("SIGCONT")
  }
}

/**
 * Opens a file without a name. Fails with the code of the system's error.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open: Effect.Effect<TailedOutput, string, Scope.Scope> = Effect.acquireRelease(
  Effect.try({
    try: () => {
      const file = path.join(os.tmpdir(), `toolstream-${randomBytes(8).toString("hex")}`)
      const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = fs.constants
      const fd = fs.openSync(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
      fs.unlinkSync(file)
      return new TailedOutput(fd)
    },
    catch: (cause) =>
      cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)
  }),
  (output) => Effect.sync(() => output.close())
)
