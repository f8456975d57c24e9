import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { codec } from "../../src/internal/JsonCodec.ts"
import * as Redaction from "../../src/internal/Redaction.ts"

const secret = "hunter2-hunter2"

/** Wherever a secret may stand. */
const Places = Schema.Literals([
  "field",
  "optional",
  "list",
  "record",
  "tuple",
  "union",
  "class",
  "fromValue",
  "struct"
])

class Account extends Schema.Class<Account>("Account")({ user: Schema.String, key: Schema.Redacted(Schema.String) }) {}

interface Tree {
  readonly key: Redacted.Redacted<string>
  readonly below: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree, unknown> = Schema.Struct({
  key: Schema.Redacted(Schema.String),
  below: Schema.Array(Schema.suspend((): Schema.Codec<Tree, unknown> => Tree))
})

const value = Redacted.make(secret)
const schemas: Record<typeof Places.Type, readonly [Schema.Top, unknown]> = {
  field: [Schema.Struct({ open: Schema.String, key: Schema.Redacted(Schema.String) }), { open: "seen", key: value }],
  optional: [Schema.Struct({ key: Schema.optionalKey(Schema.Redacted(Schema.String)) }), { key: value }],
  list: [Schema.Array(Schema.Redacted(Schema.String)), [value, value]],
  record: [Schema.Record(Schema.String, Schema.Redacted(Schema.String)), { a: value }],
  tuple: [Schema.Tuple([Schema.String, Schema.Redacted(Schema.String)]), ["seen", value]],
  union: [Schema.Union([Schema.Int, Schema.Struct({ key: Schema.Redacted(Schema.String) })]), { key: value }],
  class: [Account, new Account({ user: "me", key: value })],
  fromValue: [Schema.Struct({ key: Schema.RedactedFromValue(Schema.String) }), { key: value }],
  struct: [Schema.Redacted(Schema.Struct({ password: Schema.String })), Redacted.make({ password: secret })]
}

describe("Redaction", () => {
  for (const [place, [schema, decoded]] of Object.entries(schemas)) {
    it.effect(`hides a secret: ${place}`, () =>
      Effect.gen(function* () {
        const json = yield* Schema.encodeUnknownEffect(codec(schema))(decoded)
        assert.include(JSON.stringify(json), secret, "the tool gets it")
        const redacted = JSON.stringify(Redaction.make(schema)?.(json))
        assert.notInclude(redacted, secret)
        assert.include(redacted, "[redacted #")
        if (JSON.stringify(json).includes("seen")) assert.include(redacted, "seen")
      })
    )
  }

  it.effect("hides secrets at every depth of what refers to itself", () =>
    Effect.gen(function* () {
      const tree: Tree = { key: value, below: [{ key: value, below: [{ key: Redacted.make("another"), below: [] }] }] }
      const json = yield* Schema.encodeUnknownEffect(codec(Tree))(tree)
      const redacted = JSON.stringify(Redaction.make(Tree)?.(json))
      assert.notInclude(redacted, secret)
      assert.notInclude(redacted, "another")
      const hashes = redacted.match(/#[0-9a-f]+/g) ?? []
      assert.strictEqual(hashes.length, 3)
      assert.strictEqual(hashes[0], hashes[1], "equal secrets look equal")
    })
  )

  it("costs nothing where nothing is hidden", () => {
    assert.isUndefined(Redaction.make(Schema.Struct({ a: Schema.String, b: Schema.Array(Schema.Int) })))
  })
})
