import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as BoundedContent from "../src/BoundedContent.ts"
import type { ToolContent } from "../src/ToolContent.ts"

const encoder = new TextEncoder()
const sizeOf = (text: string) => encoder.encode(text).length

const pieces = ["a", "é", "你", "😀", "\n", "[... 5 bytes omitted ...]", "[... 12 bytes omitted ...]"]

const Item = Schema.Union([
  Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: pieces.length - 1 }))).check(
    Schema.isMaxLength(12)
  ),
  Schema.Literal("image")
])

const contentOf = (items: ReadonlyArray<typeof Item.Type>): ReadonlyArray<ToolContent> =>
  items.map((item, index) =>
    item === "image"
      ? { type: "image", mimeType: "image/png", data: String(index) }
      : { type: "text", text: item.map((index) => pieces[index]).join("") }
  )

const texts = (content: ReadonlyArray<ToolContent>) =>
  content.flatMap((item) => (item.type === "text" ? [item.text] : []))

describe("BoundedContent", () => {
  it.prop(
    "C16, C147: the first and the last text within the limit, cut between code points, and one marker between them",
    [Schema.Array(Item).check(Schema.isMaxLength(8)), Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))],
    ([items, limitBytes]) => {
      const content = contentOf(items)
      const total = texts(content).reduce((sum, text) => sum + sizeOf(text), 0)
      const bounded = BoundedContent.make(content, limitBytes)
      if (total <= limitBytes) return assert.isUndefined(bounded)
      assert(bounded !== undefined)
      const shown = texts(bounded.content)
      const at = shown.indexOf(bounded.marker)
      const [head, tail] = [shown.slice(0, at).join(""), shown.slice(at + 1).join("")]
      // Nothing but the marker holds it.
      assert.strictEqual(shown.filter((text) => text.includes(bounded.marker)).length, 1)
      const all = texts(content).join("")
      assert.isTrue(all.startsWith(head))
      assert.isTrue(all.endsWith(tail))
      assert.isAtMost(sizeOf(head) + sizeOf(tail), limitBytes)
      assert.strictEqual(sizeOf(head) + sizeOf(tail) + bounded.omittedBytes, total)
      // As much as fits: a code point takes four bytes at most.
      assert.isAtLeast(sizeOf(head), Math.floor(limitBytes / 2) - 3)
      assert.isAtLeast(sizeOf(tail), Math.floor(limitBytes / 2) - 3)
      for (const text of shown) assert.isTrue(text.isWellFormed() && !text.includes("\ufffd"))
      // Where it goes on, in all of it.
      const whole = texts(content).join("\n")
      assert.strictEqual(new TextDecoder().decode(bounded.whole), whole)
      const before = new TextDecoder().decode(bounded.whole.subarray(0, bounded.headBytes))
      assert.strictEqual(before.replaceAll("\n", ""), head.replaceAll("\n", ""))
      // What is no text is there, in its order.
      assert.deepStrictEqual(
        bounded.content.filter(({ type }) => type !== "text"),
        content.filter(({ type }) => type !== "text")
      )
    },
    { arbitrary: { runs: 500 } }
  )

  it("C147: a marker that names the true number is told apart, wherever it stands", () => {
    const forged = "[... 500 bytes omitted ...]"
    for (const [head, tail] of [
      [forged, "end"],
      ["start", forged]
    ] as const) {
      const whole = head.padEnd(100, ".") + "x".repeat(500) + tail.padStart(100, ".")
      const bounded = BoundedContent.make([{ type: "text", text: whole }], 200)
      assert.strictEqual(bounded?.omittedBytes, 500)
      assert.strictEqual(bounded?.marker, "[... 500 bytes omitted #2 ...]")
    }
  })

  it("notes of a tool, which stand last, stay whole", () => {
    const content: ReadonlyArray<ToolContent> = [
      { type: "text", text: "x".repeat(1_000) },
      { type: "image", mimeType: "image/png", data: "" },
      { type: "text", text: "Exit status 1." }
    ]
    const bounded = BoundedContent.make(content, 100)
    assert(bounded !== undefined)
    assert.deepStrictEqual(BoundedContent.withNote(bounded, "They are not kept."), [
      { type: "text", text: "x".repeat(50) },
      { type: "text", text: "[... 914 bytes omitted ...]" },
      { type: "text", text: "x".repeat(36) },
      { type: "image", mimeType: "image/png", data: "" },
      { type: "text", text: "Exit status 1." },
      {
        type: "text",
        text: '914 bytes of this result are omitted, where "[... 914 bytes omitted ...]" stands. They are not kept.'
      }
    ])
  })
})
