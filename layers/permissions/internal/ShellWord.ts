/**
 * Words as the shell hands them to a program, as far as that is known without running it.
 */
import type * as Bash from "unbash"
import type { Word } from "../ShellCommand.ts"

type Bash_Word = Extract<Bash.SyntaxNode, { readonly type: "Word" }>
type WordPart = NonNullable<Bash_Word["parts"]>[number]

export const literal = (value: string): Word => ({ _tag: "Literal", value })

export const opened = (word: Word): Word => (word._tag === "Unknown" ? { _tag: "Open", text: word.text } : word)

/** How it looks: the value, or the source of what has none. */
export const show = (word: Word): string => (word._tag === "Literal" ? quote(word.value) : word.text)

const quote = (value: string): string =>
  /^[\w@%+=:,./{}[\]-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`

/** A home directory in place of a tilde begins with a slash. */
const tilde = /^~|[=:]~/

/** What a part of a word contributes. */
type Piece =
  | { readonly _tag: "Text"; readonly value: string; readonly quoted: boolean }
  | { readonly _tag: "Glob" }
  | { readonly _tag: "Unknown"; readonly why: string }

export const fromSyntax = (word: Bash_Word): Word => {
  const pieces = word.parts === undefined ? [plain(word.text, word.value)] : word.parts.map(piece)
  const unknown = pieces.find((piece) => piece._tag === "Unknown")
  if (unknown !== undefined) return { _tag: "Unknown", text: word.text, why: unknown.why }
  const glob = pieces.findIndex((piece) => piece._tag === "Glob")
  const texts = pieces.flatMap((piece) => (piece._tag === "Text" ? [piece] : []))
  if (glob < 0)
    return texts.some(({ quoted, value }) => !quoted && tilde.test(value))
      ? { _tag: "Open", text: word.text }
      : literal(texts.map(({ value }) => value).join(""))
  const first = pieces
    .slice(0, glob)
    .map((piece) => (piece._tag === "Text" ? piece.value : ""))
    .join("")
  return first === "" || first.startsWith("-")
    ? { _tag: "Unknown", text: word.text, why: "the pattern may match a name that is an option; begin it with ./" }
    : { _tag: "Open", text: word.text }
}

/** An escaped tilde is none, but is taken for one: it makes the word less known, never more. */
const plain = (text: string, value: string): Piece => ({ _tag: "Text", value, quoted: !tilde.test(text) })

const unknown = (why: string): Piece => ({ _tag: "Unknown", why })

const piece = (part: WordPart): Piece => {
  switch (part.type) {
    case "Literal":
      return plain(part.text, part.value)
    case "SingleQuoted":
      return { _tag: "Text", value: part.value, quoted: true }
    case "AnsiCQuoted":
      // A NUL cuts the word in bash, and bytes above 0x7f need not be characters.
      return /^[\t\n\x20-\x7e]*$/.test(part.value) && !/\\(?:0|x0|c|u|U|x\{)/.test(part.text)
        ? { _tag: "Text", value: part.value, quoted: true }
        : unknown("it is written in codes")
    case "DoubleQuoted": {
      const pieces = part.parts.map(piece)
      const known = pieces.flatMap((piece) => (piece._tag === "Text" ? [piece.value] : []))
      return known.length === pieces.length
        ? { _tag: "Text", value: known.join(""), quoted: true }
        : (pieces.find((piece) => piece._tag === "Unknown") ?? unknown("it is expanded"))
    }
    case "Glob":
      return { _tag: "Glob" }
    case "LocaleString":
      return unknown("it is translated")
    case "SimpleExpansion":
    case "ParameterExpansion":
      return unknown("it depends on a variable")
    case "CommandExpansion":
      return unknown("it is what a command prints")
    case "ArithmeticExpansion":
      return unknown("it is computed")
    case "ProcessSubstitution":
      return unknown("it is a file that a command writes or reads")
    case "ExtendedGlob":
    case "BraceExpansion":
      return unknown("it is expanded to several words")
  }
}
