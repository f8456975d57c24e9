import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import type * as Tool from "../../src/Tool.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as WriteFile from "../../tools/WriteFile.ts"
import * as Workspace from "../layers/node/Workspace.ts"

type Parameters = Tool.Parameters<typeof WriteFile.WriteFile>

const write = (root: string, parameters: Parameters) =>
  Effect.flatMap(WriteFile.WriteFile, ({ execute }) => ToolStream.runResult(execute(parameters))).pipe(
    Effect.provide(
      Workspace.within(
        root,
        Layer.provide(WriteFile.layer, NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") }))
      )
    )
  )

const toContent = WriteFile.WriteFile.toContent as Tool.ToContent<WriteFile.Written>

const shown = (written: WriteFile.Written) =>
  toContent(written).map((content) => (content.type === "text" ? content.text : content.type))

const hash = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex")

describe("write_file", () => {
  it.live("creates a file and its parents, then replaces it, with hashes and a diff", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make()
      const created = yield* write(root, { path: "a/b/c.txt", content: "one\ntwo\n" })
      assert.deepStrictEqual(
        [created.path, created.created, created.sizeBytes, created.oldHash, created.newHash],
        ["a/b/c.txt", true, 8, undefined, hash("one\ntwo\n")]
      )
      assert.deepStrictEqual(shown(created), ["Created a/b/c.txt (8 bytes)."])
      fs.chmodSync(path.join(root, "a/b/c.txt"), 0o754)
      const replaced = yield* write(root, { path: path.join(root, "a/b/c.txt"), content: "one\nTWO\n" })
      assert.deepStrictEqual(
        [replaced.path, replaced.created, replaced.oldHash, replaced.newHash],
        ["a/b/c.txt", false, hash("one\ntwo\n"), hash("one\nTWO\n")]
      )
      assert.match(replaced.diff ?? "", /^-two\n\+TWO$/m)
      assert.strictEqual(fs.readFileSync(path.join(root, "a/b/c.txt"), "utf8"), "one\nTWO\n")
      assert.strictEqual(fs.statSync(path.join(root, "a/b/c.txt")).mode & 0o777, 0o754)
      assert.deepStrictEqual(fs.readdirSync(path.join(root, "a/b")), ["c.txt"])
    })
  )

  it.live("C72: missing, null or object content is an argument error; empty content makes an empty file", () =>
    Effect.gen(function* () {
      const decode = Schema.decodeUnknownExit(WriteFile.WriteFile.parametersSchema)
      const bad = [{ path: "f" }, { path: "f", content: null }, { path: "f", content: {} }, { content: "x" }]
      assert.deepStrictEqual(
        bad.map((parameters) => decode(parameters)._tag),
        bad.map(() => "Failure" as const)
      )
      const { root } = yield* Workspace.make({ f: "old" })
      assert.strictEqual((yield* write(root, { path: "f", content: "" })).sizeBytes, 0)
      assert.strictEqual(fs.readFileSync(path.join(root, "f"), "utf8"), "")
      assert.strictEqual((yield* write(root, { path: "g", content: "" })).created, true)
    })
  )

  it.live("C74: entities, escapes, line ends and control characters arrive byte for byte", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make()
      const content = "&amp; &lt; \\n \\u0041 \\t\r\n\rx\0\u{1f600}\ufeff"
      yield* write(root, { path: "f", content })
      assert.strictEqual(fs.readFileSync(path.join(root, "f"), "utf8"), content)
    })
  )

  it.live("C64: a UTF-8 byte order mark stays, is not doubled, and is not made", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ marked: "\ufeffhello\n", plain: "hello\n" })
      const bytes = (name: string) => fs.readFileSync(path.join(root, name), "utf8")
      const kept = yield* write(root, { path: "marked", content: "hello2\n" })
      assert.deepStrictEqual([bytes("marked"), kept.keptByteOrderMark, kept.sizeBytes], ["\ufeffhello2\n", true, 10])
      assert.match(shown(kept)[0]!, /byte order mark was kept/)
      const own = yield* write(root, { path: "marked", content: "\ufeffhello3\n" })
      assert.deepStrictEqual([bytes("marked"), own.keptByteOrderMark], ["\ufeffhello3\n", false])
      yield* write(root, { path: "plain", content: "x" })
      assert.strictEqual(bytes("plain"), "x")
      fs.writeFileSync(path.join(root, "wide"), Buffer.from("\ufeffx", "utf16le"))
      assert.deepStrictEqual((yield* write(root, { path: "wide", content: "y" })).notKept, ["its encoding, UTF-16"])
    })
  )

  it.live("C43, C52, C54: what is no regular file, or outside, is refused and untouched", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ "d/x": "" })
      fs.mkdirSync(path.join(top, "out"))
      fs.symlinkSync(path.join(top, "out"), path.join(root, "outbox"))
      execFileSync("mkfifo", [path.join(root, "pipe")])
      const failed = (path: string) =>
        Effect.map(
          Effect.flip(write(root, { path, content: "x" })).pipe(Effect.timeout("5 seconds")),
          (failed) => failed._tag === "FileUnreachable" && failed.reason._tag
        )
      assert.strictEqual(yield* failed("pipe"), "WrongType")
      assert.strictEqual(yield* failed("d"), "WrongType")
      for (const outside of ["outbox/x.txt", "../x", path.join(top, "ws-evil/a"), "d/../../x"]) {
        assert.strictEqual(yield* failed(outside), "OutsideWorkspace", outside)
      }
      const { message } = yield* Effect.flip(write(root, { path: "d", content: "x" }))
      assert.strictEqual(message, "d is a directory, not a regular file. Nothing was changed.")
      assert.deepStrictEqual(fs.readdirSync(path.join(top, "out")), [])
      assert.isFalse(fs.existsSync(path.join(top, "ws-evil")))
    })
  )

  it.live("C57: odd names are written as they are, and by their listed form", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make()
      for (const name of ["-rf", "a b", "q'\"q", "$(touch PWN)", "app/[id]/x"]) {
        assert.strictEqual((yield* write(root, { path: name, content: name })).path, name)
        assert.strictEqual(fs.readFileSync(path.join(root, name), "utf8"), name)
      }
      assert.strictEqual((yield* write(root, { path: "new\\x0aline", content: "x" })).path, "new\\x0aline")
      assert.isTrue(fs.existsSync(path.join(root, "new\nline")))
      assert.isFalse(fs.existsSync(path.join(root, "PWN")))
    })
  )
})
