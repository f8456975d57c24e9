import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import type { Definitions, Dialect } from "../../../layers/dialects/ToolSchema.ts"
import { toolSchema } from "../../../layers/dialects/ToolSchema.ts"
import * as ErasedTool from "../../../src/ErasedTool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { Bash } from "../../../tools/bash/Bash.ts"
import { Grep } from "../../../tools/Grep.ts"
import { ReadFile } from "../../../tools/ReadFile.ts"
import * as Original from "./Original.ts"
import * as Subsets from "./Subsets.ts"

const { all, foreign } = Original

const descriptorOf = (tool: Parameters<typeof ErasedTool.fromImplementation>[0]) =>
  ErasedTool.fromImplementation(tool, { execute: () => ToolStream.suspend(() => assert.fail("not run")) }).descriptor

const own = [ReadFile, Grep, Bash].map(descriptorOf)

/** The parameters of a foreign tool, as one provider reads them. */
const parameters = {
  openai: (schema: unknown) => toolSchema(foreign(schema), "openai").parameters,
  strict: (schema: unknown) => toolSchema(foreign(schema), "openai-strict"),
  anthropic: (schema: unknown) => toolSchema(foreign(schema), "anthropic").input_schema,
  gemini: (schema: unknown) => toolSchema(foreign(schema), "gemini").parameters,
  mcp: (schema: unknown) => toolSchema(foreign(schema), "mcp").inputSchema
}

const query = {
  type: "object",
  properties: { q: { $ref: "#/$defs/Q" } },
  required: ["q"],
  $defs: { Q: { type: "object", properties: { limit: { type: "integer", default: 20 } } } }
}

const tree = {
  type: "object",
  properties: { root: { $ref: "#/$defs/Node" } },
  $defs: {
    Node: {
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/Node" } } },
      required: ["name"]
    }
  }
}

const cases: Readonly<Record<string, unknown>> = {
  "C118: a definition": query,
  "C118: a definition that refers to itself": tree,
  "C118: a root that refers to itself": {
    type: "object",
    properties: { children: { type: "array", items: { $ref: "#" } } }
  },
  "C118: a reference at the root": { $ref: "#/$defs/Q", $defs: query.$defs },
  "C119: a union at the root": { anyOf: [{ required: ["a"] }, { required: ["b"] }], properties: { a: {}, b: {} } },
  "C119: nested unions": {
    type: "object",
    properties: {
      x: { oneOf: [{ type: "string" }, { type: "array", items: { type: ["integer", "null"] } }, { const: 3 }] }
    }
  },
  "C120: an object": { type: "object" },
  "C120: additionalProperties {}": { type: "object", additionalProperties: {} },
  "C120: {}": {},
  "C120: true": true,
  "C120: false": false,
  "C120: properties alone": { properties: { x: true } },
  "C120: nothing": undefined,
  "C120: null": null,
  "C121: enums of every kind": {
    type: "object",
    properties: {
      number: { enum: [1, 2.5] },
      mixed: { enum: ["a", 1, null, true, { x: 1 }, [1]] },
      empty: { enum: ["", "a"] },
      none: { type: "null" }
    }
  },
  "C121: a format, a pattern, a tuple": {
    type: "object",
    properties: {
      url: { type: "string", format: "uri", pattern: "^https(?=:)" },
      pair: { type: "array", prefixItems: [{ type: "number" }, { type: "string" }], items: false }
    },
    additionalProperties: false
  },
  "C122: draft-07": {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    definitions: { D: { type: "string" } },
    properties: { d: { $ref: "#/definitions/D" }, pair: { type: "array", items: [{ type: "string" }, true] } },
    dependencies: { d: ["pair"] }
  },
  "C122: 2020-12": { $schema: "https://json-schema.org/draft/2020-12/schema", ...query },
  "C122: a reference to nothing": { type: "object", properties: { x: { $ref: "#/$defs/Missing" } } },
  "no object at the root": { type: "string", description: "A word." },
  "keys that Anthropic refuses": {
    type: "object",
    properties: { "filter[id]": { type: "string" }, $top: { type: "integer" }, ok: { type: "string" } },
    required: ["$top", "ok"],
    additionalProperties: false
  },
  "a key named __proto__": JSON.parse(`{"type":"object","properties":{"__proto__":{"type":"string"}}}`)
}

