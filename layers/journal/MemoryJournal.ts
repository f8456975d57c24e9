/**
 * A journal in the memory of this process: for tests, and for readers that come later than their call.
 *
 * Nothing of it survives the process. What is durable here is what every other journal keeps across a crash of the
 * machine: so what is written with it is tested without a disk.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Journal from "../../src/Journal.ts"
import * as Followers from "./internal/Followers.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Default: "watermark". */
  readonly progress?: Journal.Service["progress"] | undefined
  /** So many calls that have ended are kept. The one that ended first goes first. Default: 1,000. */
  readonly ended?: number | undefined
}

/**
 * A memory that several runtimes may share, as processes share a database.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryJournal {
  /** As one process has it. When the scope closes, the process is dead, and others may claim its open calls. */
  readonly open: Effect.Effect<Journal.Service, never, Scope.Scope>
}

/** A process, by its identity. */
interface Writer {
  alive: boolean
}

interface Call {
  writer: Writer
  open: Journal.OpenCall
  readonly kept: Array<Journal.Kept>
  ended: boolean
}

/**
 * An empty one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ ended = 1_000, progress = "watermark" }: Options = {}): Effect.Effect<MemoryJournal> =>
  Effect.sync(() => {
    /** In the order of their acceptance. */
    const calls = new Map<string, Call>()
    /** In the order of their ends. */
    const closed = new Set<string>()
    const followers = Followers.make()

    const end = (callId: string) => {
      closed.add(callId)
      if (closed.size <= ended) return
      const [first] = closed
      if (first === undefined) return
      closed.delete(first)
      calls.delete(first)
    }

    const write = (writer: Writer, entry: Journal.Entry): Exit.Exit<void, Journal.JournalError> => {
      if (!writer.alive) return fail("Closed", "it has ended")
      const callId = Journal.callIdOf(entry)
      const call = calls.get(callId)
      if (entry._tag === "Accepted") {
        if (call !== undefined) return fail(call.ended ? "Settled" : "Io", `call ${callId} was accepted before`)
        calls.set(callId, { writer, open: { accepted: entry, nextSeq: 0 }, kept: [], ended: false })
        return Exit.void
      }
      if (call === undefined) return fail("Unknown", `no call ${callId} was accepted`)
      if (call.ended) return fail("Settled", `call ${callId} has its terminal`)
      if (call.writer !== writer) return fail("Closed", `call ${callId} is another process's`)
      if (entry._tag !== "Terminal") call.open = Journal.follow(call.open, entry)
      if (entry._tag === "Terminal" || entry._tag === "Progress" || entry._tag === "Watermark") call.kept.push(entry)
      if (entry._tag === "Terminal") {
        call.ended = true
        end(callId)
      }
      // At last: who is woken may go on here and now.
      followers.wake([callId])
      return Exit.void
    }

    const events = (callId: string, from = 0): Stream.Stream<Journal.Kept, Journal.JournalError> =>
      Stream.unwrap(
        Effect.suspend(() => {
          // Held from here on: a call that is forgotten meanwhile is read to its end.
          const call = calls.get(callId)
          if (call === undefined) return fail("Unknown", `no call ${callId} was accepted`)
          const look = (after: number) =>
            Effect.sync(() => (call.kept.length > after ? call.kept.slice(after) : undefined))
          return Exit.succeed(
            Stream.unfold<number, ReadonlyArray<Journal.Kept>, never, never>(0, (after) =>
              call.ended && after === call.kept.length
                ? Effect.succeed(undefined)
                : Effect.map(followers.look(callId, look(after), Effect.never), (kept) => [kept, after + kept.length])
            ).pipe(
              Stream.flattenIterable,
              Stream.filter((kept) => kept._tag === "Terminal" || kept.seq >= from)
            )
          )
        })
      )

    const claim = (writer: Writer): Effect.Effect<ReadonlyArray<Journal.OpenCall>, Journal.JournalError> =>
      Effect.suspend(() => {
        if (!writer.alive) return fail("Closed", "it has ended")
        const claimed = [...calls.values()].filter((call) => !call.ended && !call.writer.alive)
        for (const call of claimed) call.writer = writer
        return Exit.succeed(claimed.map(({ open }) => open))
      })

    return {
      open: Effect.map(
        Effect.acquireRelease(
          Effect.sync((): Writer => ({ alive: true })),
          (writer) =>
            Effect.sync(() => {
              writer.alive = false
            })
        ),
        (writer) => ({
          progress,
          write: (entry) => Effect.suspend(() => write(writer, entry)),
          events,
          claim: claim(writer)
        })
      )
    }
  })

/**
 * One of its own.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<Journal.Records> =>
  Journal.layer(Effect.flatMap(make(options), ({ open }) => open))

const fail = (reason: Journal.JournalError["reason"], detail: string) =>
  Exit.fail(new Journal.JournalError({ reason, detail }))
