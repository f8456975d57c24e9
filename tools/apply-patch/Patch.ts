/**
 * The text of a patch, read: which files it adds, deletes and updates, and how.
 *
 * A patch is accepted whole, or refused whole with the number of the line at
 * fault. Line numbers are those of the text as it was given, wrappers included.
 *
 * What is forgiven, because nothing can be lost by it: white space around markers
 * and headers, CRLF, a byte order mark, a heredoc or a code fence around the patch,
 * prose before and after it. What is not: a line without its prefix, a patch
 * without an end (it may be cut off), and a second patch after the first.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"

/**
 * One line of a hunk, or of a new file.
 *
 * @category models
 * @since 0.1.0
 */
export interface Line {
  readonly kind: "context" | "added" | "removed"
  /** Without prefix and terminator. */
  readonly text: string
}

/**
 * The text after `@@`: a line of the file that stands before the hunk.
 *
 * @category models
 * @since 0.1.0
 */
export interface Anchor {
  readonly text: string
  /** Of the patch, from 1. */
  readonly line: number
}

/**
 * Lines that stand together in the file, and what becomes of them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Hunk {
  /** Of the patch, from 1. */
  readonly line: number
  /** Each stands after the one before. */
  readonly anchors: ReadonlyArray<Anchor>
  readonly lines: ReadonlyArray<Line>
  readonly endOfFile: boolean
  /** Its last added line ends the file, and without a newline. */
  readonly bare: boolean
}

/**
 * @category models
 * @since 0.1.0
 */
export type Operation =
  | {
      readonly _tag: "Add"
      readonly path: string
      readonly line: number
      readonly lines: ReadonlyArray<string>
      /** The last line has no newline. */
      readonly bare: boolean
    }
  | { readonly _tag: "Delete"; readonly path: string; readonly line: number }
  | {
      readonly _tag: "Update"
      readonly path: string
      readonly line: number
      readonly moveTo: string | undefined
      /** None for a file that only moves. */
      readonly hunks: ReadonlyArray<Hunk>
    }

/**
 * Why a text is no patch.
 *
 * @category models
 * @since 0.1.0
 */
export interface Problem {
  /** From 1. */
  readonly line: number
  readonly message: string
}

const begin = "*** Begin Patch"
const end = "*** End Patch"
const endOfFile = "*** End of File"

/** Of a unified diff. Its numbers are ignored: models count badly, and the lines say where. */
const numbered = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/

const header = /^\*\*\* (Add|Delete|Update) File:(.*)$/
const move = /^\*\*\* Move to:(.*)$/

/** As `diff` and git say it. */
const noNewline = /^\\ No newline at end of file\s*$/

