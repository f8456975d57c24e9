/**
 * A breach of the law, told to whoever wrote the tool: what happened, with which
 * parameters, and what to do about it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { View } from "./RecordingReader.ts"

/** What a tool can break. */
const ofTools = {
  Endless: "a call ends",
  Deaf: "a tool stops when it is interrupted",
  Unquiet: "a tool that was stopped does nothing more",
  Defect: "a tool fails only with the failures that it declares",
  Misfit: "what a tool reports fits its schemas",
  Parameters: "a tool takes whatever the schema of its parameters admits"
} as const

/** What a runtime, or a middleware in it, can break. */
const ofRuntimes = {
  Terminals: "every accepted call has exactly one terminal, and nothing after it",
  Progress: "progress arrives in order, none of it lost, none invented",
  Agreement: "the reader is told what the journal is told",
  Ending: "the terminal says how the call ended",
  Early: "the terminal comes after the tool has stopped",
  Late: "a call that was interrupted has its terminal in time",
  Leftovers: "nothing is left of a call that has ended"
} as const

const laws = { ...ofTools, ...ofRuntimes }

/**
 * Which law was broken. The first six are about the tool, the others about what
 * runs it.
 *
 * @category models
 * @since 0.1.0
 */
export const Law = Schema.Literals([
  "Endless",
  "Deaf",
  "Unquiet",
  "Defect",
  "Misfit",
  "Parameters",
  "Terminals",
  "Progress",
  "Agreement",
  "Ending",
  "Early",
  "Late",
  "Leftovers"
])
export type Law = typeof Law.Type

/**
 * When somebody interferes with a call: after a number of progress values (0: as
 * soon as it has started), or after a time.
 *
 * @category models
 * @since 0.1.0
 */
export const Step = Schema.Union([
  Schema.TaggedStruct("AfterProgress", { n: Schema.Natural }),
  Schema.TaggedStruct("AfterMs", { ms: Schema.Natural })
])
export type Step = typeof Step.Type

/**
 * What is done to a call.
 *
 * @category models
 * @since 0.1.0
 */
export const Scenario = Schema.Union([
  /** It is read to its end, with `paceMs` over each thing. */
  Schema.TaggedStruct("Drain", { view: View, paceMs: Schema.Natural }),
  /** The reader leaves after so many progress values. */
  Schema.TaggedStruct("Take", { view: View, n: Schema.Natural }),
  /** The code of the reader dies after so many progress values. */
  Schema.TaggedStruct("Break", { view: View, n: Schema.Natural }),
  /** The reader is interrupted. */
  Schema.TaggedStruct("Leave", { at: Step }),
  Schema.TaggedStruct("Cancel", { at: Step }),
  /** The runtime is shut down. */
  Schema.TaggedStruct("Shutdown", { at: Step }),
  /** The clock `total` of the call. */
  Schema.TaggedStruct("Timeout", { ms: Schema.Natural }),
  /** It is called twice: at once, or one after the other. */
  Schema.TaggedStruct("Twice", { atOnce: Schema.Boolean })
])
export type Scenario = typeof Scenario.Type

/**
 * A tool, or what runs it, broke the law. `message` is for the author of the
 * tool.
 *
 * @category errors
 * @since 0.1.0
 */
export class LawViolation extends Schema.TaggedError<LawViolation>()("LawViolation", {
  tool: Schema.String,
  law: Law,
  /** What happened. */
  detail: Schema.String,
  /** What to do. */
  advice: Schema.String,
  /** As JSON, and as simple as they could be made. */
  parameters: Schema.Unknown,
  /** Those with which it was found. */
  foundWith: Schema.Unknown,
  scenario: Scenario,
  /** Everything that the journal and the reader were told of the call, a line each. */
  seen: Schema.Array(Schema.String),
  /** Gives the same parameters again. Absent if they were given. */
  seed: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite]))
}) {
  override get message() {
    const parameters = json(this.parameters)
    const found = json(this.foundWith)
    return [
      `${this.tool} breaks a law: ${laws[this.law]} (${this.law}).`,
      `  What happened: ${this.detail}`,
      `  Parameters: ${parameters}${found === parameters ? "" : `, reduced from ${found}`}`,
      `  What was done to the call: ${describeScenario(this.scenario)}`,
      "  What was seen:",
      ...(this.seen.length === 0 ? ["    nothing"] : this.seen.map((line) => `    ${line}`)),
      `  What to do: ${this.advice}`,
      ...(this.seed === undefined ? [] : [`  The same again: seed ${JSON.stringify(this.seed)}`])
    ].join("\n")
  }
}

/**
 * There are no parameters to call the tool with: its schema gives none, or those
 * that were given do not fit it. Nothing was checked.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoParameters extends Schema.TaggedError<NoParameters>()("NoParameters", {
  tool: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.tool} could not be checked: ${this.detail}. Pass \`parameters\`: values, or an Arbitrary of them.`
  }
}

/**
 * A scenario in words.
 *
 * @category converting
 * @since 0.1.0
 */
export const describeScenario = (scenario: Scenario): string => {
  switch (scenario._tag) {
    case "Drain":
      return `nothing; it was read to its end (${scenario.view}${scenario.paceMs === 0 ? "" : `, ${scenario.paceMs} ms over each thing`})`
    case "Take":
      return `the reader left after ${values(scenario.n)} (${scenario.view})`
    case "Break":
      return `the reader died of a defect of its own after ${values(scenario.n)} (${scenario.view})`
    case "Leave":
      return `the reader was interrupted ${describeStep(scenario.at)}`
    case "Cancel":
      return `it was cancelled ${describeStep(scenario.at)}`
    case "Shutdown":
      return `the runtime was shut down ${describeStep(scenario.at)}`
    case "Timeout":
      return `it was given ${scenario.ms} ms in all`
    case "Twice":
      return scenario.atOnce ? "it was called twice, at once" : "it was called twice, one after the other"
  }
}

const describeStep = (step: Step): string =>
  step._tag === "AfterMs"
    ? `after ${step.ms} ms`
    : step.n === 0
      ? "as soon as it had started"
      : `after ${values(step.n)}`

const values = (n: number): string => (n === 1 ? "1 progress value" : `${n} progress values`)

/** A call that is larger is read in the fields. */
const maxJson = 2_000

const json = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > maxJson ? `${text.slice(0, maxJson)}… (${text.length} UTF-16 code units)` : text
}
