/**
 * A loss of power at every point: nothing that was reported durable is missing, and without any one sync something is.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as FileJournal from "../../../layers/journal/FileJournal.ts"
import * as Journal from "../../../src/Journal.ts"
import { Disk, type Remains } from "./Disk.ts"
import { accepted, decoded, progress, started, terminal } from "./Entries.ts"
import * as Reading from "./Reading.ts"

const session = "s"

/** What was said to survive. */
class Promises {
  /** All that was written, in order. */
  private written: Array<string> = []
  private readonly promised = new Set<string>()
  /** The calls whose terminal was. */
  private readonly ended = new Set<string>()
  violation: string | undefined
  onTold = () => {}

  readonly write = (journal: Journal.Service, entry: Journal.Entry, durability: Journal.Durability) =>
    Effect.suspend(() => {
      const index = this.written.push(JSON.stringify(Journal.toJson(entry)))
      return Effect.tap(journal.write(entry, durability), () =>
        Effect.sync(() => {
          if (durability === "durable") for (const text of this.written.slice(0, index)) this.promise(text)
        })
      )
    })

  readonly told = (entry: Journal.Kept) =>
    Effect.sync(() => {
      this.promise(JSON.stringify(Journal.toJson(entry)))
      // Whatever the disk does next, it may not come to it.
      this.onTold()
    })

  private promise(text: string): void {
    this.promised.add(text)
    if (Reading.isTerminal(text)) this.ended.add(Reading.callIdOf(text))
  }

  /** What the writer had in memory ended with it. */
  restart(files: Remains): void {
    this.written = [...(Reading.sessions(files).get(session) ?? [])]
  }

  check(remains: Remains, compacts: boolean): void {
    const said = Reading.sessions(remains).get(session) ?? []
    const there = new Set(said)
    if (there.size !== said.length) this.violation ??= `twice: ${said.join(" ")}`
    const calls = new Set(said.map(Reading.callIdOf))
    for (const text of this.promised) {
      if (there.has(text)) continue
      // A call that has ended may have left, as a whole.
      const callId = Reading.callIdOf(text)
      if (compacts && this.ended.has(callId) && !calls.has(callId)) continue
      this.violation ??= `missing: ${text} in ${said.join(" ")}`
    }
  }
}

const callIds = ["1", "2", "3"]

/** Calls one after the other, while another one is open. */
const calls = Effect.fnUntraced(function* (journal: Journal.Service, promises: Promises) {
  const write = (entry: Journal.Entry, durability: Journal.Durability) => promises.write(journal, entry, durability)
  yield* write(accepted("0", session), "buffered")
  yield* write(started("0"), "durable")
  for (const id of callIds) {
    yield* write(accepted(id, session), "buffered")
    yield* write(decoded(id, { text: "x".repeat(100) }), "buffered")
    yield* write(started(id), "durable")
    yield* write(progress("0", Number(id)), "buffered")
    yield* write(terminal(id), "durable")
  }
})

const follow = (journal: Journal.Service, callId: string, promises: Promises) =>
  Stream.runForEach(journal.events(callId), promises.told)

/** Asks until there is such a call, or no more. */
const followSoon = (journal: Journal.Service, callId: string, promises: Promises): Effect.Effect<void> =>
  Effect.catch(follow(journal, callId, promises), () =>
    Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 2 }), followSoon(journal, callId, promises))
  )

/**
 * A process that writes, one that reads, and, when the first has ended in the middle, one that recovers. Nobody reads
 * where there is compaction: what a reader syncs, the writer need not.
 */
const run = (options: { readonly compacts: boolean; readonly killAt: number; readonly without?: string | undefined }) =>
  Effect.gen(function* () {
    const { compacts, killAt, without } = options
    const reads = !compacts
    const promises = new Promises()
    const killed = yield* Deferred.make<void>()
    const [first, second] = [{}, {}]
    let random = 1
    const check = () => {
      for (const remains of disk.remains(16)) promises.check(remains, compacts)
    }
    promises.onTold = check
    const disk: Disk = new Disk({
      without,
      // Who reads gets ahead of who writes.
      turns: (process) =>
        process === second ? 0 : 3 + (((random = Math.imul(random, 1103515245) + 12345) >>> 16) % 4),
      after: (operation) => {
        check()
        if (operation !== killAt) return
        disk.kill(first)
        disk.kill(second)
        Deferred.doneUnsafe(killed, Effect.void)
      }
    })
    const make = (process: object) =>
      FileJournal.make(disk.storage(process), {
        progress: "full",
        rotateBytes: 700,
        linger: 1,
        keepFor: compacts ? 0 : "1 day"
      })
    const scope = yield* Scope.make()
    const writer = yield* Effect.provideService(make(first), Scope.Scope, scope)
    const reader = yield* Effect.provideService(make(second), Scope.Scope, scope)
    const reading = yield* Effect.forkChild(
      Effect.forEach(reads ? callIds : [], (id) => followSoon(reader, id, promises), { concurrency: "unbounded" })
    )
    const work = Effect.andThen(calls(writer, promises), Scope.close(scope, Exit.void))
    const working = yield* Effect.forkDetach(work)
    yield* Effect.raceFirst(Fiber.join(working), Deferred.await(killed))
    reading.interruptUnsafe()
    const operations = disk.operations
    promises.restart(disk.files)

    yield* Effect.scoped(
      Effect.gen(function* () {
        const journal = yield* make({})
        const open = yield* journal.claim
        yield* Effect.forEach(callIds, (id) =>
          open.some(({ accepted }) => accepted.call.callId === id)
            ? Effect.void
            : Effect.ignore(follow(journal, id, promises))
        )
        for (const { accepted } of open) {
          yield* promises.write(journal, terminal(accepted.call.callId, "recovered"), "durable")
        }
        for (let n = 0; n < 6; n++) {
          yield* promises.write(journal, accepted(`after ${n}`, session), "buffered")
          yield* promises.write(journal, terminal(`after ${n}`, "x".repeat(200)), "durable")
        }
      })
    )
    return { disk, operations, violation: promises.violation }
  })

/** The first violation, killing the writer at each of its operations. */
const search = Effect.fnUntraced(function* (without: string | undefined) {
  const sites = new Set<string>()
  let operations = 0
  for (const compacts of [false, true]) {
    for (let killAt = 0; ; killAt++) {
      const done = yield* run({ compacts, killAt, without })
      for (const site of done.disk.sites) sites.add(site)
      operations += done.disk.operations
      if (done.violation !== undefined) return { sites, operations, violation: done.violation }
      if (done.operations <= killAt) break
    }
  }
  return { sites, operations, violation: undefined }
})

describe("a loss of power", () => {
  it.live(
    "takes nothing that was durable, and without any one sync it does",
    () =>
      Effect.gen(function* () {
        const whole = yield* search(undefined)
        assert.strictEqual(whole.violation, undefined)
        assert.isAbove(whole.operations, 1000)
        const undetected: Array<string> = []
        for (const site of whole.sites) {
          const { violation } = yield* search(site)
          if (violation === undefined) undetected.push(site)
        }
        assert.deepStrictEqual(undetected, [])
      }),
    120_000
  )
})
