import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../../layers/node/WorkspaceFiles.ts"
import * as LawCheck from "../../../layers/testing/LawCheck.ts"
import * as ErasedTool from "../../../src/ErasedTool.ts"
import type { ToolContent } from "../../../src/ToolContent.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { type Change, type Held, WorkspaceFiles } from "../../../src/WorkspaceFiles.ts"
import * as ApplyPatch from "../../../tools/apply-patch/ApplyPatch.ts"
import * as Patch from "../../../tools/apply-patch/Patch.ts"
import { Plan } from "../../../tools/apply-patch/Plan.ts"
import { call, runtime, terminal } from "../../Harness.ts"
import * as Workspace from "../../layers/node/Workspace.ts"
import * as MemoryFiles from "./MemoryFiles.ts"

const patch = (...lines: ReadonlyArray<string>) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n")

const { layer, layerCompatible } = ApplyPatch

const apply = <E>(files: Layer.Layer<WorkspaceFiles, E>, text: string, tool: typeof layer = layer) =>
  Effect.flatMap(ApplyPatch.ApplyPatch, ({ execute }) => ToolStream.runResult(execute({ patch: text }))).pipe(
    Effect.provide(Layer.provide(tool, files))
  )

const failure = <E>(files: Layer.Layer<WorkspaceFiles, E>, text: string, tool: typeof layer = layer) =>
  Effect.flip(apply(files, text, tool))

/** Applies to files in memory: what they are then, and what was told. */
const inMemory = (files: Readonly<Record<string, string>>, text: string, tool: typeof layer = layer) =>
  Effect.gen(function* () {
    const tree = MemoryFiles.tree(files)
    const commits: Array<ReadonlyArray<Change>> = []
    const result = yield* Effect.result(apply(MemoryFiles.layer(tree, commits), text, tool))
    return {
      tree: MemoryFiles.texts(tree),
      commits: commits.length,
      told: Result.isSuccess(result) ? shown(result.success) : result.failure.message
    }
  })

const shown = (applied: ApplyPatch.Applied) => {
  const toContent = ApplyPatch.ApplyPatch.toContent as (applied: ApplyPatch.Applied) => ReadonlyArray<ToolContent>
  return toContent(applied)
    .map((content) => (content.type === "text" ? content.text : content.type))
    .join("\n")
}

/** The port of files, with something before each commit. */
const beforeCommit = <E>(files: Layer.Layer<WorkspaceFiles, E>, before: Effect.Effect<void>) =>
  Layer.effect(
    WorkspaceFiles,
    Effect.map(WorkspaceFiles, (files) =>
      WorkspaceFiles.of({
        ...files,
        hold: (paths, use) =>
          files.hold(paths, (held) =>
            use({
              ...held,
              commit: (changes: Parameters<Held["commit"]>[0]) => Effect.andThen(before, held.commit(changes))
            })
          )
      })
    )
  ).pipe(Layer.provideMerge(files))

const three = { "a.txt": "a1\na2\n", "b.txt": "b1\nb2\n", "c.txt": "c\n" }

const everything = patch(
  "*** Update File: a.txt",
  "@@",
  " a1",
  "-a2",
  "+A2",
  "+A3",
  "*** Update File: b.txt",
  "*** Move to: sub/d.txt",
  "@@",
  "-b1",
  "*** Delete File: c.txt",
  "*** Add File: e.txt",
  "+e"
)

const after = { "a.txt": "a1\nA2\nA3\n", "sub/d.txt": "b2\n", "e.txt": "e\n" }

