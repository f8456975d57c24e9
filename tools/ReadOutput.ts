/**
 * `read_output`: any part of an output that was too long to be shown, or the lines of
 * it that match a regular expression, and where they are.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as OutputPart from "../src/OutputPart.ts"
import * as OutputSearch from "../src/OutputSearch.ts"
import * as PlainText from "../src/PlainText.ts"
import { Search, SearchFailed } from "../src/Search.ts"
import { NotSpilled, Spill } from "../src/Spill.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolContent from "../src/ToolContent.ts"

/** Matching lines after which the search stops. A pattern that matches more was too wide. */
const workCap = 100_000

/** UTF-16 code units returned of a line that matches. More of one says little; all of it is at its offset. */
const maxText = 500

/**
 * A part of the output.
 *
 * @category models
 * @since 0.1.0
 */
export const Part = Schema.TaggedStruct("Part", {
  handle: Schema.String,
  ...OutputPart.fields,
  ended: Schema.Boolean.annotate({ description: "No more is written to it." })
})
export type Part = typeof Part.Type

/**
 * Lines of the output that match.
 *
 * @category models
 * @since 0.1.0
 */
export const Matches = Schema.TaggedStruct("Matches", {
  handle: Schema.String,
  matches: Schema.Array(
    Schema.Struct({
      line: Schema.Natural.annotate({ description: "From 1, of the whole output." }),
      offsetBytes: Schema.Natural.annotate({ description: "Where the line begins: read on there." }),
      text: Schema.String.annotate({ description: `As a terminal shows it, at most ${maxText} UTF-16 code units.` }),
      cut: Schema.optionalKey(Schema.Literal(true)).annotate({ description: "It goes on: … stands for its end." })
    })
  ),
  total: Schema.Natural.annotate({ description: "Matching lines that were found, returned or not." }),
  complete: Schema.Boolean.annotate({ description: "All was searched. Otherwise there may be more." }),
  cutLines: Schema.Natural.annotate({
    description: `Lines of which only the first ${OutputSearch.maxLine} UTF-16 code units were searched.`
  }),
  nextOffsetBytes: Schema.optionalKey(
    Schema.Natural.annotate({ description: "Where to go on, if not all matching lines are returned." })
  ),
  sizeBytes: Schema.Natural.annotate({ description: "Bytes that can be read by now." })
})
export type Matches = typeof Matches.Type

/**
 * @category tools
 * @since 0.1.0
 */
export class ReadOutput extends Tool.Service<ReadOutput>()("read_output", {
  title: "Read a long output",
  description:
    "Reads an output that was too long to be shown whole, by the handle (out_…) that a tool told: any part of it, or, with " +
    "a pattern, the lines that match, with their numbers and byte offsets to read on at. Reading removes nothing.",
  parameters: {
    handle: Schema.String.annotate({ description: "As a tool told it." }),
    ...OutputPart.parameters,
    pattern: Schema.optionalKey(
      Schema.NonEmptyString.annotate({
        description:
          "Regular expression (Rust syntax: no look-around, no back-references), looked for in each line from offsetBytes on."
      })
    )
  },
  success: Schema.Union([Part, Matches]),
  failure: Schema.Union([NotSpilled, SearchFailed]),
  hints: { readOnly: true, idempotent: true, openWorld: false },
  toContent: (success) =>
    success._tag === "Part"
      ? ToolContent.withNote(success.output, [`${success.handle}:`, ...OutputPart.toText(success)].join(" "))
      : ToolContent.withNote(success.matches.map(lineOf).join("\n"), noteOf(success))
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = ReadOutput.toLayer(
  Effect.gen(function* () {
    const search = yield* Search

    return ({ handle, limitBytes = OutputPart.defaultLimit, offsetBytes = 0, pattern }) =>
      Effect.gen(function* () {
        const spill = yield* Spill
        const source = (offset: number, length: number) => spill.read(handle, offset, length)
        if (pattern !== undefined) {
          const found = yield* OutputSearch.make(source, search, { pattern, offsetBytes })
          return yield* collect(handle, found, limitBytes)
        }
        const { ended } = yield* source(0, 0)
        const part = yield* OutputPart.read(source, { offsetBytes, limitBytes, ended })
        return Part.make({ handle, ...part, ended })
      })
  })
)

/** The first matching lines that fit, with their places, and how many there are. */
const collect = Effect.fnUntraced(function* (
  handle: string,
  { cutLines, matches, offsetOf, sizeBytes }: OutputSearch.OutputSearch,
  limitBytes: number
) {
  const shown: Array<Omit<Matches["matches"][number], "offsetBytes">> = []
  let total = 0
  let bytes = 0
  yield* matches.pipe(
    Stream.take(workCap),
    Stream.runForEachArray((chunk) =>
      Effect.sync(() => {
        for (const { line, text } of chunk) {
          const match =
            text.length <= maxText
              ? { line, text }
              : { line, text: `${PlainText.take(text, maxText - 1)}…`, cut: true as const }
          // As it is shown, with an offset as long as any.
          bytes += encoder.encode(lineOf({ ...match, offsetBytes: sizeBytes })).length + 1
          // At least one, so that there is a place to go on from.
          if (total === shown.length && (bytes <= limitBytes || total === 0)) shown.push(match)
          total++
        }
      })
    )
  )
  const placed: Array<Matches["matches"][number]> = []
  for (const match of shown) placed.push({ ...match, offsetBytes: yield* offsetOf(match.line) })
  const last = shown.at(-1)
  return Matches.make({
    handle,
    matches: placed,
    total,
    complete: total < workCap,
    cutLines: cutLines(),
    ...(last === undefined || shown.length === total ? {} : { nextOffsetBytes: yield* offsetOf(last.line + 1) }),
    sizeBytes
  })
})

const encoder = new TextEncoder()

const lineOf = ({ line, offsetBytes, text }: Matches["matches"][number]): string => `${line}:${offsetBytes}:${text}`

/** Lines that are named because they are cut. More names say no more. */
const maxNamed = 10

const noteOf = ({ complete, cutLines, handle, matches, nextOffsetBytes, sizeBytes, total }: Matches): string => {
  const cut = matches.flatMap(({ cut, line }) => (cut ? [line] : []))
  return [
    `${handle}, ${sizeBytes} bytes:`,
    total === 0
      ? "no lines match."
      : `${matches.length} of ${total}${complete ? "" : " or more"} matching lines, as line:offsetBytes:text.`,
    ...(nextOffsetBytes === undefined ? [] : [`Go on with offsetBytes ${nextOffsetBytes}.`]),
    ...(cut.length === 0
      ? []
      : [
          `Cut at ${maxText} UTF-16 code units, where … stands: ${cut.slice(0, maxNamed).join(", ")}` +
            `${cut.length > maxNamed ? `, and ${cut.length - maxNamed} more` : ""}.`
        ]),
    ...(cutLines === 0
      ? []
      : [`Of ${cutLines} very long lines only the first ${OutputSearch.maxLine} code units were searched.`])
  ].join(" ")
}
