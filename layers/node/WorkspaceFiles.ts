/**
 * `WorkspaceFiles` on the file system of this machine.
 *
 * **Details**
 *
 * - A path is resolved by the kernel, so `link/..` is what it is for every other
 *   program. What does not exist is judged by its deepest existing ancestor, and
 *   by where a dangling link points.
 * - `~` and `~/…` are the home directory of the process, then judged like any path.
 * - A file is judged twice: its name before it is opened, and what was opened
 *   afterwards. A directory that is swapped for a link in between leads nowhere.
 * - Names are text: one that is not UTF-8 cannot be reached.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Stats } from "node:fs"
import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as Path from "node:path"
import { CurrentSession } from "../../src/Session.ts"
import * as Similarity from "../../src/Similarity.ts"
import { FileUnreachable, type OpenFile, WorkspaceFiles } from "../../src/WorkspaceFiles.ts"

type Reason = FileUnreachable["reason"]

/** The code of a failed system call, such as ENOENT. */
type Errno = string

/** Names proposed for one that does not exist. More would be noise. */
const maxSimilar = 3

/** Entries of a directory looked at for similar names: the directory may be huge, the answer is only a hint. */
const maxEntries = 5000

/** UTF-16 code units of a path; the limit of Linux is as many bytes. Longer ones would be walked in vain. */
const maxPath = 4096

/** Links followed by hand when the last one dangles; the limit of Linux. */
const maxLinks = 40

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<WorkspaceFiles> = Layer.sync(WorkspaceFiles, () => {
  const judge = Effect.fn("WorkspaceFiles.judge")(function* (path: string) {
    const fail = (reason: Reason) => Effect.fail(new FileUnreachable({ path, reason }))
    const why = invalid(path)
    if (why !== undefined) return yield* fail({ _tag: "InvalidPath", why })
    const root = yield* currentRoot
    const expanded = path === "~" || path.startsWith("~/") ? os.homedir() + path.slice(1) : path
    const asked = Path.isAbsolute(expanded) ? expanded : `${root}${Path.sep}${expanded}`
    const found = yield* locate(asked)
    if (!isInside(root, found.path)) return yield* fail({ _tag: "OutsideWorkspace", root })
    if (found.code === undefined) return { root, real: found.path }
    if (found.code !== "ENOENT" && found.code !== "ENOTDIR") return yield* fail(reasonOf(found.code))
    const base = path.slice(0, path.lastIndexOf("/") + 1)
    // Where a dangling link leads, other names are in another directory.
    const similar = path.slice(base.length) === Path.basename(found.path) ? yield* similarTo(found.path) : []
    return yield* fail({ _tag: "NotFound", similar: similar.map((name) => base + name) })
  })

  const open = Effect.fn("WorkspaceFiles.open")(function* (
    path: string
  ): Effect.fn.Return<OpenFile, FileUnreachable, Scope.Scope> {
    const { real, root } = yield* judge(path)
    const fail = (reason: Reason) => Effect.fail(new FileUnreachable({ path, reason }))
    const attempt = <A>(run: () => Promise<A>) => unreachable(path, call(run))
    // Before opening too: opening alone wakes the writer of a FIFO and rewinds a tape.
    const before = typeOf(yield* attempt(() => fs.stat(real)))
    if (before !== "file") return yield* fail({ _tag: "WrongType", type: before })
    const handle = yield* Effect.acquireRelease(
      attempt(() => fs.open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)),
      (handle) => Effect.ignore(call(() => handle.close()))
    )
    const stats = yield* attempt(() => handle.stat())
    const type = typeOf(stats)
    if (type !== "file") return yield* fail({ _tag: "WrongType", type })
    const opened = yield* attempt(() => pathOfOpen(handle, real, stats))
    if (opened === undefined || !isInside(root, opened)) return yield* fail({ _tag: "OutsideWorkspace", root })
    return {
      path: real,
      size: stats.size,
      read: (offset, length) => attempt(() => readFully(handle, offset, length))
    }
  })

  const resolve = Effect.fn("WorkspaceFiles.resolve")(function* (path: string) {
    const { real } = yield* judge(path)
    const type = typeOf(
      yield* unreachable(
        path,
        call(() => fs.stat(real))
      )
    )
    if (type === "file" || type === "directory") return { path: real, type } as const
    return yield* new FileUnreachable({ path, reason: { _tag: "WrongType", type } })
  })

  const display = Effect.fn("WorkspaceFiles.display")(
    function* (path: string) {
      const root = yield* currentRoot
      return isInside(root, path) ? Path.relative(root, path) || "." : path
    },
    (effect, path) => Effect.orElseSucceed(effect, () => path)
  )

  return WorkspaceFiles.of({ open, resolve, display })
})

// -----------------------------------------------------------------------------
// Where a path leads
// -----------------------------------------------------------------------------

const currentRoot = Effect.flatMap(CurrentSession, ({ workspace }) =>
  unreachable(
    workspace,
    call(() => fs.realpath(workspace))
  )
)

