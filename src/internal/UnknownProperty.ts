/**
 * What is said of a property that a tool does not know.
 *
 * @since 0.1.0
 */
import * as Similarity from "../Similarity.ts"

/**
 * Names the property that was meant, if it can be told, and those there are.
 *
 * @internal
 */
export const unknownProperty = (name: string, known: ReadonlyArray<string>): string => {
  if (known.length === 0) return "is not known; no properties are"
  const meant = Similarity.meant(name, known)
  const all = known.join(", ")
  return meant === undefined
    ? `is not known; there are ${all}`
    : `is not known; did you mean ${meant}? There are ${all}`
}
