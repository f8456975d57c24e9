import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import { type Command, type Process, Processes } from "../../../src/Processes.ts"
import * as Session from "../../../src/Session.ts"

const spawn = (command: Command) => Effect.flatMap(Processes, (processes) => processes.spawn(command))

const bash = (command: string, options: Omit<Command, "program" | "args"> = {}) =>
  spawn({ program: "bash", args: ["-c", command], ...options })

/** Everything until the output ends. */
const collect = (process: Process) =>
  Effect.map(
    Stream.runFold(
      process.output,
      () => ({ stdout: [] as Array<Uint8Array>, stderr: [] as Array<Uint8Array> }),
      (all, output) => {
        all[output.stream].push(output.bytes.slice())
        return all
      }
    ),
    ({ stderr, stdout }) => ({ stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) })
  )

const run = Effect.fnUntraced(function* (command: string, options?: Omit<Command, "program" | "args">) {
  const startedAt = performance.now()
  const process = yield* bash(command, options)
  const output = yield* collect(process)
  const exit = yield* process.exit
  const leftBehind = yield* process.sweep
  return {
    process,
    exit,
    leftBehind,
    stdout: output.stdout.toString(),
    stderr: output.stderr.toString(),
    ms: performance.now() - startedAt
  }
})

/** Runs until the first byte came; what comes then is still to be pulled. */
const first = Effect.fnUntraced(function* (process: Process) {
  const seen = yield* Deferred.make<string>()
  const fiber = yield* Effect.forkScoped(
    Stream.runForEach(process.output, ({ bytes }) => Deferred.succeed(seen, Buffer.from(bytes).toString()))
  )
  return { text: yield* Deferred.await(seen), fiber }
})

/** Dead or a zombie: nothing of it runs. */
const runs = (pid: number): boolean => {
  try {
    const line = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    return line.slice(line.lastIndexOf(")") + 2, line.lastIndexOf(")") + 3) !== "Z"
  } catch {
    return false
  }
}

const groupRuns = (group: number): boolean =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        const line = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
        const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
        return Number(fields[2]) === group && fields[0] !== "Z"
      } catch {
        return false
      }
    })

/** Waits until a condition on other processes holds, of which no event tells. */
const eventually = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (condition() ? Effect.void : Effect.andThen(Effect.sleep(5), eventually(condition))))

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "processes-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

