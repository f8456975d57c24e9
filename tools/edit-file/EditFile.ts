/**
 * `edit_file`: a text in a file is replaced by another. No progress.
 *
 * No byte outside of what is replaced changes, whatever the bytes of the file are.
 * The text is looked for exactly; if it is nowhere, once more without regard to
 * line ends and lookalikes. What is found must be the only one, unless all are to
 * be replaced.
 *
 * The new text is taken as it is, but for its line ends: where what it replaces
 * ends lines in CRLF (or, if it ends none, all of the file does), so does the new
 * text. Unless they are what the edit is about: the texts differ in nothing else.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as PlainText from "../../src/PlainText.ts"
import * as Resources from "../../src/Resources.ts"
import * as Tool from "../../src/Tool.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import { CommitFailed, FileUnreachable, WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import * as Match from "./Match.ts"

/** Lines named in a refusal. More are no help to choose. */
const maxLinesNamed = 20

const Tier = Schema.Literals(["exact", "tolerant"])

/**
 * What was edited.
 *
 * @category models
 * @since 0.1.0
 */
export const Edited = Schema.Struct({
  path: Schema.String,
  replacements: Schema.Natural,
  /** The line of the first replacement, from 1. */
  firstLine: Schema.Natural,
  /** "tolerant": found only without regard to line ends and lookalikes. */
  tier: Tier,
  /** SHA-256, in hex. */
  oldHash: Schema.String,
  newHash: Schema.String,
  /** A unified diff; absent where the file is not text, or too large to compare. */
  diff: Schema.optionalKey(Schema.String),
  /** What could not be kept of the old file. */
  notKept: Schema.Array(Schema.String)
})
export type Edited = typeof Edited.Type

/**
 * The edit was not made. The file is as it was.
 *
 * @category errors
 * @since 0.1.0
 */
export class EditRefused extends Schema.TaggedError<EditRefused>()("EditRefused", {
  path: Schema.String,
  reason: Schema.Union([
    Schema.TaggedStruct("NoSuchFile", { similar: Schema.Array(Schema.String) }),
    /** With the lines that come closest. */
    Schema.TaggedStruct("NotFound", {
      closest: Schema.Array(Schema.Struct({ line: Schema.Natural, text: Schema.String }))
    }),
    /** It stands in several places, at these lines. */
    Schema.TaggedStruct("Ambiguous", {
      tier: Tier,
      count: Schema.Natural,
      lines: Schema.Array(Schema.Natural),
      /** All were to be replaced, but they differ in more than line ends. */
      replaceAll: Schema.Boolean
    }),
    /** It would change nothing. */
    Schema.TaggedStruct("NoChange", {})
  ])
}) {
  override get message(): string {
    const { path, reason } = this
    switch (reason._tag) {
      case "NoSuchFile":
        return (
          `${path} does not exist. ` +
          (reason.similar.length === 0 ? "" : `Did you mean ${reason.similar.join(", ")}? `) +
          "A new file is created by write_file."
        )
      case "NotFound":
        return reason.closest.length === 0
          ? `oldText was not found in ${path}, nor anything like it. Read the file and copy the text from it.`
          : `oldText was not found in ${path}. The lines that come closest:\n` +
              reason.closest.map(({ line, text }) => `${line}: ${text}`).join("\n") +
              "\nCopy oldText from the file, white space included."
      case "Ambiguous":
        return ambiguous(path, reason)
      case "NoChange":
        return `The edit would leave ${path} as it is. Nothing was written: say in newText what is to stand there.`
    }
  }
}

const ambiguous = (path: string, reason: EditRefused["reason"] & { readonly _tag: "Ambiguous" }): string => {
  const { count, lines, replaceAll, tier } = reason
  const where = `${lines.join(", ")}${count > lines.length ? ", …" : ""}`
  const kind = tier === "exact" ? "" : ", not exactly but with other line ends, dashes, quotes or spaces,"
  const what = `oldText stands${kind} in ${count} places of ${path}: line${count === 1 ? "" : "s"} ${where}.`
  return replaceAll
    ? `${what} They are not all the same. Nothing was changed: edit them one by one.`
    : `${what} Nothing was changed: add lines around it to oldText until it is the only one` +
        (tier === "exact" ? ", or set replaceAll." : ".")
}

/**
 * @category tools
 * @since 0.1.0
 */
