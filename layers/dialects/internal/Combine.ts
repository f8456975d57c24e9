/**
 * Schemas without references, as sets of values: both at once, and either one.
 *
 * **Law**
 *
 * `intersect(a, b)` accepts whatever a and b accept, `union([a, b])` whatever a or b
 * accepts. Neither is exact: where the answer has no short form it is wider, and
 * says so in its description.
 *
 * @since 0.1.0
 */
import { annotations } from "./Drafts.ts"
import { entriesOf, fromEntries, isEmpty, isRecord, type Node, nodes, same, shown, strings, without } from "./Json.ts"
import { described, kindOf, noteOf, withNote } from "./Notes.ts"

export type Type = "null" | "boolean" | "integer" | "number" | "string" | "array" | "object"

export const everyType: ReadonlyArray<Type> = ["string", "number", "boolean", "object", "array", "null"]

/** The types a schema accepts, in its own order; every one when it says nothing. */
export const typesOf = (node: Node): ReadonlyArray<Type> => {
  const type = node["type"]
  const types = [type].flat().filter((item): item is Type => typeof item === "string")
  return type === undefined ? everyType : types.includes("number") ? types.filter((item) => item !== "integer") : types
}

const sharedTypes = (a: ReadonlyArray<Type>, b: ReadonlyArray<Type>): ReadonlyArray<Type> => [
  ...new Set(
    a.flatMap((type): Array<Type> => {
      if (b.includes(type)) return [type]
      if (type === "integer" && b.includes("number")) return ["integer"]
      return type === "number" && b.includes("integer") ? ["integer"] : []
    })
  )
]

const highest = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"])
const lowest = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"])

/** Keywords that mean something only together: the second schema's are taken whole, or not at all. */
const groups = [
  ["if", "then", "else"],
  ["contains", "minContains", "maxContains"],
  ["prefixItems", "items"],
  ["properties", "patternProperties", "additionalProperties"]
] as const

/** What both accept. */
export const intersect = (a: Node, b: Node): Node => {
  if (isEmpty(a)) return b
  if (isEmpty(b)) return a
  const out: Record<string, unknown> = { ...a }
  const skipped = new Set<string>()
  for (const group of groups.slice(0, 2)) {
    if (group.some((key) => a[key] !== undefined) && group.some((key) => b[key] !== undefined)) {
      for (const key of group) if (!same(a[key], b[key])) skipped.add(key)
    }
  }
  const dropped: Array<string> = []

  for (const [key, value] of Object.entries(b)) {
    const own = a[key]
    if (key === "description" && typeof own === "string" && typeof value === "string") {
      out[key] = own.includes(value) ? own : described(own, value)
    } else if (annotations.has(key)) out[key] = own ?? value
    else if (key === "type" && own !== undefined) {
      const types = sharedTypes(typesOf(a), typesOf(b))
      // Nothing is both, so anything is wide enough.
      if (types.length > 0) out["type"] = types.length === 1 ? types[0] : types
    } else if (key === "required") out[key] = [...new Set([...strings(own), ...strings(value)])]
    else if (highest.has(key) && typeof own === "number" && typeof value === "number") out[key] = Math.max(own, value)
    else if (lowest.has(key) && typeof own === "number" && typeof value === "number") out[key] = Math.min(own, value)
    else if (key === "enum" && Array.isArray(own) && Array.isArray(value)) {
      const keys = new Set(value.map((item) => JSON.stringify(item)))
      const both = own.filter((item) => keys.has(JSON.stringify(item)))
      if (both.length > 0) out[key] = both
    } else if (["properties", "patternProperties", "additionalProperties", "prefixItems", "items"].includes(key))
      continue
    else if (skipped.has(key)) dropped.push(key)
    else if (own === undefined) out[key] = value
    else if (!same(own, value)) dropped.push(key)
  }
  Object.assign(out, intersectKeys(a, b), intersectItems(a, b))
  return withNote(out, noteOf(b, dropped))
}

const intersectKeys = (a: Node, b: Node): Node => {
  const merged = (key: "properties" | "patternProperties") => {
    if (a[key] === undefined && b[key] === undefined) return {}
    const [left, right] = [new Map(entriesOf(a[key])), new Map(entriesOf(b[key]))]
    const names = [...new Set([...left.keys(), ...right.keys()])]
    return {
      [key]: fromEntries(names.map((name) => [name, intersect(left.get(name) ?? {}, right.get(name) ?? {})] as const))
    }
  }
  const [left, right] = [a["additionalProperties"], b["additionalProperties"]]
  const rest =
    left === false || right === false
      ? false
      : isRecord(left) && isRecord(right)
        ? intersect(left, right)
        : isRecord(left)
          ? left
          : isRecord(right)
            ? right
            : (left ?? right)
  return {
    ...merged("properties"),
    ...merged("patternProperties"),
    ...(rest === undefined ? {} : { additionalProperties: rest })
  }
}

const intersectItems = (a: Node, b: Node): Node => {
  const [left, right] = [nodes(a["prefixItems"]), nodes(b["prefixItems"])]
  const prefix = Array.from({ length: Math.max(left.length, right.length) }, (_, index) =>
    intersect(left[index] ?? {}, right[index] ?? {})
  )
  const items = [a["items"], b["items"]].filter(isRecord)
  return {
    ...(prefix.length === 0 ? {} : { prefixItems: prefix }),
    ...(items.length === 0 ? {} : { items: items.reduce(intersect) })
  }
}

