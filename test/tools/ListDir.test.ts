import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import type * as Tool from "../../src/Tool.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as ListDir from "../../tools/ListDir.ts"
import * as Workspace from "../layers/node/Workspace.ts"

const list = (root: string, parameters: Tool.Parameters<typeof ListDir.ListDir> = {}) =>
  Effect.flatMap(ListDir.ListDir, ({ execute }) => ToolStream.runResult(execute(parameters))).pipe(
    Effect.provide(
      Workspace.within(
        root,
        Layer.provide(ListDir.layer, NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") }))
      )
    )
  )

const toContent = ListDir.ListDir.toContent as Tool.ToContent<ListDir.Listing>

const shown = (listing: ListDir.Listing) =>
  toContent(listing).map((content) => (content.type === "text" ? content.text : content.type))

describe("list_dir", () => {
  it.live("C147: no name passes for what we say of it", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "a -> b": "", "c (fifo)": "", "d -> e/f": "", "g (1)": "" })
      fs.symlinkSync("i (fifo)", path.join(root, "h"))
      execFileSync("mkfifo", [path.join(root, "j -> k (file)")])
      assert.deepStrictEqual(shown(yield* list(root, { depth: 2 })), [
        [
          "a -> b (file)",
          "c (fifo) (file)",
          "d -> e/ (directory)",
          "d -> e/f (file)",
          "g (1) (file)",
          "h -> i (fifo) (symlink)",
          "j -> k (file) (fifo)"
        ].join("\n")
      ])
    })
  )

  it.live("C51: shows dotfiles, marks links and does not follow them, in the order of names", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({
        ".env": "",
        ".git/config": "",
        a: "",
        "-rf": "",
        "b c": "",
        "e/f/g": ""
      })
      fs.symlinkSync("d", path.join(root, "d"))
      fs.symlinkSync("e", path.join(root, "to-e"))
      execFileSync("mkfifo", [path.join(root, "pipe")])
      assert.deepStrictEqual(shown(yield* list(root)), ["-rf\n.env\n.git/\na\nb c\nd -> d\ne/\npipe (fifo)\nto-e -> e"])
      assert.deepStrictEqual(shown(yield* list(root, { depth: 2 })), [
        "-rf\n.env\n.git/\na\nb c\nd -> d\ne/\ne/f/\npipe (fifo)\nto-e -> e"
      ])
      assert.deepStrictEqual(shown(yield* list(root, { path: "e", depth: 10 })), ["e/f/\ne/f/g"])
      assert.deepStrictEqual(shown(yield* list(root, { path: ".git" })), [".git/config"])
    })
  )

  it.live("C51: of 5,000 files the first are shown, with the total", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "x/y": "" })
      for (let index = 0; index < 5000; index++) fs.writeFileSync(path.join(root, `f${(index * 7919) % 5000}`), "")
      const first = yield* list(root)
      assert.deepStrictEqual([first.entries.length, first.total, first.complete], [500, 5001, true])
      assert.deepStrictEqual(
        first.entries.slice(0, 3).map(({ path }) => path),
        ["f0", "f1", "f10"]
      )
      assert.strictEqual(shown(first)[1], "Showing 500 of 5001 entries. List a directory below, or raise limit.")
      assert.deepStrictEqual(yield* list(root), first)
      const deep = yield* list(root, { depth: 2, limit: 10 })
      assert.deepStrictEqual([deep.total, deep.complete], [5001, false])
      assert.match(shown(deep)[1]!, /^Showing 10 of 5001 or more entries/)
    })
  )

  it.live("one large folder does not hide the others: what is near comes first", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "z/last": "" })
      fs.mkdirSync(path.join(root, "a"))
      for (let index = 0; index < 50; index++) fs.writeFileSync(path.join(root, `a/f${index}`), "")
      const listing = yield* list(root, { depth: 2, limit: 5 })
      assert.deepStrictEqual(
        listing.entries.map(({ path }) => path),
        ["a", "a/f0", "a/f1", "a/f10", "z"]
      )
      assert.deepStrictEqual([listing.total, listing.complete], [53, true])
    })
  )

  it.live("C57: each odd name is listed once, in the form by which it can be reached", () =>
    Effect.gen(function* () {
      const names = ["-rf", "--pre=sh", "new\nline.txt", "a b", "q'q", "$(touch PWN)"]
      const { root } = yield* Workspace.make(Object.fromEntries(names.map((name) => [name, ""])))
      fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x2e])]), "")
      fs.mkdirSync(path.join(root, "tab\there"))
      fs.writeFileSync(path.join(root, "tab\there/x"), "")
      const listing = yield* list(root, { depth: 2 })
      assert.deepStrictEqual(
        listing.entries.map(({ path }) => path).toSorted(),
        [
          "$(touch PWN)",
          "--pre=sh",
          "-rf",
          "\\xff.",
          "a b",
          "new\\x0aline.txt",
          "q'q",
          "tab\\x09here",
          "tab\\x09here/x"
        ].toSorted()
      )
      assert.strictEqual((yield* list(root, { path: "tab\\x09here" })).entries[0]?.path, "tab\\x09here/x")
    })
  )

  it.live("refuses files and what is outside; says that a directory is empty", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ f: "" })
      fs.mkdirSync(path.join(root, "empty"))
      assert.deepStrictEqual(shown(yield* list(root, { path: "empty" })), ["empty is an empty directory."])
      assert.strictEqual((yield* Effect.flip(list(root, { path: "f" }))).message, "f is a file, not a directory.")
      assert.strictEqual((yield* Effect.flip(list(root, { path: ".." }))).reason._tag, "OutsideWorkspace")
      assert.strictEqual((yield* Effect.flip(list(root, { path: "emtpy" }))).reason._tag, "NotFound")
      const decode = Schema.decodeUnknownExit(ListDir.ListDir.parametersSchema)
      for (const bad of [{ depth: 0 }, { depth: 11 }, { limit: 0 }, { limit: 1.5 }]) {
        assert.strictEqual(decode(bad)._tag, "Failure", JSON.stringify(bad))
      }
    })
  )
})
