/**
 * Races: contenders side by side in one process, compared round by round.
 *
 * In every round each contender runs once, in an order drawn anew. A ratio is taken inside a round and its median over
 * the rounds, so that a slow phase of the machine hits both sides.
 */

/** Somebody who does the same work as the others. */
export interface Contender {
  readonly name: string
  /** Does it `n` times. It throws if the outcome is not what it should be: a race is no place to be fast and wrong. */
  readonly run: (n: number) => unknown
  /** Units of work in one of `n`: the items of a call. Default: 1. */
  readonly units?: number | undefined
}

export interface Options {
  readonly rounds: number
  /** How long one sample takes. Less drowns in the clock and in single collections; more, and few rounds fit in a minute. */
  readonly sampleMs?: number | undefined
  /** CPU time, not wall time: on a busy machine a warm-up by the wall clock ends before the compiler is through. */
  readonly warmUpMs?: number | undefined
}

/** By contender: for every round, the ns of one unit. */
export type Samples = ReadonlyMap<string, ReadonlyArray<number>>

/** What is compared, known before anything is measured. */
export interface Comparison {
  /** The same in every release: figures are followed over time by it. */
  readonly id: string
  /** Names of contenders. */
  readonly ours: string
  readonly theirs: string
  /** A contender whose time is taken off both: what starting an empty process costs. */
  readonly over?: string | undefined
  readonly unit: Unit
  /** The bar that was set for `ratio`; null if none was. */
  readonly floor: number | null
  /** What is aimed at beyond it. */
  readonly goal?: number | undefined
  readonly lowerIsBetter?: boolean | undefined
}

export interface Row {
  readonly id: string
  readonly what: string
  /** Medians, in `unit`. */
  readonly ours: number
  readonly theirs: number
  /**
   * How many times as fast as `theirs` ours is: 2 is half the time, and a bar of "at most 12 times the time" is 1/12.
   *
   * With `lowerIsBetter` it is ours over theirs, an amount (of time, of memory), and `floor` is the most that it may be.
   * A bar in absolute units has 1 unit as `theirs`.
   */
  readonly ratio: number
  readonly unit: string
  readonly against: string
  readonly floor: number | null
  readonly goal: number | null
  readonly lowerIsBetter: boolean
}

/** A row, and how far apart the rounds were: the quartiles of the ratio. They are printed, and no part of the row. */
export interface Measured {
  readonly row: Row
  readonly quartiles: readonly [lower: number, upper: number]
}

/** The ns in one of each, or bytes. */
const units = { "ns/call": 1, "ns/item": 1, us: 1e3, ms: 1e6, bytes: 1, MB: 1e6 }
export type Unit = keyof typeof units

export const race = async (contenders: ReadonlyArray<Contender>, options: Options): Promise<Samples> => {
  const { rounds, sampleMs = 40, warmUpMs = 600 } = options
  const entries: Array<{ readonly contender: Contender; readonly n: number; readonly samples: Array<number> }> = []
  for (const contender of contenders) {
    entries.push({ contender, n: await warmUp(contender, sampleMs, warmUpMs), samples: [] })
  }
  // No forced collection between samples: it makes V8 throw compiled code away, and everything 3 to 6 times as slow.
  for (let round = 0; round < rounds; round++) {
    for (const { contender, n, samples } of shuffled(entries)) {
      samples.push(((await time(contender, n)) * 1e6) / (n * (contender.units ?? 1)))
    }
  }
  return new Map(entries.map(({ contender, samples }) => [contender.name, samples]))
}

export const compare = (samples: Samples, comparisons: ReadonlyArray<Comparison>): ReadonlyArray<Measured> =>
  comparisons.map(({ floor, goal = null, id, lowerIsBetter = false, ours, over, theirs, unit }) => {
    const of = (name: string): ReadonlyArray<number> => {
      const found = samples.get(name)
      if (found === undefined) throw new Error(`${id}: there is no contender "${name}"`)
      return found
    }
    const base = over === undefined ? undefined : of(over)
    const net = (name: string) => of(name).map((ns, round) => ns - (base?.[round] ?? 0))
    const [a, b] = [net(ours), net(theirs)]
    const ratios = a.map((ns, round) => (lowerIsBetter ? ns / b[round]! : b[round]! / ns))
    const row = {
      id,
      what: ours,
      ours: median(a) / units[unit],
      theirs: median(b) / units[unit],
      ratio: median(ratios),
      unit,
      against: over === undefined ? theirs : `${theirs}, over ${over}`,
      floor,
      goal,
      lowerIsBetter
    }
    return { row, quartiles: [quantile(ratios, 0.25), quantile(ratios, 0.75)] }
  })

/** How often it does its work in one sample, found while the compiler does its own. */
const warmUp = async (contender: Contender, sampleMs: number, warmUpMs: number): Promise<number> => {
  const cpu = process.cpuUsage()
  const start = performance.now()
  let n = 1
  let perRun = Infinity
  do {
    perRun = (await time(contender, n)) / n
    if (perRun * n < sampleMs / 2) n *= 2
    // What mostly waits uses no CPU; it is as warm as it gets.
  } while (cpuMs(process.cpuUsage(cpu)) < warmUpMs && performance.now() - start < 6 * warmUpMs)
  return Math.max(1, Math.round(sampleMs / perRun))
}

const time = async ({ run }: Contender, n: number): Promise<number> => {
  const start = performance.now()
  await run(n)
  return performance.now() - start
}

const cpuMs = ({ system, user }: NodeJS.CpuUsage) => (system + user) / 1000

export const shuffled = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> =>
  values
    .map((value) => [Math.random(), value] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, value]) => value)

export const median = (values: ReadonlyArray<number>) => quantile(values, 0.5)

/** Between two values, in proportion. */
const quantile = (values: ReadonlyArray<number>, q: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const [below, above] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return below + (above - below) * (at - Math.floor(at))
}
