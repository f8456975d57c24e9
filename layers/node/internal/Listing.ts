/**
 * The first names of a directory, in the order of their bytes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs/promises"
import type { Dirent } from "node:fs"
import type { Entry, FileType } from "../../../src/WorkspaceFiles.ts"
import * as FileName from "./FileName.ts"
import { attempt, codeOf, type SystemCalls } from "./SystemCalls.ts"
import * as Walk from "./Walk.ts"

interface Name {
  readonly name: FileName.Raw
  readonly type: FileType
}

/** Names read at once. */
const bufferSize = 512

/**
 * At most `limit` names and how many there are. Holds twice as many at most, however large the directory is.
 *
 * @category running
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (calls: SystemCalls, directory: Walk.Directory, limit: number) {
  const { names, total } = yield* Effect.tryPromise({
    try: (signal) => firstNames(Walk.at(directory, "."), limit, signal),
    catch: codeOf
  })
  const entries = yield* Effect.forEach(names, ({ name, type }) => entryOf(calls, directory, name, type))
  return { entries, total }
})

const entryOf = (
  calls: SystemCalls,
  directory: Walk.Directory,
  raw: FileName.Raw,
  type: FileType
): Effect.Effect<Entry> => {
  const name = FileName.format(raw)
  if (type !== "symlink") return Effect.succeed({ name, type })
  return attempt(() => calls.readlink(Walk.at(directory, raw))).pipe(
    Effect.map((target): Entry => ({ name, type, target: FileName.format(target) })),
    // It is gone, or a link no longer.
    Effect.orElseSucceed(() => ({ name, type }))
  )
}

const firstNames = async (path: FileName.Raw, limit: number, signal: AbortSignal) => {
  let names: Array<Name> = []
  let total = 0
  const cut = () => {
    names = names.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, limit)
  }
  for await (const entry of await fs.opendir(FileName.toBuffer(path), { encoding: "latin1", bufferSize })) {
    if (signal.aborted) break
    total++
    names.push({ name: entry.name, type: typeOf(entry) })
    if (names.length >= 2 * limit + bufferSize) cut()
  }
  cut()
  return { names, total }
}

const typeOf = (entry: Dirent): FileType =>
  entry.isFile()
    ? "file"
    : entry.isDirectory()
      ? "directory"
      : entry.isSymbolicLink()
        ? "symlink"
        : entry.isFIFO()
          ? "fifo"
          : entry.isSocket()
            ? "socket"
            : "device"
