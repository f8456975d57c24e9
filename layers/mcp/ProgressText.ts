/**
 * Progress in the form of MCP: a number that rises, and a line for people.
 *
 * **Source** MCP 2026-07-28, basic/utilities/progress: `progress` MUST rise with each
 * notification, `message` SHOULD be human readable.
 *
 * @since 0.1.0
 */
import * as PlainText from "../../src/PlainText.ts"

/**
 * What `notifications/progress` says, but for the token.
 *
 * @category models
 * @since 0.1.0
 */
export interface Shown {
  readonly progress: number
  readonly total?: number | undefined
  readonly message: string
}

/** UTF-16 code units of a message. More is not read in the moment that it is shown. */
const maxUnits = 1000

/**
 * One value after another. A value that has a number `progress` of its own (and a `total`, and a `message`) is taken by
 * its word, as long as it rises; other values are counted from 1.
 *
 * @category models
 * @since 0.1.0
 */
export class Progress {
  private last = -Infinity
  private count = 0

  next(value: unknown): Shown {
    this.count++
    const { message, progress, total } = record(value)
    const own = typeof progress === "number" && Number.isFinite(progress) ? progress : undefined
    const wanted = own ?? this.count
    this.last = wanted > this.last ? wanted : above(this.last)
    return {
      progress: this.last,
      ...(own !== undefined && typeof total === "number" && Number.isFinite(total) ? { total } : {}),
      message: own !== undefined && typeof message === "string" ? lineOf(message) : textOf(value)
    }
  }
}

/** A number that is a little higher. */
const above = (n: number): number => n + (Math.abs(n) + 1) * 2 ** -40

/** Text that somebody wrote is shown as it is, the end of it if it is long. */
const textOf = (value: unknown): string => {
  if (typeof value === "string") return lineOf(value)
  const { line, message, stream, text } = record(value)
  if (stream === "stdout" || stream === "stderr") {
    if (typeof text === "string") return lineOf(text)
    if (typeof line === "string") return lineOf(line)
  }
  if (typeof message === "string") return lineOf(message)
  const fields = Object.entries(record(value)).map(([name, field]) => fieldOf(name, field))
  return lineOf(fields.length === 0 ? json(value) : fields.filter((field) => field !== undefined).join(", "))
}

/** Of what is large its size is told. */
const fieldOf = (name: string, field: unknown): string | undefined => {
  if (Array.isArray(field)) return `${field.length} ${name}`
  return typeof field === "object" ? undefined : `${name} ${json(field)}`
}

const json = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

/** Plain, without the newline at its end. Of what is long the end is left: it is the newest. */
const lineOf = (text: string): string => {
  const shown = text.replace(/[\r\n]+$/, "")
  return PlainText.make(shown.length <= maxUnits ? shown : `…${shown.slice(1 - maxUnits)}`)
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}
