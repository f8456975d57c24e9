/**
 * What the shell itself does with the arguments of a command, and programs that take command lines.
 */
import type { Word } from "../ShellCommand.ts"

/** Command lines that a program runs. */
export interface Nested {
  readonly commands: ReadonlyArray<ReadonlyArray<Word>>
  readonly scripts: ReadonlyArray<string>
  readonly shell: "bash" | "posix"
  readonly transparent: boolean
  /** The commands are run in another directory. */
  readonly moves: boolean
  readonly notLiteral: string | undefined
}

const nothing: Nested = {
  commands: [],
  scripts: [],
  shell: "bash",
  transparent: false,
  moves: false,
  notLiteral: undefined
}

/** They print or ignore their arguments, whatever these are. */
const indifferent = new Set(["echo", "true", "false", ":"])

export const ignoresArguments = (word: Word | undefined): boolean =>
  word?._tag === "Literal" && indifferent.has(word.value)

const moving = new Set(["cd", "pushd", "popd"])

export const moves = (program: string): boolean => moving.has(program)

/** Variables that say how to print, and no program takes as a path or a command. */
const harmless = new Set([
  "CI",
  "CLICOLOR",
  "CLICOLOR_FORCE",
  "COLUMNS",
  "FORCE_COLOR",
  "LANG",
  "LC_ALL",
  "LC_COLLATE",
  "LC_CTYPE",
  "LC_MESSAGES",
  "LC_NUMERIC",
  "LC_TIME",
  "LINES",
  "NODE_ENV",
  "NO_COLOR",
  "RUST_BACKTRACE",
  "TZ"
])

/**
 * Who sees a variable: one command, every command after it, the shell alone unless the name was exported before, or the
 * shell from its start on and every command.
 */
export type Scope = "command" | "exported" | "shell" | "start"

/**
 * Names in lower case without an underscore are those of scripts: no program looks for them in its environment. For
 * the rest of the line even the language is not harmless, because the shell reads by it.
 */
export const isHarmless = (name: string, scope: Scope): boolean => {
  switch (scope) {
    case "shell":
      return /^[a-z]+$/.test(name) && name !== "histchars"
    case "command":
      return harmless.has(name)
    case "start":
      return harmless.has(name) && !/^L(?:ANG|C_)/.test(name)
    case "exported":
      return false
  }
}

const changesNames = "it changes what the names of commands mean"
const setsVariables = "it sets variables to what is not known"

const notLiteral = new Map<string, string>([
  ["alias", changesNames],
  ["unalias", changesNames],
  ["shopt", changesNames],
  ["enable", changesNames],
  ["hash", changesNames],
  ["bind", "it runs commands on keys"],
  ["complete", "it runs commands to complete words"],
  ["compgen", "it runs commands to complete words"],
  ["compopt", "it runs commands to complete words"],
  ["fc", "it runs commands of the past"],
  ["history", "it reads and writes commands of the past"],
  ["getopts", setsVariables],
  ["let", "to compute a variable may run what the variable says"],
  ["mapfile", setsVariables],
  ["read", setsVariables],
  ["readarray", setsVariables],
  ["unset", setsVariables],
  ["source", "it runs a file"],
  [".", "it runs a file"]
])

const literals = (words: ReadonlyArray<Word>): ReadonlyArray<string> =>
  words.flatMap((word) => (word._tag === "Literal" ? [word.value] : []))

/** Whether the builtin does more than its arguments say. */
export const whyNotLiteral = (program: string, words: ReadonlyArray<Word>): string | undefined => {
  const why = notLiteral.get(program)
  if (why !== undefined) return why
  const values = literals(words)
  switch (program) {
    case "declare":
    case "export":
    case "local":
    case "readonly":
    case "typeset":
      return values.length < words.length || values.some((value) => !/^(?:-[xrgp]+|\w+)$/.test(value))
        ? setsVariables
        : undefined
    case "set":
      return values.some((value) => !/^(?:[-+][euxo]+|pipefail|errexit|nounset|xtrace)$/.test(value))
        ? changesNames
        : undefined
    case "printf":
      return values[0]?.startsWith("-v") ? setsVariables : undefined
    case "test":
    case "[":
      return values.some((value) => value === "-v" || value === "-R")
        ? "to look at a variable may run what its index says"
        : undefined
    case "wait":
      return values.some((value) => value.startsWith("-")) ? setsVariables : undefined
    case "jobs":
      return values.some((value) => value.startsWith("-x")) ? "it runs a command" : undefined
    default:
      return undefined
  }
}

/** Shells by whether what they read is the grammar that is read here. */
const shells: Readonly<Record<string, "bash" | "posix" | "other">> = {
  bash: "bash",
  sh: "posix",
  dash: "posix",
  ash: "posix",
  rbash: "other",
  ksh: "other",
  mksh: "other",
  zsh: "other",
  fish: "other",
  csh: "other",
  tcsh: "other"
}

