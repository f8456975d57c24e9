import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Session from "../../../../src/Session.ts"
import { type Change, WorkspaceFiles } from "../../../../src/WorkspaceFiles.ts"
import * as Workspace from "../Workspace.ts"
import * as BrokenCalls from "./BrokenCalls.ts"

const { aSecondLater, fulfil, read, reasonOf, tagsOf, workspace } = BrokenCalls

/** Replaces a piece of it. */
const edit = (name: string, from: string, to: string) =>
  Effect.flatMap(WorkspaceFiles, ({ hold }) =>
    hold([name], ({ commit, read }) =>
      Effect.gen(function* () {
        const content = yield* read(name)
        assert(content !== undefined)
        // Gives everybody the chance to come in between.
        yield* Effect.sleep(2)
        const text = new TextDecoder().decode(content.bytes)
        assert.include(text, from)
        return yield* commit([
          { _tag: "Write", path: name, bytes: Buffer.from(text.replace(from, to)), expected: content.hash }
        ])
      })
    )
  )

describe("listing", () => {
  it.live("C51: dotfiles are there, links are named and not followed, the rest is counted", () =>
    Effect.gen(function* () {
      const { run, root, at } = yield* workspace({ ".env": "", ".git/x": "", a: "", "-rf": "", "b c": "" })
      fs.symlinkSync("d", at("d"))
      execFileSync("mkfifo", [at("pipe")])
      const { list } = yield* run(WorkspaceFiles)
      assert.deepStrictEqual(yield* run(list(".", { limit: 100 })), {
        entries: [
          { name: "-rf", type: "file" },
          { name: ".env", type: "file" },
          { name: ".git", type: "directory" },
          { name: "a", type: "file" },
          { name: "b c", type: "file" },
          { name: "d", type: "symlink", target: "d" },
          { name: "pipe", type: "fifo" }
        ],
        total: 7
      })
      const first = yield* run(list(root, { limit: 2 }))
      assert.deepStrictEqual([first.entries.map(({ name }) => name), first.total], [["-rf", ".env"], 7])
      assert.deepStrictEqual(yield* run(reasonOf(list("a", { limit: 1 }))), { _tag: "WrongType", type: "file" })
      assert.deepStrictEqual(yield* run(reasonOf(list("no", { limit: 1 }))), { _tag: "NotFound", similar: [] })
    })
  )

  it.live("C51: of a large directory the first names by their bytes are kept", () =>
    Effect.gen(function* () {
      const { run, at } = yield* workspace()
      const names = Array.from({ length: 3000 }, (_, index) => String((index * 7919) % 3000))
      fs.mkdirSync(at("many"))
      for (const name of names) fs.writeFileSync(at(`many/${name}`), "")
      const { list } = yield* run(WorkspaceFiles)
      const { entries, total } = yield* run(list("many", { limit: 5 }))
      assert.strictEqual(total, 3000)
      assert.deepStrictEqual(
        entries.map(({ name }) => name),
        ["0", "1", "10", "100", "1000"]
      )
    })
  )

  it.live("C57: every odd name is listed once, and read, changed and deleted by the listed name", () =>
    Effect.gen(function* () {
      const names = [
        "-rf",
        "--pre=sh",
        "new\nline.txt",
        "q'q\"",
        "$(touch PWN)",
        "[id]",
        "\\x41",
        "tab\t\u0085",
        "\u00e9"
      ]
      const { run, root } = yield* workspace()
      const all = [...names.map((name) => Buffer.from(name)), Buffer.from([0x66, 0xff, 0xfe])]
      for (const name of all) fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), name]), "old")
      const { list } = yield* run(WorkspaceFiles)
      const { entries } = yield* run(list(".", { limit: 100 }))
      assert.strictEqual(entries.length, all.length)
      for (const { name } of entries) {
        assert.strictEqual(yield* run(read(name)), "old")
        const [changed] = yield* run(edit(name, "old", "new"))
        assert.strictEqual(changed?.path, name)
        assert.strictEqual(yield* run(read(name)), "new")
        yield* run(fulfil([{ delete: name }]))
      }
      assert.deepStrictEqual(fs.readdirSync(root), [])
    })
  )
})

