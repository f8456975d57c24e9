import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isBlank, LastLines, OutputLines } from "../src/OutputLines.ts"

type Line = readonly [text: string, omitted: number]

const linesOf = (chunks: ReadonlyArray<Uint8Array>, limit = 2_000): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  const output = new OutputLines(limit, (text, omitted) => lines.push([text, omitted]))
  // A chunk is overwritten when it was written: nothing of it may be kept.
  for (const chunk of chunks) {
    const copy = chunk.slice()
    output.write(copy)
    copy.fill(0x58)
  }
  output.end()
  return lines
}

const bytes = (text: string) => new TextEncoder().encode(text)
const texts = (...chunks: ReadonlyArray<string | Uint8Array>) =>
  linesOf(chunks.map((chunk) => (typeof chunk === "string" ? bytes(chunk) : chunk))).map(([text]) => text)

describe("OutputLines", () => {
  it("C40: lines are whole, code points are whole, and the last line needs no line feed", () => {
    assert.deepStrictEqual(texts("rea", "dy\n", new Uint8Array([0xe2, 0x82]), new Uint8Array([0xac, 0x0a]), "tail"), [
      "ready",
      "€",
      "tail"
    ])
    assert.deepStrictEqual(texts("one\n"), ["one"])
    assert.deepStrictEqual(texts(), [])
  })

  it("C14: what is no UTF-8 is replaced, an incomplete last character too", () => {
    assert.deepStrictEqual(texts(new Uint8Array([0x61, 0xff, 0x0a, 0xe2, 0x80])), ["a\ufffd", "\ufffd"])
    assert.deepStrictEqual(texts(new Uint8Array([0xe2]), "plain ASCII\n"), ["\ufffdplain ASCII"])
  })

  it("C17: no control character is left, NUL can be seen", () => {
    assert.deepStrictEqual(texts("a\0b\n", "\x07bell\x7f\x0b\u0085\n", "tab\tstays\n"), ["a\\0b", "bell", "tab\tstays"])
  })

  it("C21, C42: a carriage return starts the line anew, and hides nothing before a line feed or the end", () => {
    assert.deepStrictEqual(texts("l1\r\nl2\n\nbusy\rready\n"), ["l1", "l2", "", "ready"])
    const frames = Array.from({ length: 101 }, (_, n) => `\rDownloading ${n}%`)
    assert.deepStrictEqual(texts(...frames, "\nend\n"), ["Downloading 100%", "end"])
    assert.deepStrictEqual(texts("kept\r\r\nlast\r"), ["kept", "last"])
  })

  it("C23: escape sequences are left out, also when a chunk ends within one", () => {
    assert.deepStrictEqual(
      texts(
        "\x1b[?25l\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]8;;http://x.invalid\x1b\\link\x1b]8;;\x1b\\\n\x1b[",
        "32mgreen\n"
      ),
      ["redlink", "green"]
    )
    // A sequence that has no end does not hide what follows.
    assert.deepStrictEqual(texts("\x1b]0;never ended\nshown\n"), ["", "shown"])
    assert.strictEqual(texts(`\x1b[${"1".repeat(1_000)}\n`)[0]?.length, 744)
  })

  it("a long line is cut between code points, and what is missing is counted", () => {
    const long = (text: string) => linesOf([bytes(text)], 10)
    assert.deepStrictEqual(long(`${"x".repeat(25)}\nnext\n`), [
      ["xxxxxxxxxx", 15],
      ["next", 0]
    ])
    assert.deepStrictEqual(long(`${"x".repeat(9)}😀y\n`), [["xxxxxxxxx", 3]])
    assert.deepStrictEqual(long(`${"x".repeat(8)}😀\n`), [["xxxxxxxx😀", 0]])
    // Only the frame that is left counts.
    assert.deepStrictEqual(long(`${"x".repeat(50)}\rshort\n`), [["short", 0]])
  })

  it.effect.prop(
    "how the bytes are cut does not show",
    [
      Arbitrary.array(
        Arbitrary.schema(
          Schema.Literals([
            "a",
            "a longer piece of plain text, as most output is",
            "\n",
            "\r",
            "\r\n",
            "\t",
            "é",
            "€",
            "😀",
            "\0",
            "\x1b",
            "\x1b[31m",
            "\x1b]0;title\x07",
            "\x1b\\",
            "[",
            "m",
            "\u009b",
            "\x7f"
          ])
        )
      ),
      Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })))),
      Arbitrary.schema(Schema.Literals([3, 10, 2_000]))
    ],
    ([pieces, cuts, limit]) =>
      Effect.sync(() => {
        const all = bytes(pieces.join(""))
        const chunks: Array<Uint8Array> = []
        for (let from = 0, n = 0; from < all.length; n++) {
          const length = cuts.length === 0 ? 1 : cuts[n % cuts.length]!
          chunks.push(all.subarray(from, from + length))
          from += length
        }
        const whole = linesOf([all], limit)
        assert.deepStrictEqual(linesOf(chunks, limit), whole)
        for (const [line] of whole) {
          assert.isAtMost(line.length, limit)
          assert.isTrue(line.isWellFormed())
          // oxlint-disable-next-line no-control-regex
          assert.notMatch(line, /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/)
        }
      })
  )
})

describe("isBlank", () => {
  it("white space says nothing, whichever it is", () => {
    assert.deepStrictEqual(["", " ", "\t ", "\u00a0"].map(isBlank), [true, true, true, true])
    assert.deepStrictEqual([" x", "x ", "é", "€"].map(isBlank), [false, false, false, false])
  })
})

describe("LastLines", () => {
  it("keeps the last lines, within both limits, and the last one always", () => {
    const last = (
      limits: { readonly maxLines: number; readonly maxUnits: number },
      ...lines: ReadonlyArray<string>
    ) => {
      const kept = new LastLines(limits)
      for (const line of lines) kept.add(line)
      return kept.render()
    }
    assert.deepStrictEqual(last({ maxLines: 2, maxUnits: 100 }), [])
    assert.deepStrictEqual(last({ maxLines: 2, maxUnits: 100 }, "a", "b", "c"), ["b", "c"])
    assert.deepStrictEqual(last({ maxLines: 3, maxUnits: 3 }, "aa", "bb", "c"), ["bb", "c"])
    assert.deepStrictEqual(last({ maxLines: 3, maxUnits: 3 }, "a", "bbbbb"), ["bbbbb"])
  })

  it("counts those of the last ones that are cut", () => {
    const kept = new LastLines({ maxLines: 2, maxUnits: 100 })
    const counts = [7, 0, 1, 1, 0, 0].map((omitted) => {
      kept.add("x", omitted)
      return kept.cutLines
    })
    assert.deepStrictEqual(counts, [1, 1, 1, 2, 1, 0])
  })
})
