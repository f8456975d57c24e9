/**
 * What the readers of logs have in common. There is one for each family of tools
 * that write alike.
 *
 * Their patterns are run on the text of strangers: each is anchored at the start of
 * a line, and takes time linear in its length.
 *
 * @since 0.1.0
 */
import type { Diagnostic } from "./Diagnostics.ts"

/**
 * A diagnostic as the log has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Found extends Omit<Diagnostic, "file"> {
  /** As it was written. */
  readonly file: string
  /** What a relative `file` is relative to, where it is not the directory of the build. */
  readonly directory?: string
}

/**
 * Tells a diagnostic. `continues` is asked for the lines that follow, until it gives
 * undefined: "" for one that belongs to it and says nothing, else what is added to
 * the message.
 *
 * @category models
 * @since 0.1.0
 */
export type Report = (found: Found, continues?: (line: string) => string | undefined) => void

/**
 * @category models
 * @since 0.1.0
 */
export interface Family {
  /** Whether the line is one of its own: no other is asked then. */
  readonly read: (line: string, report: Report) => boolean
  /** The log has ended. */
  readonly end: (report: Report) => void
}

/**
 * The position in a diagnostic, where the log has one.
 *
 * @category converting
 * @since 0.1.0
 */
export const at = (
  line: string | undefined,
  column?: string
): { readonly line?: number; readonly column?: number } => ({
  ...(line === undefined ? {} : { line: numberOf(line) }),
  ...(column === undefined ? {} : { column: numberOf(column) })
})

/** More digits are no position of a file, and would be no integer that JSON carries. */
const numberOf = (digits: string): number => Number(digits.slice(0, 9))
