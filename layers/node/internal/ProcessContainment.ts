/**
 * How those are held together that a command starts: the level, chosen once for a layer, and what it adds to a command.
 *
 * What each costs and changes: docs/decisions/0008.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Containment } from "../../../src/Processes.ts"
import { Marks, markName } from "./ProcessMark.ts"
import type { ProcessTable } from "./ProcessTable.ts"

/**
 * What one command is held in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Cell {
  readonly level: Containment
  readonly mark: string | undefined
  /**
   * The first process is not the command: it waits for it in a session of its own, hears no SIGTERM, and all is over with
   * it.
   */
  readonly isKept?: boolean | undefined
  readonly env: Readonly<Record<string, string>>
  /** What runs `program` in it. */
  readonly program: (program: string) => string
  readonly args: (program: string, args: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Who is known to be in it, besides those that bear the mark. */
  readonly pids: () => ReadonlyArray<number>
  /** Kills all who are in it at once, where that can be done. */
  readonly kill: () => void
  readonly close: Effect.Effect<void>
}

/**
 * What the system offers. Asked once, and given by tests.
 *
 * @category models
 * @since 0.1.0
 */
export interface Facts {
  readonly table: ProcessTable | undefined
  /** The arguments with which `unshare` makes a pid namespace; undefined if it cannot. */
  readonly unshare: () => ReadonlyArray<string> | undefined
  /** A folder of cgroup v2 in which folders can be made; undefined if there is none. */
  readonly cgroup: () => string | undefined
}

/** The best there is, of those no better than what is wanted. */
const order: ReadonlyArray<Containment> = ["namespace", "cgroup", "marker", "group"]

/**
 * Makes a cell for each command, of the wanted level or the next that can be had.
 *
 * @category constructors
 * @since 0.1.0
 */
export const choose = (wanted: Containment | "best", facts: Facts): ((callId?: string) => Cell) => {
  const { table } = facts
  const marks = table === undefined ? undefined : new Marks(table)
  const plain = (level: Containment, callId: string | undefined): Cell => {
    const made = marks?.make(callId)
    return {
      level,
      mark: level === "group" ? undefined : made?.mark,
      // Also where nobody looks for it: the next start does, if this program dies.
      env: made === undefined ? {} : { [markName]: made.value },
      program: (program) => program,
      args: (_, args) => args,
      pids: () => [],
      kill: () => {},
      close: Effect.void
    }
  }
  for (const level of order.slice(wanted === "best" ? 0 : order.indexOf(wanted))) {
    switch (level) {
      case "namespace": {
        const flags = table === undefined ? undefined : facts.unshare()
        if (flags === undefined) break
        return (callId) => ({
          ...plain(level, callId),
          program: () => "unshare",
          args: (program, args) => [...flags, "--", program, ...args]
        })
      }
      case "cgroup": {
        const parent = table === undefined ? undefined : facts.cgroup()
        if (parent === undefined) break
        return (callId) => inCgroup(plain(level, callId), path.join(parent, `toolstream-${randomUUID()}`))
      }
      case "marker":
        if (table === undefined) break
        return (callId) => plain(level, callId)
      case "group":
        return (callId) => plain(level, callId)
    }
  }
  return (callId) => plain("group", callId)
}

/**
 * The cell of a command that is kept in a pid namespace by the process that was started.
 *
 * @category converting
 * @since 0.1.0
 */
export const kept = (cell: Cell): Cell => ({ ...cell, level: "namespace", isKept: true })

/**
 * The command puts itself into its cgroup before it becomes what it is to be: whoever is put there by another may have
 * forked before. A folder that cannot be made leaves the mark.
 */
const inCgroup = (cell: Cell, folder: string): Cell => {
  try {
    fs.mkdirSync(folder)
  } catch {
    return { ...cell, level: "marker" }
  }
  const members = path.join(folder, "cgroup.procs")
  return {
    ...cell,
    program: () => "/bin/sh",
    args: (program, args) => ["-c", 'echo 0 > "$0"; exec "$@"', members, program, ...args],
    pids: () => {
      try {
        return fs.readFileSync(members, "latin1").split("\n").map(Number)
      } catch {
        return []
      }
    },
    kill: () => {
      try {
        fs.writeFileSync(path.join(folder, "cgroup.kill"), "1")
      } catch {
        // Nobody was ever in it, or it is gone. Signals are sent as well.
      }
    },
    close: Effect.sync(() => {
      try {
        fs.rmdirSync(folder)
      } catch {
        // Somebody is in it whom no signal ends; or the command made folders in it, which are its own to clear away.
      }
    })
  }
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const systemFacts = (table: ProcessTable | undefined): Facts => ({ table, unshare, cgroup })

/** Tried, not looked up: whether it is allowed is settled in too many places. */
const unshare = (): ReadonlyArray<string> | undefined => {
  const base = ["--pid", "--fork", "--kill-child"]
  return [base, ["--user", "--map-current-user", ...base]].find(
    (flags) => spawnSync("unshare", [...flags, "--", "true"], { stdio: "ignore" }).status === 0
  )
}

/** The cgroup that this program is in: those below it may be entered by who may write to it. */
const cgroup = (): string | undefined => {
  try {
    const own = /^0::(.*)$/m.exec(fs.readFileSync("/proc/self/cgroup", "utf8"))?.[1]
    const mount = / (\S+) cgroup2 /.exec(fs.readFileSync("/proc/self/mounts", "utf8"))?.[1]
    if (own === undefined || mount === undefined) return undefined
    const folder = path.join(mount, own)
    const trial = path.join(folder, `toolstream-${randomUUID()}`)
    fs.mkdirSync(trial)
    const kills = fs.existsSync(path.join(trial, "cgroup.kill"))
    fs.rmdirSync(trial)
    fs.accessSync(path.join(folder, "cgroup.procs"), fs.constants.W_OK)
    return kills ? folder : undefined
  } catch {
    return undefined
  }
}
