import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Re2 from "../../layers/Re2.ts"
import { Patterns } from "../../src/Patterns.ts"

const compile = (pattern: string) => Effect.flatMap(Patterns, ({ compile }) => compile(pattern))

const why = (pattern: string) => Effect.map(Effect.flip(compile(pattern)), ({ why }) => why)

describe("Re2", () => {
  it.layer(Re2.layer)((it) => {
    it.effect("a pattern matches anywhere in the text, and anchors hold it to the ends", () =>
      Effect.gen(function* () {
        const anywhere = yield* compile("listening on .*:\\d+")
        assert.isTrue(anywhere.test("server: listening on http://localhost:3000 now"))
        assert.isFalse(anywhere.test("not listening"))
        const whole = yield* compile("^ready$")
        assert.deepStrictEqual(["ready", "already", "ready!"].map(whole.test), [true, false, false])
        assert.isTrue((yield* compile("(?i)READY")).test("ready"))
        assert.isTrue((yield* compile("\\p{L}+€")).test("é€"))
      })
    )

    it.effect("a pattern that would take a backtracking engine years takes no time", () =>
      Effect.gen(function* () {
        const text = `${"a".repeat(2_000)}b`
        const pattern = yield* compile("^(a+)+$")
        const start = performance.now()
        for (let i = 0; i < 10; i++) assert.isFalse(pattern.test(text))
        assert.isBelow(performance.now() - start, 2_000)
      })
    )

    it.effect("what needs backtracking is refused in words that say what to do without", () =>
      Effect.gen(function* () {
        for (const pattern of ["(?=a)", "x(?!a)", "(?<=a)b", "(?<!a)b"]) {
          assert.match(yield* why(pattern), /^look-around is not supported/, pattern)
        }
        for (const pattern of ["(a)\\1", "(?<n>a)\\k<n>", "(?P<n>a)(?P=n)"]) {
          assert.match(yield* why(pattern), /^back-references are not supported/, pattern)
        }
        assert.match(yield* why("(?>a)"), /^atomic groups are not supported/)
      })
    )

    it.effect("what is no pattern is refused with what is wrong with it", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(compile("(ab"))
        assert.strictEqual(failure.pattern, "(ab")
        assert.strictEqual(failure.message, "The pattern is not valid: missing closing ) at (ab.")
        assert.include(yield* why("[z-a]"), "z-a")
        assert.include(yield* why("*"), "repetition")
        assert.include(yield* why("a\\"), "trailing backslash")
      })
    )

    it.effect("patterns are bounded in length and in what they expand to", () =>
      Effect.gen(function* () {
        const long = yield* Effect.flip(compile("a".repeat(Re2.limits.pattern + 1)))
        assert.include(long.why, "at most 1000")
        assert.strictEqual(long.pattern.length, 200)
        assert.include(yield* why("[a-z]{900}".repeat(3)), "too large")
        assert.include(yield* why("(a{50}){50}"), "at most 1000")
        assert.isTrue((yield* compile("^[a-z]{1000}$")).test("q".repeat(1_000)))
      })
    )
  })
})
