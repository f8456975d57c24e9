/**
 * Reading a JSON Schema: what a place in it admits, and what lies below it.
 *
 * References inside of the schema are followed. A keyword that is not understood
 * admits anything: whoever asks here only wants to help, and the schema itself
 * decides.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"

/** @internal */
export type Node = JsonSchema.JsonSchema

/** @internal */
export type JsonType = "string" | "number" | "integer" | "boolean" | "null" | "object" | "array"

/** References and unions that are followed into one another. A cycle of them says nothing more. */
const maxDepth = 20

/** The schemas that a place stands for: itself, what it refers to, its alternatives. */
const alternatives = (node: Node, root: Node, depth = 0): ReadonlyArray<Node> => {
  if (depth > maxDepth) return []
  const target = typeof node["$ref"] === "string" ? resolve(node["$ref"], root) : undefined
  const inner = [
    ...(target === undefined ? [] : [target]),
    ...["anyOf", "oneOf", "allOf"].flatMap((key) => list(node[key]))
  ]
  return [node, ...inner.flatMap((child) => alternatives(child, root, depth + 1))]
}

/** A JSON pointer in a fragment, as RFC 6901 has it. */
const resolve = (reference: string, root: Node): Node | undefined => {
  if (!reference.startsWith("#")) return undefined
  const steps = reference.slice(1).split("/").slice(1)
  const decoded = steps.map((step) => decodeURI(step).replaceAll("~1", "/").replaceAll("~0", "~"))
  return decoded.reduce<Node | undefined>((node, step) => (node === undefined ? undefined : nodeOf(node[step])), root)
}

const decodeURI = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const nodeOf = (value: unknown): Node | undefined =>
  typeof value === "object" && value !== null ? (value as Node) : undefined

const list = (value: unknown): ReadonlyArray<Node> =>
  Array.isArray(value) ? value.map(nodeOf).filter((node) => node !== undefined) : []

/** It says nothing by itself, but points to others that do. */
const pointers = ["$ref", "anyOf", "oneOf", "allOf"]

/**
 * The types a place admits; undefined if it does not say.
 *
 * @internal
 */
export const typesOf = (node: Node, root: Node): ReadonlySet<JsonType> | undefined => {
  const types = new Set<JsonType>()
  for (const place of alternatives(node, root)) {
    const { const: constant, enum: values, type } = place
    if (type !== undefined) for (const one of Array.isArray(type) ? type : [type]) types.add(one as JsonType)
    else if (Array.isArray(values)) for (const value of values) types.add(typeOf(value))
    else if (constant !== undefined) types.add(typeOf(constant))
    else if (!pointers.some((key) => key in place)) return undefined
  }
  return types.size === 0 ? undefined : types
}

const typeOf = (value: unknown): JsonType =>
  value === null ? "null" : Array.isArray(value) ? "array" : (typeof value as JsonType)

/**
 * What lies below a place under a key or index: a schema whose alternatives are all there are.
 *
 * @internal
 */
export const below = (node: Node, key: string | number, root: Node): Node => {
  const children = alternatives(node, root).flatMap((place): ReadonlyArray<unknown> => {
    if (typeof key === "number") {
      const tuple = Array.isArray(place["prefixItems"]) ? place["prefixItems"] : place["items"]
      return Array.isArray(tuple) ? [tuple[key]] : [place["items"]]
    }
    const properties = nodeOf(place["properties"])
    return properties !== undefined && Object.hasOwn(properties, key)
      ? [properties[key]]
      : [place["additionalProperties"]]
  })
  const nodes = children.map(nodeOf).filter((child) => child !== undefined)
  return nodes.length === 1 ? nodes[0]! : { anyOf: nodes }
}

/**
 * The names of the properties that a place declares.
 *
 * @internal
 */
export const keysOf = (node: Node, root: Node): ReadonlyArray<string> => [
  ...new Set(alternatives(node, root).flatMap(({ properties }) => Object.keys(nodeOf(properties) ?? {})))
]

/**
 * Whether every alternative with properties requires this one.
 *
 * @internal
 */
export const requires = (node: Node, key: string, root: Node): boolean =>
  alternatives(node, root).some(({ required }) => Array.isArray(required) && required.includes(key))
