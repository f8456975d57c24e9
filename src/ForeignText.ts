/**
 * Text of strangers, made fit to be read by a model and by whoever watches over it.
 *
 * What nobody sees is taken out: control characters and terminal sequences, zero-width
 * and bidirectional controls, tags, variation selectors, all that Unicode calls
 * ignorable, and lone surrogates. What remains is capped. That takes the joiners out of
 * composed emoji and of some scripts, too: they stay readable.
 *
 * What a text *says* is not judged. It is labelled with where it comes from, whatever
 * it says has no say in permissions, and all that was changed is listed for review.
 *
 * @since 0.1.0
 */
import * as PlainText from "./PlainText.ts"
import { isNode, mapChildren, type Node, pointer } from "./SchemaTree.ts"

/**
 * Code units that are kept of each text. Less cuts off what a model needs to use the
 * tool; more lets one tool crowd the others out of its context.
 *
 * @category constants
 * @since 0.1.0
 */
export const limits = {
  title: 128,
  description: 4096,
  /** A `title` in a schema is a `schemaTitle`, any other text in it a `schemaText`. */
  schemaTitle: 128,
  schemaText: 1024,
  /** JSON text of a whole schema. Above it all annotations are left out; see `schema`. */
  schema: 65_536
}

/**
 * What was done to a text.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  /** `title`, `description`, or a schema's name and a JSON Pointer into it: `parameters#/properties/a/description`. */
  readonly at: string
  /** What it was. */
  readonly original: string
  readonly kinds: ReadonlyArray<"terminal" | "control" | "invisible" | "surrogate" | "label" | "cut" | "dropped">
}

