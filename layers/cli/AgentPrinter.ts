/**
 * The events of a turn as they are written: a JSON object a line; or, for people, what the
 * model says on stdout, and what its tools do on stderr.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PlainText from "../../src/PlainText.ts"
import type { Terminal } from "../../src/ToolEvent.ts"
import type { SamplerError } from "../agent/SamplerError.ts"
import * as Turn from "../agent/Turn.ts"
import type { OutputClosed, StandardStreams } from "../node/StandardStreams.ts"
import { LiveText } from "./LiveText.ts"
import * as Printer from "./Printer.ts"

/**
 * Prints the turns of one conversation.
 *
 * @category models
 * @since 0.1.0
 */
export interface AgentPrinter {
  readonly events: (events: ReadonlyArray<Turn.TurnEvent>) => Effect.Effect<void, OutputClosed>
  readonly ended: (result: Turn.TurnResult) => Effect.Effect<void, OutputClosed>
  readonly failed: (error: SamplerError) => Effect.Effect<void, OutputClosed>
}

/**
 * @category models
 * @since 0.1.0
 */
export type Make = (streams: StandardStreams["Service"]) => AgentPrinter

/**
 * One JSON object a line: the events, and after each turn `Ended` with its result, or `Failed` with the error.
 *
 * @category constructors
 * @since 0.1.0
 */
export const json: Make = ({ write }) => {
  const line = (value: unknown) => `${Printer.jsonLine(value)}\n`
  return {
    events: (events) => write(events.map((event) => line(Turn.toJson(event))).join("")),
    ended: (result) => write(line({ _tag: "Ended", result })),
    failed: ({ message, provider, reason }) => write(line({ _tag: "Failed", error: { provider, message, reason } }))
  }
}

/** Lines of a result, and of what a tool says while it runs, that are shown. More hides what the model says. */
const maxLines = 8

/** A call as it is shown. */
class Shown {
  readonly name: string
  readonly number: number
  private readonly live = { stdout: new LiveText(), stderr: new LiveText() }
  private lines = 0

  constructor(number: number, name: string) {
    this.number = number
    this.name = PlainText.makeLine(name)
  }

  progress(value: unknown): string {
    const text = Printer.textOf(value)
    return text === undefined
      ? this.prefixed(`${Printer.compact(value)}\n`)
      : this.prefixed(this.live[text.stream].writeLines(text.text))
  }

  end({ result, stats }: Terminal): string {
    const rest = this.prefixed(this.live.stdout.endLines() + this.live.stderr.endLines())
    const left = this.lines <= maxLines ? "" : `  ${this.number} │ (${this.lines - maxLines} more lines)\n`
    if (result._tag === "Failure") {
      const message = PlainText.make(result.error.message).replace(/\n/g, `\n  ${this.number} │ `)
      return `${rest}${left}✗ ${this.number} ${message}\n`
    }
    const verdict = `${result.isError ? "!" : "✓"} ${this.number} ${this.name}, ${stats.durationMs} ms\n`
    if (this.live.stdout.used || this.live.stderr.used) return `${rest}${left}${verdict}`
    this.lines = 0
    const texts = result.content.map((item) => (item.type === "text" ? item.text : `[${item.type}]`))
    const shown = this.prefixed(`${PlainText.make(texts.join("\n")).trimEnd()}\n`)
    const more = this.lines <= maxLines ? "" : `  ${this.number} │ (${this.lines - maxLines} more lines)\n`
    return `${shown}${more}${verdict}`
  }

  /** Whole lines, as many as are shown. */
  private prefixed(text: string): string {
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => (++this.lines <= maxLines ? `  ${this.number} │ ${line}\n` : ""))
      .join("")
  }
}

/**
 * For people. What the model thinks goes to stderr, too.
 *
 * @category constructors
 * @since 0.1.0
 */
export const plain: Make = ({ talk, write }) => {
  const calls = new Map<string, Shown>()
  let said = new LiveText()
  let thought = new LiveText()
  /** Of what the model thinks and says nothing stands in an unfinished line. */
  const endLines = Effect.suspend(() => {
    const [saidEnd, thoughtEnd] = [said.atLineStart, thought.atLineStart].map((atStart) => (atStart ? "" : "\n"))
    said = new LiveText()
    thought = new LiveText()
    return Effect.andThen(write(saidEnd ?? ""), talk(thoughtEnd ?? ""))
  })
  const note = (text: string) => Effect.andThen(endLines, talk(`${PlainText.make(text)}\n`))

  const print = (event: Turn.TurnEvent): Effect.Effect<void, OutputClosed> => {
    switch (event._tag) {
      case "Text":
        return thought.atLineStart
          ? write(said.write(event.text))
          : Effect.andThen(
              endLines,
              Effect.suspend(() => write(said.write(event.text)))
            )
      case "Reasoning":
        return talk(thought.write(event.text))
      case "Replied":
        return endLines
      case "Retrying":
        return note(`(again in ${Math.ceil(event.delayMs / 100) / 10} s, from its beginning: ${event.why})`)
      case "Said":
        return event.message.from === "user"
          ? Effect.void
          : note(`(${event.message.content.map((item) => (item.type === "text" ? item.text : "")).join(" ")})`)
      case "Accepted": {
        const shown = new Shown(calls.size + 1, event.call.name)
        calls.set(event.call.callId, shown)
        const parameters = event.call.malformed === undefined ? Printer.compact(event.call.parameters) : ""
        return talk(`▸ ${shown.number} ${shown.name} ${parameters}\n`)
      }
      case "Progress":
        return talk(calls.get(event.callId)?.progress(event.value) ?? "")
      case "Terminal":
        return talk(calls.get(event.callId)?.end(event) ?? "")
      case "Compacted":
        return note(`(${event.replaced} earlier messages are a summary now)`)
      case "CompactionFailed":
        return note(`(the conversation could not be made shorter: ${event.why})`)
      default:
        return Effect.void
    }
  }

  return {
    events: (events) => Effect.forEach(events, print, { discard: true }),
    ended: (result) => {
      const words = wordsOf(result.stop)
      return words === undefined ? endLines : note(`(${words})`)
    },
    failed: ({ message }) => note(`✗ ${message}`)
  }
}

/** Why a turn ended, where it did not end by itself. */
const wordsOf = (stop: Turn.TurnStop): string | undefined => {
  switch (stop._tag) {
    case "End":
      return undefined
    case "Length":
      return "the model was cut off at its limit of tokens"
    case "Refusal":
      return "the model would not go on"
    case "Cancelled":
      return `stopped: ${stop.why}`
    case "LimitReached":
      return `stopped: the limit of ${stop.max} ${stop.limit} in a turn is reached`
    case "Repeated":
      return `stopped: the model made the same calls ${stop.times} times in a row`
  }
}
