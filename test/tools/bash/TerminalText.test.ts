import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { BoundedText, pieces } from "../../../src/BoundedText.ts"
import { TerminalDecoder, TerminalText } from "../../../src/TerminalText.ts"

const encoder = new TextEncoder()

const show = (chunks: Iterable<Uint8Array>, limit = 15_000) => {
  const decoder = new TerminalDecoder()
  const screen = new TerminalText(limit)
  for (const chunk of chunks) screen.write(decoder.decode(chunk))
  screen.write(decoder.end())
  return screen.render()
}

/** As a tool does that has the bytes: whatever is plain passes unseen, some of it (`gathers`) later. */
const showPlainly = (chunks: Iterable<Uint8Array>, limit: number, gathers: (chunk: number) => boolean) => {
  const decoder = new TerminalDecoder()
  const screen = new TerminalText(limit)
  let text = ""
  let plain = 0
  let count = 0
  for (const chunk of chunks) {
    const decoded = decoder.decodePlain(chunk)
    if (decoded === undefined) {
      const slowly = decoder.decode(chunk)
      text += slowly
      screen.write(slowly)
    } else {
      text += decoded.join("")
      plain += decoded.join("").length
      if (gathers(count++)) screen.gather(decoded.join(""))
      else screen.writePlain(chunk)
    }
  }
  const rest = decoder.end()
  screen.write(rest)
  text += rest
  return { text, plain, screen: screen.render() }
}

const text = (input: string, limit?: number) => show([encoder.encode(input)], limit).text

const split = (bytes: Uint8Array, cuts: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const at = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b)
  return [...at, bytes.length].map((end, index) => bytes.slice(at[index - 1] ?? 0, end))
}

/** What breaks filters, in parts short enough that every pair of them meets. */
const fragments = [
  "a",
  "b c",
  "\n",
  "\r",
  "\r\n",
  "\t",
  "\0",
  "\0\0",
  "\b",
  "\x07",
  "\x1b",
  "\x1b[",
  "\x1b[31m",
  "\x1b[?25l",
  "\x1b]0;t\x07",
  "\x1b]8;;x\x1b\\",
  "\x1b]",
  "\x1b(B",
  "\x1bP1",
  "\x1b\\",
  "3",
  "1m",
  ";",
  "[",
  "]",
  "é",
  "你",
  "😀",
  "\u009b",
  "\u009c",
  "\x7f",
  "\x18"
]
  .map((fragment) => encoder.encode(fragment))
  .concat([[0xff], [0xe2, 0x80], [0xf0, 0x9f], [0xc0]].map((bytes) => Uint8Array.from(bytes)))

const Bytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: fragments.length - 1 })))
const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200 })))
const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))

const bytesOf = (indices: ReadonlyArray<number>) =>
  Uint8Array.from(indices.flatMap((index) => Array.from(fragments[index]!)))

