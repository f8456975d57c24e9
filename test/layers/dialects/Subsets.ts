/**
 * What each provider publishes that it takes, as data and a walk over it: written from the documents, not from
 * the code under test. Every function gives the breaches of a definition, with the place.
 */

type Json = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)
const record = (value: unknown): Json => (isRecord(value) ? value : {})
const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The name that all three take. */
const name = /^[a-zA-Z0-9_-]{1,64}$/

const head = (definition: Json, keys: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...Object.keys(definition)
    .filter((key) => !keys.includes(key))
    .map((key) => `unknown name "${key}"`),
  ...(name.test(String(definition["name"])) ? [] : ["name does not match"]),
  ...(typeof definition["description"] === "string" ? [] : ["no description"])
]

/** Every subschema of 2020-12, with its place. */
const subschemas = (schema: unknown, at = ""): ReadonlyArray<readonly [string, unknown]> => [
  [at, schema],
  ...(isRecord(schema)
    ? Object.entries(schema).flatMap(([key, value]) =>
        ["properties", "patternProperties", "dependentSchemas", "$defs"].includes(key)
          ? Object.entries(record(value)).flatMap(([child, inner]) => subschemas(inner, `${at}/${key}/${child}`))
          : ["anyOf", "oneOf", "allOf", "prefixItems"].includes(key)
            ? list(value).flatMap((inner, index) => subschemas(inner, `${at}/${key}/${index}`))
            : ["items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"].includes(key)
              ? subschemas(value, `${at}/${key}`)
              : []
      )
    : [])
]

const types = ["string", "number", "integer", "boolean", "object", "array", "null"]

const typesOf = (schema: Json) => (schema["type"] === undefined ? [] : [schema["type"]].flat())

/** What holds wherever JSON Schema is read by a validator that is not quite one. */
const plain = (root: unknown): ReadonlyArray<string> =>
  subschemas(root).flatMap(([at, schema]) => {
    if (typeof schema === "boolean") {
      return /\/(?:additionalProperties|items)$/.test(at) ? [] : [`${at}: a boolean is no object`]
    }
    const node = record(schema)
    return [
      ...["$ref", "definitions", "$defs", "dependencies", "additionalItems", "nullable", "$schema", "$id"]
        .filter((key) => key in node)
        .map((key) => `${at}: ${key}`),
      ...typesOf(node)
        .filter((type) => !types.includes(String(type)))
        .map((type) => `${at}: type ${String(type)}`),
      ...(typesOf(node).includes("array") && !("items" in node) ? [`${at}: array schema missing items`] : []),
      ...(typesOf(node).includes("object") && !("properties" in node)
        ? [`${at}: object schema missing properties`]
        : []),
      ...(Array.isArray(node["items"]) ? [`${at}: items is an array`] : []),
      ...["exclusiveMinimum", "exclusiveMaximum"]
        .filter((key) => typeof node[key] === "boolean")
        .map((key) => `${at}: ${key} is a flag`)
    ]
  })

const rootObject = (root: unknown, refused: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...(record(root)["type"] === "object" ? [] : ["the root is no object"]),
  ...(isRecord(record(root)["properties"]) ? [] : ["the root has no properties"]),
  ...refused.filter((key) => key in record(root)).map((key) => `${key} at the root`)
]

/** OpenAI, function calling without strict mode. */
export const openai = (definition: object): ReadonlyArray<string> => {
  const { parameters, strict, type } = record(definition)
  return [
    ...head(record(definition), ["type", "name", "description", "parameters", "strict"]),
    ...(type === "function" && strict === false ? [] : ["no function without strict mode"]),
    ...rootObject(parameters, ["oneOf", "anyOf", "allOf", "enum", "const", "not"]),
    ...plain(parameters)
  ]
}

