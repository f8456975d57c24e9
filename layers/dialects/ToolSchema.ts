/**
 * What each provider reads of a tool: one definition, in its own words.
 *
 * **Laws**
 *
 * - *Wider, never narrower*: every object that the parameters' schema accepts, the
 *   definition accepts. What a provider cannot say is left out, and told in the
 *   description in few words. Whoever runs the tool still validates against the original.
 * - The same descriptor gives the same definition, key by key.
 * - Bounded: references are inlined (except for MCP) and whatever the schema, a
 *   definition has some 500,000 UTF-16 code units of JSON text, at most a few times that in a union bomb. Beyond the
 *   bounds stands a schema that accepts anything. A definition that refers to itself is shown three levels deep.
 *
 * Two exceptions to the first, both because the provider has no words for more: under
 * `openai-strict` a key that may be absent is null instead, and an object that lists keys without a word
 * on others takes these only; Gemini's arrays must say what they hold, so where anything is accepted that is
 * arrays three deep.
 *
 * Names are those of the descriptor: mangling them is not done here.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"
import type { ToolDescriptor } from "../../src/ErasedTool.ts"
import { isNever, typesOf } from "./internal/Combine.ts"
import { gemini, type GeminiSchema } from "./internal/Gemini.ts"
import { inline, maxSize } from "./internal/Inline.ts"
import { entriesOf, fromEntries, isRecord, nodes, pick, sizeOf, strings, without } from "./internal/Json.ts"
import { noteOf, withNote } from "./internal/Notes.ts"
import { strict, type StrictObject } from "./internal/OpenAiStrict.ts"
import { root } from "./internal/Root.ts"
import { anthropicKey, anthropicRootRefused, openAiRootRefused } from "./internal/Subsets.ts"

export type { GeminiSchema, StrictObject }

/**
 * The part of a descriptor that providers read. A foreign server's tool has it, too, with
 * any JSON as its schemas.
 *
 * @category models
 * @since 0.1.0
 */
export interface Described extends Pick<ToolDescriptor, "name" | "title" | "description" | "hints"> {
  /** JSON Schema of any draft, or whatever a server sent in its place. */
  readonly parametersSchema: unknown
  readonly successSchema: unknown
}

/**
 * JSON Schema 2020-12 whose root is an object.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObjectSchema extends JsonSchema.JsonSchema {
  readonly type: "object"
}

/**
 * Without strict mode, which is on unless a definition says otherwise.
 *
 * **Source** OpenAI, API reference, Responses, `tools`, "Function".
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenAiFunction {
  readonly type: "function"
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
  readonly strict: false
}

/**
 * In strict mode, the model's arguments always fit. An absent key is null in them.
 *
 * **Source** OpenAI, Function calling, "Strict mode"; Structured model outputs, "Supported schemas".
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenAiStrictFunction extends Omit<OpenAiFunction, "parameters" | "strict"> {
  readonly parameters: StrictObject
  readonly strict: true
}

/**
 * **Source** Anthropic, API reference, Messages, `tools`.
 *
 * @category models
 * @since 0.1.0
 */
export interface AnthropicTool {
  readonly name: string
  readonly description: string
  readonly input_schema: ObjectSchema
}

/**
 * Without `parameters` for a tool that takes none: an object without properties is refused there.
 *
 * **Source** Gemini API, v1beta, `FunctionDeclaration` and `Schema`.
 *
 * @category models
 * @since 0.1.0
 */
export interface GeminiFunction {
  readonly name: string
  readonly description: string
  readonly parameters?: GeminiSchema
}

/**
 * With `outputSchema` where every success is an object.
 *
 * **Source** MCP 2025-11-25, schema, `Tool` and `ToolAnnotations`.
 *
 * @category models
 * @since 0.1.0
 */
export interface McpTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ObjectSchema
  readonly outputSchema?: ObjectSchema
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

/**
 * The definition that goes over each provider's wire.
 *
 * @category models
 * @since 0.1.0
 */
export interface Definitions {
  readonly openai: OpenAiFunction
  /** Not strict where the parameters have no strict form: open maps, values of any kind, limits exceeded. */
  readonly "openai-strict": OpenAiStrictFunction | OpenAiFunction
  readonly anthropic: AnthropicTool
  readonly gemini: GeminiFunction
  readonly mcp: McpTool
}

/**
 * @category models
 * @since 0.1.0
 */
export type Dialect = keyof Definitions

