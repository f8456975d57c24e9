/**
 * What a program holds, to be compared with what it held before.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import * as v8 from "node:v8"
import * as vm from "node:vm"

/**
 * @category models
 * @since 0.1.0
 */
export interface Residue {
  /** Children, zombies among them, and whoever bears the mark of a command of this program. */
  readonly processes: ReadonlyArray<string>
  readonly descriptors: number
  /** What the event loop waits for. */
  readonly resources: number
  readonly listeners: number
  readonly heapBytes: number
  readonly residentBytes: number
}

v8.setFlagsFromString("--expose-gc")
const gc: (options: { readonly type: "major"; readonly flavor: "last-resort" }) => void = vm.runInNewContext("gc")

/** As when memory runs out: otherwise the heap keeps the 100 MB of free pages that floods made it ask for. */
const collect = () => gc({ type: "major", flavor: "last-resort" })

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "latin1")
  } catch {
    return ""
  }
}

const processes = (): ReadonlyArray<string> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const stat = read(`/proc/${pid}/stat`)
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
      const marked = new RegExp(`(^|\0)TOOLSTREAM_PROCESS=\\d+\\.${process.pid}\\.`).test(read(`/proc/${pid}/environ`))
      return marked || parent === String(process.pid) ? [`${pid} ${state} ${read(`/proc/${pid}/comm`).trim()}`] : []
    })

/**
 * @category running
 * @since 0.1.0
 */
export const measure = (): Residue => {
  // The second frees what the finalizers of the first let go.
  collect()
  collect()
  const { heapUsed, rss } = process.memoryUsage()
  return {
    processes: processes(),
    descriptors: fs.readdirSync("/proc/self/fd").length,
    resources: process.getActiveResourcesInfo().length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    heapBytes: heapUsed,
    residentBytes: rss
  }
}

/**
 * How much more memory after the second half of the calls than after the first is no leak, in bytes. What the first half
 * makes resident is what so many calls at once need, and the allocator keeps; a leak grows on. What is resident goes up
 * and down by some 30 MB between two looks; a pipe's buffer of 64 KiB for each of 1,000 calls is twice that.
 */
export const tolerance = { heapBytes: 4e6, residentBytes: 48e6 }

/**
 * What is there that was not before, in words. `half` is what there was after half of the calls.
 *
 * @category converting
 * @since 0.1.0
 */
export const leaks = (before: Residue, half: Residue, after: Residue): ReadonlyArray<string> => {
  const more = (name: "descriptors" | "resources" | "listeners") =>
    after[name] > before[name] ? [`${after[name] - before[name]} more ${name} than before`] : []
  const grown = (name: "heapBytes" | "residentBytes") =>
    after[name] - half[name] > tolerance[name] ? [`${after[name] - half[name]} more ${name} than after half`] : []
  return [
    ...after.processes.map((name) => `process ${name} is left`),
    ...more("descriptors"),
    ...more("resources"),
    ...more("listeners"),
    ...grown("heapBytes"),
    ...grown("residentBytes")
  ]
}
