/**
 * Diagnostics of `rustc`, as `cargo` shows them, and panics of programs and tests.
 * The short form is that of `Gcc`.
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"

const head = /^(error|warning|note|help)(?:\[(\w+)\])?: (.*)$/
const arrow = /^ *--> (.+):(\d+):(\d+)$/
const place = /^(.+):(\d+):(\d+):?$/

/**
 * @category models
 * @since 0.1.0
 */
export class Rust implements Family {
  /** The last line that may be the message of a place that follows. */
  private head: RegExpExecArray | undefined

  read(line: string, report: Report): boolean {
    if (line.startsWith("thread '")) return panicked(line, report)
    const { head: open } = this
    if (open !== undefined) {
      const found = arrow.exec(line)
      if (found !== null) {
        this.head = undefined
        const [, severity, code, message = ""] = open
        const [, file = "", row, column] = found
        report({
          file,
          ...at(row, column),
          severity: severity === "error" || severity === "warning" ? severity : "note",
          ...(code === undefined ? {} : { code }),
          message,
          source: "rustc"
        })
        return true
      }
      if (line.trim() === "") this.head = undefined
    }
    const found = head.exec(line)
    if (found !== null) this.head = found
    return false
  }

  end(): void {}
}

/** `thread 'main' panicked at src/main.rs:2:5:`, and its message below. */
const panicked = (line: string, report: Report): boolean => {
  const marker = "panicked at "
  const from = line.indexOf(marker)
  const found = from < 0 ? null : place.exec(line.slice(from + marker.length))
  if (found === null) return false
  const [, file = "", row, column] = found
  report({ file, ...at(row, column), severity: "error", message: "", source: "rustc" }, (next) =>
    next.trim() === "" || /^(?:note: |stack backtrace:|thread ')/.test(next) ? undefined : next.trim()
  )
  return true
}
