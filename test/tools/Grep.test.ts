import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import * as Ripgrep from "../../layers/node/Ripgrep.ts"
import { CurrentClocks } from "../../src/Clocks.ts"
import { type Found, type Query, Search } from "../../src/Search.ts"
import type * as Tool from "../../src/Tool.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import type * as ToolEvent from "../../src/ToolEvent.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import * as Grep from "../../tools/Grep.ts"
import * as Workspace from "../layers/node/Workspace.ts"

type Parameters = Tool.Parameters<typeof Grep.Grep>

const grep = (root: string, parameters: Parameters, engine = Ripgrep.layer) =>
  Effect.flatMap(Grep.Grep, ({ execute }) => ToolStream.runResult(execute(parameters))).pipe(
    Effect.provide(
      Workspace.within(
        root,
        Layer.provide(
          Grep.layer,
          Layer.merge(NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") }), engine)
        )
      )
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
      display: () => Effect.succeed("."),
      list: () => Effect.die("not asked"),
      keys: () => Effect.die("not asked"),
      hold: () => Effect.die("not asked")
    })
  )
  const found = Layer.succeed(
    Search,
    Search.of({ search, searchText: () => Stream.die("not asked"), files: () => Stream.die("not asked") })
  )
  return Effect.provide(Grep.Grep, Layer.provide(Grep.layer, Layer.merge(files, found)))
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
      for (let run = 0; run < 2; run++) {
        assert.deepStrictEqual(yield* grep(root, { pattern: "x", limit: 100 }), first)
      }
    })
  )

  it.live("C93, C57: every pattern is searched for, in files of every name, and runs nothing", () =>
    Effect.gen(function* () {
      const lines = ["--pre=PROGRAM", "--help", "-e", "->", "- [ ]", "--"]
      const names = ["-rf", "--pre=sh", "new\nline.txt", "$(touch PWN)"]
      const { root, top } = yield* Workspace.make(
        Object.fromEntries(names.map((name) => [name, `${lines.join("\n")}\n`]))
      )
      const program = path.join(top, "p.sh")
      fs.writeFileSync(program, `#!/bin/sh\ntouch ${top}/ran\n`, { mode: 0o755 })
      for (const pattern of [`--pre=${program}|--pre=PROGRAM`, "--help", "-e", "->", "- \\[ \\]", "--"]) {
        const matches = yield* grep(root, { pattern, mode: "files" })
        assert.deepStrictEqual(
          matches.files.map(({ path }) => path),
          ["$(touch PWN)", "--pre=sh", "-rf", "new\\x0aline.txt"],
          pattern
        )
      }
      for (const name of ["-rf", "--pre=sh", "new\\x0aline.txt", "$(touch PWN)"]) {
        assert.strictEqual((yield* grep(root, { pattern: "^-e$", path: name })).total, 1, name)
      }
      assert.isFalse(fs.existsSync(path.join(top, "ran")) || fs.existsSync(path.join(root, "PWN")))
    })
  )

  it.live("C95: look-around and back-references are failures, never no matches", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ f: "foobar\naa\n" })
      for (const pattern of ["(?=foo)bar", "(a)\\1"]) {
        const failed = yield* Effect.flip(grep(root, { pattern }))
        assert(failed._tag === "SearchFailed" && /not supported/.test(failed.message), failed.message)
      }
    })
  )

  it.live("C99: a NUL hides no match, in a folder or by name", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "nul.ts": "NEEDLE two\0bin\n" })
      for (const at of [".", "nul.ts"]) {
        const [text, notes] = shown(yield* grep(root, { pattern: "NEEDLE", path: at }))
        assert.match(text!, /^nul\.ts:1:NEEDLE two(␀bin)?$/)
        assert.strictEqual(notes, "1 file skipped: nul.ts (binary from byte 11 on).")
      }
    })
  )

  it.live("C101, C102: ignored files are left out, which is said, unless path names them; hidden ones are found", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({
        ".gitignore": "dist/\n",
        "dist/app.js": "x",
        ".env": "x",
        ".git/c": "x"
      })
      const matches = yield* grep(root, { pattern: "x" })
      assert.deepStrictEqual([shown(matches)[0], matches.ignored], [".env:1:x", true])
      assert.match(shown(matches)[1]!, /^Ignored files were left out/)
      for (const at of ["dist", "dist/app.js"]) {
        assert.deepStrictEqual(shown(yield* grep(root, { pattern: "x", path: at })), ["dist/app.js:1:x"])
      }
    })
  )

  it.live("C104: an open pipe on the input of the process is left alone", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ a: "x\n" })
      const script = path.join(import.meta.dirname, "grepping.ts")
      const child = spawn(process.execPath, [script, root], { stdio: ["pipe", "pipe", "inherit"] })
      yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
      child.stdin.write("x of the protocol\n")
      let output = ""
      const answered = yield* Effect.promise(
        () =>
          new Promise<string>((done) =>
            child.stdout.on("data", (bytes) => ((output += bytes), output.includes("end") && done(output)))
          )
      ).pipe(Effect.timeout("20 seconds"))
      assert.strictEqual(answered, '["a:1:x"]\nx of the protocol\nend\n')
    })
  )

  it.live("what was found is kept when the call is cancelled, or its time is up", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make()
      const record = (type: string, rest: object) => JSON.stringify({ type, data: { path: { text: "./a" }, ...rest } })
      const program = path.join(top, "engine")
      const found = record("match", { lines: { text: "x\n" }, line_number: 1, absolute_offset: 0, submatches: [] })
      fs.writeFileSync(
        program,
        `#!/bin/sh\nprintf '%s\\n' '${found}' '${record("end", { binary_offset: null })}'; exec sleep 100\n`,
        { mode: 0o755 }
      )
      const ports = Layer.merge(
        NodeWorkspaceFiles.layerWith({ state: path.join(top, "state") }),
        Ripgrep.layerWith({ program })
      )
      const layer = ToolRuntime.layer.pipe(
        Layer.provide(ToolRegistry.layer(Grep.Grep)),
        Layer.provide(Layer.provide(Grep.layer, ports))
      )
      yield* Effect.gen(function* () {
        const runtime = yield* ToolRuntime.ToolRuntime
        const call = yield* ToolCall.make({ name: "grep", parameters: { pattern: "x" } })
        const seen: Array<ToolEvent.ToolEvent> = []
        const cancelled = yield* Stream.runForEach(runtime.events(call), (event) => {
          seen.push(event)
          return event._tag === "Progress" ? Effect.forkChild(runtime.cancel(call.callId, "enough")) : Effect.void
        }).pipe(Effect.as(seen))
        const timed = yield* Stream.runCollect(
          runtime.events(yield* ToolCall.make({ name: "grep", parameters: { pattern: "x" } }))
        ).pipe(Effect.provideService(CurrentClocks, { total: "1 second" }))
        for (const [events, tag] of [
          [cancelled, "Interrupted"],
          [timed, "TimedOut"]
        ] as const) {
          const last = events.at(-1)
          assert(last?._tag === "Terminal" && last.result._tag === "Failure")
          const { reason } = last.result.error
          assert(reason._tag === tag && "partial" in reason && reason.partial !== undefined, reason._tag)
          assert.deepStrictEqual(reason.partial.content, [
            { type: "text", text: "a:1:x" },
            { type: "text", text: "The search stopped early: there may be more than one matching line." }
          ])
        }
      }).pipe(Effect.provide(Workspace.within(root, layer)))
    })
  )

  it.effect("the model reads at most 50,000 bytes", () =>
    Effect.gen(function* () {
      const wide = Array.from({ length: 1000 }, (_, index) => line("/ws/a", index + 1, "é".repeat(400)))
      const { execute } = yield* over(() => Stream.fromIterable(wide))
      const [text, notes] = shown(yield* ToolStream.runResult(execute({ pattern: "y", limit: 1000 })))
      assert.isAtMost(new TextEncoder().encode(text).length, 50_000)
      assert.match(notes!, /^Cut at 50000 bytes: the first 6\d of 1000 lines are above/)
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

  it.effect("keeps of long lines what is worth showing", () =>
    Effect.gen(function* () {
      const { execute } = yield* over(() => Stream.make(line("/ws/a", 1, "y".repeat(3000))))
      const matches = yield* ToolStream.runResult(execute({ pattern: "y" }))
      assert.deepStrictEqual(shown(matches), [
        `a:1:${"y".repeat(499)}…`,
        "Cut at 500 UTF-16 code units, where … stands: a:1."
      ])
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
