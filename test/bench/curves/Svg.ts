/**
 * A curve as a picture: logarithmic axes, a line for each cost, and dashed what n log n would be from where it is fitted.
 *
 * Its colours are of a middle tone and nothing is painted behind them, so that it is legible on a light page and on a dark
 * one.
 */
import { type Curve, fittedPoints, type Line } from "./Curve.ts"

const size = { width: 720, height: 380 }
const frame = { left: 76, right: 24, top: 64, bottom: 52 }
const ink = "#7d848c"
const grid = "#8a919966"
const colours = ["#2f81f7", "#d9730d", "#1f9d63", "#b558d6"]

interface Axis {
  readonly low: number
  readonly high: number
  readonly at: (value: number) => number
}

export const toSvg = (curve: Curve): string => {
  const all = curve.lines.flatMap(({ points }) => points)
  const x = axis(
    all.map(([x]) => x),
    frame.left,
    size.width - frame.right
  )
  const y = axis(
    all.map(([, y]) => y),
    size.height - frame.bottom,
    frame.top
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="system-ui, sans-serif" font-size="12" fill="${ink}" role="img" aria-label="${escaped(curve.title)}">`,
    text(frame.left, 18, curve.title, `font-size="15" font-weight="600"`),
    ...curve.lines.map(({ name }, index) => legend(index, name)),
    ...decades(x).flatMap((value) => [
      path(`M${coordinate(x.at(value))} ${frame.top}V${size.height - frame.bottom}`, grid),
      text(x.at(value), size.height - frame.bottom + 18, tick(value, curve.x.unit), `text-anchor="middle"`)
    ]),
    ...decades(y).flatMap((value) => [
      path(`M${frame.left} ${coordinate(y.at(value))}H${size.width - frame.right}`, grid),
      text(frame.left - 8, y.at(value) + 4, tick(value, curve.y.unit), `text-anchor="end"`)
    ]),
    text((frame.left + size.width - frame.right) / 2, size.height - 12, curve.x.label, `text-anchor="middle"`),
    text(
      0,
      0,
      curve.y.label,
      `text-anchor="middle" transform="translate(14 ${(frame.top + size.height - frame.bottom) / 2}) rotate(-90)"`
    ),
    ...curve.lines.flatMap((line, index) => drawn(line, colours[index % colours.length]!, x, y)),
    "</svg>",
    ""
  ].join("\n")
}

/** From the decade below the least to the one above the largest. */
const axis = (values: ReadonlyArray<number>, from: number, to: number): Axis => {
  const low = Math.floor(Math.log10(Math.min(...values)) + 1e-9)
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9))
  return { low, high, at: (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from) }
}

const decades = ({ high, low }: Axis) => Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index))

const drawn = (line: Line, colour: string, x: Axis, y: Axis): ReadonlyArray<string> => {
  const place = ([n, cost]: readonly [number, number]) => `${coordinate(x.at(n))} ${coordinate(y.at(cost))}`
  const [[first, cost], last] = [fittedPoints(line)[0]!, line.points.at(-1)![0]]
  const factor = (Math.log(last) / Math.log(first)) * (line.cost === "each" ? 1 : last / first)
  // Above the frame it would run through the legend.
  const isInside = cost * factor <= 10 ** y.high && first < last
  return [
    path(`M${line.points.map(place).join("L")}`, colour, `stroke-width="2" stroke-linejoin="round"`),
    ...(isInside
      ? [path(`M${place([first, cost])}L${place([last, cost * factor])}`, colour, `stroke-dasharray="3 4"`)]
      : []),
    ...line.points.map(
      ([n, cost]) => `<circle cx="${coordinate(x.at(n))}" cy="${coordinate(y.at(cost))}" r="3" fill="${colour}"/>`
    )
  ]
}

const legendWidth = 210

const legend = (index: number, name: string) => {
  const left = frame.left + index * legendWidth
  return `<circle cx="${left + 5}" cy="40" r="5" fill="${colours[index % colours.length]}"/>\n${text(left + 16, 44, name)}`
}

const path = (d: string, colour: string, rest = "") => `<path d="${d}" fill="none" stroke="${colour}" ${rest}/>`

const text = (x: number, y: number, content: string, rest = "") =>
  `<text x="${coordinate(x)}" y="${coordinate(y)}" ${rest}>${escaped(content)}</text>`

const coordinate = (value: number) => String(Math.round(value * 10) / 10)

const escaped = (content: string) =>
  content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const steps = {
  count: ["", "k", "M", "G"],
  bytes: [" B", " KB", " MB", " GB"],
  ns: [" ns", " µs", " ms", " s"]
}

/** A power of ten, in the unit in which it is short. */
const tick = (value: number, unit: keyof typeof steps): string => {
  const thousands = Math.min(Math.max(Math.floor(Math.log10(value) / 3 + 1e-9), 0), 3)
  const shown = value / 1000 ** thousands
  return `${Number(shown.toPrecision(3))}${steps[unit][thousands]}`
}