/** Anthropic, `tools`. */
export const anthropic = (definition: object): ReadonlyArray<string> => {
  const { input_schema: schema } = record(definition)
  return [
    ...head(record(definition), ["name", "description", "input_schema"]),
    ...rootObject(schema, ["oneOf", "anyOf", "allOf"]),
    ...plain(schema),
    ...Object.keys(record(record(schema)["properties"]))
      .filter((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key))
      .map((key) => `property key ${key}`)
  ]
}

const strictKeywords: Readonly<Record<string, ReadonlyArray<string>>> = {
  string: ["pattern", "format"],
  number: ["multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"],
  integer: ["multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"],
  boolean: [],
  null: [],
  array: ["items", "minItems", "maxItems"],
  object: ["properties", "required", "additionalProperties"]
}
const strictFormats = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]

/** OpenAI, Structured model outputs, Supported schemas. */
export const openaiStrict = (definition: object): ReadonlyArray<string> => {
  const { parameters, strict, type } = record(definition)
  const breaches: Array<string> = []
  let [properties, enumValues, text] = [0, 0, 0]
  const walk = (schema: unknown, at: string, level: number): void => {
    if (!isRecord(schema)) return void breaches.push(`${at}: no object`)
    if ("anyOf" in schema) {
      const others = Object.keys(schema).filter((key) => !["anyOf", "description", "title"].includes(key))
      if (at === "" || others.length > 0) breaches.push(`${at}: ${others.join()} beside anyOf`)
      if (list(schema["anyOf"]).length === 0) breaches.push(`${at}: an empty anyOf`)
      return list(schema["anyOf"]).forEach((member, index) => walk(member, `${at}/anyOf/${index}`, level))
    }
    const own = typesOf(schema).map(String)
    if (own.length === 0 || own.some((one) => !types.includes(one))) breaches.push(`${at}: type ${own.join()}`)
    const allowed = ["type", "title", "description", "enum", ...own.flatMap((one) => strictKeywords[one] ?? [])]
    for (const key of Object.keys(schema)) if (!allowed.includes(key)) breaches.push(`${at}: ${key} is not permitted`)
    if ("format" in schema && !strictFormats.includes(String(schema["format"]))) breaches.push(`${at}: format`)
    if ("enum" in schema) {
      const values = list(schema["enum"])
      const length = values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0)
      enumValues += values.length
      text += length
      if (values.length > 250 && length > 15_000) breaches.push(`${at}: a long enum`)
    }
    if (own.includes("array")) walk(schema["items"], `${at}/items`, level + 1)
    if (own.includes("object")) {
      if (level > 10) breaches.push(`${at}: ${level} levels of nesting`)
      const keys = Object.keys(record(schema["properties"]))
      if (schema["additionalProperties"] !== false) breaches.push(`${at}: additionalProperties`)
      if (keys.join() !== list(schema["required"]).join()) breaches.push(`${at}: required`)
      properties += keys.length
      for (const key of keys) {
        text += key.length
        walk(record(schema["properties"])[key], `${at}/properties/${key}`, level + 1)
      }
    }
  }
  walk(parameters, "", 1)
  return [
    ...head(record(definition), ["type", "name", "description", "parameters", "strict"]),
    ...(type === "function" && strict === true ? [] : ["no strict function"]),
    ...(record(parameters)["type"] === "object" ? [] : ["the root is no object"]),
    ...(properties > 5_000 ? [`${properties} properties`] : []),
    ...(enumValues > 1_000 ? [`${enumValues} enum values`] : []),
    ...(text > 120_000 ? [`${text} code units of names`] : []),
    ...breaches
  ]
}

const geminiFields: Readonly<Record<string, ReadonlyArray<string>>> = {
  STRING: ["format", "enum", "minLength", "maxLength", "pattern"],
  NUMBER: ["format", "minimum", "maximum"],
  INTEGER: ["format", "minimum", "maximum"],
  BOOLEAN: [],
  ARRAY: ["items", "minItems", "maxItems"],
  OBJECT: ["properties", "required", "minProperties", "maxProperties"]
}
const geminiFormats: Readonly<Record<string, ReadonlyArray<string>>> = {
  STRING: ["enum", "date-time"],
  NUMBER: ["float", "double"],
  INTEGER: ["int32", "int64"]
}

