import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as PlainJson from "../../src/internal/PlainJson.ts"

const Line = Schema.Struct({
  stream: Schema.Literals(["stdout", "stderr"]),
  line: Schema.String,
  whole: Schema.Boolean,
  suppressed: Schema.optionalKey(Schema.Natural),
  note: Schema.optional(Schema.String)
})
const codecOf = (schema: Schema.Top) => Schema.toCodecJson(schema) as unknown as Schema.Codec<unknown, unknown>

const checked = {
  line: Line,
  integer: Schema.Struct({ n: Schema.Int }),
  range: Schema.Struct({
    n: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })),
    at: Schema.optionalKey(Schema.Finite)
  }),
  text: Schema.Struct({ text: Schema.NonEmptyString, kind: Schema.Literal("a") })
}

const Shape = Schema.Union([
  Schema.TaggedStruct("Circle", { radius: Schema.Natural }),
  Schema.TaggedStruct("Square", { side: Schema.NullOr(Schema.Finite) }),
  // The first of two that fit is taken.
  Schema.Struct({ radius: Schema.Natural }),
  Schema.Struct({ radius: Schema.Natural, side: Schema.Finite })
])
const nested = {
  nested: Schema.Struct({ line: Line, at: Schema.optionalKey(checked.range) }),
  array: Schema.Array(Line),
  // With nothing that an empty array or object would lack.
  loose: Schema.Struct({ n: Schema.optionalKey(Schema.Int), at: Schema.optionalKey(checked.range) }),
  looseUnion: Schema.Struct({
    of: Schema.Union([Schema.Struct({ n: Schema.optionalKey(Schema.Int) }), Schema.Array(Schema.Int)])
  }),
  words: Schema.Struct({
    words: Schema.Array(Schema.Literals(["a", "b"])),
    inner: Schema.Array(Schema.Array(Schema.Int))
  }),
  union: Shape,
  both: Schema.Struct({ shapes: Schema.Array(Shape), shape: Schema.optionalKey(Shape) })
}

const Field = Schema.Union([
  Schema.Literals(["stdout", "stderr", "a", "", "NaN"]),
  Schema.Boolean,
  Schema.Null,
  Schema.Undefined,
  Schema.Literals([-1, 0, 0.5, 7, 12]),
  Schema.Number
])
const Anything = Schema.Record(
  Schema.Literals(["stream", "line", "whole", "suppressed", "note", "n", "at", "text", "kind", "more"]),
  Schema.optionalKey(Field)
)
/** Most of these fit. */
const Near = Schema.Struct({
  stream: Schema.Literals(["stdout", "stderr", "stdout", "stdin"]),
  line: Schema.String,
  whole: Schema.Boolean,
  suppressed: Schema.optionalKey(Schema.Literals([0, 1, -1])),
  note: Schema.optionalKey(Schema.Union([Schema.String, Schema.Undefined, Schema.Finite])),
  more: Schema.optionalKey(Schema.Literal(1))
})
const Value = Schema.Union([Near, Anything, Schema.Struct({ n: Field, at: Schema.optionalKey(Field) })])

/** What fits, with one part of it put in the place of another: values of the schema are rarely near misses. */
const Nearly = Schema.Struct({
  value: Schema.Union(Object.values(nested).map((schema) => Schema.toType(schema as Schema.Codec<unknown>))),
  at: Schema.Natural,
  by: Schema.Union([
    Field,
    Schema.Array(Schema.Int).check(Schema.isMaxLength(1)),
    Schema.Record(Schema.String, Schema.Never)
  ])
})
const nearly = ({ at, by, value }: typeof Nearly.Type): unknown => {
  let parts = 0
  const put = (part: unknown): unknown =>
    parts++ === at % 12 && at % 3 > 0
      ? by
      : Array.isArray(part)
        ? part.map(put)
        : typeof part === "object" && part !== null
          ? Object.fromEntries(Object.entries(part).map(([key, value]) => [key, put(value)]))
          : part
  return put(value)
}