describe("apply_patch, planned in memory", () => {
  it.effect("emits each operation as it is planned, then commits once", () =>
    Effect.gen(function* () {
      const tree = MemoryFiles.tree(three)
      const commits: Array<ReadonlyArray<Change>> = []
      const seen: Array<ApplyPatch.Progress> = []
      const { execute } = yield* ApplyPatch.ApplyPatch.pipe(
        Effect.provide(Layer.provide(layer, MemoryFiles.layer(tree, commits)))
      )
      const applied = yield* ToolStream.runForEachArray(execute({ patch: everything }), (chunk) =>
        Effect.sync(() => {
          assert.strictEqual(commits.length, 0)
          seen.push(...chunk)
        })
      )
      assert.deepStrictEqual(seen, [
        { path: "a.txt", kind: "update", addedLines: 2, removedLines: 1 },
        { path: "sub/d.txt", kind: "move", from: "b.txt", addedLines: 0, removedLines: 1 },
        { path: "c.txt", kind: "delete", addedLines: 0, removedLines: 1 },
        { path: "e.txt", kind: "add", addedLines: 1, removedLines: 0 }
      ])
      assert.strictEqual(commits.length, 1)
      assert.deepStrictEqual(MemoryFiles.texts(tree), after)
      assert.deepStrictEqual(
        applied.files.map(({ from, kind, newHash, oldHash, path }) => [
          kind,
          path,
          from,
          oldHash === undefined,
          newHash === undefined
        ]),
        [
          ["update", "a.txt", undefined, false, false],
          ["delete", "b.txt", undefined, false, true],
          ["move", "sub/d.txt", "b.txt", true, false],
          ["delete", "c.txt", undefined, false, true],
          ["add", "e.txt", undefined, true, false]
        ]
      )
      assert.strictEqual(shown(applied), "M a.txt (+2 −1)\nR b.txt → sub/d.txt (+0 −1)\nD c.txt\nA e.txt")
    })
  )

  it.effect("C75: a move to the same path, by whatever name, is an update", () =>
    Effect.gen(function* () {
      for (const to of ["same.txt", "./same.txt", "/ws/same.txt"]) {
        const text = patch("*** Update File: same.txt", `*** Move to: ${to}`, "@@", "-old", "+new")
        const { told, tree } = yield* inMemory({ "same.txt": "old\n" }, text)
        assert.deepStrictEqual(tree, { "same.txt": "new\n" })
        assert.strictEqual(told, "M same.txt (+1 −1)")
      }
    })
  )

  it.effect("C77: a later failure leaves nothing; the compatible layer says what it leaves", () =>
    Effect.gen(function* () {
      const text = patch("*** Add File: created.txt", "+hello", "*** Update File: missing.txt", "@@", "-a", "+b")
      const whole = yield* inMemory({}, text)
      assert.deepStrictEqual(whole.tree, {})
      assert.strictEqual(whole.told, "missing.txt does not exist (line 4 of the patch). Nothing was changed.")
      const parts = yield* inMemory({}, text, layerCompatible)
      assert.deepStrictEqual(parts.tree, { "created.txt": "hello\n" })
      assert.match(parts.told, /applied \(created\.txt\): do not send them again\.$/)
      const outside = yield* inMemory({}, patch("*** Add File: a", "+a", "*** Add File: ../b", "+b"), layerCompatible)
      assert.match(outside.told, /^\.\.\/b is outside of the workspace.* applied \(a\)/)
    })
  )

  it.effect("C90: an existing file is replaced by the compatible layer only, which says so", () =>
    Effect.gen(function* () {
      const files = { "target.txt": "important\n", "a.txt": "a\n" }
      const add = patch("*** Add File: target.txt", "+x")
      const move = patch("*** Update File: a.txt", "*** Move to: target.txt")
      for (const text of [add, move]) {
        const { told, tree } = yield* inMemory(files, text)
        assert.deepStrictEqual(tree, files)
        assert.match(told, /^target\.txt exists already.*Nothing was changed\.$/)
        const compatible = yield* inMemory(files, text, layerCompatible)
        assert.notStrictEqual(compatible.tree["target.txt"], files["target.txt"])
        assert.match(compatible.told, /Note: target\.txt existed and was replaced\./)
      }
    })
  )

  it.effect("operations follow each other", () =>
    Effect.gen(function* () {
      const { tree, told, commits } = yield* inMemory(
        { "a.txt": "one\ntwo\n", "x.txt": "x\n" },
        patch(
          "*** Update File: a.txt",
          "*** Move to: b.txt",
          "@@",
          "-one",
          "+uno",
          "*** Add File: a.txt",
          "+fresh",
          "*** Update File: b.txt",
          "*** Move to: c.txt",
          "*** Update File: c.txt",
          "@@ uno",
          "+due",
          "*** Delete File: x.txt",
          "*** Add File: x.txt",
          "+y",
          "*** Add File: gone.txt",
          "+z",
          "*** Delete File: gone.txt"
        )
      )
      assert.deepStrictEqual(tree, { "a.txt": "fresh\n", "c.txt": "uno\ndue\ntwo\n", "x.txt": "y\n" })
      assert.strictEqual(told, "M a.txt (+1 −2)\nR a.txt → c.txt (+2 −1)\nM x.txt (+1 −1)")
      assert.strictEqual(commits, 1)
    })
  )

  it.effect("a file that is back where it was has not moved", () =>
    Effect.gen(function* () {
      const { told, tree } = yield* inMemory(
        { "a.txt": "1\n" },
        patch(
          "*** Update File: a.txt",
          "*** Move to: b.txt",
          "@@",
          "+2",
          "*** Update File: b.txt",
          "*** Move to: a.txt"
        )
      )
      assert.deepStrictEqual(tree, { "a.txt": "1\n2\n" })
      assert.strictEqual(told, "M a.txt (+1 −0)")
    })
  )

  it.effect("says when a patch works against itself, or for nothing", () =>
    Effect.gen(function* () {
      for (const [pattern, ...lines] of [
        [/a\.txt is deleted or moved by the patch itself/, "*** Delete File: a.txt", "*** Delete File: a.txt"],
        [/a\.txt would stay as it is/, "*** Update File: a.txt", "@@", "-a1", "+a1"],
        [/a\.txt would stay as it is/, "*** Update File: a.txt", "*** Move to: a.txt"],
        [/a\.txt would stay as it is/, "*** Delete File: c.txt", "*** Update File: a.txt", "@@", "-a1", "+a1"],
        [/n\.txt exists already/, "*** Add File: n.txt", "+1", "*** Add File: n.txt", "+2"]
      ] as ReadonlyArray<[RegExp, ...Array<string>]>) {
        const { told, tree } = yield* inMemory(three, patch(...lines))
        assert.match(told, pattern)
        assert.match(told, /Nothing was changed\.$/)
        assert.deepStrictEqual(tree, three)
      }
    })
  )

  it.effect("every failure of a patch says that nothing was changed, on plain text", () =>
    Effect.gen(function* () {
      const files = { "a.txt": "a\u001b[31m\nb\n", "u.txt": "\u0000" }
      for (const lines of [
        ["*** Update File: a.txt", "@@", "-\u001b[31mb", "+c"],
        ["*** Update File: u.txt", "@@", "+c"],
        ["*** Update File: a.txt", "no prefix \u001b"]
      ]) {
        const { told } = yield* inMemory(files, patch(...lines))
        assert.match(told, /Nothing was changed\.$/)
        // oxlint-disable-next-line no-control-regex
        assert.notMatch(told, /[\u0000-\u0009\u000b-\u001f]/)
      }
    })
  )

  it.effect("an interruption at any progress leaves the old tree", () =>
    Effect.gen(function* () {
      for (const tool of [layer, layerCompatible]) {
        for (const count of [1, 2, 3, 4]) {
          const tree = MemoryFiles.tree(three)
          const seen: Array<ApplyPatch.Progress> = []
          const { execute } = yield* ApplyPatch.ApplyPatch.pipe(
            Effect.provide(Layer.provide(tool, MemoryFiles.layer(tree)))
          )
          const fiber = yield* Effect.forkChild(
            ToolStream.runForEachArray(execute({ patch: everything }), (chunk) => {
              seen.push(...chunk)
              return seen.length >= count ? Effect.never : Effect.void
            }),
            { startImmediately: true }
          )
          yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(seen.length, count)
          if (tool === layer) assert.deepStrictEqual(MemoryFiles.texts(tree), three)
          // Those before it are committed, each whole.
          else assert.strictEqual(MemoryFiles.texts(tree)["a.txt"], count === 1 ? three["a.txt"] : after["a.txt"])
        }
      }
    })
  )

  it.effect("an interruption of the commit leaves the new tree, and the terminal says so", () =>
    Effect.gen(function* () {
      const tree = MemoryFiles.tree(three)
      const started = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const gate = Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(release))
      const context = yield* Layer.build(Layer.provide(layer, beforeCommit(MemoryFiles.layer(tree), gate)))
      const erased = yield* Effect.provideContext(ErasedTool.fromTool(ApplyPatch.ApplyPatch), context)
      const {
        runtime: { cancel, events }
      } = yield* runtime({ apply_patch: erased })
      const reader = yield* Effect.forkChild(
        Effect.map(Stream.runCollect(events(call("1", "apply_patch", { patch: everything }))), terminal),
        { startImmediately: true }
      )
      yield* Deferred.await(started)
      const cancelled = yield* Effect.forkChild(cancel("1", "user"), { startImmediately: true })
      yield* Deferred.succeed(release, undefined)
      assert.isTrue(yield* Fiber.join(cancelled))
      const told = yield* Fiber.join(reader)
      assert.deepStrictEqual(MemoryFiles.texts(tree), after)
      assert.include(JSON.stringify(told), "M a.txt (+2 −1)")
    })
  )

  it.prop(
    "the plan of a patch is deterministic, and what is not named is not touched",
    [
      Schema.Array(Schema.Literals([...everything.split("\n").slice(1, -1), "*** Update File: c.txt", "@@ c"])),
      Schema.Boolean
    ],
    ([lines, overwrites]) => {
      const parsed = Patch.parse(patch(...lines))
      if (Result.isFailure(parsed)) return
      const plan = () => {
        const plan = new Plan(overwrites)
        for (const [name, text] of Object.entries(three)) plan.load(name, { bytes: Buffer.from(text), hash: name })
        for (const name of ["sub/d.txt", "e.txt"]) plan.load(name, undefined)
        const steps = parsed.success.map((operation) => plan.apply(operation))
        return { steps, changes: plan.changes(), notes: plan.notes }
      }
      const planned = plan()
      assert.deepStrictEqual(plan(), planned)
      for (const { path } of planned.changes) assert.include(lines.join("\n"), path)
    }
  )
})

