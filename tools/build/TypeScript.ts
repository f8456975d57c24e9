/**
 * Diagnostics of `tsc`, plain and pretty: `a.ts(1,7): error TS2322: …` and
 * `a.ts:1:7 - error TS2322: …`. Indented lines behind go on with the message.
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"

const plain = /^(\S.*?)\((\d+),(\d+)\): (error|warning) (TS\d+): (.*)$/
const pretty = /^(\S.*?):(\d+):(\d+) - (error|warning) (TS\d+): (.*)$/

/**
 * @category models
 * @since 0.1.0
 */
export class TypeScript implements Family {
  read(line: string, report: Report): boolean {
    // Few lines have it, and the patterns look at every colon.
    if (!line.includes(" TS")) return false
    const found = plain.exec(line) ?? pretty.exec(line)
    if (found === null) return false
    const [, file = "", row, column, severity, code = "", message = ""] = found
    report(
      {
        file,
        ...at(row, column),
        severity: severity === "warning" ? "warning" : "error",
        code,
        message,
        source: "tsc"
      },
      (next) => (/^ {2,}\S/.test(next) ? next.trim() : undefined)
    )
    return true
  }

  end(): void {}
}
