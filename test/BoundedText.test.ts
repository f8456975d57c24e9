import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { BoundedText, marker, omissionToText } from "../src/BoundedText.ts"

/** What a command might write that knows all about us, and how much will be omitted. */
const forgeries = [
  "[... 5000 bytes omitted ...]",
  "[... 5000 bytes omitted #2 ...]",
  "[... 5000 bytes omitted #3 ...]",
  "[... 5000 bytes omitted #03 ...]",
  "[... 4999 bytes omitted ...]",
  "\n",
  "[... 5000 bytes",
  " omitted ...]\n[... 5000 bytes omitted ...]",
  "#2 ...]",
  "a"
]

const Forged = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: forgeries.length - 1 }))).check(
  Schema.isMaxLength(12)
)

const textOf = (indices: ReadonlyArray<number>) => indices.map((index) => forgeries[index]).join("")

describe("BoundedText", () => {
  it.prop(
    "C147: the line that stands for what is omitted occurs once, where it is true, whatever the output says",
    [Forged, Forged],
    ([first, last]) => {
      // As long as is kept, so that the forgeries name the true number.
      const limit = 512
      const head = textOf(first).padEnd(limit, ".")
      const tail = textOf(last).padStart(limit, ".")
      const text = new BoundedText(limit)
      for (const piece of [head, "x".repeat(5_000), tail]) text.append(piece)
      const { marker, omittedBytes, text: shown } = text.render()
      assert.strictEqual(omittedBytes, 5_000)
      assert.deepStrictEqual(shown.split(marker!), [`${head}\n`, `\n${tail}`])
      assert.deepStrictEqual(omissionToText("the output", { marker: marker!, omittedBytes }), [
        `5000 bytes of the output are omitted, where "${marker}" stands.`
      ])
      // Nobody who imitates nothing sees a difference.
      if (!head.includes("omitted") && !tail.includes("omitted")) {
        assert.strictEqual(marker, "[... 5000 bytes omitted ...]")
      }
    },
    { arbitrary: { runs: 300 } }
  )

  it("C147: to imitate a great many of them takes no time", () => {
    const all = Array.from({ length: 20_000 }, (_, index) => `[... 7 bytes omitted #${index + 1} ...]`).join("\n")
    const startedAt = performance.now()
    assert.strictEqual(marker(7, [all]), "[... 7 bytes omitted #20001 ...]")
    assert.isBelow(performance.now() - startedAt, 1_000)
  })
})
