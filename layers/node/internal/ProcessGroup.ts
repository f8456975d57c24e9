/**
 * The processes that one command became, and how they are ended.
 *
 * **Contract**
 *
 * - A command leads a session of its own, and in it a group. Most of what it
 *   starts stays in the group; some programs make groups of their own in the same
 *   session (`timeout`, a shell with job control), some a session (`setsid`).
 * - To it belongs who is in its session, bears its mark, is in its cgroup, or
 *   descends from one who does; and who is in a session with such a one: a session
 *   is left only for one's own, so that no stranger can be in it.
 * - It is over when none of them runs. Zombies do not run: in a container whose
 *   first process reaps late, or never, they stay for a while.
 * - Once it is over it is never signalled again, and nobody is without a look at
 *   the time of his start: numbers are given away again.
 * - Where there is no /proc, only the group is known, as a whole and by its
 *   number; on Windows only the command itself.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { LeftBehind } from "../../../src/Processes.ts"
import type { Cell } from "./ProcessContainment.ts"
import { endAll } from "./ProcessEnd.ts"
import { bears } from "./ProcessMark.ts"
import type { Entry, ProcessTable } from "./ProcessTable.ts"

/**
 * How long it takes at the least until numbers are given away a second time, in ms. Until then only those are looked at
 * that were given away since the start; 32,768 forks in a second are more than machines do today.
 */
const anewMs = 1_000

/**
 * How long somebody is waited for who is about to become another program, in ms. It takes a tenth, and on a busy machine
 * as long as the scheduler likes. Longer makes commands wait for a program whose disk does not answer.
 */
const startingMs = 1_000

/** Looks in a row while those vanish that were just seen: whom they forked is seen by the next. */
const maxLooks = 8

/**
 * @category models
 * @since 0.1.0
 */
export class ProcessGroup {
  /** The number of the session, of its first group, and of that group's first process, the leader. */
  readonly id: number
  /** The leader was reaped. Set by whoever listens to it. */
  leaderReaped = false
  /** It was ended by SIGKILL. Set together with `leaderReaped`. */
  leaderKilled = false
  private over = false
  private readonly cell: Cell
  private readonly table: ProcessTable | undefined
  private readonly startedAt = performance.now()
  /** Those of whom it is known that they belong to it, or do not, by the time of their start. */
  private readonly known = new Map<number, string>()
  private readonly strangers = new Map<number, string>()
  private readonly starting = new Map<number, number>()
  /** Somebody was seen in the last look who did not show yet whose he is, or may have been missed. */
  private undecided = false
  /** Somebody was seen in it who ended before he showed it. */
  private vanished = false

  constructor(id: number, cell: Cell, table: ProcessTable | undefined) {
    this.id = id
    this.cell = cell
    this.table = table
  }

  /** Whether somebody of it is at work, as far as is known: not asleep, although on a busy machine he may not come to it. */
  get isBusy(): boolean {
    return this.members().some(({ isBusy }) => isBusy === true)
  }

  /** Sends a signal to all of them at once, unless it is over. */
  signal(signal: NodeJS.Signals): void {
    this.send(this.members(), signal)
  }

  /**
   * Ends what runs of it: SIGTERM, and after `graceMs` SIGKILL. Returns when nothing of it runs and the leader was
   * reaped, with the fate of each process seen, the command itself excepted. Without a fork since the start it costs
   * some µs, otherwise a look at who was started since.
   *
   * @since 0.1.0
   */
  end(graceMs: number): Effect.Effect<ReadonlyArray<LeftBehind>> {
    return Effect.andThen(
      Effect.suspend(() => {
        if (this.leaderReaped && this.isAlone()) {
          this.over = true
          return Effect.succeed([])
        }
        return endAll(
          {
            look: (see) => this.members(see),
            runs: (entry) => this.runs(entry),
            signal: (entries, signal) => this.send(entries, signal),
            pending: () => !this.leaderReaped || this.undecided,
            unnamed: (entry) => this.isUnnamed(entry),
            deaf: (running) => this.areDeaf(running)
          },
          graceMs
        )
      }),
      (left) => Effect.as(this.cell.close, left)
    )
  }

  /** The command itself, and what is between it and the leader. */
  private isUnnamed({ parent, pid }: Entry): boolean {
    if (pid === this.id && !this.leaderReaped) return true
    if (this.cell.level !== "namespace") return false
    if (this.cell.isKept !== true) return parent === this.id
    // Who is still seen after its keeper was killed with it. Before, the command is the second in its namespace.
    return this.leaderReaped || (this.table?.innerPid(pid) ?? 0) <= 2
  }

  /** Whether nobody can be left after the leader. */
  private isAlone(): boolean {
    // The first process of a namespace takes all with it, and the leader waits for it; but a keeper only for the command.
    if (this.cell.level === "namespace" && this.cell.isKept !== true && !this.leaderKilled) return true
    return this.isRecent() && this.table?.lastPid === this.id
  }

  private isRecent(): boolean {
    return performance.now() - this.startedAt < anewMs
  }

