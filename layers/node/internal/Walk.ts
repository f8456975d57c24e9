/**
 * From a path to what it names, component by component, on open directories.
 *
 * **Contract**
 *
 * - Each name is looked up in the directory that was opened before it, never again
 *   by its path, so a directory that is swapped for a link on the way leads nowhere.
 *   Links are read and followed here, not by the kernel.
 * - A directory or file is opened only to stand for itself (`O_PATH`), or a file only
 *   looked at: nothing is read, no right to read is needed, and no FIFO or device notices.
 * - `..` is the directory that was walked through. Below a name that does not exist
 *   only names are counted.
 * - What is judged is where the walk ended, whether or not there is something.
 * - Where the system has no /proc/self/fd, names are looked up by path, and what was
 *   opened is verified afterwards.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { BigIntStats } from "node:fs"
import * as fs from "node:fs"
import * as os from "node:os"
import { FileUnreachable } from "../../../src/WorkspaceFiles.ts"
import * as FileName from "./FileName.ts"
import type { Raw } from "./FileName.ts"
import { attempt, type Errno, errorWith, outcomeOf, type SystemCalls } from "./SystemCalls.ts"

/**
 * @category models
 * @since 0.1.0
 */
export type Reason = FileUnreachable["reason"]

/**
 * A directory, to look names up in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Directory {
  readonly names: ReadonlyArray<Raw>
  /** Made of the names. */
  readonly path: Raw
  /** Undefined where there are no paths by descriptor. */
  readonly fd: number | undefined
  /** Device and inode. */
  readonly key: string
}

/**
 * Where a path leads, inside of the roots.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  /** Real and absolute. */
  readonly path: Raw
  /** The deepest directory that exists, above what is named. Of a root itself, it is that root. */
  readonly parent: Directory
  /** The names from there on; the last one is that of the file. */
  readonly below: ReadonlyArray<Raw>
  /** What is there. Undefined if nothing is. */
  readonly found: Found | undefined
  /** Why there is nothing. ENOENT: a file could be made there. */
  readonly code: Errno | undefined
  /** The link that the path itself names, if it is one. */
  readonly link: { readonly parent: Directory; readonly name: Raw; readonly stats: BigIntStats } | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Found {
  readonly type: Type
  /** Stands for it; it cannot be read from. Undefined if it was only looked at, and where there are no paths by descriptor. */
  readonly fd: number | undefined
  readonly stats: BigIntStats
}

type Type = "file" | "directory" | "fifo" | "socket" | "device"

/**
 * Where a walk starts and what it may reach.
 *
 * @category models
 * @since 0.1.0
 */
export interface Walker {
  readonly calls: SystemCalls
  /** Paths through /proc/self/fd. */
  readonly byDescriptor: boolean
  /** Granted besides the workspace, absolute. */
  readonly roots: ReadonlyArray<string>
}

/**
 * Walks made together. A directory is opened once for all of them, and all that was opened is closed together.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pass {
  readonly walker: Walker
  readonly opened: Set<number>
  /** By real path. */
  readonly folders: Map<Raw, Directory>
  /** The real paths of workspaces and granted roots, by how they were given. */
  readonly roots: Map<string, Raw>
}

/** Bytes of a path; the limit of Linux. Longer ones would be walked in vain. */
const maxPath = 4096

/** Bytes of a name; the limit of all usual file systems. */
const maxName = 255

/** Links followed on one path; the limit of Linux. More are a loop. */
const maxLinks = 40

/** `O_PATH` of Linux, which Node does not name. It is the same number on x64 and arm64. */
const O_PATH = 0o10000000

/**
 * Whether paths through /proc/self/fd work here.
 *
 * @category constructors
 * @since 0.1.0
 */
export const canWalkByDescriptor = (): boolean => process.platform === "linux" && fs.existsSync("/proc/self/fd")

/**
 * Runs with a pass, closed at the end.
 *
 * @category running
 * @since 0.1.0
 */
export const passing = <A, E, R>(walker: Walker, use: (pass: Pass) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const pass: Pass = { walker, opened: new Set(), folders: new Map(), roots: new Map() }
    return Effect.ensuring(
      use(pass),
      Effect.suspend(() => Effect.forEach(pass.opened, (fd) => close(pass, fd), { discard: true }))
    )
  })

/**
 * Closes what was found, if it is not a directory: nobody else uses it.
 *
 * @category running
 * @since 0.1.0
 */
export const letGo = (pass: Pass, { found }: Place): Effect.Effect<void> =>
  found?.fd === undefined || found.type === "directory" ? Effect.void : close(pass, found.fd)

const close = ({ walker, opened }: Pass, fd: number): Effect.Effect<void> =>
  Effect.ignore(
    attempt(() => {
      opened.delete(fd)
      walker.calls.close(fd)
    })
  )

/**
 * The path of a name in a directory.
 *
 * @category converting
 * @since 0.1.0
 */
