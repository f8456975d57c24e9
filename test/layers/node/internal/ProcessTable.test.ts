import { afterEach, assert, describe, it } from "@effect/vitest"
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type Entry, ProcessTable } from "../../../../layers/node/internal/ProcessTable.ts"

/** A /proc of files, in which what happens during a look happens when it is wanted. */
class Proc {
  readonly root = fs.mkdtempSync(path.join(os.tmpdir(), "proc-"))
  readonly table: ProcessTable

  constructor(lastPid: number) {
    fs.symlinkSync(String(process.pid), path.join(this.root, "self"))
    this.give(lastPid)
    this.table = ProcessTable.open(this.root)!
  }

  give(lastPid: number): void {
    fs.writeFileSync(path.join(this.root, "loadavg"), `0.1 0.2 0.3 1/100 ${lastPid}\n`)
  }

  start(pid: number, { code = 50, environment = "A=1\0", flags = 0, place = [100, 104] } = {}): void {
    const folder = path.join(this.root, String(pid))
    fs.mkdirSync(folder, { recursive: true })
    const zeros = (length: number) => Array.from({ length }, () => 0)
    const fields = ["S", 1, pid, pid, 0, -1, flags, ...zeros(12), 500, 0, 0, 0, code, ...zeros(23), ...place, 0]
    fs.writeFileSync(path.join(folder, "stat"), `${pid} (a) ${fields.join(" ")}\n`)
    fs.writeFileSync(path.join(folder, "environ"), environment)
  }

  end(pid: number): void {
    fs.rmSync(path.join(this.root, String(pid)), { recursive: true })
  }

  /** The table, on which somebody acts just before he is looked at for the first time. */
  acting(acts: Record<number, () => void>): ProcessTable {
    const entry = (pid: number): Entry | undefined => {
      const act = acts[pid]
      delete acts[pid]
      act?.()
      return this.table.entry(pid)
    }
    return Object.assign(Object.create(this.table) as ProcessTable, { entry })
  }

  close(): void {
    this.table.close()
    fs.rmSync(this.root, { recursive: true })
  }
}

const procs: Array<Proc> = []
const proc = (lastPid: number): Proc => {
  const made = new Proc(lastPid)
  procs.push(made)
  return made
}
afterEach(() => procs.splice(0).forEach((made) => made.close()))

const pidsOf = (entries: ReadonlyArray<Entry>) => entries.map(({ pid }) => pid).toSorted((a, b) => a - b)

describe("a look at the processes", () => {
  for (const [range, after] of [
    ["all", undefined],
    ["many numbers", 500],
    ["few numbers", 1_000]
  ] as const) {
    it(`C03: sees whom one forked that ended meanwhile, whose number was given away but not listed yet: ${range}`, () => {
      const made = proc(1_002)
      made.start(1_001)
      const table = made.acting({
        1_001: () => {
          made.start(1_002)
          made.end(1_001)
        }
      })
      assert.deepStrictEqual(pidsOf(table.look(after).entries), [1_002])
    })

    it(`sees whom one forks after it was looked at: ${range}`, () => {
      const made = proc(1_001)
      made.start(1_001)
      const table = made.acting({
        1_001: () => {
          made.give(1_002)
          made.start(1_002)
        }
      })
      assert.deepStrictEqual(pidsOf(table.look(after).entries), [1_001, 1_002])
    })
  }

  it("has the newest first, past the highest number too", () => {
    const made = proc(310)
    for (const pid of [305, 310, 32_000, 32_700]) made.start(pid)
    const seen: Array<number> = []
    const { isWhole } = made.table.look(31_000, ({ pid }) => seen.push(pid))
    assert.isTrue(isWhole)
    assert.deepStrictEqual(seen, [310, 305, 32_700, 32_000])
  })

  it("says that it may have missed somebody where the system forks without a pause", () => {
    const made = proc(1_000)
    made.start(1_000)
    const acts: Record<number, () => void> = {}
    for (let pid = 1_000; pid < 1_100; pid++) {
      acts[pid] = () => {
        made.give(pid + 1)
        made.start(pid + 1)
      }
    }
    assert.isFalse(made.acting(acts).look().isWhole)
  })
})

describe("an environment", () => {
  it("is undefined while it does not show, empty if there is none", () => {
    const made = proc(1_000)
    made.start(1_001)
    made.start(1_002, { environment: "", code: 0, place: [0, 0] })
    // It did not show, and by now it would.
    made.start(1_003, { environment: "" })
    made.start(1_004, { environment: "", place: [104, 104] })
    made.start(1_005, { environment: "", flags: 0x0020_8040, code: 0, place: [0, 0] })
    made.start(1_006, { environment: "", code: 0, place: [104, 104] })
    const environments = [1_001, 1_002, 1_003, 1_004, 1_005, 1_006, 1_007].map((pid) =>
      made.table.environment(pid)?.toString()
    )
    assert.deepStrictEqual(environments, ["A=1\0", undefined, undefined, "", "", undefined, undefined])
  })

  it.skipIf(ProcessTable.open() === undefined)(
    "C03: of one that becomes another program is never taken for none",
    () => {
      const table = ProcessTable.open()!
      const script = 'export N=2000 F=\'export N=$((N-1)); [ $N -eq 0 ] || exec sh -c "$F"\'; exec sh -c "$F"'
      const child = child_process.spawn("sh", ["-c", script], { env: { ...process.env, MARK: "here" } })
      try {
        let hidden = 0
        for (let look = 0; look < 20_000; look++) {
          const environment = table.environment(child.pid!)
          if (environment === undefined) hidden++
          else assert.include(environment.toString(), "MARK=here")
        }
        // Otherwise nothing was tried.
        assert.isAbove(hidden, 0)
      } finally {
        child.kill("SIGKILL")
        table.close()
      }
    }
  )

  it.skipIf(ProcessTable.open() === undefined)("of the system's processes is told, and of the kernel's own", () => {
    const table = ProcessTable.open()!
    const child = child_process.spawn("sleep", ["60"], { env: {} })
    try {
      assert.strictEqual(table.environment(child.pid!)?.length, 0)
      assert.isAbove(table.environment(process.pid)?.length ?? 0, 0)
      const kernel = table.look().entries.find(({ parent, pid }) => parent === 2 || pid === 2)
      if (kernel !== undefined) assert.strictEqual(table.environment(kernel.pid)?.length, 0)
    } finally {
      child.kill("SIGKILL")
      table.close()
    }
  })
})
