/**
 * Diagnostics of `eslint`, and of those that write alike: its form "stylish", where
 * rows follow the name of their file, and its form "unix".
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"

const row = /^\s+(\d+):(\d+)\s+(error|warning)\s+(\S.*)$/
const unix = /^((?:[A-Za-z]:)?[^:\s][^:]*):(\d+):(\d+): (.*)$/
const rule = /^[\w@/.-]+$/

/**
 * @category models
 * @since 0.1.0
 */
export class Eslint implements Family {
  /** The last line that may be the name of a file. */
  private file: string | undefined

  read(line: string, report: Report): boolean {
    if (line.endsWith("]")) return this.readUnix(line, report)
    const first = line.charCodeAt(0)
    if (first !== 0x20 && first !== 0x09) {
      this.file = /[./\\]/.test(line) ? line : undefined
      return false
    }
    if (this.file === undefined) return false
    const found = row.exec(line)
    if (found === null) return false
    const [, at1, column, severity, rest = ""] = found
    // The rule stands in a column of its own. Not by a pattern: spaces before spaces are looked at over and over.
    const text = rest.trimEnd()
    const gap = text.lastIndexOf("  ")
    const code = gap < 0 ? "" : text.slice(gap + 2)
    const named = gap >= 0 && rule.test(code)
    report({
      file: this.file,
      ...at(at1, column),
      severity: severity === "warning" ? "warning" : "error",
      ...(named ? { code } : {}),
      message: named ? text.slice(0, gap) : text,
      source: "eslint"
    })
    return true
  }

  end(): void {}

  /** `a.js:1:7: 'x' is never used. [Error/no-unused-vars]` */
  private readUnix(line: string, report: Report): boolean {
    const from = Math.max(line.lastIndexOf(" [Error"), line.lastIndexOf(" [Warning"))
    if (from < 0) return false
    const [severity, ...name] = line.slice(from + 2, -1).split("/")
    const found = unix.exec(line.slice(0, from))
    if (found === null || (severity !== "Error" && severity !== "Warning")) return false
    const [, file = "", at1, column, message = ""] = found
    report({
      file,
      ...at(at1, column),
      severity: severity === "Warning" ? "warning" : "error",
      ...(name.length === 0 ? {} : { code: name.join("/") }),
      message,
      source: "eslint"
    })
    return true
  }
}
