import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { execFileSync } from "node:child_process"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import * as Ripgrep from "../../layers/node/Ripgrep.ts"
import { type Found, type Query, Search } from "../../src/Search.ts"
import type * as Tool from "../../src/Tool.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import * as Grep from "../../tools/Grep.ts"
import * as Workspace from "../layers/node/Workspace.ts"

type Parameters = Tool.Parameters<typeof Grep.Grep>

const grep = (root: string, parameters: Parameters) =>
  Effect.flatMap(Grep.Grep, ({ execute }) => ToolStream.runResult(execute(parameters))).pipe(
    Effect.provide(
      Workspace.within(root, Layer.provide(Grep.layer, Layer.merge(NodeWorkspaceFiles.layer, Ripgrep.layer)))
    )
  )

/** A declaration keeps it for whatever its success is. */
const toContent = Grep.Grep.toContent as Tool.ToContent<Grep.Matches>

const shown = (matches: Grep.Matches) =>
  toContent(matches).map((content) => (content.type === "text" ? content.text : content.type))

/** The tool over a search that finds what a test says. */
const over = (search: (query: Query) => Stream.Stream<Found>) => {
  const files = Layer.succeed(
    WorkspaceFiles,
    WorkspaceFiles.of({
      open: () => Effect.die("not asked"),
      resolve: () => Effect.succeed({ path: "/ws", type: "directory" }),
      display: () => Effect.succeed(".")
    })
  )
  return Effect.provide(
    Grep.Grep,
    Layer.provide(Grep.layer, Layer.merge(files, Layer.succeed(Search, Search.of({ search }))))
  )
}

const line = (path: string, line: number, text = "x"): Found => ({ _tag: "Line", path, line, text, match: true })

