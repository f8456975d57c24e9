import { afterAll, assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as child_process from "node:child_process"
import * as dgram from "node:dgram"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import {
  because,
  inWorld,
  inWorldOfRoot,
  isRoot,
  missing,
  node,
  removeNode,
  run,
  succeeding,
  within,
  type World
} from "./Sandboxed.ts"

/** A server that counts who comes. */
const listening = <S extends net.Server>(server: S, where: string | { readonly port: number; readonly host: string }) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly server: S; readonly seen: { count: number } }>((resume) => {
      const seen = { count: 0 }
      server.on("connection", (socket) => {
        seen.count++
        socket.on("error", () => {}).end("hello")
      })
      const done = () => resume(Effect.succeed({ server, seen }))
      if (typeof where === "string") server.listen(where, done)
      else server.listen(where, done)
    }),
    ({ server }) => Effect.sync(() => server.close())
  )

const portOf = (server: { address: () => string | net.AddressInfo | null }): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** Connects to a socket by its name, NUL first if it is abstract, and prints what it says. */
const connecting = (name: string) => {
  const program = `require("node:net").connect(${JSON.stringify({ path: name })}).on("error", (e) => { console.log(e.code); process.exit(1) }).pipe(process.stdout)`
  return `'${node()}' -e '${program}'`
}

afterAll(removeNode)

