import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as OutwardName from "../src/OutwardName.ts"

const pattern = /^[a-zA-Z0-9_-]{1,64}$/

const long = "enterprise-database-management"

/** Names that are near each other, near the limits, or look like what the mapping makes. */
const part = Schema.Union([
  Schema.String,
  Schema.Literals([
    "",
    "_",
    "__",
    "a",
    "a_",
    "_a",
    "a__b",
    "b",
    "bash",
    "read_file",
    "read-file",
    "read.file",
    "é",
    "\ud800"
  ]),
  Schema.Literals([
    "x".repeat(63),
    "x".repeat(64),
    "x".repeat(65),
    `${"x".repeat(70)}y`,
    "a__abcdefghijklmnop",
    "abcdefghijklmnop"
  ]),
  Schema.TemplateLiteral([
    Schema.Literals(["a", "b", "a_", "x".repeat(60)]),
    "_",
    Schema.Literals(["a", "b", "_b", "."])
  ])
])
const Raw = Schema.Struct({ origin: Schema.optional(part), name: part })
const Names = Schema.Array(Raw).check(Schema.isMaxLength(40))

const key = (raw: OutwardName.RawName) => JSON.stringify([raw.origin ?? null, raw.name])

describe("OutwardName", () => {
  it.effect("C115 a long name with dots and spaces has a name that every provider takes, and comes back", () =>
    Effect.gen(function* () {
      const raw = { origin: long, name: "sync.all/customer data across systems please now really" }
      const table = yield* OutwardName.table([raw])
      const outward = table.toOutward(raw)!
      assert.strictEqual(outward, "enterprise-datab__sync_all_customer_data_acros__orkzb34vsb65vhxf")
      assert.match(outward, pattern)
      assert.deepStrictEqual(table.fromOutward(outward), raw)
    })
  )

  it.effect("C117 names that would be sanitised alike stay apart, and a built-in cannot be shadowed", () =>
    Effect.gen(function* () {
      const raws: ReadonlyArray<OutwardName.RawName> = [
        { name: "bash" },
        { origin: "s", name: "read-file" },
        { origin: "s", name: "read.file" },
        { origin: "s", name: "read_file" },
        { origin: "foo-bar", name: "t" },
        { origin: "foo_bar", name: "t" },
        { origin: "bash", name: "bash" },
        { origin: "", name: "bash" },
        { name: "s__read_file" },
        { origin: "a", name: "_b" },
        { origin: "a_", name: "b" }
      ]
      const { entries } = yield* OutwardName.table(raws)
      assert.strictEqual(new Set(entries.map(([outward]) => outward)).size, raws.length)
      assert.deepStrictEqual(
        entries.map(([outward]) => outward.replace(/__[a-z2-7]{16}$/, "__#")),
        [
          "bash",
          "s__read-file",
          "s__read_file__#",
          "s__read_file",
          "foo-bar__t",
          "foo_bar__t",
          "bash__bash",
          "server__bash__#",
          "s_read_file__#",
          "a___b",
          "a__b__#"
        ]
      )
    })
  )

  it.effect("C117 long names that differ at their ends stay apart", () =>
    Effect.gen(function* () {
      const names = ["a", "b"].map((end) => ({ origin: long, name: "n".repeat(60) + end }))
      const [first, second] = yield* Effect.forEach(names, OutwardName.make)
      assert.notStrictEqual(first, second)
    })
  )

  it.effect("C117 a name made to look like that of another tool does not become it", () =>
    Effect.gen(function* () {
      const victim = { origin: "s", name: "read file" }
      const outward = yield* OutwardName.make(victim)
      assert.match(outward, /^s__read_file__[a-z2-7]{16}$/)
      const [, name, digits] = outward.split("__")
      const forgeries = [
        { name: outward },
        { origin: "s", name: `${name}__${digits}` },
        { origin: `s__${name}`, name: digits! },
        { origin: "s", name: `read_file__${digits!.toUpperCase()}` }
      ]
      const table = yield* OutwardName.table([victim, ...forgeries])
      assert.strictEqual(table.entries.length, 5)
      assert.deepStrictEqual(table.fromOutward(outward), victim)
    })
  )

  it.effect.prop(
    "outward names fit, differ, lead back, are of the stated form, and do not depend on each other",
    { names: Arbitrary.schema(Names), more: Arbitrary.schema(Names) },
    ({ more, names }) =>
      Effect.gen(function* () {
        const table = yield* OutwardName.table(names)
        const larger = yield* OutwardName.table([...more, ...names])
        assert.strictEqual(table.entries.length, new Set(names.map(key)).size)
        for (const raw of names) {
          const outward = table.toOutward(raw)!
          assert.match(outward, pattern)
          assert.strictEqual(key(table.fromOutward(outward)!), key(raw))
          assert.strictEqual(larger.toOutward(raw), outward)
          if (raw.origin !== undefined) assert.include(outward, "__")
          else if (pattern.test(raw.name) && !raw.name.includes("__")) assert.strictEqual(outward, raw.name)
        }
      })
  )
})
