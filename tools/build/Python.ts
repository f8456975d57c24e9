/**
 * Tracebacks of Python, syntax errors included: the place is that of the innermost
 * frame that is not of a library.
 *
 * @since 0.1.0
 */
import { at, type Family, type Report } from "./Family.ts"

const frame = /^\s*File "([^"]+)", line (\d+)/
const exception = /^[A-Za-z_][\w.]*(?:: .*)?$/

/**
 * Whether a file is of the language or of an installed package, not of the project.
 *
 * @category models
 * @since 0.1.0
 */
export const isLibrary = (file: string): boolean =>
  file.startsWith("<") || /[\\/](?:site-packages|lib[\\/]python)/.test(file)

/**
 * @category models
 * @since 0.1.0
 */
export class Python implements Family {
  private place: { readonly file: string; readonly line: string } | undefined

  read(line: string, report: Report): boolean {
    const found = frame.exec(line)
    if (found !== null) {
      const [, file = "", row = ""] = found
      if (this.place === undefined || !isLibrary(file) || isLibrary(this.place.file)) this.place = { file, line: row }
      return true
    }
    const { place } = this
    if (place === undefined) return false
    // The source, and what points into it.
    if (/^(?:\s|$)/.test(line)) return true
    this.place = undefined
    if (!exception.test(line)) return false
    report({ file: place.file, ...at(place.line), severity: "error", message: line, source: "python" })
    return true
  }

  end(): void {}
}
