/**
 * A sandbox of bubblewrap, in words that `bwrap` understands.
 *
 * - The namespaces are new: of users, without rights and without the right to make more; of processes, so that nobody
 *   outside can be named; of System V IPC; of the network if there is to be none. What is left in them dies with the command.
 * - The root is the host's, read-only if files are confined. What is laid over it is sorted: deeper lies on top.
 * - `bwrap` itself gets no variable of the command: its loader would obey LD_PRELOAD outside of the sandbox. All that it
 *   is told goes through a pipe: command lines are public.
 *
 * **Source** bwrap(1), 0.8.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import { hasNetwork, writes } from "../../../src/Sandbox.ts"
import { isInside, type View } from "./SandboxView.ts"

/**
 * What can be laid over a path: a place of the host, or a folder that is made.
 *
 * @category models
 * @since 0.1.0
 */
export type Layer =
  | { readonly at: string; readonly bind: string; readonly writable: boolean }
  | { readonly at: string; readonly made: "empty" | "dev" | "proc" }

/** Arguments that `bwrap` takes, its own among them. It says so only when it runs. */
const maxArguments = 9_000

/**
 * Settings of the kernel, which its super-user may write without any right: what `bwrap` itself covers leaves out those
 * below folders that cannot be written. To others they are closed anyway.
 */
