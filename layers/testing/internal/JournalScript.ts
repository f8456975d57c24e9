/**
 * What happens to a journal in one round of a check, as data.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Journal from "../../../src/Journal.ts"
import { fromReason, Interrupted, Lost } from "../../../src/ToolError.ts"
import type { Terminal } from "../../../src/ToolEvent.ts"

/** One thing that happens to a call. */
export type Step =
  | { readonly _tag: "Write"; readonly entry: Journal.Entry; readonly durability: Journal.Durability }
  /** A reader comes, who wants what is from a `seq` on; at the process that writes, or at another one. */
  | { readonly _tag: "Join"; readonly from: number; readonly elsewhere: boolean }
  /** The others go on meanwhile. */
  | { readonly _tag: "Pause" }

export interface Script {
  readonly callId: string
  /** Which of the processes has accepted it. */
  readonly process: number
  readonly steps: ReadonlyArray<Step>
}

/** In [0, n). */
const below = (n: number) => Random.nextIntBetween(0, n, { halfOpen: true })
const chance = (probability: number) => Effect.map(Random.next, (next) => next < probability)

/** Text that is hard to keep: it ends lines, is no text, is outside the plane of the others. */
const words = ["", "plain", "a\nb\r\u2028", "nul \u0000", "\ud83d\ude00", 'a "quoted" \\ one', "half \ud800", "{}"]

const value = Effect.map(Effect.zip(below(words.length), Random.next), ([word, number]) => ({
  text: words[word]!,
  list: [number, null, true, word],
  ["__proto__"]: 1
}))

export const terminal = (callId: string, name: string): Effect.Effect<Terminal> =>
  Effect.gen(function* () {
    const stats: Terminal["stats"] = {
      durationMs: yield* below(10_000),
      queuedMs: yield* below(10),
      progress: { emitted: 3, delivered: 3, merged: 0, dropped: 0 }
    }
    const success = yield* chance(0.5)
    const reason = (yield* chance(0.5)) ? new Lost({}) : new Interrupted({ why: "so", phase: "not-started" })
    return {
      _tag: "Terminal",
      callId,
      result: success
        ? { _tag: "Success", value: yield* value, content: [{ type: "text", text: "so" }], isError: false }
        : { _tag: "Failure", error: fromReason({ callId, name }, reason) },
      stats
    }
  })

/** Entries of a call that runs, after the first `seq` that is free. */
export const progress = (
  callId: string,
  kept: Journal.Writer["progress"],
  first: number,
  count: number
): Effect.Effect<ReadonlyArray<Journal.Entry>> =>
  Effect.forEach(Array.from({ length: count }), (_, index) =>
    Effect.gen(function* () {
      const seq = first + index
      return kept === "full"
        ? ({ _tag: "Progress", callId, seq, value: yield* value } as const)
        : ({ _tag: "Watermark", callId, seq, emitted: seq + 1, bytes: 10 * (seq + 1) } as const)
    })
  )

const entries = (
  callId: string,
  at: number,
  kept: Journal.Writer["progress"]
): Effect.Effect<ReadonlyArray<Journal.Entry>> =>
  Effect.gen(function* () {
    const name = "tool"
    const accepted: Journal.Entry = {
      _tag: "Accepted",
      call: (yield* chance(0.5))
        ? { callId, sessionId: "session", name }
        : { callId, sessionId: "session", externalId: "1", name },
      workspace: "/work space",
      at
    }
    const parametersHash = "hash"
    const decoded: Journal.Entry = {
      _tag: "Decoded",
      callId,
      parameters: yield* value,
      parametersHash,
      hidden: yield* chance(0.2),
      readOnly: yield* chance(0.5)
    }
    const approved: Journal.Entry = { _tag: "Approved", callId, by: "person", extent: "once", parametersHash, at }
    const started: Journal.Entry = { _tag: "Started", callId, attempt: 1, repeatable: yield* chance(0.5), at }
    const all = [
      accepted,
      decoded,
      ...((yield* chance(0.3)) ? [approved] : []),
      started,
      ...(yield* progress(callId, kept, 0, yield* below(8)))
    ]
    // Some have just begun, some do not end.
    const begun = all.slice(0, 1 + (yield* below(all.length + 3)))
    return begun.length === all.length && (yield* chance(0.6)) ? [...begun, yield* terminal(callId, name)] : begun
  })

/** What happens to some calls of each process. */
export const scripts = (
  round: string,
  processes: number,
  kept: Journal.Writer["progress"]
): Effect.Effect<ReadonlyArray<Script>> =>
  Effect.gen(function* () {
    const count = 1 + (yield* below(6))
    return yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
      Effect.gen(function* () {
        const callId = `${round}-${index}`
        const steps: Array<Step> = []
        for (const entry of yield* entries(callId, index, kept)) {
          const durable = entry._tag === "Terminal" || (yield* chance(0.3))
          if (yield* chance(0.3)) steps.push({ _tag: "Pause" })
          steps.push({ _tag: "Write", entry, durability: durable ? "durable" : "buffered" })
          if (yield* chance(0.3)) {
            steps.push({ _tag: "Join", from: yield* below(6), elsewhere: yield* chance(0.5) })
          }
        }
        // The first process has one at least: it is the one that dies.
        return { callId, process: index === 0 ? 0 : yield* below(processes), steps }
      })
    )
  })
