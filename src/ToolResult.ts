/**
 * What a call ended with, when it ended with a success, and what is known of one
 * that did not get so far.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ToolContent } from "./ToolContent.ts"

/**
 * The success of a tool, as JSON, and what the model reads of it.
 *
 * @category models
 * @since 0.1.0
 */
export const ToolResult = Schema.Struct({
  value: Schema.Unknown,
  content: Schema.Array(ToolContent),
  /** A success that the model must see as an error: a command that exits with 1. */
  isError: Schema.Boolean,
  /** Why the journal does not have it: after a crash it is not known that the call ended like this. */
  unrecorded: Schema.optionalKey(Schema.String)
})
export type ToolResult = typeof ToolResult.Type

/**
 * What is known of a call that was ended before its result: a value of the tool's
 * `partial` schema, as JSON, and what the model reads of it.
 *
 * @category models
 * @since 0.1.0
 */
export const Partial = Schema.Struct({
  value: Schema.Unknown,
  content: Schema.Array(ToolContent)
})
export type Partial = typeof Partial.Type
