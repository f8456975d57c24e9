import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../../layers/node/WorkspaceFiles.ts"
import { WorkspaceFiles } from "../../../src/WorkspaceFiles.ts"
import * as Workspace from "./Workspace.ts"

const run = <A, E>(root: string, effect: Effect.Effect<A, E, WorkspaceFiles>) =>
  Effect.provide(effect, Workspace.within(root, NodeWorkspaceFiles.layer))

const text = (name: string) =>
  Effect.flatMap(WorkspaceFiles, ({ open }) => open(name)).pipe(
    Effect.flatMap((file) => file.read(0, file.size)),
    Effect.map((bytes) => new TextDecoder().decode(bytes)),
    Effect.scoped
  )

const reasons = (root: string, names: ReadonlyArray<string>) =>
  run(
    root,
    Effect.forEach(names, (name) => Effect.map(Effect.flip(text(name)), ({ reason }) => reason))
  )

const tags = (root: string, names: ReadonlyArray<string>) =>
  Effect.map(reasons(root, names), (all) => all.map(({ _tag }) => _tag))

describe("WorkspaceFiles on Node", () => {
  it.live("C52: what a link leads out of the workspace is refused, whether or not it exists", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ "in/a.txt": "a" })
      fs.mkdirSync(path.join(top, "out"))
      fs.writeFileSync(path.join(top, "out/secret"), "s")
      fs.symlinkSync(path.join(top, "out"), path.join(root, "outbox"))
      fs.symlinkSync("../out/secret", path.join(root, "direct"))
      fs.symlinkSync("../out/nothing", path.join(root, "dangling"))
      fs.symlinkSync("nothing", path.join(root, "dangling-inside"))
      fs.symlinkSync("in", path.join(root, "alias"))
      fs.symlinkSync("loop", path.join(root, "loop"))
      assert.deepStrictEqual(
        yield* tags(root, [
          "outbox/secret",
          "outbox/nothing",
          "outbox/no/such/thing",
          "direct",
          "dangling",
          "outbox/../ws/../out/secret",
          "dangling-inside",
          "loop"
        ]),
        [...Array.from({ length: 6 }, () => "OutsideWorkspace" as const), "NotFound", "InvalidPath"]
      )
      assert.strictEqual(yield* run(root, text("alias/a.txt")), "a")
    })
  )

  it.live("C52: a workspace that is itself a link works, and shows paths relative to itself", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ "a/b.txt": "b" })
      const link = path.join(top, "link")
      fs.symlinkSync(root, link)
      assert.strictEqual(yield* run(link, text("a/b.txt")), "b")
      assert.strictEqual(yield* run(link, text(path.join(link, "a/b.txt"))), "b")
      const { resolve, display } = yield* run(link, WorkspaceFiles)
      const found = yield* run(link, resolve("a"))
      assert.deepStrictEqual(found, { path: path.join(root, "a"), type: "directory" })
      assert.strictEqual(yield* run(link, display(found.path)), "a")
      assert.strictEqual(yield* run(link, display(root)), ".")
      assert.strictEqual(yield* run(link, display("/etc")), "/etc")
    })
  )

  it.live("C54: paths are compared by component after the kernel resolved them", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ "sub/x": "x", "..hidden": "h" })
      fs.mkdirSync(path.join(top, "ws-evil"))
      fs.writeFileSync(path.join(top, "ws-evil/a"), "evil")
      const outside = [
        "../ws-evil/a",
        path.join(top, "ws-evil/a"),
        "sub/../../ws-evil/a",
        "no/../..",
        "..",
        "/",
        "no/../../ws-evil/b"
      ]
      assert.deepStrictEqual(
        yield* tags(root, outside),
        outside.map(() => "OutsideWorkspace" as const)
      )
      assert.strictEqual(yield* run(root, text("sub/../..hidden")), "h")
    })
  )

  it.live("C56: ~ is the home directory, judged as any path, never a name", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "~/note.txt": "no", "~x": "a name" })
      assert.deepStrictEqual(yield* tags(root, ["~/note.txt", "~"]), ["OutsideWorkspace", "OutsideWorkspace"])
      assert.strictEqual(yield* run(root, text("~x")), "a name")
      const [reason] = yield* reasons(os.homedir(), ["~/no-such-file-of-toolstream"])
      assert.strictEqual(reason?._tag, "NotFound")
    })
  )

  it.live("refuses what cannot be a path, and says what is wrong with it", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ a: "a" })
      const bad = ["", "a\0b", "a\ud800", "x".repeat(300), "a/".repeat(100_000)]
      assert.deepStrictEqual(
        yield* tags(root, bad),
        bad.map(() => "InvalidPath" as const)
      )
      assert.deepStrictEqual(yield* tags(root, ["a/b", "a/b/c"]), ["NotFound", "NotFound"])
      assert.deepStrictEqual(yield* tags(path.join(root, "gone"), ["a"]), ["NotFound"])
    })
  )

  it.live("C43: a FIFO, a socket, a device and a directory are refused by their type, and nothing is consumed", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make()
      execFileSync("mkfifo", [path.join(root, "pipe")])
      fs.symlinkSync("pipe", path.join(root, "to-pipe"))
      const server = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<net.Server>((done) => {
              const server = net.createServer().listen(path.join(root, "sock"), () => done(server))
            })
        ),
        (server) => Effect.promise(() => new Promise((done) => server.close(done)))
      )
      assert(server.listening)
      const types = yield* reasons(root, ["pipe", "to-pipe", "sock", "."]).pipe(Effect.timeout("2 seconds"))
      assert.deepStrictEqual(
        types,
        (["fifo", "fifo", "socket", "directory"] as const).map((type) => ({ _tag: "WrongType", type }))
      )
      const [device] = yield* reasons("/dev", ["null"])
      assert.deepStrictEqual(device, { _tag: "WrongType", type: "device" })
    })
  )

  it.live("C57: odd names are names", () =>
    Effect.gen(function* () {
      const names = [
        "-rf",
        "--pre=sh",
        "new\nline.txt",
        "a b",
        "q'q\"",
        "$(touch PWN)",
        "app/[id]/page.tsx",
        "* ?",
        "\\"
      ]
      const { root } = yield* Workspace.make(Object.fromEntries(names.map((name) => [name, name])))
      for (const name of names) assert.strictEqual(yield* run(root, text(name)), name)
      assert.isFalse(fs.existsSync(path.join(root, "PWN")))
    })
  )

  it.live("C59: names that only look the same are proposed first, then those a slip away", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({
        "d/Shot 1.01\u202fAM.png": "",
        "d/cafe\u0301.txt": "",
        "d/Readme.md": "",
        "d/readme.txt": "",
        "d/other": ""
      })
      const similar = yield* reasons(root, [
        "d/Shot 1.01 AM.png",
        "d/caf\u00e9.txt",
        "d/README.md",
        "d/readmme.txt",
        "d/zzzzzz"
      ])
      assert.deepStrictEqual(
        similar.map((reason) => (reason._tag === "NotFound" ? reason.similar : reason)),
        [["d/Shot 1.01\u202fAM.png"], ["d/cafe\u0301.txt"], ["d/Readme.md"], ["d/readme.txt"], []]
      )
    })
  )

  it.live("an open file is what was opened, whatever happens to its name", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ a: "first" })
      const read = yield* run(
        root,
        Effect.scoped(
          Effect.gen(function* () {
            const { open } = yield* WorkspaceFiles
            const file = yield* open("a")
            fs.writeFileSync(path.join(root, "b"), "other")
            fs.renameSync(path.join(root, "b"), path.join(root, "a"))
            return [
              new TextDecoder().decode(yield* file.read(0, 100)),
              new TextDecoder().decode(yield* file.read(2, 2)),
              (yield* file.read(5, 1)).length
            ]
          })
        )
      )
      assert.deepStrictEqual(read, ["first", "rs", 0])
    })
  )

  it.live("C52: a directory swapped for a link while it is opened never leads out", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ "real/f": "inside" })
      fs.mkdirSync(path.join(top, "out"))
      fs.writeFileSync(path.join(top, "out/f"), "SECRET")
      fs.symlinkSync("../out", path.join(root, "evil"))
      const swap = (turn: number) => {
        const from = turn % 2 === 0 ? "real" : "evil"
        fs.renameSync(path.join(root, "d"), path.join(root, from === "real" ? "evil" : "real"))
        fs.renameSync(path.join(root, from), path.join(root, "d"))
      }
      fs.renameSync(path.join(root, "real"), path.join(root, "d"))
      let turn = 1
      const swapping = Effect.andThen(
        Effect.sync(() => swap(turn++)),
        Effect.yieldNow
      ).pipe(Effect.forever)
      const reading = Effect.exit(text("d/f")).pipe(Effect.replicateEffect(300))
      const exits = yield* run(root, Effect.raceFirst(reading, swapping))
      const seen = new Set(exits.map((exit) => (exit._tag === "Success" ? exit.value : "refused")))
      assert.isFalse(seen.has("SECRET"))
    })
  )

  it.live("closes its handles with the scope", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ a: "a" })
      // Descriptors of others may come and go; 200 of ours would show.
      const before = fs.readdirSync("/proc/self/fd").length
      yield* run(root, Effect.replicateEffect(text("a"), 200))
      assert.isBelow(fs.readdirSync("/proc/self/fd").length, before + 100)
    })
  )
})
