/**
 * Characters that a model writes in place of others, because they look the same.
 *
 * The set is that of the reference implementation of `apply_patch`: dashes, quotes
 * and spaces. An ellipsis is not three dots, and nothing else is folded: characters
 * that only resemble each other (a Cyrillic а) are different on purpose.
 *
 * @since 0.1.0
 */

const dashes = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
const singleQuotes = "\u2018\u2019\u201a\u201b"
const doubleQuotes = "\u201c\u201d\u201e\u201f"
const spaces = "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"

const ascii = new Map<string, string>(
  (
    [
      [dashes, "-"],
      [singleQuotes, "'"],
      [doubleQuotes, '"'],
      [spaces, " "]
    ] as const
  ).flatMap(([characters, plain]) => Array.from(characters, (character) => [character, plain] as const))
)

const any = new RegExp(`[${dashes}${singleQuotes}${doubleQuotes}${spaces}]`, "g")

/**
 * The text with each lookalike in its ASCII form. Its length in UTF-16 code units
 * stays the same, so positions in the one are positions in the other.
 *
 * @category converting
 * @since 0.1.0
 */
export const fold = (text: string): string => text.replace(any, (character) => ascii.get(character)!)
