import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Patch from "../../../tools/apply-patch/Patch.ts"

const parse = (text: string) => Patch.parse(text)

const parsed = (text: string) => Result.getOrThrow(parse(text))

const problem = (text: string): Patch.Problem => {
  const result = parse(text)
  assert(Result.isFailure(result), "it was accepted")
  return result.failure
}

const patch = (...lines: ReadonlyArray<string>) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n")

const simple = ["*** Update File: f", "@@ a", "@@  b", " c", "-d", "+e", "", "*** End of File"]
const read: ReadonlyArray<Patch.Operation> = [
  {
    _tag: "Update",
    path: "f",
    line: 2,
    moveTo: undefined,
    hunks: [
      {
        line: 3,
        anchors: [
          { text: "a", line: 3 },
          { text: " b", line: 4 }
        ],
        lines: [
          { kind: "context", text: "c" },
          { kind: "removed", text: "d" },
          { kind: "added", text: "e" },
          { kind: "context", text: "" }
        ],
        endOfFile: true,
        bare: false
      }
    ]
  }
]

describe("the parser of patches", () => {
  it("reads every part of the format", () => {
    assert.deepStrictEqual(parsed(patch(...simple)), read)
    assert.deepStrictEqual(
      parsed(patch("*** Add File: a b", "+x", "+", "*** Delete File: c", "*** Update File: d", "*** Move to: e")),
      [
        { _tag: "Add", path: "a b", line: 2, lines: ["x", ""], bare: false },
        { _tag: "Delete", path: "c", line: 5 },
        { _tag: "Update", path: "d", line: 6, moveTo: "e", hunks: [] }
      ]
    )
  })

  it("C89: a wrapper changes nothing but the numbers of lines", () => {
    const inner = patch(...simple)
    const wrap: ReadonlyArray<readonly [before: number, text: string]> = [
      [0, `${inner}\n`],
      [0, `\ufeff${inner}`],
      [0, inner.replaceAll("\n", "\r\n")],
      [0, `${inner}\n\nThat is all.\n- one point\n+ another\n`],
      [0, `${inner}\n*** End Patch`],
      [1, `<<EOF\n${inner}\nEOF`],
      [1, `apply_patch <<'PATCH-1'\n${inner}\nPATCH-1\n`],
      [1, `apply_patch <<-"my.patch"\n${inner}\nmy.patch\n`],
      [1, `\`\`\`patch\n${inner}\n\`\`\`\n`],
      [1, `cat <<'X' | apply_patch\n${inner.replace("*** End Patch", "  *** End Patch")}\nX\n`],
      [2, `~~~\n~~~\n${inner.replace("*** End Patch", " *** End Patch")}\n~~~`],
      [3, `Some words.\n\n\`\`\`\n${inner}\n\`\`\`\nMore words.`]
    ]
    for (const [before, text] of wrap) assert.deepStrictEqual(unnumbered(parsed(text), before), read, text)
  })

  it("C89: what cannot be accepted whole is refused, with the line", () => {
    const inner = patch(...simple)
    assert.deepInclude(problem(inner.replace("\n*** End Patch", "")), { line: 9 })
    assert.match(problem(inner.replace("\n*** End Patch", "")).message, /no \*\*\* End Patch.*cut off/)
    assert.match(problem(`<<EOF\n${inner.replace("\n*** End Patch", "")}\nEOF`).message, /cut off/)
    assert.deepInclude(problem(simple.join("\n")), { line: 1 })
    assert.deepInclude(problem(`${inner}\n${inner}`), { line: 11 })
    assert.deepInclude(problem(`${inner}\n@@ more\n+x`), { line: 11 })
    assert.deepInclude(problem(`*** Delete File: x\n${inner}`), { line: 1 })
    assert.deepInclude(problem(`${inner.replace("*** End Patch", " *** End Patch")}\nDone.`), { line: 10 })
    assert.match(problem("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b").message, /unified diff/)
    for (const text of ["", " \n", "hello"]) assert.deepInclude(problem(text), { line: 1 })
  })

  it("C86: a line without prefix is named", () => {
    assert.deepStrictEqual(problem(patch("*** Update File: f", "@@", " line1", "+added", "no_prefix")), {
      line: 6,
      message: '`no_prefix` has no prefix: a line of a hunk starts with " " (kept), + (added) or - (removed)'
    })
    assert.deepInclude(problem(patch("*** Update File: f", "@@", "\tx")), { line: 4 })
    assert.deepInclude(problem(patch("*** Add File: f", "+a", "", "+b")), { line: 4 })
    assert.match(problem(patch("*** Add File: f", "+a", "", "+b")).message, /a \+ alone/)
    assert.deepInclude(problem(patch("*** Delete File: f", "-a")), { line: 3 })
    assert.deepInclude(problem(patch("*** Update File: f", "@@", "-a", "*** End of File", "+b")), { line: 6 })
  })

  it("C86: an entirely empty line is empty context", () => {
    const [operation] = parsed(patch("*** Update File: f", "@@", " a", "", "-b"))
    assert(operation?._tag === "Update")
    assert.deepStrictEqual(operation.hunks[0]?.lines[1], { kind: "context", text: "" })
  })

  it("refuses hunks that say nothing, and headers that do not exist", () => {
    for (const [line, ...lines] of [
      [2, "*** Update File: f"],
      [3, "*** Update File: f", "@@"],
      [3, "*** Update File: f", "@@ x", "", "*** Delete File: g"],
      [3, "*** Update File: f", "@@ -3,0 +4,1 @@", "+x"],
      [2, "*** Rename File: f"],
      [2, "*** Add File: "],
      [2, "*** Add File:"],
      [4, "*** Add File: f", "+a", "*** Move to: g"],
      [4, "*** Update File: f", "@@", "\\ No newline at end of file"],
      [6, "*** Update File: f", "@@", "+a", "\\ No newline at end of file", " b"],
      [2]
    ] as ReadonlyArray<[number, ...Array<string>]>) {
      assert.deepInclude(problem(patch(...lines)), { line }, lines.join("\n"))
    }
  })

  it("C92: a name keeps its spaces but those at the end, which are padding", () => {
    assert.strictEqual(parsed(patch(" *** Delete File:   spaced  name.txt  "))[0]?.path, "  spaced  name.txt")
    assert.strictEqual(parsed(patch("*** Delete File:a"))[0]?.path, "a")
  })

  it("lines that look like markers are lines, behind their prefix", () => {
    const [operation] = parsed(
      patch("*** Update File: f", "@@", " *** End Patch", "-*** Begin Patch", "+*** Delete File: g", " @@", "+@@ x")
    )
    assert(operation?._tag === "Update")
    assert.deepStrictEqual(
      operation.hunks[0]?.lines.map(({ text }) => text),
      ["*** End Patch", "*** Begin Patch", "*** Delete File: g", "@@", "@@ x"]
    )
  })

  const Piece = Schema.Literals([
    "*** Begin Patch",
    "*** End Patch",
    "*** Add File: a",
    "*** Update File: b",
    "*** Delete File: c",
    "*** Move to: d",
    "*** End of File",
    "***",
    "@@",
    "@@ x",
    "@@ -1 +1 @@",
    "+",
    "-x",
    " ",
    "\\ No newline at end of file",
    "```",
    "<<'EOF'",
    "EOF",
    "\r",
    "\n",
    "\n",
    "\n",
    "\n",
    "prose",
    "\u2028",
    "\ud800"
  ])

  it.prop(
    "reads or refuses whatever it is given, and names a line that exists",
    [Schema.Array(Piece).check(Schema.isMaxLength(40)), Schema.String, Schema.Boolean],
    ([pieces, any, framed]) => {
      const body = pieces.join("") + any
      const text = framed ? patch(body) : body
      const result = parse(text)
      assert.deepStrictEqual(parse(text), result)
      if (Result.isSuccess(result)) return assert.isAbove(result.success.length, 0)
      assert.isAtLeast(result.failure.line, 1)
      assert.isAtMost(result.failure.line, text.split("\n").length)
      assert.notStrictEqual(result.failure.message, "")
    }
  )
})

/** As if the patch began at the first line. */
const unnumbered = (operations: ReadonlyArray<Patch.Operation>, before: number): ReadonlyArray<Patch.Operation> =>
  operations.map((operation) => ({
    ...operation,
    line: operation.line - before,
    ...(operation._tag === "Update"
      ? {
          hunks: operation.hunks.map((hunk) => ({
            ...hunk,
            line: hunk.line - before,
            anchors: hunk.anchors.map((anchor) => ({ ...anchor, line: anchor.line - before }))
          }))
        }
      : {})
  }))
