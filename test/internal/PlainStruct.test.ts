import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as PlainStruct from "../../src/internal/PlainStruct.ts"

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

describe("PlainStruct", () => {
  for (const [name, schema] of Object.entries(checked)) {
    const codec = codecOf(schema)
    const copy = PlainStruct.make(codec.ast)
    const decode = SchemaParser.decodeUnknownEffect(codec)
    const encode = SchemaParser.encodeUnknownEffect(codec)
    it.prop(
      `what it copies the codec decodes and encodes to the same: ${name}`,
      { value: Arbitrary.schema(Value) },
      ({ value }) => {
        const plain = copy?.(value)
        if (plain === undefined) return
        assert.notStrictEqual<unknown>(plain, value)
        for (const slow of [decode(value, { onExcessProperty: "error" }), encode(value)]) {
          if (!Exit.isExit(slow) || !Exit.isSuccess(slow)) return assert.fail(JSON.stringify(value))
          assert.deepStrictEqual<unknown>(slow.value, plain)
        }
      },
      { arbitrary: { runs: 500 } }
    )
  }

  it("copies what is plain, and nothing else", () => {
    const copy = PlainStruct.make(codecOf(Line).ast)
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
      assert.isUndefined(PlainStruct.make(codec.ast)?.({ text: "a" }))
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
      Schema.Struct({ inner: Schema.Struct({ text: Schema.String }) }),
      Schema.Struct({ text: Schema.String }).check(Schema.makeFilter(() => true)),
      Schema.Record(Schema.String, Schema.String)
    ]) {
      assert.isUndefined(PlainStruct.make(codecOf(schema).ast), JSON.stringify(schema.ast._tag))
    }
  })
})