describe("TerminalText", () => {
  it("C21: of the frames of a progress bar the last is left", () => {
    let input = ""
    for (let percent = 0; percent <= 100; percent++) input += `\rDownloading ${percent}%`
    assert.strictEqual(text(`${input}\nend\n`), "Downloading 100%\nend\n")
  })

  it("a carriage return before a line feed, or at the end, hides nothing", () => {
    assert.strictEqual(text("a\r\nb\r\r\nc\r"), "a\nb\nc")
  })

  it("a frame replaces its own line only", () => {
    assert.strictEqual(text("one\ntwo\rthree\nfour"), "one\nthree\nfour")
  })

  it("C23: escape sequences are removed, private modes, titles and links among them", () => {
    assert.strictEqual(
      text(
        "\x1b[?25l\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]8;;http://x.invalid\x1b\\link\x1b]8;;\x1b\\\n\x1b(B\x1b7\x1b=\x1bPq#0\x1b\\x\n"
      ),
      "redlink\nx\n"
    )
  })

  it("C23: an escape sequence may be cut anywhere", () => {
    const bytes = encoder.encode("\x1b[?25l\x1b[38;5;1mred\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[32mgreen\n")
    for (let cut = 0; cut <= bytes.length; cut++) assert.strictEqual(show(split(bytes, [cut])).text, "redlink green\n")
  })

  it("a string that is never ended hides its own line at most", () => {
    assert.strictEqual(text("a\x1b]0;never ended\nb\n"), "a\nb\n")
    assert.strictEqual(text(`\x1b]${"x".repeat(100_000)}`, 60_000).length, 100_000 - 64 * 1024)
    assert.strictEqual(text(`\x1b[${"1".repeat(1000)}`).length, 1000 - 256)
  })

  it("C17: NUL is shown, other control characters are not there", () => {
    assert.strictEqual(text("a\0b\0\0\n\x01\x02\b\v\f\x7f\u0085\u009b31m\tz"), "a\\0b\\0\\0\n31m\tz")
  })

  it("C14: a character may be cut anywhere", () => {
    const bytes = encoder.encode("é你😀\u2014")
    for (let cut = 0; cut <= bytes.length; cut++) assert.strictEqual(show(split(bytes, [cut])).text, "é你😀\u2014")
    assert.strictEqual(show(Array.from(bytes, (byte) => Uint8Array.of(byte))).text, "é你😀\u2014")
    assert.strictEqual(show([bytes.slice(0, 3)]).text, "é\ufffd")
  })

  it("C16: both cuts are between code points, whatever the limit", () => {
    const emoji = encoder.encode("😀".repeat(60_000))
    for (let limit = 1000; limit <= 1003; limit++) {
      const shown = show([emoji], limit)
      assert.isTrue(shown.text.isWellFormed())
      assert.notInclude(shown.text, "\ufffd")
      assert.strictEqual(
        shown.text,
        `${"😀".repeat(250)}\n[... ${240_000 - 2000} bytes omitted ...]\n${"😀".repeat(250)}`
      )
      assert.strictEqual(shown.omittedBytes, 240_000 - 2000)
    }
  })

  it("nothing is omitted from what fits", () => {
    const input = "x".repeat(29_999) + "y"
    assert.deepStrictEqual(show([encoder.encode(input)]), { text: input, omittedBytes: 0 })
    assert.strictEqual(show([encoder.encode(`${input}z`)]).omittedBytes, 1)
  })

  it("C12: carriage returns without end cost linear time", () => {
    const decoder = new TerminalDecoder()
    const screen = new TerminalText(15_000)
    const chunk = encoder.encode("\rx".repeat(32 * 1024))
    const startedAt = performance.now()
    for (let i = 0; i < 64; i++) screen.write(decoder.decode(chunk))
    assert.isBelow(performance.now() - startedAt, 5_000)
    assert.strictEqual(screen.render().text, "x")
  })

  it.prop(
    "C23: how the bytes are cut does not show, and the text is plain",
    [Bytes, Cuts, Limit],
    ([indices, cuts, limit]) => {
      const bytes = bytesOf(indices)
      const whole = show([bytes], limit)
      assert.deepStrictEqual(show(split(bytes, cuts), limit), whole)
      assert.isTrue(whole.text.isWellFormed())
      // oxlint-disable-next-line no-control-regex
      assert.notMatch(whole.text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    }
  )

  it.prop(
    "plain bytes pass as they are, and nothing but the time they take shows it",
    [Bytes, Limit, Schema.Array(Schema.Natural).check(Schema.isMaxLength(8))],
    ([indices, limit, cuts]) => {
      const bytes = bytesOf(indices)
      const chunks = split(bytes, cuts)
      const decoder = new TerminalDecoder()
      const slowly = chunks.map((chunk) => decoder.decode(chunk)).join("") + decoder.end()
      for (const gathers of [() => false, () => true, (chunk: number) => chunk % 3 !== 1]) {
        const { screen, text } = showPlainly(chunks, limit, gathers)
        assert.strictEqual(text, slowly)
        assert.deepStrictEqual(screen, show(chunks, limit))
      }
    }
  )

  it("text of ASCII is plain, at any offset in memory", () => {
    const line = encoder.encode("All there is on a keyboard: ~!@#$%^&*()_+\t`1234567890-=\n".repeat(100))
    for (const offset of [0, 1, 2, 3]) {
      const bytes = new Uint8Array(line.length + offset).subarray(offset)
      bytes.set(line)
      assert.strictEqual(showPlainly([bytes], 100, () => false).plain, line.length)
      for (const at of [0, 1, 2, 3, 4, line.length - 1]) {
        for (const byte of [0, 0x0d, 0x1b, 0x1f, 0x7f, 0x80, 0xff]) {
          const other = bytes.slice()
          other[at] = byte
          assert.strictEqual(showPlainly([other], 100, () => false).plain, 0, `${byte} at ${at}`)
        }
      }
    }
  })

  it("what is gathered is there when it is asked for", () => {
    const lines = Array.from({ length: 2000 }, (_, n) => `line ${n}\n`)
    for (const seen of [1, 10, 500, 2000]) {
      const [gathering, screen] = [new TerminalText(300), new TerminalText(300)]
      for (const [n, line] of lines.entries()) {
        gathering.gather(line)
        screen.writePlain(encoder.encode(line))
        if (n % seen === 0) assert.deepStrictEqual(gathering.render(), screen.render())
      }
      assert.deepStrictEqual(gathering.render(), screen.render())
    }
  })

  it.prop("what is kept is the start and the end of the whole text", [Bytes, Limit], ([indices, limit]) => {
    const bytes = bytesOf(indices)
    const whole = encoder.encode(show([bytes]).text)
    const kept = show([bytes], limit)
    if (whole.length <= 2 * limit) {
      assert.deepStrictEqual(kept, { text: new TextDecoder().decode(whole), omittedBytes: 0 })
    } else {
      const [head, tail] = kept.text.split(`\n[... ${kept.omittedBytes} bytes omitted ...]\n`)
      assert.isTrue(new TextDecoder().decode(whole).startsWith(head!))
      assert.isTrue(new TextDecoder().decode(whole).endsWith(tail!))
      const shown = encoder.encode(head! + tail!).length
      assert.strictEqual(shown + kept.omittedBytes, whole.length)
      // At each end less than one character is lost to the cut.
      assert.isAbove(shown, 2 * limit - 8)
    }
  })
})

describe("BoundedText", () => {
  it.prop("appending another is appending what it stands for", [Bytes, Bytes, Limit], ([one, two, limit]) => {
    const texts = [one, two].map((indices) => new TextDecoder().decode(bytesOf(indices)))
    const apart = texts.map((part) => {
      const bounded = new BoundedText(limit)
      bounded.append(part)
      return bounded
    })
    const all = new BoundedText(limit)
    for (const part of apart) all.appendAll(part)
    const direct = new BoundedText(limit)
    for (const part of texts) direct.append(part)
    assert.deepStrictEqual(all.render(), direct.render())
  })

  it("C16: pieces are at most 16 KiB, whole code points, and together the text", () => {
    for (const input of ["", "a", "x".repeat(100_000), "😀".repeat(60_000), "a" + "你".repeat(50_000)]) {
      const cut = pieces(input)
      assert.strictEqual(cut.join(""), input)
      for (const piece of cut) {
        assert.isTrue(piece.isWellFormed())
        assert.isAtMost(encoder.encode(piece).length, 16 * 1024)
      }
    }
  })
})
