/**
 * What a process holds, when all that can be given back has been. Forced collections belong in a process where nothing is
 * timed afterwards: they make V8 throw compiled code away.
 */
import * as v8 from "node:v8"
import * as vm from "node:vm"

v8.setFlagsFromString("--expose-gc")
const gc: (options: { readonly type: "major"; readonly flavor: "last-resort" }) => void = vm.runInNewContext("gc")

/** Bytes on the heap. */
export const settledHeap = (): number => {
  // The second frees what the finalizers of the first let go.
  gc({ type: "major", flavor: "last-resort" })
  gc({ type: "major", flavor: "last-resort" })
  return process.memoryUsage().heapUsed
}
