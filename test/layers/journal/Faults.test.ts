/**
 * Faults at any write, sync, rename and change of names: no terminal is lost without an error that reaches who wrote it.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as FileJournal from "../../../layers/journal/FileJournal.ts"
import * as Journal from "../../../src/Journal.ts"
import { Disk, type Fault, type Kind } from "./Disk.ts"
import { accepted, decoded, progress, started, terminal } from "./Entries.ts"
import * as Reading from "./Reading.ts"

const textOf = (entry: Journal.Entry): string => JSON.stringify(Journal.toJson(entry))

/** What became of a call, as who made it was told. */
interface Told {
  readonly callId: string
  readonly accepted: boolean
  readonly started: boolean
  readonly recorded: boolean
  readonly end: string
}

/** A call of a tool with side effects, as a runtime makes it. */
const call = Effect.fnUntraced(function* (journal: Journal.Service, sessionId: string, callId: string) {
  const write = (entry: Journal.Entry, durability: Journal.Durability) =>
    Effect.map(Effect.result(journal.write(entry, durability)), Result.isSuccess)
  if (!(yield* write(accepted(callId, sessionId), "buffered"))) {
    return { callId, accepted: false, started: false, recorded: false, end: "" } satisfies Told
  }
  yield* write(decoded(callId), "buffered")
  const begun = yield* write(started(callId), "durable")
  if (begun) yield* write(progress(callId, 0), "buffered")
  const end = terminal(callId, begun ? "done" : "unavailable")
  const recorded = yield* write(end, "durable")
  return { callId, accepted: true, started: begun, recorded, end: textOf(end) } satisfies Told
})

const Plan = Schema.Struct({
  /** From 0: for each operation whether it fails, and how. */
  faults: Schema.Array(Schema.Literals(["none", "none", "none", "ENOSPC", "EIO", "short"])).check(
    Schema.isMaxLength(60)
  ),
  /** All operations from one on, up to another one. */
  full: Schema.Tuple([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 80 })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  ]),
  waves: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(6)
  ),
  rotateBytes: Schema.Int.check(Schema.isBetween({ minimum: 200, maximum: 3000 })),
  compacts: Schema.Boolean,
  sessions: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 }))
})

