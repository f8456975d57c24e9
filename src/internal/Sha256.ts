/**
 * SHA-256 of text.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Of the text in UTF-8, in hex. */
export const hex = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
  )
