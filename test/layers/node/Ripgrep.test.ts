import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Ripgrep from "../../../layers/node/Ripgrep.ts"
import { type Found, type Listed, type Listing, type Query, Search } from "../../../src/Search.ts"
import * as Workspace from "./Workspace.ts"

const found = (root: string, query: Omit<Query, "path"> & { readonly path?: string }, layer = Ripgrep.layer) =>
  Effect.flatMap(Search, ({ search }) => Stream.runCollect(search({ ...query, path: query.path ?? root }))).pipe(
    Effect.provide(Workspace.within(root, layer))
  )

const listed = (root: string, listing: Omit<Listing, "path"> & { readonly path?: string }) =>
  Effect.flatMap(Search, ({ files }) => Stream.runCollect(files({ ...listing, path: listing.path ?? root }))).pipe(
    Effect.provide(Workspace.within(root, Ripgrep.layer))
  )

/** Paths of files, sorted. */
const names = (root: string, all: ReadonlyArray<Listed>) =>
  all.flatMap((one) => (one._tag === "File" ? [path.relative(root, one.path)] : [])).toSorted()

/** `path:line:text`, sorted, and whether ignored files were left out. */
const lines = (root: string, all: ReadonlyArray<Found>) =>
  all
    .map((one) =>
      one._tag === "End"
        ? one.ignored
          ? "ignored files left out"
          : ""
        : one._tag === "Line"
          ? `${path.relative(root, one.path)}${one.match ? ":" : "-"}${one.line}${one.match ? ":" : "-"}${one.text}`
          : `${path.relative(root, one.path)} skipped: ${one.why}`
    )
    .filter((line) => line !== "")
    .toSorted()

/** Where everybody may run it. */
const copyOf = (program: string, top: string) => {
  const copy = path.join(top, "rg")
  fs.copyFileSync(program, copy)
  fs.chmodSync(copy, 0o755)
  return copy
}

/** An engine of our own, to say what the real one rarely does. */
const engine = (top: string, script: string) => {
  const program = path.join(top, "engine")
  fs.writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return Ripgrep.layerWith({ program })
}

