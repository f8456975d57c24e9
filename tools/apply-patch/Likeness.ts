/**
 * Lines of a file, found by those that are like them.
 *
 * A search is linear in the file, whatever is searched in it: both come from a
 * model, and a run of equal lines must not stop the program.
 *
 * @since 0.1.0
 */
import * as Lookalikes from "../../src/Lookalikes.ts"

/**
 * How lines are compared, the strictest way first. Each forgives what the one before does.
 *
 * @category models
 * @since 0.1.0
 */
export const tiers = ["exact", "trailing space", "indentation", "look-alikes", "composition"] as const
export type Tier = (typeof tiers)[number]

const forms: { readonly [T in Tier]: (text: string) => string } = {
  exact: (text) => text,
  "trailing space": (text) => text.trimEnd(),
  indentation: (text) => text.trim(),
  "look-alikes": (text) => Lookalikes.fold(text.trim()),
  composition: (text) => Lookalikes.fold(text.trim()).normalize("NFC")
}

/**
 * @category models
 * @since 0.1.0
 */
export class Lines {
  readonly length: number
  private readonly texts: ReadonlyArray<string>
  private readonly byTier = new Map<Tier, ReadonlyArray<string>>()

  constructor(texts: ReadonlyArray<string>) {
    this.texts = texts
    this.length = texts.length
    this.byTier.set("exact", texts)
  }

  text(at: number): string {
    return this.texts[at]!
  }

  /** Whether the lines stand at this index. */
  stands(tier: Tier, wanted: ReadonlyArray<string>, at: number): boolean {
    if (at < 0 || at + wanted.length > this.length) return false
    const lines = this.formed(tier)
    return wanted.every((text, i) => forms[tier](text) === lines[at + i])
  }

  /** The indices at which the lines stand, rising. They may overlap. None for no lines. */
  find(tier: Tier, wanted: ReadonlyArray<string>): ReadonlyArray<number> {
    const lines = this.formed(tier)
    const pattern = wanted.map(forms[tier])
    if (pattern.length === 0) return []
    // Knuth, Morris and Pratt: `back[i]` lines of the pattern still fit where `i` did and the next does not.
    const back = new Int32Array(pattern.length + 1)
    for (let i = 1, fit = 0; i < pattern.length; i++) {
      while (fit > 0 && pattern[i] !== pattern[fit]) fit = back[fit]!
      if (pattern[i] === pattern[fit]) fit++
      back[i + 1] = fit
    }
    const found: Array<number> = []
    for (let at = 0, fit = 0; at < lines.length; at++) {
      if (fit === 0) {
        // Several times as fast as the loop, and mostly all there is to do.
        at = lines.indexOf(pattern[0]!, at)
        if (at < 0) break
      }
      while (fit > 0 && lines[at] !== pattern[fit]) fit = back[fit]!
      if (lines[at] === pattern[fit]) fit++
      if (fit === pattern.length) {
        found.push(at + 1 - fit)
        fit = back[fit]!
      }
    }
    return found
  }

  /** Made when first asked for: most hunks are found exactly. */
  private formed(tier: Tier): ReadonlyArray<string> {
    const made = this.byTier.get(tier)
    if (made !== undefined) return made
    const lines = this.texts.map(forms[tier])
    this.byTier.set(tier, lines)
    return lines
  }
}
