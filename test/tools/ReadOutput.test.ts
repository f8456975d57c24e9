import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Ripgrep from "../../layers/node/Ripgrep.ts"
import * as Session from "../../src/Session.ts"
import * as Spill from "../../src/Spill.ts"
import type * as Tool from "../../src/Tool.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as ReadOutput from "../../tools/ReadOutput.ts"

const encoder = new TextEncoder()

/** The tool over a store in memory, which holds more than a piece. */
const layer = ReadOutput.layer.pipe(
  Layer.provideMerge(Layer.merge(Ripgrep.layer, Spill.layerMemory({ outputBytes: 8 * 1024 * 1024 })))
)

const call = (parameters: Tool.Parameters<typeof ReadOutput.ReadOutput>) =>
  Effect.flatMap(ReadOutput.ReadOutput, ({ execute }) => ToolStream.runResult(execute(parameters)))

/** Stores an output, and gives its handle. */
const spilled = (output: string | Uint8Array) =>
  Effect.gen(function* () {
    const { open } = yield* Spill.Spill
    const { handle, write } = yield* open
    yield* write(typeof output === "string" ? encoder.encode(output) : output)
    return handle
  }).pipe(Effect.scoped)

const content = (success: ReadOutput.Part | ReadOutput.Matches) =>
  (ReadOutput.ReadOutput.toContent as unknown as (success: unknown) => ReadonlyArray<ToolContent>)(success).map(
    (item) => (item.type === "text" ? item.text : item.type)
  )

const matchesOf = (success: ReadOutput.Part | ReadOutput.Matches) => {
  assert(success._tag === "Matches")
  return success
}

