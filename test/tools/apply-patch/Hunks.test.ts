import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Hunks from "../../../tools/apply-patch/Hunks.ts"
import * as Likeness from "../../../tools/apply-patch/Likeness.ts"
import * as Patch from "../../../tools/apply-patch/Patch.ts"
import * as Text from "../../../tools/apply-patch/Text.ts"

const hunksOf = (patch: string) => {
  const [operation] = Result.getOrThrow(Patch.parse(patch))
  assert(operation?._tag === "Update")
  return operation.hunks
}

const patchOf = (body: string) => `*** Begin Patch\n*** Update File: f\n${body}\n*** End Patch`

const place = (content: string, body: string) => {
  const text = Text.fromBytes(Buffer.from(content), false)
  return Result.map(Hunks.place(text.lines, hunksOf(patchOf(body))), (placed) => ({
    ...placed,
    text: Buffer.from(Text.toBytes(Text.edit(text, placed.edits))).toString()
  }))
}

const apply = (content: string, body: string) => Result.getOrThrow(place(content, body)).text

const misplaced = (content: string, body: string): Hunks.Misplaced => {
  const result = place(content, body)
  assert(Result.isFailure(result), "it was placed")
  return result.failure
}

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

describe("hunks", () => {
  it("C79: an addition goes right after its anchor, and to the end without one", () => {
    const file = "alpha\nbeta\ngamma\n"
    assert.strictEqual(apply(file, "@@ beta\n+inserted"), "alpha\nbeta\ninserted\ngamma\n")
    assert.strictEqual(apply(file, "@@\n+inserted"), `${file}inserted\n`)
    assert.strictEqual(apply(file, "@@ alpha\n@@ beta\n+inserted"), "alpha\nbeta\ninserted\ngamma\n")
    assert.strictEqual(apply(file, "@@ beta\n+one\n@@ beta\n+two"), "alpha\nbeta\none\ntwo\ngamma\n")
    assert.deepInclude(misplaced("x\ny\nx\n", "@@ x\n+z"), { _tag: "Ambiguous", lines: [1, 3] })
    assert.deepInclude(misplaced(file, "@@ delta\n+z"), { _tag: "NotFound", anchor: "delta" })
  })

  it("C81: the end of the file is its end, then the end before empty lines, then the last place", () => {
    const end = "*** End of File"
    assert.strictEqual(apply("x\nfoo\ny\nfoo\n", `@@\n foo\n+added\n${end}`), "x\nfoo\ny\nfoo\nadded\n")
    assert.strictEqual(apply("a\nb\n", `@@\n+c\n${end}`), "a\nb\nc\n")
    assert.strictEqual(apply("foo\n\nfoo\n\n", `@@\n foo\n+c\n${end}`), "foo\n\nfoo\nc\n\n")
    assert.strictEqual(apply("foo\n  foo\n\n", `@@\n foo\n+c\n${end}`), "foo\n  foo\nc\n\n")
    assert.strictEqual(apply("foo\nfoo\nx\n", `@@\n foo\n+c\n${end}`), "foo\nfoo\nc\nx\n")
    assert.strictEqual(apply("foo\n  foo\n", `@@\n foo\n+c\n${end}`), "foo\n  foo\nc\n")
    assert.deepStrictEqual(Result.getOrThrow(place("foo\nx\n", `@@\n foo\n+c\n${end}`)).forgiven, [
      { hunk: 3, line: 1, why: "end of file" }
    ])
  })

  it("C82: what fits twice is refused with both lines, and an exact match wins", () => {
    const file = "def a():\n\tflush()\n\treturn\ndef b():\n\t\tflush()\n\t\treturn\n"
    assert.deepStrictEqual(misplaced(file, "@@\n-flush()\n-return"), {
      _tag: "Ambiguous",
      hunk: 3,
      lines: [2, 5],
      tier: "indentation"
    })
    assert.deepInclude(misplaced(file, "@@ def a():\n-flush()\n-return"), { _tag: "Ambiguous" })
    assert.strictEqual(apply(file, "@@\n-\tflush()\n-\treturn\n+\tpass"), file.replace("\tflush()\n\treturn", "\tpass"))
    assert.strictEqual(apply("  x\nx \n x\nx\n", "@@\n-x\n+y"), "  x\nx \n x\ny\n")
    assert.deepInclude(misplaced("x\nx\n", "@@\n-x\n+y"), { _tag: "Ambiguous", lines: [1, 2], tier: "exact" })
  })

  it("an anchor chooses the next of the places that are alike, if it is one place itself", () => {
    const file = "[a]\nx\n[b]\nx\n[c]\nx\n"
    assert.strictEqual(apply(file, "@@ [b]\n-x\n+y"), "[a]\nx\n[b]\ny\n[c]\nx\n")
    assert.strictEqual(apply(file, "@@ [b]\n [b]\n-x\n+y"), "[a]\nx\n[b]\ny\n[c]\nx\n")
    assert.strictEqual(apply("f\n1\ng\n2\nf\n3\n", "@@ f\n-3\n+4"), "f\n1\ng\n2\nf\n4\n")
    assert.deepInclude(misplaced("f\nx\ng\nf\nx\n", "@@ f\n-x\n+y"), { _tag: "Ambiguous", lines: [2, 5] })
    // Both hunks of one function, under its anchor.
    assert.strictEqual(apply("f\nx\nx\ng\nx\n", "@@ f\n-x\n+1\n@@ f\n-x\n+2"), "f\n1\n2\ng\nx\n")
    // What is nested is named by several.
    const nested = "A\n  run\n    go\nB\n  run\n    go\nC\n  run\n    go\n"
    assert.strictEqual(apply(nested, "@@ B\n@@ run\n-    go\n+    stop"), nested.replace(/(B\n.*\n).*/, "$1    stop"))
    assert.deepInclude(misplaced(nested, "@@ B\n@@ walk\n-    go"), { anchor: "walk", hunk: 4 })
  })

  it("C84: lookalikes match, and the file keeps its own", () => {
    const file = "top\u2011level it\u2019s a\u00a0b 5\u22123\nold\n"
    const { forgiven, text } = Result.getOrThrow(place(file, "@@\n top-level it's a b 5-3\n-old\n+new"))
    assert.strictEqual(text, file.replace("old", "new"))
    assert.deepStrictEqual(forgiven, [{ hunk: 3, line: 1, why: "look-alikes" }])
    for (const [is, wanted] of [
      ["\u202fa\u3000b", "a b"],
      ["cafe\u0301", "caf\u00e9"],
      ["a  ", "a"],
      ["\t a", "a"]
    ] as const) {
      assert.strictEqual(apply(`${is}\n`, `@@\n-${wanted}\n+done`), "done\n")
    }
    for (const [is, wanted] of [
      ["wait\u2026", "wait..."],
      ["\ufb01ne", "fine"],
      ["\u0430", "a"]
    ] as const) {
      assert.deepInclude(misplaced(`${is}\n`, `@@\n-${wanted}\n+done`), { _tag: "NotFound" })
    }
  })

  it("C86: empty lines at the end of a hunk may only part it from the next", () => {
    assert.strictEqual(apply("a\nb\n", "@@\n a\n-b\n+c\n\n"), "a\nc\n")
    assert.strictEqual(apply("a\n\na\nb\n", "@@\n-a\n+c\n\n"), "c\n\na\nb\n")
  })

  it("C87: what ends without newline keeps it so, unless its last line is replaced", () => {
    assert.strictEqual(apply("line1\nline2\nline3", "@@\n-line1\n+LINE1"), "LINE1\nline2\nline3")
    assert.strictEqual(apply("a\nb", "@@\n-b\n+c"), "a\nc\n")
    assert.strictEqual(apply("a\nb", "@@\n-b\n+b"), "a\nb\n")
    assert.strictEqual(apply("a\nb", "@@\n b\n+c"), "a\nb\nc\n")
    assert.strictEqual(apply("a\nb", "@@\n a\n+c"), "a\nc\nb")
    assert.strictEqual(apply("a\nb", "@@\n-b"), "a\n")
    assert.strictEqual(apply("a\nb\n", "@@\n-b\n+b\n\\ No newline at end of file"), "a\nb")
    assert.strictEqual(apply("a\nb", "@@\n-b\n\\ No newline at end of file\n+c"), "a\nc\n")
    assert.deepInclude(misplaced("a\nb\n", "@@\n-a\n+c\n\\ No newline at end of file"), { _tag: "NotAtEnd" })
  })

  it("C88: hunks out of order are placed rightly, overlapping ones refused", () => {
    assert.strictEqual(apply(ten, "@@\n-8\n+EIGHT\n@@\n-2\n+TWO"), ten.replace("8", "EIGHT").replace("2", "TWO"))
    assert.deepStrictEqual(misplaced(ten, "@@\n-2\n-3\n+x\n@@\n-3\n-4\n+y"), {
      _tag: "Overlap",
      hunks: [3, 7],
      line: 3
    })
    assert.deepInclude(misplaced(ten, "@@\n-8\n+x\n@@\n-8\n+x"), { _tag: "Overlap" })
    // Each changes what the other only shows.
    assert.strictEqual(apply("a\nb\nc\n", "@@\n a\n-b\n+B\n@@\n b\n-c\n+C"), "a\nB\nC\n")
    assert.strictEqual(apply("a\nb\n", "@@\n-b\n+B\n@@\n a\n+y"), "a\ny\nB\n")
  })

  it("says what the file has instead, and whether it has the result already", () => {
    assert.deepStrictEqual(misplaced("a\nconst x = 1\nb\nc\n", "@@\n a\n-const x = 2\n+y\n b"), {
      _tag: "NotFound",
      hunk: 3,
      closest: [
        { line: 1, text: "a" },
        { line: 2, text: "const x = 1" },
        { line: 3, text: "b" }
      ]
    })
    assert.deepInclude(misplaced("let a\nconst total = sum(1)\n", "@@\n-const total = sum(2)"), {
      closest: [{ line: 2, text: "const total = sum(1)" }]
    })
    assert.deepInclude(misplaced("a\nnew\nb\n", "@@\n a\n-old\n+new\n b"), { appliedAt: 1 })
  })
})

