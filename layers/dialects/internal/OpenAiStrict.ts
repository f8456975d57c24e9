/**
 * Schemas of OpenAI's strict mode: every key required, no other keys, null for what
 * is absent. What cannot be said so is not said narrower: there is no strict form of it.
 *
 * @since 0.1.0
 */
import { isAny, isNever } from "./Combine.ts"
import { entriesOf, fromEntries, isRecord, type Node, nodes, strings } from "./Json.ts"
import { noteOf, withNote } from "./Notes.ts"
import * as Single from "./Single.ts"
import * as Subsets from "./Subsets.ts"

/** An object in the strict form. */
export interface StrictObject extends Node {
  readonly type: "object"
  readonly description?: string
  readonly properties: Readonly<Record<string, Node>>
  readonly required: ReadonlyArray<string>
  readonly additionalProperties: false
}

const { openAiStrict: subset, openAiStrictLimits: limits } = Subsets

interface State {
  readonly growth: Single.Growth
  properties: number
  enumValues: number
  text: number
}

/** The strict form of the one object that parameters are; undefined when there is none, or none within the limits. */
export const strict = (root: Node): StrictObject | undefined =>
  object(root, 1, true, { growth: { left: Single.maxGrowth }, properties: 0, enumValues: 0, text: 0 })

const schemaOf = (node: Node, level: number, optional: boolean, state: State): Node | undefined => {
  const { any, nullable, singles, words } = Single.alternatives(node, state.growth)
  if (any) return undefined
  const members: Array<Node> = []
  for (const single of singles) {
    const member = one(single, level, state)
    if (member === undefined) return undefined
    members.push(member)
  }
  if (nullable || optional) {
    const [only] = members
    // A list of types for a plain value, as the guide writes it; a member of its own beside everything else.
    if (members.length === 1 && isPlain(only!)) members[0] = { ...only, type: [only!["type"], "null"] }
    else members.push({ type: "null" })
  }
  if (members.length === 0) return undefined
  const { default: _, examples: __, ...kept } = withNote(words, noteOf(words, ["default", "examples"]))
  const [first] = members
  return members.length === 1 ? withNote({ ...first, ...kept }, joined(first!, kept)) : { ...kept, anyOf: members }
}

/** The alternative's own words, where those of all of them took their place. */
const joined = (member: Node, words: Node): string | undefined =>
  typeof words["description"] === "string" && typeof member["description"] === "string"
    ? member["description"]
    : undefined

const isPlain = (node: Node) =>
  node["enum"] === undefined && ["string", "number", "integer", "boolean"].includes(`${node["type"]}`)

const typeOnly = new Set(["type"])

const one = ({ kind, node }: Single.Single, level: number, state: State): Node | undefined => {
  if (kind === "object") return object(node, level, false, state)
  if (kind === "array") return array(node, level, state)
  const kept = new Set<string>([
    ...subset.annotations,
    "type",
    ...(kind === "boolean" ? [] : subset[kind === "string" ? "string" : "number"])
  ])
  if (typeof node["pattern"] === "string" && Subsets.beyondRegular.test(node["pattern"])) kept.delete("pattern")
  if (!(typeof node["format"] === "string" && subset.formats.has(node["format"]))) kept.delete("format")
  const values: ReadonlyArray<unknown> = Array.isArray(node["enum"]) ? node["enum"] : []
  if (values.length > 0) {
    const text = strings(values).reduce((sum, value) => sum + value.length, 0)
    state.enumValues += values.length
    state.text += text
    if (values.length > limits.longEnum.values && text > limits.longEnum.text) return undefined
    if (state.enumValues > limits.enumValues || state.text > limits.text) return undefined
    kept.add("enum")
  }
  return Single.keep(node, kept, typeOnly)
}

const array = (node: Node, level: number, state: State): Node | undefined => {
  if (level >= limits.nesting || node["enum"] !== undefined) return undefined
  const prefix = nodes(node["prefixItems"])
  const rest = isRecord(node["items"]) ? node["items"] : {}
  const { maxItems } = node
  const closed = isNever(rest) || (typeof maxItems === "number" && maxItems <= prefix.length)
  const held = prefix.length === 0 ? rest : { anyOf: closed ? prefix : [...prefix, rest] }
  const items = schemaOf(held, level + 1, false, state)
  if (items === undefined) return undefined
  const kept = new Set<string>([...subset.annotations, ...subset.array, "type"])
  return { ...Single.keep(node, kept, new Set(["items"])), items }
}

const object = (node: Node, level: number, isRoot: boolean, state: State): StrictObject | undefined => {
  if (level > limits.nesting || node["enum"] !== undefined) return undefined
  const named = entriesOf(node["properties"])
  const others = node["additionalProperties"]
  // Keys that are invited must stay possible. Where nothing is said of other keys, whoever lists some means these.
  if ((others !== undefined && others !== false) || entriesOf(node["patternProperties"]).length > 0) return undefined
  if (others === undefined && named.length === 0 && !isRoot) return undefined
  const required = new Set(strings(node["required"]))
  const properties: Array<readonly [string, Node]> = []
  for (const [name, schema] of named) {
    if (isNever(schema)) continue
    if (isAny(schema)) return undefined
    state.properties++
    state.text += name.length
    if (state.properties > limits.properties || state.text > limits.text) return undefined
    const property = schemaOf(schema, level + 1, !required.has(name), state)
    if (property === undefined) return undefined
    properties.push([name, property])
  }
  const structural = new Set(["type", "properties", "required", "additionalProperties", "patternProperties"])
  const { description } = Single.keep(node, subset.annotations, structural)
  return {
    type: "object",
    ...(typeof description === "string" ? { description } : {}),
    properties: fromEntries(properties),
    required: properties.map(([name]) => name),
    additionalProperties: false
  }
}
