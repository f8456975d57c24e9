/**
 * Arguments by which a program runs others, or writes to files, although a rule that
 * allows the program by a wildcard was not meant to allow that.
 *
 * The table is of programs that people do allow by a wildcard. It cannot be complete: whoever allows a program trusts it.
 */
import type { Word } from "../ShellCommand.ts"
import { consoles, interpreters, type Program, programs, runners } from "./ProgramTable.ts"

/** `python3.12` is python. */
const family = (program: string) => {
  const name = program.replace(/(?<=[a-z])-?\d[\d.]*$/i, "")
  return interpreters.has(program) || programs.has(program) || runners.has(program) ? program : name
}

/** Why nothing that the arguments say tells what is run. */
export const reads = (program: string, words: ReadonlyArray<Word>): string | undefined => {
  const name = family(program)
  if (consoles.has(name)) return "it takes commands from its standard input"
  if (!interpreters.has(name)) return undefined
  const operand = words.some((word) => word._tag !== "Literal" || !word.value.startsWith("-"))
  const asked =
    words.length > 0 &&
    words.every((word) => word._tag === "Literal" && /^(?:-[vV]|--version|--help|-h)$/.test(word.value))
  const stdin = words.some(
    (word) => word._tag === "Literal" && /^(?:-|\/dev\/(?:stdin|fd\/.*)|\/proc\/.*\/fd\/.*)$/.test(word.value)
  )
  return asked || (operand && !stdin) ? undefined : "it may read a program from its standard input"
}

/** The positions of arguments that only a rule that spells them out allows. */
export const spelled = (program: string, words: ReadonlyArray<Word>): ReadonlySet<number> => {
  const name = family(program)
  const all = new Set(words.keys())
  if (runners.has(name)) return all
  if (interpreters.has(name)) return ofInterpreter(words, all)
  if (name === "sed" || name === "gsed") return ofSed(words)
  const known = programs.get(name)
  if (known === undefined) return new Set()
  const operand = words.findIndex((word) => word._tag !== "Literal" || !word.value.startsWith("-"))
  const before = known.before === undefined ? 0 : operand < 0 ? words.length : operand
  return new Set(
    words.flatMap((word, index) => {
      if (word._tag !== "Literal") return []
      const early = index < before && known.before?.includes(word.value) === false
      return early || runs(known, word.value, letters(known, words[operand])) ? [index] : []
    })
  )
}

const letters = (program: Program, subcommand: Word | undefined): string => {
  const { short = "", under = {} } = program
  return subcommand?._tag === "Literal" && Object.hasOwn(under, subcommand.value)
    ? short + under[subcommand.value]
    : short
}

const runs = (program: Program, value: string, letters: string): boolean => {
  if (program.form?.test(value) || program.words?.includes(value)) return true
  if (value.startsWith("--")) {
    const [name = ""] = value.split("=", 1)
    return name.length > 2 && (program.long?.some((long) => long.startsWith(name)) ?? false)
  }
  return value.startsWith("-") && [...letters].some((letter) => value.includes(letter))
}

/** With an option before it, the program cannot be told from an option's value. */
const ofInterpreter = (words: ReadonlyArray<Word>, all: ReadonlySet<number>): ReadonlySet<number> => {
  const [first] = words
  if (first?._tag !== "Literal") return all
  if (!first.value.startsWith("-")) return new Set([0])
  return /^-[cme]$/.test(first.value) ? new Set([0, 1]) : all
}

/** `s/a/b/`, and what prints or deletes lines; no `e` or `w`, which run a command or write a file. */
const harmlessSed =
  /^(?:(?:\d+|\$|\/[^/\\\n]*\/)(?:,(?:\+?\d+|\$|\/[^/\\\n]*\/))?)?!?[pdqDP=]$|^s([/|,#:])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpiI\d]*$/

const ofSed = (words: ReadonlyArray<Word>): ReadonlySet<number> => {
  const unsafe = new Set<number>()
  let script = false
  for (const [index, word] of words.entries()) {
    if (word._tag !== "Literal") continue
    if (/^-[nErsuz]+$|^--(?:quiet|silent|regexp-extended)$/.test(word.value)) continue
    if (word.value.startsWith("-")) return new Set(words.keys())
    if (!script && !harmlessSed.test(word.value)) unsafe.add(index)
    script = true
  }
  return unsafe
}