describe("PlainJson", () => {
  /** Whether there is a copy, which is held to the codec. */
  const holds = (schema: Schema.Top) => {
    const codec = codecOf(schema)
    const copy = PlainJson.make(codec.ast)
    const decode = SchemaParser.decodeUnknownEffect(codec)
    const encode = SchemaParser.encodeUnknownEffect(codec)
    return (value: unknown): boolean => {
      const plain = copy?.(value)
      if (plain === undefined) return false
      assert.isTrue(shareNothing(plain, value), "a copy, through and through")
      for (const slow of [decode(value, { onExcessProperty: "error" }), decode(value), encode(value)]) {
        if (!Exit.isExit(slow) || !Exit.isSuccess(slow)) return assert.fail(JSON.stringify(value))
        assert.deepStrictEqual<unknown>(slow.value, plain)
      }
      return true
    }
  }
  const shareNothing = (one: unknown, other: unknown): boolean =>
    typeof one !== "object" ||
    one === null ||
    (one !== other &&
      Object.entries(one).every(([key, part]) =>
        shareNothing(part, Object.entries(other as object).find(([name]) => name === key)?.[1])
      ))

  for (const [name, schema] of Object.entries(checked)) {
    const held = holds(schema)
    it.prop(
      `what it copies the codec decodes and encodes to the same: ${name}`,
      { value: Arbitrary.schema(Value) },
      ({ value }) => void held(value),
      { arbitrary: { runs: 500 } }
    )
  }

  const copied = new Map<string, number>()
  for (const [name, schema] of Object.entries(nested)) {
    const held = holds(schema)
    it.prop(
      `what it copies the codec decodes and encodes to the same, in parts: ${name}`,
      { value: Arbitrary.schema(Nearly) },
      ({ value }) => {
        if (held(nearly(value))) copied.set(name, (copied.get(name) ?? 0) + 1)
      },
      { arbitrary: { runs: 1000 } }
    )
  }

  it("of those it copies some of each", () => {
    for (const name of Object.keys(nested)) assert.isAbove(copied.get(name) ?? 0, 20, name)
  })

  it("an array is no struct, whatever the struct lacks", () => {
    const copy = PlainJson.make(codecOf(nested.loose).ast)
    assert.deepStrictEqual<unknown>(
      [copy?.({}), copy?.([]), copy?.(Object.assign([], { n: 1 }))],
      [{}, undefined, undefined]
    )
    const union = PlainJson.make(codecOf(nested.looseUnion).ast)
    assert.deepStrictEqual<unknown>([union?.({ of: [] }), union?.({ of: {} })], [{ of: [] }, { of: {} }])
  })

  it("copies what is plain, and nothing else", () => {
    const copy = PlainJson.make(codecOf(Line).ast)
    const line = { stream: "stdout", line: "a", whole: true }
    const inherited: unknown = Object.create(line)
    for (const [value, plain] of [
      [line, true],
      [{ whole: false, line: "", stream: "stderr" }, true],
      [{ ...line, suppressed: 1 }, true],
      [{ ...line, suppressed: -1 }, false],
      [{ ...line, suppressed: undefined }, false],
      [{ ...line, note: undefined }, false],
      [{ ...line, more: 1 }, false],
      [{ ...line, stream: "stdin" }, false],
      [{ ...line, line: 1 }, false],
      [{ stream: "stdout", line: "a" }, false],
      [inherited, false],
      [null, false],
      ["text", false],
      [[line], false]
    ] as ReadonlyArray<readonly [unknown, boolean]>) {
      assert.strictEqual(copy?.(value) !== undefined, plain, JSON.stringify(value))
    }
  })

  it.effect("a check that throws is told by the codec", () =>
    Effect.gen(function* () {
      const codec = codecOf(
        Schema.Struct({
          text: Schema.String.check(
            Schema.makeFilter(() => {
              throw new Error("no")
            })
          )
        })
      )
      assert.isUndefined(PlainJson.make(codec.ast)?.({ text: "a" }))
      const told = yield* Effect.exit(SchemaParser.decodeUnknownEffect(codec)({ text: "a" }))
      assert.isTrue(Exit.isFailure(told))
    })
  )

  it("schemas that transform, or check the whole, are left to the codec", () => {
    for (const schema of [
      Schema.String,
      Schema.Struct({}),
      Schema.Struct({ n: Schema.Number }),
      Schema.Struct({ at: Schema.Date }),
      Schema.Struct({ text: Schema.Trim }),
      Schema.Struct({ text: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed(""))) }),
      Schema.Struct({ inner: Schema.Struct({ text: Schema.Trim }) }),
      Schema.Array(Schema.Struct({ text: Schema.Trim })),
      Schema.Array(Schema.Int).check(Schema.isMaxLength(3)),
      Schema.Tuple([Schema.Int]),
      Schema.Union([checked.integer, Schema.Struct({ at: Schema.Date })]),
      Schema.Union([checked.integer, checked.text], { mode: "oneOf" }),
      Schema.Struct({ text: Schema.String }).check(Schema.makeFilter(() => true)),
      Schema.Record(Schema.String, Schema.String)
    ]) {
      assert.isUndefined(PlainJson.make(codecOf(schema).ast), JSON.stringify(schema.ast._tag))
    }
  })
})
