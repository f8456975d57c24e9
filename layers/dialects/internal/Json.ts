/**
 * JSON of unknown origin: asking what it is, how large it is, and quoting it.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "effect/JsonSchema"

export type Node = JsonSchema.JsonSchema

export const isRecord = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What has no keys of a prototype: `__proto__` is a property like any other. */
export const fromEntries = <A>(entries: Iterable<readonly [string, A]>): Record<string, A> =>
  Object.fromEntries(entries)

export const isEmpty = (node: Node): boolean => Object.keys(node).length === 0

export const without = (node: Node, keys: Iterable<string>): Node => {
  const dropped = new Set(keys)
  return fromEntries(Object.entries(node).filter(([key]) => !dropped.has(key)))
}

export const pick = (node: Node, keys: ReadonlySet<string>): Node =>
  fromEntries(Object.entries(node).filter(([key]) => keys.has(key)))

export const nodes = (value: unknown): ReadonlyArray<Node> => (Array.isArray(value) ? value.filter(isRecord) : [])

export const entriesOf = (value: unknown): ReadonlyArray<readonly [string, Node]> =>
  isRecord(value)
    ? Object.entries(value).flatMap(([key, child]): Array<readonly [string, Node]> =>
        isRecord(child) ? [[key, child]] : []
      )
    : []

export const strings = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : []

/**
 * Values nested deeper than this are not copied. `JSON.stringify` overflows its
 * stack at some thousands; a default or an enum member of a real tool has three.
 */
const maxValueDepth = 64

/** About the length of the JSON text; infinite for what is larger than the limit, or too deep. It does not recurse. */
export const sizeOf = (value: unknown, limit: number): number => {
  let size = 0
  const stack: Array<readonly [unknown, number]> = [[value, 0]]
  while (stack.length > 0) {
    const [item, depth] = stack.pop()!
    if (size > limit || depth > maxValueDepth) return Infinity
    if (typeof item === "string") size += item.length + 3
    else if (Array.isArray(item)) {
      size += item.length + 2
      if (size > limit) return Infinity
      for (const child of item) stack.push([child, depth + 1])
    } else if (isRecord(item)) {
      for (const key of Object.keys(item)) {
        size += key.length + 4
        if (size > limit) return Infinity
        stack.push([item[key], depth + 1])
      }
      size += 2
    } else size += 6
  }
  return size > limit ? Infinity : size
}

/** At most so many UTF-16 code units, without half a code point at the end. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…`

export const shown = (value: unknown, length = 60): string =>
  sizeOf(value, 10_000) === Infinity ? "…" : cut(JSON.stringify(value) ?? "", length)

export const same = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index]))
  }
  if (!isRecord(a) || !isRecord(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
}
