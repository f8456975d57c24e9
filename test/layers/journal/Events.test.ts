/**
 * Readers of calls that join at any time, in this process and in another one, while files are rotated and compacted.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as FileJournal from "../../../layers/journal/FileJournal.ts"
import * as Journal from "../../../src/Journal.ts"
import { Disk, type Fault, type Kind } from "./Disk.ts"
import { accepted, decoded, progress, started, terminal } from "./Entries.ts"
import * as Reading from "./Reading.ts"

/** Faults are logged, as they should be. */
const quiet = Effect.provide(Logger.layer([]))

const count = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** Some calls at a time; each step is one more entry of one of them, or somebody who begins to read one. */
const Step = Schema.Struct({
  what: Schema.Literals(["next", "next", "next", "next", "end", "read", "readElsewhere"]),
  who: count(2),
  from: count(3),
  size: count(120),
  turns: count(6)
})

const Plan = Schema.Struct({
  steps: Schema.Array(Step).check(Schema.isMinLength(40), Schema.isMaxLength(120)),
  rotateBytes: Schema.Int.check(Schema.isBetween({ minimum: 250, maximum: 1000 })),
  seed: count(1_000_000),
  faults: Schema.Boolean,
  /** How many turns the other process takes for whatever it does. */
  slow: Schema.Literals([1, 4, 40])
})

interface Call {
  readonly id: string
  readonly events: Array<Journal.Kept>
}

interface Reader {
  readonly call: Call
  readonly from: number
  readonly elsewhere: boolean
  readonly reading: Fiber.Fiber<Result.Result<ReadonlyArray<Journal.Kept>, Journal.JournalError>>
}