describe("toolSchema: what each provider takes", () => {
  it.each(own.map((tool) => [tool.name, tool] as const))("%s", (_, tool) => {
    assert.deepStrictEqual(Subsets.breaches(all(tool)), [])
  })

  it.each(Object.entries(cases))("%s", (_, schema) => {
    const definitions = all(foreign(schema))
    assert.deepStrictEqual(Subsets.breaches(definitions), [])
    // Deterministic, to the order of keys.
    assert.strictEqual(JSON.stringify(all(foreign(schema))), JSON.stringify(definitions))
  })

  it("the checks of the subsets bite", () => {
    const bad = { type: "object", properties: { x: { $ref: "#/$defs/Q" } }, anyOf: [], additionalProperties: {} }
    const definition = { type: "function", name: "x y", description: "", strict: true, parameters: bad }
    assert.isAbove(Subsets.openai(definition).length, 3)
    assert.isAbove(Subsets.openaiStrict(definition).length, 1)
    assert.isAbove(Subsets.anthropic({ name: "x", description: "", input_schema: bad }).length, 1)
    assert.isAbove(Subsets.gemini({ name: "x", description: "", parameters: bad }).length, 0)
    assert.isAbove(Subsets.mcp({ name: "x", title: "", description: "", inputSchema: {} }).length, 1)
  })

  it("each definition has the type of its provider", () => {
    const tool = foreign(query)
    const anthropic: Definitions["anthropic"] = toolSchema(tool, "anthropic")
    // @ts-expect-error Anthropic has no parameters
    assert.isUndefined(anthropic.parameters)
    const strict = toolSchema(tool, "openai-strict")
    if (strict.strict) assert.isFalse(strict.parameters.additionalProperties)
    const dialects: ReadonlyArray<Dialect> = ["openai", "openai-strict", "anthropic", "gemini", "mcp"]
    for (const dialect of dialects) assert.strictEqual(toolSchema(tool, dialect).name, "foreign")
  })
})

