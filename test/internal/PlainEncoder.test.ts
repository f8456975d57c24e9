import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as PlainEncoder from "../../src/internal/PlainEncoder.ts"

const Line = Schema.Struct({
  stream: Schema.Literals(["stdout", "stderr"]),
  line: Schema.String,
  whole: Schema.Boolean,
  suppressed: Schema.optionalKey(Schema.Natural)
})

const codecOf = (schema: Schema.Top) => Schema.toCodecJson(schema)

describe("PlainEncoder", () => {
  it.effect("what it encodes, it encodes as the codec does, and leaves the rest to it", () =>
    Effect.gen(function* () {
      const encode = PlainEncoder.make(codecOf(Line).ast)
      assert.isDefined(encode)
      const slow = SchemaParser.encodeUnknownEffect(Schema.toCodecJson(Line))
      const line = { stream: "stdout", line: "a", whole: true }
      const inherited: unknown = Object.create(line)
      for (const [value, fast] of [
        [line, true],
        [{ whole: false, line: "", stream: "stderr" }, true],
        [{ ...line, suppressed: 1 }, false],
        [{ ...line, suppressed: undefined }, false],
        [{ ...line, more: 1 }, false],
        [{ ...line, stream: "stdin" }, false],
        [{ ...line, line: 1 }, false],
        [{ stream: "stdout", line: "a" }, false],
        [inherited, false],
        [null, false],
        ["text", false],
        [[line], false]
      ] as ReadonlyArray<readonly [unknown, boolean]>) {
        const encoded = encode?.(value)
        assert.strictEqual(encoded !== undefined, fast, JSON.stringify(value))
        if (encoded === undefined) continue
        assert.deepStrictEqual<unknown>(yield* slow(value), encoded)
        assert.notStrictEqual(encoded, value)
      }
    })
  )

  it("schemas that transform or check are left to the codec", () => {
    for (const schema of [
      Schema.String,
      Schema.Struct({}),
      Schema.Struct({ n: Schema.Finite }),
      Schema.Struct({ at: Schema.Date }),
      Schema.Struct({ text: Schema.NonEmptyString }),
      Schema.Struct({ text: Schema.Trim }),
      Schema.Struct({ inner: Schema.Struct({ text: Schema.String }) }),
      Schema.Struct({ text: Schema.String }).check(Schema.makeFilter(() => true)),
      Schema.Record(Schema.String, Schema.String)
    ]) {
      assert.isUndefined(PlainEncoder.make(codecOf(schema).ast), JSON.stringify(schema.ast._tag))
    }
  })
})
