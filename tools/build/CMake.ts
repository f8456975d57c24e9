/**
 * Diagnostics of CMake: a head that says where, and the message below, indented.
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"

const head = /^CMake (Error|Warning|Deprecation Warning)(?: \(dev\))? at ([^:]+):(\d+)(?: \(\w+\))?:$/

/**
 * @category models
 * @since 0.1.0
 */
export class CMake implements Family {
  read(line: string, report: Report): boolean {
    const found = head.exec(line)
    if (found === null) return false
    const [, kind, file = "", row] = found
    report(
      { file, ...at(row), severity: kind === "Error" ? "error" : "warning", message: "", source: "cmake" },
      (next) => (next === "" || next.startsWith("  ") ? next.trim() : undefined)
    )
    return true
  }

  end(): void {}
}
