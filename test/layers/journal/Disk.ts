/**
 * A disk that keeps, of what was not synced, as little as the rules of `Storage` allow, and that fails where it is told.
 *
 * Bytes of a file and changes of names are kept apart: each has what every process sees, and what a loss of power leaves.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as zlib from "node:zlib"
import { type Left, Locked, type Storage, StorageError } from "../../../layers/journal/Storage.ts"

interface Inode {
  bytes: Uint8Array
  durable: Uint8Array
  /** What makes the one of the other. A sync that fails forgets it: the system will not try it again. */
  changes: Array<(bytes: Uint8Array) => Uint8Array>
  /** The failed syncs that there were: each is told once to everybody who had it open. */
  failures: number
  modifiedAt: number
}

/** A change of names that was not synced. */
type Change =
  | { readonly kind: "link"; readonly name: string; readonly inode: Inode }
  | { readonly kind: "unlink"; readonly name: string }
  | { readonly kind: "rename"; readonly from: string; readonly to: string; readonly inode: Inode }

/** What is on the disk after a loss of power. */
export type Remains = ReadonlyMap<string, Uint8Array>

export type Kind = "create" | "write" | "truncate" | "sync" | "rename" | "remove" | "syncFolder"

/** What becomes of one operation. `short`: half is written, without a word. */
export type Fault = "ENOSPC" | "EIO" | "short"

export interface Options {
  /** What becomes of the operation of that number. */
  readonly fault?: ((operation: number, kind: Kind) => Fault | undefined) | undefined
  /** Syncs that are not made, by where they are asked for in the code. */
  readonly without?: string | undefined
  /** Told after every operation. */
  readonly after?: ((operation: number) => void) | undefined
  /** How many turns an operation of a process takes. */
  readonly turns?: ((process: object) => number) | undefined
}

const empty = new Uint8Array(0)

/** The line of code that asks for a sync. */
const site = (): string =>
  /layers\/journal\/(\S+?\.ts\S*?:\d+:\d+)/.exec(
    (new Error("where").stack ?? "")
      .split("\n")
      .filter((line) => line.includes("/layers/journal/") && !line.includes("/test/"))
      .join("\n")
  )?.[1] ?? "unknown"

const writing = (offset: number, written: Uint8Array) => (bytes: Uint8Array) => {
  const next = new Uint8Array(Math.max(bytes.length, offset + written.length))
  next.set(bytes)
  next.set(written, offset)
  return next
}

const cutting = (length: number) => (bytes: Uint8Array) => bytes.slice(0, length)

const apply = (names: Map<string, Inode>, change: Change): void => {
  switch (change.kind) {
    case "link":
      names.set(change.name, change.inode)
      return
    case "unlink":
      names.delete(change.name)
      return
    case "rename":
      names.delete(change.from)
      names.set(change.to, change.inode)
  }
}

export class Disk {
  /** The syncs that were asked for. */
  readonly sites = new Set<string>()
  operations = 0
  /** By their kind. */
  readonly count: Partial<Record<Kind, number>> = {}
  options: Options
  names = new Map<string, Inode>()
  durableNames = new Map<string, Inode>()
  changes: Array<Change> = []
  readonly locks = new Map<string, { readonly process: object; state: Left | "held" }>()
  readonly dead = new WeakSet<object>()
  short = false
  readonly changed = Latch.makeUnsafe(false)

  constructor(options: Options = {}, files: Remains = new Map()) {
    this.options = options
    for (const [name, bytes] of files) {
      const inode = { bytes, durable: bytes, changes: [], failures: 0, modifiedAt: Date.now() }
      this.names.set(name, inode)
      this.durableNames.set(name, inode)
    }
  }

  /** What every process sees. */
  get files(): Remains {
    return new Map([...this.names].map(([name, { bytes }]) => [name, bytes]))
  }

  /** All that a loss of power may leave: each change of names there or not, with all bytes or the synced ones. */
  *remains(most = 64): Generator<Remains> {
    const count = Math.min(2 ** Math.min(this.changes.length, 12), most)
    for (let subset = 0; subset < count; subset++) {
      const names = new Map(this.durableNames)
      for (const [index, change] of this.changes.entries()) if ((subset >> index) & 1) apply(names, change)
      for (const durable of [true, false]) {
        yield new Map([...names].map(([name, inode]) => [name, durable ? inode.durable : inode.bytes]))
      }
    }
  }

  /** The process has ended, in the middle of whatever it did: nothing that it asks for from now on is done. */
  kill(process: object): void {
    this.dead.add(process)
  }

