import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as FileName from "../../../../layers/node/internal/FileName.ts"
import * as RipgrepOutput from "../../../../layers/node/internal/RipgrepOutput.ts"
import * as PlainText from "../../../../src/PlainText.ts"

describe("RipgrepOutput", () => {
  const record = (text: string) =>
    `${JSON.stringify({ type: "match", data: { path: { text: './a"\n' }, lines: { text }, line_number: 7, absolute_offset: 3, submatches: [] } })}\n`

  it("reads the same records however the output is cut into pieces, long or not", () => {
    const texts = ["short\n", `${'é\u0001"'.repeat(50_000)}\n`, "", "a\r\nb\n", "x".repeat(70_000)]
    const bytes = Buffer.from(texts.map(record).join(""))
    const whole = new RipgrepOutput.Reader("/ws", { isDirectory: true }).push(bytes)
    assert.deepStrictEqual(
      whole.map((one) =>
        one._tag === "Lines" ? [one.path, one.line, one.offset, one.lines.map((line) => line.length)] : one
      ),
      [
        ['/ws/a"\\x0a', 7, 3, [5]],
        ['/ws/a"\\x0a', 7, 3, [4096]],
        ['/ws/a"\\x0a', 7, 3, [0]],
        ['/ws/a"\\x0a', 7, 3, [1, 1]],
        ['/ws/a"\\x0a', 7, 3, [4096]]
      ]
    )
    for (const size of [1, 7, 1000, 65_536, 65_537]) {
      const reader = new RipgrepOutput.Reader("/ws", { isDirectory: true })
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        reader.push(bytes.subarray(i * size, (i + 1) * size))
      )
      assert.deepStrictEqual(pieces.flat(), whole, `pieces of ${size}`)
    }
  })

  const line = (record: object) => `${JSON.stringify(record)}\n`
  const Text = Arbitrary.map(
    Arbitrary.schema(
      Schema.Array(Schema.Literals(["a", "Z", " ", '"', "\\", "\\n", "\t", "\x7f", "é", "€", "😀", '"},"']))
    ),
    (parts) => parts.join("")
  )
  const File = Arbitrary.all({
    name: Text,
    matches: Arbitrary.array(Arbitrary.all({ text: Text, end: Arbitrary.schema(Schema.Literals(["", "\n", "\r\n"])) })),
    binary: Arbitrary.schema(Schema.Literals([0, 9]))
  })

  it.prop("reads what JSON.parse would, whatever stands in names and lines", [Arbitrary.array(File)], ([files]) => {
    const path = (name: string) => ({ text: `./${name}` })
    const printed = files.flatMap(({ binary, matches, name }) => [
      line({ type: "begin", data: { path: path(name) } }),
      ...matches.map(({ end, text }, n) =>
        line({
          type: "match",
          data: {
            path: path(name),
            lines: { text: text + end },
            line_number: 10 * n + 1,
            absolute_offset: 1_000_000 * n,
            submatches: [{ match: { text: '"},"line_number":7,"absolute_offset":8' }, start: 0, end: 1 }]
          }
        })
      ),
      line({
        type: "end",
        data: { path: path(name), binary_offset: binary || null, stats: { matches: matches.length } }
      })
    ])
    const expected = files.flatMap(({ binary, matches, name }): ReadonlyArray<RipgrepOutput.Record> => {
      const path = `/ws/${FileName.format(FileName.fromBuffer(Buffer.from(name)))}`
      return [
        ...matches.map(({ text }, n) => ({
          _tag: "Lines" as const,
          path,
          match: true,
          line: 10 * n + 1,
          offset: 1_000_000 * n,
          lines: [PlainText.make(text)]
        })),
        { _tag: "FileEnd", path, binaryOffset: binary || undefined }
      ]
    })
    const reader = new RipgrepOutput.Reader("/ws", { isDirectory: true })
    assert.deepStrictEqual(reader.push(Buffer.from(printed.join(""))), expected)
  })

  it("keeps nothing of what it has read but what it gives", () => {
    const reader = new RipgrepOutput.Reader("/ws", { isDirectory: true })
    const kept: Array<RipgrepOutput.Record> = []
    const push = (n: number) => {
      const path = { text: `./file number ${n}` }
      const lines = { text: `a line that is long enough, number ${n}\n` }
      const match = line({ type: "match", data: { path, lines, line_number: 1, absolute_offset: 0, submatches: [] } })
      const printed = Buffer.from(line({ type: "begin", data: { path } }) + match.repeat(400))
      kept.push(...reader.push(printed).slice(0, 1))
    }
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    const held = () => {
      collect()
      return process.memoryUsage().heapUsed
    }
    push(0)
    const before = held()
    for (let n = 0; n < 400; n++) push(n)
    // It was 30 MB.
    assert.isBelow(held() - before, 2e6)
    assert.strictEqual(kept.length, 401)
  })
})