describe("Search by ripgrep", () => {
  it.live("finds lines with their context, and matches over several lines", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ "a.txt": "one\r\ntwo\r\nthree\r\nfour\r\n", "sub/b.txt": "TWO\n" })
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "two$", before: 1, after: 1 })), [
        "a.txt-1-one",
        "a.txt-3-three",
        "a.txt:2:two"
      ])
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "two", caseInsensitive: true })), [
        "a.txt:2:two",
        "sub/b.txt:1:TWO"
      ])
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "o\\r\\nthree", multiline: true })), [
        "a.txt:2:two",
        "a.txt:3:three"
      ])
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "nothing of this" })), [])
      assert.deepStrictEqual(
        lines(root, yield* found(root, { pattern: "o", path: path.join(root, "sub/b.txt"), caseInsensitive: true })),
        ["sub/b.txt:1:TWO"]
      )
    })
  )

  it.live("C93: a pattern is never taken as an option", () =>
    Effect.gen(function* () {
      const patterns = ["--pre=/tmp/p.sh", "--help", "-e", "->", "- \\[ \\]", "--"]
      const { root } = yield* Workspace.make({ f: "--pre=/tmp/p.sh\n--help\n-e\n->\n- [ ]\n--\n", "-rf": "-e\n" })
      for (const pattern of patterns) {
        const all = yield* found(root, { pattern })
        assert.isNotEmpty(all, pattern)
      }
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "^-e", path: path.join(root, "-rf") })), [
        "-rf:1:-e"
      ])
    })
  )

  it.live("C95: what the engine cannot do is said, with what to do instead", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ a: "a" })
      const failed = (query: Omit<Query, "path">) => Effect.flip(found(root, query))
      const around = yield* failed({ pattern: "(?=foo)bar" })
      assert.strictEqual(around.reason, "InvalidPattern")
      assert.match(around.message, /Look-ahead and look-behind are not supported/)
      assert.notMatch(around.message, /--pcre2/)
      assert.match((yield* failed({ pattern: "(a)\\1" })).message, /Back-references are not supported/)
      assert.match((yield* failed({ pattern: "(" })).message, /unclosed group[^]*escape/)
      assert.match((yield* failed({ pattern: "a\\nb" })).message, /Set multiline/)
      assert.strictEqual((yield* failed({ pattern: "a{1000}{1000}{1000}" })).reason, "InvalidPattern")
      const type = yield* failed({ pattern: "a", type: "zzz" })
      assert.strictEqual(type.reason, "InvalidFilter")
      assert.match(type.message, /no file type zzz/)
      const glob = yield* failed({ pattern: "a", glob: "{a" })
      assert.strictEqual(glob.reason, "InvalidFilter")
    })
  )

  it.live("C97: complaints about single files come beside the matches; without a search they are its failure", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make()
      const record = (text: string) =>
        JSON.stringify({
          type: "match",
          data: { path: { text: "./x" }, lines: { text }, line_number: 1, absolute_offset: 0, submatches: [] }
        })
      const complaint = "rg: /no: Permission denied (os error 13)"
      const partly = engine(
        top,
        `echo '${record("a")}'; echo '${complaint}' >&2; echo '{"type":"end","data":{"path":{"text":"./x"},"binary_offset":null}}'; echo '{"type":"summary","data":{}}'; exit 2`
      )
      assert.deepStrictEqual(yield* found(root, { pattern: "a" }, partly), [
        { _tag: "Line", path: `${root}/x`, line: 1, text: "a", match: true },
        { _tag: "Skipped", path: "/no", why: "permission denied" },
        { _tag: "End", ignored: false }
      ])
      const failed = yield* Effect.flip(
        found(root, { pattern: "a" }, engine(top, "echo 'rg: out of luck' >&2; exit 2"))
      )
      assert.deepStrictEqual([failed.reason, failed.message], ["Other", "The search stopped: out of luck."])
      const killed = yield* Effect.flip(found(root, { pattern: "a" }, engine(top, "kill -9 $$")))
      assert.match(killed.message, /SIGKILL/)
      const garbled = yield* Effect.flip(found(root, { pattern: "a" }, engine(top, "echo nonsense; exec sleep 100")))
      assert.match(garbled.message, /The search stopped: .*JSON/)
      const missing = yield* Effect.flip(
        found(root, { pattern: "a" }, Ripgrep.layerWith({ program: path.join(top, "missing") }))
      )
      assert.strictEqual(missing.reason, "EngineUnavailable")
    })
  )

  it.live("C99: a NUL hides nothing: lines before it are found, the rest is reported", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({
        "nul.ts": "NEEDLE two\0bin\nNEEDLE\n",
        "latin.txt": Buffer.from("\xff NEEDLE \x1b[0m\n", "latin1"),
        "wide.txt": Buffer.from("\ufeffNEEDLE wide\n", "utf16le"),
        "quiet.bin": "\0\0\0"
      })
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "NEEDLE" })), [
        "latin.txt:1:\ufffd NEEDLE ␛[0m",
        "nul.ts skipped: binary from byte 11 on",
        "nul.ts:1:NEEDLE two",
        "wide.txt:1:NEEDLE wide"
      ])
    })
  )

  it.live("C101: ignored files are left out with and without a repository, unless their path is named", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({
        ".gitignore": "\ufeffdist/\n*.log\n!keep.log\n",
        "dist/app.js": "x",
        "a.log": "x",
        "sub/keep.log": "x",
        "sub/.gitignore": "b.ts\n",
        "sub/b.ts": "x",
        "b.ts": "x"
      })
      for (let repository = 0; repository < 2; repository++) {
        assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "^x" })), [
          "b.ts:1:x",
          "ignored files left out",
          "sub/keep.log:1:x"
        ])
        assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "^x", glob: "**/*" })), [
          "b.ts:1:x",
          "ignored files left out",
          "sub/keep.log:1:x"
        ])
        assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "^x", path: path.join(root, "dist") })), [
          "dist/app.js:1:x"
        ])
        assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "^x", path: path.join(root, "sub") })), [
          "ignored files left out",
          "sub/keep.log:1:x"
        ])
        assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "^x", path: path.join(root, "sub/b.ts") })), [
          "sub/b.ts:1:x"
        ])
        execFileSync("git", ["init", "-q", root])
      }
    })
  )

  it.live("C101: an ignore file above the workspace that belongs to nothing hides nothing", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ a: "x" })
      fs.writeFileSync(path.join(top, ".gitignore"), "*\n")
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x" })), ["a:1:x"])
      fs.mkdirSync(path.join(top, ".git"))
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x" })), ["ignored files left out"])
    })
  )

  it.live("C101: a listing leaves ignored files out whatever the pattern, and lists them when asked", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ ".gitignore": "dist/\n*.log\n", "dist/a.log": "", "b.log": "", c: "" })
      const end = (all: ReadonlyArray<Listed>) => all.at(-1)
      const some = yield* listed(root, { pattern: "**" })
      assert.deepStrictEqual([names(root, some), end(some)], [[".gitignore", "c"], { _tag: "End", ignored: true }])
      assert.deepStrictEqual(names(root, yield* listed(root, { pattern: "*.log" })), [])
      const all = yield* listed(root, { pattern: "*.log", ignored: true })
      assert.deepStrictEqual([names(root, all), end(all)], [["b.log", "dist/a.log"], { _tag: "End", ignored: false }])
      const failed = yield* Effect.flip(listed(root, { pattern: "[a" }))
      assert.match(failed.message, /\[a is not valid: it has a \[ without a \]/)
    })
  )

  it.live("C97: one unreadable folder is named beside what was found", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ "a.txt": "NEEDLE", "no/b.txt": "NEEDLE" })
      fs.symlinkSync("nowhere", path.join(root, "broken"))
      fs.chmodSync(top, 0o755)
      fs.chmodSync(path.join(root, "no"), 0)
      const { rgPath } = yield* Effect.promise(() => import("@vscode/ripgrep"))
      // To the administrator nothing is unreadable.
      const isRoot = process.getuid?.() === 0
      const layer = isRoot
        ? engine(top, `exec setpriv --reuid=65534 --regid=65534 --clear-groups '${copyOf(rgPath, top)}' "$@"`)
        : Ripgrep.layer
      const all = yield* found(root, { pattern: "NEEDLE" }, layer)
      fs.chmodSync(path.join(root, "no"), 0o755)
      assert.deepStrictEqual(lines(root, all), ["a.txt:1:NEEDLE", "no skipped: permission denied"])
    })
  )

  it.live("C102: hidden files are searched, the contents of .git are not, whatever the glob", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({
        ".env": "x",
        ".github/workflows/ci.yml": "x",
        ".git/config": "x",
        "a.yml": "x"
      })
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x" })), [
        ".env:1:x",
        ".github/workflows/ci.yml:1:x",
        "a.yml:1:x"
      ])
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x", glob: "**" })).length, 3)
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x", glob: ".github/**" })), [
        ".github/workflows/ci.yml:1:x"
      ])
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x", glob: "*.yml" })), [
        ".github/workflows/ci.yml:1:x",
        "a.yml:1:x"
      ])
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x", type: "yaml" })).length, 2)
    })
  )

  it.live("C57, C60: odd names come whole", () =>
    Effect.gen(function* () {
      const odd = ["new\nline.txt", "a b", "-rf", "app/[id]/page.tsx", "q'\"q", "a:1:b", "back\\x41"]
      const { root } = yield* Workspace.make(Object.fromEntries(odd.map((name) => [name, "x"])))
      const bytes = (...parts: ReadonlyArray<string>) => Buffer.from(`${root}/${parts.join("/")}`, "latin1")
      fs.mkdirSync(bytes("\xff"))
      fs.writeFileSync(bytes("\xff", "\xfe"), "x")
      const plain = odd.map((name) => name.replace("\n", "\\x0a").replace("back\\", "back\\x5c"))
      const all = [...plain, "\\xff/\\xfe"].toSorted()
      const expected = all.map((name) => `${name}:1:x`).toSorted()
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x" })), expected)
      assert.deepStrictEqual(names(root, yield* listed(root, { pattern: "**" })), all)
      // Each is searched by the name that it was found by, and so is a folder.
      for (const name of [...all, "app/[id]", "\\xff"]) {
        const [one] = yield* found(root, { pattern: "x", path: `${root}/${name}` })
        assert(one?._tag === "Line" && one.path.startsWith(`${root}/${name}`), name)
      }
      assert.deepStrictEqual(names(root, yield* listed(root, { pattern: "*", path: `${root}/\\xff` })), ["\\xff/\\xfe"])
    })
  )

  it.live("C104: a pipe that stands in the directory, or on our own input, blocks nothing", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ a: "x" })
      execFileSync("mkfifo", [path.join(root, "pipe")])
      assert.deepStrictEqual(lines(root, yield* found(root, { pattern: "x" }).pipe(Effect.timeout("5 seconds"))), [
        "a:1:x"
      ])
    })
  )

  it.live("a line of many megabytes is cut, with its path and number", () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({
        "min.js": `first\n${"x".repeat(8_000_000)}\n${'\u{1f600}"\\\t'.repeat(30_000)}\nlast x\n`
      })
      const all = yield* found(root, { pattern: "x$|first|\u{1f600}" })
      assert.deepStrictEqual(
        all.flatMap((one) => (one._tag === "Line" ? [[one.line, one.text.length]] : [])),
        [
          [1, 5],
          [2, 4096],
          [3, 4095],
          [4, 6]
        ]
      )
      assert(all.every((one) => one._tag !== "Line" || one.text.isWellFormed()))
    })
  )

  it.live("the engine is gone when the stream is left, and when its fiber is interrupted", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make()
      const layer = engine(top, `echo $$ > ${top}/pid; echo '{"type":"summary","data":{}}'; exec sleep 100`)
      const alive = () => fs.existsSync(`/proc/${fs.readFileSync(path.join(top, "pid"), "utf8").trim()}`)
      const fiber = yield* Effect.forkChild(found(root, { pattern: "x" }, layer))
      const started = Effect.suspend(() =>
        fs.existsSync(path.join(top, "pid")) && fs.statSync(path.join(top, "pid")).size > 0
          ? Effect.void
          : Effect.fail("not yet")
      )
      yield* Effect.eventually(Effect.delay(started, 10))
      assert.isTrue(alive())
      yield* Fiber.interrupt(fiber)
      assert.isFalse(alive())

      const many = engine(
        top,
        `echo $$ > ${top}/pid; while :; do echo '{"type":"match","data":{"path":{"text":"/x"},"lines":{"text":"x"},"line_number":1,"absolute_offset":0}}'; echo '{"type":"end","data":{"path":{"text":"/x"},"binary_offset":null}}'; done`
      )
      const some = yield* Effect.flatMap(Search, ({ search }) =>
        Stream.runCollect(Stream.take(search({ pattern: "x", path: root }), 3))
      ).pipe(Effect.provide(Workspace.within(root, many)))
      assert.strictEqual(some.length, 3)
      assert.isFalse(alive())
    })
  )

  it.live("a text that is in no file is searched as it comes, in bounded memory, and its failure is told", () =>
    Effect.gen(function* () {
      const { searchText } = yield* Search
      const of = (pattern: string, ...pieces: ReadonlyArray<string>) =>
        Stream.runCollect(
          searchText({ pattern }, Stream.fromIterable(pieces.map((piece) => new TextEncoder().encode(piece))))
        )
      assert.deepStrictEqual(yield* of("o", "on", "e\nt", "", "wo\nthree"), [
        { line: 1, text: "one" },
        { line: 2, text: "two" }
      ])
      assert.deepStrictEqual(yield* of("x"), [])
      // A pipe that its reader has closed is no fault of ours.
      const piece = "a".repeat(64 * 1024)
      const failed = yield* Effect.flip(of("(", ...Array.from({ length: 100 }, () => piece)))
      assert.strictEqual(failed.reason, "InvalidPattern")
      const broken = Stream.concat(Stream.make(new TextEncoder().encode("one\n")), Stream.fail("no more" as const))
      assert.strictEqual(yield* Effect.flip(Stream.runCollect(searchText({ pattern: "one" }, broken))), "no more")
      const endless = Stream.fromEffectRepeat(Effect.succeed(new TextEncoder().encode("one\n".repeat(1_000))))
      const some = yield* Stream.runCollect(Stream.take(searchText({ pattern: "one" }, endless), 3))
      assert.deepStrictEqual(
        some.map(({ line }) => line),
        [1, 2, 3]
      )
    }).pipe(Effect.provide(Ripgrep.layer))
  )
})
