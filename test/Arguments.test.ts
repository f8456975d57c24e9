import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErasedTool from "../src/ErasedTool.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { runtime, verdictOf } from "./Harness.ts"

class Edit extends Tool.Service<Edit>()("edit", {
  description: "Edit.",
  parameters: {
    path: Schema.String,
    limit: Schema.optionalKey(Schema.Int),
    factor: Schema.optionalKey(Schema.Finite),
    all: Schema.optionalKey(Schema.Boolean),
    edits: Schema.optionalKey(Schema.Array(Schema.Struct({ old: Schema.String, new: Schema.String }))),
    options: Schema.optionalKey(Schema.Struct({ depth: Schema.optionalKey(Schema.Int) })),
    either: Schema.optionalKey(Schema.Union([Schema.String, Schema.Int])),
    nullable: Schema.optionalKey(Schema.NullOr(Schema.Int)),
    bag: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
  },
  success: Schema.Unknown
}) {}

class Nothing extends Tool.Service<Nothing>()("nothing", { description: "No parameters.", success: Schema.Unknown }) {}

class Loose extends Tool.Service<Loose>()("loose", {
  description: "Requires nothing.",
  parameters: { limit: Schema.optionalKey(Schema.Int) },
  success: Schema.Unknown
}) {}

const tools = {
  loose: ErasedTool.fromImplementation(Loose, { execute: (given) => ToolStream.succeed(given) }),
  edit: ErasedTool.fromImplementation(Edit, { execute: (given) => ToolStream.succeed(given) }),
  nothing: ErasedTool.fromImplementation(Nothing, { execute: (given) => ToolStream.succeed(given) })
}

/** What a call with this text ends with: what the tool was given, or the reason. */
const given = (text: string, name = "edit", truncated?: boolean) =>
  Effect.gen(function* () {
    const {
      runtime: { dispatchText }
    } = yield* runtime(tools)
    return verdictOf(yield* Effect.exit(ToolStream.runResult(dispatchText({ name, text, truncated }))))
  })

const giveJson = (parameters: unknown, name?: string) => given(JSON.stringify(parameters), name)

const refused = (...issues: ReadonlyArray<readonly [path: ReadonlyArray<string | number>, message: string]>) => ({
  _tag: "InvalidParameters",
  issues: issues.map(([path, message]) => ({ path, message }))
})

