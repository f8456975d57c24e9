/**
 * Text that is well-formed UTF-16.
 *
 * JSON can carry half of a surrogate pair; UTF-8 cannot. A file written with one
 * would silently hold something else, so such parameters are refused.
 *
 * @since 0.1.0
 */

/** @internal */
export const complaint = "is not well-formed text: it has half of a surrogate pair. Send the whole character"

type Path = ReadonlyArray<string | number>

/**
 * The path to the first text, key or value, that has a lone surrogate.
 *
 * @internal
 */
export const firstIllFormed = (value: unknown): Path | undefined => {
  if (typeof value === "string") return value.isWellFormed() ? undefined : []
  if (typeof value !== "object" || value === null) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = firstIllFormed(value[index])
      if (found !== undefined) return [index, ...found]
    }
    return undefined
  }
  for (const key in value) {
    if (!key.isWellFormed()) return [key.toWellFormed()]
    const found = firstIllFormed((value as Record<string, unknown>)[key])
    if (found !== undefined) return [key, ...found]
  }
  return undefined
}
