/**
 * Events as they are written to stdout: a JSON object a line, or text for people.
 *
 * **Details**
 *
 * Plain text never acts on a terminal: control characters, except tab and
 * newline, are shown as pictures. In JSON they are escaped.
 *
 * What a command wrote is printed as it comes, and is not printed again with the
 * result. Progress of other kinds is talk: compact JSON on stderr.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PlainText from "../../src/PlainText.ts"
import type { ToolCall } from "../../src/ToolCall.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import * as ToolEvent from "../../src/ToolEvent.ts"
import type { Partial } from "../../src/ToolResult.ts"
import type { OutputClosed, StandardStreams } from "../node/StandardStreams.ts"
import { LiveText } from "./LiveText.ts"

/**
 * Prints the events of one call, in their order.
 *
 * @category models
 * @since 0.1.0
 */
export type Printer = (event: ToolEvent.ToolEvent) => Effect.Effect<void, OutputClosed>

/**
 * @category models
 * @since 0.1.0
 */
export type Make = (streams: StandardStreams["Service"], call: ToolCall) => Printer

/**
 * One JSON object a line.
 *
 * @category constructors
 * @since 0.1.0
 */
export const json: Make =
  ({ write }) =>
  (event) =>
    write(`${jsonLine(ToolEvent.toJson(event))}\n`)

/**
 * A value as one line of JSON that acts on no terminal.
 *
 * @category converting
 * @since 0.1.0
 */
export const jsonLine = (value: unknown): string => JSON.stringify(value).replace(unescaped, escape)

/** JSON leaves these as they are, but a terminal obeys some and some readers of lines end a line at others. */
const unescaped = /[\u007f-\u009f\u2028\u2029]/g

const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** UTF-16 code units of a progress that are shown. More hides the rest of what a terminal shows. */
const maxProgress = 200

/**
 * The text of one call, as if the tool had been run by hand: output on stdout, failures on stderr.
 *
 * @category constructors
 * @since 0.1.0
 */
export const plain: Make = ({ talk, write }, call) => {
  const live = { stdout: new LiveText(), stderr: new LiveText() }
  const out = { stdout: write, stderr: talk }
  const say = (content: ReadonlyArray<string>) => write(content.map(ended).join(""))
  const endLines = Effect.suspend(() =>
    Effect.andThen(write(live.stdout.atLineStart ? "" : "\n"), talk(live.stderr.atLineStart ? "" : "\n"))
  )
  return (event) => {
    if (event._tag === "Progress") {
      const text = textOf(event.value)
      return text === undefined
        ? talk(`${PlainText.makeLine(call.name)}: ${compact(event.value)}\n`)
        : out[text.stream](live[text.stream].write(text.text))
    }
    const { result } = event
    const shown = live.stdout.used || live.stderr.used
    return Effect.andThen(
      endLines,
      result._tag === "Success"
        ? say(textsOf(result, shown))
        : Effect.andThen(say(textsOf(partialOf(result), shown)), talk(ended(PlainText.make(result.error.message))))
    )
  }
}

/**
 * The text of one call among others: every line on stdout says whose it is.
 *
 * @category constructors
 * @since 0.1.0
 */
export const plainOfMany: Make = ({ talk, write }, call) => {
  const id = PlainText.makeLine(call.externalId ?? "?")
  const name = PlainText.makeLine(call.name)
  const live = { stdout: new LiveText(), stderr: new LiveText() }
  /** Of whole lines. */
  const prefixed = (text: string) =>
    text.replace(/([^\n]*)\n/g, (_, line: string) => (line === "" ? `${id} │\n` : `${id} │ ${line}\n`))
  const say = (content: ReadonlyArray<string>) => prefixed(content.map(ended).join(""))
  return (event) => {
    if (event._tag === "Progress") {
      const text = textOf(event.value)
      return text === undefined
        ? talk(`${id} · ${compact(event.value)}\n`)
        : write(prefixed(live[text.stream].writeLines(text.text)))
    }
    const { result, stats } = event
    const rest = prefixed(live.stdout.endLines() + live.stderr.endLines())
    const shown = live.stdout.used || live.stderr.used
    const content = say(textsOf(result._tag === "Success" ? result : partialOf(result), shown))
    const verdict =
      result._tag === "Failure"
        ? // The message says which tool, and continues under its own beginning.
          `✗ ${PlainText.make(result.error.message).replace(/\n/g, `\n${id} │ `)}`
        : `${result.isError ? "!" : "✓"} ${name}, ${stats.durationMs} ms${result.isError ? ", ended with an error" : ""}`
    return write(`${rest}${content}${id} ${verdict}\n`)
  }
}

/**
 * Progress that is text somebody wrote, or one whole line of it, on a stream of its own.
 *
 * @category converting
 * @since 0.1.0
 */
export const textOf = (value: unknown): { readonly stream: "stdout" | "stderr"; readonly text: string } | undefined => {
  if (typeof value !== "object" || value === null || !("stream" in value)) return undefined
  const { stream } = value
  if (stream !== "stdout" && stream !== "stderr") return undefined
  if ("text" in value) return typeof value.text === "string" ? { stream, text: value.text } : undefined
  if (!("line" in value) || typeof value.line !== "string") return undefined
  return { stream, text: "omittedUnits" in value ? `${value.line}…\n` : `${value.line}\n` }
}

const partialOf = (failure: ToolEvent.Failure): Partial | undefined =>
  "partial" in failure.error.reason ? failure.error.reason.partial : undefined

/** What the model reads, without what has been shown while it was written. */
const textsOf = (known: Partial | undefined, shown: boolean): ReadonlyArray<string> => {
  if (known === undefined) return []
  const { content, value } = known
  const output = shown ? outputOf(value) : undefined
  return content.filter((item) => item.type !== "text" || item.text !== output).map(contentText)
}

/** The text in a result that repeats progress. Lines that were not all told are not known to. */
const outputOf = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return undefined
  if ("output" in value) return value.output
  if (!("tail" in value) || !Array.isArray(value.tail)) return undefined
  return "suppressed" in value && value.suppressed !== 0 ? undefined : value.tail.join("\n")
}

const contentText = (content: ToolContent): string => {
  switch (content.type) {
    case "text":
      return PlainText.make(content.text)
    case "image":
      return PlainText.makeLine(`[image: ${content.mimeType}, ${content.data.length} bytes of base64]`)
    case "resource":
      return PlainText.makeLine(`[resource: ${content.uri}]`)
  }
}

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`)

/**
 * A value on one line, as much of it as is shown.
 *
 * @category converting
 * @since 0.1.0
 */
export const compact = (value: unknown): string => {
  const text = PlainText.makeLine(JSON.stringify(value) ?? "")
  return text.length <= maxProgress ? text : `${PlainText.take(text, maxProgress)}…`
}
