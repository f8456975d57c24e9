/**
 * JSON in one form for one value, and its hash.
 *
 * @since 0.1.0
 */
import * as Sha256 from "./Sha256.ts"

/** Keys sorted by code units, no blanks: two values that are equal give the same text. */
export const stringify = (value: unknown): string =>
  JSON.stringify(value, (_key, item) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : item
  ) ?? "null"

/** SHA-256 of the canonical text, in hex. */
export const sha256 = (value: unknown): string => Sha256.hex(stringify(value))
