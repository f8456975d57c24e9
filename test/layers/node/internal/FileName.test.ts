import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FileName from "../../../../layers/node/internal/FileName.ts"

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))

/** Random bytes, among pieces that come close to the rules: escapes, halves of characters, controls. */
const Piece = Schema.Union([
  Byte.pipe(Schema.Array),
  Schema.Literals([
    "\\",
    "\\x",
    "\\x0a",
    "\\xFF",
    "\\x5c",
    "x41",
    "\u00e9",
    "\u0085",
    "\ufeff",
    "\u{1f600}",
    "\n",
    "a b"
  ])
])

const bytesOf = (pieces: ReadonlyArray<ReadonlyArray<number> | string>): FileName.Raw =>
  pieces
    .map((piece) => (typeof piece === "string" ? Buffer.from(piece) : Buffer.from(piece)).toString("latin1"))
    .join("")

describe("FileName", () => {
  it.effect.prop(
    "C57: every name has one text form, which is plain text and leads back",
    { pieces: Schema.Array(Piece) },
    ({ pieces }) =>
      Effect.sync(() => {
        const raw = bytesOf(pieces)
        const text = FileName.format(raw)
        assert.strictEqual(FileName.parse(text), raw)
        assert.isTrue(text.isWellFormed())
        // oxlint-disable-next-line no-control-regex
        assert.notMatch(text, /[\u0000-\u001f\u007f-\u009f]/)
        assert.strictEqual(FileName.format(FileName.parse(text)), text)
      })
  )

  it("plain text is itself, everything else is escaped byte by byte", () => {
    const forms: ReadonlyArray<readonly [string | Uint8Array, string]> = [
      ["-rf", "-rf"],
      ["app/[id]", "app/[id]"],
      ["caf\u00e9 \u202f\u{1f600}\ufeff", "caf\u00e9 \u202f\u{1f600}\ufeff"],
      ["new\nline", "new\\x0aline"],
      ["\u0085", "\\xc2\\x85"],
      ["back\\slash \\x \\x4", "back\\slash \\x \\x4"],
      ["\\x41", "\\x5cx41"],
      [Uint8Array.of(0x61, 0xff, 0xc3), "a\\xff\\xc3"],
      // Half of a surrogate pair and a longer form than needed are not UTF-8.
      [Uint8Array.of(0xed, 0xa0, 0x80, 0xc0, 0xaf), "\\xed\\xa0\\x80\\xc0\\xaf"]
    ]
    for (const [name, text] of forms) {
      assert.strictEqual(FileName.format(FileName.fromBuffer(Buffer.from(name as string))), text)
    }
    assert.strictEqual(FileName.parse("\\xFF"), "\u00ff")
  })
})
