import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import { asciiText, isPlain, isPlainScalar, plainText, vectorScan } from "../../src/internal/PlainBytes.ts"

/** Around where vectors begin, where one and a turn of the loop end, and where a page does. */
const lengths = [0, 1, 31, 511, 512, 513, 527, 528, 543, 544, 2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 2 ** 16 + 33, 2 ** 17]

const Below = (bound: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: bound - 1 }))

/** From an odd place in memory, as what is cut from a buffer. */
const filled = (length: number, byte: number) => new Uint8Array(length + 1).fill(byte).subarray(1)

describe("PlainBytes", () => {
  it("every byte but those that a terminal shows as they are is found, wherever it stands", () => {
    for (let byte = 0; byte < 256; byte++) {
      const plain = (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a
      for (const length of [1, 40, 600]) {
        for (const at of [0, 15, 16, 31, 32, 575, 576, 599].filter((at) => at < length)) {
          const bytes = filled(length, 0x61)
          bytes[at] = byte
          const where = `${byte} at ${at} of ${length}`
          assert.strictEqual(isPlain(bytes), plain, where)
          assert.strictEqual(plainText(bytes), plain ? Buffer.from(bytes).toString("latin1") : undefined, where)
        }
      }
    }
  })

  it.prop(
    "vectors say what the scan byte by byte says",
    [Below(lengths.length), Schema.Array(Schema.Tuple([Below(2 ** 17), Below(256)])), Below(256)],
    ([length, others, byte]) => {
      const bytes = filled(lengths[length]!, byte)
      for (const [at, other] of others) if (at < bytes.length) bytes[at] = other
      assert.strictEqual(isPlain(bytes), isPlainScalar(bytes, 0))
    }
  )

  it("the text of plain bytes is theirs, of any part of them, with Node's means and without", () => {
    const plain = Uint8Array.from({ length: 40_001 }, (_, at) => [0x09, 0x0a, 0x20, 0x41, 0x7e][at % 5]!).subarray(1)
    const parts = [
      [0, 40_000],
      [0, 0],
      [7, 8],
      [39_999, 40_000],
      [16_384, 32_768]
    ] as const
    const texts = parts.map(([from, to]) => String.fromCharCode(...plain.subarray(from, to)))
    assert.deepStrictEqual(
      parts.map(([from, to]) => asciiText(plain, from, to)),
      texts
    )
    const module = path.resolve(import.meta.dirname, "../../src/internal/PlainBytes.ts")
    const program = `
      delete globalThis.Buffer
      const { asciiText } = await import(${JSON.stringify(module)})
      const bytes = Uint8Array.from(${JSON.stringify([0, ...plain.subarray(0, 20)])}).subarray(1)
      console.log(JSON.stringify([typeof Buffer, asciiText(bytes, 3, 17)]))`
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" })
    assert.deepStrictEqual(JSON.parse(stdout), ["undefined", asciiText(plain, 3, 17)])
  })

  it("where tests run there are vectors", () => {
    assert.isDefined(vectorScan())
  })

  it("what was looked at before does not show", () => {
    assert.isFalse(isPlain(filled(2 ** 16, 0)))
    assert.isTrue(isPlain(filled(1000, 0x61)))
  })
})