describe("lines", () => {
  const Letters = Schema.Array(Schema.Literals(["a", "b", " a", "a ", "\u2010", "-"]))

  it.prop(
    "are found where they stand, at each tier",
    [Letters, Letters.check(Schema.isMaxLength(5))],
    ([all, wanted]) => {
      const lines = new Likeness.Lines(all)
      for (const tier of Likeness.tiers) {
        const places = all.map((_, at) => at).filter((at) => wanted.length > 0 && lines.stands(tier, wanted, at))
        assert.deepStrictEqual(lines.find(tier, wanted), places)
      }
    }
  )

  it("are found where a shorter run of them has begun before", () => {
    assert.deepStrictEqual(new Likeness.Lines(["a", "a", "a", "b"]).find("exact", ["a", "a", "b"]), [1])
  })

  it("of which many are equal are searched in linear time", () => {
    const lines = new Likeness.Lines(Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? "a" : "b")))
    const startedAt = performance.now()
    assert.deepStrictEqual(lines.find("exact", [...Array.from({ length: 5_000 }, (_, i) => "ab"[i % 2]!), "b"]), [])
    assert.isBelow(performance.now() - startedAt, 5_000)
  })
})

// -----------------------------------------------------------------------------
// Any file, any edit
// -----------------------------------------------------------------------------

