/**
 * What a patch makes of files, in memory.
 *
 * Operations follow each other: each sees the files as those before it left them.
 * Nothing is read or written here. Contents are loaded, operations applied, and
 * what is different in the end is what there is to commit.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as PlainText from "../../src/PlainText.ts"
import type { Change, Content } from "../../src/WorkspaceFiles.ts"
import * as Hunks from "./Hunks.ts"
import type * as Patch from "./Patch.ts"
import { differences, type Reason } from "./PatchRejected.ts"
import * as Text from "./Text.ts"

/**
 * What one operation does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Step {
  readonly kind: "add" | "update" | "delete" | "move"
  readonly path: string
  /** Of a move. */
  readonly from?: string
  readonly addedLines: number
  readonly removedLines: number
}

/**
 * What there is to commit of one file, and how it is told.
 *
 * @category models
 * @since 0.1.0
 */
export interface Planned extends Step {
  readonly change: Change
}

interface File {
  readonly original: Content | undefined
  bytes: Uint8Array | undefined
  /** Of all operations on it, since it was added or moved here. */
  addedLines: number
  removedLines: number
  /** The file on disk that its content comes from. */
  from: string | undefined
}

/** Shown lines of a file are cut here, in UTF-16 code units. */
const maxShown = 200

/**
 * @category models
 * @since 0.1.0
 */
export class Plan {
  /** What the model should know besides: what was forgiven, what was replaced. */
  readonly notes: Array<string> = []
  private readonly files = new Map<string, File>()
  private readonly overwrites: boolean

  /** `overwrites` says whether a file may be added or moved onto an existing one. */
  constructor(overwrites: boolean) {
    this.overwrites = overwrites
  }

  /** The file as it is; undefined if there is none. Before the first operation that names it. */
  load(path: string, original: Content | undefined): void {
    const file = { original, bytes: original?.bytes, addedLines: 0, removedLines: 0, from: undefined }
    this.files.set(path, file)
  }

  /** Applies an operation, of whose files each is loaded. On failure nothing has happened. */
  apply(operation: Patch.Operation): Result.Result<Step, Reason> {
    switch (operation._tag) {
      case "Add":
        return this.add(operation)
      case "Delete":
        return this.delete(operation)
      case "Update":
        return this.update(operation)
    }
  }

  /** What is different, in the order in which the files were loaded. */
  changes(): ReadonlyArray<Planned> {
    return [...this.files].flatMap(([path, file]) => changed(path, file))
  }

  private add({ bare, line, lines, path }: Patch.Operation & { _tag: "Add" }): Result.Result<Step, Reason> {
    const file = this.files.get(path)!
    if (file.bytes !== undefined) {
      if (!this.overwrites) return Result.fail({ _tag: "FileExists", path: shown(path), line, by: "add" })
      this.notes.push(`${shown(path)} existed and was replaced`)
    }
    const text = lines.length === 0 ? "" : `${lines.join("\n")}${bare ? "" : "\n"}`
    file.removedLines = file.bytes === undefined ? file.removedLines : countLines(file.bytes)
    file.addedLines = lines.length
    file.bytes = new TextEncoder().encode(text)
    file.from = undefined
    return Result.succeed({ kind: "add", path, addedLines: lines.length, removedLines: file.removedLines })
  }

  private delete({ line, path }: Patch.Operation & { _tag: "Delete" }): Result.Result<Step, Reason> {
    const file = this.files.get(path)!
    if (file.bytes === undefined) return this.missing(path, line)
    const removedLines = countLines(file.bytes)
    this.remove(file)
    return Result.succeed({ kind: "delete", path, addedLines: 0, removedLines })
  }

  private update(operation: Patch.Operation & { _tag: "Update" }): Result.Result<Step, Reason> {
    const { hunks, line, path } = operation
    const file = this.files.get(path)!
    if (file.bytes === undefined) return this.missing(path, line)
    const moveTo = operation.moveTo === path ? undefined : operation.moveTo
    const target = moveTo === undefined ? undefined : this.files.get(moveTo)!
    if (moveTo !== undefined && target?.bytes !== undefined && !this.overwrites) {
      return Result.fail({ _tag: "FileExists", path: shown(moveTo), line: line + 1, by: "move" })
    }
    // A file that only moves may be of any kind.
    const outcome = hunks.length === 0 ? unchanged(file.bytes) : edit(operation, file.bytes)
    if (Result.isFailure(outcome)) return Result.fail(outcome.failure)
    const { addedLines, bytes, notes, removedLines } = outcome.success
    if (moveTo === undefined) {
      if (addedLines + removedLines === 0) return Result.fail({ _tag: "NoChange", path: shown(path), line })
    } else if (target!.bytes !== undefined) this.notes.push(`${shown(moveTo)} existed and was replaced`)
    this.notes.push(...notes)
    const counts = { addedLines, removedLines }
    const into = target ?? file
    into.addedLines = file.addedLines + addedLines
    into.removedLines = file.removedLines + removedLines
    if (target !== undefined) {
      // A file that was added here has no other to take its mode from. One that is back where it was has not moved.
      const origin = file.from ?? (file.original === undefined ? undefined : path)
      this.remove(file)
      target.from = origin === moveTo ? undefined : origin
    }
    into.bytes = bytes
    return Result.succeed(
      moveTo === undefined ? { kind: "update", path, ...counts } : { kind: "move", path: moveTo, from: path, ...counts }
    )
  }

