/**
 * The port through which foreign JSON Schemas become validators.
 *
 * **Contract**
 *
 * - Drafts: 2020-12, and draft-07; see `dialectOf`. Formats are not asserted, unknown
 *   keywords mean nothing, nothing remote is loaded.
 * - Schemas know nothing of each other: the same `$id` in two of them is no matter.
 * - A compiled validator ends, whatever the schema and the value, and changes neither.
 * - A pattern that the engine cannot run in linear time is not asserted, and is listed
 *   in `ignored`. What the validator then accepts is more, never less. A text that is
 *   too long for its pattern counts as a match.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { InvalidParameters } from "./ToolError.ts"
import { isNode, type Node } from "./SchemaTree.ts"

/**
 * What is wrong with a value, and where. Written for a model.
 *
 * @category models
 * @since 0.1.0
 */
export type Issue = InvalidParameters["issues"][number]

/**
 * A pattern that is not asserted.
 *
 * @category models
 * @since 0.1.0
 */
export interface IgnoredPattern {
  /** A JSON Pointer into the schema, in the form of a fragment. */
  readonly at: string
  readonly pattern: string
  readonly why: string
}

/**
 * A compiled schema. No issues means that the value fits.
 *
 * @category models
 * @since 0.1.0
 */
export interface Validator {
  (value: unknown): ReadonlyArray<Issue>
  readonly ignored: ReadonlyArray<IgnoredPattern>
}

/**
 * Nothing can be validated with the schema. No validator was made.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnusableSchema extends Schema.TaggedError<UnusableSchema>()("UnusableSchema", {
  reason: Schema.Literals(["NotASchema", "MissingReference", "InvalidPattern", "TooLarge"]),
  /** A JSON Pointer into the schema, in the form of a fragment; `#` where it is not known. */
  at: Schema.String,
  /** What is wrong there. */
  detail: Schema.String
}) {
  override get message() {
    return `The schema cannot be used: at ${this.at}, ${this.detail}.`
  }
}

/**
 * @category services
 * @since 0.1.0
 */
export class JsonSchemaValidator extends Context.Service<
  JsonSchemaValidator,
  {
    /** Compiles at once, so that a broken schema is known when its tool is registered and not when it is called. */
    readonly compile: (schema: unknown) => Effect.Effect<Validator, UnusableSchema>
  }
>()("toolstream/JsonSchemaValidator") {}

/**
 * The drafts that are told apart.
 *
 * @category models
 * @since 0.1.0
 */
export type Dialect = "draft-07" | "2020-12"

/** Keywords of draft-07 that mean nothing, or something else, in 2020-12. */
const old = ["definitions", "additionalItems", "dependencies"]

/** Keywords that draft-07 does not have. */
const recent = [
  "$defs",
  "$anchor",
  "$dynamicRef",
  "$dynamicAnchor",
  "prefixItems",
  "dependentRequired",
  "dependentSchemas",
  "unevaluatedProperties",
  "unevaluatedItems"
]

/**
 * The draft by which a schema is read.
 *
 * **Details**
 *
 * What its `$schema` says: drafts 04 to 07 are read as draft-07, 2019-09 and 2020-12 as
 * 2020-12. If it says nothing, or something else, a schema whose root has `definitions`,
 * `additionalItems` or `dependencies`, or a list as its `items`, and nothing that is
 * newer, is of draft-07: that is what generators that omit `$schema` write. Everything
 * else is of 2020-12, as MCP 2025-11-25 has it.
 *
 * @category converting
 * @since 0.1.0
 */
export const dialectOf = (schema: unknown): Dialect => {
  if (!isNode(schema)) return "2020-12"
  const uri = schema["$schema"]
  if (typeof uri === "string") {
    if (/^https?:\/\/json-schema\.org\/draft-0[4-7]\/schema#?$/.test(uri)) return "draft-07"
    if (/^https?:\/\/json-schema\.org\/draft\/20(?:19-09|20-12)\/schema#?$/.test(uri)) return "2020-12"
  }
  const has = (node: Node, names: ReadonlyArray<string>) => names.some((name) => Object.hasOwn(node, name))
  return (has(schema, old) || Array.isArray(schema["items"])) && !has(schema, recent) ? "draft-07" : "2020-12"
}
