/**
 * Foreign tools for the dialects: schemas at random, values at random, and what a definition says of a value.
 */
import * as Schema from "effect/Schema"
import { Ajv2020 } from "ajv/dist/2020.js"
import {
  type Definitions,
  type Described,
  type Dialect,
  type GeminiSchema,
  toolSchema
} from "../../../layers/dialects/ToolSchema.ts"

export const foreign = (parametersSchema: unknown, successSchema: unknown = {}): Described => ({
  name: "foreign",
  title: "Foreign",
  description: "A foreign tool.",
  parametersSchema,
  successSchema,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true }
})

export const all = (tool: Described): { readonly [D in Dialect]: Definitions[D] } => ({
  openai: toolSchema(tool, "openai"),
  "openai-strict": toolSchema(tool, "openai-strict"),
  anthropic: toolSchema(tool, "anthropic"),
  gemini: toolSchema(tool, "gemini"),
  mcp: toolSchema(tool, "mcp")
})

type Json = Readonly<Record<string, unknown>>

const key = Schema.Literals(["a", "b", "c", "a/b c"])
const scalar = Schema.Union([
  Schema.Literals(["", "x", "xy", "7"]),
  Schema.Literals([-1, 0, 1, 2, 3]),
  Schema.Literals([0.5, 7]),
  Schema.Boolean,
  Schema.Null
])

/** Mostly what has parts. */
const value = (depth: number): Schema.Codec<unknown, unknown> =>
  depth === 0
    ? scalar
    : Schema.Union([scalar, Schema.Array(value(depth - 1)).check(Schema.isMaxLength(3)), object(depth)])

const object = (depth: number) => {
  const child = Schema.optionalKey(value(depth - 1))
  return Schema.Struct({ a: child, b: child, c: child, "a/b c": child })
}

/** Arguments of a call: objects over the keys and scalars that the schemas speak of. */
export const Arguments = Schema.Array(object(3)).check(Schema.isMinLength(40), Schema.isMaxLength(40))

const optional = Schema.optionalKey
const count = Schema.Literals([0, 1, 2])
const bound = Schema.Literals([-1, 0, 1, 2, 0.5])
const type = Schema.Literals(["string", "number", "integer", "boolean", "object", "array", "null"])
const reference = Schema.Struct({
  $ref: Schema.Literals([
    "#",
    "#/$defs/A",
    "#/$defs/B",
    "#/$defs/a~1b%20c",
    "#/$defs/A/properties/a",
    "#/$defs/Missing"
  ]),
  description: optional(Schema.Literals(["Words."]))
})
const words = { title: optional(Schema.Literals(["Title"])), description: optional(Schema.Literals(["Some words"])) }
const named = <S extends Schema.Top>(schema: S) =>
  Schema.Struct({ a: optional(schema), b: optional(schema), c: optional(schema), "a/b c": optional(schema) })

const leaves = Schema.Union([
  Schema.Boolean,
  Schema.Struct({}),
  Schema.Struct({ ...words, type }),
  Schema.Struct({ type: Schema.Array(type).check(Schema.isMinLength(1), Schema.isMaxLength(3), Schema.isUnique()) }),
  Schema.Struct({
    ...words,
    enum: Schema.Array(scalar).check(Schema.isMinLength(1), Schema.isMaxLength(4), Schema.isUnique())
  }),
  Schema.Struct({ const: scalar, default: optional(scalar) }),
  Schema.Struct({
    type: optional(Schema.Literals(["string"])),
    minLength: optional(count),
    maxLength: optional(count),
    pattern: optional(Schema.Literals(["^x", "y$", "^(?!x)"])),
    format: optional(Schema.Literals(["date-time", "uri", "email"]))
  }),
  Schema.Struct({
    type: optional(Schema.Literals(["number", "integer"])),
    minimum: optional(bound),
    maximum: optional(bound),
    exclusiveMinimum: optional(bound),
    multipleOf: optional(Schema.Literals([1, 2, 0.5]))
  })
])

