/**
 * What is asked of the file system, call by call: the one place where a test can
 * make any of them fail.
 *
 * Calls that only look names up or change them are made at once: they take
 * microseconds, in a thread of the pool ten times as many. A network file system
 * that hangs, hangs the process with them. So are reads and writes of few bytes,
 * which the system's cache serves. Calls that move much or wait for a disk go to the
 * pool; so does removing a name, because with a file's last one its blocks are given
 * back, which some file systems tell the disk and wait for.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { BigIntStats } from "node:fs"
import * as fs from "node:fs"
import { promisify } from "node:util"
import * as FileName from "./FileName.ts"

/**
 * The code of a failed call, such as ENOENT.
 *
 * @category models
 * @since 0.1.0
 */
export type Errno = string

/**
 * Paths are raw.
 *
 * @category models
 * @since 0.1.0
 */
export interface SystemCalls {
  readonly realpath: (path: FileName.Raw) => FileName.Raw
  readonly open: (path: FileName.Raw, flags: number, mode?: number) => number
  readonly close: (fd: number) => void
  readonly fstat: (fd: number) => BigIntStats
  readonly lstat: (path: FileName.Raw) => BigIntStats
  readonly accessToWrite: (path: FileName.Raw) => void
  readonly readlink: (path: FileName.Raw) => FileName.Raw
  readonly mkdir: (path: FileName.Raw) => void
  readonly rmdir: (path: FileName.Raw) => void
  readonly link: (from: FileName.Raw, to: FileName.Raw) => void
  readonly rename: (from: FileName.Raw, to: FileName.Raw) => void
  readonly fchmod: (fd: number, mode: number) => void
  readonly fchown: (fd: number, uid: number, gid: number) => void
  readonly ftruncate: (fd: number, length: number) => void
  readonly read: (fd: number, bytes: Uint8Array, position: number) => number | Promise<number>
  readonly write: (fd: number, bytes: Uint8Array, position: number) => number | Promise<number>
  readonly fsync: (fd: number) => Promise<void>
  readonly unlink: (path: FileName.Raw) => Promise<void>
}

const raw = FileName.toBuffer
const read = promisify(fs.read)
const write = promisify(fs.write)
const unlink = promisify(fs.unlink)

/** Bytes read or written at once: a tenth of what the way to the pool and back costs. More would hold up everybody. */
const few = 64 * 1024

/**
 * @category constructors
 * @since 0.1.0
 */
export const node: SystemCalls = {
  realpath: (path) => FileName.fromBuffer(fs.realpathSync.native(raw(path), { encoding: "buffer" })),
  open: (path, flags, mode) => fs.openSync(raw(path), flags, mode),
  close: (fd) => fs.closeSync(fd),
  fstat: (fd) => fs.fstatSync(fd, { bigint: true }),
  lstat: (path) => fs.lstatSync(raw(path), { bigint: true }),
  accessToWrite: (path) => fs.accessSync(raw(path), fs.constants.W_OK),
  readlink: (path) => FileName.fromBuffer(fs.readlinkSync(raw(path), { encoding: "buffer" })),
  mkdir: (path) => fs.mkdirSync(raw(path)),
  rmdir: (path) => fs.rmdirSync(raw(path)),
  link: (from, to) => fs.linkSync(raw(from), raw(to)),
  rename: (from, to) => fs.renameSync(raw(from), raw(to)),
  fchmod: (fd, mode) => fs.fchmodSync(fd, mode),
  fchown: (fd, uid, gid) => fs.fchownSync(fd, uid, gid),
  ftruncate: (fd, length) => fs.ftruncateSync(fd, length),
  read: (fd, bytes, position) =>
    bytes.length <= few
      ? fs.readSync(fd, bytes, 0, bytes.length, position)
      : read(fd, bytes, 0, bytes.length, position).then(({ bytesRead }) => bytesRead),
  write: (fd, bytes, position) =>
    bytes.length <= few
      ? fs.writeSync(fd, bytes, 0, bytes.length, position)
      : write(fd, bytes, 0, bytes.length, position).then(({ bytesWritten }) => bytesWritten),
  fsync: promisify(fs.fsync),
  unlink: (path) => unlink(raw(path))
}

/**
 * A call that is made at once.
 *
 * @category running
 * @since 0.1.0
 */
export const attempt = <A>(run: () => A): Effect.Effect<A, Errno> => Effect.try({ try: run, catch: codeOf })

/**
 * What a call gave, or the code of what it threw.
 *
 * @category converting
 * @since 0.1.0
 */
export const outcomeOf = <A>(run: () => A): Result.Result<A, Errno> => Result.try({ try: run, catch: codeOf })

/**
 * To be thrown among calls, as one of them would.
 *
 * @category converting
 * @since 0.1.0
 */
export const errorWith = (code: Errno): Error => Object.assign(new Error(code), { code })

/**
 * A call that may be made in the pool. It cannot be interrupted: its descriptor would be closed, and given to somebody
 * else, while it is written to.
 *
 * @category running
 * @since 0.1.0
 */
export const wait = <A>(run: () => A | Promise<A>): Effect.Effect<A, Errno> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      const made = outcomeOf(run)
      if (Result.isFailure(made)) return Effect.fail(made.failure)
      const value = made.success
      return value instanceof Promise ? Effect.tryPromise({ try: () => value, catch: codeOf }) : Effect.succeed(value)
    })
  )

/**
 * Calls that are made in the pool, side by side: all are made, and then it fails as the first that failed. Without a
 * fiber for each: there may be hundreds, of some 100 µs.
 *
 * @category running
 * @since 0.1.0
 */
export const waitForAll = <A>(over: ReadonlyArray<A>, run: (each: A) => Promise<void>): Effect.Effect<void, Errno> =>
  wait(async () => {
    // A call may throw before it is made.
    const made = await Promise.allSettled(over.map(async (each) => run(each)))
    for (const one of made) if (one.status === "rejected") throw one.reason
  })

/** The code of what a call threw. */
export const codeOf = (cause: unknown): Errno =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)

/**
 * Bytes of one read or write. An interruption waits for the one that is made.
 */
const chunk = 4 * 1024 * 1024

/**
 * At most `length` bytes from `offset` on; fewer only at the end of the file.
 *
 * @category running
 * @since 0.1.0
 */
export const readFully = (
  calls: SystemCalls,
  fd: number,
  offset: number,
  length: number,
  into?: Uint8Array
): Effect.Effect<Uint8Array, Errno> =>
  Effect.suspend(() => {
    const bytes = into ?? Buffer.allocUnsafe(length)
    const from = (filled: number): Effect.Effect<Uint8Array, Errno> =>
      filled >= length
        ? Effect.succeed(bytes.subarray(0, filled))
        : Effect.flatMap(
            wait(() => calls.read(fd, bytes.subarray(filled, Math.min(length, filled + chunk)), offset + filled)),
            (count) => (count === 0 ? Effect.succeed(bytes.subarray(0, filled)) : from(filled + count))
          )
    return from(0)
  })

/**
 * Writes all of it from the start of the file on.
 *
 * @category running
 * @since 0.1.0
 */
export const writeFully = (calls: SystemCalls, fd: number, bytes: Uint8Array): Effect.Effect<void, Errno> => {
  const from = (written: number): Effect.Effect<void, Errno> =>
    written >= bytes.length
      ? Effect.void
      : Effect.flatMap(
          wait(() => calls.write(fd, bytes.subarray(written, Math.min(bytes.length, written + chunk)), written)),
          (count) => from(written + count)
        )
  return from(0)
}
