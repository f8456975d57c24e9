import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ajv from "../../layers/Ajv.ts"
import { dialectOf, JsonSchemaValidator, type UnusableSchema } from "../../src/JsonSchemaValidator.ts"

const compile = (schema: unknown) =>
  JsonSchemaValidator.use(({ compile }) => compile(schema)).pipe(Effect.provide(Ajv.layer))

const validate = (schema: unknown, value: unknown) => Effect.map(compile(schema), (validate) => validate(value))

const refused = (schema: unknown): Effect.Effect<UnusableSchema> => Effect.orDie(Effect.flip(compile(schema)))

const draft07 = "http://json-schema.org/draft-07/schema#"
const draft2020 = "https://json-schema.org/draft/2020-12/schema"

describe("Ajv", () => {
  it.effect("C122 reads draft-07 and 2020-12, each by its own rules", () =>
    Effect.gen(function* () {
      const tuple = { type: "array", items: [{ type: "string" }], additionalItems: false }
      assert.deepStrictEqual(yield* validate({ $schema: draft07, ...tuple }, ["a"]), [])
      assert.deepStrictEqual(yield* validate(tuple, ["a", 1]), [{ path: [], message: "expected at most 1 items" }])
      assert.strictEqual((yield* refused({ $schema: draft2020, ...tuple })).at, "#/items")
      const recent = { $schema: draft2020, prefixItems: [{ type: "string" }] }
      assert.deepStrictEqual(yield* validate(recent, [1]), [{ path: [0], message: "expected string, got number" }])
      // In draft-07 nothing beside a $ref counts; in 2020-12 it does.
      const beside = (key: string) => ({ [key]: { A: {} }, $ref: `#/${key}/A`, type: "string" })
      assert.deepStrictEqual(yield* validate(beside("definitions"), 1), [])
      assert.strictEqual((yield* validate(beside("$defs"), 1)).length, 1)
    })
  )

  it("C122 a schema without $schema is of draft-07 if it has what only draft-07 has", () => {
    assert.strictEqual(dialectOf({ definitions: {} }), "draft-07")
    assert.strictEqual(dialectOf({ definitions: {}, $defs: {} }), "2020-12")
    assert.strictEqual(dialectOf({}), "2020-12")
    assert.strictEqual(
      dialectOf({ $schema: "https://json-schema.org/draft/2019-09/schema", definitions: {} }),
      "2020-12"
    )
    assert.strictEqual(dialectOf({ $schema: "https://example.com/mine", definitions: {} }), "draft-07")
  })

  it.effect("C122 a broken schema says what is wrong with it, and where", () =>
    Effect.gen(function* () {
      const reasons = yield* Effect.forEach(
        [
          { $ref: "#/$defs/Missing" },
          { $ref: "https://example.com/other.json" },
          { $ref: "toString" },
          { properties: { a: { $ref: "#/$defs/constructor" } }, $defs: {} },
          { type: "strin" },
          { properties: { a: { required: true } } },
          { properties: { a: { pattern: "(" } } },
          "text",
          null,
          JSON.parse('{"properties":{"__proto__":{"type":"string"}}}')
        ],
        refused
      )
      assert.deepStrictEqual(
        reasons.map(({ at, reason }) => [reason, at]),
        [
          ["MissingReference", "#"],
          ["MissingReference", "#"],
          ["MissingReference", "#"],
          ["MissingReference", "#/properties/a"],
          ["NotASchema", "#/type"],
          ["NotASchema", "#/properties/a/required"],
          ["InvalidPattern", "#/properties/a"],
          ["NotASchema", "#"],
          ["NotASchema", "#"],
          ["NotASchema", "#"]
        ]
      )
      assert.include(reasons[0]!.message, "#/$defs/Missing")
    })
  )

  it.effect("schemas with one $id are no matter to each other", () =>
    Effect.gen(function* () {
      const { compile } = yield* JsonSchemaValidator
      const first = yield* compile({ $id: "https://a/b", type: "string" })
      const second = yield* compile({ $id: "https://a/b", type: "number" })
      const meta = yield* compile({ $id: draft2020, type: "number" })
      assert.deepStrictEqual([first("a"), second(1), meta(1)], [[], [], []])
      yield* Effect.flip(compile({ $ref: "https://a/b" }))
    }).pipe(Effect.provide(Ajv.layer))
  )

  it.effect("what ajv takes for more than an unknown keyword is one", () =>
    Effect.gen(function* () {
      for (const extra of [{ $async: true }, { id: 7 }, { nullable: false }, { nullable: true }, { format: "nope" }]) {
        const { nullable: _, ...schema }: Record<string, unknown> = { type: "string", ...extra }
        assert.strictEqual((yield* validate("nullable" in extra ? { ...schema, ...extra } : schema, 1)).length, 1)
      }
      assert.deepStrictEqual(yield* validate({ nullable: true, id: "x" }, 1), [])
      assert.deepStrictEqual(yield* validate({ properties: { id: { type: "string" } }, $async: true }, { id: "x" }), [])
    })
  )

  it.effect("says what was expected, and where", () =>
    Effect.gen(function* () {
      const schema = {
        type: "object",
        properties: {
          a: { type: "integer", minimum: 1 },
          "b/c": { enum: ["x", "y"] },
          d: { anyOf: [{ type: "string" }, { type: "null" }] },
          e: { type: "array", items: { type: "string", maxLength: 2 }, uniqueItems: true },
          f: { type: "string", pattern: "^a$" },
          g: { type: "string", pattern: "^b$" }
        },
        required: ["a", "toString"],
        additionalProperties: false
      }
      const value = { a: 0.5, "b/c": "z", d: 1, e: ["long", { 1: 1 }, { 1: 1 }], f: "b", g: "b", z: 1 }
      assert.deepStrictEqual(yield* validate(schema, value), [
        { path: ["toString"], message: "is required" },
        { path: ["z"], message: "is not known; there are a, b/c, d, e, f, g" },
        { path: ["a"], message: "expected integer, got number" },
        { path: ["a"], message: "expected a number >= 1" },
        { path: ["b/c"], message: 'expected one of "x", "y"' },
        { path: ["d"], message: "has none of the forms it may have; expected string or null, got number" },
        { path: ["e", 0], message: "expected at most 2 code points" },
        { path: ["e", 1], message: "expected string, got object" },
        { path: ["e", 2], message: "expected string, got object" },
        { path: ["e"], message: "expected no item twice" },
        { path: ["f"], message: 'expected text that matches "^a$"' }
      ])
      assert.strictEqual(
        (yield* validate(
          { items: { type: "string" } },
          Array.from({ length: 99 }, () => 1)
        )).length,
        51
      )
    })
  )

  it.effect("a key __proto__ of a value is a key as any other", () =>
    Effect.gen(function* () {
      const value = JSON.parse('{"__proto__":{"polluted":1}}')
      const issues = yield* validate({ type: "object", properties: { a: {} }, additionalProperties: false }, value)
      assert.deepStrictEqual(issues, [{ path: ["__proto__"], message: "is not known; there are a" }])
      assert.strictEqual("polluted" in {}, false)
      assert.strictEqual((yield* validate({ required: ["__proto__", "constructor"] }, {})).length, 2)
    })
  )

  describe("patterns", () => {
    it.live("run in linear time", () =>
      Effect.gen(function* () {
        const started = performance.now()
        const schema = {
          properties: { a: { type: "string", pattern: "^(a+)+$" } },
          patternProperties: { "^(b+)+$": {} }
        }
        const value = { a: `${"a".repeat(40)}!`, [`${"b".repeat(40)}!`]: 1 }
        assert.strictEqual((yield* validate(schema, value)).length, 1)
        assert.isBelow(performance.now() - started, 2000)
      })
    )

    it.effect("that cannot be run are listed, and accept what they may", () =>
      Effect.gen(function* () {
        const ahead = "^(?!x)"
        const validator = yield* compile({
          type: "object",
          properties: {
            a: { type: "string", pattern: ahead },
            b: { not: { pattern: ahead } },
            c: { oneOf: [{ pattern: ahead }, { type: "string" }, { type: "number" }] },
            // oxlint-disable-next-line unicorn/no-thenable
            d: { if: { pattern: ahead }, then: { const: 1 } },
            e: { not: { $ref: "#/$defs/E" } },
            f: { not: { type: "string" } }
          },
          patternProperties: { "^(?=y)": { type: "number" } },
          additionalProperties: false,
          $defs: { E: { pattern: ahead } }
        })
        assert.deepStrictEqual(
          validator.ignored.map(({ at, pattern }) => [at, pattern]),
          [
            ["#", "^(?=y)"],
            ["#/properties/a", ahead]
          ]
        )
        assert.deepStrictEqual(validator({ a: "x", b: "x", c: "x", d: "x", e: "x", y: "free" }), [])
        assert.deepStrictEqual(
          validator({ a: 1, c: null, f: "x" }).map(({ path }) => path),
          [["a"], ["f"]]
        )
      })
    )
  })

  it.live("patterns that are dear to compile or to run are not asserted", () =>
    Effect.gen(function* () {
      const started = performance.now()
      const dear = Array.from({ length: 100 }, (_, i) => ({ pattern: `\\p{L}{${900 + i}}`.repeat(40) }))
      const validator = yield* compile({ allOf: [{ pattern: "^a$" }, { pattern: "a".repeat(600) }, ...dear] })
      assert.strictEqual(validator.ignored.length, 101)
      assert.strictEqual(validator("b").length, 1)
      const nested = yield* compile({ items: { pattern: "(a|b)*a(a|b){200}[cd]" } })
      const text = Array.from({ length: 2000 }, (_, i) => "ab"[((i * i) >> 3) & 1]).join("")
      assert.isBelow(nested(Array.from({ length: 1000 }, () => text)).length, 50)
      assert.isBelow(performance.now() - started, 5000)
    })
  )

  describe("bounds", () => {
    it.effect("refuse a schema that is too large, deep or tangled", () =>
      Effect.gen(function* () {
        const deep = (levels: number) => Array.from({ length: levels }).reduce<unknown>((items) => ({ items }), {})
        const many = {
          properties: Object.fromEntries(Array.from({ length: Ajv.limits.schemas }, (_, i) => [`p${i}`, {}]))
        }
        const cycle: Record<string, unknown> = {}
        cycle["not"] = cycle
        const reasons = yield* Effect.forEach(
          [
            deep(Ajv.limits.depth + 1),
            deep(20_000),
            many,
            { description: "x".repeat(Ajv.limits.text) },
            {
              allOf: Array.from({ length: Ajv.limits.references + 1 }, () => ({ $ref: "#/$defs/a" })),
              $defs: { a: {} }
            },
            cycle
          ],
          refused
        )
        assert.deepStrictEqual(
          reasons.map(({ reason }) => reason),
          ["TooLarge", "TooLarge", "TooLarge", "TooLarge", "TooLarge", "NotASchema"]
        )
      })
    )

    it.live("end a validation that would not", () =>
      Effect.gen(function* () {
        const twice = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] })
        const $defs = Object.fromEntries(
          Array.from({ length: 40 }, (_, i) => [`d${i}`, i === 39 ? {} : twice(`d${i + 1}`)])
        )
        const started = performance.now()
        const issues = yield* validate({ ...twice("d0"), $defs }, {})
        assert.match(issues[0]!.message, /to be checked/)
        const loop = yield* validate({ $defs: { a: { not: { $ref: "#/$defs/a" } } }, $ref: "#/$defs/a" }, 1)
        assert.match(loop[0]!.message, /to be checked/)
        const short = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }
        assert.strictEqual((yield* refused(short)).reason, "TooLarge")
        // Of different items, so that each would be compared with each.
        const items = Array.from({ length: 50_000 }, (_, i) => ({ i }))
        assert.deepStrictEqual(yield* validate({ uniqueItems: true }, items), [])
        const some = { anyOf: [{ type: "string" }, { properties: {}, additionalProperties: false }] }
        assert.strictEqual((yield* validate({ items: some }, items)).length, Ajv.limits.issues + 1)
        assert.strictEqual(
          (yield* refused({ enum: [], type: Array.from({ length: 20_000 }, (_, i) => `t${i}`) })).reason,
          "NotASchema"
        )
        assert.isBelow(performance.now() - started, 5000)
      })
    )
  })
})