describe("toolSchema: what is said", () => {
  it("C118: a definition stands where it was referred to", () => {
    const properties = { q: { type: "object", properties: { limit: { type: "integer", default: 20 } } } }
    const inlined = { type: "object", properties, required: ["q"] }
    assert.deepStrictEqual(parameters.anthropic(query), { type: "object", properties, required: ["q"] })
    assert.deepStrictEqual(parameters.openai(query), { ...inlined, type: "object" })
    assert.deepStrictEqual(parameters.gemini(query), {
      type: "OBJECT",
      properties: {
        q: { type: "OBJECT", properties: { limit: { type: "INTEGER", description: "Default 20." } } }
      },
      required: ["q"]
    })
    const strict = parameters.strict(query)
    assert.isTrue(strict.strict)
    assert.deepStrictEqual(strict.parameters, {
      type: "object",
      properties: {
        q: {
          type: "object",
          properties: { limit: { type: ["integer", "null"], description: "Default 20." } },
          required: ["limit"],
          additionalProperties: false
        }
      },
      required: ["q"],
      additionalProperties: false
    })
    // MCP keeps it as it is.
    assert.deepEqual<unknown>(parameters.mcp(query), query)
  })

  it("C118: a definition that refers to itself is shown three levels deep, then anything is accepted", () => {
    const text = JSON.stringify(parameters.anthropic(tree))
    assert.strictEqual(text.split(`"name"`).length - 1, 6)
    assert.include(text, "nested further")
    assert.notInclude(text, "$ref")
  })

  it("C118: pointers with escapes, anchors, ids and chains lead to their targets", () => {
    const schema = {
      $id: "https://example.com/tool",
      type: "object",
      properties: {
        a: { $ref: "#/$defs/a~1b%20~0c" },
        b: { $ref: "#named" },
        c: { $ref: "https://example.com/tool#/$defs/chain" },
        d: { $ref: "#/properties/e/anyOf/1" },
        e: { anyOf: [{ type: "null" }, { type: "boolean" }] },
        f: { $ref: "#/$defs/inner" }
      },
      $defs: {
        "a/b ~c": { type: "string" },
        n: { $anchor: "named", type: "number" },
        chain: { $ref: "#/$defs/n" },
        inner: { $id: "https://example.com/inner", $ref: "#/$defs/own", $defs: { own: { type: "integer" } } }
      }
    }
    assert.deepStrictEqual(parameters.openai(schema)["properties"], {
      a: { type: "string" },
      b: { type: "number" },
      c: { type: "number" },
      d: { type: "boolean" },
      e: { anyOf: [{ type: "null" }, { type: "boolean" }] },
      f: { type: "integer" }
    })
  })

  it("C118: words beside a reference win, constraints beside it are added, and draft-07 ignores them", () => {
    const schema = {
      type: "object",
      properties: { a: { $ref: "#/$defs/S", description: "Mine." }, b: { $ref: "#/$defs/S", maxLength: 3 } },
      $defs: { S: { type: "string", description: "Theirs." } }
    }
    const string = { type: "string", description: "Theirs." }
    assert.deepStrictEqual(parameters.openai(schema)["properties"], {
      a: { type: "string", description: "Mine." },
      b: { maxLength: 3, allOf: [string] }
    })
    assert.deepStrictEqual(
      parameters.openai({ $schema: "http://json-schema.org/draft-07/schema#", ...schema })["properties"],
      { a: { type: "string", description: "Mine." }, b: string }
    )
  })

  it("C120: whatever a server sends is an object with properties", () => {
    for (const schema of [{ type: "object" }, {}, true, undefined, null, [], "object"]) {
      assert.deepStrictEqual(parameters.openai(schema), { type: "object", properties: {} })
      assert.deepStrictEqual(parameters.anthropic(schema), { type: "object", properties: {} })
      assert.deepStrictEqual(parameters.mcp(schema), { type: "object", properties: {} })
      assert.isUndefined(parameters.gemini(schema))
      assert.isTrue(parameters.strict(schema).strict)
    }
    assert.deepStrictEqual(parameters.openai({ properties: { x: true } }), { type: "object", properties: { x: {} } })
    assert.deepStrictEqual(parameters.openai({ type: "object", additionalProperties: {} }), {
      type: "object",
      properties: {},
      additionalProperties: {}
    })
  })

  it("a root that is no object takes no parameters, and says so", () => {
    assert.deepStrictEqual(parameters.anthropic({ type: "string", description: "A word." }), {
      type: "object",
      properties: {},
      description: "A word. Declared as no object, but string."
    })
  })

  it("C119: a union at the root is one object whose keys are optional", () => {
    const schema = {
      oneOf: [
        {
          type: "object",
          properties: { by: { const: "id" }, id: { type: "integer" } },
          required: ["by", "id"],
          additionalProperties: false
        },
        {
          type: "object",
          properties: { by: { const: "name" }, name: { type: "string" } },
          required: ["by", "name"],
          additionalProperties: false
        }
      ]
    }
    assert.deepStrictEqual(parameters.anthropic(schema), {
      type: "object",
      properties: {
        by: { anyOf: [{ const: "id" }, { const: "name" }] },
        id: { type: "integer" },
        name: { type: "string" }
      },
      required: ["by"],
      additionalProperties: false,
      description: `One of 2 forms: {by: "id", id} | {by: "name", name}.`
    })
  })

  it("C119: keys that stand beside a union at the root keep their schemas", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "number" } },
      anyOf: [{ required: ["a"] }, { required: ["b"] }]
    }
    assert.deepStrictEqual(parameters.openai(schema)["properties"], schema.properties)
    assert.strictEqual(parameters.openai(schema)["description"], "One of 2 forms: {a} | {b}.")
    const nullable = { anyOf: [{ type: "null" }, { type: "object", properties: { a: { type: "string" } } }] }
    assert.deepStrictEqual(parameters.openai(nullable), { type: "object", properties: { a: { type: "string" } } })
  })

  it("C121: what a provider has no words for is told in few", () => {
    const schema = {
      type: "object",
      properties: {
        n: { type: "integer", exclusiveMinimum: 0, multipleOf: 5, description: "How many" },
        e: { enum: [1, 2] },
        u: { type: "string", format: "uri" },
        s: { type: ["string", "null"], enum: ["a", "b", null] }
      }
    }
    assert.deepStrictEqual(parameters.gemini(schema)?.properties, {
      n: { type: "INTEGER", description: "How many. Greater than 0; a multiple of 5." },
      e: { type: "NUMBER", description: "One of 1, 2." },
      u: { type: "STRING", description: "Format uri." },
      s: { type: "STRING", format: "enum", enum: ["a", "b"], nullable: true }
    })
  })

  it("C122: forms of older drafts have their meaning, and keywords that a draft does not know have none", () => {
    const properties = {
      pair: { type: "array", items: [{ type: "string" }], additionalItems: false },
      n: { minimum: 0, exclusiveMinimum: true },
      s: { type: "string", nullable: true },
      p: { prefixItems: [{ type: "string" }] }
    }
    const schema = { $schema: "http://json-schema.org/draft-07/schema#", properties, dependencies: { n: ["s"] } }
    assert.deepStrictEqual(parameters.openai(schema), {
      type: "object",
      properties: {
        pair: { type: "array", prefixItems: [{ type: "string" }], items: { not: {} } },
        n: { exclusiveMinimum: 0 },
        s: { type: ["string", "null"] },
        p: {}
      },
      dependentRequired: { n: ["s"] }
    })
  })

  it("strict mode is given up where it would refuse what is accepted", () => {
    const string = { type: "string" }
    const open = [
      { type: "object", properties: { env: { type: "object", additionalProperties: string } } },
      { type: "object", properties: { any: {} } },
      { type: "object", properties: { list: { type: "array" } } },
      { type: "object", properties: { a: string }, additionalProperties: true },
      { type: "object", patternProperties: { "^x": string } },
      { type: "object", properties: { e: { enum: Array.from({ length: 1_001 }, (_, index) => `${index}`) } } },
      { anyOf: [{ properties: { a: string }, additionalProperties: string }, { properties: { b: string } }] },
      { anyOf: [{ properties: { a: string } }, { patternProperties: { "^x": string } }] },
      { anyOf: Array.from({ length: 65 }, (_, index) => ({ properties: { [`k${index}`]: string } })) },
      tree
    ]
    for (const schema of open) assert.isFalse(parameters.strict(schema).strict)
    assert.deepStrictEqual(
      own.map((tool) => toolSchema(tool, "openai-strict").strict),
      // The environment of a command is an open map.
      [true, true, false]
    )
  })

  it("an output schema is given where every success is an object", () => {
    const output = (schema: unknown) => toolSchema(foreign({}, schema), "mcp").outputSchema
    const a = { type: "object", properties: { a: { type: "string" } } }
    assert.deepEqual<unknown>(output(a), a)
    assert.deepStrictEqual(output({ anyOf: [a, { type: "object" }] }), {
      type: "object",
      anyOf: [a, { type: "object" }]
    })
    for (const schema of [{}, true, { type: "string" }, { anyOf: [a, { type: "null" }] }])
      assert.isUndefined(output(schema))
  })
})

