/**
 * Changes to files, all or nothing.
 *
 * **Details**
 *
 * 1. Every expectation is checked on the files themselves. Nothing was written yet.
 * 2. The intent is recorded; folders are made; the new contents are written and synced
 *    under other names beside the files. From here on a failure or an interruption
 *    takes everything back.
 * 3. Without interruption: each old file gets a second name, so that it can come back
 *    as it was, and the new one takes over its first. Folders are synced.
 * 4. The record is marked as done. That is the moment of the commit: whatever ends the
 *    process before leads to the old files, and after it to the new ones.
 * 5. The second names are removed.
 *
 * The record is synced only for several changes: one rename needs no help to survive a
 * loss of power, at worst a second name is left.
 *
 * @since 0.1.0
 */
import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { randomBytes } from "node:crypto"
import type { BigIntStats } from "node:fs"
import { constants } from "node:fs"
import type { Change } from "../../../src/WorkspaceFiles.ts"
import { CommitFailed } from "../../../src/WorkspaceFiles.ts"
import * as FileContent from "./FileContent.ts"
import * as FileName from "./FileName.ts"
import type { Raw } from "./FileName.ts"
import type { Intent, Intents, Record, Step } from "./Intent.ts"
import {
  attempt,
  codeOf,
  type Errno,
  errorWith,
  outcomeOf,
  type SystemCalls,
  wait,
  waitForAll,
  writeFully
} from "./SystemCalls.ts"
import * as TakeBack from "./TakeBack.ts"
import * as Walk from "./Walk.ts"

/**
 * One change, checked: where it goes and what is there.
 *
 * @category models
 * @since 0.1.0
 */
export interface Planned {
  readonly change: Change
  /** For people. */
  readonly shown: string
  /** What is changed: the file, or the link that is deleted. */
  readonly parent: Walk.Directory
  /** From there; all but the last one are folders to make. */
  readonly below: ReadonlyArray<Raw>
  readonly old: { readonly bytes: Uint8Array; readonly hash: string } | undefined
  /** Of the new content. */
  readonly newHash: string | undefined
  /** Of what is there: the file, or the link that is deleted. */
  readonly stats: BigIntStats | undefined
  /** Whose mode and owner the new file gets. */
  readonly model: BigIntStats | undefined
}

/**
 * Files written before they are synced, and synced side by side. Each is open until then. A disk syncs several at the
 * price of one, but more keep everybody else out of the pool of threads, and an interruption waiting.
 */
const batchSize = 64

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Bits of a mode that give the rights of the owner: not for an owner it was not meant for. */
const setIds = 0o6000

interface Work {
  readonly planned: Planned
  readonly step: Step
  /** Its path. */
  readonly folder: Raw
  readonly index: number
}

