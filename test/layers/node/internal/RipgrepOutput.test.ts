import { assert, describe, it } from "@effect/vitest"
import * as RipgrepOutput from "../../../../layers/node/internal/RipgrepOutput.ts"

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
})