describe("grep", () => {
  it.live("shows lines as ripgrep does, sorted, with context", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "b.txt": "one\ntwo\nthree\nfour\ntwo\n", "a/c.txt": "two\n" })
      const matches = yield* grep(root, { pattern: "two", before: 1, after: 1 })
      assert.deepStrictEqual(shown(matches), [
        "a/c.txt:1:two\nb.txt-1-one\nb.txt:2:two\nb.txt-3-three\nb.txt-4-four\nb.txt:5:two"
      ])
      assert.deepStrictEqual([matches.total, matches.shown, matches.complete], [3, 3, true])
      assert.deepStrictEqual(shown(yield* grep(root, { pattern: "two", mode: "files" })), ["a/c.txt\nb.txt"])
      assert.deepStrictEqual(shown(yield* grep(root, { pattern: "two", mode: "count" })), ["a/c.txt:1\nb.txt:2"])
      assert.deepStrictEqual(shown(yield* grep(root, { pattern: "two", path: "a" })), ["a/c.txt:1:two"])
      assert.deepStrictEqual(shown(yield* grep(root, { pattern: "two", path: path.join(root, "a/c.txt") })), [
        "a/c.txt:1:two"
      ])
      assert.deepStrictEqual(shown(yield* grep(root, { pattern: "nothing" })), ["No matches."])
    })
  )

  it.live("C93: the empty pattern and limits out of range are argument errors", () =>
    Effect.sync(() => {
      const decode = Schema.decodeUnknownExit(Grep.Grep.parametersSchema)
      const bad = [
        { pattern: "" },
        { pattern: "x", limit: 0 },
        { pattern: "x", limit: 2001 },
        { pattern: "x", before: -1 },
        {}
      ]
      assert.deepStrictEqual(
        bad.map((parameters) => decode(parameters)._tag),
        bad.map(() => "Failure" as const)
      )
      assert.strictEqual(decode({ pattern: "--help" })._tag, "Success")
    })
  )

  it.live("C54, C43: refuses to search outside of the workspace, and in a FIFO", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make()
      execFileSync("mkfifo", [path.join(root, "pipe")])
      const failed = (path: string) =>
        Effect.map(
          Effect.flip(grep(root, { pattern: "x", path })),
          (failed) => failed._tag === "FileUnreachable" && failed.reason._tag
        )
      assert.strictEqual(yield* failed(".."), "OutsideWorkspace")
      assert.strictEqual(yield* failed("pipe"), "WrongType")
      assert.strictEqual((yield* Effect.flip(grep(root, { pattern: "(" })))._tag, "SearchFailed")
    })
  )

  it.live("C103: the first of 3,000 files by path, the same each time, and how many there are", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 3000 }, (_, index) => `d${index % 7}/f${(index * 7919) % 3000}`)
      const { root } = yield* Workspace.make(Object.fromEntries(names.map((name) => [name, "x\n"])))
      const first = yield* grep(root, { pattern: "x", limit: 100 })
      assert.deepStrictEqual(
        first.files.map((file) => file.path),
        [...new Set(names)].toSorted().slice(0, 100)
      )
      assert.strictEqual(first.total, 3000)
      assert.match(shown(first)[1]!, /^Showing 100 of 3000 matching lines\./)
      assert.deepStrictEqual(yield* grep(root, { pattern: "x", limit: 100 }), first)
    })
  )

  it.effect("C97, C99: skipped files are counted and named; without matches the search is called incomplete", () =>
    Effect.gen(function* () {
      const skipped: Found = { _tag: "Skipped", path: "/ws/no", why: "permission denied" }
      const none = yield* over(() => Stream.make(skipped))
      assert.deepStrictEqual(shown(yield* ToolStream.runResult(none.execute({ pattern: "x" }))), [
        "No matches, but the search is incomplete.\n1 file skipped: no (permission denied)."
      ])
      const many = yield* over(() =>
        Stream.fromIterable([line("/ws/a", 1), ...Array.from({ length: 30 }, () => skipped)])
      )
      const matches = yield* ToolStream.runResult(many.execute({ pattern: "x" }))
      assert.deepStrictEqual([matches.skipped, matches.skippedFiles.length], [30, 20])
      assert.match(shown(matches)[1]!, /^30 files skipped: .*, …\.$/)
    })
  )

  it.effect("stops at its cap of work, and says that there may be more", () =>
    Effect.gen(function* () {
      let pulled = 0
      const endless = Stream.fromIterable(
        (function* () {
          for (;;) yield line("/ws/a", ++pulled)
        })()
      )
      const { execute } = yield* over(() => endless)
      const matches = yield* ToolStream.runResult(execute({ pattern: "x", limit: 5 }))
      assert.isAtLeast(matches.total, 100_000)
      assert.isBelow(pulled, 120_000)
      assert.isFalse(matches.complete)
      assert.match(shown(matches)[1]!, /^Showing 5 of \d+ or more matching lines/)
    })
  )

  it.effect("tells what it found at most ten times a second", () =>
    Effect.gen(function* () {
      const { execute } = yield* over(() =>
        Stream.range(1, 100).pipe(
          Stream.rechunk(1),
          Stream.mapEffect((n) => Effect.as(Effect.sleep(10), line("/ws/a", n)))
        )
      )
      const seen: Array<Tool.Progress<typeof Grep.Grep>> = []
      const fiber = yield* Effect.forkChild(
        ToolStream.runForEachArray(execute({ pattern: "x" }), (chunk) => Effect.sync(() => void seen.push(...chunk)))
      )
      for (let step = 0; step < 110; step++) yield* TestClock.adjust(10)
      assert.strictEqual((yield* Fiber.join(fiber)).total, 100)
      assert.deepStrictEqual(
        seen.map(({ matches }) => matches),
        [1, 11, 21, 31, 41, 51, 61, 71, 81, 91]
      )
      assert.deepStrictEqual(
        seen[1]!.found.map((one) => one.line),
        [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
      )
    })
  )

  it.effect("keeps of long lines and odd names what can be shown on one line", () =>
    Effect.gen(function* () {
      const { execute } = yield* over(() => Stream.make(line("/ws/new\nline", 1, "y".repeat(3000))))
      const matches = yield* ToolStream.runResult(execute({ pattern: "y" }))
      assert.deepStrictEqual(shown(matches), [`new␊line:1:${"y".repeat(499)}…`])
    })
  )

  const word = Schema.Literals(["foo", "bar", "foobar", "", "x foo y"])
  const name = Schema.Literals(["a", "b.ts", "d/a", "d/e/f.ts", ".hidden", "d-1"])
  it.live.prop(
    "agrees with a plain scan of the tree",
    {
      tree: Arbitrary.array(Arbitrary.schema(Schema.Struct({ name, lines: Schema.Array(word) })), { maxLength: 6 }),
      limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 })),
      mode: Schema.Literals(["content", "files", "count"])
    },
    ({ limit, mode, tree }) =>
      Effect.gen(function* () {
        const files = new Map(tree.map(({ lines, name }) => [name, lines]))
        const { root } = yield* Workspace.make(
          Object.fromEntries([...files].map(([name, lines]) => [name, lines.map((line) => `${line}\n`).join("")]))
        )
        const scanned = [...files]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, lines]) => ({
            name,
            found: lines.flatMap((text, index) => (text.includes("foo") ? [`${name}:${index + 1}:${text}`] : []))
          }))
          .filter(({ found }) => found.length > 0)
        const expected =
          mode === "content"
            ? scanned.flatMap(({ found }) => found)
            : scanned.map(({ found, name }) => (mode === "files" ? name : `${name}:${found.length}`))
        const matches = yield* grep(root, { pattern: "foo", limit, mode })
        assert.strictEqual(matches.total, expected.length)
        assert.deepStrictEqual(expected.length === 0 ? "" : shown(matches)[0], expected.slice(0, limit).join("\n"))
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 60 }, timeout: 30_000 }
  )
})
