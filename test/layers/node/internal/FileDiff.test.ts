import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as TextDiff from "effect/TextDiff"
import * as FileDiff from "../../../../layers/node/internal/FileDiff.ts"

const Lines = Schema.Array(Schema.Literals(["a\n", "b\n", "c\r\n", "\n", "d", "é\n"])).check(Schema.isMaxLength(30))

describe("FileDiff", () => {
  it.prop(
    "is the diff of the whole texts, whatever they have in common",
    [Lines, Lines, Lines, Lines],
    ([before, old, made, after]) => {
      const [a, b] = [old, made].map((middle) => [...before, ...middle, ...after].join(""))
      const whole = TextDiff.unified(TextDiff.lines(a!, b!), { fromFile: "a/f", toFile: "b/f" })
      const counts = (mark: string) =>
        whole
          .split("\n")
          .slice(2)
          .filter((line) => line.startsWith(mark)).length
      const made_ = FileDiff.make("f", Buffer.from(a!), Buffer.from(b!))!
      assert.strictEqual(applied(made_.diff, a!), b)
      assert.strictEqual(made_.diff.length > 0, a !== b)
      assert.strictEqual(made_.addedLines - made_.removedLines, counts("+") - counts("-"))
    }
  )

  it("of a line in the middle has three lines around it", () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`)
    const made = lines.with(10, "another\n").join("")
    const { addedLines, diff, removedLines } = FileDiff.make("f", Buffer.from(lines.join("")), Buffer.from(made))!
    assert.deepStrictEqual([addedLines, removedLines], [1, 1])
    assert.strictEqual(diff, TextDiff.unified(TextDiff.lines(lines.join(""), made), { fromFile: "a/f", toFile: "b/f" }))
  })
})

/** The text that a unified diff makes of another. */
const applied = (diff: string, text: string): string => {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const made: Array<string> = []
  let at = 0
  const parts = diff.match(/[^\n]*\n|[^\n]+$/g) ?? []
  for (const [index, part] of parts.entries()) {
    const header = /^@@ -(\d+)(?:,(\d+))? \+/.exec(part)
    if (header !== null) {
      const from = header[2] === "0" ? Number(header[1]) : Number(header[1]) - 1
      made.push(...lines.slice(at, from))
      at = from
    } else if (index >= 2 && !part.startsWith("\\")) {
      const bare = parts[index + 1]?.startsWith("\\") === true
      const content = bare ? part.slice(1).replace(/\n$/, "") : part.slice(1)
      if (part.startsWith("+") || part.startsWith(" ")) made.push(content)
      if (part.startsWith("-") || part.startsWith(" ")) at++
    }
  }
  return [...made, ...lines.slice(at)].join("")
}
