/**
 * Patterns of paths: `*` and `?` within a name, `**` for any number of names. Matching takes time in proportion to
 * pattern times path, whatever they are.
 */
import * as Result from "effect/Result"

/** Where relative patterns and those with a tilde begin. Absolute, resolved, without a slash at the end. */
export interface Places {
  readonly workspace: string
  readonly home?: string | undefined
}

export interface PathPattern {
  readonly from: "root" | "workspace" | "home"
  readonly names: ReadonlyArray<Name>
}

type Name = { readonly _tag: "AnyNames" } | { readonly _tag: "Name"; readonly letters: ReadonlyArray<Letter> }

/** A code point, or a wildcard: no string is equal to a symbol. */
type Letter = string | typeof many | typeof one

const many = Symbol("*")
const one = Symbol("?")

export interface Misplaced {
  /** In UTF-16 code units from the start of the text. */
  readonly offset: number
  readonly why: string
}

const invalid = (offset: number, why: string) => Result.fail<Misplaced>({ offset, why })

export const parse = (text: string): Result.Result<PathPattern, Misplaced> => {
  if (text === "") return invalid(0, "the path is empty; for every path leave the parentheses out")
  const [from, start] = text.startsWith("~/")
    ? (["home", 2] as const)
    : text.startsWith("/")
      ? (["root", 1] as const)
      : (["workspace", 0] as const)
  const names: Array<Name> = []
  let at = start
  for (const source of text.slice(start).split("/")) {
    if (source === "")
      return invalid(
        at,
        text.endsWith("/")
          ? 'it ends with "/"; end it with "/**" for all that is beneath'
          : 'a name is empty: remove one "/"'
      )
    if (source === "." || source === "..")
      return invalid(at, `"${source}" matches nothing, because paths are resolved first; write the path itself`)
    if (source.startsWith("~")) return invalid(at, 'only "~/" at the start is the home directory')
    const name = readName(source)
    if (Result.isFailure(name)) return invalid(at + name.failure.offset, name.failure.why)
    names.push(name.success)
    at += source.length + 1
  }
  return Result.succeed({ from, names })
}

const readName = (source: string): Result.Result<Name, Misplaced> => {
  if (source === "**") return Result.succeed({ _tag: "AnyNames" })
  const letters: Array<Letter> = []
  const points = Array.from(source)
  let offset = 0
  for (let index = 0; index < points.length; index++) {
    const letter = points[index]!
    if (letter === "\\") {
      const escaped = points[++index]
      if (escaped === undefined) return invalid(offset, 'nothing follows the "\\"')
      letters.push(escaped)
      offset += escaped.length
    } else if (letter === "[" || letter === "{") {
      return invalid(
        offset,
        `"${letter}" is not a wildcard here; write one rule for each case, or "\\${letter}" for the sign itself`
      )
    } else if (letter === "*" && points[index + 1] === "*") {
      return invalid(offset, '"**" stands alone between slashes, as in src/**/*.ts')
    } else letters.push(letter === "*" ? many : letter === "?" ? one : letter)
    offset += letter.length
  }
  return Result.succeed({ _tag: "Name", letters })
}

/** How carefully names are compared: `fold` takes upper and lower case, and forms of one character, for the same. */
export interface Comparison {
  readonly fold: boolean
}

export const folded = (text: string): string => text.normalize("NFC").toLowerCase()

/** Whether it is a path as the system would resolve it. Of any other nothing is known. */
export const isResolved = (path: string): boolean =>
  path.startsWith("/") && !/\/(?:\.{0,2}(?:\/|$))/.test(path === "/" ? "" : path)

export const matches = (pattern: PathPattern, path: string, places: Places, how: Comparison): boolean =>
  run(pattern, path, places, how)?.has(length(pattern, places)) ?? false

/** Whether all beneath a path that matches does so, too. */
export const coversBelow = ({ names }: PathPattern): boolean => names.at(-1)?._tag === "AnyNames"

/** Whether something beneath the path may match. */
export const reachesBelow = (pattern: PathPattern, path: string, places: Places, how: Comparison): boolean => {
  const total = length(pattern, places)
  return [...(run(pattern, path, places, how) ?? [])].some((state) => state < total)
}

const plainNames = (path: string): ReadonlyArray<string> => path.split("/").filter((name) => name !== "")

/** From the root. A pattern of the home directory matches nothing where there is none. */
const whole = ({ from, names }: PathPattern, places: Places): ReadonlyArray<Name> | undefined => {
  const base = from === "root" ? "/" : from === "home" ? places.home : places.workspace
  return base === undefined
    ? undefined
    : [...plainNames(base).map((name): Name => ({ _tag: "Name", letters: Array.from(name) })), ...names]
}

const length = (pattern: PathPattern, places: Places): number => whole(pattern, places)?.length ?? -1

/** The positions in the pattern at which the path may have ended. */
const run = (pattern: PathPattern, path: string, places: Places, how: Comparison): ReadonlySet<number> | undefined => {
  const names = whole(pattern, places)
  if (names === undefined) return undefined
  const closed = (states: ReadonlySet<number>): ReadonlySet<number> => {
    const all = new Set(states)
    for (const state of all) if (names[state]?._tag === "AnyNames") all.add(state + 1)
    return all
  }
  return plainNames(path).reduce<ReadonlySet<number>>(
    (states, name) => {
      const next = new Set<number>()
      for (const state of states) {
        const expected = names[state]
        if (expected?._tag === "AnyNames") next.add(state)
        else if (expected !== undefined && matchesName(expected.letters, name, how)) next.add(state + 1)
      }
      return closed(next)
    },
    closed(new Set([0]))
  )
}

const matchesName = (letters: ReadonlyArray<Letter>, name: string, { fold }: Comparison): boolean =>
  fold
    ? matchesLetters(letters.flatMap(foldedLetter), Array.from(folded(name)))
    : matchesLetters(letters, Array.from(name))

const foldedLetter = (letter: Letter): ReadonlyArray<Letter> =>
  typeof letter === "string" ? Array.from(folded(letter)) : [letter]

/** Going back to the last `*` only is enough: an earlier one could not take more. */
const matchesLetters = (letters: ReadonlyArray<Letter>, name: ReadonlyArray<string>): boolean => {
  let [at, star, resume] = [0, -1, 0]
  for (let index = 0; index < name.length;) {
    const letter = letters[at]
    if (letter === many) {
      star = at++
      resume = index
    } else if (letter !== undefined && (letter === one || letter === name[index])) {
      at++
      index++
    } else if (star >= 0) {
      at = star + 1
      index = ++resume
    } else return false
  }
  return letters.slice(at).every((letter) => letter === many)
}
