/**
 * The calls that have no terminal yet, followed line by line. Of all others nothing is
 * kept in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Journal from "../../../src/Journal.ts"
import * as Line from "./Line.ts"
import type { Entry } from "./Scan.ts"

/** The lines of a call that say what state it is in, as they stand there: most are never looked at. */
type Lines = Map<string, string>

/** @internal */
export class OpenCalls {
  private readonly calls = new Map<string, Lines>()

  /** In the order of the file. */
  add({ callId, line, tag }: Entry): void {
    switch (tag) {
      case "Accepted":
        this.calls.set(callId, new Map([[tag, line]]))
        return
      case "Terminal":
        this.calls.delete(callId)
        return
      default:
        // The last of each kind says all there is to know.
        this.calls.get(callId)?.set(tag, line)
    }
  }

  has(callId: string): boolean {
    return this.calls.has(callId)
  }

  get ids(): Iterable<string> {
    return this.calls.keys()
  }

  get size(): number {
    return this.calls.size
  }

  /** What is known of them. Of what cannot be understood it is logged that it is left alone. */
  get decoded(): Effect.Effect<ReadonlyArray<Journal.OpenCall>> {
    return Effect.map(
      Effect.forEach([...this.calls], ([callId, lines]) =>
        Effect.catch(decode(lines), (error) =>
          Effect.as(Effect.logError(`the journal has a call ${callId} that cannot be understood`, error), [])
        )
      ),
      (calls) => calls.flat()
    )
  }
}

const decode = Effect.fnUntraced(function* (lines: Lines) {
  const entries = yield* Effect.forEach(lines.values(), (line) => Journal.fromJson(Line.parse(Line.entryOf(line))))
  const accepted = entries.find((entry) => entry._tag === "Accepted")
  if (accepted === undefined) return []
  const open: Journal.OpenCall = { accepted, nextSeq: 0 }
  return [
    entries.reduce(
      (open, entry) => (entry._tag === "Accepted" || entry._tag === "Terminal" ? open : Journal.follow(open, entry)),
      open
    )
  ]
})
