/**
 * Diagnostics of the Go compiler and of `go vet`: `./main.go:5:2: undefined: x`,
 * and what a failing test logs.
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"

const diagnostic = /^(?:vet: )?([^\s:]*(?:\.go|go\.mod)):(\d+)(?::(\d+))?: (.*)$/
const logged = /^ +([^\s:]*_test\.go):(\d+): (.*)$/

/**
 * @category models
 * @since 0.1.0
 */
export class Go implements Family {
  /** In what a failing test has logged. */
  private failing = false

  read(line: string, report: Report): boolean {
    if (/^\s*--- /.test(line)) this.failing = /^\s*--- FAIL/.test(line)
    else if (/^(?:FAIL|ok|PASS)\b/.test(line)) this.failing = false
    if (!line.includes(".go:") && !line.includes("go.mod:")) return false
    const found = diagnostic.exec(line)
    if (found !== null) {
      const [, file = "", row, column, message = ""] = found
      if (message === "too many errors") return true
      report(
        { file, ...at(row, column), severity: "error", message, source: "go" },
        // What it has, and what it wants.
        (next) => (next.startsWith("\t") ? next.trim() : undefined)
      )
      return true
    }
    const log = this.failing ? logged.exec(line) : null
    if (log === null) return false
    const [, file = "", row, message = ""] = log
    report({ file, ...at(row), severity: "error", message, source: "go" }, (next) =>
      /^ {8}\S/.test(next) ? next.trim() : undefined
    )
    return true
  }

  end(): void {}
}