const zombies = () =>
  spawnSync("ps", ["-o", "pid=,stat=", "--ppid", String(process.pid)], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((line) => /\sZ/.test(line))

const handles = () =>
  process.getActiveResourcesInfo().filter((kind) => /Pipe|Process|Timeout|Immediate/.test(kind)).length

describe("Processes on Node", () => {
  it.layer(NodeProcesses.layer, { excludeTestServices: true })((it) => {
    it.effect("a program is told the name that it was called by, wherever it was found", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* run("echo $0")).stdout, "bash\n")
      })
    )

    it.effect("a command's streams and its exit code are told apart", () =>
      Effect.gen(function* () {
        const { exit, leftBehind, stderr, stdout } = yield* run("echo out; echo err >&2; exit 7")
        assert.deepStrictEqual(
          { exit, leftBehind, stderr, stdout },
          {
            exit: { _tag: "Exited", code: 7 },
            leftBehind: [],
            stderr: "err\n",
            stdout: "out\n"
          }
        )
      })
    )

    it.effect("reads its input, text or bytes, to the end of it, and nothing without one", () =>
      Effect.gen(function* () {
        const bytes = Uint8Array.from({ length: 1024 * 1024 }, (_, index) => index % 251)
        const process = yield* spawn({ program: "cat", args: [], input: bytes })
        const { stdout } = yield* collect(process)
        assert.isTrue(stdout.equals(bytes))
        assert.deepStrictEqual(yield* process.exit, { _tag: "Exited", code: 0 })
        for (const [input, expected] of [
          ["größer, 日本\n", "größer, 日本\n"],
          ["", ""],
          [undefined, ""]
        ] as const) {
          const { exit, stdout } = yield* run("cat", { input })
          assert.deepStrictEqual({ exit, stdout }, { exit: { _tag: "Exited", code: 0 }, stdout: expected })
        }
      })
    )

    it.effect("C31: who does not read its input ends as it does, and nothing else breaks", () =>
      Effect.gen(function* () {
        const input = "x".repeat(1024 * 1024)
        for (const [command, code, expected] of [
          ["true", 0, ""],
          ["exec <&-; echo closed; exit 3", 3, "closed\n"],
          ["head -c 3", 0, "xxx"],
          // Whoever is left behind holds the other end open, and never reads.
          ["sleep 60 & echo left; exit 4", 4, "left\n"]
        ] as const) {
          const { exit, stdout } = yield* run(command, { input })
          assert.deepStrictEqual({ exit, stdout }, { exit: { _tag: "Exited", code }, stdout: expected }, command)
        }
        // Cancelled while it does not read.
        const scope = yield* Scope.make()
        const deaf = yield* Scope.provide(bash("echo up; exec sleep 60", { input }), scope)
        yield* Effect.scoped(first(deaf))
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* deaf.exit, { _tag: "Signalled", signal: "SIGTERM" })
        const missing = yield* Effect.flip(spawn({ program: "no-such-program", args: [], input }))
        assert.strictEqual(missing.reason, "ProgramNotFound")
        // Of what is broken Node tells a turn later.
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      })
    )

    it.effect("a shell with an input is the same shell: it reads no ~/.bashrc", () =>
      Effect.gen(function* () {
        const home = yield* temporary
        fs.writeFileSync(path.join(home, ".bashrc"), "echo read\n")
        const { stdout } = yield* run("cat", { input: "in", env: { HOME: home, SHLVL: "0" } })
        assert.strictEqual(stdout, "in")
      })
    )

    it.effect("C33: a command killed by a signal says which", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* run("kill -9 $$")).exit, { _tag: "Signalled", signal: "SIGKILL" })
      })
    )

    it.effect("C01: what holds the pipe does not hold the call, and is ended and named", () =>
      Effect.gen(function* () {
        const { exit, leftBehind, ms, process, stdout } = yield* run("sleep 30 & echo done")
        assert.strictEqual(stdout, "done\n")
        assert.deepStrictEqual(exit, { _tag: "Exited", code: 0 })
        assert.deepStrictEqual(
          leftBehind.map(({ fate }) => fate),
          ["terminated"]
        )
        // Its name, or that of the shell that was to become it.
        assert.match(leftBehind[0]?.name ?? "", /^(sleep|bash)$/)
        assert.isBelow(ms, 1_500)
        assert.isFalse(groupRuns(process.pid))
      })
    )

    it.effect("C01: what is left behind and ignores SIGTERM is killed", () =>
      Effect.gen(function* () {
        const { leftBehind, process } = yield* run(
          "(trap '' TERM; echo ready; while :; do sleep 0.2; done) & read -t 5 < <(sleep 0.2); :"
        )
        assert.include(
          leftBehind.map(({ fate }) => fate),
          "killed"
        )
        assert.isFalse(groupRuns(process.pid))
      })
    )

    it.effect("C01: what is left behind and floods does not hold the call", () =>
      Effect.gen(function* () {
        const { leftBehind, ms } = yield* run("yes & sleep 0.05")
        assert.strictEqual(leftBehind.length, 1)
        assert.isBelow(ms, 4_000)
      })
    )

    it.effect("C03: a holder that left the group does not hold the call, is ended and named", () =>
      Effect.gen(function* () {
        const { leftBehind, ms, stdout } = yield* run(
          "setsid sleep 60 & echo spawned; until [ $(ps -o pgid= -p $!) = $! ]; do :; done"
        )
        assert.strictEqual(stdout, "spawned\n")
        assert.deepStrictEqual(
          leftBehind.map(({ fate, name }) => [name, fate]),
          [["sleep", "terminated"]]
        )
        assert.isFalse(leftBehind.some(({ pid }) => runs(pid)))
        assert.isBelow(ms, 2_000)
      })
    )

    it.effect("C05: the last bytes are there although a holder exists", () =>
      Effect.forEach(
        Array.from({ length: 20 }),
        () =>
          Effect.scoped(
            Effect.gen(function* () {
              const { stdout } = yield* run("seq 1 200000; sleep 20 &")
              assert.isTrue(stdout.endsWith("\n199999\n200000\n"))
              assert.strictEqual(stdout.length, 1_288_895)
            })
          ),
        { discard: true, concurrency: 4 }
      )
    )

    it.effect("C05: a slow reader gets the last bytes too", () =>
      Effect.gen(function* () {
        const process = yield* bash("head -c 300000 /dev/zero | tr '\\0' x; sleep 20 &")
        let bytes = 0
        // Once the command has nothing left to do but to exit, wait for longer than anybody listens.
        yield* Stream.runForEach(process.output, (output) => {
          bytes += output.bytes.length
          return Effect.sleep(300)
        })
        assert.strictEqual(bytes, 300_000)
      })
    )

    it.effect("C05: what a process substitution says a moment after the exit is heard", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* run("echo said > >(sleep 0.02; cat)")).stdout, "said\n")
      })
    )

    it.effect("C05: who is still at work at the exit is heard, and not for ever", () =>
      Effect.gen(function* () {
        const work = "t=${EPOCHREALTIME/[.,]/}; until (( ${EPOCHREALTIME/[.,]/} - t > 220000 )); do :; done"
        assert.strictEqual((yield* run(`echo said > >(${work}; cat)`)).stdout, "said\n")
        const { leftBehind, ms } = yield* run("while :; do :; done & echo done")
        assert.strictEqual(leftBehind.length, 1)
        assert.isBelow(ms, 4_000)
      })
    )

    it.effect("C06: both streams are drained at once", () =>
      Effect.gen(function* () {
        const { stderr, stdout } = yield* run("head -c 2000000 /dev/zero >&2; head -c 2000000 /dev/zero")
        assert.deepStrictEqual([stdout.length, stderr.length], [2_000_000, 2_000_000])
      })
    )

    it.effect("C07: when the scope has closed nothing of the group runs", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const process = yield* Scope.provide(bash("sh -c 'sleep 300 & echo $!; wait'"), scope)
        const { text } = yield* first(process)
        assert.isTrue(runs(Number(text)))
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(runs(Number(text)))
        assert.isFalse(groupRuns(process.pid))
        assert.deepStrictEqual(yield* process.exit, { _tag: "Signalled", signal: "SIGTERM" })
      })
    )

    it.effect("C07: a group within the session is ended too", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const process = yield* Scope.provide(bash("timeout 100 sh -c 'echo $$; exec sleep 100'; true"), scope)
        const { text } = yield* first(process)
        assert.isTrue(runs(Number(text)))
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(runs(Number(text)))
      })
    )

    it.effect("C01: a group within the session that is left behind is ended and named", () =>
      Effect.gen(function* () {
        const { leftBehind, stdout } = yield* run("timeout 100 sleep 100 & echo done")
        assert.strictEqual(stdout, "done\n")
        assert.isAbove(leftBehind.length, 0)
        for (const { fate, pid } of leftBehind) {
          assert.strictEqual(fate, "terminated")
          assert.isFalse(runs(pid))
        }
      })
    )

    it.effect("C09: what ignores SIGTERM is killed after the grace period", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const process = yield* Scope.provide(bash("trap '' TERM INT HUP; echo ready; while :; do sleep 1; done"), scope)
        yield* first(process)
        const startedAt = performance.now()
        yield* Scope.close(scope, Exit.void)
        const ms = performance.now() - startedAt
        assert.isAtLeast(ms, 1_900)
        assert.isBelow(ms, 4_000)
        assert.isFalse(groupRuns(process.pid))
        assert.deepStrictEqual(yield* process.exit, { _tag: "Signalled", signal: "SIGKILL" })
      })
    )

    it.effect("a command that cleans up on SIGTERM may, and may be wordy about it", () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const scope = yield* Scope.make()
        const process = yield* Scope.provide(
          bash(
            "trap 'head -c 1000000 /dev/zero; echo clean > mark; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
            {
              cwd: directory
            }
          ),
          scope
        )
        const { fiber } = yield* first(process)
        yield* Fiber.interrupt(fiber)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(fs.readFileSync(path.join(directory, "mark"), "utf8"), "clean\n")
      })
    )

    it.effect("a stopped process is ended too", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const started = yield* Scope.provide(bash("echo ready; exec sleep 100"), scope)
        yield* first(started)
        process.kill(started.pid, "SIGSTOP")
        const startedAt = performance.now()
        yield* Scope.close(scope, Exit.void)
        assert.isBelow(performance.now() - startedAt, 1_500)
        assert.deepStrictEqual(yield* started.exit, { _tag: "Signalled", signal: "SIGTERM" })
      })
    )

    it.effect("C12: output that nobody pulls blocks the process", () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        // A line for each block: a file that is written anew is empty at times.
        const count = () => fs.statSync(path.join(directory, "count")).size
        const process = yield* bash(
          'printf -v block %65536s; for i in $(seq 1 300); do printf %s "$block"; echo >> count; done',
          { cwd: directory }
        )
        yield* eventually(() => fs.existsSync(path.join(directory, "count")) && count() > 0)
        // It stands still when two looks, some time apart, see the same.
        for (let before = -1; before !== count();) {
          before = count()
          yield* Effect.sleep(200)
        }
        assert.isBelow(count(), 20)
        assert.strictEqual((yield* collect(process)).stdout.length, 65_536 * 300)
      })
    )

    it.effect("C13: neither zombies, handles nor listeners stay", () =>
      Effect.gen(function* () {
        // The first process brings the listener, for all.
        yield* Effect.scoped(run("true"))
        const handlesBefore = handles()
        const listeners = process.listenerCount("exit")
        yield* Effect.forEach(
          Array.from({ length: 40 }),
          (_, i) =>
            i % 2 === 0
              ? Effect.scoped(run("true & true"))
              : Effect.scoped(Effect.flatMap(bash("sleep 100"), () => Effect.void)),
          { concurrency: 4 }
        )
        assert.deepStrictEqual(zombies(), [])
        yield* eventually(() => handles() <= handlesBefore)
        assert.strictEqual(process.listenerCount("exit"), listeners)
      })
    )

    it.effect("C24: stdin is empty", () =>
      Effect.gen(function* () {
        const { exit, ms, stdout } = yield* run('read x; echo "got:$x"; cat; true')
        assert.deepStrictEqual([stdout, exit], ["got:\n", { _tag: "Exited", code: 0 }])
        assert.isBelow(ms, 2_000)
      })
    )

    it.effect("nothing pages, edits or asks, and there is no terminal", () =>
      Effect.gen(function* () {
        const { stdout } = yield* run(
          "echo $PAGER $GIT_PAGER $EDITOR $GIT_EDITOR $GIT_TERMINAL_PROMPT; (: < /dev/tty) 2>/dev/null || echo none"
        )
        assert.strictEqual(stdout, "cat cat true true 0\nnone\n")
        assert.strictEqual((yield* run("echo $PAGER", { env: { PAGER: "less" } })).stdout, "less\n")
      })
    )

    it.effect("C26: a working directory that is not one is named", () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const file = path.join(directory, "file")
        fs.writeFileSync(file, "")
        for (const [cwd, why] of [
          ["/nonexistent-xyz", "does not exist"],
          [file, "is not a directory"],
          [`${file}/x`, "is not a directory"]
        ] as const) {
          const failure = yield* Effect.flip(bash("true", { cwd }))
          assert.strictEqual(failure.reason, "WorkingDirectory")
          assert.include(failure.message, `${cwd} ${why}`)
        }
        assert.strictEqual((yield* run("echo alive")).stdout, "alive\n")
      })
    )

    it.effect("C26: relative directories start at the session's workspace", () =>
      Effect.gen(function* () {
        const workspace = yield* temporary
        fs.mkdirSync(path.join(workspace, "inner"))
        yield* Effect.gen(function* () {
          assert.strictEqual((yield* run("pwd; echo $PWD")).stdout, `${workspace}\n${workspace}\n`)
          assert.strictEqual((yield* run("pwd", { cwd: "inner" })).stdout, `${workspace}/inner\n`)
        }).pipe(Effect.provide(Session.layer({ workspace })))
      })
    )

    it.effect("C129: a program that is not there is one failure", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(spawn({ program: "no-such-program-xyz", args: [] }))
        assert.strictEqual(failure.reason, "ProgramNotFound")
        assert.include(failure.message, "no-such-program-xyz")
      })
    )

    it.effect("C30: arguments that are too long are one failure, which names the limit", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(bash(`: ${"x".repeat(200_000)}; echo end`))
        assert.strictEqual(failure.reason, "ArgumentsTooLong")
        assert.include(failure.message, "128 KiB")
      })
    )

    it.effect("C30: an argument with a NUL is one failure", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip(bash("echo a\0b"))).reason, "Other")
      })
    )

    it.effect("sweep before the exit ends the command too, and works once", () =>
      Effect.gen(function* () {
        const process = yield* bash("sleep 100 & echo $!; sleep 100")
        const { text } = yield* first(process)
        const left = yield* process.sweep
        assert.deepStrictEqual(
          left.map(({ fate, pid }) => ({ fate, pid })).find(({ pid }) => pid === Number(text)),
          {
            fate: "terminated",
            pid: Number(text)
          }
        )
        assert.notInclude(
          left.map(({ pid }) => pid),
          process.pid
        )
        assert.strictEqual(yield* process.sweep, left)
        assert.isFalse(groupRuns(process.pid))
      })
    )

    it.effect("an interruption at any moment leaves nothing running", () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        yield* Effect.forEach(
          Array.from({ length: 24 }),
          (_, i) =>
            Effect.gen(function* () {
              const fiber = yield* Effect.forkChild(
                Effect.scoped(run(`echo $$ > ${i}; sleep 100 & sleep 100`, { cwd: directory })),
                { startImmediately: i % 2 === 0 }
              )
              yield* Effect.sleep(i)
              yield* Fiber.interrupt(fiber)
              const exit = yield* Fiber.await(fiber)
              assert.isTrue(Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause))
            }),
          { concurrency: 4 }
        )
        for (const name of fs.readdirSync(directory)) {
          const group = Number(fs.readFileSync(path.join(directory, name), "utf8"))
          assert.isTrue(group === 0 || !groupRuns(group))
        }
      })
    )
  })

  it.effect("a clock of tests does not stop the end of processes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const process = yield* Scope.provide(bash("trap '' TERM; echo ready; sleep 1; sleep 100"), scope)
      yield* first(process)
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(groupRuns(process.pid))
    }).pipe(Effect.provide(NodeProcesses.layer))
  )

  it.live("when the layer is released its listener is", () =>
    Effect.gen(function* () {
      const before = process.listenerCount("exit")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const context = yield* Layer.build(NodeProcesses.layer)
          for (const _ of [1, 2]) yield* Effect.scoped(Effect.provide(bash("true"), context))
          assert.strictEqual(process.listenerCount("exit"), before + 1)
        })
      )
      assert.strictEqual(process.listenerCount("exit"), before)
    })
  )

  it.live("a program that exits without closing its scopes takes its processes with it", () =>
    Effect.gen(function* () {
      const module = (file: string) => JSON.stringify(path.resolve(import.meta.dirname, "../../..", file))
      const { stdout } = spawnSync(
        process.execPath,
        [
          "--input-type=module-typescript",
          "-e",
          `
        import * as Effect from "effect/Effect"
        import * as Stream from "effect/Stream"
        import { layer } from ${module("layers/node/Processes.ts")}
        import { Processes } from ${module("src/Processes.ts")}
        Effect.runFork(Effect.scoped(Effect.gen(function*() {
          const started = yield* (yield* Processes).spawn({ program: "bash", args: ["-c", "echo ready; sleep 100 & wait"] })
          yield* Stream.runForEach(started.output, () => Effect.sync(() => {
            process.stdout.write(String(started.pid))
            process.exit(0)
          }))
        })).pipe(Effect.provide(layer)))
      `
        ],
        { encoding: "utf8", cwd: path.resolve(import.meta.dirname, "../../..") }
      )
      assert.match(stdout, /^\d+$/)
      yield* eventually(() => !groupRuns(Number(stdout)))
    })
  )
})