/**
 * The definition of a tool for one provider.
 *
 * ```ts
 * toolSchema(descriptor, "anthropic") // { name, description, input_schema: { type: "object", … } }
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const toolSchema = <D extends Dialect>(descriptor: Described, dialect: D): Definitions[D] =>
  definitions[dialect](descriptor)

const openai = (descriptor: Described): OpenAiFunction => ({
  type: "function",
  name: descriptor.name,
  description: descriptor.description,
  parameters: parameters(descriptor.parametersSchema, openAiRootRefused),
  strict: false
})

const definitions: { readonly [D in Dialect]: (descriptor: Described) => Definitions[D] } = {
  openai,
  "openai-strict": (descriptor) => {
    const schema = strict(root(inline(descriptor.parametersSchema)))
    if (schema === undefined) return openai(descriptor)
    return {
      type: "function",
      name: descriptor.name,
      description: descriptor.description,
      parameters: schema,
      strict: true
    }
  },
  anthropic: ({ description, name, parametersSchema }) => ({
    name,
    description,
    input_schema: plainKeys(parameters(parametersSchema, anthropicRootRefused))
  }),
  gemini: ({ description, name, parametersSchema }) => {
    const schema = gemini(root(inline(parametersSchema)))
    if (schema.properties !== undefined) return { name, description, parameters: schema }
    const note = schema.description
    return { name, description: note === undefined ? description : `${description}\n\nParameters: ${note}` }
  },
  mcp: ({ description, hints, name, parametersSchema, successSchema, title }) => ({
    name,
    title,
    description,
    inputSchema: verbatim(parametersSchema) ?? ofObjects(inline(parametersSchema)),
    ...output(successSchema),
    annotations: {
      readOnlyHint: hints.readOnly,
      destructiveHint: hints.destructive,
      idempotentHint: hints.idempotent,
      openWorldHint: hints.openWorld
    }
  })
}

/** An object at the root, and below it every keyword that the schema had. */
const parameters = (schema: unknown, refused: ReadonlyArray<string>): ObjectSchema => {
  const object = root(inline(schema))
  const kept = without(object, refused)
  return { ...complete(withNote(kept, noteOf(object, refused))), type: "object" }
}

/** Arrays say what they hold, and objects what they have, even if that is nothing: some validators demand it. */
const complete = (node: JsonSchema.JsonSchema): JsonSchema.JsonSchema => {
  const out = fromEntries(
    Object.entries(node).map(([key, value]): readonly [string, unknown] => [
      key,
      maps.has(key) && isRecord(value)
        ? fromEntries(entriesOf(value).map(([name, schema]) => [name, complete(schema)] as const))
        : lists.has(key)
          ? nodes(value).map(complete)
          : singles.has(key) && isRecord(value)
            ? complete(value)
            : value
    ])
  )
  if (node["type"] === undefined) return out
  const types = typesOf(node)
  return {
    ...out,
    ...(types.includes("array") && node["items"] === undefined ? { items: {} } : {}),
    ...(types.includes("object") && node["properties"] === undefined ? { properties: {} } : {})
  }
}

const maps = new Set(["properties", "patternProperties", "dependentSchemas"])
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])
const singles = new Set(["additionalProperties", "items", "contains", "propertyNames", "not", "if", "then", "else"])

/** Keys that Anthropic refuses are told in the description, and stay possible. */
const plainKeys = (schema: ObjectSchema): ObjectSchema => {
  const named = entriesOf(schema["properties"])
  const plain = named.filter(([name]) => anthropicKey.test(name))
  if (plain.length === named.length) return schema
  const names = new Set(plain.map(([name]) => name))
  const others = named.flatMap(([name]) => (names.has(name) ? [] : [JSON.stringify(name)]))
  const required = strings(schema["required"]).filter((name) => anthropicKey.test(name))
  const note = `further keys: ${others.slice(0, 8).join(", ")}`
  const kept = without(schema, ["properties", "additionalProperties", "required"])
  return { ...withNote(kept, note), properties: fromEntries(plain), required, type: "object" }
}

/** The schema as it is, references and all, where it says itself that it is an object. */
const verbatim = (schema: unknown): ObjectSchema | undefined =>
  isRecord(schema) && schema["type"] === "object" && sizeOf(schema, maxSize) < Infinity
    ? { ...schema, ...(schema["properties"] === undefined ? { properties: {} } : {}), type: "object" }
    : undefined

/** Unions may stay at this root: only its type is asked for. */
const ofObjects = (schema: JsonSchema.JsonSchema): ObjectSchema =>
  isNever(schema) || !typesOf(schema).includes("object")
    ? { ...root(schema), type: "object" }
    : { properties: {}, ...schema, type: "object" }

const output = (schema: unknown): Pick<McpTool, "outputSchema"> => {
  if (!isRecord(schema)) return {}
  const object = verbatim(schema)
  if (object !== undefined) return { outputSchema: object }
  const inlined = inline(schema)
  return onlyObjects(inlined)
    ? { outputSchema: { ...inlined, ...pick(schema, new Set(["title"])), type: "object" } }
    : {}
}

const onlyObjects = (node: JsonSchema.JsonSchema): boolean =>
  (node["type"] !== undefined && typesOf(node).every((type) => type === "object")) ||
  ["anyOf", "oneOf"].some((key) => node[key] !== undefined && nodes(node[key]).every(onlyObjects)) ||
  nodes(node["allOf"]).some(onlyObjects)
