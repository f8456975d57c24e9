/**
 * What a program of the user's own has to say about calls, before anything else does
 * and after the tool has.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ToolContent } from "../../src/ToolContent.ts"
import type { PreparedCall } from "../../src/ToolMiddleware.ts"
import type { ToolResult } from "../../src/ToolResult.ts"

/**
 * What a hook says of a call: nothing; that it is permitted, whatever rules say; that
 * it is not; that it is to be made with other parameters, as JSON, which are decoded
 * again and which whoever decides next sees.
 *
 * @category models
 * @since 0.1.0
 */
export const Saying = Schema.Union([
  Schema.TaggedStruct("Nothing", {}),
  Schema.TaggedStruct("Allow", {}),
  Schema.TaggedStruct("Deny", { why: Schema.String }),
  Schema.TaggedStruct("Rewrite", { parameters: Schema.Unknown })
])
export type Saying = typeof Saying.Type

/**
 * A hook gave no answer. Of one that was asked before the call, nothing was run; of one that was told of its success, that
 * stands.
 *
 * @category errors
 * @since 0.1.0
 */
export class HookFailed extends Schema.TaggedError<HookFailed>()("HookFailed", {
  /** Told to the model. */
  why: Schema.String
}) {
  override get message() {
    return this.why
  }
}

/**
 * Asked before a call is permitted. One that fails denies it: it may have been about to. Why, is told of a `HookFailed`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Before {
  /** Told to the model with a no. */
  readonly name: string
  readonly ask: (prepared: PreparedCall) => Effect.Effect<Saying, unknown>
}

/**
 * Told of a success, to which it may add content for the model. One that fails is logged.
 *
 * @category models
 * @since 0.1.0
 */
export interface After {
  readonly name: string
  readonly tell: (prepared: PreparedCall, result: ToolResult) => Effect.Effect<ReadonlyArray<ToolContent>, unknown>
}

/**
 * @category constants
 * @since 0.1.0
 */
export const nothing: Effect.Effect<Saying> = Effect.succeed({ _tag: "Nothing" })
