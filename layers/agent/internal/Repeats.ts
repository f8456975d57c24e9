/**
 * Whether a model does the same thing over and over.
 *
 * @since 0.1.0
 */
import type { AskedCall } from "../History.ts"

/** Counts responses in a row that ask for the same calls, in whatever order. */
export class Repeats {
  private signature = ""
  private times = 0

  /** How often the same has been asked for now. */
  count(calls: ReadonlyArray<AskedCall>): number {
    const signature = JSON.stringify(calls.map(({ name, text }) => `${name} ${canonical(text)}`).toSorted())
    this.times = signature === this.signature ? this.times + 1 : 1
    this.signature = signature
    return this.times
  }
}

/** The same for the same parameters, whatever the order of keys and the blanks between them. */
const canonical = (text: string): string => {
  const value = parsed(text)
  return value === undefined ? text.trim() : JSON.stringify(value, sorted)
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const sorted = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value