const contents = ["", " ", "\t", "x", "+x", "-x", " @@ x", "*** End Patch", "@@", "ä🦉", "a\rb", "}", "\u00a0x\u2011"]

/** One line of the old file, and what becomes of it. */
const Row = Schema.Struct({
  content: Schema.Literals(contents),
  crlf: Schema.Boolean,
  notUtf8: Schema.Literals([false, false, false, true]),
  edit: Schema.Literals(["keep", "keep", "keep", "keep", "delete", "replace", "insert"])
})

const Case = Schema.Struct({
  rows: Schema.Array(Row).check(Schema.isMaxLength(40)),
  ends: Schema.Literals(["LF", "CRLF", "mixed"]),
  mark: Schema.Boolean,
  /** Of the old file, and of a new last line. */
  newline: Schema.Boolean,
  newNewline: Schema.Boolean,
  appended: Schema.Boolean,
  patchCrlf: Schema.Boolean,
  distinct: Schema.Boolean
})
type Case = typeof Case.Type

interface Piece {
  readonly bytes: Buffer
  readonly text: string
  readonly terminator: string
}

/** The old file, the new one, and the patch that a diff of them with three lines of context is. */
const build = ({ appended, distinct, ends, mark, newNewline, newline, patchCrlf, rows }: Case) => {
  const old = rows.map(({ content, crlf, notUtf8 }, i): Piece => {
    const bytes = Buffer.concat([
      Buffer.from(distinct ? `${content}${i}` : content),
      notUtf8 ? Buffer.from([0xe9, 0x2e]) : Buffer.of()
    ])
    const terminated = newline || i < rows.length - 1 || bytes.length === 0
    const terminator = !terminated ? "" : ends === "CRLF" || (ends === "mixed" && crlf) ? "\r\n" : "\n"
    return { bytes, text: bytes.toString(), terminator }
  })
  const [lf, crlf] = ["\n", "\r\n"].map((end) => old.filter(({ terminator }) => terminator === end).length)
  const first = old.find(({ terminator }) => terminator !== "")?.terminator ?? "\n"
  const common = lf === crlf ? first : lf! > crlf! ? "\n" : "\r\n"
  const made = (text: string): Piece => ({ bytes: Buffer.from(text), text, terminator: common })
  const script = old.flatMap((piece, i): ReadonlyArray<readonly [" " | "+" | "-", Piece]> => {
    switch (rows[i]!.edit) {
      case "keep":
        return [[" ", piece]]
      case "delete":
        return [["-", piece]]
      case "replace":
        return [
          ["-", piece],
          ["+", made(`new ${i}`)]
        ]
      case "insert":
        return [
          ["+", made(`in ${i}`)],
          [" ", piece]
        ]
    }
  })
  if (appended) script.push(["+", made("last")])
  const kept = script.flatMap(([sign, piece]) => (sign === "-" ? [] : [{ sign, piece }]))
  const bare = kept.at(-1)?.sign === "+" && !newNewline
  const fresh = kept.map(({ sign, piece }, i) => {
    const last = i === kept.length - 1
    const terminator = last ? (sign === "+" && bare ? "" : piece.terminator) : piece.terminator || common
    return { ...piece, terminator }
  })
  const file = (pieces: ReadonlyArray<Piece>) =>
    Buffer.concat([
      Buffer.from(mark ? "\ufeff" : ""),
      ...pieces.flatMap(({ bytes, terminator }) => [bytes, Buffer.from(terminator)])
    ])
  const shown = script.map((_, i) => script.slice(Math.max(0, i - 3), i + 4).some(([sign]) => sign !== " "))
  const lastAdded = bare ? script.findLastIndex(([sign]) => sign === "+") : -1
  const body = script.flatMap(([sign, { text }], i) => [
    ...(shown[i] && !shown[i - 1] ? ["@@"] : []),
    ...(shown[i] ? [`${sign}${text}`] : []),
    ...(i === lastAdded ? ["\\ No newline at end of file"] : [])
  ])
  const changes = script.some(([sign]) => sign !== " ")
  const patch = patchOf(body.join("\n"))
  return { before: file(old), after: file(fresh), changes, patch: patchCrlf ? patch.replaceAll("\n", "\r\n") : patch }
}

