/**
 * Random text that cannot be guessed and is short enough to be read and copied by
 * a model: 65 bits in 13 letters and digits, none of which looks like another.
 *
 * **Source** The alphabet is Crockford's base 32, in lower case.
 *
 * @since 0.1.0
 */

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

/** @internal */
export const make = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(13)), (byte) => alphabet[byte & 31]).join("")
