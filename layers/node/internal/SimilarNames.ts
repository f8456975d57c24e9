/**
 * Names in a directory that may have been meant by one that is not there.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs/promises"
import * as Similarity from "../../../src/Similarity.ts"
import * as FileName from "./FileName.ts"
import * as Walk from "./Walk.ts"

/** Names proposed for one that does not exist. More would be noise. */
const maxSimilar = 3

/** Entries of a directory looked at: it may be huge, the answer is only a hint. */
const maxEntries = 5000

/**
 * First those that only look the same, then those a slip away. In the text form.
 *
 * @category running
 * @since 0.1.0
 */
export const find = (directory: Walk.Directory, name: FileName.Raw): Effect.Effect<ReadonlyArray<string>> => {
  const wanted = FileName.format(name)
  const folded = fold(wanted)
  const slips = wanted.length > 64 ? 0 : Math.min(2, Math.floor(wanted.length / 3))
  return Effect.tryPromise((signal) => entriesOf(Walk.at(directory, "."), signal)).pipe(
    Effect.map((names) =>
      names
        .filter((name) => name !== wanted)
        .map((name) => ({
          name,
          distance: fold(name) === folded ? 0 : 1 + Similarity.distance(fold(name), folded, slips)
        }))
        .filter(({ distance }) => distance <= 1 + slips)
        .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
        .slice(0, maxSimilar)
        .map(({ name }) => name)
    ),
    Effect.orElseSucceed(() => [])
  )
}

const entriesOf = async (path: FileName.Raw, signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  const names: Array<string> = []
  for await (const entry of await fs.opendir(FileName.toBuffer(path), { encoding: "latin1" })) {
    if (signal.aborted || names.push(FileName.format(entry.name)) >= maxEntries) break
  }
  return names
}

/** Equal for names that look the same: composed or not, whatever the width of their spaces, upper or lower case. */
const fold = (name: string): string =>
  name
    .normalize("NFKC")
    .replace(/[\s\u200b]+/gu, " ")
    .toLowerCase()