/**
 * Reads a patch. Never throws.
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (text: string): Result.Result<ReadonlyArray<Operation>, Problem> => {
  const lines = text.replace(/^\ufeff/, "").split("\n")
  return new Parser(lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line))).parse()
}

class Parser {
  private readonly lines: ReadonlyArray<string>
  /** Index of the line to be read next. */
  private at = 0
  /** Index of the end marker. */
  private end = 0
  private problem: Problem | undefined

  constructor(lines: ReadonlyArray<string>) {
    this.lines = lines
  }

  parse(): Result.Result<ReadonlyArray<Operation>, Problem> {
    const operations: Array<Operation> = []
    this.findBounds()
    while (this.problem === undefined && this.skipBlank()) {
      const operation = this.operation()
      if (operation !== undefined) operations.push(operation)
    }
    if (this.problem === undefined && operations.length === 0)
      this.fail(this.end, "the patch is empty: it names no file")
    return this.problem === undefined ? Result.succeed(operations) : Result.fail(this.problem)
  }

  private fail(index: number, message: string): undefined {
    this.problem ??= { line: index + 1, message }
  }

  private findBounds(): void {
    const { lines } = this
    const first = lines.findIndex((line) => line.trim() === begin)
    if (first < 0) {
      const at = lines.findIndex((line) => line.trim() !== "")
      const diff = lines.findIndex((line) => /^(?:diff --git |--- (?:a\/|\/)|\+\+\+ )/.test(line))
      if (diff >= 0) return this.fail(diff, `this is a unified diff; a patch starts with ${begin}`)
      return this.fail(Math.max(at, 0), `a patch starts with the line ${begin}, and there is none`)
    }
    const before = lines.findIndex((line, index) => index < first && isMarker(line))
    if (before >= 0) return this.fail(before, `${quote(lines[before]!)} stands before ${begin}`)
    this.at = first + 1
    // Padded, it could be a line of context: then it is the end only if nothing follows but what closes a wrapper.
    const bare = lines.findIndex((line, index) => index > first && line.trimEnd() === end)
    const padded = lines.findLastIndex((line, index) => index > first && line.trim() === end)
    this.end = bare >= 0 ? bare : padded >= 0 && this.closes(padded + 1, first) ? padded : -1
    if (this.end < 0 && padded >= 0) {
      return this.fail(padded, `${quote(lines[padded]!)} is indented like a line of context, and more follows it`)
    }
    if (this.end < 0) {
      return this.fail(lastFilled(lines), `the patch has no ${end}, so it may be cut off. Send all of it`)
    }
    const after = lines.findIndex(
      (line, index) => index > this.end && line.trimEnd() !== end && (isMarker(line) || /^@@(?: |$)/.test(line))
    )
    if (after >= 0) this.fail(after, `${quote(lines[after]!)} stands after ${end}. Put all files into one patch`)
  }

  /** Whether all that follows is blank, a fence, or the word that ends a heredoc. */
  private closes(from: number, first: number): boolean {
    const words = this.lines.slice(0, first).flatMap((line) => /<<-?\s*(["']?)([\w.-]+)\1/.exec(line)?.[2] ?? [])
    return this.lines.slice(from).every((line) => {
      const text = line.trim()
      return text === "" || /^(?:`{3,}|~{3,})$/.test(text) || words.includes(text)
    })
  }

  /** Whether there is more. */
  private skipBlank(): boolean {
    while (this.at < this.end && this.lines[this.at]!.trim() === "") this.at++
    return this.at < this.end
  }

  private operation(): Operation | undefined {
    const index = this.at++
    const line = this.lines[index]!.trim()
    const [, kind, rest] = header.exec(line) ?? []
    if (kind === undefined || rest === undefined) {
      const known = "*** Add File: PATH, *** Update File: PATH or *** Delete File: PATH"
      return this.fail(index, `${quote(line)} is not the header of a file: expected ${known}`)
    }
    const path = this.path(index, rest)
    if (path === undefined) return undefined
    switch (kind) {
      case "Add":
        return this.add(path, index)
      case "Delete":
        return this.remove(path, index)
      default:
        return this.update(path, index)
    }
  }

  /** One space belongs to the header, and those at the end are padding. Any other belongs to the name. */
  private path(index: number, rest: string): string | undefined {
    const path = rest.startsWith(" ") ? rest.slice(1) : rest
    return path.trim() === "" ? this.fail(index, "the path is missing") : path
  }

  private add(path: string, index: number): Operation | undefined {
    const lines: Array<string> = []
    while (this.at < this.end && this.lines[this.at]!.startsWith("+")) lines.push(this.lines[this.at++]!.slice(1))
    const bare = this.at < this.end && noNewline.test(this.lines[this.at]!)
    if (bare) this.at++
    const blank = this.at
    const next = this.skipBlank() ? this.lines[this.at]! : undefined
    if (next?.startsWith("+") && !bare) return this.fail(blank, "an empty line of a new file is written as a + alone")
    if (next !== undefined && !header.test(next.trim())) {
      return this.fail(this.at, `${quote(next)}: each line of a new file starts with +`)
    }
    return { _tag: "Add", path, line: index + 1, lines, bare: bare && lines.length > 0 }
  }

  private remove(path: string, index: number): Operation | undefined {
    const next = this.skipBlank() ? this.lines[this.at]! : undefined
    return next === undefined || header.test(next.trim())
      ? { _tag: "Delete", path, line: index + 1 }
      : this.fail(this.at, `${quote(next)}: nothing but another header follows *** Delete File`)
  }

  private update(path: string, index: number): Operation | undefined {
    const [, rest] = (this.at < this.end && move.exec(this.lines[this.at]!.trim())) || []
    const moveTo = rest === undefined ? undefined : this.path(this.at++, rest)
    const hunks: Array<Hunk> = []
    while (this.problem === undefined && this.skipBlank() && !isMarker(this.lines[this.at]!)) {
      const hunk = this.hunk(hunks.length === 0)
      if (hunk !== undefined) hunks.push(hunk)
    }
    if (this.problem !== undefined) return undefined
    if (hunks.length === 0 && moveTo === undefined) {
      return this.fail(index, `the update of ${path} has no hunk: say what to change, or delete the file`)
    }
    return { _tag: "Update", path, line: index + 1, moveTo, hunks }
  }

  private hunk(first: boolean): Hunk | undefined {
    const index = this.at
    const anchors: Array<Anchor> = []
    let unanchored = false
    for (; this.at < this.end && this.lines[this.at]!.startsWith("@@"); this.at++) {
      const line = this.lines[this.at]!
      const text = line.slice(2).trim()
      if (numbered.test(line)) unanchored = true
      else if (text !== "")
        anchors.push({ text: line.startsWith("@@ ") ? line.slice(3) : line.slice(2), line: this.at + 1 })
    }
    if (this.at === index && !first) {
      return this.fail(
        index,
        `${quote(this.lines[index]!)}: another hunk starts with @@, and a line of a hunk with " ", + or -`
      )
    }
    const lines: Array<Line> = []
    let endsFile = false
    let bare = false
    for (; this.at < this.end; this.at++) {
      const line = this.lines[this.at]!
      if (line.startsWith("@@") || (isMarker(line) && line.trimEnd() !== endOfFile)) break
      if (line.trimEnd() === endOfFile) {
        endsFile = true
        this.at++
        break
      }
      if (noNewline.test(line)) {
        if (lines.length === 0) return this.fail(this.at, "there is no line before that has no newline")
        bare = lines.at(-1)!.kind === "added"
        continue
      }
      const kind = line === "" ? "context" : kinds.get(line[0]!)
      if (kind === undefined) {
        return this.fail(
          this.at,
          `${quote(line)} has no prefix: a line of a hunk starts with " " (kept), + (added) or - (removed)`
        )
      }
      if (bare && kind !== "removed") return this.fail(this.at, "it follows a line that is to end the file")
      lines.push({ kind, text: line.slice(1) })
    }
    const changes = lines.some((line) => line.kind !== "context" || line.text !== "")
    if (!changes) return this.fail(index, "the hunk has no lines")
    if (unanchored && anchors.length === 0 && lines.every((line) => line.kind === "added")) {
      return this.fail(
        index,
        "line numbers are not used: give the lines around the added ones, or the line before as @@ TEXT"
      )
    }
    return { line: index + 1, anchors, lines, endOfFile: endsFile || bare, bare }
  }
}

const kinds = new Map<string, Line["kind"]>([
  [" ", "context"],
  ["+", "added"],
  ["-", "removed"]
])

const isMarker = (line: string): boolean => line.startsWith("*** ")

const lastFilled = (lines: ReadonlyArray<string>): number =>
  Math.max(
    lines.findLastIndex((line) => line.trim() !== ""),
    0
  )

/** A line as it is quoted in a message: enough to find it. */
const quote = (line: string): string => `\`${line.length > 80 ? `${line.slice(0, 80)}…` : line}\``
