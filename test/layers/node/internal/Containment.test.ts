import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { choose, type Facts } from "../../../../layers/node/internal/ProcessContainment.ts"
import { ProcessGroup } from "../../../../layers/node/internal/ProcessGroup.ts"
import { bears, Marks, markName } from "../../../../layers/node/internal/ProcessMark.ts"
import { ProcessTable } from "../../../../layers/node/internal/ProcessTable.ts"
import * as NodeProcesses from "../../../../layers/node/Processes.ts"
import { type Containment, type Process, Processes } from "../../../../src/Processes.ts"

const table = ProcessTable.open()

const bash = (command: string) =>
  Effect.flatMap(Processes, (processes) => processes.spawn({ program: "bash", args: ["-c", command] }))

const run = Effect.fnUntraced(function* (command: string) {
  const process = yield* bash(command)
  const seen: Array<string> = []
  yield* Stream.runForEach(process.output, ({ bytes }) => Effect.sync(() => seen.push(Buffer.from(bytes).toString())))
  return { exit: yield* process.exit, left: yield* process.sweep, text: seen.join("") }
})

/** The first whole line, which is as good as an event: what it tells of has happened. */
const firstLine = Effect.fnUntraced(function* (process: Process) {
  const line = yield* Deferred.make<string>()
  let text = ""
  yield* Effect.forkScoped(
    Stream.runForEach(process.output, ({ bytes }) => {
      text += Buffer.from(bytes).toString()
      return text.includes("\n") ? Deferred.succeed(line, text.slice(0, text.indexOf("\n"))) : Effect.void
    })
  )
  return yield* Deferred.await(line)
})

const runs = (pid: number): boolean => table?.entry(pid) !== undefined

/** Waits until a condition on other processes holds, of which no event tells. */
const eventually = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (condition() ? Effect.void : Effect.andThen(Effect.sleep(5), eventually(condition))))

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "containment-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** Leaves the session, with nothing of ours open, and says its number. */
const escape = (script: string) =>
  `setsid bash -c 'echo $$ > pid; mv pid escaped; ${script}' >/dev/null 2>&1 & until [ -e escaped ]; do sleep 0.01; done; cat escaped`

const inFolder = (folder: string, command: string) => `cd '${folder}'; ${command}`

