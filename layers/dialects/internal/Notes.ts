/**
 * What a provider's schema cannot say, in few words, for the description.
 *
 * @since 0.1.0
 */
import { cut, entriesOf, isRecord, type Node, shown, strings } from "./Json.ts"

/**
 * Code units of all notes of one schema. More, and the notes outweigh the description
 * they belong to; fewer, and an enum of a dozen words is cut.
 */
const maxNotes = 300

/** The schema with a sentence at the end of its description. */
export const withNote = (node: Node, note: string | undefined): Node =>
  note === undefined || note === "" ? node : { ...node, description: described(node["description"], note) }

/** A description and a note, as two sentences; a note that is there already is not repeated. */
export const described = (description: unknown, note: string): string => {
  const text = typeof description === "string" ? description.trimEnd() : ""
  const sentence = `${note.charAt(0).toUpperCase()}${note.slice(1)}${/[.…]$/.test(note) ? "" : "."}`
  if (text.endsWith(sentence)) return text
  return text === "" ? sentence : `${text}${/[.!?:;…]$/.test(text) ? "" : "."} ${sentence}`
}

/** Members of a list that are quoted: what does not fit into the notes is not worth printing. */
const maxListed = 40

const listed = (values: unknown) =>
  Array.isArray(values)
    ? cut(
        values
          .slice(0, maxListed)
          .map((value) => shown(value))
          .join(", ") + (values.length > maxListed ? ", …" : ""),
        200
      )
    : ""

/** A word or two for what a schema accepts. */
export const kindOf = (node: Node): string => {
  if (node["const"] !== undefined) return shown(node["const"])
  if (Array.isArray(node["enum"])) return `one of ${listed(node["enum"])}`
  const type = node["type"]
  if (type === "array" && isRecord(node["items"])) return `array of ${kindOf(node["items"])}`
  if (typeof type === "string") return type
  if (Array.isArray(type)) return type.join(" or ")
  for (const key of ["anyOf", "oneOf"]) {
    const members = node[key]
    if (Array.isArray(members)) {
      return cut([...new Set(members.map((member) => (isRecord(member) ? kindOf(member) : "any")))].join(" or "), 80)
    }
  }
  if (isRecord(node["properties"])) return "object"
  return "any"
}

const words: Readonly<Record<string, (value: unknown, node: Node) => string | undefined>> = {
  enum: (value) => `one of ${listed(value)}`,
  const: (value) => `always ${shown(value)}`,
  minimum: (value) => `at least ${value}`,
  maximum: (value) => `at most ${value}`,
  exclusiveMinimum: (value) => `greater than ${value}`,
  exclusiveMaximum: (value) => `less than ${value}`,
  multipleOf: (value) => `a multiple of ${value}`,
  minLength: (value) => (value === 0 ? undefined : `length at least ${value}`),
  maxLength: (value) => `length at most ${value}`,
  pattern: (value) => `matches ${cut(`${value}`, 100)}`,
  format: (value) => `format ${cut(`${value}`, 40)}`,
  contentEncoding: (value) => `encoded as ${cut(`${value}`, 40)}`,
  minItems: (value) => (value === 0 ? undefined : `at least ${value} items`),
  maxItems: (value) => `at most ${value} items`,
  uniqueItems: (value) => (value === true ? "items are unique" : undefined),
  contains: (value) => (isRecord(value) ? `contains ${kindOf(value)}` : undefined),
  prefixItems: (value) =>
    Array.isArray(value) ? `in order: ${value.slice(0, maxListed).map(kindOf).join(", ")}` : undefined,
  minProperties: (value) => (value === 0 ? undefined : `at least ${value} keys`),
  maxProperties: (value) => `at most ${value} keys`,
  patternProperties: (value) =>
    entriesOf(value)
      .map(([pattern, node]) => `keys that match ${cut(pattern, 60)}: ${kindOf(node)}`)
      .join("; "),
  additionalProperties: (value) => (isRecord(value) ? `any other key: ${kindOf(value)}` : undefined),
  propertyNames: (value) =>
    isRecord(value) && typeof value["pattern"] === "string"
      ? `keys match ${cut(value["pattern"], 60)}`
      : `keys are ${shown(value)}`,
  dependentRequired: (value) =>
    isRecord(value)
      ? Object.entries(value)
          .map(([key, needs]) => `${key} needs ${strings(needs).join(", ")}`)
          .join("; ")
      : undefined,
  dependentSchemas: (value) =>
    `with ${entriesOf(value)
      .map(([key]) => key)
      .join(", ")}, more rules apply`,
  not: (value) =>
    isRecord(value) && Object.keys(value).length === 0 ? "no value is accepted" : `not ${shown(value, 80)}`,
  if: (value, node) =>
    `if ${shown(value, 60)}` +
    (node["then"] === undefined ? "" : ` then ${shown(node["then"], 60)}`) +
    (node["else"] === undefined ? "" : ` else ${shown(node["else"], 60)}`),
  oneOf: () => "exactly one of the alternatives",
  default: (value) => `default ${shown(value)}`,
  examples: (value) => `for example ${Array.isArray(value) ? listed(value.slice(0, 2)) : ""}`
}

/** What is lost with these keywords of a schema; undefined for nothing worth a word. */
export const noteOf = (node: Node, keys: Iterable<string>): string | undefined => {
  const notes: Array<string> = []
  for (const key of keys) {
    if (node[key] === undefined || !Object.hasOwn(words, key)) continue
    const note = words[key]!(node[key], node)
    if (note !== undefined && note !== "") notes.push(note)
  }
  return notes.length === 0 ? undefined : cut(notes.join("; "), maxNotes)
}
