/**
 * Judges a trial by the law. It reads what was seen, and does nothing.
 *
 * @since 0.1.0
 */
import type { Phase, ToolErrorReason } from "../../../src/ToolError.ts"
import * as ToolEvent from "../../../src/ToolEvent.ts"
import type { Law, Scenario } from "../LawViolation.ts"
import { type Call, type Entry, type Trial, why } from "./Trial.ts"

export interface Breach {
  readonly law: Law
  readonly detail: string
}

/** What a judge knows besides. */
export interface Terms {
  readonly allow: ReadonlyArray<Law>
  /** What a call may take to stop, in ms. */
  readonly graceMs: number
  /** The same, with what the clock of the trial is inexact by. */
  readonly slackMs: number
  readonly limitMs: number
  /** The tool declares a clock of its own for these parameters. */
  readonly timed: boolean
}

export type Terminal = ToolEvent.Terminal

export const terminalsOf = (call: Call): ReadonlyArray<Terminal> =>
  call.journal.flatMap(({ entry }) => (entry._tag === "Terminal" ? [entry] : []))

export const reasonOf = ({ result }: Pick<Terminal, "result">): ToolErrorReason | undefined =>
  result._tag === "Failure" ? result.error.reason : undefined

export const phaseOf = (reason: ToolErrorReason | undefined): Phase | undefined =>
  reason !== undefined && "phase" in reason ? reason.phase : undefined

/** The first breach there is, of the laws that hold for this tool; its own before those of what runs it. */
export const judge = (trial: Trial, terms: Terms): Breach | undefined => {
  for (const law of [ofTool, ofTerminals, ofEnding, ofProgress, ofReader]) {
    for (const call of trial.calls) {
      for (const breach of law(call, trial, terms)) if (!terms.allow.includes(breach.law)) return breach
    }
  }
  return leftovers(trial, terms).find(({ law }) => !terms.allow.includes(law))
}

type Judge = (call: Call, trial: Trial, terms: Terms) => ReadonlyArray<Breach>

const breach = (law: Law, detail: string): ReadonlyArray<Breach> => [{ law, detail }]

const none: ReadonlyArray<Breach> = []

const ofTool: Judge = (call, trial, { graceMs, limitMs }) => {
  const terminal = terminalsOf(call)[0]
  const reason = terminal && reasonOf(terminal)
  if (call.overdue === "tool" && call.interferedAt === undefined) {
    const waited =
      trial.durationMs < limitMs
        ? "nobody interfered, and it waited for what does not come, or went round for ever"
        : `nobody interfered, and after ${limitMs} ms it had not ended`
    return phaseOf(reason) === "detached"
      ? breach("Deaf", `${waited}; it ignored the shutdown that followed, and may still be running`)
      : breach("Endless", waited)
  }
  const late = call.runs.reduce((sum, run) => sum + run.late, 0)
  if (reason?._tag === "InvalidOutput") {
    return breach("Misfit", `its ${reason.what} does not fit its schema: ${oneLine(reason.issue)}`)
  }
  if (reason?._tag === "ToolDefect") return breach("Defect", `it died of a defect: ${oneLine(reason.detail)}`)
  if (reason?._tag === "InvalidParameters") {
    return breach("Parameters", `they were refused: ${oneLine(reason.message)}`)
  }
  if (phaseOf(reason) === "detached") {
    return breach(
      "Deaf",
      `it ignored the interruption, and was given up as detached ${graceMs} ms later; it may still be running`
    )
  }
  if (late > 0 && phaseOf(reason) === "stopped") {
    return breach(
      "Unquiet",
      `it was told as stopped, and then gave ${late} more progress value${late === 1 ? "" : "s"}`
    )
  }
  return none
}

/** A call that came too late to be accepted has an answer, and no place in the journal. */
const wasRefused = ({ journal, reader }: Call): boolean =>
  journal.length === 0 &&
  reader.arrivals.length <= 1 &&
  reader.arrivals.every((arrival) => arrival._tag === "Terminal" && phaseOf(reasonOf(arrival)) === "not-started")

