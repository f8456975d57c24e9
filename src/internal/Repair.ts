/**
 * The one rule by which arguments are forgiven, the same for every tool.
 *
 * Models send what means the same in another form. Where parameters do not decode,
 * and only there, these forms are read as what they mean, guided by the tool's own
 * JSON Schema; then they are decoded again, and what is still wrong is told:
 *
 * - no parameters, or null in their place: `{}`;
 * - null for an optional property that admits no null: the property is absent;
 * - a text of digits with an optional minus (`-?\d+`), where a number but no string
 *   is admitted: the number, if it is one that JSON keeps exactly;
 * - "true" or "false", where a boolean but no string is admitted: the boolean;
 * - a text of JSON, where an object or array but no string is admitted: that object
 *   or array. Once: what is inside of it is forgiven by the other rules alone.
 *
 * Nothing else is: not " 20", "1e3", "20.5", "yes", 1 for true, nor an object for a
 * list of one.
 *
 * @since 0.1.0
 */
import { below, type JsonType, type Node, requires, typesOf } from "./JsonSchemaNode.ts"
import { parse } from "./ParametersText.ts"

/**
 * The same value if there is nothing to forgive.
 *
 * @internal
 */
export const repair = (parameters: unknown, schema: Node): unknown =>
  parameters === undefined || parameters === null ? {} : at(parameters, schema, schema, true)

const at = (value: unknown, node: Node, root: Node, mayParse: boolean): unknown => {
  if (typeof value === "string") return ofText(value, node, root, mayParse)
  if (Array.isArray(value)) {
    const items = value.map((item, index) => at(item, below(node, index, root), root, mayParse))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  if (typeof value === "object" && value !== null) return ofObject(value, node, root, mayParse)
  return value
}

const ofObject = (value: object, node: Node, root: Node, mayParse: boolean): object => {
  let changed = false
  const entries: Array<[string, unknown]> = []
  for (const [key, item] of Object.entries(value)) {
    const child = below(node, key, root)
    if (item === null && !requires(node, key, root) && typesOf(child, root)?.has("null") === false) {
      changed = true
      continue
    }
    const repaired = at(item, child, root, mayParse)
    changed ||= repaired !== item
    entries.push([key, repaired])
  }
  // `fromEntries` defines: a key named `__proto__` stays a key.
  return changed ? Object.fromEntries(entries) : value
}

const ofText = (text: string, node: Node, root: Node, mayParse: boolean): unknown => {
  const types = typesOf(node, root)
  if (types === undefined || types.has("string")) return text
  const admits = (...wanted: ReadonlyArray<JsonType>) => wanted.some((type) => types.has(type))
  if (admits("number", "integer") && /^-?\d+$/.test(text)) {
    const number = Number(text)
    return Number.isSafeInteger(number) ? number : text
  }
  if (admits("boolean") && (text === "true" || text === "false")) return text === "true"
  if (mayParse && admits("object", "array") && /^\s*[[{]/.test(text)) {
    const { parameters } = parse(text)
    const type = Array.isArray(parameters) ? "array" : typeof parameters === "object" ? "object" : undefined
    return type !== undefined && admits(type) ? at(parameters, node, root, false) : text
  }
  return text
}