/** A schema that is met by nothing. */
export const isNever = (node: Node): boolean => {
  const not = node["not"]
  return isRecord(not) && isEmpty(without(not, annotations))
}

/** A schema that says nothing but words. */
export const isAny = (node: Node): boolean => Object.keys(node).every((key) => annotations.has(key))

/** Members without repetitions; a member that accepts anything stands for all of them. */
export const alternatives = (members: ReadonlyArray<Node>): ReadonlyArray<Node> => {
  const kept: Array<Node> = []
  const seen = new Set<string>()
  for (const member of members) {
    if (isAny(member)) return [member]
    const key = JSON.stringify(member)
    if (!seen.has(key) && !isNever(member)) kept.push(member)
    seen.add(key)
  }
  return kept
}

/**
 * Members of a union that are merged key by key. More, and a key's own union is longer than a model reads; fewer,
 * and the unions of real commands (some thirty) are not shown.
 */
const maxMembers = 64

/** What any of some objects accepts, as one object. */
export const union = (members: ReadonlyArray<Node>): Node => {
  const [first] = members
  if (first === undefined) return {}
  if (members.length === 1) return first
  if (members.length > maxMembers)
    return { type: "object", additionalProperties: true, description: `One of ${members.length} forms.` }

  // Whatever all of them demand alike is demanded.
  const shared = fromEntries(
    Object.entries(first).filter(
      ([key, value]) => !objectKeywords.has(key) && members.every((member) => same(member[key], value))
    )
  )
  const properties = members.map((member) => new Map(entriesOf(member["properties"])))
  const names = [...new Set(properties.flatMap((map) => [...map.keys()]))]
  const required = strings(first["required"]).filter((name) =>
    members.every((member) => strings(member["required"]).includes(name))
  )
  const rests = members.map(othersOf)
  const open = rests.some((rest) => rest === undefined || isAny(rest))
  // Saying so is more than silence: see the strict form.
  const invited = members.some(invites) ? { additionalProperties: true } : {}
  const others = rests.filter((rest): rest is Node => rest !== undefined && !isNever(rest))
  const merged = names.map((name): readonly [string, Node] => {
    const speaking = properties.flatMap((map) => (map.has(name) ? [map.get(name)!] : []))
    const silent = members.flatMap((_, index) => (properties[index]!.has(name) ? [] : [rests[index] ?? {}]))
    return [name, either(speaking, silent)]
  })
  return {
    type: "object",
    ...shared,
    properties: fromEntries(merged),
    ...(required.length === 0 ? {} : { required }),
    ...(open ? invited : { additionalProperties: others.length === 0 ? false : either(others, []) }),
    description: described(shared["description"], `one of ${members.length} forms: ${members.map(formOf).join(" | ")}`)
  }
}

const objectKeywords = new Set(["properties", "patternProperties", "additionalProperties", "required", "description"])

/** Whether an object speaks of keys that it does not name, other than to refuse them. */
const invites = (node: Node): boolean =>
  (node["additionalProperties"] ?? false) !== false || entriesOf(node["patternProperties"]).length > 0

/** What an object says of keys that it does not name; undefined for what patterns say, which is not asked. */
const othersOf = (node: Node): Node | undefined => {
  if (entriesOf(node["patternProperties"]).length > 0) return undefined
  const others = node["additionalProperties"]
  return others === false ? { not: {} } : isRecord(others) ? others : {}
}

/** The members that name a key, and what those that do not say of it. */
const either = (speaking: ReadonlyArray<Node>, silent: ReadonlyArray<Node>): Node => {
  const members = alternatives([...speaking, ...silent])
  if (members.length === 0) return { not: {} }
  if (members.length === 1 && !isAny(members[0]!)) return members[0]!
  if (members.length > 1) return { anyOf: members }
  // Some member takes anything under this key: only words can tell what the others want.
  const kinds = [...new Set(speaking.filter((node) => !isAny(node)).map(kindOf))]
  const text = speaking.map((node) => node["description"]).find((value) => typeof value === "string")
  return withNote(
    text === undefined ? {} : { description: text },
    kinds.length === 0 ? undefined : `in one form: ${kinds.slice(0, 4).join(" or ")}`
  )
}

const formOf = (node: Node): string => {
  const names = entriesOf(node["properties"]).map(([name]) => name)
  const title = node["title"]
  if (typeof title === "string" && title !== "") return title.slice(0, 40)
  const required = strings(node["required"])
  const shownNames = required.length > 0 ? required : names
  return `{${shownNames
    .slice(0, 6)
    .map((name) => {
      const constant = entriesOf(node["properties"]).find(([key]) => key === name)?.[1]
      const value =
        constant?.["const"] ??
        (Array.isArray(constant?.["enum"]) && constant["enum"].length === 1 ? constant["enum"][0] : undefined)
      return value === undefined ? name : `${name}: ${shown(value, 20)}`
    })
    .join(", ")}}`
}