export class EditFile extends Tool.Service<EditFile>()("edit_file", {
  title: "Edit file",
  description:
    "Replace a text in a file. oldText must stand there exactly once, or set replaceAll. White space counts; line ends " +
    "need not match (the file's own are used, in newText too), nor typographic dashes, quotes and spaces where oldText " +
    "has plain ones. newText is taken literally. Everything else stays as it is, byte for byte.",
  parameters: {
    path: Schema.String.annotate({ description: "Absolute, or relative to the workspace. The file must exist." }),
    oldText: Schema.String.check(
      Schema.isMinLength(1, { message: "it must not be empty: a new file is created by write_file" })
    ).annotate({ description: "What to replace, with enough around it to be the only one in the file." }),
    newText: Schema.String.annotate({ description: "What to put there. Empty to delete." }),
    replaceAll: Schema.optionalKey(Schema.Boolean).annotate({ description: "Replace every occurrence." })
  },
  success: Edited,
  failure: Schema.Union([EditRefused, FileUnreachable, CommitFailed]),
  resources: ({ path }) => ({ writes: [Resources.file(path)] }),
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  toContent: (success) => content(success)
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = EditFile.toLayer(
  Effect.gen(function* () {
    const files = yield* WorkspaceFiles

    /** Why it is not there, with names that may have been meant. */
    const missing = Effect.fnUntraced(function* (path: string) {
      const resolved = yield* Effect.result(files.resolve(path))
      if (resolved._tag === "Failure" && resolved.failure.reason._tag !== "NotFound") return yield* resolved.failure
      const similar =
        resolved._tag === "Failure" && resolved.failure.reason._tag === "NotFound"
          ? resolved.failure.reason.similar
          : []
      return yield* new EditRefused({ path, reason: { _tag: "NoSuchFile", similar } })
    })

    return Effect.fn("EditFile.edit")(function* ({ newText, oldText, path, replaceAll = false }) {
      return yield* files.hold([path], (held) =>
        Effect.gen(function* () {
          const old = yield* held.read(path)
          if (old === undefined) return yield* missing(path)
          const edit = plan(old.bytes, { oldText, newText, replaceAll })
          if ("refused" in edit) return yield* new EditRefused({ path, reason: edit.refused })
          const [committed] = yield* held.commit([{ _tag: "Write", path, bytes: edit.bytes, expected: old.hash }])
          const { diff, newHash, notKept, path: shown } = committed!
          return {
            path: shown,
            replacements: edit.replacements,
            firstLine: edit.firstLine,
            tier: edit.tier,
            oldHash: old.hash,
            newHash: newHash!,
            ...(diff === undefined ? {} : { diff }),
            notKept
          }
        })
      )
    })
  })
)

/**
 * What becomes of the bytes of a file, or why nothing does.
 *
 * @category planning
 * @since 0.1.0
 */
export const plan = (
  bytes: Uint8Array,
  parameters: { readonly oldText: string; readonly newText: string; readonly replaceAll: boolean }
):
  | { readonly refused: EditRefused["reason"] }
  | {
      readonly bytes: Uint8Array
      readonly replacements: number
      readonly firstLine: number
      readonly tier: Edited["tier"]
    } => {
  const { replaceAll } = parameters
  const file = Match.fromBytes(bytes)
  // A byte order mark cannot be seen, and stays.
  const unmarked = (text: string) => (file.mark.length > 0 && text.startsWith("\ufeff") ? text.slice(1) : text)
  const [oldText, newText] = [unmarked(parameters.oldText), unmarked(parameters.newText)]
  if (oldText === newText || oldText === "") return { refused: { _tag: "NoChange" } }
  const { overlap, spans, tier } = Match.find(file, oldText)
  const [first] = spans
  if (first === undefined) return { refused: { _tag: "NotFound", closest: Match.closest(file, oldText) } }
  const text = ({ end, start }: Match.Span) => Match.textOf(file.units.slice(start, end), file)
  const same = tier === "exact" || spans.every((span) => toLf(text(span)) === toLf(oldText))
  if (replaceAll ? !same && spans.length > 1 : spans.length > 1 || overlap) {
    const named = spans.slice(0, maxLinesNamed).map(({ start }) => start)
    const lines = Match.linesOf(file, named)
    return { refused: { _tag: "Ambiguous", tier, count: spans.length + (overlap ? 1 : 0), lines, replaceAll } }
  }
  const aboutLineEnds = tier === "exact" && toLf(oldText) === toLf(newText)
  const fileEnds = lineEndsOf(file.units)
  const parts: Array<string> = []
  let from = 0
  for (const span of spans) {
    const replaced = file.units.slice(span.start, span.end)
    const ends = lineEndsOf(replaced) ?? fileEnds
    const adapted = aboutLineEnds
      ? newText
      : ends === "CRLF"
        ? toCrlf(newText)
        : ends === "LF" && tier === "tolerant"
          ? toLf(newText)
          : newText
    parts.push(file.units.slice(from, span.start), Match.unitsOf(adapted, file))
    from = span.end
  }
  parts.push(file.units.slice(from))
  const units = parts.join("")
  if (units === file.units) return { refused: { _tag: "NoChange" } }
  return {
    bytes: Match.toBytes(file, units),
    replacements: spans.length,
    firstLine: Match.linesOf(file, [first.start])[0]!,
    tier
  }
}

const toLf = (text: string): string => text.replaceAll("\r\n", "\n")
const toCrlf = (text: string): string => text.replace(/\r?\n/g, "\r\n")

/** How lines end; undefined if none does, or they do not agree. */
const lineEndsOf = (units: string): "LF" | "CRLF" | undefined => {
  let ends: "LF" | "CRLF" | undefined
  for (let at = units.indexOf("\n"); at >= 0; at = units.indexOf("\n", at + 1)) {
    const end = units[at - 1] === "\r" ? "CRLF" : "LF"
    if (ends !== undefined && ends !== end) return undefined
    ends = end
  }
  return ends
}

const content = ({ firstLine, notKept, path, replacements, tier }: Edited): ReadonlyArray<ToolContent> => {
  const text = [
    replacements === 1
      ? `Edited ${path} at line ${firstLine}.`
      : `Edited ${path}: ${replacements} replacements, the first at line ${firstLine}.`,
    ...(tier === "exact" ? [] : ["oldText was not there exactly: line ends, dashes, quotes or spaces differed."]),
    ...(notKept.length === 0 ? [] : [`Not kept: ${notKept.join(", ")}.`])
  ]
  return [{ type: "text", text: PlainText.make(text.join(" ")) }]
}
