/**
 * Where hunks belong in a file.
 *
 * **Laws**
 *
 * - A hunk is placed only where it can stand nowhere else: at the strictest tier
 *   of likeness at which it is found at all, it must be found once. An anchor is the
 *   exception that the format makes: of the places that are exactly alike, the next
 *   one after it is meant.
 * - Hunks are searched in the file as it was. They are expected in its order; one
 *   that is found only before its predecessor is placed there.
 * - Context is never written: it keeps the bytes of the file, even where it is only
 *   like that of the patch.
 * - No two hunks change the same line.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import { Lines, type Tier, tiers } from "./Likeness.ts"
import type * as Patch from "./Patch.ts"
import type * as Text from "./Text.ts"

/**
 * Where the hunks of one file go.
 *
 * @category models
 * @since 0.1.0
 */
export interface Placed {
  /** In the order of the file. */
  readonly edits: ReadonlyArray<Text.Edit>
  /** What was forgiven: the hunk by its line in the patch, and where it was placed, from 1. */
  readonly forgiven: ReadonlyArray<{
    readonly hunk: number
    readonly line: number
    readonly why: Exclude<Tier, "exact"> | "end of file" | "order"
  }>
}

/**
 * Why a hunk has no place, or no single one. Lines of the file are counted from 1; a hunk is named by its line in the
 * patch.
 *
 * @category models
 * @since 0.1.0
 */
export type Misplaced =
  | {
      readonly _tag: "NotFound"
      readonly hunk: number
      /** The line after `@@` that is not there; else it is the lines of the hunk. */
      readonly anchor?: string
      /** What the file has instead. */
      readonly closest: ReadonlyArray<{ readonly line: number; readonly text: string }>
      /** Where the file has what the hunk would make of it. */
      readonly appliedAt?: number
    }
  | { readonly _tag: "Ambiguous"; readonly hunk: number; readonly lines: ReadonlyArray<number>; readonly tier: Tier }
  | { readonly _tag: "Overlap"; readonly hunks: readonly [number, number]; readonly line: number }
  | { readonly _tag: "NotAtEnd"; readonly hunk: number; readonly line: number }

/** Places that a message names. More tell a reader nothing. */
const maxPlaces = 5

/** Lines of the file that a message shows. */
const maxShown = 8

/** Lines of a hunk that occur more often (a brace, an empty line) say nothing about where it belongs. */
const maxCommon = 20

/** Lines of a hunk that are looked up to find where it nearly fits. Each costs a search. */
const maxCompared = 50

/**
 * Places hunks in a file of these lines. Work is linear in the file for each tier that is needed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const place = (
  lines: ReadonlyArray<Text.Line>,
  hunks: ReadonlyArray<Patch.Hunk>
): Result.Result<Placed, Misplaced> => {
  const file = new Lines(lines.map(({ text }) => text))
  const open = lines.at(-1)?.terminator === ""
  const edits: Array<Text.Edit & { readonly hunk: number }> = []
  const forgiven: Array<Placed["forgiven"][number]> = []
  let from = 0
  for (const hunk of hunks) {
    const found = locate(file, hunk, from)
    if (Result.isFailure(found)) return Result.fail(found.failure)
    const { at, lines, tier } = found.success
    const made = editsOf(lines, at, file.length, open, hunk.bare)
    const line = at + 1
    if (tier !== "exact") forgiven.push({ hunk: hunk.line, line, why: tier })
    const last = made.at(-1)
    const end = last === undefined ? at + oldLines(lines).length : last.at + last.removed
    if (hunk.bare && end !== file.length) return Result.fail({ _tag: "NotAtEnd", hunk: hunk.line, line })
    if (end < from) forgiven.push({ hunk: hunk.line, line, why: "order" })
    if (hunk.endOfFile && at + oldLines(lines).length < file.length) {
      forgiven.push({ hunk: hunk.line, line, why: "end of file" })
    }
    for (const edit of made) edits.push({ ...edit, hunk: hunk.line })
    // The next hunk may repeat the context behind what this one changes.
    from = end
  }
  // What is inserted at a place stands before what replaces the line there. Sorting is stable: patch order otherwise.
  const sorted = edits.toSorted((a, b) => a.at - b.at || Math.min(a.removed, 1) - Math.min(b.removed, 1))
  for (let i = 1; i < sorted.length; i++) {
    const [before, after] = [sorted[i - 1]!, sorted[i]!]
    if (before.at + before.removed > after.at) {
      return Result.fail({ _tag: "Overlap", hunks: [before.hunk, after.hunk], line: after.at + 1 })
    }
  }
  return Result.succeed({ edits: sorted, forgiven })
}

interface Place {
  readonly at: number
  /** Those of the hunk that count. */
  readonly lines: ReadonlyArray<Patch.Line>
  readonly tier: Tier
}

