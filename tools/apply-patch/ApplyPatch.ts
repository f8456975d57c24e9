/**
 * `apply_patch`: changes to several files in the `*** Begin Patch` format.
 *
 * The patch is planned whole in memory, each operation on what those before it left,
 * and then committed by the port at once: all or nothing, whatever happens, an
 * interruption included. The port compares each file with the content the plan was
 * made from. What is not changed keeps its bytes: line terminators, byte order
 * mark, a missing final newline, bytes that are not UTF-8. Added lines end like
 * most lines of their file.
 *
 * Progress is one item for each operation, emitted when it is planned.
 *
 * **Source** The grammar in `codex-rs/apply-patch` of openai/codex. Beyond it: several
 * anchors for one hunk, files that only move, `\ No newline at end of file`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as PlainText from "../../src/PlainText.ts"
import * as Resources from "../../src/Resources.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { CommitFailed, Committed, FileUnreachable, type Held, WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import * as Patch from "./Patch.ts"
import { PatchRejected } from "./PatchRejected.ts"
import { Plan, type Planned, type Step } from "./Plan.ts"

const Kind = Schema.Literals(["add", "update", "delete", "move"])

/**
 * One operation, planned but not yet committed.
 *
 * @category models
 * @since 0.1.0
 */
export const Progress = Schema.Struct({
  path: Schema.String,
  kind: Kind,
  /** Of a move. */
  from: Schema.optionalKey(Schema.String),
  addedLines: Schema.Natural,
  removedLines: Schema.Natural
})
export type Progress = typeof Progress.Type

/**
 * What was committed, one item for each file that is different now. A move is two: the file at its new path, and the
 * deletion of the old one.
 *
 * @category models
 * @since 0.1.0
 */
export const Applied = Schema.Struct({
  files: Schema.Array(
    Schema.Struct({
      ...Committed.fields,
      kind: Kind,
      /** Of a move. */
      from: Schema.optionalKey(Schema.String),
      /** Of an update or a move: those that the patch adds. */
      addedLines: Schema.Natural,
      removedLines: Schema.Natural
    })
  ),
  /** What was forgiven or replaced. */
  notes: Schema.Array(Schema.String)
})
export type Applied = typeof Applied.Type
type AppliedFile = Applied["files"][number]

/**
 * @category tools
 * @since 0.1.0
 */
export class ApplyPatch extends Tool.Service<ApplyPatch>()("apply_patch", {
  title: "Apply patch",
  description: `Add, update, move and delete text files with one patch: all of it is applied, or nothing. Example:

*** Begin Patch
*** Update File: src/a.ts
@@ function greet(name) {
   const loud = true
-  return "hi"
+  return \`hi \${name}\`
 }
*** Add File: src/b.ts
+export const b = 1
*** Update File: old.md
*** Move to: new.md
*** Delete File: src/c.ts
*** End Patch

A hunk starts with @@; text after it names a line above the hunk, such as that of the function. Each line of a hunk starts with a space (kept), - (removed) or + (added); no line numbers. Copy kept and removed lines exactly from the file, about 3 around each change, so that the hunk fits in one place only. \`*** End of File\` after a hunk says that it is the end of the file. Paths are absolute, or relative to the workspace.`,
  parameters: {
    patch: Schema.String.annotate({ description: "From *** Begin Patch to *** End Patch." })
  },
  progress: Progress,
  success: Applied,
  failure: Schema.Union([PatchRejected, FileUnreachable, CommitFailed]),
  resources: ({ patch }) => ({ writes: filesOf(patch).map(Resources.file) }),
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  toContent: (applied) => [{ type: "text", text: summary(applied) }]
}) {}

/** Of a patch that cannot be read, none: its call says what is wrong with it. */
const filesOf = (patch: string): ReadonlyArray<string> =>
  Result.match(Patch.parse(patch), {
    onFailure: () => [],
    onSuccess: (operations) => [...new Set(operations.flatMap(pathsOf))]
  })

