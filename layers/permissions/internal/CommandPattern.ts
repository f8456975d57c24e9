/**
 * Patterns of what a shell runs.
 *
 * - `git status *`: a command. `*` at the end, and `**` anywhere, are any number of arguments; `*` between others is
 *   one; within a word it is any text.
 * - `NAME=*`: a variable that is set.
 * - `> build/**`, `< secrets/**`: a file that the shell writes or reads.
 */
import * as Result from "effect/Result"
import type { Assignment, Command, Redirection, Word } from "../ShellCommand.ts"
import * as PathPattern from "./PathPattern.ts"
import { baseName, isSystem } from "./ProgramName.ts"

export type CommandPattern =
  | { readonly _tag: "Command"; readonly tokens: ReadonlyArray<Token> }
  | { readonly _tag: "Assignment"; readonly name: string; readonly value: Text }
  | { readonly _tag: "Redirection"; readonly kind: "read" | "write"; readonly path: PathPattern.PathPattern }

type Token = { readonly _tag: "Any" } | { readonly _tag: "One" } | Text

/** The texts between wildcards: a single one is what the word is. */
interface Text {
  readonly _tag: "Text"
  readonly pieces: readonly [string, ...ReadonlyArray<string>]
  readonly offset: number
}

const invalid = (offset: number, why: string) => Result.fail<PathPattern.Misplaced>({ offset, why })

export const parse = (text: string): Result.Result<CommandPattern, PathPattern.Misplaced> => {
  const redirection = /^\s*([<>])\s*/.exec(text)
  if (redirection !== null) {
    const offset = redirection[0].length
    return Result.mapBoth(PathPattern.parse(text.slice(offset).trimEnd()), {
      onFailure: (failure) => ({ ...failure, offset: failure.offset + offset }),
      onSuccess: (path): CommandPattern => ({
        _tag: "Redirection",
        kind: redirection[1] === "<" ? "read" : "write",
        path
      })
    })
  }
  return Result.flatMap(readWords(text), (words) => {
    const [first, second] = words
    if (first === undefined) return invalid(0, "it names no command; for every command write *")
    const [start, ...rest] = first.pieces
    const assigned = /^([A-Za-z_]\w*)=/.exec(start)
    if (assigned === null) return Result.succeed<CommandPattern>({ _tag: "Command", tokens: words.map(token) })
    return second === undefined
      ? Result.succeed<CommandPattern>({
          _tag: "Assignment",
          name: assigned[1] ?? "",
          value: { ...first, pieces: [start.slice(assigned[0].length), ...rest] }
        })
      : invalid(second.offset, "a variable and a command are two rules: write one for each")
  })
}

const token = (word: Text, index: number, words: ReadonlyArray<Text>): Token => {
  if (word.pieces.some((piece) => piece !== "")) return word
  switch (word.pieces.length) {
    case 1:
      return word
    case 2:
      return index === words.length - 1 ? { _tag: "Any" } : { _tag: "One" }
    default:
      return { _tag: "Any" }
  }
}