const locate = (file: Lines, hunk: Patch.Hunk, from: number): Result.Result<Place, Misplaced> => {
  const anchored = anchorsOf(file, hunk)
  if (Result.isFailure(anchored)) return Result.fail(anchored.failure)
  const { starts, tier: anchorTier } = anchored.success
  if (oldLines(hunk.lines).length === 0) {
    if (hunk.anchors.length === 0 || hunk.endOfFile) {
      return Result.succeed({ at: file.length, lines: hunk.lines, tier: "exact" })
    }
    // Right after the anchor. In the order of hunks, if that leaves one.
    const later = starts.filter((start) => start >= from)
    return single(hunk, later.length > 0 ? later : starts, hunk.lines, anchorTier, -1)
  }
  const variants = withAndWithoutBlankEnd(hunk.lines).filter((lines) => oldLines(lines).length > 0)
  if (hunk.endOfFile) return locateAtEnd(file, hunk, variants, starts)
  for (const tier of tiers) {
    const found = variants.map((lines) => ({ lines, places: file.find(tier, oldLines(lines)) }))
    // Strictly after the anchor, as the format says; or from the anchor on, which some repeat as context.
    for (const before of hunk.anchors.length === 0 ? [0] : [0, 1]) {
      for (const least of from === 0 ? [0] : [from, 0]) {
        for (const { lines, places } of found) {
          const meant = after(places, starts, before, least, hunk.anchors.length > 0 && tier === "exact")
          if (meant.length > 0) return single(hunk, meant, lines, tier, 0)
        }
      }
    }
  }
  return notFound(file, hunk)
}

/**
 * Of the places, those that come after a start. With `nearest`, the next one after each: where all are exactly alike,
 * that is what an anchor says. All numbers rise.
 */
const after = (
  places: ReadonlyArray<number>,
  starts: ReadonlyArray<number>,
  before: number,
  least: number,
  nearest: boolean
): ReadonlyArray<number> => {
  const first = Math.max(starts[0]! - before, least)
  if (!nearest) return places.filter((at) => at >= first)
  const meant = new Set<number>()
  let i = 0
  for (const start of starts) {
    while (i < places.length && places[i]! < Math.max(start - before, least)) i++
    if (i < places.length) meant.add(places[i]!)
  }
  return [...meant]
}

/** At the end; before the empty lines there; or else the last place there is, which is what the marker says. */
const locateAtEnd = (
  file: Lines,
  hunk: Patch.Hunk,
  variants: ReadonlyArray<ReadonlyArray<Patch.Line>>,
  starts: ReadonlyArray<number>
): Result.Result<Place, Misplaced> => {
  const least = starts[0]!
  let filled = file.length
  while (filled > 0 && file.text(filled - 1).trim() === "") filled--
  for (const end of filled === file.length ? [filled] : [file.length, filled]) {
    for (const tier of tiers) {
      for (const lines of variants) {
        const wanted = oldLines(lines)
        const at = end - wanted.length
        if (at >= least && file.stands(tier, wanted, at)) return Result.succeed({ at, lines, tier })
      }
    }
  }
  for (const tier of tiers) {
    for (const lines of variants) {
      const at = file.find(tier, oldLines(lines)).at(-1)
      if (at !== undefined && at >= least) return Result.succeed({ at, lines, tier })
    }
  }
  return notFound(file, hunk)
}

/**
 * The indices after the anchors, rising: one for each place of the first, from which the others are the next ones. The
 * start of the file without anchors.
 */
const anchorsOf = (
  file: Lines,
  hunk: Patch.Hunk
): Result.Result<{ readonly starts: ReadonlyArray<number>; readonly tier: Tier }, Misplaced> => {
  let starts: ReadonlyArray<number> = [0]
  let strictest: Tier = "exact"
  for (const [i, anchor] of hunk.anchors.entries()) {
    const found = anchorAfter(file, anchor.text, starts, i > 0)
    if (found === undefined) {
      return Result.fail({
        _tag: "NotFound",
        hunk: anchor.line,
        anchor: anchor.text,
        closest: closest(file, [anchor.text])
      })
    }
    starts = found.places.map((at) => at + 1)
    if (i === 0) strictest = found.tier
  }
  return Result.succeed({ starts, tier: strictest })
}

const anchorAfter = (file: Lines, text: string, starts: ReadonlyArray<number>, nearest: boolean) => {
  for (const tier of tiers) {
    const places = after(file.find(tier, [text]), starts, 0, 0, nearest)
    if (places.length > 0) return { places, tier }
  }
  return undefined
}

const single = (
  hunk: Patch.Hunk,
  places: ReadonlyArray<number>,
  lines: ReadonlyArray<Patch.Line>,
  tier: Tier,
  shift: number
): Result.Result<Place, Misplaced> =>
  places.length === 1
    ? Result.succeed({ at: places[0]!, lines, tier })
    : Result.fail({
        _tag: "Ambiguous",
        hunk: hunk.line,
        lines: places
          .slice(0, maxPlaces)
          .map((at) => at + 1 + shift)
          .toSorted((a, b) => a - b),
        tier
      })