const ofTerminals: Judge = (call, _trial, { limitMs }) => {
  if (wasRefused(call)) return none
  if (call.overdue === "terminal") return breach("Terminals", `the tool ended, and ${limitMs} ms later had no terminal`)
  if (call.overdue === "tool" && call.interferedAt !== undefined) {
    return breach("Terminals", `the tool was interrupted, and ${limitMs} ms later had no terminal`)
  }
  if (call.overdue === "reader") return breach("Terminals", "the reader had not ended long after the terminal")
  const terminals = terminalsOf(call).length
  if (call.journal[0]?.entry._tag !== "Accepted") return breach("Terminals", "the journal does not begin with Accepted")
  if (terminals === 0) return breach("Terminals", "the journal has no terminal")
  if (terminals > 1) return breach("Terminals", `the journal has ${terminals} terminals`)
  if (call.journal.at(-1)?.entry._tag !== "Terminal") {
    return breach("Terminals", "the journal has something after the terminal")
  }
  return none
}

const ofProgress: Judge = (call) => {
  const terminal = terminalsOf(call)[0]
  if (terminal === undefined) return none
  const progress = call.journal.flatMap(({ entry }) => (entry._tag === "Progress" ? [entry] : []))
  if (progress.some(({ seq }, index) => seq !== index)) {
    return breach("Progress", `the numbers of its progress are ${progress.map(({ seq }) => seq).join(", ")}`)
  }
  const { delivered, dropped, emitted, merged } = terminal.stats.progress
  if (emitted !== delivered + merged + dropped) {
    return breach("Progress", `the counts do not add up: ${emitted} is not ${delivered} + ${merged} + ${dropped}`)
  }
  // A middleware that merges progress, or runs a tool twice, says other things than the tool.
  if (merged > 0 || call.runs.length !== 1) return none
  const given = call.runs.flatMap((run) => run.emitted)
  const written = progress.map(({ value }) => value)
  const at = written.findIndex((value, index) => index >= given.length || !same(value, given[index]))
  if (at >= 0) {
    return breach("Progress", `the journal has ${text(written)}, and the tool gave ${text(given)}`)
  }
  return written.length < given.length && dropped === 0 && !isCut(terminal)
    ? breach("Progress", `the tool gave ${given.length} progress values, and the journal has ${written.length}`)
    : none
}

/** It was ended from outside, or by what it gave. */
const isCut = (terminal: Terminal): boolean =>
  ["Interrupted", "TimedOut", "InvalidOutput"].includes(reasonOf(terminal)?._tag ?? "")

const ofReader: Judge = (call, trial) => {
  const { arrivals, end } = call.reader
  const first = arrivals.findIndex(({ _tag }) => _tag === "Terminal")
  if (first >= 0 && first < arrivals.length - 1) {
    const after = arrivals.length - 1 - first
    return breach("Terminals", `the reader got ${after} more after the terminal`)
  }
  if (wasRefused(call)) return none
  const terminal = terminalsOf(call)[0]
  if (terminal === undefined) return none
  const written = call.journal.flatMap(({ entry }) => (entry._tag === "Progress" ? [entry.value] : []))
  const read = arrivals.flatMap((arrival) => (arrival._tag === "Progress" ? [arrival.value] : []))
  if (read.some((value, index) => index >= written.length || !same(value, written[index]))) {
    return breach("Agreement", `the reader got ${text(read)}, and the journal has ${text(written)}`)
  }
  const last = arrivals[first]
  if (
    last?._tag === "Terminal" &&
    !same(ToolEvent.toJson({ ...terminal, result: last.result }), ToolEvent.toJson(terminal))
  ) {
    return breach("Agreement", "the reader got another terminal than the journal")
  }
  // One that left or broke was not there to be told.
  if (end === "left" || end === "broke" || (end === "interrupted" && trial.scenario._tag === "Leave")) return none
  if (end !== "ended") {
    return breach("Terminals", end === undefined ? "the reader waits for ever" : `the reader was ${end}`)
  }
  if (last === undefined) return breach("Terminals", "the reader got no terminal")
  if (terminal.stats.progress.delivered !== read.length) {
    return breach(
      "Agreement",
      `the terminal counts ${terminal.stats.progress.delivered} as delivered, and the reader got ${read.length}`
    )
  }
  return read.length < written.length && terminal.stats.progress.dropped === 0
    ? breach(
        "Agreement",
        `the reader got ${read.length} of ${written.length} progress values, and none counts as dropped`
      )
    : none
}

/** What an interruption may be put down to. */
const reasons: Partial<Record<Scenario["_tag"], string>> = {
  Take: "consumer left",
  Break: "consumer left",
  Leave: "consumer left",
  Cancel: why,
  Shutdown: "shutdown"
}

