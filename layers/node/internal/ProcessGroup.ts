/**
 * The processes that one command became, and how they are ended.
 *
 * **Contract**
 *
 * - A command leads a session of its own, and in it a group. Most of what it
 *   starts stays in the group; some programs make groups of their own in the same
 *   session (`timeout`, a shell with job control). All groups of the session are
 *   ended. What makes a session of its own (`setsid`) has left.
 * - The session is over when none of its processes runs. Zombies do not run: in a
 *   container whose first process reaps late, or never, they stay for a while.
 * - Once it is over it is never signalled again: its number may by then belong to
 *   somebody else. While any process of a group or session exists, zombies
 *   included, the kernel does not give its number away.
 * - Who is in a session is read from /proc. Where that is missing, only the
 *   group is known, as a whole and by its number.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import type { LeftBehind } from "../../../src/Processes.ts"

/** A process that runs: neither a zombie nor dead. */
interface Member {
  readonly pid: number
  readonly group: number
  readonly name?: string | undefined
}

/**
 * How long to wait for processes that SIGKILL was sent to, in ms. They are gone
 * in a few; those that are not hang in the kernel, and no wait would do.
 */
const killPatienceMs = 3_000

/** Longest pause between two looks at a session that is to end, in ms. A look reads one file for each known member. */
const maxPollMs = 50

/**
 * Waits in real time, whatever clock the program runs on: processes live in no other, and a test that stops the clock
 * would wait for ever when its scope closes.
 */
const pause = (ms: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    return Effect.sync(() => clearTimeout(timer))
  })

/**
 * @category models
 * @since 0.1.0
 */
export class ProcessGroup {
  /** The number of the session, of its first group, and of that group's first process, the leader. */
  readonly id: number
  /** The leader was reaped. Set by whoever listens to it. */
  leaderReaped = false
  private over = false

  constructor(id: number) {
    this.id = id
  }

  /** Sends a signal to every process of the session, unless it is over. */
  signal(signal: NodeJS.Signals): void {
    for (const group of new Set([this.id, ...this.members().map(({ group }) => group)])) {
      if (!this.over) kill(-group, signal)
    }
  }

  /**
   * Ends what runs of the session: SIGTERM, and after `graceMs` SIGKILL. Returns when nothing of it runs and the leader
   * was reaped, with the fate of each process seen, the leader excepted.
   *
   * Unless `thorough`, which costs a look through /proc, it takes a session for over whose first group is.
   *
   * @since 0.1.0
   */
  end(graceMs: number, thorough: boolean): Effect.Effect<ReadonlyArray<LeftBehind>> {
    return Effect.suspend(() => {
      if (this.leaderReaped && !thorough && !kill(-this.id, 0)) this.over = true
      const fates = new Map<number, LeftBehind>()
      const see = (members: ReadonlyArray<Member>) => {
        for (const { name, pid } of members) {
          if (pid === this.id && !this.leaderReaped) continue
          if (!fates.has(pid)) fates.set(pid, { pid, fate: "alive", ...(name === undefined ? {} : { name }) })
        }
        return members
      }
      const settle = (fate: LeftBehind["fate"], running: ReadonlyArray<Member>) => {
        for (const [pid, left] of fates) {
          if (left.fate === "alive" && !running.some((member) => member.pid === pid)) fates.set(pid, { ...left, fate })
        }
        return running.length === 0 && this.leaderReaped
      }
      const result = Effect.sync(() => Array.from(fates.values()))
      if (see(this.members()).length === 0 && this.leaderReaped) return result
      this.signal("SIGTERM")
      // A stopped process sees no other signal before this one.
      this.signal("SIGCONT")
      return this.ended(graceMs, see).pipe(
        Effect.flatMap((running) => {
          if (settle("terminated", running)) return Effect.void
          this.signal("SIGKILL")
          return Effect.map(this.ended(killPatienceMs, see), (left) => settle("killed", left))
        }),
        Effect.andThen(result)
      )
    })
  }

  /** Waits until the group is over, at most `patienceMs`. Gives what still runs. */
  private ended(
    patienceMs: number,
    see: (members: ReadonlyArray<Member>) => ReadonlyArray<Member>
  ): Effect.Effect<ReadonlyArray<Member>> {
    const deadline = performance.now() + patienceMs
    const poll = (known: ReadonlyArray<Member>, waitMs: number): Effect.Effect<ReadonlyArray<Member>> =>
      Effect.suspend(() => {
        // While one that is known runs there is no need to look through the whole of /proc.
        const same = known.filter(({ pid }) => isMember(pid, this.id))
        const running = same.length > 0 && performance.now() < deadline ? same : see(this.members())
        if ((running.length === 0 && this.leaderReaped) || performance.now() >= deadline) return Effect.succeed(running)
        return Effect.andThen(pause(waitMs), poll(running, Math.min(waitMs * 2, maxPollMs)))
      })
    return poll([], 1)
  }

  /** The processes of the session that run, the leader among them. */
  private members(): ReadonlyArray<Member> {
    if (this.over) return []
    const members = membersOf(this.id) ?? (kill(-this.id, 0) ? [{ pid: this.id, group: this.id }] : [])
    if (members.length === 0 && this.leaderReaped) this.over = true
    return members
  }
}

/** Sends a signal; false if there is no process to send it to, or none that may be signalled. */
const kill = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    // Somebody else's process, such as one that ran sudo, is there but cannot be reached.
    return hasProc && (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

const hasProc = fs.existsSync("/proc/self/stat")

/** The line of /proc/PID/stat, taken apart; undefined when the process is gone. See proc_pid_stat(5). */
const stat = (pid: number | string) => {
  try {
    const line = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name may hold spaces and parentheses.
    const end = line.lastIndexOf(")")
    const [state, , group, session] = line.slice(end + 2).split(" ", 4)
    return {
      name: line.slice(line.indexOf("(") + 1, end),
      runs: state !== "Z" && state !== "X",
      group: Number(group),
      session: Number(session)
    }
  } catch {
    return undefined
  }
}

const isMember = (pid: number, session: number): boolean => {
  const found = stat(pid)
  return found !== undefined && found.runs && found.session === session
}

const pids = (): ReadonlyArray<string> => fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))

/** The running processes of a session; undefined where that cannot be known. */
const membersOf = (session: number): ReadonlyArray<Member> | undefined =>
  hasProc
    ? pids().flatMap((pid) => {
        const found = stat(pid)
        return found !== undefined && found.runs && found.session === session
          ? [{ pid: Number(pid), group: found.group, name: found.name }]
          : []
      })
    : undefined

/**
 * The running processes that were started with `variable` in their environment
 * and left the session: nobody ends them. None where that cannot be known.
 *
 * @since 0.1.0
 */
export const escaped = (variable: string, session: number): ReadonlyArray<LeftBehind> =>
  (hasProc ? pids() : []).flatMap((pid): ReadonlyArray<LeftBehind> => {
    const found = environmentOf(pid).includes(variable) ? stat(pid) : undefined
    return found !== undefined && found.runs && found.session !== session
      ? [{ pid: Number(pid), name: found.name, fate: "alive" }]
      : []
  })

const environmentOf = (pid: string): Buffer => {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`)
  } catch {
    return Buffer.alloc(0)
  }
}
