import { assert, describe, it } from "@effect/vitest"
import * as Original from "./Original.ts"
import * as Subsets from "./Subsets.ts"

const chain = (length: number, link: (next: string) => object) => ({
  type: "object",
  properties: { start: { $ref: "#/$defs/0" } },
  $defs: Object.fromEntries(
    Array.from({ length }, (_, index) => [index, link(`#/$defs/${index === length - 1 ? 0 : index + 1}`)])
  )
})

const nested = (depth: number, wrap: (inner: unknown) => unknown) => {
  let schema: unknown = { type: "string" }
  for (let level = 0; level < depth; level++) schema = wrap(schema)
  return { type: "object", properties: { x: schema } }
}

const keys = (count: number, schema: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, schema(index)]))

const forms = (count: number, inner: unknown) =>
  Array.from({ length: count }, (_, index) => ({
    type: "object",
    properties: { [`form${index}`]: inner },
    required: [`form${index}`]
  }))

/** Each is small on the wire, and large, deep or endless when it is followed. */
const bombs: Readonly<Record<string, () => unknown>> = {
  "references that double": () =>
    chain(60, ($ref) => ({ type: "object", properties: { a: { $ref }, b: { $ref }, c: { $ref } } })),
  "a cycle through allOf": () => chain(3, ($ref) => ({ type: "object", allOf: [{ $ref }, { $ref }] })),
  "a cycle of nothing but references": () => chain(5, ($ref) => ({ $ref })),
  "a root that is itself": () => ({ $ref: "#" }),
  "a root that is all of itself": () => ({
    type: "object",
    allOf: [{ $ref: "#" }],
    anyOf: [{ $ref: "#" }, { $ref: "#" }]
  }),
  "references with siblings, one after the other": () => chain(20_000, ($ref) => ({ $ref, maxLength: 3 })),
  "references, one after the other": () => chain(20_000, ($ref) => ({ $ref })),
  "10,000 properties": () => ({ type: "object", properties: keys(10_000, () => ({ type: "string" })) }),
  "10,000 properties that take anything": () => ({ type: "object", properties: keys(10_000, () => true) }),
  "20,000 properties, all required, and no others": () => ({
    type: "object",
    properties: keys(20_000, (index) => ({ type: "string", description: `Key ${index}` })),
    required: Object.keys(keys(20_000, () => 0)),
    additionalProperties: false
  }),
  "a wide definition in many places": () => ({
    type: "object",
    properties: keys(1_000, () => ({ $ref: "#/$defs/W" })),
    $defs: { W: { type: "object", properties: keys(1_000, () => ({ type: "integer" })) } }
  }),
  "a long description in many places": () => ({
    type: "object",
    properties: keys(2_000, () => ({ $ref: "#/$defs/L" })),
    $defs: { L: { type: "string", description: "words ".repeat(20_000) } }
  }),
  "a long enum in many places": () => ({
    type: "object",
    properties: keys(2_000, () => ({ $ref: "#/$defs/E" })),
    $defs: { E: { enum: Array.from({ length: 20_000 }, (_, index) => `member ${index}`) } }
  }),
  "objects in objects": () => nested(5_000, (inner) => ({ type: "object", properties: { x: inner } })),
  "arrays in arrays": () => nested(5_000, (items) => ({ type: "array", items })),
  "unions in unions": () => nested(5_000, (inner) => ({ anyOf: [inner, { type: "number" }] })),
  "negations in negations": () => nested(5_000, (not) => ({ not })),
  "a default that is too deep to print": () => {
    let value: unknown = 1
    for (let level = 0; level < 20_000; level++) value = [value]
    return { type: "object", properties: { x: { default: value, enum: [value] } }, default: value }
  },
  "unions that multiply": () => ({
    type: "object",
    properties: {
      x: {
        allOf: Array.from({ length: 30 }, () => ({ anyOf: [{ minLength: 1 }, { maxLength: 9 }, { pattern: "x" }] }))
      }
    }
  }),
  "unions over wide objects, level by level": () => {
    let inner: unknown = { type: "string" }
    for (let level = 0; level < 8; level++) {
      inner = { type: "object", properties: { ...keys(50, () => ({ type: "string" })), inner }, anyOf: forms(30, {}) }
    }
    return { type: "object", properties: { inner } }
  },
  "unions at the root, level by level": () => {
    let inner: object = { type: "object", properties: keys(2_000, () => ({ type: "string" })) }
    for (let level = 0; level < 15; level++) inner = { anyOf: [inner, ...forms(3, { type: "string" })], ...inner }
    return inner
  },
  "a root of 5,000 forms": () => ({ anyOf: forms(5_000, { type: "string" }) }),
  "a root of 60 wide forms": () => ({
    oneOf: Array.from({ length: 60 }, (_, form) => ({
      type: "object",
      properties: keys(300, (index) => ({ type: "string", description: `${form}.${index}` })),
      additionalProperties: false
    }))
  }),
  "a tuple of 10,000": () => ({
    type: "object",
    properties: { x: { type: "array", prefixItems: Array.from({ length: 10_000 }, (_, index) => ({ const: index })) } }
  })
}

describe("toolSchema: bombs", () => {
  it.each(Object.entries(bombs))("%s", (_, bomb) => {
    const schema = bomb()
    const startedAt = performance.now()
    const definitions = Original.all(Original.foreign(schema, schema))
    const took = performance.now() - startedAt
    for (const [dialect, definition] of Object.entries(definitions)) {
      assert.isBelow(JSON.stringify(definition).length, 1_500_000, dialect)
    }
    assert.deepStrictEqual(Subsets.breaches(definitions), [])
    assert.isBelow(took, 10_000)
  })

  it("keys that are not shown are still accepted", () => {
    const definitions = Original.all(
      Original.foreign({
        type: "object",
        properties: keys(300, () => ({ type: "string", description: "words ".repeat(300) })),
        required: ["key299"],
        additionalProperties: false
      })
    )
    const value = { key299: "last" }
    assert.isUndefined(Object(definitions.anthropic.input_schema["properties"])["key299"]?.type)
    assert.isTrue(Original.strictValidator(definitions.openai.parameters)(value))
    assert.isTrue(Original.strictValidator(definitions.anthropic.input_schema)(value))
    assert.isTrue(Original.strictValidator(Original.plainly(definitions.gemini.parameters ?? {}))(value))
    assert.isFalse(definitions["openai-strict"].strict)
    assert.match(String(definitions.anthropic.input_schema["description"]), /more keys are not shown/)
  })
})
