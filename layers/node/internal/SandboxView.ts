/**
 * What a sandboxed command is to see: read from the file system when it is started, and the same for every system that makes
 * the sandbox of it.
 *
 * Why these: docs/decisions/0016.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { type Sandbox, writes } from "../../../src/Sandbox.ts"

/**
 * Folders and files of credentials, from the home directory, or absolute.
 *
 * @category models
 * @since 0.1.0
 */
export const secrets: ReadonlyArray<string> = [
  ".ssh",
  ".gnupg",
  ".aws",
  ".azure",
  ".kube",
  ".docker",
  ".oci",
  ".password-store",
  ".terraform.d",
  ".mozilla",
  ".thunderbird",
  ".1password",
  ".config/1Password",
  ".config/BraveSoftware",
  ".config/chromium",
  ".config/containers",
  ".config/doctl",
  ".config/gcloud",
  ".config/gh",
  ".config/git/credentials",
  ".config/glab-cli",
  ".config/google-chrome",
  ".config/hub",
  ".config/op",
  ".config/rclone",
  ".config/sops",
  ".local/share/keyrings",
  ".local/share/kwalletd",
  ".cache/toolstream",
  "Library/Application Support/Google",
  "Library/Cookies",
  "Library/Keychains",
  ".bash_history",
  ".zsh_history",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".git-credentials",
  ".my.cnf",
  ".netrc",
  ".npmrc",
  ".pgpass",
  ".pypirc",
  ".vault-token",
  "/etc/gshadow",
  "/etc/shadow",
  "/etc/ssh"
]

/**
 * What is run or obeyed without anybody asking for it, from the workspace: a command could leave there what the user's next
 * `git status` runs, outside of the sandbox.
 */
const obeyed: ReadonlyArray<string> = [".git/hooks", ".git/config", ".toolstream"]

/**
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  /** Real and absolute. */
  readonly path: string
  /** Missing is a folder that is not to be made. */
  readonly type: "folder" | "file" | "missing"
}

/**
 * @category models
 * @since 0.1.0
 */
export interface View {
  readonly sandbox: Sandbox
  readonly workspace: string
  /** Of the session. Undefined where anything may be written. */
  readonly temporary: string | undefined
  /** Of this program: it holds the temporary folders of all sessions. */
  readonly base: string
  readonly hidden: ReadonlyArray<Entry>
  /** In the workspace, and never written. */
  readonly guarded: ReadonlyArray<Entry>
  /** Folders on the way to these. One that could be renamed would take them with it. */
  readonly fixed: ReadonlyArray<string>
  /** Of other programs, outside of the workspace. */
  readonly sockets: ReadonlyArray<string>
}

/**
 * Throws what the system says of a workspace that is not there.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: {
  readonly sandbox: Sandbox
  readonly workspace: string
  readonly home: string
  readonly base: string
  readonly temporary: string | undefined
}): View => {
  const workspace = fs.realpathSync(options.workspace)
  const confined = writes(options.sandbox) !== "anywhere"
  const written = writes(options.sandbox) === "workspace"
  const { base, home, sandbox, temporary } = options
  return {
    sandbox,
    base,
    temporary,
    workspace,
    hidden: confined ? secrets.flatMap((name) => entryAt(path.resolve(home, name))) : [],
    ...(written ? obeyedIn(workspace) : { guarded: [], fixed: [] }),
    sockets: socketsOfOthers().filter((socket) => !isInside(workspace, socket))
  }
}

const obeyedIn = (workspace: string): Pick<View, "guarded" | "fixed"> => {
  const git = path.join(workspace, ".git")
  const isFolder = fs.lstatSync(git, { throwIfNoEntry: false })?.isDirectory() === true
  const hooks = path.join(git, "hooks")
  const guarded = [
    ...obeyed.flatMap((name) => entryAt(path.join(workspace, name))),
    // Of a linked work tree it is a file that says where the repository is.
    ...(isFolder ? [] : entryAt(git).filter(({ type }) => type === "file")),
    ...(isFolder && !fs.existsSync(hooks) ? [{ path: hooks, type: "missing" as const }] : [])
  ]
  return { guarded: guarded.filter((entry) => isInside(workspace, entry.path)), fixed: isFolder ? [git] : [] }
}

/**
 * @category guards
 * @since 0.1.0
 */
export const isInside = (folder: string, file: string): boolean =>
  file === folder || file.startsWith(folder.endsWith("/") ? folder : `${folder}/`)

const entryAt = (name: string): ReadonlyArray<Entry> => {
  try {
    const real = fs.realpathSync(name)
    const stats = fs.statSync(real)
    if (!isReachable(real)) return []
    return stats.isDirectory() ? [{ path: real, type: "folder" }] : stats.isFile() ? [{ path: real, type: "file" }] : []
  } catch {
    return []
  }
}

/**
 * Whether all folders above may be entered by this user without rights, which the super-user has and a sandboxed command has
 * not. What cannot be reached is not to be hidden: whoever makes the sandbox cannot reach it either.
 */
const isReachable = (real: string): boolean => {
  const folder = path.dirname(real)
  const { gid, mode, uid } = fs.statSync(folder)
  const bit = uid === process.geteuid?.() ? 0o100 : groups.includes(gid) ? 0o010 : 0o001
  return (mode & bit) !== 0 && (folder === "/" || isReachable(folder))
}

const groups = [process.getegid?.(), ...(process.getgroups?.() ?? [])]

/**
 * The sockets that have a place in the file system, as the kernel lists them: 0.1 ms. A file system that cannot be written
 * is no obstacle to who connects to one.
 *
 * **Source** proc_pid_net(5), unix: the name is the eighth column, and may hold spaces.
 */
const socketsOfOthers = (): ReadonlyArray<string> => {
  try {
    const lines = fs.readFileSync("/proc/net/unix", "utf8").split("\n")
    const names = lines.flatMap((line) => /^\S+: (?:\S+ +){6}(\/.+)$/.exec(line)?.[1] ?? [])
    return Array.from(new Set(names)).flatMap((name) => {
      try {
        const real = fs.realpathSync(name)
        return fs.statSync(real).isSocket() && isReachable(real) ? [real] : []
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}
