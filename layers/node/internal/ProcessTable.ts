/**
 * The processes of the system, read from /proc.
 *
 * **Contract**
 *
 * - It exists only where /proc tells of the same processes, by the same numbers, as the system's calls: not on macOS, and
 *   not where a program sees the /proc of another pid namespace.
 * - A process is known by its number and the time of its start: numbers are given away again.
 * - A look misses nobody that a process forks meanwhile, or says that it may have.
 *
 * **Source** proc_pid_stat(5), proc_loadavg(5).
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"

/**
 * A process that runs, neither a zombie nor dead.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly pid: number
  /** Of its program, as the system shortens it. */
  readonly name?: string | undefined
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In ticks since the system's start. */
  readonly startedAt: string
  /** It has a processor, or waits for one, or for a disk. Undefined where that is not known. */
  readonly isBusy?: boolean
  /** It is the kernel's own, and has no environment. */
  readonly isKernel?: boolean
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Look {
  readonly entries: ReadonlyArray<Entry>
  /** Nobody was missed. Otherwise the system forked all the time. */
  readonly isWhole: boolean
}

/** How often it is looked for those that were forked meanwhile. More only chases a system that never rests. */
const maxLooks = 8

/** **Source** Linux, include/linux/sched.h, `PF_KTHREAD`. */
const kernelThread = 0x0020_0000

const none = Buffer.alloc(0)

/** For one file after another: there are some hundred to read before a program starts. Most are shorter. */
const shared = Buffer.alloc(16 * 1024)

/** Above it a look at the directory (60 µs) is cheaper than one at each number (10 µs, if nobody has it). */
const maxGuesses = 6

/**
 * @category models
 * @since 0.1.0
 */
export class ProcessTable {
  private readonly root: string
  /** `loadavg`, open: reading it again costs 3 µs, opening it 20. Undefined once closed. */
  private loads: number | undefined
  private readonly buffer = Buffer.alloc(128)

  private constructor(root: string, loads: number) {
    this.root = root
    this.loads = loads
  }

  /** Undefined where there is none. To be closed. */
  static open(root = "/proc"): ProcessTable | undefined {
    try {
      if (fs.readlinkSync(`${root}/self`) !== String(process.pid)) return undefined
      return new ProcessTable(root, fs.openSync(`${root}/loadavg`, "r"))
    } catch {
      return undefined
    }
  }

  /** It still works, at the price of a look at all: a process may be ended after its layer. */
  close(): void {
    if (this.loads !== undefined) fs.closeSync(this.loads)
    this.loads = undefined
  }

  /** The number that was given away last; undefined where that is not told. */
  get lastPid(): number | undefined {
    if (this.loads === undefined) return undefined
    const text = this.buffer.toString("latin1", 0, fs.readSync(this.loads, this.buffer, 0, this.buffer.length, 0))
    const last = Number(text.slice(text.lastIndexOf(" ") + 1))
    return last > 0 ? last : undefined
  }

  entry(pid: number): Entry | undefined {
    try {
      const line = this.bytes(`${pid}/stat`).toString("latin1")
      // The name may hold spaces and parentheses.
      const end = line.lastIndexOf(")")
      const [state, parent, group, session, ...rest] = line.slice(end + 2).split(" ", 20)
      if (state === "Z" || state === "X") return undefined
      return {
        pid,
        name: Buffer.from(line.slice(line.indexOf("(") + 1, end), "latin1").toString(),
        parent: Number(parent),
        group: Number(group),
        session: Number(session),
        startedAt: rest[15] ?? "",
        isBusy: state === "R" || state === "D",
        isKernel: (Number(rest[2]) & kernelThread) !== 0
      }
    } catch {
      return undefined
    }
  }

  /** Whether it is the same process, and runs. */
  runs({ pid, startedAt }: Entry): boolean {
    return this.entry(pid)?.startedAt === startedAt
  }

  /** Whether it is known that it runs no more: neither that it hides, nor that this program can open no more files. */
  isDead(pid: number, startedAt: string): boolean {
    if (!fs.existsSync(`${this.root}/${pid}`)) return true
    try {
      fs.accessSync(`${this.root}/${pid}/stat`, fs.constants.R_OK)
      fs.closeSync(fs.openSync(`${this.root}/self/stat`, "r"))
    } catch {
      return false
    }
    return this.entry(pid)?.startedAt !== startedAt
  }

