/** Whatever a crash leaves of a journal's file, what its whole lines say is found, and nothing else. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as FileJournal from "../../../layers/journal/FileJournal.ts"
import * as Journal from "../../../src/Journal.ts"
import { Disk, type Remains } from "./Disk.ts"
import { accepted, decoded, progress, started, terminal } from "./Entries.ts"
import * as Reading from "./Reading.ts"

const quiet = Effect.provide(Logger.layer([]))

/** A file of many kinds of entries, with text of several bytes a letter. */
const file = Effect.scoped(
  Effect.gen(function* () {
    const disk = new Disk()
    yield* Effect.scoped(
      Effect.gen(function* () {
        const journal = yield* FileJournal.make(disk.storage(), { progress: "full" })
        for (const id of ["1", "zwei", "三"]) {
          yield* journal.write(accepted(id, "s", 5), "buffered")
          yield* journal.write(decoded(id, { text: "ü\n\u2028\ud83d\ude00 \ud800", "}": '"' }), "buffered")
          if (id === "三") continue
          yield* journal.write(started(id), "durable")
          // Longer than what is written after it.
          yield* journal.write(progress(id, 0, "\n".repeat(id === "1" ? 1 : 300)), "buffered")
          if (id === "1") yield* journal.write(terminal(id, "é"), "durable")
        }
      })
    )
    const [[name, bytes] = ["", new Uint8Array()]] = disk.files
    return { name, bytes }
  })
)

/** The calls without a terminal, by the lines that are whole. */
const openIn = (files: Remains): ReadonlyArray<Journal.OpenCall> => {
  const open = new Map<string, Journal.OpenCall>()
  for (const text of Reading.sessions(files).get("s") ?? []) {
    const entry = JSON.parse(text) as Journal.Entry
    const id = Journal.callIdOf(entry)
    const call = open.get(id)
    if (entry._tag === "Accepted") open.set(id, { accepted: entry, nextSeq: 0 })
    else if (entry._tag === "Terminal") open.delete(id)
    else if (call !== undefined) open.set(id, Journal.follow(call, entry))
  }
  return [...open.values()]
}

const opens = (files: Remains) =>
  Effect.scoped(
    Effect.gen(function* () {
      const expected = openIn(files)
      const before = Reading.sessions(files).get("s") ?? []
      const disk = new Disk({}, files)
      const journal = yield* FileJournal.make(disk.storage())
      assert.deepStrictEqual(yield* journal.claim, expected)
      for (const { accepted } of expected) yield* journal.write(terminal(accepted.call.callId), "durable")
      yield* journal.write(accepted("new", "s"), "durable")
      for (const bytes of disk.files.values()) assert.strictEqual(bytes.at(-1), 10, "nothing is left of a torn line")
      const after = Reading.sessions(disk.files).get("s") ?? []
      const added = [...expected.map(({ accepted }) => terminal(accepted.call.callId)), accepted("new", "s")]
      assert.deepStrictEqual(after, [...before, ...added.map((entry) => JSON.stringify(Journal.toJson(entry)))])
    })
  ).pipe(quiet)

describe("a journal's file", () => {
  it.live(
    "any prefix of it opens, with what its whole lines say",
    () =>
      Effect.gen(function* () {
        const { bytes, name } = yield* file
        for (let length = 0; length <= bytes.length; length++) {
          yield* opens(new Map([[name, bytes.subarray(0, length)]]))
        }
      }),
    60_000
  )

  it.live.prop(
    "any bytes in it may be others: the lines that they are in are left out, and no other",
    [
      Schema.Array(
        Schema.Tuple([
          Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 255 }))
        ])
      ).check(Schema.isMinLength(1), Schema.isMaxLength(3))
    ],
    ([changes]) =>
      Effect.gen(function* () {
        const { bytes, name } = yield* file
        const broken = bytes.slice()
        const header = bytes.indexOf(10) + 1
        for (const [at, flip] of changes) {
          const index = header + (at % (bytes.length - header))
          broken[index] = (broken[index] ?? 0) ^ flip
        }
        yield* opens(new Map([[name, broken]]))
      }),
    { arbitrary: { runs: 300 }, timeout: 60_000 }
  )
})
