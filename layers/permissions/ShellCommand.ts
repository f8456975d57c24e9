/**
 * What a command line would run, read with a parser and without running anything.
 *
 * **Contract**
 *
 * - `parts` holds every simple command, redirection and assignment that was found,
 *   wherever it stands: in lists, loops, substitutions, here-documents, and in what
 *   `env`, `xargs`, `find -exec`, `sh -c` and their like run.
 * - If `notLiteral` is empty, the line runs the commands of `parts` and no other, as
 *   far as the shell is concerned. What those programs do is theirs, except for
 *   arguments that are known to run programs or to write files, which are named (`spelled`).
 * - If it is not empty, the line may run more than `parts` says. What was found is
 *   still there, so that it can be denied.
 * - It neither throws nor waits, whatever the text; time and size are bounded.
 *
 * The grammar is that of bash without aliases, as `bash -c` has it. It assumes that the
 * environment of the shell is not hostile: `PATH`, `BASH_ENV`, exported functions.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import { walk } from "./internal/ShellWalk.ts"

/**
 * A word of a command line.
 *
 * - `Literal`: the program is given exactly this.
 * - `Open`: one or more words, all of which begin with something that is no option, such as `src/*.ts`.
 * - `Unknown`: nothing is known of what the program is given, not even how many words.
 *
 * @category models
 * @since 0.1.0
 */
export type Word =
  | { readonly _tag: "Literal"; readonly value: string }
  | { readonly _tag: "Open"; readonly text: string }
  | { readonly _tag: "Unknown"; readonly text: string; readonly why: string }

/**
 * A simple command.
 *
 * @category models
 * @since 0.1.0
 */
export interface Command {
  readonly _tag: "Command"
  /** The program as it was written, its quotes removed: `git`, `/usr/bin/git`, `./build.sh`. */
  readonly program: string
  readonly arguments: ReadonlyArray<Word>
  /** Positions among `arguments` of what runs other programs or writes files, as `-c` of git does. */
  readonly spelled: ReadonlySet<number>
  /** It only runs commands that are parts themselves, as `nohup` does, and changes nothing about them. */
  readonly transparent: boolean
  readonly text: string
}

/**
 * A file that the shell itself opens.
 *
 * @category models
 * @since 0.1.0
 */
export interface Redirection {
  readonly _tag: "Redirection"
  /** `network` is `/dev/tcp` and `/dev/udp`, which bash opens as connections. */
  readonly kind: "read" | "write" | "network"
  /** As it was written, its quotes removed: relative to the directory in which the shell starts. */
  readonly target: string
  readonly text: string
}

/**
 * A variable that is set for a command, for the rest of the line, or by `env`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Assignment {
  readonly _tag: "Assignment"
  readonly name: string
  /** `undefined` if it is not literal. */
  readonly value: string | undefined
  /** It changes how a command reports, not what it runs: `NO_COLOR=1 ls`. */
  readonly harmless: boolean
  readonly text: string
}

/**
 * @category models
 * @since 0.1.0
 */
export type Part = Command | Redirection | Assignment

/**
 * A piece of the line of which it is not known what it runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface NotLiteral {
  readonly text: string
  readonly why: string
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Analysis {
  readonly line: string
  readonly parts: ReadonlyArray<Part>
  readonly notLiteral: ReadonlyArray<NotLiteral>
}

/**
 * UTF-16 code units of a line that is read. More is a program, which nobody judges by its commands; less refuses
 * here-documents that write a file.
 */
const longest = 50_000

/**
 * Blanks that are not blanks to the shell, what changes the direction of text or is not seen at all: a person who is
 * asked would read another line than the one that runs.
 */
const deceptive = /[^\P{C}\n\t]|[^\P{Z} ]/u

/**
 * What a shell is started with. It is part of what is read, as if the line began with `cd` and `export`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Start {
  /** Where, if that is not where rules take relative names from. */
  readonly cwd?: string | undefined
  /** Variables that are set in addition. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

/**
 * Reads a command line.
 *
 * ```ts
 * analyse("timeout 5 git status > out.txt").parts.map(({ text }) => text)
 * // ["timeout 5 git status", "git status", "> out.txt"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const analyse = (line: string, start: Start = {}): Analysis => {
  if (line.length > longest)
    return opaque(line, `it has ${line.length} UTF-16 code units, at most ${longest} are read; put it in a script`)
  const found = Result.try({
    try: () => walk(line, start),
    // A parser that overflows its stack has not understood the line.
    catch: () => "it is nested too deeply to be read"
  })
  if (Result.isFailure(found)) return opaque(line, found.failure)
  const { parts, notLiteral } = found.success
  const hidden = deceptive.exec(line)
  return {
    line,
    parts,
    notLiteral:
      hidden === null
        ? notLiteral
        : [...notLiteral, { text: line, why: `it contains ${codePoint(hidden[0])}, which is not seen as what it is` }]
  }
}

const opaque = (line: string, why: string): Analysis => ({ line, parts: [], notLiteral: [{ text: line, why }] })

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`
