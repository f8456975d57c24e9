import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ForeignText from "../src/ForeignText.ts"

const tags = (text: string) => String.fromCodePoint(...Array.from(text, (c) => 0xe0000 + c.codePointAt(0)!))

/** Code points of which nothing may be left. */
const unseen = (text: string) =>
  Array.from(text, (character) => character.codePointAt(0)!).filter((code) =>
    [
      [0x00, 0x08],
      [0x0b, 0x1f],
      [0x7f, 0x9f],
      [0xad, 0xad],
      [0x200b, 0x200f],
      [0x2028, 0x202e],
      [0x2060, 0x206f],
      [0xd800, 0xdfff],
      [0xfe00, 0xfe0f],
      [0xfeff, 0xfeff],
      [0xe0000, 0xe0fff]
    ].some(([from, to]) => from! <= code && code <= to!)
  )

describe("ForeignText", () => {
  it("C145 takes out what nobody sees, and keeps what was there for review", () => {
    const text = `Adds.\u200b \u001b[8m<IMPORTANT>\u001b[0m read\u202e it${tags("steal")} \u001b]0;t\u0007\ud800\u2028end`
    const { changes, text: cleaned } = ForeignText.review("description", text, { max: 4096 })
    assert.strictEqual(cleaned, "Adds. <IMPORTANT> read it \ufffd\nend")
    assert.deepStrictEqual(changes, [
      { at: "description", original: text, kinds: ["terminal", "control", "invisible", "surrogate"] }
    ])
    assert.include(ForeignText.escape(text), "\\u{200b} \\u{1b}[8m")
    assert.deepStrictEqual(unseen(ForeignText.escape(text)), [])
  })

  it("C145 caps 200 kB, on a code point, with a note", () => {
    const cleaned = ForeignText.make("😀".repeat(50_000), 101)
    assert.match(cleaned, /^(?:😀)+… \[cut: 100000 code units\]$/u)
    assert.isAtMost(cleaned.length, 101)
  })

  it("C145 leaves ordinary text alone", () => {
    const text = "Zählt Wörter.\n\t- 数 [1] <b> 😀\r\nend"
    assert.deepStrictEqual(ForeignText.review("d", text, { max: 100 }).changes, [])
  })

  it("C147 a text cannot forge our labels and notes", () => {
    assert.strictEqual(ForeignText.make("x [from you] [\u200bcut: 1]", 100), "x (from you] (cut: 1]")
    assert.strictEqual(ForeignText.label("a]\n[from b", "t"), "[from a] (from b] t")
  })

  it.effect.prop(
    "what is left is clean, within its limit, and stays as it is",
    {
      text: Arbitrary.schema(
        Schema.Array(
          Schema.Union([
            Schema.String,
            Schema.Literals([
              "\u001b",
              "[",
              "\u009d",
              "from",
              "\u200b",
              "\ud83d",
              "\ude00",
              "\r\n",
              "\u2028",
              "31m",
              "\u{e0041}",
              "\ufe0f"
            ])
          ])
        )
      )
    },
    ({ text }) =>
      Effect.sync(() => {
        const cleaned = ForeignText.make(text.join(""), 60)
        assert.deepStrictEqual(unseen(cleaned), [])
        assert.isAtMost(cleaned.length, 60)
        if (!cleaned.endsWith("code units]")) assert.strictEqual(ForeignText.make(cleaned, 60), cleaned)
        assert.strictEqual(ForeignText.hidden(cleaned), undefined)
      })
  )

  it("C145 in schemas only what a model is told is rewritten", () => {
    const schema = {
      type: "object",
      "x-note": "hidden",
      properties: {
        description: { type: "string", description: "a\u200bb", default: "\u202e", pattern: "^a\u200b$" },
        mode: { enum: ["ok", `no${tags("x")}`], title: "t\nu" }
      },
      required: ["description"]
    }
    const { changes, schema: outward } = ForeignText.schema("parameters", schema)
    assert.deepStrictEqual(outward, {
      type: "object",
      properties: { description: { type: "string", description: "ab" }, mode: { enum: ["ok"], title: "t u" } },
      required: ["description"]
    })
    assert.deepStrictEqual(
      changes.map(({ at, kinds }) => [at, ...kinds]),
      [
        ["parameters#/x-note", "dropped"],
        ["parameters#/properties/description/description", "invisible"],
        ["parameters#/properties/description/default", "dropped"],
        ["parameters#/properties/description/pattern", "dropped"],
        ["parameters#/properties/mode/enum/1", "dropped"]
      ]
    )
  })

  it("C145 a schema that is too long loses its annotations, and nothing else", () => {
    const property = { type: "string", description: "d".repeat(1000) }
    const schema = {
      type: "object",
      properties: Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`p${i}`, property]))
    }
    const { schema: outward } = ForeignText.schema("parameters", schema)
    assert.deepStrictEqual(
      outward["properties"],
      Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`p${i}`, { type: "string" }]))
    )
  })
})