/** Compound schemas over others. Their keywords stand together as they may, sense or not. */
const compounds = (inner: Schema.Codec<unknown, unknown>) => {
  const members = Schema.Array(inner).check(Schema.isMinLength(1), Schema.isMaxLength(3))
  const open = {
    ...words,
    properties: optional(named(inner)),
    required: optional(Schema.Array(key).check(Schema.isMaxLength(2), Schema.isUnique())),
    type: optional(Schema.Literals(["object"]))
  }
  const structure = { ...open, additionalProperties: optional(inner) }
  const composition = { anyOf: optional(members), oneOf: optional(members), allOf: optional(members) }
  const objects = [
    Schema.Struct(open),
    Schema.Struct({ ...open, additionalProperties: Schema.Literals([false]) }),
    Schema.Struct(structure),
    Schema.Struct({
      ...structure,
      patternProperties: optional(Schema.Struct({ "^a": optional(inner), c: optional(inner) })),
      minProperties: optional(count),
      maxProperties: optional(count)
    }),
    Schema.Struct({
      ...structure,
      propertyNames: optional(inner),
      dependentRequired: optional(
        Schema.Struct({ a: Schema.Array(key).check(Schema.isMaxLength(2), Schema.isUnique()) })
      ),
      dependentSchemas: optional(named(inner))
    }),
    Schema.Struct({
      ...open,
      not: optional(inner),
      if: optional(inner),
      // oxlint-disable-next-line unicorn/no-thenable
      then: optional(inner),
      else: optional(inner)
    }),
    Schema.Struct({ ...open, allOf: optional(members), unevaluatedProperties: Schema.Boolean })
  ] as const
  const forms = Schema.Array(Schema.Union(objects)).check(Schema.isMinLength(1), Schema.isMaxLength(3))
  const unions = [
    Schema.Struct({ ...structure, anyOf: forms }),
    Schema.Struct({ ...open, oneOf: forms, anyOf: optional(forms) }),
    Schema.Struct({ ...structure, allOf: forms, oneOf: optional(forms) })
  ] as const
  const others = [
    Schema.Struct({ ...reference.fields, type: optional(type), properties: optional(named(inner)) }),
    reference,
    Schema.Struct({
      type: Schema.Literals(["array"]),
      items: optional(inner),
      prefixItems: optional(members),
      minItems: optional(count),
      maxItems: optional(count)
    }),
    Schema.Struct({
      items: optional(inner),
      uniqueItems: optional(Schema.Boolean),
      contains: optional(inner),
      maxContains: optional(Schema.Literals([1, 2]))
    }),
    Schema.Struct({ ...composition, ...words, type: optional(type) }),
    Schema.Struct({ ...structure, ...composition, type: optional(type) })
  ] as const
  return { objects, unions, all: [...objects, ...unions, ...others] as const }
}

/** A schema of schemas, so many levels deep. */
const schemas = (depth: number): Schema.Codec<unknown, unknown> => {
  if (depth === 0) return leaves
  const inner = schemas(depth - 1)
  return Schema.Union([leaves, Schema.Union(compounds(inner).all)])
}

const root = (depth: number) => {
  const inner = schemas(depth - 1)
  const compound = Schema.Union(compounds(inner).all)
  const { objects, unions } = compounds(inner)
  return Schema.Union([
    Schema.Struct({ properties: Schema.Struct({ a: compound, b: inner, c: optional(inner) }) }),
    Schema.Struct({ properties: Schema.Struct({ a: compound, b: compound }), required: Schema.Array(key) }),
    ...objects,
    ...unions,
    leaves
  ])
}

/** Whole documents. */
export const Documents = Schema.Struct({
  schema: root(3),
  definitions: Schema.Struct({ A: schemas(2), B: schemas(1), "a/b c": schemas(1) })
})

export const documentOf = ({
  definitions,
  schema
}: {
  readonly schema: unknown
  readonly definitions: object
}): unknown => (typeof schema === "boolean" ? schema : { ...(schema as object), $defs: definitions })

/** One for all: it compiles the meta-schema but once. */
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, inlineRefs: false })

/**
 * Compiles, or fails the test: a definition is always a schema. Some nestings of `if`, `then` and
 * `additionalProperties` make ajv write code that names a variable it does not declare: such a value is not refused.
 */
export const strictValidator = (schema: object): ((value: unknown) => boolean) => {
  const validate = ajv.compile(schema)
  ajv.removeSchema(schema)
  return (value) => {
    try {
      return validate(value)
    } catch (cause) {
      if (cause instanceof ReferenceError) return true
      throw cause
    }
  }
}

/** A validator; what cannot be compiled, or goes round for ever, accepts nothing. */
export const validator = (schema: unknown): ((value: unknown) => boolean) => {
  try {
    const validate = strictValidator(typeof schema === "boolean" ? { allOf: [schema] } : (schema as object))
    return (value) => {
      try {
        return validate(value)
      } catch {
        return false
      }
    }
  } catch {
    return () => false
  }
}

/** Gemini's schema in the words of JSON Schema. */
export const plainly = (schema: GeminiSchema): Json => {
  const { anyOf, enum: values, format: _, items, nullable, properties, type, ...rest } = schema
  if (anyOf !== undefined) return { anyOf: anyOf.map(plainly) }
  const plain = {
    ...rest,
    ...(type === undefined ? {} : { type: type.toLowerCase() }),
    ...(values === undefined ? {} : { enum: values }),
    ...(items === undefined ? {} : { items: plainly(items) }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, plainly(inner)])) })
  }
  return nullable === true ? { anyOf: [plain, { type: "null" }] } : plain
}

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** What a model in strict mode sends for a value: null for what is absent, and no keys but those that are listed. */
export const filled = (value: unknown, schema: unknown): unknown => {
  if (!isRecord(schema)) return value
  if (Array.isArray(schema["anyOf"])) {
    for (const member of schema["anyOf"]) {
      const attempt = filled(value, member)
      if (strictValidator(member)(attempt)) return attempt
    }
    return value
  }
  if (Array.isArray(value) && isRecord(schema["items"])) return value.map((item) => filled(item, schema["items"]))
  if (!isRecord(value) || !isRecord(schema["properties"])) return value
  return Object.fromEntries(
    Object.entries(schema["properties"]).map(([name, inner]) => [
      name,
      Object.hasOwn(value, name) ? filled(value[name], inner) : null
    ])
  )
}
