/**
 * Parameters as text: JSON, of a depth that the decoders can walk.
 *
 * @since 0.1.0
 */

/** Levels of nesting. More overflows the stack of recursive decoders; no tool's parameters come near it. */
const maxDepth = 200

/** Code units of the text that an error quotes. More would put a model's mistake before its eyes twice. */
const quoted = 24

/** @internal */
export const parse = (text: string): { readonly parameters: unknown; readonly malformed?: string } => {
  if (text.trim() === "") return { parameters: {} }
  if (depth(text) > maxDepth) {
    return {
      parameters: undefined,
      malformed: `The JSON is nested more than ${maxDepth} levels deep. Send flat parameters.`
    }
  }
  try {
    return { parameters: JSON.parse(text) }
  } catch {
    return { parameters: undefined, malformed: complaint(text) }
  }
}

/** The brackets open at once outside of strings, at most: what is not JSON gets a number, too. */
const depth = (text: string): number => {
  let now = 0
  let most = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (inString) {
      if (code === 0x5c) i++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) most = Math.max(most, ++now)
    else if (code === 0x7d || code === 0x5d) now--
  }
  return most
}

const complaint = (text: string): string => {
  const trimmed = text.trim()
  const tail = trimmed.slice(-quoted).toWellFormed()
  return `Not valid JSON (${trimmed.length} code units, ending in ${JSON.stringify(tail)}). Send one complete JSON object.`
}
