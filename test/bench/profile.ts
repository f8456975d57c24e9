/**
 * Where the CPU time of contenders goes: the self time of their functions, as V8 samples it, by where their code lives.
 * What V8 has compiled into a caller is the caller's: a small function counts where it is used.
 */
import { Session } from "node:inspector/promises"
import { type Contender, shuffled } from "./race.ts"
import { number } from "./words.ts"

/** Parts of the code, by what the URLs of their files match. The first has it. */
export type Places = ReadonlyArray<readonly [name: string, url: RegExp]>

export interface Profile {
  readonly title: string
  readonly contenders: ReadonlyArray<{
    readonly name: string
    /** By place, the us of one call. */
    readonly us: Readonly<Record<string, number>>
  }>
}

/** Less, and what samples is seen in what is sampled; more, and a slice has few of them. */
const intervalUs = 200
export interface Options {
  /** They take turns, so that a slow phase of the machine hits all of them. */
  readonly slices?: number | undefined
  readonly sliceMs?: number | undefined
}

export const profile = async (
  title: string,
  contenders: ReadonlyArray<Contender>,
  places: Places,
  { sliceMs = 500, slices = 5 }: Options = {}
): Promise<Profile> => {
  const session = new Session()
  session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.setSamplingInterval", { interval: intervalUs })
  const spent = contenders.map((contender) => ({ contender, calls: 0, us: new Map<string, number>() }))
  for (let slice = 0; slice < slices; slice++) {
    for (const each of shuffled(spent)) {
      await session.post("Profiler.start")
      const end = performance.now() + sliceMs
      for (; performance.now() < end; each.calls += batch) await each.contender.run(batch)
      const { profile } = await session.post("Profiler.stop")
      const placeById = new Map(profile.nodes.map(({ callFrame, id }) => [id, placeOf(places, callFrame)]))
      const deltas = profile.timeDeltas ?? []
      // The first is the time that the profiler took to start.
      for (const [index, id] of (profile.samples ?? []).entries()) {
        const place = placeById.get(id)
        if (index > 0 && place !== undefined) each.us.set(place, (each.us.get(place) ?? 0) + deltas[index]!)
      }
    }
  }
  session.disconnect()
  return {
    title,
    contenders: spent.map(({ calls, contender, us }) => ({
      name: contender.name,
      us: Object.fromEntries(Array.from(us, ([place, sum]) => [place, sum / calls]))
    }))
  }
}

/** Calls between two looks at the clock. */
const batch = 100

/** Undefined: nothing ran. */
const placeOf = (
  places: Places,
  { functionName, url }: { readonly functionName: string; readonly url: string }
): string | undefined => {
  if (functionName === "(idle)") return undefined
  if (functionName === "(garbage collector)") return "garbage collection"
  if (url === "" || url.startsWith("node:")) return "node and V8"
  return places.find(([, pattern]) => pattern.test(url))?.[0] ?? "other"
}

/** Largest first, by the first contender; then its cells: us of a call, and the share of all. */
export const linesOf = ({ contenders }: Profile): ReadonlyArray<ReadonlyArray<string>> => {
  const sums = contenders.map(({ us }) => Object.values(us).reduce((a, b) => a + b, 0))
  const names = [...new Set(contenders.flatMap(({ us }) => Object.keys(us)))]
  const of = (name: string) => contenders.map(({ us }) => us[name] ?? 0)
  const cells = (values: ReadonlyArray<number>) =>
    values.flatMap((us, index) =>
      us === 0 ? ["", ""] : [`${number(us)} µs`, `${Math.round((100 * us) / sums[index]!)} %`]
    )
  return [
    ...names
      .map((name) => [name, of(name)] as const)
      .toSorted(([, a], [, b]) => b[0]! - a[0]!)
      .map(([name, values]) => [name, ...cells(values)]),
    ["all of it", ...cells(sums)]
  ]
}

export const headOf = ({ contenders }: Profile): ReadonlyArray<string> => [
  "where",
  ...contenders.flatMap(({ name }) => [name, "share"])
]

export const toText = (profile: Profile): string => {
  const lines = [headOf(profile), ...linesOf(profile)]
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((cells) => cells[column]!.length)))
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)
  return [profile.title, ...lines.map((cells) => cells.map(pad).join("  ").trimEnd())].join("\n")
}
