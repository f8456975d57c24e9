/**
 * Files in a directory of their own, changes to them, and system calls that break
 * at a chosen moment.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { vi } from "vitest"
import * as GuardedFiles from "../../../../layers/node/internal/GuardedFiles.ts"
import * as SystemCalls from "../../../../layers/node/internal/SystemCalls.ts"
import * as Walk from "../../../../layers/node/internal/Walk.ts"
import * as Session from "../../../../src/Session.ts"
import { type Change, type CommitFailed, type FileUnreachable, WorkspaceFiles } from "../../../../src/WorkspaceFiles.ts"
import * as Workspace from "../Workspace.ts"

/**
 * The calls of Node, each counted. `at` is asked before each one and may throw, or do anything else.
 */
export const counted = (at: (name: keyof SystemCalls.SystemCalls, parameters: ReadonlyArray<unknown>) => void) => {
  const entries = Object.entries(SystemCalls.node).map(([name, call]) => [
    name,
    (...parameters: ReadonlyArray<unknown>) => {
      at(name as keyof SystemCalls.SystemCalls, parameters)
      return (call as (...parameters: ReadonlyArray<unknown>) => unknown)(...parameters)
    }
  ])
  return Object.fromEntries(entries) as SystemCalls.SystemCalls
}

export const failure = (code: string) => Object.assign(new Error(code), { code })

/** Files of a session at `root`, with commits recorded in `state`. */
export const layer = (
  root: string,
  state: string,
  options: {
    readonly calls?: SystemCalls.SystemCalls
    readonly byDescriptor?: boolean
    readonly roots?: ReadonlyArray<string>
  } = {}
) =>
  Layer.effect(
    WorkspaceFiles,
    GuardedFiles.make(
      {
        calls: options.calls ?? SystemCalls.node,
        byDescriptor: options.byDescriptor ?? Walk.canWalkByDescriptor(),
        roots: options.roots ?? []
      },
      state
    )
  ).pipe(Layer.provideMerge(Session.layer({ workspace: root })))

/** What a commit is to do, without what is there now. */
export type Wish =
  | { readonly write: string; readonly bytes: string; readonly from?: string }
  | { readonly delete: string }

export const nameOf = (wish: Wish) => ("write" in wish ? wish.write : wish.delete)

/** Holds, reads and commits. */
export const fulfil = Effect.fnUntraced(function* (wishes: ReadonlyArray<Wish>) {
  const { hold } = yield* WorkspaceFiles
  return yield* hold(wishes.map(nameOf), ({ commit, read }) =>
    Effect.gen(function* () {
      const changes: Array<Change> = []
      for (const wish of wishes) {
        const path = nameOf(wish)
        const expected = (yield* read(path))?.hash ?? "absent"
        changes.push(
          "delete" in wish
            ? { _tag: "Delete", path, expected }
            : { _tag: "Write", path, expected, bytes: Buffer.from(wish.bytes), from: wish.from }
        )
      }
      return yield* commit(changes)
    })
  )
})

/** All that is below: types, modes, contents, targets, and which names are one file. */
export const snapshot = (root: string): Record<string, string> => {
  const names = fs.readdirSync(root, { recursive: true, encoding: "latin1" }).toSorted()
  const first = new Map<number, string>()
  return Object.fromEntries(
    names.map((name) => {
      const file = path.join(root, name)
      const stats = fs.lstatSync(file)
      const mode = (stats.mode & 0o7777).toString(8)
      if (stats.isSymbolicLink()) return [name, `-> ${fs.readlinkSync(file)}`]
      if (!stats.isFile()) return [name, stats.isDirectory() ? `${mode}/` : mode]
      if (!first.has(stats.ino)) first.set(stats.ino, name)
      return [name, `${mode} ${stats.uid} ${first.get(stats.ino)} ${fs.readFileSync(file, "latin1")}`]
    })
  )
}

/** One of each kind: replaced, run through a link, of several names, made in new folders, moved, deleted. */
export const rich = {
  make: (root: string) => {
    fs.mkdirSync(path.join(root, "sub"), { recursive: true })
    fs.writeFileSync(path.join(root, "plain"), "plain\n")
    fs.writeFileSync(path.join(root, "script"), "#!\n", { mode: 0o750 })
    fs.symlinkSync("../script", path.join(root, "sub/link"))
    fs.writeFileSync(path.join(root, "one"), "several names\n".repeat(10))
    fs.linkSync(path.join(root, "one"), path.join(root, "sub/other"))
    fs.writeFileSync(path.join(root, "source"), "moves\n", { mode: 0o600 })
    fs.writeFileSync(path.join(root, "gone"), "deleted\n")
    fs.symlinkSync("plain", path.join(root, "alias"))
  },
  wishes: [
    { write: "plain", bytes: "PLAIN\n" },
    { write: "sub/link", bytes: "#!/bin/sh\n" },
    { write: "one", bytes: "all of them\n" },
    { write: "new/deep/file", bytes: "new\n" },
    { write: "new/target", bytes: "moved\n", from: "source" },
    { delete: "source" },
    { delete: "gone" },
    { delete: "alias" }
  ] satisfies ReadonlyArray<Wish>
}

/** A workspace, and how to run in it. */
export const workspace = (tree: Workspace.Tree = {}, options: Parameters<typeof layer>[2] = {}) =>
  Effect.gen(function* () {
    const { root, top } = yield* Workspace.make(tree)
    const state = path.join(top, "state")
    const context = yield* Layer.build(layer(root, state, options))
    const run = <A, E>(effect: Effect.Effect<A, E, WorkspaceFiles>) => Effect.provideContext(effect, context)
    const at = (name: string) => path.join(root, name)
    return { root, top, state, run, at, text: (name: string) => fs.readFileSync(at(name), "utf8") }
  })

/** Seen from a second later, until the scope ends: files count as old enough for their times to tell. */
export const aSecondLater = Effect.acquireRelease(
  Effect.sync(() => {
    const now = Date.now
    return vi.spyOn(Date, "now").mockImplementation(() => now() + 1000)
  }),
  (spy) => Effect.sync(() => spy.mockRestore())
)

/** What a file says to its reader. */
export const read = (name: string) =>
  Effect.flatMap(WorkspaceFiles, ({ open }) => open(name)).pipe(
    Effect.flatMap((file) => file.read(0, file.size)),
    Effect.map((bytes) => new TextDecoder().decode(bytes)),
    Effect.scoped
  )

/** Why it failed. */
export const reasonOf = <A, R>(effect: Effect.Effect<A, FileUnreachable | CommitFailed, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

/** Why none of them may be written to. */
export const tagsOf = (names: ReadonlyArray<string>) =>
  Effect.forEach(names, (name) => Effect.map(reasonOf(fulfil([{ write: name, bytes: "evil" }])), ({ _tag }) => _tag))
