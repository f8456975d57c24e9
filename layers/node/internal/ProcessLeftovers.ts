/**
 * Commands of a program that died: ended by the next that starts.
 *
 * **Contract**
 *
 * - Whose they are is written in their environment, not in a file: nothing is written when a command starts, and what is
 *   found is what runs, never a stranger that was given its number.
 * - A program is dead when no process has its number and its time of start. After a restart of the system nothing is
 *   left; so no name of the boot is needed.
 * - Those of other users are left alone, and those of another pid namespace.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Leftover } from "../../../src/Processes.ts"
import { endAll } from "./ProcessEnd.ts"
import { signalGroups } from "./ProcessGroup.ts"
import { Marks } from "./ProcessMark.ts"
import type { ProcessTable } from "./ProcessTable.ts"

/** Time to end after SIGTERM, in ms. The start of a program waits for it, if there is anybody. */
const graceMs = 500

/**
 * Ends what runs of programs that died, and says so in the log. A look, which costs some ms, unless it finds somebody.
 *
 * @category running
 * @since 0.1.0
 */
export const endLeftovers = (table: ProcessTable): Effect.Effect<ReadonlyArray<Leftover>> =>
  Effect.suspend(() => {
    const marks = new Marks(table)
    let until: number | undefined
    let undecided = false
    const calls = new Map<number, string>()
    const ended = endAll(
      {
        look: () => {
          const { entries, isWhole } = marks.leftovers(table, (pid, callId) => calls.set(pid, callId))
          undecided = !isWhole
          return entries
        },
        runs: (entry) => table.runs(entry),
        signal: (entries, signal) => signalGroups(table, entries, signal),
        pending: () => undecided && performance.now() < (until ??= performance.now() + graceMs),
        unnamed: () => false,
        deaf: () => false
      },
      graceMs
    )
    return Effect.map(ended, (left) =>
      left.map((one): Leftover => {
        const callId = calls.get(one.pid)
        return callId === undefined ? one : { ...one, callId }
      })
    )
  }).pipe(
    Effect.tap((left) =>
      left.length === 0 ? Effect.void : Effect.logWarning("Ended commands of a program that died", { processes: left })
    )
  )