describe("arguments as text", () => {
  it.effect("an array or object that was encoded twice is read once more, where it is wanted (C105)", () =>
    Effect.gen(function* () {
      const edits = [{ old: "a", new: "b" }]
      assert.deepStrictEqual(yield* giveJson({ path: "p", edits: JSON.stringify(edits) }), { path: "p", edits })
      assert.deepStrictEqual(yield* giveJson(JSON.stringify({ path: "p", edits })), { path: "p", edits })
      assert.deepStrictEqual(yield* giveJson({ path: "p", options: '{"depth":"3"}' }), {
        path: "p",
        options: { depth: 3 }
      })
      assert.deepStrictEqual(yield* giveJson({ path: "[1]" }), { path: "[1]" }, "a text that is wanted stays one")
      assert.deepStrictEqual(
        yield* giveJson({ path: "p", edits: JSON.stringify(JSON.stringify(edits)) }),
        refused([["edits"], "Expected array"]),
        "once, and no more"
      )
      assert.deepStrictEqual(
        yield* giveJson({ path: "p", edits: '{"old":"a"}' }),
        refused([["edits"], "Expected array"])
      )
      assert.deepStrictEqual(
        yield* giveJson({ path: "p", edits: '[{"old":"a"}]' }),
        refused([["edits", 0, "new"], "is required"]),
        "what is wrong inside of it is told"
      )
    })
  )

  it.effect("numbers and booleans in texts follow one rule (C107)", () =>
    Effect.gen(function* () {
      for (const [text, number] of [
        ["20", 20],
        ["-3", -3],
        ["007", 7]
      ] as const) {
        assert.deepStrictEqual(yield* giveJson({ path: "p", limit: text }), { path: "p", limit: number })
      }
      for (const text of [" 20", "1e3", "0x10", "", "NaN", "20.5", "+1", "9007199254740993"]) {
        assert.deepStrictEqual(
          yield* giveJson({ path: "p", limit: text }),
          refused([["limit"], "Expected number"]),
          text
        )
      }
      assert.deepStrictEqual(yield* giveJson({ path: "p", limit: true }), refused([["limit"], "Expected number"]))
      assert.deepStrictEqual(yield* given('{"path":"p","limit":1e21}'), refused([["limit"], "Expected an integer"]))
      assert.deepStrictEqual(yield* given('{"path":"p","limit":-0}'), { path: "p", limit: -0 })
      assert.deepStrictEqual(yield* giveJson({ path: "p", all: "true" }), { path: "p", all: true })
      for (const all of ["True", "yes", "1", 1, ""]) {
        assert.deepStrictEqual(yield* giveJson({ path: "p", all }), refused([["all"], "Expected boolean"]))
      }
      assert.deepStrictEqual(yield* giveJson({ path: "p", either: "20" }), { path: "p", either: "20" })
      assert.deepStrictEqual(yield* giveJson({ path: "20" }), { path: "20" })
    })
  )

  it.effect("null for an optional means absent, and null for what is required is missing (C108)", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* giveJson({ path: "a", limit: null, edits: null, options: { depth: null } }), {
        path: "a",
        options: {}
      })
      assert.deepStrictEqual(yield* giveJson({ path: "a", nullable: null }), { path: "a", nullable: null })
      assert.deepStrictEqual(yield* giveJson({ path: "a", bag: { x: null } }), { path: "a", bag: { x: null } })
      assert.deepStrictEqual(yield* giveJson({ path: null }), refused([["path"], "is required, and cannot be null"]))
    })
  )

  it.effect.each(['{"path":"a.txt","limit":3,"bag":"abc', '{"path":"a.txt",}', "{path:1}", '{}""'])(
    "malformed or truncated JSON is not executed (C110, C111): %s",
    (text) =>
      Effect.gen(function* () {
        const verdict = (yield* given(text)) as { readonly issues: ReadonlyArray<{ readonly message: string }> }
        assert.match(verdict.issues[0]!.message, /^Not valid JSON/)
      })
  )

  it.effect("empty and almost empty arguments mean what they say (C111)", () =>
    Effect.gen(function* () {
      for (const text of ["", "   ", "null", "{}"]) {
        assert.deepStrictEqual(yield* given(text, "nothing"), {})
        assert.deepStrictEqual(yield* given(text), refused([["path"], "is required"]))
      }
      for (const text of ["[]", '""', "3"]) {
        for (const name of ["nothing", "edit"]) {
          assert.deepStrictEqual(yield* given(text, name), refused([[], "Expected object"]), text)
        }
      }
    })
  )

  it.effect("an array is no object, even where nothing is required", () =>
    Effect.gen(function* () {
      for (const text of [`{"path":"a","options":[]}`, `{"path":"a","options":[1]}`]) {
        assert.deepInclude(yield* given(text), { _tag: "InvalidParameters" }, text)
      }
      assert.deepInclude(yield* given("[]", "loose"), { _tag: "InvalidParameters" })
      assert.deepStrictEqual(yield* given("{}", "loose"), {})
    })
  )

  it.effect("a tool without parameters takes none, and says so", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* giveJson({ a: 1 }, "nothing"), refused([["a"], "is not known; no properties are"]))
      assert.deepStrictEqual(tools.nothing.descriptor.parametersSchema, {
        type: "object",
        properties: {},
        additionalProperties: false
      })
    })
  )

  it.effect("a call that was cut off is not executed, even if it is valid JSON (C112)", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* given('{"path":"build"}', "edit", true),
        refused([[], "The call was cut off before its end. Send it again, whole; if it is long, in smaller parts."])
      )
    })
  )

  it.effect("half of a surrogate pair is refused, wherever it is (C114)", () =>
    Effect.gen(function* () {
      const message = "is not well-formed text: it has half of a surrogate pair. Send the whole character"
      assert.deepStrictEqual(yield* given(String.raw`{"path":"a\ud83db"}`), refused([["path"], message]))
      assert.deepStrictEqual(
        yield* given(String.raw`{"path":"a","edits":[{"old":"","new":"\udc00"}]}`),
        refused([["edits", 0, "new"], message])
      )
      assert.deepStrictEqual(
        yield* given(String.raw`{"path":"a","bag":{"\ud83d":1}}`),
        refused([["bag", "\ufffd"], message])
      )
      assert.deepStrictEqual(yield* given(String.raw`{"path":"\ud83d\ude00"}`), { path: "😀" })
    })
  )

  it.effect("a property that is not known is named, with the one that was meant", () =>
    Effect.gen(function* () {
      const all = "path, limit, factor, all, edits, options, either, nullable, bag"
      assert.deepStrictEqual(
        yield* giveJson({ path: "a", file_path: "b", xyzzy: 1, options: { dept: 1 } }),
        refused(
          [["file_path"], `is not known; did you mean path? There are ${all}`],
          [["xyzzy"], `is not known; there are ${all}`],
          [["options", "dept"], "is not known; did you mean depth? There are depth"]
        )
      )
    })
  )

  it.effect.prop(
    "parameters that decode are never touched, whatever they look like",
    { parameters: Arbitrary.schema(Edit.parametersSchema) },
    ({ parameters }) =>
      Effect.gen(function* () {
        const text = JSON.stringify(parameters)
        if (!text.isWellFormed() || /\\ud[89a-f]/i.test(text)) return
        assert.deepStrictEqual(yield* given(text), JSON.parse(text))
      })
  )

  const loosely = Schema.Struct({
    path: Schema.String,
    limit: Schema.optionalKey(Schema.Int),
    all: Schema.optionalKey(Schema.Boolean),
    edits: Schema.optionalKey(Schema.Array(Schema.Struct({ old: Schema.String, new: Schema.String })))
  })
  it.effect.prop(
    "parameters in their forgiven forms are the parameters",
    {
      parameters: Arbitrary.schema(loosely),
      forms: Schema.Array(Schema.Boolean).check(Schema.isMinLength(4), Schema.isMaxLength(4))
    },
    ({ forms, parameters }) =>
      Effect.gen(function* () {
        const { all, edits, limit, path } = parameters
        if (!JSON.stringify(parameters).isWellFormed() || /\\ud[89a-f]/i.test(JSON.stringify(parameters))) return
        const text = JSON.stringify({
          path,
          limit: limit === undefined ? (forms[0] ? null : undefined) : forms[0] ? String(limit) : limit,
          all: all === undefined ? (forms[1] ? null : undefined) : forms[1] ? String(all) : all,
          edits:
            edits === undefined ? (forms[2] ? null : undefined) : forms[2] && !forms[3] ? JSON.stringify(edits) : edits
        })
        assert.deepStrictEqual(
          yield* given(forms[3] ? JSON.stringify(text) : text),
          JSON.parse(JSON.stringify(parameters))
        )
      })
  )
})
