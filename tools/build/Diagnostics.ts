/**
 * What the log of a build says is wrong, and where.
 *
 * **Laws**
 *
 * - It is read line by line, in time linear in the line, whatever is in it; state
 *   is bounded.
 * - Each diagnostic is told once, however often the log repeats it, and all are
 *   counted; the first ones are kept, errors before the others.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as PlainText from "../../src/PlainText.ts"
import { CMake } from "./CMake.ts"
import { Eslint } from "./Eslint.ts"
import { Gcc } from "./Gcc.ts"
import { Go } from "./Go.ts"
import { Make } from "./Make.ts"
import type { Family, Found, Report } from "./Family.ts"
import { Pytest } from "./Pytest.ts"
import { Python } from "./Python.ts"
import { Rust } from "./Rust.ts"
import { TypeScript } from "./TypeScript.ts"

/**
 * @category models
 * @since 0.1.0
 */
export const Diagnostic = Schema.Struct({
  file: Schema.String.annotate({ description: "Relative to the workspace where it lies inside, else absolute." }),
  line: Schema.optionalKey(Schema.Natural).annotate({
    description: "From 1. Absent where the tool names none, as linkers do."
  }),
  column: Schema.optionalKey(Schema.Natural).annotate({ description: "As the tool counts." }),
  severity: Schema.Literals(["error", "warning", "note"]),
  code: Schema.optionalKey(Schema.String).annotate({ description: "Such as TS2322, E0308, -Wunused-variable." }),
  message: Schema.String,
  source: Schema.Literals(["tsc", "eslint", "rustc", "go", "gcc", "ld", "cmake", "make", "python", "pytest"]).annotate({
    description: "The form in which it was written: gcc stands for clang and others, too."
  })
})
export type Diagnostic = typeof Diagnostic.Type

/** Diagnostics that are kept. A model corrects a few at a time; more only fill its context. */
export const maxKept = 200

/** Diagnostics that are known again. More than that of one build are counted, and told twice if they come twice. */
const maxKnown = 10_000

/** UTF-16 code units of a message, and lines that are added to it: types that do not fit are explained at length. */
const maxMessage = 1_000
const maxContinued = 5

interface Kept {
  readonly order: number
  readonly found: Found
}

/** What `continues` says of the lines that follow, until it says no. */
interface Draft {
  found: Found
  readonly continues: (line: string) => string | undefined
  lines: number
}

/**
 * @category models
 * @since 0.1.0
 */
export class Diagnostics {
  readonly counts = { error: 0, warning: 0, note: 0 }
  private readonly families: ReadonlyArray<Family> = [
    // Those first that know from what went before that a line is theirs.
    new Pytest(),
    new Python(),
    new TypeScript(),
    new Eslint(),
    new Rust(),
    new Go(),
    new Gcc(),
    new CMake(),
    new Make()
  ]
  private readonly known = new Set<string>()
  private readonly errors: Array<Kept> = []
  private readonly others: Array<Kept> = []
  private draft: Draft | undefined
  /** Where `make` is: those that it enters. */
  private readonly directories: Array<string> = []

  /** Takes the next line of the log, blank ones included. */
  read(line: string): void {
    const { draft } = this
    if (draft !== undefined) {
      const more = draft.continues(line)
      if (more !== undefined) {
        if (more !== "" && draft.lines++ < maxContinued) {
          const { message } = draft.found
          draft.found = { ...draft.found, message: message === "" ? more : `${message}\n${more}` }
        }
        return
      }
      this.close()
    }
    if (this.moves(line)) return
    for (const family of this.families) if (family.read(line, this.report)) return
  }

  /** The log has ended. */
  end(): void {
    this.close()
    for (const family of this.families) family.end(this.report)
    this.close()
  }

  /** In the order of the log. */
  kept(): ReadonlyArray<Found> {
    const others = this.others.slice(0, maxKept - this.errors.length)
    return [...this.errors, ...others].toSorted((a, b) => a.order - b.order).map(({ found }) => found)
  }

  private readonly report: Report = (found, continues) => {
    this.close()
    const directory = found.directory ?? this.directories.at(-1)
    this.draft = {
      found: directory === undefined ? found : { ...found, directory },
      continues: continues ?? (() => undefined),
      lines: 0
    }
  }

  private close(): void {
    if (this.draft === undefined) return
    const { found } = this.draft
    this.draft = undefined
    const message = PlainText.take(found.message.trim(), maxMessage)
    const { code, column, directory, file, line, severity } = found
    const key = JSON.stringify([directory, file, line, column, severity, code, message])
    if (this.known.has(key)) return
    if (this.known.size < maxKnown) this.known.add(key)
    this.counts[severity]++
    const kept = severity === "error" ? this.errors : this.others
    const { error, note, warning } = this.counts
    if (kept.length < maxKept) kept.push({ order: error + note + warning, found: { ...found, message } })
  }

  /** Whether it says that `make` or `ninja` goes to another directory, or back. */
  private moves(line: string): boolean {
    const entered = /^(?:g?make(?:\[\d+\])?|ninja): Entering directory [`'"](.+)['"]$/.exec(line)?.[1]
    if (entered !== undefined) {
      if (this.directories.length < 100) this.directories.push(entered)
      return true
    }
    if (!/^g?make(?:\[\d+\])?: Leaving directory /.test(line)) return false
    this.directories.pop()
    return true
  }
}
