/**
 * The keywords of one schema object, from whichever draft it is written in, in
 * the words of 2020-12.
 *
 * A keyword that the declared draft does not know is no constraint there, so it
 * must not become one: it is left out. What is malformed is left out, too.
 *
 * **Source** JSON Schema draft-04 §5, draft-06 and draft-07 §6, 2019-09 and
 * 2020-12 (Core §10, Validation §6); OpenAPI 3.0.3, Schema Object (`nullable`).
 *
 * @since 0.1.0
 */
import { isRecord, type Node } from "./Json.ts"

export type Draft = 4 | 6 | 7 | 2019 | 2020

/** Undeclared means 2020-12, as MCP says. */
export const draftOf = (schema: unknown): Draft => {
  const declared = isRecord(schema) && typeof schema["$schema"] === "string" ? schema["$schema"] : ""
  const found = /draft-0([3-7])|draft\/(2019)-09/.exec(declared)
  if (found === null) return 2020
  if (found[2] !== undefined) return 2019
  return found[1] === "7" ? 7 : found[1] === "6" ? 6 : 4
}

/** Before 2019-09 whatever stands beside a reference is ignored. */
export const ignoresSiblings = (draft: Draft): boolean => draft <= 7

const since = new Map<string, Draft>([
  ["const", 6],
  ["contains", 6],
  ["propertyNames", 6],
  ["if", 7],
  ["then", 7],
  ["else", 7],
  ["dependentRequired", 2019],
  ["dependentSchemas", 2019],
  ["minContains", 2019],
  ["maxContains", 2019],
  ["prefixItems", 2020]
])

/** Keywords whose value is a schema. */
export const single = [
  "additionalProperties",
  "items",
  "contains",
  "propertyNames",
  "not",
  "if",
  "then",
  "else"
] as const
/** Keywords whose value is a list of schemas. */
export const lists = ["allOf", "anyOf", "oneOf", "prefixItems"] as const
/** Keywords whose value holds schemas by name. */
export const maps = ["properties", "patternProperties", "dependentSchemas"] as const

const types = new Set(["null", "boolean", "integer", "number", "string", "array", "object"])

const isSchema = (value: unknown) => typeof value === "boolean" || isRecord(value)
const isList = (value: unknown) => Array.isArray(value) && value.length > 0
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value)
const isString = (value: unknown) => typeof value === "string"
const isStrings = (value: unknown) => Array.isArray(value) && value.every(isString)
const isBoolean = (value: unknown) => typeof value === "boolean"

/** What a well-formed value of each keyword that is kept looks like. */
const wellFormed: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...Object.fromEntries(single.map((key) => [key, isSchema])),
  ...Object.fromEntries(lists.map((key) => [key, isList])),
  ...Object.fromEntries(maps.map((key) => [key, isRecord])),
  type: (value) =>
    Array.isArray(value) ? value.length > 0 && value.every((item) => types.has(item)) : types.has(`${value}`),
  enum: Array.isArray,
  const: () => true,
  required: isStrings,
  dependentRequired: (value) => isRecord(value) && Object.values(value).every(isStrings),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => typeof value === "number" && value > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  minContains: isCount,
  maxContains: isCount,
  uniqueItems: isBoolean,
  pattern: isString,
  format: isString,
  contentEncoding: isString,
  contentMediaType: isString,
  title: isString,
  description: isString,
  default: () => true,
  examples: Array.isArray,
  deprecated: isBoolean,
  readOnly: isBoolean,
  writeOnly: isBoolean
}

/** Annotations: they say something and demand nothing. */
export const annotations: ReadonlySet<string> = new Set([
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "contentEncoding",
  "contentMediaType"
])

/** Keywords that say where a schema is, or what it is called: nothing is left of them once references are inlined. */
const naming = new Set(["$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions", "$vocabulary", "$ref"])

/**
 * Gives the keywords in the words of 2020-12, references still in place, and the
 * names of those that were left out although they may have meant something.
 */
export const modernise = (
  schema: Node,
  draft: Draft
): { readonly node: Node; readonly lost: ReadonlyArray<string> } => {
  const node: Record<string, unknown> = {}
  const lost: Array<string> = []
  for (const [key, value] of Object.entries(schema)) {
    if (naming.has(key) || !Object.hasOwn(wellFormed, key)) {
      if (!naming.has(key) && losing.has(key)) lost.push(key)
    } else if ((since.get(key) ?? 4) > draft) lost.push(key)
    else if (wellFormed[key]!(value)) node[key] = value
    else if (!handled.has(key)) lost.push(key)
  }

  // Tuples were an array under `items` up to 2019-09.
  if (isList(schema["items"])) {
    node["prefixItems"] = schema["items"]
    delete node["items"]
    if (isSchema(schema["additionalItems"])) node["items"] = schema["additionalItems"]
  } else if (Array.isArray(schema["items"])) delete node["items"]

  // Ajv and others that read 2020-12 do not know `dependencies` any more.
  if (isRecord(schema["dependencies"])) {
    if (draft > 7) lost.push("dependencies")
    else {
      const all = Object.entries(schema["dependencies"])
      const required = all.filter(([, value]) => isStrings(value))
      const schemas = all.filter(([, value]) => isSchema(value))
      if (required.length > 0) node["dependentRequired"] = Object.fromEntries(required)
      if (schemas.length > 0) node["dependentSchemas"] = Object.fromEntries(schemas)
    }
  }

  // Flags beside the bound up to draft-04.
  for (const [flag, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"]
  ] as const) {
    if (schema[flag] === true && isNumber(schema[bound])) {
      node[flag] = schema[bound]
      delete node[bound]
    }
  }

  // Which keys are additional is not known.
  if (lost.includes("properties") || lost.includes("patternProperties")) delete node["additionalProperties"]

  if (schema["nullable"] === true) {
    if (node["type"] !== undefined) node["type"] = [...new Set([node["type"], "null"].flat())]
    if (Array.isArray(node["enum"]) && !node["enum"].includes(null)) node["enum"] = [...node["enum"], null]
  }
  return { node, lost }
}

/** Understood above, in a form of their own. */
const handled = new Set(["items", "exclusiveMinimum", "exclusiveMaximum"])

/** Not carried over: each depends on what other keywords saw, which no provider reads alike. */
const losing = new Set(["unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"])
