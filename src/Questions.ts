/**
 * The port through which a tool asks the user something: what to do, which of several
 * ways, whether a plan is right. Whether a call may run is another question, see
 * `Permission`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ToolCall } from "./ToolCall.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Question {
  /** The call that asks. */
  readonly call: ToolCall
  /** Markdown, long as it may be. */
  readonly text: string
  /** To choose one of. None: the answer is a text. */
  readonly options: ReadonlyArray<string>
}

/**
 * @category models
 * @since 0.1.0
 */
export const Answer = Schema.Union([
  /** One of the options. */
  Schema.TaggedStruct("Chosen", { option: Schema.String }),
  /** In words: also where there were options, and none of them fits. */
  Schema.TaggedStruct("Written", { text: Schema.String }),
  /** No answer. `why` is told to the model. */
  Schema.TaggedStruct("Declined", { why: Schema.String })
])
export type Answer = typeof Answer.Type

/**
 * Asks. Interrupted, the question is withdrawn.
 *
 * @category models
 * @since 0.1.0
 */
export type Ask = (question: Question) => Effect.Effect<Answer>

/**
 * Who is asked. Undefined by default: there is nobody.
 *
 * @category references
 * @since 0.1.0
 */
export const Questions = Context.Reference<Ask | undefined>("toolstream/Questions", {
  defaultValue: () => undefined
})
