/**
 * Parameters are one object: unions and intersections at the root, which OpenAI
 * and Anthropic refuse, are merged into it.
 *
 * @since 0.1.0
 */
import * as Combine from "./Combine.ts"
import { fromEntries, isRecord, type Node, nodes, pick, strings, without } from "./Json.ts"
import { noteOf, withNote } from "./Notes.ts"

/** The one object that accepts every object the schema accepts. */
export const root = (schema: Node): Node => {
  const merged = objectOf(schema)
  if (merged === undefined) {
    return withNote(
      { type: "object", properties: {}, ...pick(schema, new Set(["title", "description"])) },
      `declared as no object, but ${Combine.isNever(schema) ? "as what nothing meets" : Combine.typesOf(schema).join(" or ")}`
    )
  }
  const { type: _, properties, ...rest } = merged
  const named = isRecord(properties) ? properties : {}
  // A required key that has no schema of its own is one that a model must hear of.
  const unnamed = strings(rest["required"]).filter((name) => !Object.hasOwn(named, name))
  const { additionalProperties: others, patternProperties } = rest
  const unnamedSchema = isRecord(others) && patternProperties === undefined ? others : {}
  return {
    type: "object",
    properties:
      others === false
        ? named
        : fromEntries([...Object.entries(named), ...unnamed.map((name) => [name, unnamedSchema] as const)]),
    ...rest
  }
}

/** Undefined for what is met by no object. */
const objectOf = (schema: Node): Node | undefined => {
  if (Combine.isNever(schema) || !Combine.typesOf(schema).includes("object")) return undefined
  const base = without(schema, ["allOf", "anyOf", "oneOf", "enum", "const", "type"])
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"]] : undefined
  if (values !== undefined && !values.some(isRecord)) return undefined
  let merged: Node = withNote({ type: "object", ...base }, noteOf(schema, ["enum", "const"]))
  for (const member of nodes(schema["allOf"])) {
    const object = objectOf(member)
    if (object === undefined) return undefined
    merged = Combine.intersect(merged, object)
  }
  for (const key of ["anyOf", "oneOf"]) {
    if (schema[key] === undefined) continue
    const members = nodes(schema[key]).flatMap((member): ReadonlyArray<Node> => {
      const object = objectOf(member)
      return object === undefined ? [] : [object]
    })
    if (members.length === 0) return undefined
    merged = Combine.intersect(merged, Combine.union(members))
  }
  return merged
}