describe("read_output", () => {
  it.layer(layer)((it) => {
    it.effect("reads parts that make the whole, and says how to go on", () =>
      Effect.gen(function* () {
        const handle = yield* spilled("one\ntwo\nthree")
        const first = yield* call({ handle, limitBytes: 9 })
        assert.deepStrictEqual(first, {
          _tag: "Part",
          handle,
          output: "one\ntwo\n",
          offsetBytes: 0,
          nextOffsetBytes: 8,
          sizeBytes: 13,
          ended: true
        })
        assert.deepStrictEqual(content(first), [
          "one\ntwo\n",
          `${handle}: Bytes 0 to 8 of 13. Go on with offsetBytes 8.`
        ])
        const rest = yield* call({ handle, offsetBytes: 8 })
        assert.deepStrictEqual(content(rest), ["three", `${handle}: Bytes 8 to 13 of 13.`])
        const end = yield* call({ handle, offsetBytes: -2 })
        assert.deepStrictEqual(content(end), ["ee", `${handle}: Bytes 11 to 13 of 13.`])
        const past = yield* call({ handle, offsetBytes: 99 })
        assert.deepStrictEqual(content(past), [`${handle}: Bytes 13 to 13 of 13. There is nothing to show of them.`])
      })
    )

    it.effect("an unknown handle, or one of another session, is a failure that says so", () =>
      Effect.gen(function* () {
        const handle = yield* spilled("secret")
        const session = yield* Session.make({ workspace: "/" })
        for (const parameters of [{ handle }, { handle, pattern: "secret" }]) {
          const failure = yield* Effect.flip(Effect.provideService(call(parameters), Session.CurrentSession, session))
          assert(failure._tag === "NotSpilled")
          assert.strictEqual(failure.message, `There is no output ${handle}. It may have been removed to make room.`)
        }
        assert.strictEqual((yield* Effect.flip(call({ handle: "../../etc/passwd" })))._tag, "NotSpilled")
      })
    )

    it.effect("C14: what ends within a character is held back while it is written, and shown when it has ended", () =>
      Effect.gen(function* () {
        const { open } = yield* Spill.Spill
        const scope = yield* Scope.make()
        const { handle, write } = yield* Scope.provide(open, scope)
        yield* write(Uint8Array.of(0x61, 0xe4, 0xbd))
        const first = yield* call({ handle })
        assert.deepStrictEqual(
          [first._tag === "Part" && [first.output, first.nextOffsetBytes, first.ended]],
          [["a", 1, false]]
        )
        yield* Scope.close(scope, Exit.void)
        const last = yield* call({ handle, offsetBytes: 1 })
        assert.deepStrictEqual(
          [last._tag === "Part" && [last.output, last.nextOffsetBytes, last.ended]],
          [["\ufffd", 3, true]]
        )
      })
    )

    it.effect("finds lines by a pattern, with their numbers and where they begin", () =>
      Effect.gen(function* () {
        const handle = yield* spilled("ok\n\u001b[31merror\u001b[0m: one\r\nok\n你 error: two")
        const found = matchesOf(yield* call({ handle, pattern: "^(你 )?error: \\w+$" }))
        assert.deepStrictEqual(found.matches, [
          { line: 2, offsetBytes: 3, text: "error: one" },
          { line: 4, offsetBytes: 27, text: "你 error: two" }
        ])
        assert.deepStrictEqual([found.total, found.complete, found.sizeBytes], [2, true, 41])
        assert.deepStrictEqual(content(found), [
          "2:3:error: one\n4:27:你 error: two",
          `${handle}, 41 bytes: 2 of 2 matching lines, as line:offsetBytes:text.`
        ])
        const last = yield* call({ handle, offsetBytes: 27 })
        assert.strictEqual(last._tag === "Part" && last.output, "你 error: two")
        // From an offset on: the lines keep their numbers.
        assert.deepStrictEqual(matchesOf(yield* call({ handle, pattern: "error", offsetBytes: 4 })).matches, [
          { line: 2, offsetBytes: 4, text: "[31merror: one" },
          { line: 4, offsetBytes: 27, text: "你 error: two" }
        ])
        assert.deepStrictEqual(matchesOf(yield* call({ handle, pattern: "error", offsetBytes: -14 })).matches, [
          { line: 4, offsetBytes: 27, text: "你 error: two" }
        ])
        assert.deepStrictEqual(content(yield* call({ handle, pattern: "nowhere" })), [
          `${handle}, 41 bytes: no lines match.`
        ])
      })
    )

    it.effect("C93: no pattern is a flag, and one that is not valid is a failure that says why", () =>
      Effect.gen(function* () {
        const handle = yield* spilled("--files\n-e x\n")
        for (const [pattern, line] of [
          ["--files", 1],
          ["-e x", 2]
        ] as const) {
          assert.deepStrictEqual(
            matchesOf(yield* call({ handle, pattern })).matches.map((match) => match.line),
            [line]
          )
        }
        for (const [pattern, says] of [
          ["(", /unclosed group/],
          ["(?=a)", /Look-ahead/],
          ["a\\nb", /Lines are searched one by one/]
        ] as const) {
          const failure = yield* Effect.flip(call({ handle, pattern }))
          assert(failure._tag === "SearchFailed")
          assert.deepStrictEqual(failure.reason, "InvalidPattern")
          assert.match(failure.message, says)
        }
      })
    )

    it.effect("what does not fit is counted, and found from where it goes on", () =>
      Effect.gen(function* () {
        // Of several pieces.
        const lines = Array.from({ length: 30_000 }, (_, index) => `${index % 10 === 0 ? "miss" : "hit"} ${index}`)
        const starts = [0]
        for (const line of lines) starts.push(starts.at(-1)! + line.length + 1)
        const handle = yield* spilled(`${lines.join("\n")}\n`)
        const all: Array<number> = []
        let offsetBytes: number | undefined = 0
        let calls = 0
        while (offsetBytes !== undefined) {
          const found: ReadOutput.Matches = matchesOf(
            yield* call({ handle, pattern: "^hit", offsetBytes, limitBytes: 60_000 })
          )
          assert.strictEqual(found.total, 27_000 - all.length)
          for (const { line, offsetBytes, text } of found.matches) {
            assert.strictEqual(text, lines[line - 1])
            assert.strictEqual(offsetBytes, starts[line - 1])
            all.push(line)
          }
          const [shown] = content(found)
          assert.isAtMost(encoder.encode(shown).length, 60_000)
          offsetBytes = found.nextOffsetBytes
          calls++
        }
        assert.deepStrictEqual(
          all,
          Array.from(lines.keys(), (index) => index + 1).filter((line) => line % 10 !== 1)
        )
        assert.isAbove(calls, 2)
      })
    )

    it.effect("a line that two pieces share begins in the first of them", () =>
      Effect.gen(function* () {
        const shared = [1, 2, 3, 4].map((piece) => Math.floor((piece * 64 * 1024) / 100))
        const lines = Array.from({ length: 3_000 }, (_, index) => (shared.includes(index) ? "hit" : "miss").padEnd(99))
        const handle = yield* spilled(lines.join("\n"))
        const { matches } = matchesOf(yield* call({ handle, pattern: "hit" }))
        assert.deepStrictEqual(
          matches.map(({ line, offsetBytes }) => [line, offsetBytes]),
          shared.map((index) => [index + 1, index * 100])
        )
      })
    )

    it.effect("of a line without end the first part is searched, and that is said", () =>
      Effect.gen(function* () {
        const handle = yield* spilled(`${"x".repeat(200_000)}needle\nneedle\n`)
        const found = matchesOf(yield* call({ handle, pattern: "needle" }))
        assert.deepStrictEqual(found.matches, [{ line: 2, offsetBytes: 200_007, text: "needle" }])
        assert.strictEqual(found.cutLines, 1)
        assert.include(content(found).at(-1), "Of 1 very long lines only the first 65536 code units were searched.")
        const long = matchesOf(yield* call({ handle, pattern: "^x" }))
        assert.deepStrictEqual([long.matches[0]?.text.length, long.matches[0]?.text.at(-1)], [500, "…"])
        assert.include(content(long).at(-1), "Cut at 500 UTF-16 code units, where … stands: 1. ")
      })
    )

    it.effect.prop(
      "a match is at its offset, whatever the bytes",
      [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }))).check(Schema.isMaxLength(60))],
      ([indices]) =>
        Effect.gen(function* () {
          const pieces = ["\n", "a", "\r", "\u001b[1m", "\u001b]0;t", "你", "\0", "\n\n"]
          const bytes = Buffer.from(indices.map((index) => pieces[index]).join(""))
          const handle = yield* spilled(bytes)
          const { matches } = matchesOf(yield* call({ handle, pattern: "a" }))
          // The model: the lines by their line feeds.
          const starts = [
            0,
            ...Array.from(bytes.keys())
              .filter((at) => bytes[at] === 0x0a)
              .map((at) => at + 1)
          ]
          for (const { line, offsetBytes, text } of matches) {
            assert.strictEqual(offsetBytes, starts[line - 1])
            const limitBytes = Math.max(4, (starts[line] ?? bytes.length) - offsetBytes)
            const part = yield* call({ handle, offsetBytes, limitBytes })
            assert(part._tag === "Part")
            assert.strictEqual(part.output.split("\n")[0], text)
          }
        }),
      { arbitrary: { runs: 30 } }
    )
  })
})
