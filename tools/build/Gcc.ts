/**
 * Diagnostics in the form of gcc and clang, which many share: `a.c:3:5: error: …`.
 * With a code in brackets it is the short form of `rustc`. And those of the linker.
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"

const diagnostic =
  /^((?:[A-Za-z]:)?[^:\s][^:]*):(\d+)(?::(\d+))?: (fatal error|error|warning|note)(?:\[(\w+)\])?: (.*)$/
const linker =
  /^(?:[^:\s]*\bld(?:\.\w+)?: )?([^:\s][^:]*):(?:(\d+)|\([^()]*\)): ((?:undefined reference|multiple definition) .*)$/

/**
 * @category models
 * @since 0.1.0
 */
export class Gcc implements Family {
  read(line: string, report: Report): boolean {
    const found = diagnostic.exec(line)
    if (found !== null) {
      const [, file = "", row, column, severity = "", bracketed, message = ""] = found
      // A time of day, say.
      if (!/[A-Za-z]/.test(file)) return false
      const rust = bracketed !== undefined || file.endsWith(".rs")
      const flag = message.endsWith("]") ? message.lastIndexOf(" [-W") : -1
      const code = flag < 0 ? bracketed : message.slice(flag + 2, -1)
      report({
        file,
        ...at(row, column),
        severity: severity === "warning" || severity === "note" ? severity : "error",
        ...(code === undefined ? {} : { code }),
        message: flag < 0 ? message : message.slice(0, flag),
        source: rust ? "rustc" : "gcc"
      })
      return true
    }
    if (!line.includes("undefined reference") && !line.includes("multiple definition")) return false
    const [, file, row, message = ""] = linker.exec(line) ?? []
    if (file === undefined) return false
    report({ file, ...at(row), severity: "error", message, source: "ld" })
    return true
  }

  end(): void {}
}
