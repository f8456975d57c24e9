import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as NodeProcesses from "../../layers/node/Processes.ts"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import * as Ripgrep from "../../layers/node/Ripgrep.ts"
import * as LawCheck from "../../layers/testing/LawCheck.ts"
import * as ScriptedProcess from "../../layers/testing/ScriptedProcess.ts"
import type { Search } from "../../src/Search.ts"
import * as Spill from "../../src/Spill.ts"
import type { WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import * as Bash from "../../tools/bash/Bash.ts"
import * as EditFile from "../../tools/edit-file/EditFile.ts"
import * as Glob from "../../tools/Glob.ts"
import * as Grep from "../../tools/Grep.ts"
import * as ListDir from "../../tools/ListDir.ts"
import * as ReadFile from "../../tools/ReadFile.ts"
import * as ReadOutput from "../../tools/ReadOutput.ts"
import * as WriteFile from "../../tools/WriteFile.ts"
import * as Workspace from "../layers/node/Workspace.ts"

const tree: Workspace.Tree = {
  "a.txt": "one\ntwo\nthree\n",
  "b/c.md": "two\n".repeat(500),
  "d.bin": new Uint8Array([0, 1, 2, 3]),
  "e.txt": ""
}

const files = Layer.merge(NodeWorkspaceFiles.layer, Ripgrep.layer)

/** What writes leaves its notes there. */
const filesAt = (top: string) => Layer.merge(NodeWorkspaceFiles.layerWith({ state: `${top}/state` }), Ripgrep.layer)

const paths = ["a.txt", "b/c.md", "d.bin", "e.txt", "nowhere", "b", "../out"]

// The clocks of the machine: a busy one may take its time.
const options = { clock: "real", grace: "5 seconds", limit: "10 seconds", seed: 1 } as const

describe("the law holds for", () => {
  it.live("read_file", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(tree)
      const parameters = Arbitrary.all({
        path: Arbitrary.schema(Schema.Literals(paths)),
        offset: Arbitrary.schema(Schema.Literals([1, 2, -1, 400])),
        limit: Arbitrary.schema(Schema.Literals([1, 2000]))
      })
      const report = yield* LawCheck.check(ReadFile.ReadFile, { ...options, runs: 5, parameters }).pipe(
        Effect.provide(Workspace.within(root, Layer.provide(ReadFile.layer, files)))
      )
      assert.isAbove(report.endings["Success"] ?? 0, 0)
      assert.isAbove(report.endings["ToolFailed"] ?? 0, 0)
    })
  )

  it.live("read_file, with whatever its schema admits", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(tree)
      yield* LawCheck.check(ReadFile.ReadFile, { ...options, runs: 4 }).pipe(
        Effect.provide(Workspace.within(root, Layer.provide(ReadFile.layer, files)))
      )
    })
  )

  it.live("grep", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(tree)
      const parameters = Arbitrary.all({
        pattern: Arbitrary.schema(Schema.Literals(["two", "nothing", "("])),
        path: Arbitrary.schema(Schema.Literals([".", "a.txt", "nowhere"])),
        mode: Arbitrary.schema(Schema.Literals(["content", "files", "count"])),
        limit: Arbitrary.schema(Schema.Literals([1, 200]))
      })
      const report = yield* LawCheck.check(Grep.Grep, { ...options, runs: 3, steps: 2, parameters }).pipe(
        Effect.provide(Workspace.within(root, Layer.provide(Grep.layer, files)))
      )
      assert.isAbove(report.calls, 40)
    })
  )

  it.live("read_output", () =>
    Effect.gen(function* () {
      const { open } = yield* Spill.Spill
      const { handle, write } = yield* open
      yield* write(new TextEncoder().encode("one\ntwo\n".repeat(5_000)))
      const report = yield* LawCheck.check(ReadOutput.ReadOutput, {
        ...options,
        steps: 2,
        parameters: [
          { handle, limitBytes: 10 },
          { handle, pattern: "two", offsetBytes: -100 },
          { handle, pattern: "(" },
          { handle: "out_x" }
        ]
      })
      assert.isAbove(report.endings["Success"] ?? 0, 0)
      assert.isAbove(report.endings["ToolFailed"] ?? 0, 0)
    }).pipe(Effect.provide(ReadOutput.layer.pipe(Layer.provideMerge(Layer.merge(Ripgrep.layer, Spill.layerMemory())))))
  )

  it.live("list_dir and glob", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ ...tree, ".gitignore": "*.bin\n" })
      const within = <A, E>(layer: Layer.Layer<A, E, WorkspaceFiles | Search>) =>
        Effect.provide(Workspace.within(root, Layer.provide(layer, filesAt(top))))
      const listed = yield* LawCheck.check(ListDir.ListDir, {
        ...options,
        steps: 2,
        parameters: [{ depth: 3, limit: 2 }, { path: "b" }, { path: "a.txt" }]
      }).pipe(within(ListDir.layer))
      const found = yield* LawCheck.check(Glob.Glob, {
        ...options,
        steps: 2,
        parameters: [{ pattern: "**" }, { pattern: "d.bin" }, { pattern: "{" }, { pattern: "*", path: ".." }]
      }).pipe(within(Glob.layer))
      for (const { endings } of [listed, found]) {
        assert.isAbove(endings["Success"] ?? 0, 0)
        assert.isAbove(endings["ToolFailed"] ?? 0, 0)
      }
    })
  )

  it.live("write_file and edit_file", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ ...tree, "f.txt": "one two one" })
      const written = yield* LawCheck.check(WriteFile.WriteFile, {
        ...options,
        steps: 2,
        parameters: [
          { path: "new/file", content: "one" },
          { path: "f.txt", content: "" },
          { path: "../out", content: "" }
        ]
      }).pipe(Effect.provide(Workspace.within(root, Layer.provide(WriteFile.layer, filesAt(top)))))
      const edited = yield* LawCheck.check(EditFile.EditFile, {
        ...options,
        steps: 2,
        parameters: [
          { path: "a.txt", oldText: "o", newText: "oo", replaceAll: true },
          { path: "a.txt", oldText: "o", newText: "x" },
          { path: "nowhere", oldText: "o", newText: "x" }
        ]
      }).pipe(Effect.provide(Workspace.within(root, Layer.provide(EditFile.layer, filesAt(top)))))
      for (const { endings } of [written, edited]) {
        assert.isAbove(endings["Success"] ?? 0, 0)
        assert.isAbove(endings["ToolFailed"] ?? 0, 0)
      }
    })
  )

  it.live(
    "bash",
    () =>
      Effect.gen(function* () {
        const { root } = yield* Workspace.make(tree)
        const commands = ["echo one; sleep 0.02; echo two >&2", "exit 3", "sleep 0.03"]
        const report = yield* LawCheck.check(Bash.Bash, {
          ...options,
          steps: 2,
          parameters: commands.map((command) => ({ command }))
        }).pipe(Effect.provide(Workspace.within(root, Layer.provide(Bash.layer, NodeProcesses.layer))))
        assert.isAbove(report.endings["Interrupted (stopped)"] ?? 0, 0)
      }),
    60_000
  )

  it.effect("bash, over processes that are scripts", () =>
    Effect.gen(function* () {
      const parameters = Arbitrary.map(Arbitrary.schema(ScriptedProcess.Script), (script) => ({
        command: JSON.stringify(Schema.encodeSync(Schema.toCodecJson(ScriptedProcess.Script))(script))
      }))
      const read = Schema.decodeUnknownSync(Schema.toCodecJson(ScriptedProcess.Script))
      const processes = ScriptedProcess.layer(({ args }) => read(JSON.parse(args[1]!)))
      const report = yield* LawCheck.check(Bash.Bash, {
        parameters,
        runs: 8,
        steps: 3,
        allow: ["Endless"],
        seed: 1
      }).pipe(Effect.provide(Layer.provide(Bash.layer, processes)))
      assert.isAbove(report.endings["Success"] ?? 0, 0)
      assert.isAbove(report.endings["Interrupted (stopped)"] ?? 0, 0)
    })
  )
})
