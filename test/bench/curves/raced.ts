/** The same work in several sizes, raced: shuffled rounds, the median of each size. */
import { median, race } from "../race.ts"
import type { Line } from "./Curve.ts"

export interface Options {
  readonly rounds: number
  readonly warmUpMs?: number | undefined
  /** Whether the time is that of one of `size`, or of all. Default: `each`. */
  readonly cost?: Line["cost"] | undefined
}

export const raced = async (
  name: string,
  sizes: ReadonlyArray<number>,
  run: (size: number) => Promise<unknown>,
  { cost = "each", rounds, warmUpMs = 300 }: Options
): Promise<Line> => {
  const samples = await race(
    sizes.map((size) => ({
      name: String(size),
      units: cost === "each" ? size : 1,
      run: async (n) => {
        for (let i = 0; i < n; i++) await run(size)
      }
    })),
    { rounds, warmUpMs }
  )
  return { name, cost, points: sizes.map((size) => [size, median(samples.get(String(size))!)] as const) }
}