  /** Those that run, the leader among them. `see` gets each as soon as it is known that it belongs to them. */
  private members(see: (entry: Entry) => void = () => {}): ReadonlyArray<Entry> {
    if (this.over) return []
    const members = this.table === undefined ? this.whole() : this.family(this.table, see)
    if (members.length === 0 && this.leaderReaped && !this.undecided) this.over = true
    return members
  }

  private whole(): ReadonlyArray<Entry> {
    const { id } = this
    if (isWindows ? this.leaderReaped : !kill(target(id), 0)) return []
    return [{ pid: id, parent: 0, group: id, session: id, startedAt: "" }]
  }

  private family(table: ProcessTable, see: (entry: Entry) => void): ReadonlyArray<Entry> {
    for (let look = 1; ; look++) {
      this.vanished = false
      const members = this.kin(table, see)
      this.undecided ||= this.vanished
      if (members.length > 0 || !this.vanished || look === maxLooks) return members
    }
  }

  private kin(table: ProcessTable, see: (entry: Entry) => void): ReadonlyArray<Entry> {
    const listed = new Set(this.cell.pids())
    const members = new Map<number, Entry>()
    const sessions = new Set([this.id])
    const isKin = (entry: Entry) =>
      sessions.has(entry.session) ||
      members.has(entry.parent) ||
      listed.has(entry.pid) ||
      this.known.get(entry.pid) === entry.startedAt
    const add = (entry: Entry) => {
      members.set(entry.pid, entry)
      // 0: one outside of this namespace.
      if (entry.session > 0) sessions.add(entry.session)
      this.known.set(entry.pid, entry.startedAt)
      see(entry)
    }
    this.undecided = false
    // The environments, the dear part, only of those who are not kin.
    const { entries, isWhole } = table.look(this.isRecent() ? this.id - 1 : undefined, (entry) => {
      if (isKin(entry) || this.isMarked(table, entry)) add(entry)
    })
    this.undecided ||= !isWhole
    // One whose kin was found after it.
    for (let before = -1; before !== members.size;) {
      before = members.size
      for (const entry of entries) if (!members.has(entry.pid) && isKin(entry)) add(entry)
    }
    return Array.from(members.values())
  }

  private isMarked(table: ProcessTable, entry: Entry): boolean {
    const { mark } = this.cell
    if (mark === undefined || this.strangers.get(entry.pid) === entry.startedAt) return false
    const environment = table.environment(entry.pid)
    if (environment === undefined) this.doubt(table, entry)
    else if (bears(environment, mark)) return true
    else this.strangers.set(entry.pid, entry.startedAt)
    return false
  }

  /** Somebody does not show whose he is: he is about to, or is gone, and may have forked. */
  private doubt(table: ProcessTable, entry: Entry): void {
    if (!table.runs(entry)) {
      this.vanished = true
      return
    }
    const since = this.starting.get(entry.pid) ?? performance.now()
    this.starting.set(entry.pid, since)
    if (performance.now() - since < startingMs) this.undecided = true
    else this.strangers.set(entry.pid, entry.startedAt)
  }

  private runs(entry: Entry): boolean {
    return this.table === undefined ? this.whole().length > 0 : this.table.runs(entry)
  }

  private send(entries: ReadonlyArray<Entry>, signal: NodeJS.Signals): void {
    if (this.over) return
    if (signal === "SIGKILL") this.cell.kill()
    if (this.table === undefined) kill(target(this.id), signal)
    else
      signalGroups(
        this.table,
        this.cell.isKept && signal !== "SIGKILL" ? entries.filter(({ pid }) => pid !== this.id) : entries,
        signal
      )
  }

  /**
   * The first process of a namespace does not hear a signal that it does not catch, SIGKILL from outside excepted. The
   * leader, which waits for it, hears none; alone it is about to tell how the other ended.
   */
  private areDeaf(running: ReadonlyArray<Entry>): boolean {
    if (this.cell.level !== "namespace" || this.cell.isKept === true) return false
    const others = running.filter(({ pid }) => pid !== this.id)
    return (
      others.length > 0 &&
      others.every(({ parent, pid }) => parent === this.id && this.table?.catches(pid, sigterm) === false)
    )
  }
}

/** Its number on every Linux. */
const sigterm = 15

/**
 * Sends a signal to processes and to who is in a group with them. By groups, not one by one: the kernel lets nobody fork
 * away from a signal to a group.
 *
 * @category running
 * @since 0.1.0
 */
export const signalGroups = (table: ProcessTable, entries: ReadonlyArray<Entry>, signal: NodeJS.Signals): void => {
  const groups = new Set<number>()
  for (const entry of entries) {
    // Who left the group since the look gets none. There is another SIGKILL for him, and never two SIGTERM.
    if (signal === "SIGKILL" && table.runs(entry)) kill(entry.pid, signal)
    if (groups.has(entry.group) || !table.runs(entry)) continue
    // -1 and -0 mean everybody and ourselves.
    if (entry.group > 1) {
      groups.add(entry.group)
      kill(-entry.group, signal)
    } else kill(entry.pid, signal)
  }
}

const isWindows = process.platform === "win32"

/** The number that stands for a group: Windows knows none. */
const target = (group: number): number => (isWindows ? group : -group)

/** Sends a signal; false if there is no process to send it to, or none that may be signalled. */
const kill = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