describe("events of a journal", () => {
  it.live.prop(
    "are told to every reader from its place on, once and in order, to the terminal",
    [Plan],
    ([{ faults, rotateBytes, seed, slow, steps }]) =>
      Effect.gen(function* () {
        let random = seed
        const draw = (below: number) => ((random = Math.imul(random, 1103515245) + 12345) >>> 16) % below
        const fault = (_: number, kind: Kind): Fault | undefined =>
          !faults || draw(6) > 0
            ? undefined
            : kind === "write"
              ? draw(2) === 0
                ? "EIO"
                : "short"
              : kind === "sync"
                ? "EIO"
                : undefined
        const [here, there] = [{}, {}]
        const disk = new Disk({ turns: (process) => draw(process === there ? slow : 4), fault })
        const options = { progress: "full", rotateBytes, linger: 1, keepFor: 0 } as const
        const told: Array<Reader> = []
        let undurable: Journal.Kept | undefined
        const isDurable = (event: Journal.Kept) => {
          const [remains = new Map()] = disk.remains(1)
          const text = JSON.stringify(Journal.toJson(event))
          // A call that has ended may have left, as a whole.
          const said = Reading.sessions(remains).get("s") ?? []
          return said.includes(text) || !said.some((other) => Reading.callIdOf(other) === event.callId)
        }
        const reading = yield* FileJournal.make(disk.storage(there), options)
        const journal = yield* FileJournal.make(disk.storage(here), options)
        const write = (entry: Journal.Entry, durability: Journal.Durability) =>
          Effect.result(journal.write(entry, durability))
        const calls: Array<Call | undefined> = []
        let made = 0
        const end = Effect.fnUntraced(function* (call: Call) {
          const last = terminal(call.id)
          call.events.push(last)
          yield* write(last, "durable")
        })
        for (const { from, size, turns, what, who } of steps) {
          yield* Effect.repeat(Effect.yieldNow, { times: turns })
          let call = calls[who]
          if (call === undefined) {
            const id = `${made++}`
            if (Result.isFailure(yield* write(accepted(id, "s"), "buffered"))) continue
            // From here on it can be found by others, too.
            if (Result.isFailure(yield* write(started(id), "durable"))) {
              yield* write(terminal(id), "durable")
              continue
            }
            calls[who] = call = { id, events: [] }
            continue
          }
          const { id } = call
          switch (what) {
            case "next": {
              const event = progress(id, call.events.length, "x".repeat(size))
              if (Result.isSuccess(yield* write(event, "buffered"))) call.events.push(event)
              // A flush, or more of them.
              yield* write(decoded(id, `about ${(made + who) % 3}`), size % 3 === 0 ? "buffered" : "durable")
              break
            }
            case "end":
              // The first one lasts: what it began with is read from what was compacted, again and again.
              if (who === 0) break
              calls[who] = undefined
              yield* end(call)
              break
            default: {
              const by = what === "read" ? journal : reading
              // Some take their time.
              const taken = (event: Journal.Kept) =>
                Effect.andThen(
                  Effect.sync(() => {
                    // A sync of the writer that failed is not known to another process.
                    if (by === journal || !faults) undurable ??= isDurable(event) ? undefined : event
                  }),
                  Effect.repeat(Effect.yieldNow, { times: size % 30 })
                )
              const all = Effect.result(Stream.runCollect(Stream.tap(by.events(id, from), taken)))
              const reader = yield* Effect.forkChild(all)
              told.push({ call, from, elsewhere: by === reading, reading: reader })
            }
          }
        }
        for (const call of calls) if (call !== undefined) yield* end(call)
        // Until all that failed has been written.
        disk.options = { turns: disk.options.turns }
        yield* write(accepted("last", "s"), "durable")
        yield* write(terminal("last"), "durable")
        for (const { call, elsewhere, from, reading } of told) {
          const result = yield* Fiber.join(reading)
          const expected = call.events.filter((event) => event._tag === "Terminal" || event.seq >= from)
          // Another process's readers hold nothing back: a call that has ended may leave before they come to it.
          // And its own syncs may fail.
          const reasons = faults ? ["Unknown", "Io"] : ["Unknown"]
          if (Result.isFailure(result)) assert.isTrue(elsewhere && reasons.includes(result.failure.reason))
          else assert.deepStrictEqual(result.success, expected)
        }
        assert.isUndefined(undurable)
        const said = Reading.sessions(disk.files).get("s") ?? []
        assert.strictEqual(new Set(said.filter(Reading.isTerminal)).size, said.filter(Reading.isTerminal).length)
        return true
      }).pipe(Effect.scoped, quiet),
    { arbitrary: { runs: 40 }, timeout: 120_000 }
  )

  it.live("what a writer took back under a reader's eyes is read anew", () =>
    Effect.gen(function* () {
      for (let seed = 0; seed < 120; seed++) {
        let random = seed
        const draw = (below: number) => ((random = Math.imul(random, 1103515245) + 12345) >>> 16) % below
        const [here, there] = [{}, {}]
        let writes = 0
        const disk = new Disk({
          // Who reads is ahead in some of them, and behind in others.
          turns: (process) => (process === here ? draw(8) : draw(seed % 2 === 0 ? 4 : 40)),
          // What is written third comes to half of it.
          fault: (_, kind) =>
            kind !== "write" ? undefined : ++writes === 3 ? "short" : writes === 4 ? "EIO" : undefined
        })
        const journal = yield* FileJournal.make(disk.storage(here), { progress: "full", linger: 1 })
        const elsewhere = yield* FileJournal.make(disk.storage(there))
        yield* journal.write(accepted("1", "s"), "durable")
        const slow = Effect.repeat(Effect.yieldNow, { times: draw(60) })
        const reading = yield* Effect.forkChild(Stream.runCollect(Stream.tap(elsewhere.events("1"), () => slow)))
        yield* journal.write(accepted("2", "s"), "durable")
        const first = progress("1", 0, "a")
        yield* journal.write(first, "buffered")
        // Of these the first is given up, and the others are kept.
        const refused = yield* Effect.forkChild(Effect.flip(journal.write(started("2"), "durable")), {
          startImmediately: true
        })
        const kept = Array.from({ length: 1 + draw(3) }, (_, seq) => progress("1", seq + 1, "x".repeat(draw(200))))
        for (const event of kept) yield* journal.write(event, "buffered")
        yield* Fiber.join(refused)
        yield* Effect.repeat(Effect.yieldNow, { times: draw(20) })
        yield* journal.write(decoded("1", "y".repeat(draw(400))), "durable")
        yield* journal.write(terminal("1"), "durable")
        assert.deepStrictEqual(yield* Fiber.join(reading), [first, ...kept, terminal("1")])
      }
    }).pipe(Effect.scoped, quiet)
  )
})