/** The command lines among the arguments, or `undefined` for a program that takes none. */
export const nested = (program: string, words: ReadonlyArray<Word>): Nested | undefined => {
  if (Object.hasOwn(shells, program)) return ofShell(program, shells[program]!, words)
  switch (program) {
    case "eval":
      return joined(words, "bash", "eval")
    case "watch":
      return ofWatch(words)
    case "trap":
      return ofTrap(words)
    case "find":
    case "gfind":
      return ofFind(words)
    default:
      return undefined
  }
}

/** Words that are joined to a command line, and read once more. */
const joined = (words: ReadonlyArray<Word>, shell: "bash" | "posix", program: string): Nested => {
  const values = literals(words)
  return values.length < words.length
    ? { ...nothing, notLiteral: `${program} is given what is not literal` }
    : { ...nothing, scripts: [values.join(" ")], shell, transparent: true }
}

const ofShell = (program: string, kind: "bash" | "posix" | "other", words: ReadonlyArray<Word>): Nested | undefined => {
  const state: { command: boolean; odd: string | undefined; at: number } = { command: false, odd: undefined, at: 0 }
  for (; state.at < words.length; state.at++) {
    const word = words[state.at]!
    if (word._tag !== "Literal") break
    if (word.value === "--") {
      state.at++
      break
    }
    if (!/^[-+]./.test(word.value)) break
    if (/^-[a-zA-Z]*c[a-zA-Z]*$/.test(word.value)) state.command = true
    if (word.value === "-o" || word.value === "+o") state.at++
    else if (!/^-[ceuxnv]+$/.test(word.value)) state.odd = word.value
  }
  // It reads a file or its standard input: that is for who knows interpreters.
  if (!state.command) return undefined
  const script = words[state.at]
  if (script?._tag !== "Literal") return { ...nothing, notLiteral: `the command line of ${program} is not literal` }
  return {
    ...nothing,
    scripts: [script.value],
    shell: kind === "bash" ? "bash" : "posix",
    transparent: true,
    notLiteral:
      kind === "other"
        ? `${program} is not read here`
        : state.odd === undefined
          ? undefined
          : `its option ${state.odd} may make it run more`
  }
}

const ofWatch = (words: ReadonlyArray<Word>): Nested => {
  const state = { at: 0, odd: false, direct: false }
  for (; state.at < words.length; state.at++) {
    const word = words[state.at]!
    if (word._tag !== "Literal" || !word.value.startsWith("-")) break
    if (word.value === "-n" || word.value === "--interval") state.at++
    else if (word.value === "-x" || word.value === "--exec") state.direct = true
    else if (!/^-[bcdegtpw]+$|^-n[\d.]+$/.test(word.value)) state.odd = true
  }
  const command = words.slice(state.at)
  const nested = state.direct ? { ...nothing, commands: [command] } : joined(command, "posix", "watch")
  return {
    ...nested,
    transparent: !state.odd,
    notLiteral: state.odd ? "it has an option that is not known" : nested.notLiteral
  }
}

/** `trap CODE SIGNAL`, `trap - SIGNAL`, `trap -p`. */
const ofTrap = (words: ReadonlyArray<Word>): Nested => {
  const [first, second] = words
  if (first === undefined || (first._tag === "Literal" && /^-[lp]?$/.test(first.value))) return nothing
  const code = first._tag === "Literal" && first.value === "--" ? second : first
  return joined(code === undefined ? [] : [code], "bash", "trap")
}

/** What `find` runs for each file. `{}` is a path that begins with one of its starting points: no option. */
const ofFind = (words: ReadonlyArray<Word>): Nested => {
  const commands: Array<ReadonlyArray<Word>> = []
  const open = words.find((word) => word._tag === "Unknown")
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word._tag !== "Literal" || !/^-(?:exec|execdir|ok|okdir)$/.test(word.value)) continue
    const rest = words.slice(at + 1)
    const end = rest.findIndex(
      (word, index) =>
        word._tag === "Literal" && (word.value === ";" || (word.value === "+" && isBraces(rest[index - 1])))
    )
    const command = rest.slice(0, end < 0 ? rest.length : end)
    commands.push(command.map(filled))
    at += command.length
  }
  return {
    ...nothing,
    commands,
    moves: words.some((word) => word._tag === "Literal" && /^-(?:exec|ok)dir$/.test(word.value)),
    notLiteral: open?._tag === "Unknown" ? `the argument ${open.text} of find is not literal: ${open.why}` : undefined
  }
}

const isBraces = (word: Word | undefined): boolean => word?._tag === "Literal" && word.value === "{}"

const filled = (word: Word): Word =>
  word._tag === "Literal" && word.value.includes("{}")
    ? word.value === "{}"
      ? { _tag: "Open", text: "{}" }
      : { _tag: "Unknown", text: word.value, why: "find puts a path into it" }
    : word
