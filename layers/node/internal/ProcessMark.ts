/**
 * The variable by which a process is known that a command started, wherever it went: its value is handed down to all
 * descendants, and /proc shows it.
 *
 * It names the command, its call, and the program that ran it, so that the next start can tell whom a program left that died. A
 * program that is itself run by a command adds to what it was given: it belongs to both.
 *
 * Not reached: who left the session *and* emptied or overwrote its environment, while none of its kin that is known runs.
 *
 * @since 0.1.0
 */
import { randomUUID } from "node:crypto"
import type { Look, ProcessTable } from "./ProcessTable.ts"

/**
 * @category models
 * @since 0.1.0
 */
export const markName = "TOOLSTREAM_PROCESS"

const start = Buffer.from(`${markName}=`)

/** `NAMESPACE.PID.START`: no other program was or will be it, until the system is started anew and nothing is left. */
const hostOf = (table: ProcessTable): string =>
  `${table.namespace}.${process.pid}.${table.entry(process.pid)?.startedAt ?? ""}`

/**
 * @category models
 * @since 0.1.0
 */
export class Marks {
  private readonly host: string
  private readonly inherited = process.env[markName]

  constructor(table: ProcessTable) {
    this.host = hostOf(table)
  }

  /** Of a command of a call, or of none. */
  make(callId?: string): { readonly mark: string; readonly value: string } {
    const call = callId !== undefined && /^[\w-]{1,64}$/.test(callId) ? `.${callId}` : ""
    const mark = `${this.host}.${randomUUID()}${call}`
    return { mark, value: this.inherited === undefined ? mark : `${this.inherited},${mark}` }
  }

  /**
   * Those that run, were started by a program of the same user that runs no more, and do not hold this program among
   * their descendants. It is not whole if one did not show whose he is, being about to become another program.
   */
  leftovers(table: ProcessTable, tell: (pid: number, callId: string) => void): Look {
    const ownHosts = new Set(marksIn(this.inherited ?? "").map(({ host }) => host))
    const alive = new Map<string, boolean>()
    const isDead = (host: string): boolean => {
      const known = alive.get(host)
      if (known !== undefined) return !known
      const [namespace, pid, startedAt] = host.split(".")
      // The numbers of another namespace say nothing here.
      const lives = namespace !== table.namespace || !table.isDead(Number(pid), startedAt ?? "")
      alive.set(host, lives)
      return !lives
    }
    let isWhole = true
    const { entries } = table.look()
    const found = entries.filter((entry) => {
      if (entry.isKernel === true) return false
      const environment = table.environment(entry.pid)
      if (environment === undefined && table.runs(entry)) isWhole = false
      const value = environment === undefined ? "" : valueIn(environment)
      if (value === "" || entry.pid === process.pid || !table.isOurs(entry.pid)) return false
      const dead = marksIn(value).filter(({ host }) => !ownHosts.has(host) && isDead(host))
      for (const { callId } of dead) if (callId !== undefined) tell(entry.pid, callId)
      return dead.length > 0
    })
    return { entries: found, isWhole }
  }
}

const marksIn = (value: string): ReadonlyArray<{ readonly host: string; readonly callId: string | undefined }> =>
  value.split(",").flatMap((mark) => {
    const [, host, callId] = /^(\d+\.\d+\.\d+)\.[\da-f-]{36}(?:\.([\w-]{1,64}))?$/.exec(mark) ?? []
    return host === undefined ? [] : [{ host, callId }]
  })

/** The variable's value in an environment as /proc gives it. */
const valueIn = (environment: Buffer): string => {
  for (let at = environment.indexOf(start); at !== -1; at = environment.indexOf(start, at + 1)) {
    if (at > 0 && environment[at - 1] !== 0) continue
    const end = environment.indexOf(0, at)
    return environment.toString("latin1", at + start.length, end === -1 ? environment.length : end)
  }
  return ""
}

/**
 * @category models
 * @since 0.1.0
 */
export const bears = (environment: Buffer, mark: string): boolean => valueIn(environment).split(",").includes(mark)