const oldLines = (lines: ReadonlyArray<Patch.Line>): ReadonlyArray<string> =>
  lines.flatMap(({ kind, text }) => (kind === "added" ? [] : [text]))

/** Without the empty context at the end: it may only part the hunk from what follows it in the patch. */
const withoutBlankEnd = (lines: ReadonlyArray<Patch.Line>): ReadonlyArray<Patch.Line> =>
  lines.slice(0, lines.findLastIndex(({ kind, text }) => kind !== "context" || text !== "") + 1)

/** Those that differ. One empty line may be meant where another is not. */
const withAndWithoutBlankEnd = (lines: ReadonlyArray<Patch.Line>): ReadonlyArray<ReadonlyArray<Patch.Line>> => {
  const without = withoutBlankEnd(lines)
  const blank = lines.length - without.length
  return [lines, ...(blank > 1 ? [lines.slice(0, without.length + 1)] : []), ...(blank > 0 ? [without] : [])]
}

const editsOf = (
  lines: ReadonlyArray<Patch.Line>,
  start: number,
  length: number,
  open: boolean,
  bare: boolean
): ReadonlyArray<Text.Edit> => {
  const edits: Array<Text.Edit> = []
  let at = start
  for (let i = 0; i < lines.length;) {
    if (lines[i]!.kind === "context") {
      i++
      at++
      continue
    }
    const start = i
    while (i < lines.length && lines[i]!.kind !== "context") i++
    const run = lines.slice(start, i)
    const removed = run.flatMap(({ kind, text }) => (kind === "removed" ? [text] : []))
    const added = run.flatMap(({ kind, text }) => (kind === "added" ? [text] : []))
    const last = i === lines.length
    // What is removed and added again stays as it is in the file. But its last line gets, or loses, its newline.
    let head = 0
    while (head < removed.length && head < added.length && removed[head] === added[head]) head++
    let tail = 0
    const most = Math.min(removed.length, added.length) - head
    while (tail < most && removed.at(-1 - tail) === added.at(-1 - tail)) tail++
    const restated = open && at + removed.length === length && head === removed.length && head === added.length
    if (restated || (bare && last && head === added.length)) head--
    if ((open && at + removed.length === length) || (bare && last)) tail = 0
    const edit = { at: at + head, removed: removed.length - head - tail, added: added.slice(head, added.length - tail) }
    if (edit.removed > 0 || edit.added.length > 0) edits.push({ ...edit, bare: bare && last })
    at += removed.length
  }
  return edits
}

// -----------------------------------------------------------------------------
// What is there instead
// -----------------------------------------------------------------------------

const notFound = (file: Lines, hunk: Patch.Hunk): Result.Result<never, Misplaced> => {
  const made = hunk.lines.flatMap(({ kind, text }) => (kind === "removed" ? [] : [text]))
  const added = hunk.lines.some(({ kind, text }) => kind === "added" && text.trim() !== "")
  const applied = added ? file.find("exact", made) : []
  return Result.fail({
    _tag: "NotFound",
    hunk: hunk.line,
    closest: closest(file, oldLines(withoutBlankEnd(hunk.lines))),
    ...(applied.length === 1 ? { appliedAt: applied[0]! + 1 } : {})
  })
}

/** The lines where most of those wanted stand as they are wanted; else the one line with the most words in common. */
const closest = (file: Lines, wanted: ReadonlyArray<string>): ReadonlyArray<{ line: number; text: string }> => {
  const votes = new Map<number, number>()
  wanted.slice(0, maxCompared).forEach((text, i) => {
    const places = text.trim() === "" ? [] : file.find("composition", [text])
    if (places.length > maxCommon) return
    for (const place of places) votes.set(place - i, (votes.get(place - i) ?? 0) + 1)
  })
  const [voted] = [...votes].toSorted((a, b) => b[1] - a[1])[0] ?? []
  const first = wanted.findIndex((text) => text.trim() !== "")
  const start = voted ?? mostWords(file, wanted[first] ?? "", first)
  if (start === undefined) return []
  const from = Math.max(start, 0)
  const to = Math.min(start + wanted.length, from + maxShown, file.length)
  return Array.from({ length: Math.max(to - from, 0) }, (_, i) => ({ line: from + i + 1, text: file.text(from + i) }))
}

const mostWords = (file: Lines, wanted: string, offset: number): number | undefined => {
  const words = new Set(wordsOf(wanted))
  let best: { readonly at: number; readonly score: number } | undefined
  for (let at = 0; at < file.length; at++) {
    const found = new Set(wordsOf(file.text(at)))
    const common = [...found].filter((word) => words.has(word)).length
    const score = common / Math.max(found.size, words.size)
    // Half of the words: fewer are in common with any line of a program.
    if (score >= 0.5 && score > (best?.score ?? 0)) best = { at, score }
  }
  return best === undefined ? undefined : best.at - offset
}

const wordsOf = (text: string): ReadonlyArray<string> => text.match(/[\p{L}\p{N}_]+/gu) ?? []