describe.skipIf(table === undefined)("containment by the mark", () => {
  it.layer(NodeProcesses.layer, { excludeTestServices: true })((it) => {
    it.effect("C03: who left the session without holding the output is ended after a normal exit, and named", () =>
      Effect.gen(function* () {
        const { left, text } = yield* run(inFolder(yield* temporary, escape("exec sleep 60")))
        assert.isFalse(runs(Number(text)))
        assert.deepStrictEqual(
          left.map(({ fate, pid }) => [pid, fate]),
          [[Number(text), "terminated"]]
        )
      })
    )

    it.effect("C03: who forked twice, left the session and ignores SIGTERM is killed, and named", () =>
      Effect.gen(function* () {
        const folder = yield* temporary
        const { left, text } = yield* run(inFolder(folder, `(${escape('trap "" TERM; while :; do sleep 1; done')})`))
        assert.isFalse(runs(Number(text)))
        assert.strictEqual(left.find(({ pid }) => pid === Number(text))?.fate, "killed")
      })
    )

    it.effect("C07: a command that is stopped takes with it who left the session", () =>
      Effect.gen(function* () {
        const process = yield* bash(inFolder(yield* temporary, `${escape("exec sleep 60")}; exec sleep 60`))
        const pid = Number(yield* firstLine(process))
        const left = yield* process.sweep
        assert.isFalse(runs(pid))
        assert.isTrue(left.some((one) => one.pid === pid && one.fate === "terminated"))
      })
    )

    it.effect("C07: one without a mark is known by its parent, and by its session when that is gone", () =>
      Effect.gen(function* () {
        const folder = yield* temporary
        // `bash` bears the mark and leads the new session; what it starts has an empty environment.
        const script = `${escape("env -i sleep 60 & wait")}; env -i setsid sleep 60 & sleep 60`
        const process = yield* bash(inFolder(folder, script))
        yield* firstLine(process)
        const cleared = () => table!.look(process.pid).entries.filter(({ pid }) => isBare(pid) && isIn(folder, pid))
        yield* eventually(() => cleared().filter(({ session }) => session !== process.pid).length >= 2)
        const sleepers = cleared()
        yield* process.sweep
        for (const { pid } of sleepers) assert.isFalse(runs(pid))
      })
    )

    it.effect("who forks faster than it is looked at is ended", () =>
      Effect.gen(function* () {
        const script =
          'export F=\'setsid bash -c "\\$F" & setsid sleep 60 & sleep 0.01\'; bash -c "$F"; echo go; sleep 60'
        const process = yield* bash(script)
        yield* firstLine(process)
        assert.isAbove(marked().length, 1)
        yield* process.sweep
        assert.deepStrictEqual(marked(), [])
      })
    )

    // Until the last one nobody stays: a look finds one that is about to go, or just came.
    const chain = (step: string) =>
      `export N=30 F='[ $N -gt 0 ] || exec sleep 60; export N=$((N-1)); ${step}'; (setsid bash -c "$F" >/dev/null 2>&1 &)`
    const chains = {
      "who forks a successor into a session of its own and ends": chain('setsid bash -c "$F" &'),
      "who becomes another program time and again": chain('exec bash -c "$F"')
    }
    for (const [name, script] of Object.entries(chains)) {
      it.effect(`C03: ${name}, is ended`, () =>
        Effect.gen(function* () {
          const commands = Array.from({ length: 8 }, (_, i) => `${script}; sleep 0.0${i}`)
          yield* Effect.forEach(commands, (command) => Effect.scoped(run(command)), { concurrency: "unbounded" })
          assert.deepStrictEqual(marked(), [])
        })
      )
    }

    it.effect("a command that forked nothing costs no look", () =>
      Effect.gen(function* () {
        const { left } = yield* run("exec true")
        assert.deepStrictEqual(left, [])
      })
    )

    it.effect("the mark of a command within a command belongs to both", () =>
      Effect.gen(function* () {
        const { text } = yield* run(`echo $${markName}`)
        const own = text.trim()
        assert.match(own, new RegExp(`^\\d+\\.${process.pid}\\.\\d+\\.[\\da-f-]{36}$`))
        const inner = yield* Effect.sync(() => {
          const before = process.env[markName]
          process.env[markName] = own
          const made = new Marks(table!).make()
          if (before === undefined) delete process.env[markName]
          else process.env[markName] = before
          return made
        })
        const environment = Buffer.from(`A=1\0${markName}=${inner.value}\0B=2`)
        assert.isTrue(bears(environment, own))
        assert.isTrue(bears(environment, inner.mark))
        assert.isFalse(bears(Buffer.from(`X${markName}=${own}\0Y=${own}`), own))
      })
    )
  })
})

describe.skipIf(table === undefined)("a look that shows nobody", () => {
  /** A command that has exited, and a process of it in a session of its own. */
  const escaped = Effect.gen(function* () {
    const cell = choose("marker", { table, unshare: () => undefined, cgroup: () => undefined })()
    const start = (program: string, ...args: ReadonlyArray<string>) =>
      child_process.spawn(program, args, { detached: true, stdio: "ignore", env: { ...process.env, ...cell.env } })
    const leader = start("true")
    yield* Effect.callback<void>((resume) => {
      leader.once("exit", () => resume(Effect.void))
    })
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => start("sleep", "60")),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const end = (change: Partial<ProcessTable>) => {
      const group = new ProcessGroup(leader.pid!, cell, Object.assign(Object.create(table!) as ProcessTable, change))
      group.leaderReaped = true
      return group.end(1_000)
    }
    return { pid: child.pid!, leader: leader.pid!, end }
  })

  it.live("C03: is no end while somebody does not show whose he is", () =>
    Effect.gen(function* () {
      const { end, pid } = yield* escaped
      let hidden = 5
      const environment = (of: number) => (of === pid && hidden-- > 0 ? undefined : table!.environment(of))
      assert.deepStrictEqual(
        (yield* end({ environment })).map((left) => [left.pid, left.fate]),
        [[pid, "terminated"]]
      )
    })
  )

  it.live("C03: is no end if somebody vanished in it, who may have forked", () =>
    Effect.gen(function* () {
      const { end, leader, pid } = yield* escaped
      let looks = 0
      const look: ProcessTable["look"] = (after, see) => {
        if (looks++ > 0) return table!.look(after, see)
        const gone = { pid: leader, parent: 1, group: 1, session: leader + 1, startedAt: "1" }
        see?.(gone)
        return { entries: [gone], isWhole: true }
      }
      assert.deepStrictEqual(
        (yield* end({ look })).map((left) => [left.pid, left.fate]),
        [[pid, "terminated"]]
      )
    })
  )

  it.live("C03: is no end if it may have missed somebody", () =>
    Effect.gen(function* () {
      const { end, pid } = yield* escaped
      let looks = 0
      const look: ProcessTable["look"] = (after, see) =>
        looks++ > 0 ? table!.look(after, see) : { entries: [], isWhole: false }
      assert.deepStrictEqual(
        (yield* end({ look })).map((left) => left.pid),
        [pid]
      )
    })
  )
})