type Failure = PatchRejected | FileUnreachable | CommitFailed
type Emit = (progress: Progress) => Effect.Effect<void>

const handler = (options: { readonly inParts: boolean; readonly overwrites: boolean }) =>
  Effect.gen(function* () {
    const files = yield* WorkspaceFiles

    return ({ patch }: Tool.Parameters<typeof ApplyPatch>) =>
      ToolStream.suspend(() => {
        const done: Array<Applied> = []
        const known = (): Applied => ({
          files: done.flatMap(({ files }) => files),
          notes: done.flatMap(({ notes }) => notes)
        })
        const body = Effect.fn("ApplyPatch.apply")(function* (emit: Emit) {
          const operations = yield* parse(patch)
          for (const part of options.inParts ? operations.map((operation) => [operation]) : [operations]) {
            const applied = run(files, part, new Plan(options.overwrites), emit, (applied) => done.push(applied))
            yield* Effect.mapError(applied, (failure) => afterOthers(failure, known()))
          }
          return known()
        })
        // A call that is stopped while it commits still commits: then the partial result says so.
        return ToolStream.withPartial(ToolStream.callback(body), () => (done.length === 0 ? undefined : known()))
      })
  })

/**
 * All or nothing. A file is never added or moved onto an existing one.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = ApplyPatch.toLayer(handler({ inParts: false, overwrites: false }))

/**
 * As the reference does it: each operation is committed before the next is planned, so those before one that fails
 * stay; a file that is added or moved replaces the one that is there. Each operation is all or nothing. What was
 * committed is told with the failure, or as the partial result of a call that is stopped.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerCompatible = ApplyPatch.toLayer(handler({ inParts: true, overwrites: true }))

const parse = (patch: string): Effect.Effect<ReadonlyArray<Patch.Operation>, PatchRejected> =>
  Effect.mapError(
    Effect.fromResult(Patch.parse(patch)),
    ({ line, message }) =>
      new PatchRejected({ reason: { _tag: "ParseError", line, why: PlainText.makeLine(message) }, changed: [] })
  )

const run = Effect.fnUntraced(function* (
  files: WorkspaceFiles["Service"],
  operations: ReadonlyArray<Patch.Operation>,
  plan: Plan,
  emit: Emit,
  committed: (applied: Applied) => void
) {
  const paths = [...new Set(operations.flatMap(pathsOf))]
  yield* files.hold(paths, (held) =>
    Effect.gen(function* () {
      const contents = yield* held.readAll(paths)
      const found = new Map(paths.map((path, i) => [path, contents[i]]))
      const names = yield* oneNameEach(held.leads, operations, paths)
      const name = (path: string) => names.get(path)!
      for (const path of new Set(names.values())) plan.load(path, found.get(path))
      for (const operation of operations) {
        const step = plan.apply(
          operation._tag === "Update"
            ? { ...operation, path: name(operation.path), moveTo: operation.moveTo && name(operation.moveTo) }
            : { ...operation, path: name(operation.path) }
        )
        if (Result.isFailure(step)) return yield* reject(files, operation, step.failure)
        yield* emit(progressOf(step.success))
      }
      const changes = plan.changes()
      const [first] = operations
      if (changes.length === 0 && first !== undefined) {
        return yield* reject(files, first, { _tag: "NoChange", path: shown(first.path), line: first.line })
      }
      yield* Effect.uninterruptible(commit(held, changes, plan.notes, committed))
    })
  )
})

const pathsOf = (operation: Patch.Operation): ReadonlyArray<string> =>
  operation._tag === "Update" && operation.moveTo !== undefined ? [operation.path, operation.moveTo] : [operation.path]

/** Uninterruptible: an interruption while it runs must not separate what is committed from what is told of it. */
const commit = Effect.fnUntraced(function* (
  held: Held,
  changes: ReadonlyArray<Planned>,
  notes: ReadonlyArray<string>,
  committed: (applied: Applied) => void
) {
  const results = yield* held.commit(changes.map(({ change }) => change))
  const names = new Map(changes.map(({ path }, i) => [path, results[i]!.path]))
  committed({
    files: changes.map(({ addedLines, from, kind, removedLines }, i) => ({
      ...results[i]!,
      kind,
      ...(from === undefined ? {} : { from: names.get(from) ?? from }),
      addedLines,
      removedLines
    })),
    notes
  })
})

