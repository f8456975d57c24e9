/**
 * A part of what a program wrote, by bytes, as a terminal shows it.
 *
 * Offsets count bytes as they were written. The text is what a terminal shows of
 * them, so its length is another.
 *
 * **Laws**
 *
 * - Part by part, each from where the one before says to go on, everything is shown,
 *   each byte once, and the last part ends at the end.
 * - A part is cut after a line where there is one, and never within a character or an
 *   escape sequence, unless that is longer than a part.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { NotSpilled, Part } from "./Spill.ts"
import { TerminalDecoder, TerminalText, unfinished } from "./TerminalText.ts"

/**
 * Bytes returned when the call names no limit, as many as `bash` shows.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultLimit = 30_000

/**
 * Most bytes that one call returns: some 20,000 tokens.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxLimit = 64 * 1024

/** Bytes of a character in UTF-8, at most: a part that is smaller might never get past one. */
const minPart = 4

/**
 * Which part, as the parameters of a tool.
 *
 * @category models
 * @since 0.1.0
 */
export const parameters = {
  offsetBytes: Schema.optionalKey(
    Schema.Int.annotate({
      description: "Where to begin. Negative: so many bytes before the end. Default: 0, the beginning."
    })
  ),
  limitBytes: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxLimit })).annotate({
      description: `Bytes to return at most, or the few more that complete a character. Default: ${defaultLimit}.`
    })
  )
}

/**
 * @category models
 * @since 0.1.0
 */
export const fields = {
  output: Schema.String.annotate({ description: "stdout and stderr interleaved, as a terminal shows them." }),
  offsetBytes: Schema.Natural.annotate({ description: "Where `output` begins." }),
  nextOffsetBytes: Schema.Natural.annotate({ description: "Where to go on." }),
  sizeBytes: Schema.Natural.annotate({ description: "Bytes that can be read by now." })
}

/** A part of the output. */
const OutputPart = Schema.Struct(fields)

/**
 * @category models
 * @since 0.1.0
 */
export type OutputPart = typeof OutputPart.Type

/**
 * Where an offset is that may count from the end.
 *
 * @category converting
 * @since 0.1.0
 */
export const startOf = (offsetBytes: number, sizeBytes: number): number =>
  Math.min(offsetBytes >= 0 ? offsetBytes : Math.max(0, sizeBytes + offsetBytes), sizeBytes)

/**
 * Reads a part.
 *
 * @category constructors
 * @since 0.1.0
 */
export const read = Effect.fnUntraced(function* (
  source: (offset: number, length: number) => Effect.Effect<Part, NotSpilled>,
  options: {
    readonly offsetBytes?: number | undefined
    readonly limitBytes?: number | undefined
    /** Nothing more is written. Default: as the source says. */
    readonly ended?: boolean | undefined
  }
): Effect.fn.Return<OutputPart, NotSpilled> {
  const { limitBytes = defaultLimit, offsetBytes = 0 } = options
  const from = startOf(offsetBytes, (yield* source(0, 0)).sizeBytes)
  const { bytes, ended, sizeBytes } = yield* source(from, Math.max(limitBytes, minPart))
  const skipped = from === 0 ? 0 : continuation(bytes)
  const part = bytes.subarray(skipped)
  const isLast = from + bytes.length >= sizeBytes
  const shown = isLast && (options.ended ?? ended) ? part : part.subarray(0, cut(part, isLast))
  return {
    output: show(shown),
    offsetBytes: from + skipped,
    nextOffsetBytes: from + skipped + shown.length,
    sizeBytes
  }
})

/** How many bytes at the beginning are the rest of a character. */
const continuation = (bytes: Uint8Array): number => {
  const first = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  const length = first < 0 ? bytes.length : first
  // More of them are no character.
  return length < minPart ? length : 0
}

/** Where to end a part after which there is more, or may be. */
const cut = (part: Uint8Array, isLast: boolean): number => {
  const line = isLast ? 0 : part.lastIndexOf(0x0a) + 1
  if (line > 0) return line
  const end = part.length - unfinished(part)
  // What is longer than a part is shown, in pieces.
  return end > 0 || isLast ? end : part.length
}

const show = (bytes: Uint8Array): string => {
  const decoder = new TerminalDecoder()
  // A byte that is no character is shown by three.
  const screen = new TerminalText(Math.max(1, bytes.length * 3))
  screen.write(decoder.decode(bytes))
  screen.write(decoder.end())
  return screen.render().text
}

/**
 * Which part it is, and how to go on, for a model.
 *
 * @category converting
 * @since 0.1.0
 */
export const toText = ({ nextOffsetBytes, offsetBytes, output, sizeBytes }: OutputPart): ReadonlyArray<string> => [
  `Bytes ${offsetBytes} to ${nextOffsetBytes} of ${sizeBytes}.`,
  ...(output === "" ? ["There is nothing to show of them."] : []),
  ...(nextOffsetBytes < sizeBytes ? [`Go on with offsetBytes ${nextOffsetBytes}.`] : [])
]