  private remove(file: File): void {
    file.removedLines = file.original === undefined ? 0 : countLines(file.original.bytes)
    file.addedLines = 0
    file.bytes = undefined
    file.from = undefined
  }

  private missing(path: string, line: number): Result.Result<never, Reason> {
    const goneBefore = this.files.get(path)!.original !== undefined
    return Result.fail({ _tag: "FileMissing", path: shown(path), line, similar: [], goneBefore })
  }
}

const changed = (path: string, file: File): ReadonlyArray<Planned> => {
  const { addedLines, bytes, from, original, removedLines } = file
  const counts = { path, addedLines, removedLines }
  if (bytes === undefined) {
    if (original === undefined) return []
    return [{ ...counts, kind: "delete", change: { _tag: "Delete", path, expected: original.hash } }]
  }
  if (original !== undefined && from === undefined && sameBytes(bytes, original.bytes)) return []
  const expected = original === undefined ? "absent" : original.hash
  if (from !== undefined) {
    return [{ ...counts, kind: "move", from, change: { _tag: "Write", path, bytes, expected, from } }]
  }
  const kind = original === undefined ? "add" : "update"
  return [{ ...counts, kind, change: { _tag: "Write", path, bytes, expected } }]
}

interface Edited {
  readonly bytes: Uint8Array
  readonly addedLines: number
  readonly removedLines: number
  readonly notes: ReadonlyArray<string>
}

const unchanged = (bytes: Uint8Array): Result.Result<Edited, Reason> =>
  Result.succeed({ bytes, addedLines: 0, removedLines: 0, notes: [] })

const edit = (
  { hunks, line, path }: Patch.Operation & { _tag: "Update" },
  bytes: Uint8Array
): Result.Result<Edited, Reason> => {
  const kind = Text.notText(bytes)
  if (kind !== undefined) return Result.fail({ _tag: "NotText", path: shown(path), line, kind })
  const text = Text.fromBytes(bytes, false)
  const placed = Hunks.place(text.lines, hunks)
  if (Result.isSuccess(placed)) return Result.succeed(edited(path, text, placed.success))
  // A carriage return that ends a line, as it did on old Macs, is believed only if nothing else makes sense.
  if (placed.failure._tag === "NotFound" && text.lines.some(({ text }) => text.includes("\r"))) {
    const text = Text.fromBytes(bytes, true)
    const again = Hunks.place(text.lines, hunks)
    if (Result.isSuccess(again)) return Result.succeed(edited(path, text, again.success))
  }
  return Result.fail(misplaced(path, placed.failure))
}

const edited = (path: string, text: Text.Text, { edits, forgiven }: Hunks.Placed): Edited => ({
  bytes: Text.toBytes(Text.edit(text, edits)),
  addedLines: edits.reduce((total, { added }) => total + added.length, 0),
  removedLines: edits.reduce((total, { removed }) => total + removed, 0),
  notes: forgiven.map(({ hunk, line, why }) => {
    const where = `${shown(path)} line ${line} (line ${hunk} of the patch)`
    switch (why) {
      case "order":
        return `${where}: the hunk stands out of order`
      case "end of file":
        return `${where}: this is not the end of the file`
      case "indentation":
        return `${where}: matched without regard to indentation; added lines are as in the patch, check theirs`
      default:
        return `${where}: matched without regard to ${differences[why]}`
    }
  })
})

const misplaced = (path: string, reason: Hunks.Misplaced): Reason => {
  switch (reason._tag) {
    case "NotFound": {
      const { anchor, appliedAt, closest, hunk } = reason
      return {
        _tag: "HunkNotFound",
        path: shown(path),
        hunk,
        ...(anchor === undefined ? {} : { anchor: shown(anchor) }),
        ...(appliedAt === undefined ? {} : { appliedAt }),
        closest: closest.map(({ line, text }) => ({ line, text: shown(text) }))
      }
    }
    case "Ambiguous":
      return { ...reason, path: shown(path) }
    case "Overlap":
      return { _tag: "Overlap", path: shown(path), hunks: reason.hunks, fileLine: reason.line }
    case "NotAtEnd":
      return { _tag: "NotAtEnd", path: shown(path), hunk: reason.hunk }
  }
}

/** Text of a file, or of the patch, in a message. */
const shown = (text: string): string =>
  text.length > maxShown ? `${PlainText.makeLine(PlainText.take(text, maxShown))}…` : PlainText.makeLine(text)

const countLines = (bytes: Uint8Array): number => {
  let count = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++
  return bytes.length > 0 && bytes.at(-1) !== 10 ? count + 1 : count
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => {
  if (a === b) return true
  if (a.length !== b.length) return false
  // Not `every`: a call for each byte of each file.
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}