const reject = Effect.fnUntraced(function* (
  files: WorkspaceFiles["Service"],
  { path }: Patch.Operation,
  reason: PatchRejected["reason"]
) {
  if (reason._tag !== "FileMissing" || reason.goneBefore) return yield* new PatchRejected({ reason, changed: [] })
  // The port knows what is there under a similar name.
  const similar = yield* files.resolve(path).pipe(
    Effect.map(() => []),
    Effect.catch(({ reason }) => Effect.succeed(reason._tag === "NotFound" ? reason.similar : []))
  )
  return yield* new PatchRejected({ reason: { ...reason, similar: similar.map(shown) }, changed: [] })
})

const afterOthers = (failure: Failure, { files }: Applied): Failure => {
  if (files.length === 0) return failure
  const changed = files.map(({ path }) => path)
  return failure._tag === "PatchRejected"
    ? new PatchRejected({ reason: failure.reason, changed })
    : new PatchRejected({
        reason: { _tag: "Stopped", why: failure._tag === "FileUnreachable" ? failure.why : failure.message },
        changed
      })
}

/**
 * The name to use for each path: the first one that a patch has for the same file. `a`, `./a` and a link to it are one
 * file, whose operations follow each other. But to delete or move a link is not to delete or move what it leads to.
 */
const oneNameEach = Effect.fnUntraced(function* (
  leads: Held["leads"],
  operations: ReadonlyArray<Patch.Operation>,
  paths: ReadonlyArray<string>
) {
  const names = new Map(paths.map((path) => [path, path]))
  for (const [first, ...others] of Map.groupBy(paths, (path) => leads.get(path)?.path).values()) {
    if (first === undefined || others.length === 0) continue
    for (const other of others) names.set(other, first)
    const gone = operations.find(
      (operation) =>
        names.get(operation.path) === first &&
        (operation._tag === "Delete" || (operation._tag === "Update" && operation.moveTo !== undefined))
    )
    const entryOf = (path: string) => leads.get(path)?.entry
    if (gone !== undefined && others.some((other) => entryOf(other) !== entryOf(first))) {
      const other = [first, ...others].find((path) => path !== gone.path) ?? first
      const reason = { _tag: "SameFile", path: shown(gone.path), other: shown(other), line: gone.line } as const
      return yield* new PatchRejected({ reason, changed: [] })
    }
  }
  return names
})

const shown = (path: string): string => PlainText.makeLine(path)

const progressOf = ({ addedLines, from, kind, path, removedLines }: Step): Progress => ({
  path: shown(path),
  kind,
  ...(from === undefined ? {} : { from: shown(from) }),
  addedLines,
  removedLines
})

// -----------------------------------------------------------------------------
// What the model reads
// -----------------------------------------------------------------------------

const summary = ({ files, notes }: Applied): string => {
  const moved = new Set(files.flatMap(({ from }) => from ?? []))
  return [
    ...files.filter(({ kind, path }) => kind !== "delete" || !moved.has(path)).map(line),
    ...notes.map((note) => `Note: ${note}.`),
    ...files.flatMap(({ notKept, path }) =>
      notKept.length === 0 ? [] : [`Note: ${path}: not kept: ${notKept.join(", ")}.`]
    )
  ].join("\n")
}

const line = ({ addedLines, from, kind, path, removedLines }: AppliedFile): string => {
  const counts = ` (+${addedLines} −${removedLines})`
  switch (kind) {
    case "add":
      return `A ${path}`
    case "delete":
      return `D ${path}`
    case "update":
      return `M ${path}${counts}`
    case "move":
      return `R ${from} → ${path}${addedLines + removedLines === 0 ? "" : counts}`
  }
}
