/**
 * `WorkspaceFiles` through the buffers of an editor, where the session's client offers
 * them: what is read is what its user sees, and what is written is written there. The
 * file on the disk is the editor's to save.
 *
 * **Contract**
 *
 * - Which files may be reached is decided by the port below, on the disk, as without it.
 * - Text is read from the editor and written to it. What is no text on the disk, what is
 *   on the disk and the editor refuses to read, and every deletion, go to the disk.
 * - A buffer that was changed after it was read, in this commit or earlier in this
 *   session, is not overwritten.
 *
 * Less than the disk gives: of several files, those that are written are written back if a
 * later one fails (one that was made is left empty), but a crash in between leaves them;
 * and the editor may change a buffer between the last look and the writing. Line ends and
 * encoding are the editor's.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TextDiff from "effect/TextDiff"
import { CurrentSession, type Session } from "../../src/Session.ts"
import {
  type Change,
  CommitFailed,
  type Committed,
  type Content,
  FileUnreachable,
  type Held,
  type OpenFile,
  WorkspaceFiles
} from "../../src/WorkspaceFiles.ts"
import { type Buffers, CurrentClient } from "./Client.ts"

/** Bytes at the start of a file by which it is seen whether it is text. */
const looked = 8192

/** Lines searched for as changed. More makes the worst case slower. */
const maxEdits = 1000

/**
 * Over the files of the disk.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<WorkspaceFiles, never, WorkspaceFiles> = Layer.effect(
  WorkspaceFiles,
  Effect.map(WorkspaceFiles, (disk) => {
    const stamps = new Stamps()

    /** The text of a buffer; undefined, if the editor does not give it. */
    const bufferOf = (buffers: Buffers, path: string): Effect.Effect<string | undefined, FileUnreachable> =>
      Effect.catch(buffers.read(path), (refused) =>
        // An editor that is gone may have held what is not saved: the disk is not what its user saw.
        refused.code === undefined ? Effect.fail(gone(path)) : Effect.undefined
      )

    const open = Effect.fn("ClientFiles.open")(function* (
      path: string
    ): Effect.fn.Return<OpenFile, FileUnreachable, Scope.Scope> {
      const client = yield* CurrentClient
      if (client?.buffers === undefined) return yield* disk.open(path)
      const { buffers } = client
      const opened = yield* Effect.result(disk.open(path))
      if (opened._tag === "Failure") {
        if (opened.failure.reason._tag !== "NotFound") return yield* opened.failure
        // It may be a buffer that was never saved.
        const at = yield* leadOf(path)
        const text = at === undefined ? undefined : yield* bufferOf(buffers, at)
        return text === undefined || at === undefined ? yield* opened.failure : yield* opening(at, text)
      }
      const file = opened.success
      if (!(yield* beginsAsText(file))) return file
      const text = yield* bufferOf(buffers, file.path)
      return text === undefined ? file : yield* opening(file.path, text)
    })

    const opening = Effect.fnUntraced(function* (path: string, text: string) {
      const content = yield* contentOf(encode(text))
      yield* stamps.record(yield* CurrentSession, path, content.hash)
      const { bytes } = content
      return {
        path,
        size: bytes.length,
        read: (offset: number, length: number) => Effect.succeed(bytes.slice(offset, offset + length))
      }
    })

    /** Where a file is, or would be made. */
    const leadOf = (path: string) =>
      disk
        .hold([path], ({ leads }) => Effect.succeed(leads.get(path)?.path))
        .pipe(Effect.catchTag("FileUnreachable", () => Effect.undefined))

    const heldBy = (buffers: Buffers, held: Held): Held => {
      const at = (path: string) => held.leads.get(path)?.path ?? path

      const read = (path: string): Effect.Effect<Content | undefined, FileUnreachable> =>
        Effect.gen(function* () {
          const onDisk = yield* held.read(path)
          if (onDisk !== undefined && !isText(onDisk.bytes)) return onDisk
          const text = yield* bufferOf(buffers, at(path))
          return text === undefined ? onDisk : yield* contentOf(encode(text))
        })

      const plan = Effect.fnUntraced(function* (session: Session, change: Change) {
        const path = at(change.path)
        const shown = yield* disk.display(path)
        const old = yield* read(change.path)
        const refuse = (reason: CommitFailed["reason"]) => Effect.fail(new CommitFailed({ path: shown, reason }))
        if (old !== undefined && stamps.isChanged(session, path, old.hash)) {
          return yield* refuse({ _tag: "Changed", since: "read" })
        }
        if (change.expected === "absent" && old !== undefined) return yield* refuse({ _tag: "Exists" })
        if (change.expected !== "absent" && change.expected !== old?.hash) {
          return yield* refuse({ _tag: "Changed", since: "planned" })
        }
        return { change, path, shown, old }
      })

      type Planned = Effect.Success<ReturnType<typeof plan>>

      const write = ({ path, shown }: Planned, bytes: Uint8Array) =>
        Effect.mapError(
          buffers.write(path, decode(bytes)),
          ({ message }) =>
            new CommitFailed({
              path: shown,
              reason: { _tag: "Refused", doing: "writing it in the editor", code: message }
            })
        )

      const writeBack = (planned: Planned) =>
        Effect.mapError(
          write(planned, planned.old?.bytes ?? new Uint8Array()),
          ({ message, path }) => new CommitFailed({ path, reason: { _tag: "Unfinished", code: message } })
        )

      /** Deletions, and what is no text: with what is on the disk now. */
      const commitOnDisk = Effect.fnUntraced(function* (changes: ReadonlyArray<Change>) {
        // Since this session read them, the editor may have saved what it was given: that is no change of somebody else.
        yield* Effect.forEach(changes, ({ path }) => Effect.ignore(Effect.scoped(disk.open(path))), { discard: true })
        const now = yield* held.readAll(changes.map(({ path }) => path))
        const known = changes.flatMap((change, index): ReadonlyArray<Change> => {
          const hash = now[index]?.hash
          if (change._tag === "Write") return [{ ...change, expected: hash ?? "absent" }]
          // A buffer that was never saved has nothing to delete.
          return hash === undefined ? [] : [{ ...change, expected: hash }]
        })
        if (known.length > 0) yield* held.commit(known)
      })

      const commit = Effect.fnUntraced(function* (changes: ReadonlyArray<Change>) {
        const session = yield* CurrentSession
        const plans = yield* Effect.forEach(changes, (change) => plan(session, change))
        const written: Array<Planned> = []
        const onDisk: Array<Change> = []
        const all = Effect.gen(function* () {
          for (const planned of plans) {
            const { change, old } = planned
            if (change._tag === "Write" && isText(change.bytes) && (old === undefined || isText(old.bytes))) {
              yield* write(planned, change.bytes)
              written.push(planned)
            } else onDisk.push(change)
          }
          yield* commitOnDisk(onDisk)
        })
        yield* Effect.tapError(all, () => Effect.forEach(written.toReversed(), writeBack, { discard: true }))
        return yield* Effect.forEach(plans, ({ change, old, path, shown }) =>
          Effect.gen(function* () {
            const made = change._tag === "Write" ? yield* contentOf(change.bytes) : undefined
            if (made === undefined) stamps.forget(session, path)
            else yield* stamps.record(session, path, made.hash)
            return committed(shown, old, made)
          })
        )
      })

      return {
        leads: held.leads,
        read,
        readAll: (paths) => Effect.forEach(paths, read),
        // What was begun is brought to its end, or back.
        commit: (changes) => Effect.uninterruptible(commit(changes)).pipe(Effect.withSpan("ClientFiles.commit"))
      }
    }

    return WorkspaceFiles.of({
      ...disk,
      open,
      hold: (paths, use) =>
        Effect.flatMap(CurrentClient, (client) => {
          const buffers = client?.buffers
          return disk.hold(paths, (held) => use(buffers === undefined ? held : heldBy(buffers, held)))
        })
    })
  })
)

