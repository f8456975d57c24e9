/** Figures in words: the same in a terminal and on the page. */
import type { Measured, Row } from "./race.ts"

export const number = (value: number): string => {
  const size = Math.abs(value)
  if (size >= 100) return Math.round(value).toLocaleString("en-US")
  return value.toFixed(size >= 10 ? 1 : 2)
}

/** In powers of a thousand: `µs` of ns, `KB` of bytes. */
export const amount = (value: number, unit: "ns" | "bytes"): string => {
  const names = unit === "ns" ? ["ns", "µs", "ms", "s"] : ["bytes", "KB", "MB", "GB"]
  const step = Math.min(Math.max(Math.floor(Math.log10(Math.abs(value) || 1) / 3), 0), 3)
  return `${number(value / 1000 ** step)} ${names[step]}`
}

/** Whether it is a figure alone: what it is beside is one of its unit. */
export const isAbsolute = ({ against, lowerIsBetter }: Row): boolean =>
  lowerIsBetter && /^1 (byte|MB|ms)\b/.test(against)

const isMemory = ({ unit }: Row) => unit === "bytes" || unit === "MB"

/** How much slower, or larger: 2 is twice the time. */
export const cost = ({ lowerIsBetter, ratio }: Row): number => (lowerIsBetter ? ratio : 1 / ratio)

/** A ratio of the row, or a bar for it. */
export const inWords = (row: Row, ratio: number): string => {
  if (isAbsolute(row)) return row.unit === "bytes" ? amount(ratio, "bytes") : `${number(ratio)} ${row.unit}`
  if (!row.lowerIsBetter && ratio >= 1) return ratio === 1 ? "as fast" : `${short(ratio)} × as fast`
  return `${short(row.lowerIsBetter ? ratio : 1 / ratio)} × the ${isMemory(row) ? "memory" : "time"}`
}

/** Without the digits that no race repeats. */
const short = (value: number) =>
  value >= 10 ? number(Math.round(value)).replace(/\.0$/, "") : String(Number(value.toFixed(2)))

/** In its own unit. */
export const figure = ({ unit }: Row, value: number): string =>
  unit === "bytes" || unit.startsWith("ns/")
    ? `${amount(value, unit === "bytes" ? "bytes" : "ns")}`
    : `${number(value)} ${unit.replace("us", "µs")}`

/** From the better to the worse of the middle half of the rounds, as the ratio is told. */
export const spread = ({ quartiles, row }: Measured): string => {
  if (isAbsolute(row)) return quartiles.map(number).join(" … ")
  const isInverse = !row.lowerIsBetter && row.ratio < 1
  return quartiles
    .map((ratio) => (isInverse ? 1 / ratio : ratio))
    .toSorted((a, b) => a - b)
    .map(short)
    .join(" … ")
}

export const reaches = ({ lowerIsBetter, ratio }: Row, bar: number | null): boolean =>
  bar === null || (lowerIsBetter ? ratio <= bar : ratio >= bar)
