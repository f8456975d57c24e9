/**
 * `Patterns`, answered by re2js, a port of RE2: time is linear in the text
 * whatever the pattern, for which the factor is bounded here.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { InvalidPattern, type Pattern, Patterns } from "../src/Patterns.ts"
import * as PlainText from "../src/PlainText.ts"

/**
 * What a pattern may cost.
 *
 * @category constants
 * @since 0.1.0
 */
export const limits = {
  /** UTF-16 code units. A pattern that somebody wrote has some fifty; more takes longer to read than to replace. */
  pattern: 1_000,
  /**
   * Instructions. Each may be run for each code unit of the text, some 20 ns at worst: more would let one line of 2,000
   * code units block the process for tenths of a second; less refuses `[a-z]{1000}`.
   */
  instructions: 2_000
}

/** Loaded by the first pattern: few calls have one, and it is a quarter of the program. */
const engine = Effect.promise(() => import("re2js"))

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Patterns> = Layer.sync(Patterns, () =>
  Patterns.of({
    compile: (pattern) => {
      const invalid = (why: string) =>
        new InvalidPattern({ pattern: PlainText.makeLine(PlainText.take(pattern, 200)), why })
      if (pattern.length > limits.pattern) {
        return Effect.fail(
          invalid(
            `it has ${pattern.length} UTF-16 code units, at most ${limits.pattern} are allowed; use a shorter one`
          )
        )
      }
      return Effect.flatMap(
        Effect.flatMap(engine, ({ RE2JS }) =>
          Effect.try({ try: () => RE2JS.compile(pattern), catch: (thrown) => invalid(explain(pattern, thrown)) })
        ),
        (compiled): Effect.Effect<Pattern, InvalidPattern> =>
          compiled.programSize() > limits.instructions
            ? Effect.fail(
                invalid(
                  `its repetitions make it too large (over ${limits.instructions} instructions); use smaller counts`
                )
              )
            : Effect.succeed({ test: (text) => compiled.test(text) })
      )
    }
  })
)

/** What people write for engines that backtrack, by how it begins. */
const unsupported: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\(\?<?[=!]/, "look-around is not supported, because patterns run in linear time; match the text itself instead"],
  [/^\(\?P=/, "back-references are not supported, because patterns run in linear time"],
  [/^\(\?>/, "atomic groups are not supported; nothing backtracks here, so a plain group will do"],
  [/^\{/, "a repeat count is at most 1000, those of groups within one another multiplied, and its bounds are in order"],
  [/^\\[1-9k]/, "back-references are not supported, because patterns run in linear time"]
]

/** re2js says what is wrong and quotes where: "error parsing regexp: missing closing ): `(a`". */
const explain = (pattern: string, thrown: unknown): string => {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  const [, what = message, quoted = ""] = /^error parsing regexp: ([^`]*?)(?:: `([^]*)`)?$/.exec(message) ?? []
  // It quotes as much as it had read: of `(?P=name)` less than says what it is.
  const from = pattern.lastIndexOf(quoted)
  const place = quoted === "" || from < 0 ? quoted : pattern.slice(from)
  const known = unsupported.find(([form]) => form.test(place))
  if (known !== undefined) return known[1]
  return quoted === "" ? what : `${what} at ${PlainText.makeLine(PlainText.take(quoted, 80))}`
}