/** Words as in a shell, without what a shell would expand or run: a rule describes one command. */
const readWords = (text: string): Result.Result<ReadonlyArray<Text>, PathPattern.Misplaced> => {
  const words: Array<Text> = []
  let word: { readonly offset: number; readonly pieces: [string, ...Array<string>] } | undefined
  let quote: { readonly sign: string; readonly offset: number } | undefined
  const end = () => {
    if (word !== undefined) words.push({ _tag: "Text", ...word })
    word = undefined
  }
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (quote === undefined && /\s/.test(sign)) {
      end()
      continue
    }
    const current = (word ??= { offset: at, pieces: [""] })
    const add = (letter: string) => current.pieces.push(`${current.pieces.pop() ?? ""}${letter}`)
    if (quote !== undefined) {
      if (sign === quote.sign) quote = undefined
      else if (sign === "\\" && quote.sign === '"' && /["\\]/.test(text[at + 1] ?? "")) add(text[++at]!)
      else add(sign)
    } else if (sign === "'" || sign === '"') quote = { sign, offset: at }
    else if (sign === "\\") {
      const escaped = text[++at]
      if (escaped === undefined) return invalid(at - 1, 'nothing follows the "\\"')
      add(escaped)
    } else if (sign === "*") current.pieces.push("")
    else if (/[;&|<>()$`]/.test(sign))
      return invalid(at, `"${sign}" stands for itself only in quotes; a rule describes one command, write one for each`)
    else add(sign)
  }
  if (quote !== undefined) return invalid(quote.offset, "the quote is not closed")
  end()
  return Result.succeed(words)
}

const isText = ({ pieces }: Text, text: string, fold: boolean): boolean => {
  const [value, ...parts] = fold ? [text, ...pieces].map(PathPattern.folded) : [text, ...pieces]
  if (value === undefined) return false
  const last = parts.at(-1) ?? ""
  if (parts.length === 1) return value === last
  const first = parts[0] ?? ""
  if (!value.startsWith(first) || !value.endsWith(last) || value.length < first.length + last.length) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = value.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= value.length - last.length
}

const isLiteral = (token: Token): boolean => token._tag === "Text" && token.pieces.length === 1

/**
 * How a pattern is compared.
 *
 * - `every`: for an allow. Nothing that is not literal is matched by more than a wildcard, no spelled argument by
 *   less than itself.
 * - `some`: for a deny. Options between what the pattern says do not help.
 * - `possible`: as `some`, and what is open may be anything.
 */
export type Strictness = "every" | "some" | "possible"

export const matchesAssignment = (name: string, value: Text, assignment: Assignment, how: Strictness): boolean => {
  if (assignment.name !== name) return false
  if (assignment.value !== undefined) return isText(value, assignment.value, false)
  return how === "possible" || (value.pieces.length > 1 && value.pieces.every((piece) => piece === ""))
}

export const matchesRedirection = (
  kind: "read" | "write",
  path: PathPattern.PathPattern,
  redirection: Redirection,
  resolved: string | undefined,
  places: PathPattern.Places,
  how: Strictness
): boolean => {
  if (redirection.kind !== kind && !(redirection.kind === "network" && how !== "every")) return false
  if (resolved === undefined || !PathPattern.isResolved(resolved)) return how === "possible"
  return PathPattern.matches(path, resolved, places, { fold: how !== "every" })
}

export const matchesCommand = (tokens: ReadonlyArray<Token>, command: Command, how: Strictness): boolean => {
  const states = command.arguments.reduce<States>(
    (states, word, index) => step(tokens, states, how, argument(word, command.spelled.has(index), how)),
    step(tokens, closed(tokens, new Set([0])), how, program(command, how))
  )
  return states.has(2 * tokens.length)
}

/** Twice the position in the pattern, plus one if the next word is the value of an option that was skipped. */
type States = ReadonlySet<number>

/** What is compared with a token. */
interface Item {
  readonly matches: (token: Text) => boolean
  /** Whether a wildcard for whole words takes it. */
  readonly wild: boolean
  /** It may be any number of words. */
  readonly open: boolean
  /** It can be passed over, and the next word with it. */
  readonly skips: "no" | "itself" | "next"
}

const step = (tokens: ReadonlyArray<Token>, states: States, how: Strictness, item: Item): States => {
  const next = new Set<number>()
  for (const state of states) {
    const at = state >> 1
    if (state % 2 === 1) {
      next.add(state - 1)
      continue
    }
    const token = tokens[at]
    if (how === "possible" && item.open) for (let to = at; to <= tokens.length; to++) next.add(2 * to)
    if (token === undefined) continue
    if (token._tag === "Any" && item.wild) next.add(state)
    if (token._tag === "One" && item.wild) next.add(state + 2)
    if (token._tag === "Text" && item.matches(token)) next.add(state + 2)
    if (item.skips !== "no") next.add(state)
    if (item.skips === "next") next.add(state + 1)
  }
  return closed(tokens, next)
}

const closed = (tokens: ReadonlyArray<Token>, states: ReadonlySet<number>): States => {
  const all = new Set(states)
  for (const state of all) if (state % 2 === 0 && tokens[state >> 1]?._tag === "Any") all.add(state + 2)
  return all
}

const program = ({ program }: Command, how: Strictness): Item => {
  const bare = program.slice(program.lastIndexOf("/") + 1)
  return {
    // A deny of `/bin/rm` is one of `rm`: nobody knows which one is found first.
    matches:
      how === "every"
        ? (token) => isText(token, program, false) || (isSystem(program) && isText(token, bare, false))
        : (token) =>
            isText(isLiteral(token) ? named(token) : token, baseName(program), true) || isText(token, program, true),
    wild: true,
    open: false,
    skips: "no"
  }
}

const named = (text: Text): Text => ({ ...text, pieces: [baseName(text.pieces[0])] })

const argument = (word: Word, spelled: boolean, how: Strictness): Item => {
  if (word._tag !== "Literal")
    return {
      matches: () => false,
      wild: how !== "every" || (word._tag === "Open" && !spelled),
      open: true,
      skips: "no"
    }
  return {
    matches: (token) => isText(token, word.value, false) && (how !== "every" || !spelled || isLiteral(token)),
    wild: how !== "every" || !spelled,
    open: false,
    skips: how === "every" || !word.value.startsWith("-") ? "no" : word.value.includes("=") ? "itself" : "next"
  }
}
