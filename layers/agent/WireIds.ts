/**
 * The ids and names that go over the wire: providers refuse a conversation in which an
 * id occurs twice, or in which a model once called a tool by an odd name.
 *
 * @since 0.1.0
 */
import { type Call, callsOf, type History } from "./History.ts"

/** What all providers take. */
const allowed = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * An id for each call of the history, by its `callId`: the provider's own, unless it has been used before in this
 * history, or would not be taken. Then it is the `callId`. It stays the same when the history grows.
 *
 * @category converting
 * @since 0.1.0
 */
export const make = (history: History): ReadonlyMap<string, string> => {
  const used = new Set<string>()
  const ids = new Map<string, string>()
  for (const { callId, id } of history.flatMap(callsOf)) {
    const own = allowed.test(id) && !used.has(id) ? id : callId
    used.add(own)
    ids.set(callId, own)
  }
  return ids
}

/**
 * The name of a call as it can be sent back.
 *
 * @category converting
 * @since 0.1.0
 */
export const nameOf = ({ name }: Call): string =>
  allowed.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 64) || "unknown"

/**
 * The parameters of a call as an object: those that are none are sent back as one without keys.
 *
 * @category converting
 * @since 0.1.0
 */
export const parametersOf = ({ text, truncated }: Call): Readonly<Record<string, unknown>> => {
  if (truncated === true) return {}
  try {
    const value: unknown = JSON.parse(text.toWellFormed())
    return typeof value === "object" && value !== null && !Array.isArray(value) ? wellFormed(value) : {}
  } catch {
    return {}
  }
}

/** Escapes in the text may hold halves of characters, which no provider takes. */
const wellFormed = (value: object): Readonly<Record<string, unknown>> => {
  const text = JSON.stringify(value)
  return /\\ud[89a-f]/i.test(text)
    ? JSON.parse(text, (_, part: unknown) => (typeof part === "string" ? part.toWellFormed() : part))
    : { ...value }
}
