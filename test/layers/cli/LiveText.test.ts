import { assert, describe, it } from "@effect/vitest"
import { LiveText } from "../../../layers/cli/LiveText.ts"

describe("LiveText", () => {
  it("ends a line at a newline, a carriage return or both, however they are cut", () => {
    const text = "a\r\nb\rc\n\r\n\rd"
    for (let size = 1; size <= text.length; size++) {
      const live = new LiveText()
      let shown = ""
      for (let from = 0; from < text.length; from += size) shown += live.write(text.slice(from, from + size))
      assert.strictEqual(shown, "a\nb\nc\n\n\nd")
      assert.isFalse(live.atLineStart)
    }
  })

  it("shows control characters as pictures", () => {
    assert.strictEqual(new LiveText().write("\u001b[2J\u0007\tx"), "␛[2J␇\tx")
  })

  it("gives whole lines, the last one when it ends, a very long one in parts", () => {
    const live = new LiveText()
    assert.deepStrictEqual(
      [live.writeLines("a"), live.writeLines("b\nc\nd"), live.endLines(), live.endLines()],
      ["", "ab\nc\n", "d\n", ""]
    )
    assert.strictEqual(live.writeLines("x".repeat(5000)), `${"x".repeat(5000)}\n`)
  })
})