const ofEnding: Judge = (call, { scenario }, { graceMs, slackMs, timed }) => {
  const terminal = terminalsOf(call)[0]
  if (terminal === undefined) return none
  const { interferedAt } = call
  const reason = reasonOf(terminal)
  const own = "the tool interrupted itself"
  const expected = reasons[scenario._tag] ?? (interferedAt === undefined ? undefined : why)
  if (reason?._tag === "Interrupted" && reason.why !== own && reason.why !== expected) {
    return breach("Ending", `it was interrupted because of "${reason.why}", and nobody did that`)
  }
  if (reason?._tag === "TimedOut" && reason.clock === "total" && scenario._tag !== "Timeout" && !timed) {
    return breach("Ending", `it timed out after ${reason.limitMs} ms, and nobody set a clock`)
  }
  if (reason?._tag === "ToolNotFound") return breach("Ending", "the tool was registered, and not found")
  if (call.openAtTerminal && phaseOf(reason) !== "detached") {
    return breach("Early", "when the terminal was written, the tool was still running")
  }
  const from = scenario._tag === "Timeout" ? call.startedAt + scenario.ms : interferedAt
  const at = call.journal.find(({ entry }) => entry === terminal)?.at
  if (from !== undefined && at !== undefined && at - from > graceMs + slackMs) {
    return breach("Late", `the terminal came ${at - from} ms after the interruption; ${graceMs} ms were granted`)
  }
  return none
}

const leftovers = ({ calls, closed, inFlight, stats }: Trial, { allow }: Terms): ReadonlyArray<Breach> => {
  // What has no end is in flight, and is told as that.
  if (calls.some((call) => !wasRefused(call) && terminalsOf(call).length === 0)) return none
  if (inFlight > 0) return breach("Leftovers", `the runtime says that ${inFlight} calls are in flight`)
  if (stats.detached > 0 && !allow.includes("Deaf")) {
    return breach("Leftovers", `the runtime says that ${stats.detached} calls are detached`)
  }
  return closed ? none : breach("Leftovers", "the runtime could not be closed")
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, "; ")

/** UTF-16 code units of a value in a message. */
const maxText = 200

export const text = (value: unknown): string => {
  const json = JSON.stringify(value) ?? String(value)
  return json.length > maxText ? `${json.slice(0, maxText)}…` : json
}

// -----------------------------------------------------------------------------
// What was seen
// -----------------------------------------------------------------------------

/** Lines of a timeline. What is in the middle of a longer one says the least. */
const maxLines = 24

/** What the journal and the reader were told, in the order of time. */
export const timeline = ({ calls }: Trial): ReadonlyArray<string> => {
  const origin = Math.min(...calls.map(({ startedAt }) => startedAt))
  const lines = calls.flatMap((call, index) => {
    const who = (name: string) => (calls.length === 1 ? name : `${name} ${index + 1}`)
    return [
      ...call.journal.map(({ at, entry }: Entry) => ({ at, line: `${who("journal")}: ${entryText(entry)}` })),
      ...call.reader.arrivals.map((arrival) => ({
        at: arrival.at,
        line: `${who("reader")}: ${arrival._tag === "Progress" ? `Progress ${text(arrival.value)}` : resultText(arrival.result)}`
      }))
    ]
  })
  const sorted = lines.toSorted((a, b) => a.at - b.at).map(({ at, line }) => `${at - origin} ms  ${line}`)
  return sorted.length <= maxLines
    ? sorted
    : [
        ...sorted.slice(0, maxLines / 2),
        `… ${sorted.length - maxLines} lines …`,
        ...sorted.slice(sorted.length - maxLines / 2)
      ]
}

const entryText = (entry: Entry["entry"]): string => {
  switch (entry._tag) {
    case "Progress":
      return `Progress ${text(entry.value)}`
    case "Terminal":
      return resultText(entry.result)
    default:
      return entry._tag
  }
}

const resultText = (result: Terminal["result"]): string => {
  if (result._tag === "Success") return `Terminal Success ${text(result.value)}`
  const { reason } = result.error
  const phase = phaseOf(reason)
  return `Terminal ${reason._tag}${phase === undefined ? "" : ` (${phase})`}: ${text(oneLine(reason.message))}`
}

/** How calls ended, as a report names it. */
export const endingOf = (terminal: Terminal): string => {
  const reason = reasonOf(terminal)
  const phase = phaseOf(reason)
  return reason === undefined ? "Success" : phase === undefined ? reason._tag : `${reason._tag} (${phase})`
}
