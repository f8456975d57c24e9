/**
 * Diagnostics of `make` about its own files: `Makefile:3: *** missing separator.`
 * That a recipe failed is none: the tool it ran says why.
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"

const diagnostic = /^([^:\s][^:]*):(\d+): (?:\*\*\* |(warning): )(.*)$/

/**
 * @category models
 * @since 0.1.0
 */
export class Make implements Family {
  read(line: string, report: Report): boolean {
    const found = diagnostic.exec(line)
    if (found === null) return false
    const [, file = "", row, warning, message = ""] = found
    report({
      file,
      ...at(row),
      severity: warning === undefined ? "error" : "warning",
      message: message.replace(/\. {2}Stop\.$/, "."),
      source: "make"
    })
    return true
  }

  end(): void {}
}
