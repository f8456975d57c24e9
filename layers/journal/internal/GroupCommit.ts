/**
 * What one process writes, in its order: all that waits is committed together, one transaction after the other.
 *
 * A commit that fails leaves what it had in its place, and it is tried again with what is written next, or after a
 * while. But for `Accepted` and `Started` of a writer who waits: he is told, and they are taken back. While something
 * is behind in this way, everybody who writes one of these waits, so that new calls are refused.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type * as Semaphore from "effect/Semaphore"
import * as Journal from "../../../src/Journal.ts"
import type { Row } from "./SqlEntries.ts"

/** An entry on its way, and whoever waits for it. */
interface Waiting extends Row {
  waiter?: Deferred.Deferred<void, Journal.JournalError> | undefined
}

/** A call that is this process's to end. */
interface Own {
  next: number
  /** Its terminal is on its way. */
  ended: boolean
}

export interface Target {
  /** Asked before each commit, while others may have their turn. */
  readonly ready: Effect.Effect<void, Journal.JournalError>
  /** All of it or nothing. Gives what is not kept, and never will be. */
  readonly commit: (
    rows: ReadonlyArray<Row>,
    refused: ReadonlyArray<Row>
  ) => Effect.Effect<ReadonlyMap<Row, Journal.JournalError>, Journal.JournalError>
  /** Of a call that is not this process's. */
  readonly refuse: (callId: string) => Effect.Effect<never, Journal.JournalError>
}

export interface Options extends Target {
  /** Held while something is committed. */
  readonly turn: Semaphore.Semaphore
  /** Of what waits, in UTF-16 code units. Beyond it, who writes waits; and where it cannot be written, progress is refused. */
  readonly limit: number
  /** How long what is behind waits for another attempt, and how long a last one may take, in ms. */
  readonly retryMs: number
  readonly closeMs: number
}

export interface GroupCommit {
  readonly write: Journal.Service["write"]
  /** Calls that are this process's from now on. */
  readonly adopt: (callId: string, next: number) => void
  readonly owns: (callId: string) => boolean
  readonly owned: () => ReadonlyArray<string>
}

/** How many entries, and how much of them, go at once: a transaction that is too long keeps all others waiting. */
const mostRows = 1_000
const mostText = 4 << 20

