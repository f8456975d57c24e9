import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import type { Process } from "../../../src/Processes.ts"
import {
  because,
  ended,
  inWorld,
  inWorldOfRoot,
  missing,
  node,
  removeNode,
  processes,
  run,
  spawn,
  temporaryFolders,
  within,
  world
} from "./Sandboxed.ts"

const runs = (pid: number): boolean => {
  try {
    const line = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    return line.slice(line.lastIndexOf(")") + 2, line.lastIndexOf(")") + 3) !== "Z"
  } catch {
    return false
  }
}

/** Those that run a command of two words, by their numbers outside. */
const running = (command: string): ReadonlyArray<number> =>
  fs.readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) &&
        runs(Number(name)) &&
        fs.readFileSync(`/proc/${name}/cmdline`, "utf8") === `${command.replace(" ", "\0")}\0`
        ? [Number(name)]
        : []
    } catch {
      return []
    }
  })

/** The number, outside, of who has that number in the sandbox of a keeper. */
const numberOf = (keeper: number, inner: number): number => {
  const found = fs.readdirSync("/proc").find((name) => {
    try {
      const status = fs.readFileSync(`/proc/${name}/status`, "utf8")
      const [parent = "0"] = /(?<=^PPid:\s*)\d+/m.exec(status) ?? []
      const above = fs.readFileSync(`/proc/${parent}/status`, "utf8")
      return (
        new RegExp(`^NSpid:.*\\t${inner}$`, "m").test(status) && new RegExp(`^PPid:\\s*${keeper}$`, "m").test(above)
      )
    } catch {
      return false
    }
  })
  return Number(found)
}

/** Waits until a condition on other processes holds, of which no event tells. */
const eventually = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (condition() ? Effect.void : Effect.andThen(Effect.sleep(5), eventually(condition))))

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

let words = 0
/** A number of seconds that no other command sleeps. */
const sleep = () => `sleep 6${process.pid}.${++words}`

const program = path.join(import.meta.dirname, "sandboxed-program.ts")

const start = (args: ReadonlyArray<string>, options: child_process.SpawnOptions = {}) =>
  child_process.spawn(process.execPath, [program, ...args], {
    ...options,
    stdio: options.stdio ?? ["ignore", "pipe", "pipe"]
  })

const outcome = (child: child_process.ChildProcess) =>
  Effect.callback<any, Error>((resume) => {
    let text = ""
    child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()))
    child.stderr?.on("data", (chunk: Buffer) => (text += chunk.toString()))
    child.once("close", () => {
      const line = text.trim().split("\n").at(-1) ?? ""
      resume(Effect.try({ try: () => JSON.parse(line), catch: () => new Error(text) }))
    })
  })

afterAll(removeNode)

