import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as MemoryJournal from "../../../layers/journal/MemoryJournal.ts"
import * as JournalCheck from "../../../layers/testing/JournalCheck.ts"
import * as Journal from "../../../src/Journal.ts"

/** What is wrong with a journal. */
type Fault = (journal: Journal.Service) => Journal.Service

const reading =
  (
    change: (
      events: Stream.Stream<Journal.Kept, Journal.JournalError>,
      from: number
    ) => Stream.Stream<Journal.Kept, Journal.JournalError>
  ): Fault =>
  (journal) => ({ ...journal, events: (callId, from = 0) => change(journal.events(callId, from), from) })

const writing =
  (change: (write: Journal.Service["write"]) => Journal.Service["write"]): Fault =>
  (journal) => ({ ...journal, write: change(journal.write) })

const claiming =
  (change: (claim: Journal.Service["claim"]) => Journal.Service["claim"]): Fault =>
  (journal) => ({ ...journal, claim: change(journal.claim) })

const takes = (reason: Journal.JournalError["reason"], detail = ""): Fault =>
  writing(
    (write) => (entry, durability) =>
      Effect.catchIf(
        write(entry, durability),
        (error) => error.reason === reason && error.detail.includes(detail),
        () => Effect.void
      )
  )

const everyOther = () => {
  let n = 0
  return () => ++n % 2 === 0
}

const faults: Readonly<Record<string, readonly [JournalCheck.JournalViolation["rule"], Fault]>> = {
  "an event is told twice": ["Order", reading(Stream.flatMap((event) => Stream.make(event, event)))],
  "an event is left out": [
    "Order",
    reading((events) => Stream.filter(events, (event) => event._tag === "Terminal" || event.seq !== 1))
  ],
  "a reader gets what is before its place": [
    "Durable",
    (journal) => ({ ...journal, events: (callId) => journal.events(callId) })
  ],
  "a reader does not get what is at its place": [
    "Order",
    (journal) => ({ ...journal, events: (callId, from = 0) => journal.events(callId, from + 1) })
  ],
  "a reader is not told the end": ["Order", reading(Stream.filter((event) => event._tag !== "Terminal"))],
  "a reader does not end": ["Stuck", reading((events) => Stream.concat(events, Stream.never))],
  "a second terminal is taken": ["Settled", takes("Settled")],
  "a terminal of no call is taken": ["Unknown", takes("Unknown")],
  "a closed journal takes calls": ["Closed", takes("Closed", "it has ended")],
  "a call of another process can be ended": ["Foreign", takes("Closed", "another process")],
  "what is durable is not kept": [
    "Order",
    writing((write) => {
      const lost = everyOther()
      return (entry, durability) =>
        entry._tag === "Watermark" && durability === "durable" && lost() ? Effect.void : write(entry, durability)
    })
  ],
  "writing fails": [
    "Failed",
    writing(
      (write) => (entry, durability) =>
        entry._tag === "Decoded"
          ? Exit.fail(new Journal.JournalError({ reason: "Io", detail: "so" }))
          : write(entry, durability)
    )
  ],
  "writing hangs": [
    "Stuck",
    writing((write) => (entry, durability) => (entry._tag === "Decoded" ? Effect.never : write(entry, durability)))
  ],
  "nothing is claimed": ["Durable", claiming(() => Effect.succeed([]))],
  "a call is claimed twice": [
    "Claim",
    claiming((claim) => {
      let first: ReadonlyArray<Journal.OpenCall> = []
      return Effect.map(claim, (calls) => (first = [...first, ...calls]))
    })
  ],
  "calls are claimed in any order": ["Claim", claiming(Effect.map((calls) => calls.toReversed()))],
  "what was started is not told": [
    "OpenCall",
    claiming(Effect.map((calls) => calls.map(({ started: _, ...call }) => call)))
  ],
  "the next progress would have a seq that was given": [
    "OpenCall",
    claiming(Effect.map((calls) => calls.map((call) => ({ ...call, nextSeq: Math.max(0, call.nextSeq - 1) }))))
  ]
}

const checked = (fault: Fault) =>
  Effect.gen(function* () {
    const memory = yield* MemoryJournal.make()
    const open = Effect.map(memory.open, fault)
    return yield* JournalCheck.check({ open, shared: true }, { rounds: 60, seed: 1, limit: 300 })
  })

describe("JournalCheck", () => {
  it.live("finds nothing where nothing is wrong", () =>
    Effect.gen(function* () {
      const report = yield* checked((journal) => journal)
      assert.isAbove(report.claimed, 50)
    })
  )

  for (const [name, [rule, fault]] of Object.entries(faults)) {
    it.live(`is told: ${name}`, () =>
      Effect.gen(function* () {
        const violation = yield* Effect.flip(checked(fault))
        assert.strictEqual(violation.rule, rule, violation.message)
      })
    )
  }
})