/** Gemini, `FunctionDeclaration` and `Schema`, with what `generateContent` says when it refuses. */
export const gemini = (definition: object): ReadonlyArray<string> => {
  const breaches: Array<string> = []
  const walk = (schema: unknown, at: string): void => {
    if (!isRecord(schema)) return void breaches.push(`${at}: no object`)
    if ("anyOf" in schema) {
      if (Object.keys(schema).length > 1) breaches.push(`${at}: any_of must be the only field set`)
      if (list(schema["anyOf"]).length === 0) breaches.push(`${at}: an empty any_of`)
      return list(schema["anyOf"]).forEach((member, index) => walk(member, `${at}/anyOf/${index}`))
    }
    const type = String(schema["type"])
    if (geminiFields[type] === undefined) breaches.push(`${at}: type must be specified, not ${type}`)
    const allowed = ["type", "title", "description", "nullable", ...(geminiFields[type] ?? [])]
    for (const key of Object.keys(schema)) if (!allowed.includes(key)) breaches.push(`${at}: unknown name "${key}"`)
    if ("format" in schema && !geminiFormats[type]?.includes(String(schema["format"]))) breaches.push(`${at}: format`)
    if ("enum" in schema && !list(schema["enum"]).every((value) => typeof value === "string" && value !== "")) {
      breaches.push(`${at}: enum members are non-empty strings`)
    }
    if (type === "ARRAY") walk(schema["items"], `${at}/items`)
    if (type === "OBJECT") {
      const properties = schema["properties"]
      if (properties !== undefined && Object.keys(record(properties)).length === 0) {
        breaches.push(`${at}: properties should be non-empty`)
      }
      for (const key of list(schema["required"])) {
        if (!Object.hasOwn(record(properties), String(key)))
          breaches.push(`${at}: required ${String(key)} is not defined`)
      }
      for (const [key, value] of Object.entries(record(properties))) walk(value, `${at}/properties/${key}`)
    }
  }
  const { parameters } = record(definition)
  if (parameters !== undefined) {
    walk(parameters, "")
    if (record(parameters)["type"] !== "OBJECT") breaches.push("the root is no object")
    if (record(parameters)["properties"] === undefined) breaches.push("parameters without properties")
  }
  return [...head(record(definition), ["name", "description", "parameters"]), ...breaches]
}

/** MCP 2025-11-25, `Tool`. */
export const mcp = (definition: object): ReadonlyArray<string> => {
  const { annotations, inputSchema, name, outputSchema, title } = record(definition)
  const known = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"]
  return [
    ...Object.keys(record(definition))
      .filter((key) => !known.includes(key))
      .map((key) => `unknown name "${key}"`),
    ...(typeof name === "string" && typeof title === "string" ? [] : ["no name or title"]),
    ...(record(inputSchema)["type"] === "object" ? [] : ["the root of the input is no object"]),
    ...(outputSchema === undefined || record(outputSchema)["type"] === "object"
      ? []
      : ["the root of the output is no object"]),
    ...["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
      .filter((hint) => typeof record(annotations)[hint] !== "boolean")
      .map((hint) => `no ${hint}`)
  ]
}

/** Every breach of every definition of a tool; the strict one may have said that it is not strict. */
export const breaches = (definitions: {
  readonly openai: object
  readonly "openai-strict": { readonly strict: boolean }
  readonly anthropic: object
  readonly gemini: object
  readonly mcp: object
}): ReadonlyArray<string> =>
  Object.entries({
    openai: openai(definitions.openai),
    "openai-strict": (definitions["openai-strict"].strict ? openaiStrict : openai)(definitions["openai-strict"]),
    anthropic: anthropic(definitions.anthropic),
    gemini: gemini(definitions.gemini),
    mcp: mcp(definitions.mcp)
  }).flatMap(([dialect, found]) => found.map((breach) => `${dialect}: ${breach}`))
