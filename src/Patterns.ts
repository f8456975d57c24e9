/**
 * The port for regular expressions that come from a model or a stranger.
 *
 * They run in time linear in the text, so that no pattern can stop the program:
 * `^(a+)+$` on forty letters would take minutes as a `RegExp`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * The pattern is not one, or needs what cannot be had in linear time: look-around, back-references.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidPattern extends Schema.TaggedError<InvalidPattern>()("InvalidPattern", {
  pattern: Schema.String,
  why: Schema.String
}) {
  override get message() {
    return `The pattern is not valid: ${this.why}.`
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Pattern {
  /** Whether it matches anywhere in the text. */
  readonly test: (text: string) => boolean
}

/**
 * @category services
 * @since 0.1.0
 */
export class Patterns extends Context.Service<
  Patterns,
  {
    /** In the syntax of RE2. */
    readonly compile: (pattern: string) => Effect.Effect<Pattern, InvalidPattern>
  }
>()("toolstream/Patterns") {}