describe("holding and committing", () => {
  it.live("C70: edits of one file by several names are made one after the other, in the order they came", () =>
    Effect.gen(function* () {
      const { run, at, text } = yield* workspace({ n: "50 75 90 99\n", other: "x" })
      fs.symlinkSync("n", at("link"))
      fs.linkSync(at("n"), at("hard"))
      const order: Array<string> = []
      const noting = (name: string, from: string, to: string) =>
        Effect.tap(edit(name, from, to), () => Effect.sync(() => order.push(to)))
      yield* run(
        Effect.all(
          [noting("n", "50", "A"), noting("./n", "75", "B"), noting("link", "90", "C"), noting("hard", "99", "D")],
          { concurrency: "unbounded" }
        )
      )
      assert.strictEqual(text("n"), "A B C D\n")
      assert.strictEqual(text("hard"), "A B C D\n")
      assert.deepStrictEqual(order, ["A", "B", "C", "D"])
    })
  )

  it.live("C70: a file that does not exist yet is held by every name it could have", () =>
    Effect.gen(function* () {
      const { run, at, text } = yield* workspace({ "d/x": "" })
      fs.symlinkSync("d", at("alias"))
      const exits = yield* run(
        Effect.forEach(
          ["d/new/f", "alias/new/f", "./d/../d/new/f"],
          (name) => Effect.exit(fulfil([{ write: name, bytes: name }])),
          {
            concurrency: "unbounded"
          }
        )
      )
      assert.isTrue(exits.every(Exit.isSuccess))
      assert.strictEqual(text("d/new/f"), "./d/../d/new/f")
      assert.strictEqual(fs.readdirSync(at("d/new")).length, 1)
    })
  )

  it.live("C70: different files are held side by side, and who is interrupted while waiting lets others go on", () =>
    Effect.gen(function* () {
      const { run } = yield* workspace({ a: "a", b: "b" })
      const { hold } = yield* run(WorkspaceFiles)
      const release = yield* Deferred.make<void>()
      const held = yield* Deferred.make<void>()
      const first = yield* run(
        Effect.forkChild(hold(["a"], () => Effect.andThen(Deferred.succeed(held, undefined), Deferred.await(release))))
      )
      yield* Deferred.await(held)
      const waiting = yield* run(
        Effect.forkChild(
          hold(["a", "b"], () => Effect.void),
          { startImmediately: true }
        )
      )
      const behind = yield* run(
        Effect.forkChild(
          hold(["b"], () => Effect.succeed("b")),
          { startImmediately: true }
        )
      )
      assert.strictEqual(yield* run(hold(["new"], () => Effect.succeed("new"))), "new")
      assert.isUndefined(behind.pollUnsafe())
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(yield* Fiber.join(behind), "b")
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(first)
    })
  )

  it.live("C71: what changed since this session read it is not written over, before it is read again", () =>
    Effect.gen(function* () {
      const { run, at, text } = yield* workspace({ f: "one" })
      yield* run(read("f"))
      // The same size, and maybe the same tick of the clock.
      fs.writeFileSync(at("f"), "two")
      const refused = yield* run(Effect.flip(fulfil([{ write: "./f", bytes: "mine" }])))
      assert.deepStrictEqual(refused.reason, { _tag: "Changed", since: "read" })
      assert.include(refused.message, "read it again")
      assert.strictEqual(text("f"), "two")
      yield* run(read("f"))
      yield* run(fulfil([{ write: "f", bytes: "mine" }]))
      // What this session wrote, it has read; the same content again is no change.
      fs.writeFileSync(at("f"), "mine")
      yield* run(fulfil([{ write: "f", bytes: "mine 2" }]))
      fs.writeFileSync(at("f"), "theirs")
      assert.deepStrictEqual(yield* run(reasonOf(fulfil([{ delete: "f" }]))), { _tag: "Changed", since: "read" })
      // Another session has not read it.
      const { root } = { root: path.dirname(at("f")) }
      yield* run(
        Effect.scoped(
          Effect.flatMap(Session.make({ workspace: root }), (other) =>
            Effect.provideService(fulfil([{ write: "f", bytes: "other" }]), Session.CurrentSession, other)
          )
        )
      )
      assert.strictEqual(text("f"), "other")
    })
  )

  for (const old of [false, true])
    it.live(
      `C71: a change between plan and commit is a conflict, of a file written ${old ? "a second ago" : "just now"}`,
      () =>
        Effect.gen(function* () {
          if (old) yield* aSecondLater
          const { run, at, text } = yield* workspace({ f: "one", g: "g" })
          const { hold } = yield* run(WorkspaceFiles)
          const meanwhile = (happens: () => void, change: (hash: string) => Change) =>
            run(
              reasonOf(
                hold(["f", "g", "new"], ({ commit, read }) =>
                  Effect.gen(function* () {
                    const content = yield* read("f")
                    const other = yield* read("g")
                    happens()
                    return yield* commit([
                      { _tag: "Write", path: "g", bytes: Buffer.from("G"), expected: other?.hash ?? "absent" },
                      change(content?.hash ?? "absent")
                    ])
                  })
                )
              )
            )
          const write = (expected: string): Change => ({
            _tag: "Write",
            path: "f",
            bytes: Buffer.from("mine"),
            expected
          })
          const planned = { _tag: "Changed", since: "planned" } as const
          // Only its change time tells.
          const backdated = () => {
            const { atime, mtime } = fs.statSync(at("f"))
            fs.writeFileSync(at("f"), "six")
            fs.utimesSync(at("f"), atime, mtime)
          }
          fs.utimesSync(at("f"), 1e9, 1e9)
          assert.deepStrictEqual(yield* meanwhile(backdated, write), planned)
          assert.deepStrictEqual(yield* meanwhile(() => fs.writeFileSync(at("f"), "two"), write), planned)
          assert.deepStrictEqual(yield* meanwhile(() => fs.rmSync(at("f")), write), planned)
          assert.deepStrictEqual(
            yield* meanwhile(
              () => fs.writeFileSync(at("new"), "theirs"),
              () => ({ _tag: "Write", path: "new", bytes: Buffer.from("mine"), expected: "absent" })
            ),
            { _tag: "Exists" }
          )
          assert.deepStrictEqual([text("g"), text("new")], ["g", "theirs"])
        })
    )

  it.live("what is held says where it leads, and is read together", () =>
    Effect.gen(function* () {
      const { root, run, at } = yield* workspace({ "d/f": "f" })
      fs.symlinkSync("d/f", at("link"))
      fs.symlinkSync("d/none", at("dangling"))
      const { hold } = yield* run(WorkspaceFiles)
      const names = ["link", "./d/f", "d/../new/x", "dangling"]
      const { contents, leads, other } = yield* run(
        hold(names, ({ leads, readAll }) =>
          Effect.all({ contents: readAll(names), leads: Effect.succeed(leads), other: reasonOf(readAll(["d/g"])) })
        )
      )
      assert.deepStrictEqual(
        [...leads].map(([name, { path, entry }]) => [name, path.slice(root.length), entry.slice(root.length)]),
        [
          ["link", "/d/f", "/link"],
          ["./d/f", "/d/f", "/d/f"],
          ["d/../new/x", "/new/x", "/new/x"],
          ["dangling", "/d/none", "/dangling"]
        ]
      )
      assert.deepStrictEqual(
        contents.map((content) => content && new TextDecoder().decode(content.bytes)),
        ["f", "f", undefined, undefined]
      )
      assert.deepStrictEqual(other, { _tag: "InvalidPath", why: "it is not held" })
    })
  )

  it.live("C75, C90: moves, and what a commit cannot mean", () =>
    Effect.gen(function* () {
      const { run, at, text } = yield* workspace({ s: "same", t: "important", "dir/x": "" })
      fs.linkSync(at("s"), at("s2"))
      fs.chmodSync(at("t"), 0o751)
      const { hold } = yield* run(WorkspaceFiles)
      const bytes = Buffer.from("moved")
      const tried = (
        paths: ReadonlyArray<string>,
        changes: (hash: (name: string) => string) => ReadonlyArray<Change>
      ) =>
        run(
          hold(paths, ({ commit, read }) =>
            Effect.gen(function* () {
              const contents = new Map<string, string>()
              for (const name of paths) contents.set(name, (yield* read(name))?.hash ?? "absent")
              return yield* commit(changes((name) => contents.get(name)!))
            })
          )
        )
      const write = (name: string, expected: string): Change => ({ _tag: "Write", path: name, bytes, expected })
      // Onto itself under another name: two changes of one file.
      const twice = yield* reasonOf(
        tried(["s", "s2"], (hash) => [write("s2", hash("s2")), { _tag: "Delete", path: "s", expected: hash("s") }])
      )
      assert.strictEqual(twice._tag, "InvalidPath")
      assert.strictEqual((yield* reasonOf(tried(["t"], () => [write("t", "absent")])))._tag, "Exists")
      assert.strictEqual(
        (yield* reasonOf(tried(["n", "n/m"], () => [write("n", "absent"), write("n/m", "absent")])))._tag,
        "InvalidPath"
      )
      assert.deepStrictEqual(yield* reasonOf(tried(["t/below"], () => [])), { _tag: "WrongType", type: "file" })
      assert.deepStrictEqual(yield* reasonOf(tried(["dir"], () => [])), { _tag: "WrongType", type: "directory" })
      assert.strictEqual((yield* reasonOf(tried(["new/"], () => [])))._tag, "InvalidPath")
      assert.strictEqual((yield* reasonOf(tried(["no/../new"], () => [])))._tag, "NotFound")
      assert.strictEqual((yield* reasonOf(tried(["t"], () => [write("s", "absent")])))._tag, "InvalidPath")
      const moved = yield* tried(["t", "a/b"], (hash) => [
        { _tag: "Write", path: "a/b", bytes, expected: "absent", from: "t" },
        { _tag: "Delete", path: "t", expected: hash("t") }
      ])
      assert.deepStrictEqual(
        moved.map(({ kind, path }) => [kind, path]),
        [
          ["created", "a/b"],
          ["deleted", "t"]
        ]
      )
      assert.strictEqual(fs.statSync(at("a/b")).mode & 0o777, 0o751)
      assert.deepStrictEqual([text("a/b"), fs.existsSync(at("t")), text("s")], ["moved", false, "same"])
    })
  )

  it.live("C43, C52, C54, C56, C92: what may not be read may not be written, and nothing is made", () =>
    Effect.gen(function* () {
      const { run, at, root, top } = yield* workspace({ f: "f" })
      fs.mkdirSync(path.join(top, "out"))
      fs.writeFileSync(path.join(top, "out/x"), "x")
      fs.symlinkSync("../out", at("outbox"))
      fs.symlinkSync("../out/x", at("direct"))
      fs.symlinkSync("../out/new", at("dangling"))
      execFileSync("mkfifo", [at("pipe")])
      const before = [BrokenCalls.snapshot(root), BrokenCalls.snapshot(path.join(top, "out"))]
      const outside = [
        "outbox/x",
        "outbox/new",
        "outbox/a/b",
        "direct",
        "dangling",
        "../evil",
        "/tmp/evil.txt",
        "~/note.txt",
        "sub/../../ws-evil/a"
      ]
      assert.deepStrictEqual(
        yield* run(tagsOf(outside)),
        outside.map(() => "OutsideWorkspace" as const)
      )
      assert.strictEqual((yield* run(reasonOf(fulfil([{ delete: "outbox/x" }]))))._tag, "OutsideWorkspace")
      assert.strictEqual((yield* run(reasonOf(fulfil([{ delete: "direct" }]))))._tag, "OutsideWorkspace")
      assert.deepStrictEqual(yield* run(tagsOf(["pipe", "f/g", "a\0b", "x".repeat(300), ""])), [
        "WrongType",
        "WrongType",
        "InvalidPath",
        "InvalidPath",
        "InvalidPath"
      ])
      fs.rmSync(at("pipe"))
      delete before[0]!["pipe"]
      assert.deepStrictEqual([BrokenCalls.snapshot(root), BrokenCalls.snapshot(path.join(top, "out"))], before)
    })
  )

  it.live("C60: brackets are letters", () =>
    Effect.gen(function* () {
      const { run, root } = yield* workspace({ "app/[id]/page.tsx": "old" })
      yield* run(edit("app/[id]/page.tsx", "old", "new"))
      assert.deepStrictEqual(fs.readdirSync(root, { recursive: true }).toSorted(), [
        "app",
        "app/[id]",
        "app/[id]/page.tsx"
      ])
    })
  )

  it.live("C59: a write never picks a name that only looks the same", () =>
    Effect.gen(function* () {
      const { run, root } = yield* workspace({ "cafe\u0301": "old" })
      yield* run(fulfil([{ write: "caf\u00e9", bytes: "new" }]))
      assert.strictEqual(fs.readdirSync(root).length, 2)
    })
  )

  it.live("a link is written through, also one that dangles; deleting it removes the link", () =>
    Effect.gen(function* () {
      const { run, at, text } = yield* workspace({ real: "old" })
      fs.symlinkSync("real", at("link"))
      fs.symlinkSync("made/later", at("dangling"))
      const [through] = yield* run(fulfil([{ write: "link", bytes: "new" }]))
      assert.strictEqual(through?.path, "real")
      yield* run(fulfil([{ write: "dangling", bytes: "made" }]))
      assert.deepStrictEqual([text("real"), text("made/later"), fs.readlinkSync(at("link"))], ["new", "made", "real"])
      const [gone] = yield* run(fulfil([{ delete: "link" }]))
      assert.deepStrictEqual([gone?.path, gone?.diff], ["link", undefined])
      assert.deepStrictEqual([text("real"), fs.existsSync(at("link"))], ["new", false])
    })
  )

  it.live("says what it did: hashes and a diff of text, none of what is not text", () =>
    Effect.gen(function* () {
      const { run, at } = yield* workspace({ t: "a\nb\nc\n", binary: Uint8Array.of(0, 1) })
      const [text, binary] = yield* run(
        fulfil([
          { write: "t", bytes: "a\nB\nc\n" },
          { write: "binary", bytes: "now text" }
        ])
      )
      assert.strictEqual(text?.diff, "--- a/t\n+++ b/t\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
      assert.deepStrictEqual([text?.addedLines, text?.removedLines, text?.notKept], [1, 1, []])
      const sum = execFileSync("sha256sum", [at("t")], { encoding: "utf8" }).slice(0, 64)
      assert.strictEqual(text?.newHash, sum)
      assert.deepStrictEqual([binary?.kind, binary?.diff], ["changed", undefined])
    })
  )

  it.live("a file that is too large to be held in memory is refused, and stays", () =>
    Effect.gen(function* () {
      const { run, at } = yield* workspace({ big: "" })
      fs.truncateSync(at("big"), 65 * 1024 * 1024)
      assert.deepStrictEqual(yield* run(reasonOf(fulfil([{ write: "big", bytes: "small" }]))), {
        _tag: "TooLarge",
        sizeBytes: 65 * 1024 * 1024,
        maxBytes: 64 * 1024 * 1024
      })
    })
  )

  it.live("granted roots are reached by absolute paths, and shown so", () =>
    Effect.gen(function* () {
      const { top } = yield* Workspace.make()
      const extra = path.join(top, "extra")
      fs.mkdirSync(extra)
      const { run } = yield* workspace({}, { roots: [extra, path.join(top, "not-there")] })
      const [made] = yield* run(fulfil([{ write: path.join(extra, "f"), bytes: "f" }]))
      assert.strictEqual(made?.path, path.join(extra, "f"))
      assert.strictEqual(
        (yield* run(reasonOf(fulfil([{ write: path.join(top, "g"), bytes: "g" }]))))._tag,
        "OutsideWorkspace"
      )
    })
  )

  it.live("C97: what the system does not permit is refused, what cannot be kept is named", () =>
    Effect.gen(function* () {
      if (process.getuid?.() !== 0) return
      const { root, top, state } = yield* workspace({
        "secret/f": "f",
        "closed/f": "f",
        "open/root": "r",
        "open/shared": "s",
        unreadable: "u"
      })
      const at = (name: string) => path.join(root, name)
      for (const [name, mode] of [
        ["..", 0o755],
        ["", 0o755],
        ["secret", 0o711],
        ["open", 0o777],
        ["open/root", 0o644],
        ["open/shared", 0o666],
        ["unreadable", 0o600]
      ] as const) {
        fs.chmodSync(at(name), mode)
      }
      fs.mkdirSync(path.join(top, "theirs"), { mode: 0o777 })
      fs.chmodSync(path.join(top, "theirs"), 0o777)
      assert.isFalse(fs.existsSync(state))
      const tasks = [
        "open:secret/f",
        "list:secret",
        "open:unreadable",
        "write:closed/new",
        "write:closed/f",
        "write:open/root",
        "write:open/shared",
        "write:open/new"
      ]
      const before = BrokenCalls.snapshot(root)
      const printed = execFileSync(
        process.execPath,
        [path.join(import.meta.dirname, "unprivileged.ts"), root, path.join(top, "theirs/state"), ...tasks],
        { encoding: "utf8" }
      )
      const denied = { _tag: "AccessDenied" }
      assert.deepStrictEqual(JSON.parse(printed), {
        "open:secret/f": 1,
        "list:secret": denied,
        "open:unreadable": denied,
        "write:closed/new": { _tag: "Refused", code: "EACCES", doing: "writing a temporary file" },
        "write:closed/f": denied,
        "write:open/root": denied,
        "write:open/shared": ["its owner (user 0)", "its group (0)"],
        "write:open/new": []
      })
      const after = BrokenCalls.snapshot(root)
      assert.strictEqual(after["open/shared"]?.slice(0, 3), "666")
      for (const name of ["open/shared", "open/new"]) delete after[name]
      delete before["open/shared"]
      assert.deepStrictEqual(after, before)
    })
  )
})