describe.skipIf(missing !== undefined)(`a process in a sandbox${because}`, () => {
  inWorld("streams, exit status, input and directory are those of the command", ({ workspace }) =>
    Effect.gen(function* () {
      fs.mkdirSync(path.join(workspace, "sub"))
      const { exit, left, stderr, stdout } = yield* run("cat; pwd; echo err >&2; exit 7", { cwd: "sub", input: "in\n" })
      assert.deepStrictEqual(
        { exit, left, stderr, stdout },
        { exit: { _tag: "Exited", code: 7 }, left: [], stderr: "err\n", stdout: `in\n${workspace}/sub\n` }
      )
      // As a shell tells it: who keeps the command has nothing but a number.
      assert.deepStrictEqual((yield* run("kill -9 $$")).exit, { _tag: "Exited", code: 128 + 9 })
      const big = Object.fromEntries(Array.from({ length: 800 }, (_, i) => [`BIG_${i}`, "x".repeat(1_000)]))
      assert.strictEqual((yield* run("echo ${#BIG_0} ${#BIG_799}", { env: big })).stdout, "1000 1000\n")
      const child = yield* Effect.scoped(spawn("true"))
      assert.strictEqual(child.containment, "namespace")
    }).pipe(within("workspace", workspace))
  )

  inWorld("all that it wrote is there, and what nobody pulls waits", ({ workspace }) =>
    Effect.gen(function* () {
      const { stdout } = yield* run("seq 1 100000")
      assert.strictEqual(stdout.length, 588_895)
      assert.strictEqual(stdout.slice(-7), "100000\n")
    }).pipe(within("workspace,no-network", workspace))
  )

  inWorld("C03: what is left in it has ended when the command is swept, whatever session it went to", ({ workspace }) =>
    Effect.gen(function* () {
      const [one, two, three] = [sleep(), sleep(), sleep()]
      yield* run(`${one} & setsid ${two} & (setsid bash -c 'trap "" TERM; ${three}; :' &); sleep 0.1`)
      for (const each of [one, two, three]) assert.deepStrictEqual(running(each), [])
      // Who has much memory takes his time to end.
      fs.writeFileSync(
        path.join(workspace, "large.cjs"),
        'globalThis.kept = Buffer.alloc(2e8, 1); require("fs").writeFileSync("ready", ""); setInterval(() => {}, 1e6)'
      )
      for (let i = 0; i < 5; i++) {
        const child = yield* spawn(`'${node()}' large.cjs >/dev/null 2>&1 & until [ -e go ]; do sleep 0.01; done`)
        yield* eventually(() => fs.existsSync(path.join(workspace, "ready")))
        const [large = 0] = running(`${node()} large.cjs`)
        fs.writeFileSync(path.join(workspace, "go"), "")
        yield* ended(child)
        // By its number: it has no command line any more while it ends.
        assert.isTrue(large > 0 && !runs(large))
        for (const name of ["ready", "go"]) fs.rmSync(path.join(workspace, name))
      }
    }).pipe(within("workspace", workspace))
  )

  inWorld("C07: a command that is stopped has time to end, and takes all with it", ({ workspace }) =>
    Effect.gen(function* () {
      const [inner, escaped] = [sleep(), sleep()]
      const child = yield* spawn(
        `trap 'sleep 0.3; echo bye > ended; exit 0' TERM; setsid ${escaped} & echo $$; ${inner} & while :; do wait; done`
      )
      yield* firstLine(child)
      yield* eventually(() => running(inner).length > 0 && running(escaped).length > 0)
      const itself = numberOf(child.pid, 2)
      assert.isAbove(itself, 0)
      const left = yield* child.sweep
      assert.strictEqual(fs.readFileSync(path.join(workspace, "ended"), "utf8"), "bye\n")
      assert.deepStrictEqual([...running(inner), ...running(escaped)], [])
      // Itself is not told of, nor who kept it.
      assert.isFalse(left.some(({ name, pid }) => name === "bwrap" || pid === itself))
      assert.isTrue(left.every(({ fate }) => fate !== "alive"))
    }).pipe(Effect.scoped, within("workspace", workspace))
  )

  inWorld("C08: one that ignores SIGTERM is killed", ({ workspace }) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const inner = sleep()
      const child = yield* Scope.provide(spawn(`trap '' TERM; echo on; while :; do ${inner}; done`), scope)
      yield* Effect.scoped(firstLine(child))
      yield* eventually(() => running(inner).length > 0)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(running(inner), [])
      assert.isFalse(runs(child.pid))
    }).pipe(Effect.scoped, within("workspace", workspace))
  )

  inWorld("a program that is killed takes its commands with it", ({ workspace }) =>
    Effect.gen(function* () {
      const [inner, escaped] = [sleep(), sleep()]
      // Not in the command line, which the program shows as well.
      fs.writeFileSync(path.join(workspace, "script"), `setsid ${escaped} & ${inner}`)
      const host = start(["workspace", workspace, ". ./script"])
      yield* eventually(() => running(inner).length > 0 && running(escaped).length > 0)
      host.kill("SIGKILL")
      yield* Effect.timeout(
        eventually(() => running(inner).length === 0 && running(escaped).length === 0),
        "5 seconds"
      )
    })
  )

  inWorld("/tmp is a folder of the session: kept from call to call, gone with it, and nobody else's", ({ workspace }) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* run("echo mine > /tmp/note; echo too > /var/tmp/other")
        assert.strictEqual((yield* run("cat /tmp/note $TMPDIR/other; stat -c %a /tmp")).stdout, "mine\ntoo\n700\n")
        assert.strictEqual(temporaryFolders().length, 1)
        // Of another session, nothing.
        const other = yield* run("ls -A /tmp; ls -A /proc/1/root/tmp").pipe(within("workspace", workspace))
        assert.strictEqual(other.stdout, "")
        assert.isFalse(fs.existsSync("/tmp/note"))
      }).pipe(within("workspace", workspace))
      const [base = ""] = temporaryFolders()
      assert.deepStrictEqual(fs.readdirSync(base), ["empty"])
    })
  )

  it.live("what a program left on the disk that died is removed by the next, and that of others is not", () =>
    Effect.gen(function* () {
      const { home, workspace } = yield* world
      const inner = sleep()
      const host = start(["workspace", workspace, `${inner}; :`])
      const of = (pid: number | undefined) => temporaryFolders(pid)
      yield* eventually(() => running(inner).length > 0)
      yield* run("true").pipe(within("workspace", workspace), Effect.provide(processes(home)))
      assert.strictEqual(of(host.pid).length, 1)
      host.kill("SIGKILL")
      yield* Effect.callback<void>((resume) => void host.once("exit", () => resume(Effect.void)))
      yield* run("true").pipe(within("workspace", workspace), Effect.provide(processes(home)))
      assert.deepStrictEqual([...of(host.pid), ...of(process.pid)], [])
    })
  )

  inWorld("a directory out of sight is refused, and so is a program that is not there", ({ workspace }) =>
    Effect.gen(function* () {
      const folder = fs.mkdtempSync("/tmp/sandboxed-")
      yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmdirSync(folder)))
      const hidden = yield* Effect.flip(run("true", { cwd: folder }))
      assert.deepInclude(hidden, { reason: "WorkingDirectory" })
      assert.match(hidden.message, /\/tmp\/.* is not to be seen in the sandbox.*in the workspace/)
      assert.deepInclude(yield* Effect.flip(run("true", { cwd: "nowhere" })), { reason: "WorkingDirectory" })
      assert.deepInclude(yield* Effect.flip(run("true", { env: { PATH: "/nowhere" } })), { reason: "ProgramNotFound" })
      const variables = Object.fromEntries(Array.from({ length: 3_100 }, (_, i) => [`V${i}`, ""]))
      assert.deepInclude(yield* Effect.flip(run("true", { env: variables })), { reason: "ArgumentsTooLong" })
    }).pipe(within("workspace", workspace))
  )

  const hasScript = child_process.spawnSync("script", ["--version"]).status === 0
  it.live.skipIf(!hasScript)("the terminal of the program is not the command's: nothing is typed into it", () =>
    Effect.gen(function* () {
      const { workspace } = yield* world
      const attempt = "(exec 3<>/dev/tty) 2>/dev/null && echo open; ls /dev/pts/[0-9]* 2>/dev/null; :"
      const words = [process.execPath, program, "workspace", workspace, attempt]
      const line = words.map((word) => `'${word}'`).join(" ")
      const { exit, stdout } = yield* outcome(child_process.spawn("script", ["-qec", line, "/dev/null"]))
      assert.deepStrictEqual({ exit, stdout }, { exit: { _tag: "Exited", code: 0 }, stdout: "" })
    })
  )

  inWorld("a workspace in /tmp, and one that is reached by a link, are as others", ({ outside, root }) =>
    Effect.gen(function* () {
      const folder = fs.mkdtempSync("/tmp/sandboxed-")
      yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync(folder, { recursive: true })))
      const inTmp = yield* run("echo x > made; pwd; ls /tmp").pipe(within("workspace", folder))
      assert.strictEqual(inTmp.stdout, `${folder}\n${path.basename(folder)}\n`)
      assert.deepStrictEqual(fs.readdirSync(folder), ["made"])
      const link = path.join(root, "link")
      fs.symlinkSync(outside, link)
      const linked = yield* run("echo x > made; pwd").pipe(within("workspace", link))
      assert.strictEqual(linked.stdout, `${outside}\n`)
    })
  )

  inWorld("descriptors that were left open for this program's children are not handed down", ({ outside, workspace }) =>
    Effect.gen(function* () {
      const folder = fs.openSync(outside, "r")
      // Those up to 15 Node closes itself.
      const between = Array.from({ length: 27 }, () => "ignore" as const)
      const stdio: child_process.StdioOptions = ["ignore", "pipe", "pipe", ...between, folder]
      const script = "echo x > /proc/self/fd/30/new"
      yield* outcome(start(["off", workspace, script], { stdio }))
      assert.deepStrictEqual(fs.readdirSync(outside), ["file", "new"])
      fs.rmSync(path.join(outside, "new"))
      yield* outcome(start(["workspace", workspace, script], { stdio }))
      fs.closeSync(folder)
      assert.deepStrictEqual(fs.readdirSync(outside), ["file"])
    })
  )

  inWorldOfRoot(
    "a program that sets its user sets none, and what is left holds as well",
    ({ outside, root, workspace }) =>
      Effect.gen(function* () {
        for (const folder of [root, workspace, outside]) fs.chmodSync(folder, 0o777)
        const tool = path.join(workspace, "as-root")
        fs.copyFileSync(fs.realpathSync("/usr/bin/id"), tool)
        fs.chmodSync(tool, 0o4755)
        const script = `./as-root -u; echo x > made; echo y > "$TMPDIR/y" && cat /tmp/y; echo x > ${outside}/new; unshare -Ur true && echo rights; su -c id nobody; [ -w /proc/sys/kernel/hostname ] && echo set`
        const free = yield* outcome(start(["off", workspace, "./as-root -u", "65534"]))
        assert.strictEqual(free.stdout, "0\n")
        const kept = yield* outcome(start(["workspace,no-network", workspace, script, "65534"]))
        assert.strictEqual(kept.stdout, "65534\ny\n", JSON.stringify(kept))
        assert.deepStrictEqual(fs.readdirSync(outside), ["file"])
      })
  )
})

