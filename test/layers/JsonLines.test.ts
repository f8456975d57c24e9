import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as JsonLines from "../../layers/JsonLines.ts"

const linesOf = (chunks: Iterable<Uint8Array>) => Stream.runCollect(JsonLines.lines(Stream.fromIterable(chunks)))

const bytes = (text: string) => new TextEncoder().encode(text)

describe("JsonLines", () => {
  it.effect("how the bytes are cut does not show", () =>
    Effect.gen(function* () {
      const whole = bytes("\ufeffa\r\n\n  \nž🙂\n\nend")
      const expected = yield* linesOf([whole])
      assert.deepStrictEqual(
        expected.map(({ number, text }) => [number, text.trim()]),
        [
          [1, "a"],
          [4, "ž🙂"],
          [6, "end"]
        ]
      )
      for (let size = 1; size < whole.length; size++) {
        const buffer = new Uint8Array(size)
        // A source that uses its buffer again.
        const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
          whole.slice(i * size, (i + 1) * size)
        )
        const reused = Stream.map(Stream.rechunk(Stream.fromIterable(chunks), 1), (chunk) => {
          buffer.set(chunk)
          return buffer.subarray(0, chunk.length)
        })
        assert.deepStrictEqual(yield* Stream.runCollect(JsonLines.lines(reused)), expected)
      }
    })
  )

  it.effect("what is no UTF-8 or too long is told, and what follows is read", () =>
    Effect.gen(function* () {
      const mebibyte = new Uint8Array(1024 * 1024).fill(0x61)
      const long = Array.from({ length: 17 }, () => mebibyte)
      const found = yield* linesOf([new Uint8Array([0xff, 0x0a]), ...long, bytes("\n{}\n")])
      assert.deepStrictEqual(
        found.map(({ number, text, unreadable }) => [number, text, unreadable?.slice(0, 14)]),
        [
          [1, "", "It is not UTF-"],
          [2, "", "It is longer t"],
          [3, "{}", undefined]
        ]
      )
    })
  )

  it.effect("all of a stream is one line, of which no more is read than may be", () =>
    Effect.gen(function* () {
      const text = yield* JsonLines.whole(Stream.make(bytes("{\n"), bytes("}")))
      assert.strictEqual(text.text, "{\n}")
      const endless = yield* JsonLines.whole(Stream.forever(Stream.succeed(new Uint8Array(1024 * 1024))))
      assert.include(endless.unreadable, "longer than")
    })
  )
})