describe.skipIf(missing !== undefined)(`a sandbox: files${because}`, () => {
  inWorld("workspace: only the workspace and the temporary folder are written", ({ home, outside, workspace }) =>
    Effect.gen(function* () {
      const { exit, stderr } = yield* run(
        'echo a > made && mkdir -p sub && echo b > sub/made && echo c > "$TMPDIR/made"'
      )
      assert.deepStrictEqual({ exit, stderr }, { exit: { _tag: "Exited", code: 0 }, stderr: "" })
      assert.strictEqual(fs.readFileSync(path.join(workspace, "sub/made"), "utf8"), "b\n")
      assert.deepStrictEqual(
        yield* succeeding([
          `echo x > ${outside}/file`,
          `echo x > ${outside}/new`,
          `rm ${outside}/file`,
          `mv ${outside}/file ${outside}/other`,
          `chmod 777 ${outside}/file`,
          `touch ${outside}`,
          `mkdir ${outside}/folder`,
          `echo x > ${home}/.bashrc`,
          `mv ${workspace} ${workspace}-moved`,
          // No attempt that would be felt, should it succeed.
          "[ -w /etc/profile.d -o -w /usr/bin -o -w / -o -w /var/lib ]",
          `ln ${outside}/file hard`,
          `mv made ${outside}/`
        ]),
        []
      )
      assert.strictEqual(fs.readFileSync(path.join(outside, "file"), "utf8"), "before\n")
      assert.strictEqual((yield* run(`cat ${outside}/file`)).stdout, "before\n")
    }).pipe(within("workspace", workspace))
  )

  inWorld("read-only: the temporary folder alone is written", ({ outside, workspace }) =>
    Effect.gen(function* () {
      fs.writeFileSync(path.join(workspace, "file"), "before\n")
      assert.deepStrictEqual(
        yield* succeeding([
          "echo x > file",
          "echo x > new",
          "rm file",
          "mkdir x",
          `echo x > ${outside}/file`,
          `touch ${workspace}`
        ]),
        []
      )
      assert.strictEqual(
        (yield* run('cat file; echo t > "$TMPDIR/t"; cat /tmp/t; cat <<< here')).stdout,
        "before\nt\nhere\n"
      )
    }).pipe(within("read-only", workspace))
  )

  inWorld("profiles combine: the narrower of two holds", ({ workspace }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* succeeding(["echo x > new"]), [])
    }).pipe(within("workspace,read-only,no-network", workspace))
  )

  inWorld("links lead out of the workspace for reading, not for writing", ({ outside, workspace }) =>
    Effect.gen(function* () {
      fs.symlinkSync(outside, path.join(workspace, "link"))
      fs.symlinkSync(path.join(outside, "file"), path.join(workspace, "file-link"))
      assert.deepStrictEqual(
        yield* succeeding([
          "echo x > link/file",
          "echo x > link/new",
          "echo x > file-link",
          "rm link/file",
          `ln -s ${outside} mine; echo x > mine/new`,
          `ln -s ${outside}/born born; echo x > born`,
          "cd link && echo x > ../outside/new",
          "echo x > ../outside/new"
        ]),
        []
      )
      assert.deepStrictEqual(fs.readdirSync(outside), ["file"])
    }).pipe(within("workspace", workspace))
  )

  inWorld("what the user's next command obeys is not written: hooks and settings of git, rules", ({ workspace }) =>
    Effect.gen(function* () {
      const git = (...args: ReadonlyArray<string>) =>
        child_process.execFileSync("git", ["-C", workspace, "-c", "user.name=a", "-c", "user.email=a@b", ...args])
      git("init", "-q")
      fs.mkdirSync(path.join(workspace, ".toolstream"))
      fs.writeFileSync(path.join(workspace, ".toolstream", "permissions.json"), "{}")
      assert.deepStrictEqual(
        yield* succeeding([
          "echo x > .git/hooks/pre-commit",
          "mv .git/hooks .git/old",
          "rm -rf .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit",
          "echo x >> .git/config",
          "rm .git/config",
          "git config core.fsmonitor ./evil",
          // With hooks that are mounted inside of it, a folder could still be moved.
          "mv .git .gone",
          "echo x > .toolstream/permissions.json",
          "echo x > .toolstream/other",
          "mv .toolstream .gone"
        ]),
        []
      )
      const commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s"
      fs.writeFileSync(path.join(workspace, "file"), "x")
      const { stdout } = yield* run(commit)
      assert.strictEqual(stdout, "one\n")
    }).pipe(within("workspace", workspace))
  )

  inWorld("a repository without hooks gets none, a linked work tree keeps its own", ({ outside, workspace }) =>
    Effect.gen(function* () {
      child_process.execFileSync("git", ["-C", workspace, "init", "-q", "--template="])
      assert.isFalse(fs.existsSync(path.join(workspace, ".git/hooks")))
      assert.deepStrictEqual(
        yield* succeeding(["mkdir .git/hooks", "mkdir -p .git/hooks && echo x > .git/hooks/a"]),
        []
      )
      fs.rmSync(path.join(workspace, ".git"), { recursive: true })
      fs.writeFileSync(path.join(workspace, ".git"), `gitdir: ${outside}\n`)
      assert.deepStrictEqual(yield* succeeding(["echo gitdir: evil > .git", "rm .git", "mv .git other"]), [])
    }).pipe(within("workspace", workspace))
  )

  for (const profile of ["workspace", "read-only"]) {
    inWorld(`${profile}: credentials are not to be seen`, ({ home, workspace }) =>
      Effect.gen(function* () {
        for (const folder of [".ssh", ".aws", ".gnupg", ".kube", ".config/gh"]) {
          fs.mkdirSync(path.join(home, folder), { recursive: true })
          fs.writeFileSync(path.join(home, folder, "secret"), "hunter2")
        }
        for (const file of [".netrc", ".npmrc", ".git-credentials"]) fs.writeFileSync(path.join(home, file), "hunter2")
        fs.writeFileSync(path.join(home, ".gitconfig"), "seen")
        // A link to where they really are.
        fs.mkdirSync(path.join(home, "elsewhere"))
        fs.writeFileSync(path.join(home, "elsewhere", "secret"), "hunter2")
        fs.symlinkSync(path.join(home, "elsewhere"), path.join(home, ".docker"))
        const { stdout } = yield* run(
          `grep -rs hunter2 ${home}; cat ${home}/.gitconfig ${home}/.npmrc; ls -A ${home}/.ssh`
        )
        assert.strictEqual(stdout, "seen")
        assert.deepStrictEqual(
          yield* succeeding([
            `echo x > ${home}/.ssh/x`,
            `chmod 755 ${home}/.ssh && echo x > ${home}/.ssh/x`,
            `umount ${home}/.ssh`
          ]),
          []
        )
      }).pipe(within(profile, workspace))
    )
  }

  inWorld("a workspace that is the home directory hides credentials in it", ({ home }) =>
    Effect.gen(function* () {
      fs.mkdirSync(path.join(home, ".ssh"))
      fs.writeFileSync(path.join(home, ".ssh", "secret"), "hunter2")
      fs.writeFileSync(path.join(home, ".netrc"), "hunter2")
      const { stdout } = yield* run("grep -rs hunter2 .; echo x > written && cat written")
      assert.strictEqual(stdout, "x\n")
      assert.deepStrictEqual(yield* succeeding(["mv .ssh ssh", "rm .netrc", "echo x > .ssh/authorized_keys"]), [])
    }).pipe(within("workspace", home))
  )

  inWorld("devices of the machine are neither there nor made", ({ workspace }) =>
    Effect.gen(function* () {
      // The number of /dev/zero: what stands in a folder that may be written would be opened, if anything was.
      if (isRoot) child_process.spawnSync("mknod", [path.join(workspace, "node"), "c", "1", "5"])
      const { stdout } = yield* run("find /dev -type b; ls /dev | sort | tr '\\n' ' '")
      assert.notMatch(stdout, /vda|sda|nvme|loop|mem|kmsg/)
      assert.deepStrictEqual(
        yield* succeeding(["mknod made c 1 5", "head -c 1 < node", ": >> node", "head -c 1 /dev/mem", "cat /dev/kmsg"]),
        []
      )
    }).pipe(within("workspace", workspace))
  )

  for (const profile of ["workspace", "no-network"]) {
    const writable = (file: string) => `[ -w ${file} ]`
    inWorld(`${profile}: the kernel is not set`, ({ workspace }) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(
          yield* succeeding([
            // No attempt that would be felt, should it succeed.
            ...["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches"].map(writable),
            ...["/proc/sysrq-trigger", "/proc/mtrr", "/proc/irq/default_smp_affinity"].map(writable),
            ...["/sys/kernel/mm", "/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"].map(writable),
            "find /proc/sys /sys -writable -print -quit | grep .",
            "hostname $(hostname)"
          ]),
          []
        )
      }).pipe(within(profile, workspace))
    )
  }
})