export const at = (directory: Directory, name: Raw): Raw =>
  directory.fd === undefined ? below(directory, name) : `/proc/self/fd/${directory.fd}/${name}`

/** The real path of what has that name, or those names, in a directory. */
const below = ({ path }: Directory, name: Raw): Raw => (path === "/" ? path + name : `${path}/${name}`)

/**
 * The path of what was found: itself and nothing else, if it was opened; otherwise its name, by which by now something
 * else may be found.
 *
 * @category converting
 * @since 0.1.0
 */
export const itself = ({ below: [name], found, parent, path }: Place): Raw => {
  if (found?.fd !== undefined) return `/proc/self/fd/${found.fd}`
  return name === undefined ? path : at(parent, name)
}

/**
 * The real path of a workspace.
 *
 * @category running
 * @since 0.1.0
 */
export const rootOf = (pass: Pass, workspace: string): Effect.Effect<Raw, FileUnreachable> =>
  Effect.suspend(() => Effect.fromResult(realRoot(pass, workspace)))

const realRoot = ({ walker, roots }: Pass, workspace: string): Result.Result<Raw, FileUnreachable> => {
  const known = roots.get(workspace)
  if (known !== undefined) return Result.succeed(known)
  const root = outcomeOf(() => walker.calls.realpath(FileName.parse(workspace)))
  if (Result.isFailure(root)) {
    return Result.fail(new FileUnreachable({ path: workspace, reason: reasonOf(root.failure) }))
  }
  roots.set(workspace, root.success)
  return Result.succeed(root.success)
}

/**
 * Walks a path as it was asked for. Nothing at its end is no failure: see `code`. A file at its end is opened to stand
 * for itself, or only looked at.
 *
 * It is made at once: its calls are those on names, see `SystemCalls`.
 *
 * @category running
 * @since 0.1.0
 */
export const walk = (
  pass: Pass,
  workspace: string,
  path: string,
  file: "open" | "look" = "open"
): Effect.Effect<Place, FileUnreachable> =>
  Effect.suspend(() => {
    const fail = (reason: Reason) => Effect.fail(new FileUnreachable({ path, reason }))
    const why = invalid(path)
    if (why !== undefined) return fail({ _tag: "InvalidPath", why })
    const root = realRoot(pass, workspace)
    if (Result.isFailure(root)) return Effect.fail(root.failure)
    const asked = FileName.parse(path === "~" || path.startsWith("~/") ? os.homedir() + path.slice(1) : path)
    const reached = outcomeOf(() => follow(pass, root.success, asked, file))
    if (Result.isFailure(reached)) return fail(reasonOf(reached.failure))
    const place = reached.success
    if (!isInside(root.success, place.path)) {
      const inside = pass.walker.roots.some((extra) => {
        const granted = realRoot(pass, extra)
        return Result.isSuccess(granted) && isInside(granted.success, place.path)
      })
      if (!inside) return fail({ _tag: "OutsideWorkspace", root: FileName.format(root.success) })
    }
    const { code } = place
    return code !== undefined && code !== "ENOENT" && code !== "ENOTDIR" ? fail(reasonOf(code)) : Effect.succeed(place)
  })

/**
 * Opens a directory by its real path. Undefined if it is not there, or a link has taken its place.
 *
 * @category running
 * @since 0.1.0
 */
export const folder = (pass: Pass, names: ReadonlyArray<Raw>): Effect.Effect<Directory | undefined, Errno> =>
  attempt(() => {
    const path = FileName.join(names)
    const place = follow(pass, "/", path, "look")
    return place.path === path && place.found?.type === "directory" ? place.parent : undefined
  })

/**
 * By component: `/ws-evil` is not inside of `/ws`. Both are real paths.
 *
 * @category guards
 * @since 0.1.0
 */
