/**
 * Programs whose arguments are a command: how the command is found among them.
 */
import type { Word } from "../ShellCommand.ts"

/** What a program runs, taken out of its arguments. */
export interface Peeled {
  /** The command, empty if none is run. */
  readonly command: ReadonlyArray<Word>
  /** `NAME=value` before the command. */
  readonly assignments: ReadonlyArray<string>
  /** The command is run in another directory. */
  readonly moves: boolean
  /** Arguments are added that are not known. */
  readonly extended: boolean
  /** What could not be read of it. */
  readonly notLiteral: string | undefined
}

interface Wrapper {
  /** Options without a value: letters that may be joined, and names. */
  readonly flags?: string
  readonly longFlags?: ReadonlyArray<string>
  /** Options with a value, which is the rest of the word or the next one. */
  readonly values?: string
  readonly longValues?: ReadonlyArray<string>
  /** How many operands stand before the command. */
  readonly operands?: number
  /** A leading word that is an option of its own, such as `-10` of nice. */
  readonly also?: RegExp
  /** Takes `NAME=value` before the command. */
  readonly assigns?: boolean
  /** Options that make it run in another directory. */
  readonly moves?: ReadonlyArray<string>
  /** Options that make it print something and run nothing. */
  readonly queries?: string
  readonly extends?: boolean
  /** It changes nothing about the command: an allow of the command is enough. */
  readonly transparent?: boolean
}

const wrappers = new Map<string, Wrapper>(
  Object.entries({
    env: {
      flags: "i0v",
      longFlags: ["--ignore-environment", "--null", "--debug"],
      values: "uC",
      longValues: ["--unset", "--chdir"],
      moves: ["-C", "--chdir"],
      also: /^-$/,
      assigns: true,
      transparent: true
    },
    timeout: {
      flags: "vpf",
      longFlags: ["--foreground", "--preserve-status", "--verbose"],
      values: "ks",
      longValues: ["--kill-after", "--signal"],
      operands: 1,
      transparent: true
    },
    nice: { values: "n", longValues: ["--adjustment"], also: /^-\d+$/, transparent: true },
    ionice: { values: "cn", longValues: ["--class", "--classdata"], flags: "t", transparent: true },
    nohup: { transparent: true },
    setsid: { flags: "cfw", longFlags: ["--ctty", "--fork", "--wait"], transparent: true },
    stdbuf: { values: "ioe", longValues: ["--input", "--output", "--error"], transparent: true },
    time: { flags: "pvq", longFlags: ["--portability", "--verbose", "--quiet"], transparent: true },
    command: { flags: "p", queries: "vV", transparent: true },
    builtin: { transparent: true },
    exec: { flags: "cl", values: "a", transparent: true },
    busybox: { transparent: true },
    toybox: { transparent: true },
    sudo: {
      flags: "nkSbHEPA",
      longFlags: ["--non-interactive", "--stdin", "--background", "--set-home", "--preserve-env", "--askpass"],
      values: "ugphCD",
      longValues: ["--user", "--group", "--prompt", "--host", "--chdir"],
      moves: ["-D", "--chdir"],
      assigns: true
    },
    doas: { flags: "n", values: "u" },
    xargs: {
      flags: "0rtpxo",
      longFlags: ["--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--open-tty"],
      values: "nPILdasE",
      longValues: ["--max-args", "--max-procs", "--replace", "--max-lines", "--delimiter", "--arg-file", "--max-chars"],
      extends: true
    }
  } satisfies Record<string, Wrapper>)
)

export const find = (program: string): Wrapper | undefined => wrappers.get(program)

/** `NAME=value`, as env and sudo take it: the name may be anything. */
const assignment = /^[^=]+=/

export const peel = (wrapper: Wrapper, words: ReadonlyArray<Word>): Peeled => {
  const assignments: Array<string> = []
  let [at, operands, moves] = [0, wrapper.operands ?? 0, false]
  const done = (notLiteral?: string): Peeled => ({
    command: words.slice(at),
    assignments,
    moves,
    extended: wrapper.extends === true,
    notLiteral
  })
  for (; at < words.length; at++) {
    const word = words[at]!
    if (word._tag !== "Literal") return done(word._tag === "Unknown" ? word.why : "it is expanded")
    const { value } = word
    if (value === "--") {
      at++
      break
    }
    if (wrapper.also?.test(value)) continue
    if (!value.startsWith("-") || value === "-") break
    const option = readOption(wrapper, value)
    if (option === undefined) {
      // What follows may be its value: the command is looked for behind it, so that it can at least be denied.
      at++
      return done(`its option ${value} is not known`)
    }
    if (option.queries) return { ...done(), command: [] }
    moves ||= wrapper.moves?.includes(option.name) ?? false
    if (option.next) at++
  }
  for (; at < words.length; at++) {
    const word = words[at]!
    if (wrapper.assigns && word._tag === "Literal" && assignment.test(word.value)) assignments.push(word.value)
    else if (wrapper.assigns && word._tag !== "Literal") return done("it may set a variable")
    else if (operands > 0) operands--
    else break
  }
  return done()
}

/** `next`: its value is the next word. */
const readOption = (wrapper: Wrapper, value: string) => {
  if (value.startsWith("--")) {
    const [name = ""] = value.split("=", 1)
    if (wrapper.longValues?.includes(name)) return { name, next: name === value, queries: false }
    return name === value && wrapper.longFlags?.includes(name) ? { name, next: false, queries: false } : undefined
  }
  const letters = Array.from(value.slice(1))
  const index = letters.findIndex((letter) => !wrapper.flags?.includes(letter))
  if (index < 0) return { name: value, next: false, queries: false }
  const letter = letters[index]!
  if (wrapper.queries?.includes(letter)) return { name: value, next: false, queries: true }
  return wrapper.values?.includes(letter)
    ? { name: `-${letter}`, next: index === letters.length - 1, queries: false }
    : undefined
}
