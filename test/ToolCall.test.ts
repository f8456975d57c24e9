import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Session from "../src/Session.ts"
import * as ToolCall from "../src/ToolCall.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { runtime, terminal } from "./Harness.ts"

describe("ToolCall", () => {
  it.effect("is minted with an id of its own, for the current session", () =>
    Effect.gen(function* () {
      const session = yield* Session.make({ workspace: "/w", id: "s" })
      const made = yield* Effect.provideService(
        Effect.all([
          ToolCall.make({ name: "a", parameters: {} }),
          ToolCall.make({ name: "a", parameters: {}, externalId: "x" })
        ]),
        Session.CurrentSession,
        session
      )
      assert.deepStrictEqual(made, [
        { callId: made[0].callId, sessionId: "s", name: "a", parameters: {} },
        { callId: made[1].callId, sessionId: "s", externalId: "x", name: "a", parameters: {} }
      ])
      assert.notStrictEqual(made[0].callId, made[1].callId)
    }).pipe(Effect.scoped)
  )

  describe("fromText", () => {
    const end = (text: string, name = "t") =>
      Effect.gen(function* () {
        const {
          runtime: { events }
        } = yield* runtime({ t: ({ n = 0 }) => ToolStream.succeed([n]) })
        return terminal(yield* Stream.runCollect(events(yield* ToolCall.fromText({ name, text }))))
      })

    it.effect("reads JSON, and blank text as no parameters (C111)", () =>
      Effect.gen(function* () {
        for (const text of ["", "  \n", "{}"]) assert.deepStrictEqual(yield* end(text), [0])
        assert.deepStrictEqual(yield* end('{"n":3}'), [3])
      })
    )

    it.effect.each<readonly [string, string]>([
      [
        '{"n":1,"text":"abc',
        'Not valid JSON (18 code units, ending in "{\\"n\\":1,\\"text\\":\\"abc"). Send one complete JSON object.'
      ],
      ["{n:1}", 'Not valid JSON (5 code units, ending in "{n:1}"). Send one complete JSON object.'],
      [
        `{"n":1,"text":"${"secret ".repeat(100)}`,
        'Not valid JSON (714 code units, ending in "ret secret secret secret"). Send one complete JSON object.'
      ]
    ])("text that is no JSON is not executed, and little of it is quoted (C110): %s", ([text, message]) =>
      Effect.gen(function* () {
        const issues = [{ path: [], message }]
        assert.deepStrictEqual(yield* end(text), { _tag: "InvalidParameters", issues })
      })
    )

    it.effect("JSON that is too deep is not parsed, brackets in strings do not count", () =>
      Effect.gen(function* () {
        const deep = `{"n":${"[".repeat(100_000)}${"]".repeat(100_000)}}`
        assert.deepStrictEqual(yield* end(deep), {
          _tag: "InvalidParameters",
          issues: [{ path: [], message: "The JSON is nested more than 200 levels deep. Send flat parameters." }]
        })
        const wide = yield* ToolCall.fromText({ name: "t", text: JSON.stringify({ s: '[{"\\'.repeat(1000) }) })
        assert.isUndefined(wide.malformed)
      })
    )

    it.effect("an unknown tool is the first thing to be said of a call", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* end("{", "u"), { _tag: "ToolNotFound", suggestions: ["t"] })
      })
    )
  })
})