export const isInside = (root: Raw, path: Raw): boolean =>
  path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`)

/**
 * @category converting
 * @since 0.1.0
 */
export const reasonOf = (code: Errno): Reason => {
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

const invalid = (path: string): string | undefined => {
  if (path === "") return "it is empty"
  if (!path.isWellFormed()) return "it contains half of a surrogate pair"
  if (path.length > maxPath) return "it is too long"
  const raw = FileName.parse(path)
  if (raw.includes("\0")) return "it contains a NUL"
  if (raw.length > maxPath) return "it is too long"
  if (/\\x2f/i.test(path) && raw.split("/").length !== path.split("/").length) return "a name contains a slash"
  if (raw.split("/").some((name) => name.length > maxName)) return `a name has more than ${maxName} bytes`
  return undefined
}

/** A directory on the way. Those above the root, which were not walked, are opened by their real path if ever. */
interface Step {
  readonly name: Raw
  directory: Directory | undefined
}

/** Throws what a call throws, where that is not an answer. */
const follow = (pass: Pass, root: Raw, asked: Raw, file: "open" | "look"): Place => {
  const { walker, opened, folders } = pass
  const { calls, byDescriptor } = walker
  const above = (path: Raw): Array<Step> => {
    const steps = FileName.split(path).map((name): Step => ({ name, directory: undefined }))
    const last = steps.at(-1)
    if (last !== undefined) last.directory = folders.get(path)
    return steps
  }

  /** Opens a name to stand for itself. */
  const open = (path: Raw) => {
    if (!byDescriptor) return { fd: undefined, stats: calls.lstat(path) }
    const fd = calls.open(path, O_PATH | fs.constants.O_NOFOLLOW)
    opened.add(fd)
    return { fd, stats: calls.fstat(fd) }
  }

  const look = (path: Raw) => {
    if (file === "open") return open(path)
    const stats = calls.lstat(path)
    return stats.isDirectory() ? open(path) : { fd: undefined, stats }
  }

  const directoryAt = (steps: ReadonlyArray<Step>): Directory => {
    const last = steps.at(-1)
    if (last?.directory !== undefined) return last.directory
    const names = steps.map(({ name }) => name)
    const path = FileName.join(names)
    const known = folders.get(path)
    if (known !== undefined) return known
    const { fd, stats } = open(path)
    if (!stats.isDirectory()) throw errorWith("ENOTDIR")
    const directory: Directory = { names, path, fd, key: keyOf(stats) }
    folders.set(path, directory)
    if (last !== undefined) last.directory = directory
    return directory
  }

  /** Does a real root hold it? Then the walk starts there, and not at the top. */
  const start = (path: Raw): { readonly steps: Array<Step>; readonly names: ReadonlyArray<Raw> } =>
    !path.startsWith("/")
      ? { steps: above(root), names: FileName.split(path) }
      : isInside(root, path)
        ? { steps: above(root), names: FileName.split(path.slice(root.length)) }
        : { steps: [], names: FileName.split(path) }

  const first = start(asked)
  let steps = first.steps
  const pending = first.names.toReversed()
  let rest: Array<Raw> = []
  let found: Found | undefined
  let code: Errno | undefined
  let link: Place["link"]
  let links = 0
  let followed = false

  while (pending.length > 0) {
    const name = pending.pop()!
    if (name === "." || name === "..") {
      // A file has nothing below it: what it is asked for is not there, however many `..` follow.
      if (found !== undefined) {
        found = undefined
        code = "ENOTDIR"
      }
      if (name === ".") continue
      if (code !== undefined) code = "ENOTDIR"
      if (rest.length > 0) rest.pop()
      else steps.pop()
      continue
    }
    if (code !== undefined || found !== undefined) {
      code ??= "ENOTDIR"
      found = undefined
      rest.push(name)
      continue
    }
    const directory = directoryAt(steps)
    const real = below(directory, name)
    const known = folders.get(real)
    if (known !== undefined) {
      steps.push({ name, directory: known })
      continue
    }
    const seen = outcomeOf(() => look(at(directory, name)))
    if (Result.isFailure(seen)) {
      code = seen.failure
      rest = [name]
      continue
    }
    const { fd, stats } = seen.success
    if (stats.isDirectory()) {
      const entered = { names: [...directory.names, name], path: real, fd, key: keyOf(stats) }
      folders.set(real, entered)
      steps.push({ name, directory: entered })
    } else if (stats.isSymbolicLink()) {
      if (++links > maxLinks) throw errorWith("ELOOP")
      const target = outcomeOf(() => calls.readlink(at(directory, name)))
      if (Result.isFailure(target)) {
        // It is no longer a link: look again.
        if (target.failure !== "EINVAL") throw errorWith(target.failure)
        pending.push(name)
        continue
      }
      if (!followed && pending.length === 0) link = { parent: directory, name, stats }
      followed ||= pending.length === 0
      const next = start(target.success)
      if (target.success.startsWith("/")) steps = next.steps
      pending.push(...(target.success.startsWith("/") ? next.names : FileName.split(target.success)).toReversed())
    } else {
      found = { type: typeOf(stats), fd, stats }
      rest = [name]
    }
  }

  const parent = directoryAt(steps)
  const path = rest.length === 0 ? parent.path : below(parent, rest.join("/"))
  const place = { path, code, link, parent, below: rest }
  if (found !== undefined || code !== undefined) return { ...place, found }
  const stats = parent.fd === undefined ? calls.lstat(path) : calls.fstat(parent.fd)
  return { ...place, found: { type: "directory", fd: parent.fd, stats } }
}

/**
 * What a file is known by, whatever its names.
 *
 * @category converting
 * @since 0.1.0
 */
export const keyOf = (stats: BigIntStats): string => `${stats.dev}:${stats.ino}`

const typeOf = (stats: BigIntStats): Type =>
  stats.isFile()
    ? "file"
    : stats.isDirectory()
      ? "directory"
      : stats.isFIFO()
        ? "fifo"
        : stats.isSocket()
          ? "socket"
          : "device"