const runs = Number(process.env["RUNS"] ?? 200)

/** Fails on the first definition that refuses one of the values, each of which the original accepts. */
const assertWider = (schema: unknown, values: ReadonlyArray<unknown>) => {
  const { anthropic, gemini, mcp, openai, "openai-strict": strict } = all(foreign(schema))
  const validators = {
    openai: Original.strictValidator(openai.parameters),
    anthropic: Original.strictValidator(anthropic.input_schema),
    gemini: Original.strictValidator(gemini.parameters === undefined ? {} : Original.plainly(gemini.parameters)),
    mcp: Original.validator(mcp.inputSchema),
    "openai-strict": Original.strictValidator(strict.parameters)
  }
  for (const value of values) {
    for (const [dialect, accepts] of Object.entries(validators)) {
      const sent = dialect === "openai-strict" && strict.strict ? Original.filled(value, strict.parameters) : value
      assert.isTrue(accepts(sent), `${dialect} refuses ${JSON.stringify(sent)}`)
    }
  }
}

/** Where a shorter way would be narrower: each names a value that it would refuse. */
const traps: Readonly<Record<string, readonly [schema: unknown, value: unknown]>> = {
  "a key of one form means nothing in another": [
    { anyOf: [{ properties: { a: { type: "string" } } }, { properties: { b: { type: "number" } }, required: ["b"] }] },
    { a: 1, b: 2 }
  ],
  "a form that takes other keys keeps the object open": [
    {
      anyOf: [
        { properties: { a: {} }, additionalProperties: false },
        { properties: { b: {} }, required: ["b"] }
      ]
    },
    { b: 1, c: 2 }
  ],
  "keys that match a pattern of a closed form": [
    {
      anyOf: [
        { properties: { a: {} }, additionalProperties: false },
        { patternProperties: { "^c": {} }, additionalProperties: false }
      ]
    },
    { c: 1 }
  ],
  "a key of one form that matches a pattern of another": [
    {
      anyOf: [
        { properties: { c: { type: "string" } }, additionalProperties: false },
        { patternProperties: { "^c": { type: "number" } }, additionalProperties: false }
      ]
    },
    { c: 1 }
  ],
  "one form that is no object": [
    { oneOf: [{ type: "null" }, { type: "object", properties: { a: { type: "string" } } }, { type: "string" }] },
    { a: "x" }
  ],
  "a condition of one part and a consequence of another": [
    {
      type: "object",
      allOf: [
        // oxlint-disable-next-line unicorn/no-thenable
        { if: { required: ["a"] }, then: { required: ["b"] } },
        { if: { required: ["c"] }, else: { required: ["d"] } }
      ]
    },
    { c: 1 }
  ],
  "a negation of what is nested too deep": [
    {
      type: "object",
      properties: { x: { not: { $ref: "#/$defs/T" } } },
      $defs: { T: { type: "object", properties: { t: { $ref: "#/$defs/T" } }, required: ["t"] } }
    },
    { x: { t: { t: { t: 1 } } } }
  ],
  "a condition on what is nested too deep": [
    {
      type: "object",
      // oxlint-disable-next-line unicorn/no-thenable
      properties: { x: { if: { $ref: "#/$defs/T" }, then: { type: "null" } } },
      $defs: { T: { type: "object", properties: { t: { $ref: "#/$defs/T" } }, required: ["t"], maxProperties: 1 } }
    },
    { x: { t: { t: { t: { t: 1 } } } } }
  ],
  "exactly one of two, each nested too deep": [
    {
      type: "object",
      properties: { x: { oneOf: [{ $ref: "#/$defs/S" }, { $ref: "#/$defs/T" }] } },
      $defs: {
        S: { properties: { t: { $ref: "#/$defs/S" }, end: { type: "string" } } },
        T: { properties: { t: { $ref: "#/$defs/T" }, end: { type: "number" } } }
      }
    },
    { x: { t: { t: { t: { t: { end: 1 } } } } } }
  ],
  "counting what is nested too deep": [
    {
      type: "object",
      properties: { x: { contains: { $ref: "#/$defs/T" }, maxContains: 1 } },
      $defs: { T: { type: "object", properties: { t: { $ref: "#/$defs/T" }, end: { type: "string" } } } }
    },
    { x: [{}, { t: { t: { t: { t: { end: 1 } } } } }] }
  ],
  "keys that another part has seen": [
    {
      type: "object",
      properties: { x: { $ref: "#/$defs/N" } },
      $defs: { N: { properties: { t: { allOf: [{ $ref: "#/$defs/N" }], unevaluatedProperties: false }, z: {} } } }
    },
    { x: { t: { t: { t: { t: { z: 1 } } } } } }
  ],
  "what follows a tuple": [
    { type: "object", properties: { x: { type: "array", prefixItems: [{ type: "string" }] } } },
    { x: ["a", 1, [2]] }
  ],
  "every member of an enum": [{ type: "object", properties: { x: { enum: ["a", "b", 1, 2, null] } } }, { x: "b" }],
  "an open map inside": [
    { type: "object", properties: { x: { type: "object", additionalProperties: { type: "string" } } } },
    { x: { any: "key" } }
  ],
  "unions beside unions": [
    {
      type: "object",
      properties: {
        x: {
          anyOf: [{ type: "number" }, { type: "string" }],
          oneOf: [{ type: ["string", "number"] }, { type: "array" }]
        }
      }
    },
    { x: "a" }
  ],
  "a key that is required and not listed": [{ type: "object", properties: {}, required: ["x"] }, { x: [[[1]]] }],
  "an integer that is written as a number": [
    { type: "object", properties: { x: { allOf: [{ type: "number" }, { type: ["integer", "string"] }] } } },
    { x: 3 }
  ]
}

describe("toolSchema: wider, never narrower", () => {
  it.each(Object.entries(traps))("%s", (_, [schema, value]) => {
    assert.isTrue(Original.strictValidator(schema as object)(value), "the original accepts it")
    assertWider(schema, [value])
  })

  it.prop(
    "what the original accepts, every definition accepts, and every provider takes the definition",
    { document: Arbitrary.schema(Original.Documents), values: Arbitrary.schema(Original.Arguments) },
    ({ document, values }) => {
      const schema = Original.documentOf(document)
      assert.deepStrictEqual(Subsets.breaches(all(foreign(schema))), [])
      const accepts = Original.validator(schema)
      const fitting = values.filter((value) => accepts(value))
      if (fitting.length > 0) assertWider(schema, fitting)
    },
    { arbitrary: { runs }, timeout: 600_000 }
  )
})