const invalid = (path: string): string | undefined =>
  path === ""
    ? "it is empty"
    : path.includes("\0")
      ? "it contains a NUL"
      : path.length > maxPath
        ? "it is too long"
        : path.isWellFormed()
          ? undefined
          : "it contains half of a surrogate pair"

/** By component: `/ws-evil` is not inside of `/ws`, and `..name` is a name. Both are real paths. */
const isInside = (root: string, path: string): boolean => {
  const relative = Path.relative(root, path)
  return relative !== ".." && !relative.startsWith(`..${Path.sep}`) && !Path.isAbsolute(relative)
}

/**
 * The real path of what exists. Of what does not, or cannot be looked at: where it would be, and the code that says so.
 */
const locate = (path: string, links = 0): Effect.Effect<{ readonly path: string; readonly code?: Errno }> =>
  Effect.matchEffect(
    call(() => fs.realpath(path)),
    {
      onSuccess: (real) => Effect.succeed({ path: real }),
      onFailure: (code) =>
        Effect.gen(function* () {
          const parent = parentOf(path)
          if (parent === undefined) return { path, code }
          const above = yield* locate(parent, links)
          const here = Path.resolve(above.path, path.slice(parent.length).replaceAll("/", ""))
          if (above.code !== undefined || links >= maxLinks) return { path: here, code }
          const target = yield* Effect.option(call(() => fs.readlink(here)))
          if (target._tag === "None") return { path: here, code }
          const led = yield* locate(
            Path.isAbsolute(target.value) ? target.value : `${above.path}/${target.value}`,
            links + 1
          )
          return { path: led.path, code }
        })
    }
  )

/** Without its last component. Not `dirname`: `..` must stay for the kernel to resolve. */
const parentOf = (path: string): string | undefined => {
  const trimmed = path.replace(/\/+$/, "")
  const slash = trimmed.lastIndexOf("/")
  return trimmed === "" || slash < 0 ? undefined : slash === 0 ? "/" : trimmed.slice(0, slash)
}

/** The path of what was opened; undefined if it is no longer what its name led to. */
const pathOfOpen = async (handle: fs.FileHandle, real: string, opened: Stats): Promise<string | undefined> => {
  if (process.platform === "linux") return fs.readlink(`/proc/self/fd/${handle.fd}`)
  const again = await fs.realpath(real)
  const named = await fs.stat(again)
  return named.dev === opened.dev && named.ino === opened.ino ? again : undefined
}

const typeOf = (stats: Stats) =>
  stats.isFile()
    ? "file"
    : stats.isDirectory()
      ? "directory"
      : stats.isFIFO()
        ? "fifo"
        : stats.isSocket()
          ? "socket"
          : "device"

// -----------------------------------------------------------------------------
// Similar names
// -----------------------------------------------------------------------------

/** Names beside `path` that may have been meant: first those that only look the same, then those a slip away. */
const similarTo = (path: string): Effect.Effect<ReadonlyArray<string>> => {
  const wanted = Path.basename(path)
  const folded = fold(wanted)
  const slips = wanted.length > 64 ? 0 : Math.min(2, Math.floor(wanted.length / 3))
  return call(() => entriesOf(Path.dirname(path))).pipe(
    Effect.map((names) =>
      names
        .filter((name) => name !== wanted)
        .map((name) => ({
          name,
          distance: fold(name) === folded ? 0 : 1 + Similarity.distance(fold(name), folded, slips)
        }))
        .filter(({ distance }) => distance <= 1 + slips)
        .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
        .slice(0, maxSimilar)
        .map(({ name }) => name)
    ),
    Effect.orElseSucceed(() => [])
  )
}

const entriesOf = async (directory: string): Promise<ReadonlyArray<string>> => {
  const names: Array<string> = []
  for await (const entry of await fs.opendir(directory)) {
    if (names.push(entry.name) >= maxEntries) break
  }
  return names
}

/** Equal for names that look the same: composed or not, whatever the width of their spaces, upper or lower case. */
const fold = (name: string): string =>
  name
    .normalize("NFKC")
    .replace(/[\s\u200b]+/gu, " ")
    .toLowerCase()

// -----------------------------------------------------------------------------
// System calls
// -----------------------------------------------------------------------------

const call = <A>(run: () => Promise<A>): Effect.Effect<A, Errno> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)
  })

const unreachable = <A>(path: string, effect: Effect.Effect<A, Errno>): Effect.Effect<A, FileUnreachable> =>
  Effect.mapError(effect, (code) => new FileUnreachable({ path, reason: reasonOf(code) }))

const reasonOf = (code: Errno): Reason => {
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return { _tag: "NotFound", similar: [] }
    case "EACCES":
    case "EPERM":
      return { _tag: "AccessDenied" }
    case "ELOOP":
      return { _tag: "InvalidPath", why: "its links form a loop" }
    case "ENAMETOOLONG":
      return { _tag: "InvalidPath", why: "it is too long" }
    default:
      return { _tag: "Other", code }
  }
}

const readFully = async (handle: fs.FileHandle, offset: number, length: number): Promise<Uint8Array> => {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
