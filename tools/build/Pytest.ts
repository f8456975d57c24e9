/**
 * Failures that `pytest` tells: each has a section with its traceback, in the long
 * form or the short one, and a line in the summary. A failure that has a section
 * with a place is told there; of others the summary is all there is.
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"
import { isLibrary } from "./Python.ts"

const title = /^={3,} (.+) ={3,}$/
const total = /^\d+ (?:failed|passed|error|skipped|deselected|xfailed|warning)/
const explained = /^E {1,}(.*)$/
const syntax = /^File "([^"]+)", line (\d+)/
const place = /^((?:[A-Za-z]:)?[^:\s][^:]*):(\d+)(?:: ?(.*))?$/
const summary = /^(?:FAILED|ERROR) (\S.*)$/
const exception = /^[A-Za-z_][\w.]*$/

interface Place {
  readonly file: string
  readonly line: string
}

/** Failures that are known again in the summary. */
const maxLocated = 10_000

/**
 * @category models
 * @since 0.1.0
 */
export class Pytest implements Family {
  private part: "other" | "failures" | "summary" = "other"
  /** Of the section: the failing test, or the file that could not be collected. */
  private name = ""
  private explanation: string | undefined
  private place: Place | undefined
  /** It is where a syntax error says it is; what follows is source. */
  private inSyntaxError = false
  private readonly located = new Set<string>()

  read(line: string, report: Report): boolean {
    if (line.startsWith("===")) {
      const named = title.exec(line)?.[1]
      if (named !== undefined) {
        this.close(report)
        this.part =
          named === "FAILURES" || named === "ERRORS"
            ? "failures"
            : named === "short test summary info"
              ? "summary"
              : "other"
        return true
      }
    }
    if (this.part === "other") return false
    if (total.test(line)) {
      this.close(report)
      this.part = "other"
      return true
    }
    if (this.part === "summary") return this.readSummary(line, report)
    this.readSection(line, report)
    return true
  }

  end(report: Report): void {
    this.close(report)
  }

  private readSection(line: string, report: Report): void {
    if (line.startsWith("___")) {
      this.close(report)
      this.name = between(line).replace(/^ERROR (?:collecting|at setup of|at teardown of) /, "")
      return
    }
    const text = explained.exec(line)?.[1]
    if (text !== undefined) {
      const found = syntax.exec(text.trim())
      if (found !== null) {
        this.place = { file: found[1]!, line: found[2]! }
        this.inSyntaxError = true
      } else if (this.inSyntaxError) {
        if (/^\w*Error: /.test(text)) this.explanation = text
      } else this.explanation ??= text.trim()
      return
    }
    const found = place.exec(line)
    if (found === null) return
    const [, file = "", row = "", rest = ""] = found
    // Anything may be a file that has a colon and a number behind it: the source that is shown is indented, mostly.
    if (!/\.\w+$/.test(file) && !file.startsWith("<")) return
    if (!isLibrary(file) && !this.inSyntaxError) this.place = { file, line: row }
    // The last frame of the long form says what was raised there.
    if (exception.test(rest)) {
      const { explanation } = this
      this.explanation =
        explanation === undefined ? rest : explanation.startsWith(rest) ? explanation : `${rest}: ${explanation}`
      this.tell(report)
    }
  }

  private readSummary(line: string, report: Report): boolean {
    const id = summary.exec(line)?.[1]
    if (id === undefined) return false
    const dash = id.indexOf(" - ")
    const [file = "", ...names] = (dash < 0 ? id : id.slice(0, dash)).split("::")
    if (!this.located.has(names.length === 0 ? file : names.join("."))) {
      const test = names.join("::")
      const why = dash < 0 ? (test === "" ? "could not be collected" : "failed") : id.slice(dash + 3)
      report({ file, severity: "error", message: test === "" ? why : `${test}: ${why}`, source: "pytest" })
    }
    return true
  }

  /** The section has ended. */
  private close(report: Report): void {
    if (this.explanation !== undefined && this.place !== undefined) this.tell(report)
    this.name = ""
    this.explanation = this.place = undefined
    this.inSyntaxError = false
  }

  private tell(report: Report): void {
    const { explanation = "", name, place } = this
    if (place === undefined) return
    if (this.located.size < maxLocated) this.located.add(name)
    report({ file: place.file, ...at(place.line), severity: "error", message: explanation, source: "pytest" })
    this.explanation = undefined
    this.inSyntaxError = false
  }
}

/** The text between two runs of underscores. */
const between = (line: string): string => {
  let from = 0
  let to = line.length
  while (line[from] === "_") from++
  while (to > from && line[to - 1] === "_") to--
  return line.slice(from, to).trim()
}