  /**
   * All that run, or those whose number was given away since `after` was. The newest are seen first, each as soon as it is
   * found: one that is about to fork can be stopped only before.
   *
   * A number is given away some µs before it is listed: whoever forks is listed then. If he has ended when he is looked
   * at, whom he forked is listed by now.
   */
  look(after?: number, see: (entry: Entry) => void = () => {}): Look {
    const found = new Map<number, Entry>()
    const gone = new Set<number>()
    for (let look = 0; look < maxLooks; look++) {
      const last = this.lastPid
      let again = false
      for (const pid of this.pids(after, last)) {
        if (found.has(pid)) continue
        const entry = this.entry(pid)
        again ||= last === undefined || (entry === undefined && !gone.has(pid))
        if (entry === undefined) gone.add(pid)
        else {
          found.set(pid, entry)
          see(entry)
        }
      }
      if (!again && last === this.lastPid) return { entries: Array.from(found.values()), isWhole: true }
    }
    return { entries: Array.from(found.values()), isWhole: false }
  }

  /**
   * The environment it was started with; empty if it has none, or if it may not be read. Undefined if it has ended, or is
   * just about to become another program: it shows none until it has, for some 0.1 ms.
   *
   * **Source** Linux, fs/proc/base.c, `environ_read`: nothing while the new memory has no `env_end`, nor of an old one.
   */
  environment(pid: number): Buffer | undefined {
    try {
      const environment = this.bytes(`${pid}/environ`)
      if (environment.length > 0) return Buffer.from(environment)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === "EACCES" || code === "EPERM") return none
    }
    // It does not show one now. Another file may speak of the time after, when it would.
    return this.isBare(pid) ? none : undefined
  }

  /**
   * Whether it has no environment: it is a program, and the place for one is empty; or it is the kernel's own.
   *
   * **Source** Linux, fs/binfmt_elf.c: `start_code` is set after the environment, whose place looks empty until it is there.
   */
  private isBare(pid: number): boolean {
    const line = this.read(`${pid}/stat`).toString("latin1")
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
    const field = (number: number) => Number(fields[number - 3] ?? 0)
    if ((field(9) & kernelThread) !== 0) return true
    const [code, start, end] = [field(26), field(50), field(51)]
    return code > 0 && end > 0 && start === end
  }

  /** Whether it has a handler for a signal, given by its number. Undefined if it is gone. */
  catches(pid: number, signal: number): boolean | undefined {
    const caught = /^SigCgt:\s*([\da-f]+)/m.exec(this.read(`${pid}/status`).toString("latin1"))?.[1]
    return caught === undefined ? undefined : ((BigInt(`0x${caught}`) >> BigInt(signal - 1)) & 1n) === 1n
  }

  /** Its number in its own namespace. Undefined if it is gone. */
  innerPid(pid: number): number | undefined {
    const numbers = /^NSpid:\s*(.+)$/m.exec(this.read(`${pid}/status`).toString("latin1"))?.[1]
    return numbers === undefined ? undefined : Number(numbers.split(/\s+/).at(-1))
  }

  /** Whether it is run by the user that this program runs as. */
  isOurs(pid: number): boolean {
    try {
      return fs.statSync(`${this.root}/${pid}`).uid === process.geteuid?.()
    } catch {
      return false
    }
  }

  /** Which numbers mean the same: they are given away within a namespace. */
  get namespace(): string {
    try {
      return /\d+/.exec(fs.readlinkSync(`${this.root}/self/ns/pid`))?.[0] ?? "0"
    } catch {
      return "0"
    }
  }

  private read(file: string): Buffer {
    try {
      return Buffer.from(this.bytes(file))
    } catch {
      return none
    }
  }

  /** What is in a file, until the next is read. */
  private bytes(file: string): Buffer {
    const fd = fs.openSync(`${this.root}/${file}`, "r")
    try {
      let [bytes, length] = [shared, 0]
      for (;;) {
        const read = fs.readSync(fd, bytes, length, bytes.length - length, null)
        if (read === 0) return bytes.subarray(0, length)
        length += read
        if (length === bytes.length) bytes = Buffer.concat([bytes], length * 2)
      }
    } finally {
      fs.closeSync(fd)
    }
  }

  /** The newest first. */
  private pids(after: number | undefined, last: number | undefined): ReadonlyArray<number> {
    const within = after !== undefined && last !== undefined && last >= after
    if (within && last - after <= maxGuesses) return Array.from({ length: last - after }, (_, i) => last - i)
    const all = fs.readdirSync(this.root).map(Number)
    // Past the highest number they start anew: then it is either side.
    const pids = all.filter((pid) => pid > 0 && (!within || (pid > after && pid <= last)))
    const isOld = (pid: number) => Number(last !== undefined && pid > last)
    return pids.toSorted((a, b) => isOld(a) - isOld(b) || b - a)
  }
}
