/**
 * Where in a JSON Schema there are schemas, and where there is data that only looks
 * like one: `properties.description` is a schema, `default.description` is not.
 *
 * @since 0.1.0
 */

/**
 * A schema that is not a boolean.
 *
 * @category models
 * @since 0.1.0
 */
export interface Node {
  readonly [keyword: string]: unknown
}

/**
 * @category guards
 * @since 0.1.0
 */
export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Of draft-07 and of 2020-12. `items` and `dependencies` are read by what they hold. */
const kinds: ReadonlyMap<string, "one" | "named"> = new Map([
  ...[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties"
  ].map((keyword) => [keyword, "one"] as const),
  ...["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"].map(
    (keyword) => [keyword, "named"] as const
  )
])

/**
 * Replaces the schemas directly under a schema. `path` leads from it to the child.
 * A key `__proto__` is a key as any other, here and in the result.
 *
 * @category combinators
 * @since 0.1.0
 */
export const mapChildren = (
  node: Node,
  f: (child: unknown, path: readonly [keyword: string, key?: string]) => unknown
): Node =>
  Object.fromEntries(
    Object.entries(node).map(([keyword, value]) => {
      const kind = kinds.get(keyword)
      if (kind === "one") {
        return [
          keyword,
          Array.isArray(value) ? value.map((item, index) => f(item, [keyword, String(index)])) : f(value, [keyword])
        ]
      }
      if (kind === "named" && isNode(value)) {
        return [
          keyword,
          Object.fromEntries(
            // The old `dependencies` hold lists of names beside schemas.
            Object.entries(value).map(([key, item]) => [key, Array.isArray(item) ? item : f(item, [keyword, key])])
          )
        ]
      }
      return [keyword, value]
    })
  )

/**
 * A step of a JSON Pointer in the form of a fragment: `#/properties/a`.
 *
 * @category converting
 * @since 0.1.0
 */
export const pointer = (at: string, path: ReadonlyArray<string | undefined>): string =>
  path.reduce<string>(
    (text, key) => (key === undefined ? text : `${text}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
    at
  )