export const make = (options: Options): Effect.Effect<GroupCommit, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { closeMs, commit, limit, ready, refuse, retryMs, turn } = options
    const calls = new Map<string, Own>()
    const latch = Latch.makeUnsafe()
    let queue: Array<Waiting> = []
    let size = 0
    let refused: Array<Row> = []
    let behind: Journal.JournalError | undefined
    let closed = false

    const answer = (row: Waiting, exit: Exit.Exit<void, Journal.JournalError>) => {
      const { waiter } = row
      row.waiter = undefined
      if (waiter !== undefined) Deferred.doneUnsafe(waiter, exit)
    }

    const take = (): ReadonlyArray<Waiting> => {
      let text = 0
      const end = queue.findIndex(
        ({ body }, index) => index > 0 && (index >= mostRows || (text += body.length) > mostText)
      )
      return end === -1 ? queue.slice() : queue.slice(0, end)
    }

    const remove = (gone: (row: Waiting) => boolean) => {
      queue = queue.filter((row) => !gone(row))
      size = queue.reduce((size, { body }) => size + body.length, 0)
    }

    const kept = (rows: ReadonlyArray<Waiting>, lost: ReadonlyMap<Row, Journal.JournalError>) => {
      behind = undefined
      for (const row of rows) {
        const error = lost.get(row)
        // It has ended, or is somebody else's, or never was.
        if (row.tag === "Terminal" || isOver(error) || (row.tag === "Accepted" && error !== undefined)) {
          calls.delete(row.callId)
        }
        answer(row, error === undefined ? Exit.void : Exit.fail(error))
      }
      const those = new Set(rows)
      remove((row) => those.has(row))
    }

    const failed = (rows: ReadonlyArray<Waiting>, error: Journal.JournalError, sent: boolean) => {
      behind = error
      const dropped = new Set<Row>()
      for (const row of rows) {
        if (row.waiter !== undefined && (row.tag === "Accepted" || row.tag === "Started")) {
          dropped.add(row)
          // What was not sent cannot have arrived: while the database is away there is nothing to take back.
          if (sent) refused.push(row)
          if (row.tag === "Accepted") calls.delete(row.callId)
        }
        // At last: who is told may go on here and now.
        answer(row, Exit.fail(error))
      }
      if (dropped.size === 0) return
      // What was written since, of a call that is none.
      const orphans = queue.filter(({ callId }) => !calls.has(callId))
      for (const row of orphans) answer(row, Exit.fail(error))
      const gone = new Set<Row>([...dropped, ...orphans])
      remove((row) => gone.has(row))
    }

    /** Whether there may be more to do at once. */
    const flush: Effect.Effect<boolean> = Effect.flatMap(Effect.exit(ready), (ready) =>
      turn.withPermit(
        Effect.suspend(() => {
          const rows = take()
          if (rows.length === 0 && refused.length === 0) {
            behind = undefined
            return Effect.succeed(false)
          }
          const back = refused.length
          return Effect.matchEffect(Effect.andThen(ready, Effect.catchDefect(commit(rows, refused), broken)), {
            onFailure: (error) => Effect.sync(() => (failed(rows, error, Exit.isSuccess(ready)), false)),
            onSuccess: (lost) => {
              refused = refused.slice(back)
              const unheard = rows.filter((row) => lost.has(row) && row.waiter === undefined)
              kept(rows, lost)
              return Effect.as(tell(unheard, lost), queue.length > 0)
            }
          })
        })
      )
    )

    const tell = (rows: ReadonlyArray<Row>, why: ReadonlyMap<Row, Journal.JournalError>): Effect.Effect<void> =>
      rows.length === 0
        ? Effect.void
        : Effect.logWarning("journal: entries are lost", ...rows.map((row) => `${row.tag}: ${why.get(row)?.detail}`))

    const flushAll: Effect.Effect<void> = Effect.suspend(() =>
      Effect.flatMap(flush, (more) => (more ? flushAll : Effect.void))
    )

    const work = Effect.suspend(() =>
      (behind === undefined ? latch.await : Effect.ignore(Effect.timeout(latch.await, Duration.millis(retryMs)))).pipe(
        Effect.andThen(Effect.sync(() => latch.closeUnsafe())),
        Effect.andThen(flushAll)
      )
    ).pipe(Effect.repeat({ while: () => !closed }))

    const worker = yield* Effect.forkScoped(work)
    // What it is about it finishes: to stop a transaction in its middle takes longer.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        closed = true
        latch.openUnsafe()
        yield* Effect.ignore(Effect.timeout(Effect.interruptible(Fiber.await(worker)), Duration.millis(closeMs)))
        if (queue.length === 0) return
        const why = behind?.detail ?? "there was no time"
        yield* Effect.logWarning("journal: entries are lost", `${queue.length} of the last calls`, why)
        for (const row of queue) answer(row, Exit.fail(hasEnded()))
      })
    )

    const enqueue = (call: Own, callId: string, entry: Journal.Entry): Waiting => {
      const row: Waiting = {
        callId,
        n: call.next++,
        tag: entry._tag,
        seq: entry._tag === "Progress" || entry._tag === "Watermark" ? entry.seq : null,
        body: JSON.stringify(Journal.toJson(entry))
      }
      if (entry._tag === "Terminal") call.ended = true
      queue.push(row)
      size += row.body.length
      latch.openUnsafe()
      return row
    }

    const write: Journal.Service["write"] = (entry, durability) =>
      Effect.suspend(() => {
        if (closed) return Exit.fail(hasEnded())
        const callId = Journal.callIdOf(entry)
        let call = calls.get(callId)
        if (entry._tag === "Accepted") {
          if (call !== undefined || !isText(callId)) return Exit.fail(noCall(callId))
          call = { next: 0, ended: false }
          calls.set(callId, call)
        } else if (call === undefined) return refuse(callId)
        else if (call.ended) {
          return Exit.fail(new Journal.JournalError({ reason: "Settled", detail: `call ${callId} has its terminal` }))
        }
        const full = size > limit
        if (full && behind !== undefined && (entry._tag === "Progress" || entry._tag === "Watermark")) {
          return Exit.fail(new Journal.JournalError({ reason: "NoSpace", detail: `too much waits: ${behind.detail}` }))
        }
        const row = enqueue(call, callId, entry)
        const begins = entry._tag === "Accepted" || entry._tag === "Started"
        if (durability === "buffered" && !full && !(begins && behind !== undefined)) return Effect.void
        row.waiter = Deferred.makeUnsafe()
        return Deferred.await(row.waiter)
      })

    return {
      write,
      adopt: (callId, next) => void calls.set(callId, { next, ended: false }),
      owns: (callId) => calls.has(callId),
      owned: () => [...calls.keys()]
    }
  })

/** Nothing more of the call is this process's. */
const isOver = (error: Journal.JournalError | undefined): boolean =>
  error !== undefined && (error.reason === "Settled" || error.reason === "Closed" || error.reason === "Unknown")

/** Those who wait must be told of it. */
const broken = (defect: unknown) =>
  Effect.andThen(
    Effect.logError("journal", defect),
    Effect.fail(new Journal.JournalError({ reason: "Io", detail: "it is broken: see the log" }))
  )

const hasEnded = () => new Journal.JournalError({ reason: "Closed", detail: "it has ended" })

const noCall = (callId: string) =>
  new Journal.JournalError({
    reason: "Io",
    detail: isText(callId) ? `call ${callId} is in flight` : "a call's id holds what is no text"
  })

/** What a database can hold as text. */
const isText = (text: string): boolean => text.isWellFormed() && !text.includes("\0")