describe.skipIf(missing !== undefined)(`a sandbox: other processes${because}`, () => {
  inWorld("nobody outside is seen, signalled, traced, or looked into", ({ outside, workspace }) =>
    Effect.gen(function* () {
      const victim = yield* Effect.acquireRelease(
        Effect.sync(() =>
          child_process.spawn("sleep", ["60"], { env: { SECRET: "hunter2", PATH: process.env.PATH }, cwd: outside })
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      const pid = victim.pid ?? 0
      assert.deepStrictEqual(
        yield* succeeding([
          `kill -0 ${pid}`,
          `kill -9 ${pid}`,
          `ls /proc/${pid}/root/`,
          `ls /proc/${pid}/fd`,
          `ls /proc/${pid}/cwd/`,
          `cat /proc/${pid}/environ`,
          `strace -p ${pid} -o /dev/null & sleep 0.2; kill $!`,
          `echo x > /proc/1/root${outside}/file`,
          `echo x > /proc/1/cwd/../outside/file`,
          `for fd in /proc/[0-9]*/fd/*; do [ -d $fd ] && exit 0; done; exit 1`
        ]),
        []
      )
      const { stdout } = yield* run(
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep hunter2; ls -d /proc/[0-9]* | wc -l"
      )
      // The first process, bash, ls, wc.
      assert.isAtMost(Number(stdout), 5)
      assert.isNull(victim.exitCode ?? victim.signalCode)
    }).pipe(within("workspace", workspace))
  )

  inWorld(
    "rights are not gained: not by a mount, a namespace, another sandbox, or what the container brings",
    ({ outside, workspace }) =>
      Effect.gen(function* () {
        const out = `echo x > ${outside}/file`
        assert.deepStrictEqual(
          yield* succeeding([
            "mount -t tmpfs none /mnt",
            "mount -o remount,rw,bind /",
            `mount -o remount,rw / && ${out}`,
            "umount /tmp",
            "umount -l /proc",
            "unshare --mount true",
            "unshare --user --map-root-user true",
            `unshare --user --map-root-user --mount sh -c 'mount -o remount,rw,bind / && ${out}'`,
            "unshare --pid --fork true",
            "bwrap --bind / / true",
            "nsenter --target 1 --mount true",
            "nsenter --target 1 --user --preserve-credentials true",
            "chroot / true"
          ]),
          []
        )
        const none = "0000000000000000"
        const { stdout } = yield* run("grep -E '^(NoNewPrivs|CapPrm|CapEff|CapBnd|CapAmb)' /proc/self/status")
        assert.deepStrictEqual(stdout.trim().split(/\s+/), [
          "CapPrm:",
          none,
          "CapEff:",
          none,
          "CapBnd:",
          none,
          "CapAmb:",
          none,
          "NoNewPrivs:",
          "1"
        ])
      }).pipe(within("workspace", workspace))
  )

  inWorld("memory is not shared with others", ({ workspace }) =>
    Effect.gen(function* () {
      const segment = yield* Effect.acquireRelease(
        Effect.sync(
          () => /\d+/.exec(child_process.execFileSync("ipcmk", ["-M", "64"], { encoding: "utf8" }))?.[0] ?? ""
        ),
        (id) => Effect.sync(() => child_process.spawnSync("ipcrm", ["-m", id]))
      )
      fs.writeFileSync("/dev/shm/toolstream-sandbox-test", "x")
      yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync("/dev/shm/toolstream-sandbox-test")))
      assert.deepStrictEqual(
        yield* succeeding([`ipcs -m | grep " ${segment} "`, "ls /dev/shm/toolstream-sandbox-test"]),
        []
      )
    }).pipe(within("no-network", workspace))
  )

  inWorld("what a command sets for itself is not obeyed by who keeps it", ({ outside, workspace }) =>
    Effect.gen(function* () {
      // A loader that obeys writes a file of this name, with a number.
      const { exit } = yield* run("true", { env: { LD_DEBUG: "libs", LD_DEBUG_OUTPUT: path.join(outside, "trace") } })
      assert.deepStrictEqual(exit, { _tag: "Exited", code: 0 })
      assert.deepStrictEqual(fs.readdirSync(outside), ["file"])

      const fake = path.join(workspace, "bwrap")
      fs.writeFileSync(fake, `#!/bin/sh\necho x > ${outside}/file\n`, { mode: 0o755 })
      yield* run("true", { env: { PATH: `${workspace}:${process.env.PATH ?? ""}` } })
      assert.strictEqual(fs.readFileSync(path.join(outside, "file"), "utf8"), "before\n")

      // A NUL would be the end of an argument, and what follows another.
      const failed = yield* Effect.flip(run("true", { env: { A: `x\0--bind\0/\0/` } }))
      assert.match(failed.message, /NUL.*Nothing was run/)
      const { stdout } = yield* run("printenv A B C", { env: { A: "--bind", B: "a\nb", C: "=x" } })
      assert.strictEqual(stdout, "--bind\na\nb\n=x\n")
    }).pipe(within("workspace", workspace))
  )

  inWorld("there is no terminal to type into", ({ workspace }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* succeeding([
          "exec 3<>/dev/tty",
          `perl -e 'open(T, "+<", "/dev/tty") or exit 1; ioctl(T, 0x5412, "x") or exit 1'`,
          "ls /dev/pts/[0-9]*"
        ]),
        []
      )
      assert.strictEqual((yield* run("ps -o tty= -p $$")).stdout.trim(), "?")
    }).pipe(within("no-network", workspace))
  )
})

