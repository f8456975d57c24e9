/**
 * A folder of a journal as calls leave it that only read, some of them in flight when the process was killed.
 */
import * as Effect from "effect/Effect"
import * as FileJournal from "../../layers/node/FileJournal.ts"
import type * as Journal from "../../src/Journal.ts"

/** Of how many calls one is open: of a million 1,000, as many as are in flight at a time, and more. */
const openEvery = 1000

export const openOf = (calls: number): number => Math.ceil(calls / openEvery)

/** So many calls; the last is open. */
export const fill = (directory: string, calls: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const journal = yield* FileJournal.make({ directory, keepBytes: Number.MAX_SAFE_INTEGER })
      for (let n = 0; n < calls; n++) {
        const callId = `01a22d6b-622b-7316-a7f7-${String(n).padStart(12, "0")}`
        const entries: ReadonlyArray<Journal.Entry> = [
          { _tag: "Accepted", call: { callId, sessionId: "million", name: "look" }, workspace: "/work", at: n },
          {
            _tag: "Decoded",
            callId,
            parameters: { path: "README.md" },
            parametersHash: "84f743fef5a9fe917e85d73f7f857e54f1a40c79bcf5b9b6c4ecce50fe6c9b16",
            hidden: false,
            readOnly: true
          },
          { _tag: "Started", callId, attempt: 1, repeatable: true, at: n },
          {
            _tag: "Terminal",
            callId,
            result: { _tag: "Success", value: "x".repeat(200), content: [], isError: false },
            stats: { durationMs: 1, queuedMs: 0, progress: { emitted: 0, delivered: 0, merged: 0, dropped: 0 } }
          }
        ]
        const isOpen = n % openEvery === openEvery - 1 || n === calls - 1
        for (const entry of isOpen ? entries.slice(0, 3) : entries) yield* journal.write(entry, "buffered")
        if (isOpen) yield* journal.write({ _tag: "Started", callId, attempt: 2, repeatable: true, at: n }, "durable")
      }
    })
  )
