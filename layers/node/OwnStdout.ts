/**
 * A stdout that belongs to what the program has to say, whatever else writes.
 *
 * **Contract**
 *
 * Of a program that has reserved it, everything else that writes to the descriptor 1
 * (`console.log`, a native module, a child that inherits it) writes to stderr. The
 * reserved descriptor is another, which no child inherits.
 *
 * **Details**
 *
 * Node cannot give a descriptor another number, so the process replaces itself, through a shell that can: `exec node …
 * 3>&1 1>&2`. To whoever started it, it stays the same process. Where that cannot be done (Windows), `claim` turns
 * writes through `process.stdout` to stderr, and what bypasses it is not turned.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import type { Writable } from "node:stream"

/** Tells the new program that it is one. Children do not see it. */
const variable = "TOOLSTREAM_OWN_STDOUT"

/** The first after 0, 1 and 2. */
const descriptor = 3

/** Of the process, not of this module: a bundle of the program has a module of its own. */
const state: { [key: symbol]: unknown } = globalThis
const key = Symbol.for("toolstream/OwnStdout")

/** The variable names this process, so that it is not one that was inherited. */
const reserved = (state[key] ??= process.env[variable] === String(process.pid)) === true
delete process.env[variable]

/**
 * Starts the program again with a stdout of its own, unless it has been. Does not return if it can. To be called before
 * anything is opened or read.
 *
 * @category running
 * @since 0.1.0
 */
export const reserve = (): void => {
  const { argv, env, execArgv, execPath, platform } = process
  if (reserved || platform === "win32") return
  try {
    process.execve?.(
      "/bin/sh",
      ["sh", "-c", `exec "$@" ${descriptor}>&1 1>&2`, "sh", execPath, ...execArgv, ...argv.slice(1)],
      { ...env, [variable]: String(process.pid) }
    )
  } catch {
    // Nothing has been replaced: the program goes on with what it has.
  }
}

/**
 * Where what the program has to say is written: the reserved stdout, or the common one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = (): Pick<Writable, "write" | "on"> => {
  if (reserved) return writable(descriptor)
  const { stdout } = process
  return { on: stdout.on.bind(stdout), write: stdout.write.bind(stdout) }
}

/** A pipe is written as a socket is: without a thread that waits for its reader. */
const writable = (fd: number): Writable => {
  const stats = fs.fstatSync(fd)
  // Most programs have no use for the network's module.
  const { Socket } = process.getBuiltinModule("node:net")
  return stats.isFIFO() || stats.isSocket()
    ? new Socket({ fd, readable: false, writable: true })
    : fs.createWriteStream("", { fd, autoClose: false })
}

/**
 * Turns what else is written through `process.stdout` to stderr, if stdout is not reserved. After `open`.
 *
 * @category running
 * @since 0.1.0
 */
export const claim = (): void => {
  if (!reserved) process.stdout.write = process.stderr.write.bind(process.stderr)
}