describe.skipIf(missing !== undefined)(`a sandbox: the network${because}`, () => {
  const attempts = Effect.fnUntraced(function* (profiles: string, { outside, workspace }: World) {
    const v4 = yield* listening(net.createServer(), { host: "127.0.0.1", port: 0 })
    const v6 = yield* listening(net.createServer(), { host: "::1", port: 0 })
    const abstract = yield* listening(net.createServer(), `\0toolstream-sandbox-${process.pid}-${profiles}`)
    const named = yield* listening(net.createServer(), path.join(outside, "socket"))
    const inTmp = yield* listening(net.createServer(), `/tmp/toolstream-sandbox-${process.pid}.socket`)
    const names = yield* Effect.acquireRelease(
      Effect.callback<{ readonly socket: dgram.Socket; count: number }>((resume) => {
        const seen = { socket: dgram.createSocket("udp4"), count: 0 }
        seen.socket.on("message", () => seen.count++)
        seen.socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(seen)))
      }),
      ({ socket }) => Effect.sync(() => socket.close())
    )
    const ask = "\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x01a\\x00\\x00\\x01\\x00\\x01"
    const done = yield* within(
      profiles,
      workspace
    )(
      succeeding([
        `exec 3<>/dev/tcp/127.0.0.1/${portOf(v4.server)} && cat <&3`,
        `exec 3<>/dev/tcp/::1/${portOf(v6.server)} && cat <&3`,
        `printf '${ask}' > /dev/udp/127.0.0.1/${names.socket.address().port}`,
        connecting(`\0toolstream-sandbox-${process.pid}-${profiles}`),
        connecting(path.join(outside, "socket")),
        connecting(`/tmp/toolstream-sandbox-${process.pid}.socket`)
      ])
    )
    // What was sent is there by now, or never: it is the same machine.
    yield* Effect.callback<void>((resume) => void setImmediate(() => setImmediate(() => resume(Effect.void))))
    return {
      done,
      reached: {
        v4: v4.seen.count,
        v6: v6.seen.count,
        udp: names.count,
        abstract: abstract.seen.count,
        named: named.seen.count,
        inTmp: inTmp.seen.count
      }
    }
  })
  const nobody = { v4: 0, v6: 0, udp: 0, abstract: 0, named: 0, inTmp: 0 }

  for (const profiles of ["no-network", "workspace,no-network", "read-only,no-network"]) {
    inWorld(`${profiles}: nobody is reached, by address, by name, or by socket`, (world) =>
      Effect.gen(function* () {
        const { reached } = yield* attempts(profiles, world)
        assert.deepStrictEqual(reached, nobody)
      })
    )
  }

  inWorld("workspace: the network is that of the machine, but programs that listen at files are not reached", (world) =>
    Effect.gen(function* () {
      const { reached } = yield* attempts("workspace", world)
      assert.deepStrictEqual(reached, { ...nobody, v4: 1, v6: 1, udp: 1, abstract: 1 })
    })
  )

  inWorld("off: all of them are", (world) =>
    Effect.gen(function* () {
      const { reached } = yield* attempts("off", world)
      assert.deepStrictEqual(reached, { v4: 1, v6: 1, udp: 1, abstract: 1, named: 1, inTmp: 1 })
    })
  )

  for (const profile of ["workspace", "no-network"]) {
    inWorldOfRoot(
      `${profile}: what programs keep of their running is not seen, nor what nobody can reach in the way`,
      ({ root, workspace }) =>
        Effect.gen(function* () {
          const trace = `/run/toolstream-sandbox-${process.pid}`
          fs.writeFileSync(trace, "x")
          yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync(trace)))
          // The super-user sees it here, and not in the sandbox, where it has no rights: nor could it be hidden.
          const closed = path.join(root, "closed")
          fs.mkdirSync(closed)
          yield* listening(net.createServer(), path.join(closed, "socket"))
          fs.chownSync(closed, 65534, 65534)
          fs.chmodSync(closed, 0o700)
          assert.deepStrictEqual(yield* succeeding([`ls ${trace}`, `echo x > /run/x`, `ls ${closed}`]), [])
          assert.strictEqual((yield* run("echo ran")).stdout, "ran\n")
        }).pipe(within(profile, workspace))
    )
  }

  inWorld("no-network: no name is resolved, and commands reach one another", ({ workspace }) =>
    Effect.gen(function* () {
      const server = `require("node:net").createServer((s) => s.end("hi")).listen(0, "127.0.0.1", function () { require("node:net").connect(this.address().port).on("data", (d) => { process.stdout.write(d); process.exit() }) })`
      const { stdout } = yield* run(`'${node()}' -e '${server}'; timeout 5 getent hosts example.com`)
      assert.strictEqual(stdout, "hi")
    }).pipe(within("no-network", workspace))
  )
})
