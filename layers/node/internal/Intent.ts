/**
 * What a commit is about to do, written down before it does anything, so that
 * whoever comes after a crash can take it back, or finish.
 *
 * A record is a file in a folder of the user's own (0700, 0600). Its name says whose
 * it is and how far it came: `open` means take back, `done` means that every change
 * was made and only backups are left to remove. Renaming it is the moment at which
 * the commit happens, and how one of several starting processes claims it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as FileContent from "./FileContent.ts"
import * as FileName from "./FileName.ts"
import * as Owner from "./Owner.ts"
import { attempt, type Errno, type SystemCalls, wait, writeFully } from "./SystemCalls.ts"

const Names = Schema.Array(Schema.String)

/**
 * One change. Paths and names are raw.
 *
 * @category models
 * @since 0.1.0
 */
export const Step = Schema.Struct({
  kind: Schema.Literals(["create", "replace", "rewrite", "delete"]),
  /** The names of the folder, from the top. */
  folder: Names,
  name: Schema.String,
  /** The new content, until it has its name. */
  temporary: Schema.String,
  /** The old content, until the commit is done. */
  backup: Schema.String,
  /** SHA-256 of either, where there is one. */
  oldHash: Schema.optionalKey(Schema.String),
  newHash: Schema.optionalKey(Schema.String)
})
export type Step = typeof Step.Type

/**
 * @category models
 * @since 0.1.0
 */
export const Intent = Schema.Struct({
  version: Schema.Literal(1),
  /** Folders that are made for it, outermost first. */
  created: Schema.Array(Names),
  steps: Schema.Array(Step)
})
export type Intent = typeof Intent.Type

/**
 * A record on disk.
 *
 * @category models
 * @since 0.1.0
 */
export interface Record {
  readonly id: string
  readonly owner: string
  readonly done: boolean
}

/** It is JSON as it is: to encode hundreds of steps by the schema takes longer than to record them. */
const encode = (intent: Intent): string => JSON.stringify(intent satisfies typeof Intent.Encoded)
const decode = Schema.decodeOption(Schema.fromJsonString(Intent))

/** Records that this process is at work on. Any other that bears its name was given up. */
const active = new Set<string>()

/**
 * The folder of the records, which need not exist yet.
 *
 * @category models
 * @since 0.1.0
 */
export class Intents {
  private readonly calls: SystemCalls
  private readonly folder: string

  constructor(calls: SystemCalls, folder: string) {
    this.calls = calls
    this.folder = folder
  }

  /** Writes a new one. It survives the end of this process; for the loss of power see `sync`. */
  begin(intent: Intent): Effect.Effect<Record, Errno> {
    const { calls, folder } = this
    const flags = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW
    return Effect.flatMap(Owner.current, (owner) => {
      const record = { id: randomBytes(12).toString("hex"), owner, done: false }
      active.add(record.id)
      const open = FileContent.withOpen(calls, this.path(record), flags, 0o600, (fd) =>
        writeFully(calls, fd, Buffer.from(encode(intent)))
      )
      return Effect.uninterruptible(
        attempt(() => fs.mkdirSync(folder, { recursive: true, mode: 0o700 })).pipe(
          Effect.andThen(open),
          Effect.as(record),
          Effect.tapError(() => Effect.ignore(this.end(record)))
        )
      )
    })
  }

  /** Makes sure that it survives the loss of power. */
  sync(record: Record): Effect.Effect<void, Errno> {
    const one = (path: FileName.Raw) =>
      FileContent.withOpen(this.calls, path, fs.constants.O_RDONLY, undefined, (fd) => wait(() => this.calls.fsync(fd)))
    return Effect.andThen(one(this.path(record)), one(FileName.parse(this.folder)))
  }

  /** From here on the commit has happened. */
  finish(record: Record): Effect.Effect<Record, Errno> {
    const done = { ...record, done: true }
    return Effect.as(
      attempt(() => this.calls.rename(this.path(record), this.path(done))),
      done
    )
  }

  /** Nothing is left to do. */
  end(record: Record): Effect.Effect<void, Errno> {
    return Effect.ensuring(
      wait(() => this.calls.unlink(this.path(record))),
      this.leave(record)
    )
  }

  /** Leaves it to the next start. */
  leave(record: Record): Effect.Effect<void> {
    return Effect.sync(() => void active.delete(record.id))
  }

  /** Those whose process is gone, made this process's own: of several that ask, one gets each. */
  claimAbandoned(): Effect.Effect<ReadonlyArray<Record>> {
    const { folder, calls } = this
    const claim = (record: Record, owner: string) => {
      const mine = { ...record, owner }
      return attempt(() => calls.rename(this.path(record), this.path(mine))).pipe(
        Effect.map(() => {
          active.add(record.id)
          return [mine]
        }),
        Effect.orElseSucceed(() => [])
      )
    }
    return Effect.gen({ self: this }, function* () {
      const names = yield* Effect.orElseSucceed(
        attempt(() => fs.readdirSync(folder)),
        () => []
      )
      const me = yield* Owner.current
      const claimed: Array<Record> = []
      for (const name of names) {
        const [, id, owner, state] = /^([0-9a-f]{24})\.([\w-]+)\.(open|done)\.json$/.exec(name) ?? []
        if (id === undefined || owner === undefined || active.has(id)) continue
        const stats = fs.lstatSync(`${folder}/${name}`, { throwIfNoEntry: false })
        if (stats === undefined) continue
        if (owner !== me && !(yield* Owner.isGone(owner, Date.now() - stats.mtimeMs))) continue
        claimed.push(...(yield* claim({ id, owner, done: state === "done" }, me)))
      }
      return claimed
    })
  }

  /** What it says; nothing if it was not written to its end, which means that nothing else was done. */
  read(record: Record): Effect.Effect<Option.Option<Intent>, Errno> {
    return Effect.map(FileContent.read(this.calls, this.path(record)), ({ bytes }) =>
      decode(Buffer.from(bytes).toString("utf8"))
    )
  }

  private path({ id, owner, done }: Record): FileName.Raw {
    return FileName.parse(`${this.folder}/${id}.${owner}.${done ? "done" : "open"}.json`)
  }
}