/** What sessions have read or written of buffers, by path: SHA-256. */
class Stamps {
  private readonly sessions = new Map<string, Map<string, string>>()

  record(session: Session, path: string, hash: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const known = this.sessions.get(session.id)
      if (known !== undefined) return Effect.sync(() => void known.set(path, hash))
      this.sessions.set(session.id, new Map([[path, hash]]))
      return Scope.addFinalizer(
        session.scope,
        Effect.sync(() => this.sessions.delete(session.id))
      )
    })
  }

  forget(session: Session, path: string): void {
    this.sessions.get(session.id)?.delete(path)
  }

  isChanged(session: Session, path: string, hash: string): boolean {
    const read = this.sessions.get(session.id)?.get(path)
    return read !== undefined && read !== hash
  }
}

const gone = (path: string) => new FileUnreachable({ path, reason: { _tag: "Other", code: "the editor is gone" } })

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)

/** UTF-8, and without a NUL: an editor gives back what it was given. */
const isText = (bytes: Uint8Array): boolean => {
  if (bytes.includes(0)) return false
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Whether a file on the disk is for an editor: as far as its beginning tells. */
const beginsAsText = (file: OpenFile) =>
  Effect.map(file.read(0, Math.min(looked, file.size)), (bytes) => !bytes.includes(0))

const contentOf = (bytes: Uint8Array): Effect.Effect<Content> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", Uint8Array.from(bytes))),
    (digest) => ({
      bytes,
      hash: Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
    })
  )

const committed = (path: string, old: Content | undefined, made: Content | undefined): Committed => {
  const texts = [old, made].map((content) => content?.bytes ?? new Uint8Array())
  const edits = texts.every(isText) ? TextDiff.lines(decode(texts[0]!), decode(texts[1]!), { maxEdits }) : undefined
  const count = (tag: "Insert" | "Delete") =>
    (edits ?? []).reduce((sum, edit) => (edit._tag === tag ? sum + edit.items.length : sum), 0)
  return {
    path,
    kind: made === undefined ? "deleted" : old === undefined ? "created" : "changed",
    ...(old === undefined ? {} : { oldHash: old.hash }),
    ...(made === undefined ? {} : { newHash: made.hash }),
    ...(edits === undefined
      ? {}
      : {
          diff: TextDiff.unified(edits, {
            fromFile: old === undefined ? "/dev/null" : `a/${path}`,
            toFile: made === undefined ? "/dev/null" : `b/${path}`
          }),
          addedLines: count("Insert"),
          removedLines: count("Delete")
        }),
    notKept: []
  }
}