const kernelFiles = ["acpi", "bus", "fs", "irq", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger"]

/** Where it is told how, as a descriptor. */
const told = 3

/**
 * From where it takes a byte when the sandbox is made, before anything is run in it: a byte that it has not taken when it
 * closes the socket comes back as an error.
 *
 * **Source** unix(7); Linux, net/unix/af_unix.c, `unix_release_sock`.
 */
const made = 4

/**
 * What is there on every system, and changes what a command is to see.
 *
 * @category models
 * @since 0.1.0
 */
export interface Host {
  /** The folders of sockets and other traces of what runs: what is there, really. */
  readonly running: ReadonlyArray<string>
  /** What is needed of them. */
  readonly needed: ReadonlyArray<string>
  /** Folders of temporary files. */
  readonly temporary: ReadonlyArray<string>
  /** What this user may write of the kernel's, though it has no rights. */
  readonly settings: ReadonlyArray<string>
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const hostOf = (): Host => {
  const real = (names: ReadonlyArray<string>) =>
    Array.from(
      new Set(
        names.flatMap((name) => {
          try {
            return [fs.realpathSync(name)]
          } catch {
            return []
          }
        })
      )
    )
  const running = real(["/run", "/var/run"])
  return {
    running,
    // Of systemd-resolved, and of NixOS: the names of hosts and of programs lead there.
    needed: [...real(["/etc/resolv.conf"]), "/run/current-system"].filter(
      (name) => fs.existsSync(name) && running.some((folder) => isInside(folder, name))
    ),
    temporary: real(["/tmp", "/var/tmp"]),
    settings: process.geteuid?.() === 0 ? real(kernelFiles.map((name) => `/proc/${name}`)) : []
  }
}

/**
 * What is laid over the root, in this order.
 *
 * @category converting
 * @since 0.1.0
 */
export const layers = (view: View, host: Host, emptyFile: string): ReadonlyArray<Layer> => {
  const { needed, running, settings, temporary } = host
  const confined = writes(view.sandbox) !== "anywhere"
  const hide = (at: string, type: "folder" | "file"): Layer =>
    type === "file" ? { at, bind: emptyFile, writable: false } : { at, made: "empty" }
  const isSeen = (at: string) => isVisible(view, host, at)
  const { temporary: own } = view
  const writable = writes(view.sandbox) !== "nowhere"
  return [
    ...running.map((at): Layer => ({ at, made: "empty" })),
    ...(own === undefined ? [] : temporary.map((at): Layer => ({ at, bind: own, writable: true }))),
    // Those of other sessions.
    ...(confined && isSeen(view.base) ? [hide(view.base, "folder")] : []),
    ...needed.map((at): Layer => ({ at, bind: at, writable: false })),
    ...view.hidden
      .filter(({ path }) => isSeen(path))
      .map(({ path, type }) => hide(path, type === "file" ? type : "folder")),
    // The root is bound as it is to be.
    ...(view.workspace === "/" ? [] : [{ at: view.workspace, bind: view.workspace, writable }]),
    ...view.fixed.map((at): Layer => ({ at, bind: at, writable: true })),
    ...view.guarded.map(({ path, type }): Layer =>
      type === "missing" ? { at: path, made: "empty" } : { at: path, bind: path, writable: false }
    ),
    ...view.sockets.filter(isSeen).map((at) => hide(at, "file")),
    ...(confined ? [] : [{ at: "/sys", bind: "/sys", writable: false }]),
    { at: "/dev", made: "dev" } as const,
    { at: "/proc", made: "proc" } as const,
    ...settings.map((at): Layer => ({ at, bind: at, writable: false }))
  ].toSorted((a, b) => order(a.at, b.at))
}

/**
 * Whether a path of the host is seen in the sandbox as what it is: the deepest of what is laid over a folder above it
 * shows the host's.
 *
 * @category guards
 * @since 0.1.0
 */
export const isVisible = (view: View, { needed, running, temporary }: Host, at: string): boolean => {
  const covers = [
    ...running,
    ...(view.temporary === undefined ? [] : [...temporary, view.base]),
    ...view.hidden.map(({ path }) => path)
  ]
  const deepest = (folders: ReadonlyArray<string>) =>
    Math.max(-1, ...folders.filter((folder) => isInside(folder, at)).map((folder) => folder.length))
  return deepest([view.workspace, ...needed]) >= deepest(covers.filter((cover) => cover !== at))
}

/** What is above another comes first; of the same path what came first stays so. */
const order = (a: string, b: string): number => (a === b ? 0 : folderName(a) < folderName(b) ? -1 : 1)

const folderName = (at: string): string => (at === "/" ? at : `${at}/`)

/**
 * How a sandbox is made.
 *
 * @category converting
 * @since 0.1.0
 */
export const options = (view: View, host: Host, emptyFile: string): ReadonlyArray<string> => {
  const laid = layers(view, host, emptyFile)
  const writable =
    writes(view.sandbox) === "anywhere" || (writes(view.sandbox) === "workspace" && view.workspace === "/")
  return [
    "--unshare-user",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--unshare-pid",
    "--unshare-ipc",
    ...(hasNetwork(view.sandbox) ? [] : ["--unshare-net"]),
    "--die-with-parent",
    // So that SIGTERM to the command's group is not for `bwrap`, with which all would be over.
    "--new-session",
    writable ? "--bind" : "--ro-bind",
    "/",
    "/",
    ...laid.flatMap(laying),
    // At the end: others may lie on it, for which it needs places.
    ...laid.flatMap((layer) => ("made" in layer && layer.made === "empty" ? ["--remount-ro", layer.at] : []))
  ]
}

const laying = (layer: Layer): ReadonlyArray<string> =>
  "bind" in layer
    ? [layer.writable ? "--bind" : "--ro-bind", layer.bind, layer.at]
    : layer.made === "empty"
      ? ["--perms", "0555", "--tmpfs", layer.at]
      : [`--${layer.made}`, layer.at]

/**
 * What `bwrap` is to be told through the pipe: how the sandbox is made, where the command starts, and its environment.
 * Throws if that is more than it takes, or if something holds a NUL, which would be the end of an argument.
 *
 * @category converting
 * @since 0.1.0
 */
export const message = (
  options: ReadonlyArray<string>,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>
): Buffer => {
  const variables = Object.entries(env).flatMap(([name, value]) => {
    // As the system sees it: up to the first `=` it is the name.
    const [whole, before, after] = /^([^=]+)=([^]*)$/.exec(`${name}=${value ?? ""}`) ?? []
    return whole === undefined || value === undefined ? [] : ["--setenv", before ?? "", after ?? ""]
  })
  const all = [...options, "--chdir", cwd, ...variables]
  if (all.some((part) => part.includes("\0"))) throw new TypeError("a NUL in the environment or in a path")
  if (all.length > maxArguments) throw Object.assign(new Error("too many variables"), { code: "E2BIG" })
  return Buffer.from(all.map((part) => `${part}\0`).join(""))
}

/**
 * @category converting
 * @since 0.1.0
 */
export const args = (program: string, args: ReadonlyArray<string>): ReadonlyArray<string> => [
  "--args",
  String(told),
  "--block-fd",
  String(made),
  "--",
  program,
  ...args
]
