import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import { plans } from "./soak/plan.ts"
import { leaks, type Residue } from "./soak/residue.ts"

describe("soak", () => {
  // In a program of its own: what vitest holds comes and goes.
  it.skipIf(process.platform !== "linux")(
    "C13, C143: nothing is left of calls of every kind",
    { timeout: 60_000 },
    () => {
      const main = path.join(import.meta.dirname, "soak/main.ts")
      const { status, stderr, stdout } = spawnSync(process.execPath, [main, "--calls", "60", "--seed", "5"], {
        encoding: "utf8"
      })
      assert.strictEqual(status, 0, `${stdout}${stderr}`)
      assert.include(stdout, "Nothing is left.")
    }
  )

  it("the same seed gives the same calls, another gives others", () => {
    assert.deepStrictEqual(plans(3, 100), plans(3, 100))
    assert.notDeepEqual(plans(3, 100), plans(4, 100))
  })

  it("whatever is left is told", () => {
    const before: Residue = {
      processes: [],
      descriptors: 20,
      resources: 1,
      listeners: 3,
      heapBytes: 20e6,
      residentBytes: 100e6
    }
    assert.deepStrictEqual(leaks(before, before, before), [])
    const half = { ...before, heapBytes: 40e6, residentBytes: 200e6, descriptors: 30 }
    const settled = { ...before, heapBytes: 43e6, residentBytes: 247e6, descriptors: 19 }
    assert.deepStrictEqual(leaks(before, half, settled), [])
    assert.deepStrictEqual(
      leaks(before, half, {
        processes: ["7 Z bash"],
        descriptors: 21,
        resources: 2,
        listeners: 4,
        heapBytes: 45e6,
        residentBytes: 249e6
      }),
      [
        "process 7 Z bash is left",
        "1 more descriptors than before",
        "1 more resources than before",
        "1 more listeners than before",
        "5000000 more heapBytes than after half",
        "49000000 more residentBytes than after half"
      ]
    )
  })
})
