/**
 * Schemas of Gemini: one type each, nothing beside a union, strings only in enums.
 *
 * @since 0.1.0
 */
import { entriesOf, fromEntries, isRecord, type Node, nodes, strings } from "./Json.ts"
import { described, kindOf, noteOf, withNote } from "./Notes.ts"
import * as Single from "./Single.ts"
import * as Subsets from "./Subsets.ts"

/** The fields of `Schema` that are written. */
export interface GeminiSchema {
  readonly type?: "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "ARRAY" | "OBJECT"
  readonly title?: string
  readonly description?: string
  readonly nullable?: boolean
  readonly format?: string
  readonly enum?: ReadonlyArray<string>
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: GeminiSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, GeminiSchema>>
  readonly required?: ReadonlyArray<string>
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly anyOf?: ReadonlyArray<GeminiSchema>
}

/**
 * Arrays inside of arrays, where anything is accepted. Every array must say what it holds, so somewhere the last
 * one holds no array. More, and each value without a schema costs a hundred code units more; fewer, and a
 * matrix is not anything.
 */
export const maxAnyArrays = 3

/**
 * JSON text of one schema, about, in code units. More, and one tool fills the context; less, and the last keys of large
 * schemas are not shown.
 */
const maxText = 500_000

interface State {
  readonly growth: Single.Growth
  room: number
}

/** Of the one object that parameters are. */
export const gemini = (root: Node): GeminiSchema => {
  const state: State = { growth: { left: Single.maxGrowth }, room: maxText }
  return object(root, state)
}

const schemaOf = (node: Node, state: State, anyArrays = 0): GeminiSchema => {
  const { any, nullable, singles, words } = Single.alternatives(node, state.growth)
  state.room -= 30 * singles.length + textOf(node)
  const note = noteOf(words, ["default", "examples"])
  const members = singles
    .filter(({ kind }) => !(any && kind === "array" && anyArrays >= maxAnyArrays))
    .map((single) => one(single, state, any ? anyArrays + 1 : 0))
  const [first, ...others] = members
  // Nothing, or null alone: there is no type for either that every endpoint takes.
  if (first === undefined) return { ...worded({ type: "STRING", nullable: true }, words, note ?? "null") }
  const led = worded(nullable ? { ...first, nullable: true } : first, words, note)
  if (others.length === 0) return led
  return { anyOf: [led, ...others] }
}

const textOf = (node: Node) => (typeof node["description"] === "string" ? node["description"].length : 0)

/** The words about all alternatives stand in the first: nothing may stand beside a union. */
const worded = (schema: GeminiSchema, words: Node, note: string | undefined): GeminiSchema => {
  const own = schema.description
  const outer = typeof words["description"] === "string" ? words["description"] : undefined
  const text = outer === undefined ? own : own === undefined ? outer : described(outer, own)
  const full = note === undefined ? text : described(text, note)
  const title = typeof words["title"] === "string" ? words["title"] : schema.title
  return {
    ...schema,
    ...(title === undefined ? {} : { title }),
    ...(full === undefined ? {} : { description: full })
  }
}

const one = ({ kind, node }: Single.Single, state: State, anyArrays: number): GeminiSchema => {
  switch (kind) {
    case "string":
      return string(node)
    case "number":
    case "integer":
      return number(node, kind)
    case "boolean":
      return { type: "BOOLEAN", ...said(node, new Set(), new Set(["type"])) }
    case "array":
      return array(node, state, anyArrays)
    case "object":
      return object(node, state)
  }
}

interface Said {
  readonly title?: string
  readonly description?: string
}

/** The words of an alternative, with a note of what is not kept. */
const said = (node: Node, kept: ReadonlySet<string>, structural: ReadonlySet<string>): Said => {
  const { description, title } = Single.keep(node, new Set([...kept, "title"]), structural)
  return {
    ...(typeof title === "string" ? { title } : {}),
    ...(typeof description === "string" ? { description } : {})
  }
}