const isBare = (pid: number) => table!.environment(pid)?.includes(markName) !== true

/** Works in a folder: who has no mark can be told by it. */
const isIn = (folder: string, pid: number): boolean => {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`) === folder
  } catch {
    return false
  }
}

/** Those that commands of this program started, of which one runs at a time. */
const marked = () =>
  table!
    .look()
    .entries.filter(({ pid }) =>
      new RegExp(`${markName}=\\d+\\.${process.pid}\\.`).test(String(table!.environment(pid)))
    )

const levels: ReadonlyArray<Containment> = ["namespace", "cgroup", "marker", "group"]

describe("the level of containment", () => {
  const facts = (change: Partial<Facts>): Facts => ({
    table,
    unshare: () => undefined,
    cgroup: () => undefined,
    ...change
  })

  it("is the one that is wanted, or the next that can be had", () => {
    const flags = ["--pid", "--fork"]
    const level = (wanted: Containment | "best", change: Partial<Facts>) => choose(wanted, facts(change))().level
    const linux = table === undefined ? "group" : "marker"
    assert.strictEqual(level("best", { unshare: () => flags }), table === undefined ? "group" : "namespace")
    assert.strictEqual(level("best", {}), linux)
    assert.strictEqual(level("namespace", {}), linux)
    assert.strictEqual(level("marker", { unshare: () => flags }), linux)
    assert.strictEqual(level("cgroup", { cgroup: () => "/nonexistent" }), linux)
    assert.strictEqual(level("group", { unshare: () => flags }), "group")
  })

  it("without /proc, as on macOS, is the group, and no variable is set", () => {
    for (const wanted of [...levels, "best"] as const) {
      const cell = choose(wanted, facts({ table: undefined, unshare: () => ["--pid"], cgroup: () => "/tmp" }))()
      assert.strictEqual(cell.level, "group")
      assert.deepStrictEqual(cell.env, {})
    }
    assert.isUndefined(ProcessTable.open("/nonexistent"))
  })

  it.live("C07: without /proc the group is ended as a whole, and what is left of it is told of by its number", () =>
    Effect.gen(function* () {
      const cell = choose("best", facts({ table: undefined }))()
      const start = Effect.fnUntraced(function* (command: string) {
        const child = child_process.spawn("bash", ["-c", command], {
          detached: true,
          stdio: ["ignore", "pipe", "ignore"]
        })
        const group = new ProcessGroup(child.pid!, cell, undefined)
        const exited = new Promise<void>((resolve) => {
          child.once("exit", () => {
            group.leaderReaped = true
            resolve()
          })
        })
        yield* Effect.promise(() => new Promise((resolve) => child.stdout.once("data", resolve)))
        return { group, exited: Effect.promise(() => exited) }
      })
      const stopped = yield* start("sleep 60 & echo go; sleep 60")
      yield* stopped.group.end(1_000)
      assert.isTrue(stopped.group.leaderReaped)
      const left = yield* start("sleep 60 & echo go")
      yield* left.exited
      assert.deepStrictEqual(
        (yield* left.group.end(1_000)).map(({ pid }) => pid),
        [left.group.id]
      )
      const ours = [stopped.group.id, left.group.id]
      assert.deepStrictEqual(table?.look().entries.filter(({ group }) => ours.includes(group)) ?? [], [])
    })
  )

  it.live("a process whose layer was released first is ended all the same", () =>
    Effect.gen(function* () {
      const layers = yield* Scope.make()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(NodeProcesses.layer, layers)
      const process = yield* bash("sleep 60 & echo go; sleep 60").pipe(Scope.provide(scope), Effect.provide(context))
      yield* firstLine(process)
      yield* Scope.close(layers, Exit.void)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* process.exit, { _tag: "Signalled", signal: "SIGTERM" })
    })
  )

  for (const wanted of levels) {
    it.live(`C07: held by ${wanted}, nothing of the group runs when the scope has closed`, () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const process = yield* Scope.provide(bash("sleep 60 & echo go; sleep 60; exit 3"), scope)
        yield* firstLine(process)
        assert.include(levels.slice(levels.indexOf(wanted)), process.containment)
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(
          table?.look(process.pid - 1).entries.filter(({ session }) => session === process.pid) ?? [],
          []
        )
      }).pipe(Effect.provide(NodeProcesses.layerWith({ containment: wanted })))
    )
  }

  for (const wanted of ["namespace", "cgroup"] as const) {
    it.live(`C03: held by ${wanted}, who left the session and has no mark goes too`, () =>
      Effect.gen(function* () {
        const folder = yield* temporary
        const bare = "env -i setsid bash -c 'touch escaped; sleep 60' >/dev/null 2>&1 &"
        const process = yield* bash(inFolder(folder, `(${bare}) ; until [ -e escaped ]; do sleep 0.01; done; exit 7`))
        yield* Stream.runDrain(process.output)
        assert.deepStrictEqual(yield* process.exit, { _tag: "Exited", code: 7 })
        yield* process.sweep
        if (process.containment !== wanted) return
        assert.deepStrictEqual(
          table!.look().entries.filter(({ pid }) => isIn(folder, pid)),
          []
        )
      }).pipe(Effect.provide(NodeProcesses.layerWith({ containment: wanted })))
    )

    it.live(`C129: held by ${wanted}, a program that is not there is one failure`, () =>
      Effect.gen(function* () {
        const { spawn } = yield* Processes
        const failure = yield* Effect.flip(spawn({ program: "no-such-program-xyz", args: [] }))
        assert.strictEqual(failure.reason, "ProgramNotFound")
      }).pipe(Effect.provide(NodeProcesses.layerWith({ containment: wanted })))
    )
  }

  it.live("C09: in a namespace a command that cannot hear SIGTERM is not waited for, one that catches it is", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const deaf = yield* bash("echo go; exec sleep 60")
      yield* firstLine(deaf)
      const startedAt = performance.now()
      yield* deaf.sweep
      if (deaf.containment === "namespace") assert.isBelow(performance.now() - startedAt, 1_500)
      const caught = yield* bash(inFolder(folder, "trap 'sleep 0.1; touch clean; exit 3' TERM; echo go; sleep 60"))
      yield* firstLine(caught)
      yield* caught.sweep
      assert.isTrue(fs.existsSync(path.join(folder, "clean")))
      assert.deepStrictEqual(yield* caught.exit, { _tag: "Exited", code: 3 })
    }).pipe(Effect.provide(NodeProcesses.layerWith({ containment: "namespace" })))
  )
})

describe.skipIf(table === undefined)("after a crash", () => {
  const root = path.resolve(import.meta.dirname, "../../../..")
  const module = (file: string) => JSON.stringify(path.join(root, file))
  /** A program that starts a command, tells its numbers, and stays. */
  const host = (command: string) => `
    import * as Effect from "effect/Effect"
    import * as Stream from "effect/Stream"
    import { layer } from ${module("layers/node/Processes.ts")}
    import { Processes } from ${module("src/Processes.ts")}
    import { CurrentToolCall } from ${module("src/ToolCall.ts")}
    const call = { callId: "the-call", sessionId: "s", name: "bash", parameters: {} }
    Effect.runFork(Effect.scoped(Effect.gen(function*() {
      const started = yield* (yield* Processes).spawn({ program: "bash", args: ["-c", ${JSON.stringify(command)}] }).pipe(
        Effect.provideService(CurrentToolCall, call)
      )
      yield* Stream.runForEach(started.output, ({ bytes }) => Effect.sync(() => process.stdout.write(bytes)))
    })).pipe(Effect.provide(layer)))`

  const startHost = Effect.fnUntraced(function* (command: string) {
    const child = child_process.spawn(process.execPath, ["--input-type=module-typescript", "-e", host(command)], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"]
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
    const line = yield* Effect.callback<string>((resume) => {
      child.stdout.once("data", (bytes: Buffer) => resume(Effect.succeed(bytes.toString())))
    })
    const pids = line.trim().split(" ").map(Number)
    // Should the test end early.
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => pids.filter(runs).forEach((pid) => process.kill(pid, "SIGKILL")))
    )
    return { child, pids }
  })

  it.live("the next start ends what a program left that was killed, wherever it went, and nothing else", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const crashed = yield* startHost(
        inFolder(folder, `${escape("exec sleep 60")} > /dev/null; sleep 60 & echo $$ $! $(cat escaped); wait`)
      )
      const alive = yield* startHost("sleep 60 & echo $$ $!; wait")
      // A stranger: started beside, with the variable in its environment, of a program that runs.
      const mark = new Marks(table!).make().value
      const stranger = child_process.spawn("sleep", ["60"], { env: { ...process.env, [markName]: mark } })
      yield* Effect.addFinalizer(() => Effect.sync(() => stranger.kill("SIGKILL")))
      assert.strictEqual(crashed.pids.length, 3)
      assert.isTrue(crashed.pids.every(runs))
      crashed.child.kill("SIGKILL")
      yield* eventually(() => !runs(crashed.child.pid!))
      const { leftovers } = yield* Effect.scoped(Effect.provide(Processes, Layer.fresh(NodeProcesses.layerWith())))
      // What else is ended just now was left by other tests.
      const told = leftovers.filter(({ pid }) => crashed.pids.includes(pid))
      assert.deepStrictEqual(told.map(({ pid }) => pid).toSorted(), crashed.pids.toSorted())
      assert.isTrue(told.every(({ callId, fate }) => callId === "the-call" && fate !== "alive"))
      for (const pid of crashed.pids) assert.isFalse(runs(pid))
      for (const pid of [...alive.pids, stranger.pid!]) assert.isTrue(runs(pid))
    })
  )

  // A /proc of files: real ones would be ended by whatever else starts just now on this machine.
  it.effect(
    "a mark whose host had the same number at another time, or counts in another namespace, is told apart",
    () =>
      Effect.gen(function* () {
        const root = yield* temporary
        const write = (pid: number, startedAt: string, environment: string) => {
          fs.mkdirSync(path.join(root, String(pid)))
          const fields = ["S", "1", pid, pid, ...Array.from({ length: 15 }, () => "0"), startedAt, "0"]
          fs.writeFileSync(path.join(root, String(pid), "stat"), `${pid} (a ) b) ${fields.join(" ")}\n`)
          fs.writeFileSync(path.join(root, String(pid), "environ"), environment)
        }
        const at = (file: string) => path.join(root, String(process.pid), file)
        write(process.pid, "500", "A=1\0")
        fs.mkdirSync(at("ns"))
        fs.symlinkSync("pid:[77]", at("ns/pid"))
        fs.symlinkSync(String(process.pid), path.join(root, "self"))
        fs.writeFileSync(path.join(root, "loadavg"), "0.1 0.2 0.3 1/100 4000000\n")
        const fake = ProcessTable.open(root)!
        const own = new Marks(fake).make().mark
        assert.isTrue(own.startsWith(`77.${process.pid}.500.`))
        const id = own.split(".")[3]
        const cases = {
          own,
          earlier: `77.${process.pid}.499.${id}`,
          gone: `77.4000001.500.${id}`,
          elsewhere: `78.4000001.500.${id}`,
          nonsense: "nonsense,..",
          nested: `77.4000001.500.${id},${own}`,
          called: `77.4000001.500.${id}.0193-call`
        }
        Object.values(cases).forEach((value, i) => write(5_000_000 + i, "600", `A=1\0${markName}=${value}\0B=2\0`))
        const calls: Array<unknown> = []
        const nameOf = (pid: number) => Object.keys(cases)[pid - 5_000_000]
        assert.deepStrictEqual(
          new Marks(fake)
            .leftovers(fake, (pid, callId) => calls.push([nameOf(pid), callId]))
            .entries.map(({ name, pid }) => [name, nameOf(pid)]),
          ["called", "nested", "gone", "earlier"].map((name) => ["a ) b", name])
        )
        assert.deepStrictEqual(calls, [["called", "0193-call"]])
        fake.close()
      })
  )
})