describe("hunks, of any file and any edit", () => {
  it.prop(
    "apply(diff(a, b)) is b, byte for byte; where lines repeat it is b, or refused",
    [Case],
    ([input]) => {
      const { after, before, changes, patch } = build(input)
      if (!changes) return
      const text = Text.fromBytes(before, false)
      assert.isTrue(before.equals(Text.toBytes(text)), "lossless")
      const placed = Hunks.place(text.lines, hunksOf(patch))
      assert.deepStrictEqual(Hunks.place(text.lines, hunksOf(patch)), placed, "deterministic")
      if (Result.isFailure(placed) && !input.distinct) return assert.strictEqual(placed.failure._tag, "Ambiguous")
      const { edits, forgiven } = Result.getOrThrow(placed)
      assert.strictEqual(Buffer.from(Text.toBytes(Text.edit(text, edits))).toString("latin1"), after.toString("latin1"))
      assert.deepStrictEqual(forgiven, [])
    },
    { arbitrary: { runs: Number(process.env["RUNS"] ?? 1000) } }
  )

  it.prop(
    "any bytes are lines, and the lines are these bytes",
    [Schema.Array(Schema.Literals([0x0a, 0x0d, 0x61, 0xef, 0xbb, 0xbf, 0xff, 0xc3, 0xa9, 0xbd, 0x00])), Schema.Boolean],
    ([values, returns]) => {
      const bytes = Uint8Array.from(values)
      const text = Text.fromBytes(bytes, returns)
      assert.isTrue(Buffer.from(bytes).equals(Text.toBytes(text)))
      assert.isTrue(text.lines.every(({ terminator }, i) => terminator !== "" || i === text.lines.length - 1))
    }
  )
})