/**
 * Makes the changes, and says of each what of the old file could not be kept. Uninterruptible from the first visible one on.
 * What there is to do `meanwhile` is done while the disk syncs.
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fnUntraced(function* (
  pass: Walk.Pass,
  intents: Intents,
  plan: ReadonlyArray<Planned>,
  meanwhile: Effect.Effect<void>
) {
  const { calls } = pass.walker
  const folders = new Map<Raw, Walk.Directory>(plan.map(({ parent }) => [FileName.join(parent.names), parent]))
  const id = randomBytes(6).toString("hex")
  const work = plan.map((planned, index): Work => {
    const step = stepOf(planned, `${id}${index}`)
    return { planned, index, step, folder: FileName.join(step.folder) }
  })
  const intent: Intent = { version: 1, created: missing(plan), steps: work.map(({ step }) => step) }
  const notKept = plan.map((): ReadonlyArray<string> => [])
  const folderOf: TakeBack.FolderOf = (names) => Effect.sync(() => folders.get(FileName.join(names)))
  const refuse = (planned: Planned, doing: string) => (code: Errno) =>
    new CommitFailed({ path: planned.shown, reason: { _tag: "Refused", code, doing } })
  const first = plan[0]!

  const makeFolders = Effect.gen(function* () {
    for (const names of intent.created) {
      const above = folders.get(FileName.join(names.slice(0, -1)))
      if (above === undefined) return yield* Effect.fail("ENOENT")
      const path = Walk.at(above, names.at(-1)!)
      yield* Effect.catch(
        attempt(() => calls.mkdir(path)),
        (code) => (code === "EEXIST" ? Effect.void : Effect.fail(code))
      )
      const made = yield* Walk.folder(pass, names)
      if (made === undefined) return yield* Effect.fail("ENOTDIR")
      folders.set(FileName.join(names), made)
    }
  }).pipe(Effect.mapError(refuse(first, "making its folder")))

  const folderFor = ({ folder }: Work) => folders.get(folder)!

  /** Writes the new content under another name, and the old one too where it will be written over. Not synced. */
  const write = (each: Work, written: globalThis.Array<number>): Effect.Effect<void, Errno> => {
    const { planned, step, index } = each
    const { change, model, old } = planned
    if (change._tag === "Delete") return Effect.void
    // Not for others to read before it has its final mode.
    const create = (name: Raw, bytes: Uint8Array, mode: number) =>
      attempt(() => {
        const fd = calls.open(Walk.at(folderFor(each), name), createFlags, mode)
        written.push(fd)
        return fd
      }).pipe(Effect.tap((fd) => writeFully(calls, fd, bytes)))
    return Effect.flatMap(create(step.temporary, change.bytes, model === undefined ? 0o666 : 0o600), (fd) => {
      if (step.kind === "rewrite") return create(step.backup, old?.bytes ?? new Uint8Array(), 0o600)
      // Last, because writing takes set-id bits away.
      return model === undefined
        ? Effect.void
        : attempt(() => {
            notKept[index] = resemble(calls, fd, model)
          })
    })
  }

  /** All are written before the first is synced: then the file system does most of its work once for all of them. */
  const writeBatch = (batch: ReadonlyArray<Work>) =>
    Effect.suspend(() => {
      const written: globalThis.Array<number> = []
      return Effect.forEach(
        batch,
        (each) => Effect.mapError(write(each, written), refuse(each.planned, "writing a temporary file")),
        { discard: true }
      ).pipe(
        Effect.andThen(
          Effect.suspend(() => waitForAll(written, (fd) => calls.fsync(fd))).pipe(
            Effect.mapError(refuse(batch[0]!.planned, "syncing a temporary file"))
          )
        ),
        Effect.ensuring(
          Effect.suspend(() => Effect.forEach(written, (fd) => Effect.ignore(attempt(() => calls.close(fd)))))
        )
      )
    })

  const prepare = (record: Record | undefined) =>
    Effect.andThen(
      makeFolders,
      Effect.all(
        [
          record === undefined || work.length === 1
            ? Effect.void
            : Effect.mapError(intents.sync(record), refuse(first, "recording the intent")),
          Effect.forEach(Array.chunksOf(work, batchSize), writeBatch, { concurrency: 2, discard: true }),
          meanwhile
        ],
        { concurrency: 3, discard: true }
      )
    )

  const apply = Effect.gen(function* () {
    // Those written over last: they are the only ones that need space again to be taken back.
    const isLast = ({ step }: Work) => step.kind === "rewrite"
    for (const each of [...work.filter((each) => !isLast(each)), ...work.filter(isLast)]) {
      const { planned, step } = each
      const folder = folderFor(each)
      const at = (name: Raw) => Walk.at(folder, name)
      yield* Effect.catch(applyStep(calls, at, each), (code) =>
        code === changed || (code === "ENOENT" && planned.stats !== undefined)
          ? Effect.fail(new CommitFailed({ path: planned.shown, reason: { _tag: "Changed", since: "planned" } }))
          : code === "EEXIST"
            ? Effect.fail(new CommitFailed({ path: planned.shown, reason: { _tag: "Exists" } }))
            : Effect.fail(refuse(planned, step.kind === "delete" ? "removing it" : "putting it in place")(code))
      )
    }
    const touched = new Set(work.map(({ folder }) => folder))
    for (const names of intent.created) touched.add(FileName.join(names.slice(0, -1)))
    yield* Effect.forEach(touched, (path) => syncFolder(calls, folders.get(path)!), {
      concurrency: 4,
      discard: true
    }).pipe(Effect.mapError(refuse(first, "syncing its folder")))
  })

  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      // One change is safe without a record; what it leaves behind is then not found by the next start.
      const record = yield* intents.begin(intent).pipe(
        Effect.mapError(refuse(first, "recording the intent")),
        Effect.catch((failed) => (work.length === 1 ? Effect.succeed(undefined) : Effect.fail(failed)))
      )
      const marked = record === undefined ? Effect.succeed(undefined) : intents.finish(record)
      const exit = yield* restore(prepare(record)).pipe(
        Effect.andThen(apply),
        Effect.andThen(Effect.mapError(marked, refuse(first, "marking the intent as done"))),
        Effect.exit
      )
      if (Exit.isFailure(exit)) {
        const remains = yield* TakeBack.takeBack(calls, folderOf, intent)
        const failed = remains.find(({ why }) => why !== "changed")
        if (record !== undefined)
          yield* failed === undefined ? Effect.ignore(intents.end(record)) : intents.leave(record)
        for (const { step, why } of remains) {
          yield* Effect.logWarning(
            `Not taken back: ${FileName.format(FileName.join([...step.folder, step.name]))}`,
            why
          )
        }
        if (failed !== undefined && failed.why !== "changed") {
          const planned = work.find(({ step }) => step === failed.step)!.planned
          const reason = { _tag: "Unfinished", code: failed.why.code } as const
          return yield* new CommitFailed({ path: planned.shown, reason })
        }
        return yield* Effect.failCause(exit.cause)
      }
      const tidied = yield* Effect.exit(TakeBack.tidy(calls, folderOf, intent))
      const done = exit.value
      if (done !== undefined) {
        yield* Exit.isSuccess(tidied) ? Effect.ignore(intents.end(done)) : intents.leave(done)
      }
      return notKept
    })
  )
})

/** The code of a file that is not the one that was checked. */
const changed: Errno = "CHANGED"

