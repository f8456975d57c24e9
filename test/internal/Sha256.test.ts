import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as Sha256 from "../../src/internal/Sha256.ts"

const expected = (text: string) => createHash("sha256").update(text, "utf8").digest("hex")

describe("Sha256", () => {
  it.prop("gives what node:crypto gives", [Schema.String], ([text]) => {
    assert.strictEqual(Sha256.hex(text), expected(text))
  })

  it("of every length around the ends of blocks, and of much text", () => {
    for (let length = 0; length < 200; length++) {
      const text = "é".repeat(length >> 1) + "a".repeat(length % 2)
      assert.strictEqual(Sha256.hex(text), expected(text))
    }
    const much = "abc\n".repeat(100_000)
    assert.strictEqual(Sha256.hex(much), expected(much))
  })
})
