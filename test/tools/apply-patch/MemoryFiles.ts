/**
 * The port of files on a map, for plans that need no disk.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createHash } from "node:crypto"
import * as path from "node:path"
import { type Change, CommitFailed, FileUnreachable, WorkspaceFiles } from "../../../src/WorkspaceFiles.ts"

export type Tree = Map<string, Uint8Array>

/** Text or bytes by path. */
export const tree = (files: Readonly<Record<string, string | Uint8Array>>): Tree =>
  new Map(Object.entries(files).map(([name, content]) => [path.join("/ws", name), Buffer.from(content)]))

/** What is in it: by path, as text. */
export const texts = (tree: Tree): Readonly<Record<string, string>> =>
  Object.fromEntries([...tree].map(([name, bytes]) => [path.relative("/ws", name), Buffer.from(bytes).toString()]))

/** Serves it as the workspace `/ws`. `commits` receives what was committed. */
export const layer = (tree: Tree, commits: Array<ReadonlyArray<Change>> = []) => {
  const reach = (name: string) => {
    const real = path.resolve("/ws", name)
    return real.startsWith("/ws/") || real === "/ws"
      ? Effect.succeed(real)
      : Effect.fail(new FileUnreachable({ path: name, reason: { _tag: "OutsideWorkspace", root: "/ws" } }))
  }
  const isFolder = (real: string) => [...tree.keys()].some((file) => file.startsWith(`${real}/`)) || real === "/ws"
  const read = (name: string) =>
    Effect.flatMap(reach(name), (real) => {
      if (isFolder(real)) {
        return Effect.fail(new FileUnreachable({ path: name, reason: { _tag: "WrongType", type: "directory" } }))
      }
      const bytes = tree.get(real)
      return Effect.succeed(bytes === undefined ? undefined : { bytes, hash: hashOf(bytes) })
    })
  const commit = (changes: ReadonlyArray<Change>) =>
    Effect.gen(function* () {
      const checked = yield* Effect.forEach(changes, (change) =>
        Effect.gen(function* () {
          const old = yield* read(change.path)
          if ((old?.hash ?? "absent") !== change.expected) {
            return yield* new CommitFailed({ path: change.path, reason: { _tag: "Changed", since: "planned" } })
          }
          return { change, old, real: yield* reach(change.path) }
        })
      )
      commits.push(changes)
      return checked.map(({ change, old, real }) => {
        const kept = {
          path: path.relative("/ws", real),
          ...(old === undefined ? {} : { oldHash: old.hash }),
          notKept: []
        }
        if (change._tag === "Delete") {
          tree.delete(real)
          return { ...kept, kind: "deleted" as const }
        }
        tree.set(real, change.bytes)
        const kind = old === undefined ? ("created" as const) : ("changed" as const)
        return { ...kept, kind, newHash: hashOf(change.bytes) }
      })
    })
  return Layer.succeed(
    WorkspaceFiles,
    WorkspaceFiles.of({
      open: () => Effect.die("not asked for"),
      list: () => Effect.die("not asked for"),
      display: (real) => Effect.succeed(path.relative("/ws", real)),
      resolve: (name) =>
        Effect.flatMap(reach(name), (real) =>
          tree.has(real) || isFolder(real)
            ? Effect.succeed({ path: real, type: tree.has(real) ? ("file" as const) : ("directory" as const) })
            : Effect.fail(new FileUnreachable({ path: name, reason: { _tag: "NotFound", similar: [] } }))
        ),
      keys: (names) => Effect.succeed(names.map((name) => [name])),
      hold: (names, use) =>
        Effect.flatMap(Effect.forEach(names, reach), (reached) => {
          // There are no links here.
          const leads = new Map(names.map((name, i) => [name, { path: reached[i]!, entry: reached[i]! }]))
          return use({ leads, read, readAll: (names) => Effect.forEach(names, read), commit })
        })
    })
  )
}

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")