/** Its calls look names up and change them: they are made at once, for all of them together cost less than one turn. */
const applyStep = (calls: SystemCalls, at: (name: Raw) => Raw, { planned, step }: Work): Effect.Effect<void, Errno> => {
  const name = at(step.name)
  const temporary = at(step.temporary)
  const backup = at(step.backup)
  const check = (path: Raw): void => {
    if (!isAsPlanned(calls.lstat(path), planned.stats)) throw errorWith(changed)
  }
  switch (step.kind) {
    case "create":
      // A second name and not a rename: it fails if somebody else was faster.
      return attempt(() =>
        unlessUnsupported(
          () => calls.link(temporary, name),
          () => createByRename(calls, temporary, name)
        )
      )
    case "replace":
      return attempt(() => {
        unlessUnsupported(
          () => calls.link(name, backup),
          // For a moment there is no file of that name, but every file system can do it, and for the files of others too.
          () => calls.rename(name, backup)
        )
        check(backup)
        calls.rename(temporary, name)
      })
    case "delete":
      return attempt(() => {
        calls.rename(name, backup)
        check(backup)
      })
    case "rewrite":
      return Effect.andThen(
        attempt(() => check(name)),
        planned.change._tag === "Write" ? TakeBack.rewrite(calls, name, planned.change.bytes) : Effect.void
      )
  }
}

const createByRename = (calls: SystemCalls, temporary: Raw, name: Raw): void => {
  let taken = true
  try {
    calls.lstat(name)
  } catch (cause) {
    if (codeOf(cause) !== "ENOENT") throw cause
    taken = false
  }
  if (taken) throw errorWith("EEXIST")
  calls.rename(temporary, name)
}

const unlessUnsupported = (run: () => void, otherwise: () => void): void => {
  try {
    run()
  } catch (cause) {
    if (!isUnsupported(codeOf(cause))) throw cause
    otherwise()
  }
}

/** No links at all there, not to this file, or not more. */
const isUnsupported = (code: Errno): boolean =>
  ["EPERM", "EACCES", "EMLINK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"].includes(code)

/** Its change time is another one since it has a second name. */
const isAsPlanned = (now: BigIntStats, then: BigIntStats | undefined): boolean =>
  then !== undefined &&
  now.dev === then.dev &&
  now.ino === then.ino &&
  now.size === then.size &&
  now.mtimeNs === then.mtimeNs

const stepOf = ({ change, parent, below, newHash, old, stats }: Planned, id: string): Step => {
  return {
    kind:
      change._tag === "Delete" ? "delete" : stats === undefined ? "create" : stats.nlink > 1n ? "rewrite" : "replace",
    folder: [...parent.names, ...below.slice(0, -1)],
    name: below.at(-1)!,
    temporary: `.toolstream-${id}.tmp`,
    backup: `.toolstream-${id}.old`,
    ...(old === undefined ? {} : { oldHash: old.hash }),
    ...(newHash === undefined ? {} : { newHash })
  }
}

/** The folders to make, each after the one it is in. */
const missing = (plan: ReadonlyArray<Planned>): ReadonlyArray<ReadonlyArray<Raw>> => {
  const folders = new Map<Raw, ReadonlyArray<Raw>>()
  for (const { parent, below } of plan) {
    for (let depth = 1; depth < below.length; depth++) {
      const names = [...parent.names, ...below.slice(0, depth)]
      folders.set(FileName.join(names), names)
    }
  }
  return [...folders.values()].toSorted((a, b) => a.length - b.length)
}

/** Gives the mode and the owner of another file to an open one. What it cannot give is named. */
const resemble = (calls: SystemCalls, fd: number, model: BigIntStats): ReadonlyArray<string> => {
  const mine = calls.fstat(fd)
  const notKept: globalThis.Array<string> = []
  const own = (uid: bigint, gid: bigint) =>
    Result.isSuccess(outcomeOf(() => calls.fchown(fd, Number(uid), Number(gid))))
  const group = mine.gid === model.gid && mine.uid === model.uid ? true : own(mine.uid, model.gid)
  const owner = mine.uid === model.uid ? true : own(model.uid, model.gid)
  if (!owner) notKept.push(`its owner (user ${model.uid})`)
  if (!group && mine.gid !== model.gid) notKept.push(`its group (${model.gid})`)
  const mode = Number(model.mode & 0o7777n)
  const kept = notKept.length === 0 ? mode : mode & ~setIds
  if (kept !== mode) notKept.push("its set-id bits")
  calls.fchmod(fd, kept)
  return notKept
}

const syncFolder = (calls: SystemCalls, folder: Walk.Directory): Effect.Effect<void, Errno> =>
  FileContent.withOpen(calls, Walk.at(folder, "."), constants.O_RDONLY | constants.O_DIRECTORY, undefined, (fd) =>
    wait(() => calls.fsync(fd))
  ).pipe(
    // A folder that one may write to but not read, and file systems that sync no folders.
    Effect.catch((code) => (["EACCES", "EPERM", "EINVAL"].includes(code) ? Effect.void : Effect.fail(code)))
  )
