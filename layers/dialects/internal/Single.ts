/**
 * A schema as alternatives of one type each, for providers that know neither
 * intersections nor keywords beside a union.
 *
 * @since 0.1.0
 */
import * as Combine from "./Combine.ts"
import { isRecord, type Node, nodes, pick, without } from "./Json.ts"
import { noteOf, withNote } from "./Notes.ts"

export type Kind = Exclude<Combine.Type, "null">

/** One type, with the keywords of that type only. */
export interface Single {
  readonly kind: Kind
  readonly node: Node
}

export interface Alternatives {
  readonly singles: ReadonlyArray<Single>
  readonly nullable: boolean
  /** It says nothing but words: anything is accepted. */
  readonly any: boolean
  /** Words about all of them. */
  readonly words: Node
}

/**
 * Alternatives of one schema. More, and the nested unions of a bomb multiply; fewer, and
 * the unions of real schemas lose their members' keys, for each type then accepts anything of it.
 */
const maxAlternatives = 32

/**
 * Code units of JSON text that may be added to one schema by what is repeated in the members of its unions. More, and
 * a bomb of unions is that much larger; less, and a big schema full of unions keeps the types of the last ones only.
 */
export const maxGrowth = 250_000

/** What is left of it. */
export interface Growth {
  left: number
}

/** Takes the words off a schema, and its unions apart. */
export const alternatives = (schema: Node, growth: Growth): Alternatives => {
  const words = pick(schema, shared)
  const bare = without(schema, shared)
  const any = Combine.isAny(schema)
  if (any) return { ...everything, words }
  if (Combine.isNever(bare)) return { singles: [], nullable: false, any: false, words }
  const united = ["allOf", "anyOf", "oneOf"].some((key) => key in bare)
  const members = united && growth.left <= 0 ? undefined : expand(bare, maxAlternatives)
  const singles: Array<Single> = []
  const seen = new Set<string>()
  let nullable = false
  let size = 0
  for (const member of members ?? []) {
    for (const type of Combine.typesOf(member)) {
      const node = one(member, type)
      if (node === undefined) continue
      if (type === "null") nullable = true
      else {
        const key = JSON.stringify(node)
        if (seen.has(key)) continue
        seen.add(key)
        size += key.length
        singles.push({ kind: type, node })
      }
    }
  }
  if (united && members !== undefined) growth.left -= Math.max(0, size - JSON.stringify(bare).length)
  return members === undefined || singles.length > maxAlternatives
    ? { ...everything, any: false, words: withNote(words, "one of many forms") }
    : { singles, nullable, any: false, words }
}

const shared: ReadonlySet<string> = new Set(["title", "description", "default", "examples"])

const everything: Omit<Alternatives, "words"> = {
  singles: Combine.everyType.flatMap((kind): ReadonlyArray<Single> =>
    kind === "null" ? [] : [{ kind, node: { type: kind } }]
  ),
  nullable: true,
  any: true
}

/** The members of all unions, each with whatever stands beside it; undefined for more than the limit. */
const expand = (schema: Node, limit: number): ReadonlyArray<Node> | undefined => {
  let members: ReadonlyArray<Node> = [without(schema, ["allOf", "anyOf", "oneOf"])]
  if (Combine.isNever(schema)) return []
  const multiply = (others: ReadonlyArray<Node>): boolean => {
    if (members.length * others.length > limit) return false
    members = members.flatMap((member) => others.map((other) => Combine.intersect(other, member)))
    return true
  }
  for (const part of nodes(schema["allOf"])) {
    const expanded = expand(part, limit)
    if (expanded === undefined || !multiply(expanded)) return undefined
  }
  for (const key of ["anyOf", "oneOf"]) {
    if (schema[key] === undefined) continue
    const expanded: Array<Node> = []
    for (const part of nodes(schema[key])) {
      const inner = expand(part, limit)
      if (inner === undefined || expanded.length + inner.length > limit) return undefined
      expanded.push(...inner)
    }
    if (!multiply(expanded)) return undefined
  }
  return members
}

const stringKeywords = ["minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType"]
const numberKeywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]
const arrayKeywords = [
  "items",
  "prefixItems",
  "minItems",
  "maxItems",
  "uniqueItems",
  "contains",
  "minContains",
  "maxContains"
]
const objectKeywords = [
  "properties",
  "patternProperties",
  "additionalProperties",
  "required",
  "minProperties",
  "maxProperties",
  "propertyNames",
  "dependentRequired",
  "dependentSchemas"
]

const foreign: Readonly<Record<Combine.Type, ReadonlyArray<string>>> = {
  null: [],
  boolean: [...stringKeywords, ...numberKeywords, ...arrayKeywords, ...objectKeywords],
  string: [...numberKeywords, ...arrayKeywords, ...objectKeywords],
  number: [...stringKeywords, ...arrayKeywords, ...objectKeywords],
  integer: [...stringKeywords, ...arrayKeywords, ...objectKeywords],
  array: [...stringKeywords, ...numberKeywords, ...objectKeywords],
  object: [...stringKeywords, ...numberKeywords, ...arrayKeywords]
}

/** The part of a member that is about one type; undefined when its values exclude the type. */
const one = (member: Node, type: Combine.Type): Node | undefined => {
  const values = Array.isArray(member["enum"]) ? member["enum"] : "const" in member ? [member["const"]] : undefined
  const node = { ...without(member, ["enum", "const", ...foreign[type]]), type }
  if (values === undefined) return node
  const fitting = values.filter((value) => isOf(value, type))
  return fitting.length === 0 ? undefined : { ...node, enum: fitting }
}

const isOf = (value: unknown, type: Combine.Type): boolean =>
  type === "null"
    ? value === null
    : type === "array"
      ? Array.isArray(value)
      : type === "object"
        ? isRecord(value)
        : type === "integer"
          ? Number.isInteger(value)
          : typeof value === type

/** The keywords of one alternative that a provider takes, and in the description what it does not take. */
export const keep = (node: Node, kept: ReadonlySet<string>, structural: ReadonlySet<string>): Node => {
  const out = pick(node, new Set([...kept, "description"]))
  return withNote(
    out,
    noteOf(
      node,
      Object.keys(node).filter((key) => !kept.has(key) && !structural.has(key))
    )
  )
}
