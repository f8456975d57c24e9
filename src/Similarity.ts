/**
 * Which of several names was meant by one that is none of them.
 *
 * @since 0.1.0
 */

/**
 * Levenshtein's distance: the insertions, deletions and replacements of UTF-16
 * code units that turn one text into the other. `limit + 1` if there are more than
 * `limit`.
 *
 * @category comparing
 * @since 0.1.0
 */
export const distance = (a: string, b: string, limit = Infinity): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return Math.min(row[b.length]!, limit + 1)
}

/** UTF-16 code units of a name that is compared. Distances grow with the square, and a longer name is no slip. */
const longest = 128

/**
 * The candidates, the most similar first, at most `count` of them. Upper and lower case are alike.
 *
 * @category comparing
 * @since 0.1.0
 */
export const rank = (name: string, candidates: Iterable<string>, count: number): Array<string> => {
  const wanted = name.slice(0, longest).toLowerCase()
  return Array.from(candidates, (candidate) => ({
    candidate,
    distance: distance(wanted, candidate.slice(0, longest).toLowerCase())
  }))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ candidate }) => candidate)
}

/**
 * The candidate that was most likely meant: the most similar one, if it is a slip away.
 *
 * @category comparing
 * @since 0.1.0
 */
export const meant = (name: string, candidates: Iterable<string>): string | undefined => {
  const [best] = rank(name, candidates, 1)
  if (best === undefined || name.length > longest) return undefined
  const slips = Math.floor(Math.max(name.length, best.length) / 3)
  const [a, b] = [spelling(name), spelling(best)]
  const contained = best.length > 2 && (a.includes(b) || (a.length > 2 && b.includes(a)))
  return contained || distance(a, b, slips) <= slips ? best : undefined
}

/** `file_path`, `filePath` and `file-path` are one word. */
const spelling = (name: string) => name.replace(/[_\-\s.]/g, "").toLowerCase()
