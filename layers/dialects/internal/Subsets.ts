/**
 * What each provider takes, as data.
 *
 * @since 0.1.0
 */

/**
 * **Source** OpenAI, API reference, error texts of `/responses` ("schema must have type 'object' and not have
 * 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level", "array schema missing items", "object schema missing properties").
 */
export const openAiRootRefused: ReadonlyArray<string> = ["oneOf", "anyOf", "allOf", "enum", "const", "not"]

/** **Source** Anthropic, error texts of `/v1/messages` ("input_schema does not support oneOf, allOf, or anyOf at the top level"). */
export const anthropicRootRefused: ReadonlyArray<string> = ["oneOf", "anyOf", "allOf"]

/** **Source** Anthropic, error texts of `/v1/messages` ("Property keys should match pattern …"), of the root's keys. */
export const anthropicKey = /^[a-zA-Z0-9_.-]{1,64}$/

/** The type keywords of one provider, and the formats it knows. */
export interface Subset {
  readonly string: ReadonlySet<string>
  readonly number: ReadonlySet<string>
  readonly array: ReadonlySet<string>
  readonly object: ReadonlySet<string>
  readonly formats: ReadonlySet<string>
  /** Annotations beside the description. */
  readonly annotations: ReadonlySet<string>
}

/** **Source** OpenAI, Structured model outputs, "Supported schemas". */
export const openAiStrict: Subset = {
  string: new Set(["pattern", "format"]),
  number: new Set(["multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"]),
  array: new Set(["minItems", "maxItems"]),
  object: new Set(),
  formats: new Set(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
  annotations: new Set(["title"])
}

/** **Source** OpenAI, Structured model outputs, "Objects have limitations on nesting depth and size", and the two sections after it. */
export const openAiStrictLimits = {
  nesting: 10,
  properties: 5_000,
  /** Code units of all property names, enum values and constants. */
  text: 120_000,
  enumValues: 1_000,
  /** Of one enum of strings: so many values, and then so many code units. */
  longEnum: { values: 250, text: 15_000 }
} as const

/**
 * **Source** Gemini API, v1beta, `Schema`. Formats: error text of `generateContent` ("only 'enum' and 'date-time' are
 * supported for STRING type"); those of numbers from the reference.
 */
export const gemini: Subset = {
  string: new Set(["minLength", "maxLength", "pattern", "format"]),
  number: new Set(["minimum", "maximum", "format"]),
  array: new Set(["minItems", "maxItems"]),
  object: new Set(["minProperties", "maxProperties"]),
  formats: new Set(["date-time", "float", "double", "int32", "int64"]),
  annotations: new Set(["title"])
}

/** Lookaround and back references: neither RE2 nor the grammars that strict modes compile to have them. */
export const beyondRegular = /\(\?<?[=!]|\\[1-9]|\\k</
