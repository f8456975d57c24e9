/**
 * Measures one part, or traces one curve, and tells its parent. `node --no-flush-bytecode test/bench/measure.ts NAME ROUNDS`
 */
import { type Curve, growthOf } from "./curves/Curve.ts"
import { curves } from "./curves/curves.ts"
import { parts } from "./parts.ts"
import * as Profile from "./profile.ts"
import type { Measured } from "./race.ts"

export interface Found {
  readonly measured: ReadonlyArray<Measured>
  readonly profiles: ReadonlyArray<Profile.Profile>
  readonly curves: ReadonlyArray<Curve>
}

const find = async (name: string, rounds: number): Promise<Found> => {
  if (!(name in parts)) return { measured: [], profiles: [], curves: await (await curves[name]!.load()).trace() }
  const part = await parts[name]!.load()
  return { measured: await part.measure(rounds), profiles: (await part.profiles?.()) ?? [], curves: [] }
}

const [name = "", rounds = "1"] = process.argv.slice(2)
const found = await find(name, Number(rounds))
if (process.send !== undefined) process.send(found, () => process.disconnect())
else {
  console.log(found.measured.map(({ row }) => row))
  for (const profile of found.profiles) console.log(Profile.toText(profile))
  for (const { id, lines } of found.curves) for (const line of lines) console.log(id, line, growthOf(line))
}