describe("a journal on a disk that fails", () => {
  it.live.prop(
    "keeps every terminal, or tells who wrote it that it does not, and then keeps it with the next",
    [Plan],
    ([{ compacts, faults, full, rotateBytes, sessions, waves }]) =>
      Effect.gen(function* () {
        let healed = false
        const fault = (operation: number, kind: Kind): Fault | undefined => {
          if (healed) return undefined
          if (operation >= full[0] && operation < full[0] + full[1] && kind !== "remove") return "ENOSPC"
          const planned = faults[operation]
          return planned === undefined || planned === "none" ? undefined : planned
        }
        const disk = new Disk({ fault })
        const told: Array<Told> = []
        yield* Effect.scoped(
          Effect.gen(function* () {
            const journal = yield* FileJournal.make(disk.storage(), {
              progress: "full",
              rotateBytes,
              linger: 1,
              keepFor: compacts ? 0 : "1 day"
            })
            let made = 0
            for (const size of waves) {
              const wave = Array.from({ length: size }, () => `${made++}`)
              const ended = yield* Effect.forEach(wave, (id) => call(journal, `s${Number(id) % sessions}`, id), {
                concurrency: "unbounded"
              })
              told.push(...ended)
              // What is reported is there, whatever a loss of power leaves.
              for (const remains of disk.remains(4)) {
                const there = new Set([...Reading.sessions(remains).values()].flat())
                for (const { callId, end, recorded } of ended) {
                  const left = compacts && ![...there].some((text) => Reading.callIdOf(text) === callId)
                  assert.isTrue(!recorded || left || there.has(end), `${end} is missing`)
                }
              }
            }
            healed = true
            for (let s = 0; s < sessions; s++) {
              const last = yield* call(journal, `s${s}`, `last ${s}`)
              assert.deepStrictEqual([last.accepted, last.started, last.recorded], [true, true, true])
              told.push(last)
            }
          })
        )
        const said = Reading.sessions(disk.files)
        const all = [...said.values()].flat()
        assert.strictEqual(new Set(all).size, all.length, "nothing is there twice")
        for (const { accepted, callId, end, started } of told) {
          const own = all.filter((text) => Reading.callIdOf(text) === callId)
          if (compacts && own.length === 0) continue
          const tags = own.map((text) => (JSON.parse(text) as { readonly _tag: string })._tag)
          const expected = accepted
            ? [
                "Accepted",
                "Decoded",
                ...(started ? ["Started"] : []),
                ...tags.filter((tag) => tag === "Progress"),
                "Terminal"
              ]
            : []
          assert.deepStrictEqual(tags, expected)
          if (accepted) assert.strictEqual(own.at(-1), end)
        }
        // And whoever opens it next finds nothing to do.
        yield* Effect.scoped(
          Effect.gen(function* () {
            const next = yield* FileJournal.make(disk.storage())
            assert.deepStrictEqual(yield* next.claim, [])
          })
        )
      }).pipe(Effect.provide(Logger.layer([]))),
    { arbitrary: { runs: 300 }, timeout: 60_000 }
  )

  it.live("a full disk refuses new calls, each after it was tried, lets running ones end, and heals", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let isFull = false
        const disk = new Disk({ fault: (_, kind) => (isFull && kind === "write" ? "ENOSPC" : undefined) })
        const journal = yield* FileJournal.make(disk.storage(), { linger: 1 })
        yield* journal.write(accepted("1", "s"), "buffered")
        yield* journal.write(started("1"), "durable")
        isFull = true
        const end = yield* Effect.flip(journal.write(terminal("1"), "durable"))
        assert.strictEqual(end.reason, "NoSpace")
        for (let n = 0; n < 3; n++) {
          const before = disk.operations
          const refused = yield* Effect.flip(journal.write(accepted(`no ${n}`, "s"), "buffered"))
          assert.strictEqual(refused.reason, "NoSpace")
          assert.isAbove(disk.operations, before)
        }
        isFull = false
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(journal.write(accepted("2", "s"), "buffered"))))
        const said = Reading.sessions(disk.files).get("s") ?? []
        assert.deepStrictEqual(said, [accepted("1", "s"), started("1"), terminal("1"), accepted("2", "s")].map(textOf))
      })
    )
  )

  it.live("a sync that failed is not taken for one that did not", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let fails = true
        const disk = new Disk({
          fault: (_, kind) => {
            if (kind !== "sync" || !fails) return undefined
            fails = false
            return "EIO"
          }
        })
        const journal = yield* FileJournal.make(disk.storage(), { linger: 1 })
        yield* journal.write(accepted("1", "s"), "buffered")
        const failed = yield* Effect.flip(journal.write(terminal("1"), "durable"))
        assert.strictEqual(failed.reason, "Io")
        assert.deepStrictEqual(Reading.sessions(disk.files).get("s"), [])
        yield* journal.write(accepted("2", "s"), "durable")
        for (const remains of disk.remains()) {
          const expected = [accepted("1", "s"), terminal("1"), accepted("2", "s")].map(textOf)
          assert.deepStrictEqual(Reading.sessions(remains).get("s"), expected)
        }
      })
    )
  )

  it.live("a call with side effects waits for two syncs, calls at the same time share theirs", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const disk = new Disk()
        const journal = yield* FileJournal.make(disk.storage(), { linger: 1000 })
        const synced = <A>(effect: Effect.Effect<A, Journal.JournalError>) =>
          Effect.suspend(() => {
            const before = disk.count.sync ?? 0
            return Effect.map(effect, () => (disk.count.sync ?? 0) - before)
          })
        yield* journal.write(accepted("0", "s"), "durable")
        assert.strictEqual(yield* synced(call(journal, "s", "1")), 2)
        const ids = Array.from({ length: 64 }, (_, index) => `many ${index}`)
        const reads = Effect.forEach(
          ids,
          (id) => Effect.andThen(journal.write(accepted(id, "s"), "buffered"), journal.write(terminal(id), "durable")),
          { concurrency: "unbounded", discard: true }
        )
        assert.strictEqual(yield* synced(reads), 1)
        assert.strictEqual(yield* synced(journal.write(progress("0", 0), "buffered")), 0)
      })
    )
  )
})
