/**
 * Text that arrives in pieces, made fit to be shown as it comes.
 *
 * @since 0.1.0
 */
import * as PlainText from "../../src/PlainText.ts"

/** UTF-16 code units of an unfinished line that wait for its end. A longer line is shown in parts. */
const maxWaiting = 4096

/**
 * The text of one stream. A carriage return ends a line, as a newline does: what a
 * progress bar draws over itself is shown below each other.
 *
 * @category models
 * @since 0.1.0
 */
export class LiveText {
  /** Something has been shown. */
  used = false
  /** Nothing stands on the current line. */
  atLineStart = true
  private waiting = ""
  private afterReturn = false

  /** What can be shown of it now: all of it. */
  write(text: string): string {
    if (text === "") return ""
    this.used = true
    const joined = this.afterReturn && text.startsWith("\n") ? text.slice(1) : text
    this.afterReturn = text.endsWith("\r")
    const shown = PlainText.make(joined.replace(/\r\n?/g, "\n"))
    if (shown !== "") this.atLineStart = shown.endsWith("\n")
    return shown
  }

  /** As `write`, but only of lines that have ended. */
  writeLines(text: string): string {
    this.waiting += this.write(text)
    const end = this.waiting.lastIndexOf("\n") + 1
    if (end === 0 && this.waiting.length > maxWaiting) return this.endLines()
    const lines = this.waiting.slice(0, end)
    this.waiting = this.waiting.slice(end)
    return lines
  }

  /** Ends the line that waits. */
  endLines(): string {
    const rest = this.waiting
    this.waiting = ""
    return rest === "" ? "" : `${rest}\n`
  }
}
