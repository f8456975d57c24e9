import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../../layers/node/WorkspaceFiles.ts"
import type * as Tool from "../../../src/Tool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as EditFile from "../../../tools/edit-file/EditFile.ts"
import * as Workspace from "../../layers/node/Workspace.ts"

type Parameters = Tool.Parameters<typeof EditFile.EditFile>

/** Several edits by one runtime, as a model makes them in one message. */
const edits = (root: string, ...all: ReadonlyArray<Parameters>) =>
  Effect.flatMap(EditFile.EditFile, ({ execute }) =>
    Effect.all(
      all.map((parameters) => ToolStream.runResult(execute(parameters))),
      { concurrency: "unbounded" }
    )
  ).pipe(
    Effect.provide(
      Workspace.within(
        root,
        Layer.provide(EditFile.layer, NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") }))
      )
    )
  )

const edit = (root: string, parameters: Parameters) => Effect.map(edits(root, parameters), ([edited]) => edited!)

/** The file `f` alone: what it holds afterwards, and what was said. */
const editing = (content: string | Uint8Array, parameters: Omit<Parameters, "path">) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { root } = yield* Workspace.make({ f: content })
      const result = yield* Effect.result(edit(root, { path: "f", ...parameters }))
      return { bytes: fs.readFileSync(path.join(root, "f")), result }
    })
  )

const edited = (content: string | Uint8Array, parameters: Omit<Parameters, "path">) =>
  Effect.map(editing(content, parameters), ({ bytes, result }) => {
    assert(result._tag === "Success", result._tag === "Failure" ? result.failure.message : "")
    return { ...result.success, bytes, text: bytes.toString() }
  })

/** Refused, with the file untouched. */
const refused = (content: string | Uint8Array, parameters: Omit<Parameters, "path">) =>
  Effect.map(editing(content, parameters), ({ bytes, result }) => {
    assert(result._tag === "Failure" && result.failure._tag === "EditRefused")
    assert.deepStrictEqual(bytes, Buffer.from(content))
    return result.failure
  })

const toContent = EditFile.EditFile.toContent as Tool.ToContent<EditFile.Edited>