/** Escape sequences: CSI, OSC, the other strings, and the short ones. Each begins with a character that ends the one before. */
const terminal =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u009c|\u001b\\)?|\u001b[ -/]*[0-~]?/g
const lineEnds = /\r\n?|[\u0085\u2028\u2029]/g
const controls = /[^\P{Cc}\n\t]/gu
/** And the invisible brackets of annotations, and the blank of Braille, which Unicode does not count among them. */
const invisible = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800]/gu
const surrogates = /\p{Cs}/gu
/** What only the runtime says. */
const labels = /\[(?=\s*(?:from|cut)\b)/giu

interface Cleaned {
  readonly text: string
  readonly kinds: Change["kinds"]
}

const steps: ReadonlyArray<readonly [kind: Change["kinds"][number], what: RegExp, by: string]> = [
  ["terminal", terminal, ""],
  ["control", lineEnds, "\n"],
  ["control", controls, ""],
  ["invisible", invisible, ""],
  ["surrogate", surrogates, "\ufffd"],
  // Last: nothing that is taken out after it can put a label together again.
  ["label", labels, "("]
]

/** Ordinary `\r\n` counts as no change. */
const clean = (text: string, max: number): Cleaned => {
  const kinds = new Set<Change["kinds"][number]>()
  const cleaned = steps.reduce((before, [kind, what, by]) => {
    const after = before.replace(what, by)
    if (after !== before && before.replaceAll("\r\n", "\n") !== after) kinds.add(kind)
    return after
  }, text)
  if (cleaned.length <= max) return { text: cleaned, kinds: [...kinds] }
  const note = `… [cut: ${text.length} code units]`
  return { text: PlainText.take(cleaned, Math.max(0, max - note.length)) + note, kinds: [...kinds, "cut"] }
}

/**
 * Cleans a text of several lines: at most `max` UTF-16 code units, the note that it was
 * cut included.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (text: string, max: number): string => clean(text, max).text

/**
 * As `make`, on one line.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeLine = (text: string, max: number): string => clean(oneLine(text), max).text

const oneLine = (text: string) => text.replace(/[\s\u0085]+/g, " ").trim()

/**
 * As `make`, and lists what was changed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const review = (
  at: string,
  text: string,
  options: { readonly max: number; readonly line?: boolean | undefined }
): { readonly text: string; readonly changes: ReadonlyArray<Change> } => {
  const { kinds, text: cleaned } = clean(options.line === true ? oneLine(text) : text, options.max)
  return { text: cleaned, changes: kinds.length === 0 ? [] : [{ at, original: text, kinds }] }
}

/**
 * Puts in front of a text where it comes from.
 *
 * @category combinators
 * @since 0.1.0
 */
export const label = (origin: string, text: string): string => `[from ${makeLine(origin, 64)}] ${text}`

/** Annotations that are data: they mean nothing to validation. */
const samples = new Set(["default", "example", "examples"])

/** The keywords of the drafts. Others are not shown to a model: nobody knows what they are, and anything may be in them. */
const known =
  /^(?:\$(?:schema|id|ref|defs|anchor|dynamicRef|dynamicAnchor)|(?:min|max)(?:imum|Length|Items|Properties|Contains)|exclusive(?:Min|Max)imum|(?:additional|unevaluated|pattern)?[pP]roperties|(?:additional|unevaluated|prefix)?[iI]tems|(?:all|any|one)Of|dependent(?:Required|Schemas)|dependencies|definitions|type|enum|const|format|pattern|multipleOf|uniqueItems|required|propertyNames|contains|not|if|then|else|content(?:Encoding|MediaType|Schema)|default|examples?|title|description|deprecated|readOnly|writeOnly|nullable)$/

/**
 * Cleans what a schema says to a model. The result accepts at most what the schema
 * accepts or says less of it; the original is what validates.
 *
 * **Details**
 *
 * Titles and descriptions are cleaned. Data that is not clean, or long, is left out:
 * samples, values of an `enum`, a `const`, a `pattern`. So are keywords that no draft
 * has. A schema that is too long after that loses all its annotations. Names of
 * properties are what they are: `hidden` finds those that are not clean.
 *
 * @category constructors
 * @since 0.1.0
 */
export const schema = (
  name: string,
  root: Node
): { readonly schema: Node; readonly changes: ReadonlyArray<Change> } => {
  const whole = cleanSchema(name, root, false)
  return JSON.stringify(whole.schema).length <= limits.schema ? whole : cleanSchema(name, root, true)
}

const cleanSchema = (name: string, root: Node, bare: boolean) => {
  const changes: Array<Change> = []
  const drop = (at: string, value: unknown): ReadonlyArray<never> => {
    changes.push({
      at,
      original: typeof value === "string" ? value : (JSON.stringify(value) ?? ""),
      kinds: ["dropped"]
    })
    return []
  }
  const keep = (keyword: string, value: unknown, at: string): ReadonlyArray<readonly [string, unknown]> => {
    if (!known.test(keyword)) return drop(at, value)
    switch (keyword) {
      case "title":
      case "description": {
        if (bare || typeof value !== "string") return drop(at, value)
        const line = keyword === "title"
        const cleaned = review(at, value, { max: line ? limits.schemaTitle : limits.schemaText, line })
        changes.push(...cleaned.changes)
        return [[keyword, cleaned.text]]
      }
      case "enum": {
        if (!Array.isArray(value)) return [[keyword, value]]
        const shown = value.flatMap((item, index) => (isClean(item) ? [item] : drop(`${at}/${index}`, item)))
        return shown.length === 0 && value.length > 0 ? [] : [[keyword, shown]]
      }
      case "const":
      case "pattern":
        return isClean(value) ? [[keyword, value]] : drop(at, value)
      default:
        return samples.has(keyword) && (bare || !isClean(value)) ? drop(at, value) : [[keyword, value]]
    }
  }
  const visit = (node: Node, at: string): Node =>
    mapChildren(
      Object.fromEntries(
        Object.entries(node).flatMap(([keyword, value]) => keep(keyword, value, pointer(at, [keyword])))
      ),
      (child, path) => (isNode(child) ? visit(child, pointer(at, path)) : child)
    )
  return { schema: visit(root, `${name}#`), changes }
}

/**
 * The first string in a value, keys included, that carries what nobody sees, escaped.
 *
 * @category converting
 * @since 0.1.0
 */
export const hidden = (value: unknown): string | undefined => {
  if (typeof value === "string") {
    const { kinds } = clean(value, Number.POSITIVE_INFINITY)
    return kinds.some((kind) => kind !== "label") ? escape(value) : undefined
  }
  if (Array.isArray(value)) return firstOf(value)
  return isNode(value) ? firstOf(Object.entries(value).flat()) : undefined
}

const firstOf = (values: ReadonlyArray<unknown>): string | undefined => {
  for (const value of values) {
    const found = hidden(value)
    if (found !== undefined) return found
  }
  return undefined
}

const isClean = (value: unknown): boolean =>
  hidden(value) === undefined && (JSON.stringify(value) ?? "").length <= limits.schemaText

/**
 * What nobody sees, shown: `\u{200b}`. For review.
 *
 * @category converting
 * @since 0.1.0
 */
export const escape = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Cs}\p{Zl}\p{Zp}\ufff9-\ufffb\u2800]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`
  )
