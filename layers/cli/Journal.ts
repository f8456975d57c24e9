/**
 * `journal`: what the files of a journal say of every call, and the recovery of those that a process left open.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Records } from "../../src/Journal.ts"
import * as PlainText from "../../src/PlainText.ts"
import { toJson } from "../../src/ToolEvent.ts"
import * as Inspection from "../journal/Inspection.ts"
import * as Recovery from "../journal/Recovery.ts"
import * as FileJournal from "../node/FileJournal.ts"
import { Signals } from "../node/Signals.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import { UsageError } from "./ExitStatus.ts"

/**
 * Prints every call, and with `follow` those that start or end until the user has seen enough. Gives whether all of it
 * could be read.
 *
 * @category running
 * @since 0.1.0
 */
export const show = Effect.fn("cli.journal.show")(function* (options: {
  readonly directory: string
  readonly json: boolean
  readonly follow: boolean
}) {
  const { write } = yield* StandardStreams
  const signals = yield* Signals
  let session: string | undefined
  let whole = true
  const print = (found: Inspection.Found) => {
    whole &&= found._tag === "Call"
    if (options.json) return write(`${JSON.stringify(encode(found))}\n`)
    if (found._tag === "Corrupt") return write(`${corrupt(found)}\n`)
    const heading = found.call.sessionId === session ? "" : `session ${PlainText.makeLine(found.call.sessionId)}\n`
    session = found.call.sessionId
    return write(`${heading}${line(found)}\n`)
  }
  const printed = Stream.runForEach(FileJournal.inspect(options.directory, options), print)
  yield* Effect.raceFirst(printed, signals.first)
  return whole
})

/**
 * Ends every call that a process left open, and prints how. Gives that it did.
 *
 * @category running
 * @since 0.1.0
 */
export const recover = Effect.fn("cli.journal.recover")(function* (options: { readonly json: boolean }) {
  const { talk, write } = yield* StandardStreams
  const recovered = yield* recoverAll
  for (const one of recovered) {
    const { terminal } = one
    yield* write(
      options.json ? `${JSON.stringify({ ...one, terminal: toJson(terminal) })}\n` : `${recoveredLine(one)}\n`
    )
  }
  if (recovered.length === 0) yield* talk("No call is open.\n")
  return true
})

/**
 * The same, before anything else is done with the journal: told, and no data.
 *
 * @category running
 * @since 0.1.0
 */
export const recoverFirst = Effect.fn("cli.journal.recoverFirst")(function* () {
  const { talk } = yield* StandardStreams
  for (const one of yield* recoverAll) yield* talk(`Left open by a program that died: ${recoveredLine(one)}\n`)
})

const recoverAll = Effect.gen(function* () {
  const records = yield* Effect.serviceOption(Records)
  if (records._tag === "None") return yield* new UsageError({ message: "There is no journal to recover." })
  return yield* Recovery.recover.pipe(
    Effect.provideService(Records, records.value),
    Effect.mapError(({ message }) => new UsageError({ message }))
  )
})

const recoveredLine = ({ attempt, call, terminal: { result } }: Recovery.Recovered): string => {
  const end = result._tag === "Success" ? "succeeded" : `${result.error.reason._tag}: ${result.error.message}`
  const again = attempt === undefined ? "" : ` (made again, attempt ${attempt})`
  return PlainText.makeLine(`${call.callId}  ${call.name}${again}  ${end}`)
}

const encode = Schema.encodeSync(Schema.Union([Inspection.Call, Inspection.Corrupt]))

const corrupt = ({ bytes, file, offset }: Inspection.Corrupt): string =>
  `${file}: ${bytes} bytes at ${offset} are not what was written`

const states = { accepted: "open", started: "open", succeeded: "succeeded", failed: "failed" } as const

const line = ({
  acceptedAt,
  attempt,
  call,
  durationMs,
  message,
  reason,
  state,
  workspace
}: Inspection.Call): string => {
  const again = attempt !== undefined && attempt > 1 ? `, attempt ${attempt}` : ""
  const end =
    state === "accepted"
      ? "not known to have started"
      : state === "started"
        ? `started${again}`
        : reason === "isError"
          ? "with an error"
          : reason === undefined
            ? ""
            : `${reason}: ${message}`
  const cells = [
    new Date(acceptedAt).toISOString(),
    states[state].padEnd(9),
    (durationMs === undefined ? "" : `${durationMs} ms`).padStart(10),
    call.name.padEnd(12),
    call.callId,
    workspace,
    end
  ]
  return `  ${PlainText.makeLine(cells.join("  ").replace(/\s*\n\s*/g, " ")).trimEnd()}`
}