describe.skipIf(missing !== undefined)(`a sandbox that fails at first${because}`, () => {
  it.live("a socket that vanishes while it is to be hidden keeps no command from running", () =>
    Effect.gen(function* () {
      const { home, outside, root, workspace } = yield* world
      const socket = path.join(outside, "socket")
      const server = net.createServer()
      yield* Effect.callback<void>((resume) => void server.listen(socket, () => resume(Effect.void)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const bwrap = path.join(root, "late")
      fs.writeFileSync(bwrap, `#!/bin/sh\necho once >> ${root}/times\nrm -f ${socket}\nexec bwrap "$@"\n`, {
        mode: 0o755
      })
      const { exit, stdout } = yield* run("echo x").pipe(
        within("workspace", workspace),
        Effect.provide(processes(home, { bwrap }))
      )
      assert.deepStrictEqual({ exit, stdout }, { exit: { _tag: "Exited", code: 0 }, stdout: "x\n" })
      assert.strictEqual(fs.readFileSync(path.join(root, "times"), "utf8"), "once\nonce\n")
    })
  )
})

describe("a sandbox that cannot be had", () => {
  const refused = (name: string, options: { readonly bwrap: string }, expected: RegExp) =>
    it.live(name, () =>
      Effect.gen(function* () {
        const { home, root, workspace } = yield* world
        const fake = path.join(root, "failing")
        fs.writeFileSync(fake, "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n", {
          mode: 0o755
        })
        const bwrap = options.bwrap === "failing" ? fake : options.bwrap
        const attempt = run("echo x > made").pipe(within("workspace,no-network", workspace))
        const failed = yield* Effect.flip(Effect.provide(attempt, processes(home, { bwrap })))
        assert.strictEqual(failed.reason, "SandboxUnavailable")
        assert.match(failed.message, expected)
        assert.match(
          failed.message,
          /^The sandbox workspace,no-network was asked for and cannot be had: .*Nothing was run\.$/
        )
        assert.deepStrictEqual(fs.readdirSync(workspace), [])
        // What asks for none runs.
        const off = run("echo x").pipe(within("off", workspace), Effect.provide(processes(home, { bwrap })))
        assert.strictEqual((yield* off).stdout, "x\n")
      })
    )

  refused("bubblewrap is not installed: nothing is run", { bwrap: "/nowhere/bwrap" }, /install the package bubblewrap/)
  refused(
    "bubblewrap may not: nothing is run, and what it said is told",
    { bwrap: "failing" },
    /No permissions to create new namespace/
  )

  it.live("a workspace that is not there: nothing is run", () =>
    Effect.gen(function* () {
      const { home, root } = yield* world
      const failed = yield* Effect.flip(
        run("true", { cwd: "/" }).pipe(within("workspace", path.join(root, "gone")), Effect.provide(processes(home)))
      )
      assert.strictEqual(failed.reason, "SandboxUnavailable")
    })
  )
})