describe("edit_file", () => {
  it.live("says what was replaced, where, with hashes and a diff", () =>
    Effect.gen(function* () {
      const done = yield* edited("one\ntwo\nthree\n", { oldText: "two", newText: "TWO" })
      const hash = (text: string) => createHash("sha256").update(text).digest("hex")
      assert.deepStrictEqual(
        [done.text, done.path, done.replacements, done.firstLine, done.tier, done.oldHash, done.newHash],
        ["one\nTWO\nthree\n", "f", 1, 2, "exact", hash("one\ntwo\nthree\n"), hash("one\nTWO\nthree\n")]
      )
      assert.match(done.diff ?? "", /^-two\n\+TWO$/m)
      assert.deepStrictEqual(toContent(done), [{ type: "text", text: "Edited f at line 2." }])
    })
  )

  it.live("C61: dollar patterns in the new text are text", () =>
    Effect.gen(function* () {
      const oldText = 'log("done");'
      const newText = 'log("$& $$ $` $\' $1");'
      assert.strictEqual((yield* edited(`${oldText}\n`, { oldText, newText })).text, `${newText}\n`)
      const all = yield* edited(`${oldText}\n${oldText}\n`, { oldText, newText, replaceAll: true })
      assert.strictEqual(all.text, `${newText}\n${newText}\n`)
    })
  )

  it.live("C62: the file keeps its line ends, whatever those of the call are", () =>
    Effect.gen(function* () {
      const crlf = "a\r\nb\r\nc\r\n"
      for (const [oldText, newText, tier] of [
        ["a\nb\n", "a\nB\n", "tolerant"],
        ["a\r\nb\r\n", "a\r\nB\r\n", "exact"],
        ["a\r\nb\r\n", "a\nB\n", "exact"],
        ["b", "B", "exact"],
        ["a\nb", "a\r\nB", "tolerant"]
      ] as const) {
        const done = yield* edited(crlf, { oldText, newText })
        assert.deepStrictEqual([done.text, done.tier], ["a\r\nB\r\nc\r\n", tier], JSON.stringify([oldText, newText]))
      }
      assert.strictEqual((yield* edited(crlf, { oldText: "b", newText: "b\nx" })).text, "a\r\nb\r\nx\r\nc\r\n")
      assert.strictEqual((yield* edited(crlf, { oldText: "\nb", newText: "\nB" })).text, "a\r\nB\r\nc\r\n")
      assert.strictEqual(
        (yield* edited("a\nb\nc\n", { oldText: "a\r\nb\r\n", newText: "a\r\nB\r\n" })).text,
        "a\nB\nc\n"
      )
      const all = yield* edited("a\r\nb\r\na\r\nb\r\n", { oldText: "a\nb", newText: "x\ny", replaceAll: true })
      assert.deepStrictEqual([all.text, all.replacements], ["x\r\ny\r\nx\r\ny\r\n", 2])
      // Line ends are what this edit is about.
      const converted = yield* edited(crlf, { oldText: "\r\n", newText: "\n", replaceAll: true })
      assert.strictEqual(converted.text, "a\nb\nc\n")
      const mixed = yield* edited("a\nb\r\nc\n", { oldText: "b\nc", newText: "b\nC" })
      assert.strictEqual(mixed.text, "a\nb\r\nC\n")
    })
  )

  it.live("C64: a byte order mark stays, and is invisible to the text", () =>
    Effect.gen(function* () {
      const marked = "\ufeffhello\nworld\n"
      assert.strictEqual((yield* edited(marked, { oldText: "hello", newText: "hello2" })).text, "\ufeffhello2\nworld\n")
      assert.strictEqual((yield* edited(marked, { oldText: "\ufeffhello", newText: "x" })).text, "\ufeffx\nworld\n")
      assert.strictEqual((yield* refused(marked, { oldText: "\ufeff", newText: "" })).reason._tag, "NoChange")
      for (const swapped of [false, true]) {
        const wide = (text: string) => {
          const bytes = Buffer.from(`\ufeff${text}`, "utf16le")
          return swapped ? bytes.swap16() : bytes
        }
        // 0a0a and 0d0a are letters here.
        const done = yield* edited(wide("H\u0a0a\u0d0a\r\nz\u2014\u{1f600}\r\nend"), {
          oldText: "\u0a0a\u0d0a\nz-\u{1f600}",
          newText: "é\nx"
        })
        assert.deepStrictEqual([done.bytes, done.tier], [wide("Hé\r\nx\r\nend"), "tolerant"])
      }
    })
  )

  it.live("C66: empty old text is an argument error, and an edit that changes nothing is refused", () =>
    Effect.gen(function* () {
      const decode = Schema.decodeUnknownExit(EditFile.EditFile.parametersSchema)
      for (const replaceAll of [true, false]) {
        assert.strictEqual(decode({ path: "f", oldText: "", newText: "X", replaceAll })._tag, "Failure")
        assert.strictEqual((yield* refused("abc", { oldText: "", newText: "X", replaceAll })).reason._tag, "NoChange")
      }
      const same = yield* refused("abc", { oldText: "b", newText: "b" })
      assert.match(same.message, /would leave f as it is/)
      assert.strictEqual((yield* refused("a\r\nb", { oldText: "a\nb", newText: "a\r\nb" })).reason._tag, "NoChange")
    })
  )

  it.live("C67: white space alone is found where it stands, and nowhere else", () =>
    Effect.gen(function* () {
      for (const oldText of [" ", " \n", "\t"]) {
        const failed = yield* refused("abc\ndef", { oldText, newText: "X", replaceAll: true })
        assert.deepStrictEqual(failed.reason, { _tag: "NotFound", closest: [] })
      }
      assert.strictEqual((yield* edited("a b\n", { oldText: " ", newText: "_", replaceAll: true })).text, "a_b\n")
    })
  )

  it.live("C68: a text that stands in several places is refused with their lines, or replaced in all", () =>
    Effect.gen(function* () {
      const content = "x=1\ny\nx=1\nx=1\n"
      const failed = yield* refused(content, { oldText: "x=1", newText: "x=2" })
      assert.deepStrictEqual(failed.reason, {
        _tag: "Ambiguous",
        tier: "exact",
        count: 3,
        lines: [1, 3, 4],
        replaceAll: false
      })
      assert.match(failed.message, /in 3 places of f: lines 1, 3, 4\..*or set replaceAll/)
      const all = yield* edited(content, { oldText: "x=1", newText: "x=2", replaceAll: true })
      assert.deepStrictEqual([all.text, all.replacements, all.firstLine], ["x=2\ny\nx=2\nx=2\n", 3, 1])
      // It stands twice, across itself.
      assert.strictEqual((yield* refused("aaa", { oldText: "aa", newText: "b" })).reason._tag, "Ambiguous")
      assert.strictEqual((yield* edited("aaa", { oldText: "aa", newText: "b", replaceAll: true })).text, "ba")
      const many = yield* refused("z\n".repeat(1000), { oldText: "z", newText: "y" })
      assert.match(many.message, /in 1000 places of f: lines 1, .* 20, …\./)
    })
  )

  it.live("C84: lookalikes match if nothing matches exactly and the place is the only one", () =>
    Effect.gen(function* () {
      const content = "top\u2011level it\u2019s a\u00a0b 5\u22123\n"
      const done = yield* edited(content, { oldText: "top-level it's a b 5-3", newText: "don\u2019t $&" })
      assert.deepStrictEqual([done.text, done.tier], ["don\u2019t $&\n", "tolerant"])
      assert.strictEqual((yield* edited("a-b a\u2013b", { oldText: "a-b", newText: "x" })).text, "x a\u2013b")
      const two = yield* refused("1\na\u2014b\na\u2013b\n", { oldText: "a-b", newText: "x" })
      assert.match(two.message, /not exactly but .* in 2 places of f: lines 2, 3\./)
      const all = yield* refused("a\u2014b\na\u2013b\n", { oldText: "a-b", newText: "x", replaceAll: true })
      assert.match(all.message, /edit them one by one/)
      assert.strictEqual((yield* refused("a\u2026b", { oldText: "a...b", newText: "x" })).reason._tag, "NotFound")
      assert.strictEqual((yield* refused("cafe\u0301", { oldText: "c\u0430fe", newText: "x" })).reason._tag, "NotFound")
    })
  )

  it.live("what is not found is answered with the lines that come closest", () =>
    Effect.gen(function* () {
      const content = "import x\n\nfunction first() {\n    return 1\n}\n\nfunction second() {\n\treturn 2\n}\n"
      const failed = yield* refused(content, { oldText: "function second() {\n  return 2\n}", newText: "" })
      assert(failed.reason._tag === "NotFound")
      assert.deepStrictEqual(failed.reason.closest.slice(-3), [
        { line: 7, text: "function second() {" },
        { line: 8, text: "\treturn 2" },
        { line: 9, text: "}" }
      ])
      assert.match(failed.message, /7: function second\(\) \{\n8: \treturn 2/)
      const none = yield* refused(content, { oldText: "zzzz qqqq", newText: "" })
      assert.match(none.message, /nor anything like it/)
    })
  )

  it.live("a large file is searched in linear time, found or not", () =>
    Effect.gen(function* () {
      const line = "const value = compute(other, things) // and a comment that makes it longer\r\n"
      const content = `${line.repeat(200_000)}the end\r\n`
      const started = performance.now()
      assert.strictEqual((yield* edited(content, { oldText: "the end\n", newText: "The End\n" })).firstLine, 200_001)
      const failed = yield* refused(content, { oldText: "const value = compute(another, thing)\nx", newText: "" })
      assert(failed.reason._tag === "NotFound" && failed.reason.closest.length > 0)
      assert.isAtMost(failed.reason.closest.length, 15)
      assert.isBelow(performance.now() - started, 15_000)
    })
  )

  it.live("a file that is not there is one for write_file", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ "config.ts": "", "d/x": "" })
      const failed = (path: string) => Effect.flip(edit(root, { path, oldText: "a", newText: "b" }))
      assert.match(
        (yield* failed("confg.ts")).message,
        /does not exist\. Did you mean config\.ts\? A new file is created by write_file/
      )
      assert.match((yield* failed("nowhere/at/all")).message, /created by write_file/)
      assert.isFalse(fs.existsSync(path.join(root, "nowhere")))
      execFileSync("mkfifo", [path.join(root, "pipe")])
      fs.symlinkSync(top, path.join(root, "outbox"))
      assert.match((yield* failed("pipe").pipe(Effect.timeout("5 seconds"))).message, /not a regular file/)
      assert.match((yield* failed("d")).message, /directory/)
      assert.match((yield* failed("outbox/x")).message, /outside/)
    })
  )

  it.live("C57, C60: a file is edited by its listed name", () =>
    Effect.gen(function* () {
      const names = ["-rf", "new\nline.txt", "a b", "q'q", "$(touch PWN)", "app/[id]/page.tsx"]
      const { root } = yield* Workspace.make(Object.fromEntries(names.map((name) => [name, "old"])))
      for (const name of names) {
        yield* edit(root, { path: name.replace("\n", "\\x0a"), oldText: "old", newText: "new" })
        assert.strictEqual(fs.readFileSync(path.join(root, name), "utf8"), "new")
      }
    })
  )

  it.live("C70: of edits of one file by several names, at once, none is lost", () =>
    Effect.gen(function* () {
      const numbers = Array.from({ length: 100 }, (_, index) => `${index + 1}\n`).join("")
      const { root } = yield* Workspace.make({ "n.txt": numbers })
      fs.symlinkSync("n.txt", path.join(root, "link"))
      const changes = [
        ["50", "FIFTY"],
        ["75", "X"],
        ["90", "Y"],
        ["12", "Z"]
      ] as const
      const names = ["n.txt", "./n.txt", "link", path.join(root, "n.txt")]
      yield* edits(
        root,
        ...changes.map(([oldText, newText], index) => ({
          path: names[index]!,
          oldText: `\n${oldText}\n`,
          newText: `\n${newText}\n`
        }))
      )
      const expected = changes.reduce((text, [from, to]) => text.replace(`\n${from}\n`, `\n${to}\n`), numbers)
      assert.strictEqual(fs.readFileSync(path.join(root, "n.txt"), "utf8"), expected)
    })
  )

  const byte = Schema.Literals([0, 0x0a, 0x0d, 0x20, 0x61, 0x62, 0x80, 0x9f, 0xa0, 0xc2, 0xe2, 0xff, 0xfe, 0x93])
  it.effect.prop(
    "an exact edit changes the bytes it names, whatever the others are",
    {
      before: Arbitrary.array(Arbitrary.schema(byte), { maxLength: 30 }),
      after: Arbitrary.array(Arbitrary.schema(byte), { maxLength: 30 }),
      newText: Schema.Literals(["", "$&", "z\u2014", "two\nlines", "\u{1f600}"])
    },
    ({ after, before, newText }) =>
      Effect.sync(() => {
        const oldText = "q\u201cZ"
        const text = before[0] === 0xff && before[1] === 0xfe ? undefined : oldText
        if (text === undefined || (before[0] === 0xfe && before[1] === 0xff)) return
        const bytes = Buffer.concat([Buffer.from(before), Buffer.from(oldText), Buffer.from(after)])
        const edit = EditFile.plan(bytes, { oldText, newText, replaceAll: false })
        assert("bytes" in edit)
        const ends = lineEnds(bytes)
        const adapted = ends === "CRLF" ? newText.replace("\n", "\r\n") : newText
        assert.deepStrictEqual(
          Buffer.from(edit.bytes),
          Buffer.concat([Buffer.from(before), Buffer.from(adapted), Buffer.from(after)])
        )
        assert.strictEqual(edit.firstLine, 1 + before.filter((byte) => byte === 10).length)
      }),
    { arbitrary: { runs: 300 } }
  )

  const piece = Schema.Literals(["a", "b", "-", "\u2014", " ", "\u00a0", "\n", "\r\n", "'", "\u2019", "é"])
  const pieces = (maxLength: number) => Arbitrary.array(Arbitrary.schema(piece), { maxLength })
  it.effect.prop(
    "agrees with a model that knows characters only",
    { file: pieces(14), old: pieces(3), wide: Schema.Boolean, replaceAll: Schema.Boolean },
    ({ file, old, replaceAll, wide }) =>
      Effect.sync(() => {
        const oldText = old.join("")
        if (oldText === "") return
        const bytes = wide ? Buffer.from(`\ufeff${file.join("")}`, "utf16le") : Buffer.from(file.join(""))
        const edit = EditFile.plan(bytes, { oldText, newText: "<>", replaceAll })
        const exact = placesOf(file, old, (piece) => piece)
        const places = exact.length > 0 ? exact : placesOf(file, old, alike)
        const disjoint = places.filter(
          (() => {
            let end = 0
            return (place: number) => place >= end && ((end = place + old.length), true)
          })()
        )
        const same =
          exact.length > 0 || disjoint.every((place) => old.every((piece, at) => sameBut(piece, file[place + at]!)))
        const expected =
          places.length === 0
            ? "NotFound"
            : replaceAll
              ? !same && disjoint.length > 1
                ? "Ambiguous"
                : disjoint
              : places.length > 1
                ? "Ambiguous"
                : disjoint
        if (typeof expected === "string") {
          assert.strictEqual("refused" in edit ? edit.refused._tag : "edited", expected)
          return
        }
        assert("bytes" in edit, JSON.stringify(edit))
        const result = file.flatMap((piece, at) =>
          expected.includes(at)
            ? ["<>"]
            : expected.some((place) => place < at && at < place + old.length)
              ? []
              : [piece]
        )
        const text = wide ? Buffer.from(edit.bytes).toString("utf16le").slice(1) : Buffer.from(edit.bytes).toString()
        assert.strictEqual(text, result.join(""))
        assert.strictEqual(edit.replacements, expected.length)
      }),
    { arbitrary: { runs: 2000 } }
  )
})

const lineEnds = (bytes: Buffer) => {
  const all = bytes.toString("latin1").match(/\r?\n/g) ?? []
  return all.length > 0 && all.every((end) => end === "\r\n") ? "CRLF" : "LF"
}

const placesOf = (file: ReadonlyArray<string>, old: ReadonlyArray<string>, seen: (piece: string) => string) =>
  file.flatMap((_, place) => (old.every((piece, at) => seen(piece) === seen(file[place + at] ?? "")) ? [place] : []))

const alike = (piece: string) => ({ "\u2014": "-", "\u00a0": " ", "\u2019": "'", "\r\n": "\n" })[piece] ?? piece

const sameBut = (a: string, b: string) => a === b || (a.endsWith("\n") && b.endsWith("\n"))