  /** For one process. */
  storage(process: object = {}): Storage {
    return storageOf(this, process)
  }
}

const storageOf = (disk: Disk, process: object): Storage => {
  const act = <A>(kind: Kind, run: () => A, onFault = () => {}, fails = () => false): Effect.Effect<A, StorageError> =>
    Effect.gen(function* () {
      for (let turns = disk.options.turns?.(process) ?? 0; turns > 0; turns--) yield* Effect.yieldNow
      if (disk.dead.has(process)) return yield* Effect.never
      const operation = disk.operations++
      const fault = fails() ? "EIO" : disk.options.fault?.(operation, kind)
      disk.short = fault === "short"
      if (fault !== undefined && fault !== "short") {
        onFault()
        disk.options.after?.(operation)
        return yield* new StorageError({ code: fault, doing: kind })
      }
      const value = run()
      disk.count[kind] = (disk.count[kind] ?? 0) + 1
      disk.options.after?.(operation)
      if (disk.dead.has(process)) return yield* Effect.never
      yield* disk.changed.release
      return value
    })
  const look = <A>(run: () => A) => Effect.suspend(() => (disk.dead.has(process) ? Effect.never : Effect.sync(run)))
  const change = (one: Change) => {
    apply(disk.names, one)
    disk.changes.push(one)
  }
  /** Without it, it says that it did it. */
  const synced = (run: () => void) => {
    const where = site()
    disk.sites.add(where)
    return () => {
      if (disk.options.without !== where) run()
    }
  }
  return {
    folder: "disk",
    crc32: zlib.crc32,
    list: () => look(() => [...disk.names.keys()]),
    rename: (from, to) =>
      act("rename", () => {
        const inode = disk.names.get(from)
        if (inode !== undefined) change({ kind: "rename", from, to, inode })
      }),
    remove: (name) => (disk.names.has(name) ? act("remove", () => change({ kind: "unlink", name })) : Effect.void),
    syncFolder: () =>
      act(
        "syncFolder",
        synced(() => {
          disk.durableNames = new Map(disk.names)
          disk.changes = []
        })
      ),
    open: (name, mode) =>
      Effect.gen(function* () {
        const found = disk.names.get(name)
        if (found === undefined && mode === "read") {
          return yield* new StorageError({ code: "ENOENT", doing: "opening" })
        }
        const inode = found ?? { bytes: empty, durable: empty, changes: [], failures: 0, modifiedAt: Date.now() }
        if (found === undefined) yield* act("create", () => change({ kind: "link", name, inode }))
        let broken = false
        let told = inode.failures
        const alter = (change: (bytes: Uint8Array) => Uint8Array) => {
          inode.bytes = change(inode.bytes)
          inode.modifiedAt = Date.now()
          inode.changes.push(change)
        }
        return {
          modifiedAt: () => look(() => inode.modifiedAt),
          size: () => look(() => inode.bytes.length),
          read: (offset, length) => look(() => inode.bytes.slice(offset, offset + length)),
          write: (offset, bytes) =>
            act("write", () => {
              const written = disk.short ? bytes.subarray(0, Math.ceil(bytes.length / 2)) : bytes
              alter(writing(offset, written))
              return written.length
            }),
          truncate: (length) => act("truncate", () => alter(cutting(length))),
          sync: () =>
            act(
              "sync",
              synced(() => {
                // Whatever this descriptor says after it once said no.
                if (!broken) inode.durable = inode.changes.reduce((bytes, change) => change(bytes), inode.durable)
                inode.changes = []
              }),
              () => {
                broken = true
                told = ++inode.failures
                inode.changes = []
              },
              () => told < inode.failures
            ),
          close: () => Effect.void
        }
      }),
    lock: (name) =>
      Effect.suspend(() => {
        const held = disk.locks.get(name)
        if (held !== undefined && held.state === "held" && !disk.dead.has(held.process)) {
          return Effect.fail(new Locked({ file: name }))
        }
        const lock: { readonly process: object; state: Left | "held" } = { process, state: "held" }
        disk.locks.set(name, lock)
        return Effect.succeed({
          release: (left: Left) =>
            look(() => {
              lock.state = left
            }),
          remove: () => look(() => void disk.locks.delete(name))
        })
      }),
    left: (name) =>
      look(() => {
        const state = disk.locks.get(name)?.state
        return state === "held" ? undefined : state
      }),
    watch: () =>
      Effect.sync(() => {
        let seen = -1
        return Effect.suspend(() => (seen === disk.operations ? disk.changed.await : Effect.void)).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              seen = disk.operations
            })
          )
        )
      })
  }
}