describe("apply_patch, on real files", () => {
  it.live("the law holds, for both layers", () =>
    Effect.gen(function* () {
      for (const tool of [layer, layerCompatible]) {
        const { root } = yield* Workspace.make(three)
        const patches = [everything, patch("*** Add File: n", "+1"), patch("*** Delete File: nowhere"), "no patch"]
        const report = yield* LawCheck.check(ApplyPatch.ApplyPatch, {
          clock: "real",
          grace: "5 seconds",
          limit: "10 seconds",
          seed: 1,
          runs: 3,
          steps: 2,
          parameters: Arbitrary.all({ patch: Arbitrary.schema(Schema.Literals(patches)) })
        }).pipe(Effect.provide(Layer.provide(tool, real(root))))
        assert.isAbove(report.endings["ToolFailed"] ?? 0, 0)
      }
    })
  )

  const real = (root: string) =>
    Workspace.within(root, NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") }))
  const read = (root: string) =>
    Object.fromEntries(
      fs
        .readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name))
        .map((file) => [path.relative(root, file), fs.readFileSync(file, "utf8")])
    )

  it.live("changes, moves, deletes and adds, with hashes and diffs", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(three)
      fs.chmodSync(path.join(root, "b.txt"), 0o755)
      const applied = yield* apply(real(root), everything)
      assert.deepStrictEqual(read(root), after)
      assert.strictEqual(fs.statSync(path.join(root, "sub/d.txt")).mode & 0o777, 0o755)
      assert.strictEqual(shown(applied), "M a.txt (+2 −1)\nR b.txt → sub/d.txt (+0 −1)\nD c.txt\nA e.txt")
      assert.match(applied.files[0]?.diff ?? "", /^-a2\n\+A2\n\+A3$/m)
      const erased = Schema.encodeUnknownSync(Schema.toCodecJson(ApplyPatch.Applied))(applied)
      assert.deepStrictEqual(Schema.decodeUnknownSync(Schema.toCodecJson(ApplyPatch.Applied))(erased), applied)
    })
  )

  it.live("C92: paths in headers pass the guard, and the whole patch is refused", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ "keep.txt": "k\n", "a b.txt": "x\n" })
      fs.mkdirSync(path.join(top, "outbox"))
      fs.writeFileSync(path.join(top, "outbox/x"), "x\n")
      fs.symlinkSync(path.join(top, "outbox"), path.join(root, "outbox"))
      const before = read(top)
      for (const header of [
        ["*** Add File: ../evil.txt", "+x"],
        [`*** Add File: ${top}/evil.txt`, "+x"],
        ["*** Delete File: outbox/x"],
        ["*** Update File: outbox/x", "@@", "-x", "+y"],
        ["*** Update File: a b.txt", "*** Move to: outbox/y"],
        ["*** Add File: outbox/y", "+x"]
      ]) {
        const failed = yield* failure(real(root), patch("*** Delete File: keep.txt", ...header))
        assert(failed._tag === "FileUnreachable", failed.message)
        assert.strictEqual(failed.reason._tag, "OutsideWorkspace")
        assert.match(failed.message, /is outside of the workspace .* Nothing was changed\.$/)
        assert.deepStrictEqual(read(top), before)
      }
      yield* apply(real(root), patch("*** Update File: a b.txt ", "@@", "-x", "+y"))
      assert.strictEqual(read(root)["a b.txt"], "y\n")
    })
  )

  it.live("what is no regular file is refused, and a slip in a name is answered", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "dir/file.txt": "x\n", "letter.txt": "l\n" })
      const before = read(root)
      for (const lines of [
        ["*** Delete File: dir"],
        ["*** Update File: dir", "@@", "+x"],
        ["*** Add File: dir", "+x"]
      ]) {
        const failed = yield* failure(real(root), patch("*** Delete File: letter.txt", ...lines))
        assert.strictEqual(failed._tag, "FileUnreachable")
        assert.match(failed.message, /dir is a directory, not a regular file\. Nothing was changed\.$/)
        assert.deepStrictEqual(read(root), before)
      }
      const missing = yield* failure(real(root), patch("*** Delete File: leter.txt"))
      assert.match(missing.message, /^leter\.txt does not exist.*Did you mean letter\.txt\? Nothing was changed\.$/)
    })
  )

  it.live("names of one file are one file, but a link is not what it leads to", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "a.txt": "1\n2\n" })
      fs.symlinkSync("a.txt", path.join(root, "link.txt"))
      fs.symlinkSync(".", path.join(root, "here"))
      const update = (name: string, from: string, to: string) => [
        `*** Update File: ${name}`,
        "@@",
        `-${from}`,
        `+${to}`
      ]
      yield* apply(
        real(root),
        patch(...update("a.txt", "1", "3"), ...update("link.txt", "2", "4"), ...update(`${root}/here/a.txt`, "3", "5"))
      )
      assert.strictEqual(read(root)["a.txt"], "5\n4\n")
      const failed = yield* failure(real(root), patch(...update("a.txt", "4", "6"), "*** Delete File: link.txt"))
      assert.match(failed.message, /a\.txt.*same file/)
      assert.strictEqual(read(root)["a.txt"], "5\n4\n")
      assert.isTrue(fs.lstatSync(path.join(root, "link.txt")).isSymbolicLink())
    })
  )

  it.live("a file that somebody else changes meanwhile is not overwritten, nor is any other", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(three)
      const meddle = Effect.sync(() => fs.writeFileSync(path.join(root, "c.txt"), "mine\n"))
      const failed = yield* failure(beforeCommit(real(root), meddle), everything)
      assert(failed._tag === "CommitFailed", failed.message)
      assert.strictEqual(failed.reason._tag, "Changed")
      assert.deepStrictEqual(read(root), { ...three, "c.txt": "mine\n" })
    })
  )

  it.live("an interruption at any progress leaves the old tree", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make(three)
      for (const count of [1, 2, 3, 4]) {
        const reached = yield* Deferred.make<void>()
        const seen: Array<ApplyPatch.Progress> = []
        const { execute } = yield* ApplyPatch.ApplyPatch.pipe(Effect.provide(Layer.provide(layer, real(root))))
        const fiber = yield* Effect.forkChild(
          ToolStream.runForEachArray(execute({ patch: everything }), (chunk) => {
            seen.push(...chunk)
            return seen.length < count
              ? Effect.void
              : Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
          })
        )
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(read(root), three)
      }
    })
  )
})
