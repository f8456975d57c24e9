/** Rows for a terminal. */
import type { Measured } from "./race.ts"
import { inWords, number, reaches, spread } from "./words.ts"

const head = ["id", "ours", "theirs", "unit", "ours is", "quartiles", "floor", "", "goal", "against"]
const toTheLeft = new Set(["id", "unit", "", "against"])

const line = (measured: Measured): ReadonlyArray<string> => {
  const { row } = measured
  const { against, floor, goal, id, ours, theirs, unit } = row
  return [
    id,
    number(ours),
    number(theirs),
    unit,
    inWords(row, row.ratio),
    spread(measured),
    floor === null ? "" : inWords(row, floor),
    floor === null ? "" : reaches(row, floor) ? "holds" : "MISSED",
    goal === null ? "" : inWords(row, goal),
    against
  ]
}

export const toText = (measured: ReadonlyArray<Measured>): string => {
  const lines = [head, ...measured.map(line)]
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]!.length)))
  const pad = (cell: string, column: number) =>
    toTheLeft.has(head[column]!) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)
  return lines.map((cells) => cells.map(pad).join("  ").trimEnd()).join("\n")
}
