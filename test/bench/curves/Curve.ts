/**
 * How a cost grows with what it is the cost of, and whether that is worse than n log n.
 */

export interface Line {
  readonly name: string
  /** `y` is what one of `x` costs, or all of them together. */
  readonly cost: "each" | "whole"
  readonly points: ReadonlyArray<readonly [x: number, y: number]>
}

export interface Curve {
  /** The name of its picture. */
  readonly id: string
  readonly title: string
  readonly x: { readonly label: string; readonly unit: "count" | "bytes" }
  readonly y: { readonly label: string; readonly unit: "ns" | "bytes" }
  readonly lines: ReadonlyArray<Line>
}

export interface Growth {
  /** All of n cost as n to the power of this. */
  readonly exponent: number
  /** The same of n log n, over the same n: above 1, and the closer to it the larger they are. */
  readonly bar: number
  readonly isWorse: boolean
}

/**
 * What is fitted: the last two decades of n. Below them it is constants that are measured, the start of a process, and they
 * would make any growth look better than it is.
 */
const fitted = 100

export const fittedPoints = ({ points }: Line): Line["points"] => {
  const largest = Math.max(...points.map(([x]) => x))
  return points.filter(([x]) => x * fitted >= largest)
}

/** By how much the exponents of two runs differ. */
const tolerance = 0.05

export const growthOf = (line: Line): Growth => {
  const points = fittedPoints(line)
  const exponent = slope(points.map(([x, y]) => [x, line.cost === "each" ? x * y : y]))
  const bar = slope(points.map(([x]) => [x, x * Math.log(x)]))
  return { exponent, bar, isWorse: exponent > bar + tolerance }
}

/** Of the line through the logarithms, by least squares. */
const slope = (points: Line["points"]): number => {
  const logs = points.map(([x, y]) => [Math.log(x), Math.log(y)] as const)
  const mean = (of: (point: readonly [number, number]) => number) =>
    logs.reduce((sum, point) => sum + of(point), 0) / logs.length
  const [meanX, meanY] = [mean(([x]) => x), mean(([, y]) => y)]
  const covariance = mean(([x, y]) => (x - meanX) * (y - meanY))
  return covariance / mean(([x]) => (x - meanX) ** 2)
}