const string = (node: Node): GeminiSchema => {
  const kept = new Set(Subsets.gemini.string)
  const { enum: values, format, maxLength, minLength, pattern } = node
  const members = strings(values)
  // An empty member is refused.
  const listed = members.length > 0 && members.every((value) => value !== "")
  const known = typeof format === "string" && format === "date-time"
  const regular = typeof pattern === "string" && !Subsets.beyondRegular.test(pattern)
  if (listed) kept.add("enum")
  if (!known) kept.delete("format")
  if (!regular) kept.delete("pattern")
  return {
    type: "STRING",
    ...said(node, kept, new Set(["type"])),
    ...(listed ? { format: "enum", enum: [...new Set(members)] } : known ? { format } : {}),
    ...(typeof minLength === "number" ? { minLength } : {}),
    ...(typeof maxLength === "number" ? { maxLength } : {}),
    ...(regular ? { pattern } : {})
  }
}

const number = (node: Node, kind: "number" | "integer"): GeminiSchema => {
  const { format, maximum, minimum } = node
  const formats = kind === "number" ? ["float", "double"] : ["int32", "int64"]
  const known = typeof format === "string" && formats.includes(format)
  const kept = new Set(Subsets.gemini.number)
  if (!known) kept.delete("format")
  return {
    type: kind === "number" ? "NUMBER" : "INTEGER",
    ...said(node, kept, new Set(["type"])),
    ...(known ? { format } : {}),
    ...(typeof minimum === "number" ? { minimum } : {}),
    ...(typeof maximum === "number" ? { maximum } : {})
  }
}

const array = (node: Node, state: State, anyArrays: number): GeminiSchema => {
  const { items, maxItems, minItems } = node
  const prefix = nodes(node["prefixItems"])
  const rest = isRecord(items) ? items : {}
  const closed = typeof maxItems === "number" && maxItems <= prefix.length
  const members = closed || isNever(rest) ? prefix : [...prefix, rest]
  const held = prefix.length === 0 ? rest : { anyOf: members }
  return {
    type: "ARRAY",
    ...said(node, Subsets.gemini.array, new Set(["type", "items"])),
    items: schemaOf(isNever(held) ? {} : held, state, anyArrays),
    ...(typeof minItems === "number" ? { minItems } : {}),
    ...(typeof maxItems === "number" ? { maxItems } : {})
  }
}

const isNever = (node: Node) => isRecord(node["not"]) && Object.keys(node["not"]).length === 0

const object = (node: Node, state: State): GeminiSchema => {
  const { maxProperties, minProperties } = node
  const properties: Array<readonly [string, GeminiSchema]> = []
  let hidden = 0
  for (const [name, schema] of entriesOf(node["properties"])) {
    // A key that takes nothing is one that a model need not hear of.
    if (isNever(schema)) continue
    if (state.room <= 0) hidden++
    else {
      state.room -= name.length
      properties.push([name, schemaOf(schema, state)])
    }
  }
  const names = new Set(properties.map(([name]) => name))
  // A required key that is no property is refused.
  const demanded = [...new Set(strings(node["required"]))]
  const required = demanded.filter((name) => names.has(name))
  const unnamed = demanded.filter((name) => !names.has(name))
  const notes = [
    ...(hidden > 0 ? [`${hidden} more keys are not shown`] : []),
    ...(unnamed.length > 0 ? [`also required: ${unnamed.slice(0, 8).join(", ")}`] : [])
  ]
  const { additionalProperties } = node
  const open = isRecord(additionalProperties) ? [`any other key: ${kindOf(additionalProperties)}`] : []
  const structural = new Set(["type", "properties", "required", "additionalProperties"])
  const words = said(withNote(node, [...open, ...notes].join("; ")), Subsets.gemini.object, structural)
  return {
    type: "OBJECT",
    ...words,
    ...(properties.length === 0 ? {} : { properties: fromEntries(properties) }),
    ...(required.length === 0 ? {} : { required }),
    ...(typeof minProperties === "number" ? { minProperties } : {}),
    ...(typeof maxProperties === "number" ? { maxProperties } : {})
  }
}
