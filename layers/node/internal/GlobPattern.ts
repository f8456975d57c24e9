/**
 * Glob patterns in the syntax of gitignore, matched in time linear in the path.
 *
 * A pattern without `/` is for the name alone, at any depth; one with a `/` is for
 * the whole path. `*` and `?` stay within a component, `**` between slashes is any
 * number of components, `[a-z]` and `[!a-z]` are one character, `{a,b}` is either,
 * a backslash takes the next character for itself. Hidden names are like others.
 *
 * It is matched here, not by ripgrep: there a glob overrides ignore files, but only
 * below directories that are not ignored themselves, and what is found depends on
 * how an ignore file happens to be written.
 *
 * @since 0.1.0
 */

/** A step on one code point; undefined where the pattern has ended. */
type State =
  | { readonly _tag: "Step"; readonly admits: (codePoint: number) => boolean; next: number }
  | { readonly _tag: "Fork"; readonly next: Array<number> }
  | { readonly _tag: "End" }

const slash = 0x2f

/** Sets of states that are remembered. A pattern of everyday use has ten; beyond, they are worked out again. */
const maxRemembered = 1000

/** Alternatives within alternatives. More are not written by hand, and each is a frame of the stack. */
const maxDepth = 50

/**
 * A compiled pattern, or why there is none.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (pattern: string): { readonly matches: (path: string) => boolean } | { readonly why: string } => {
  const compiler = new Compiler(normalize(pattern))
  compiler.sequence(0)
  const why = compiler.why ?? (compiler.atEnd ? undefined : "it has a } without a {")
  return why === undefined ? new Matcher(compiler.finish()) : { why }
}

const normalize = (pattern: string): ReadonlyArray<number> => {
  const plain = pattern.replace(/^(?:\.\/+)+/, "")
  const anchored = /\/./.test(plain) || plain === "/"
  const whole = plain.endsWith("/") ? `${plain}**` : plain
  return Array.from(anchored ? whole.replace(/^\/+/, "") : `**/${whole}`, (character) => character.codePointAt(0)!)
}

class Compiler {
  why: string | undefined
  private readonly states: Array<State> = []
  private at = 0
  private readonly pattern: ReadonlyArray<number>

  constructor(pattern: ReadonlyArray<number>) {
    this.pattern = pattern
  }

  get atEnd(): boolean {
    return this.at >= this.pattern.length
  }

  finish(): ReadonlyArray<State> {
    this.states.push({ _tag: "End" })
    return this.states
  }

  /** Up to the end, or to what ends an alternative. Every state leads to the one added after it. */
  sequence(depth: number): void {
    while (!this.atEnd && this.why === undefined) {
      const character = String.fromCodePoint(this.pattern[this.at]!)
      if (depth > 0 && (character === "," || character === "}")) return
      if (depth === 0 && character === "}") return
      this.at++
      if (character === "*") this.stars()
      else if (character === "?") this.step(notSlash)
      else if (character === "[") this.characterClass()
      else if (character === "{") this.alternatives(depth + 1)
      else this.literal(character === "\\" && !this.atEnd ? this.pattern[this.at++]! : character.codePointAt(0)!)
    }
  }

  private stars(): void {
    const start = this.at - 1
    while (this.pattern[this.at] === 0x2a) this.at++
    const { at, pattern } = this
    const whole = at - start > 1 && (start === 0 || pattern[start - 1] === slash)
    if (whole && at >= pattern.length) return this.loop(anything)
    if (whole && pattern[at] === slash) {
      // No component at all, or some with the slash behind them.
      this.at++
      const fork = this.fork()
      this.loop(anything)
      this.literal(slash)
      fork.next.push(this.states.length)
      return
    }
    this.loop(notSlash)
  }

  private alternatives(depth: number): void {
    if (depth > maxDepth) return void (this.why = "its { } are nested too deeply")
    const fork: Array<number> = []
    const head: State = { _tag: "Fork", next: fork }
    this.states.push(head)
    const ends: Array<{ readonly next: Array<number> }> = []
    for (;;) {
      fork.push(this.states.length)
      this.sequence(depth)
      if (this.why !== undefined) return
      if (this.atEnd) return void (this.why = "it has a { without a }")
      const end: { readonly _tag: "Fork"; readonly next: Array<number> } = { _tag: "Fork", next: [] }
      this.states.push(end)
      ends.push(end)
      if (this.pattern[this.at++] === 0x7d) break
    }
    for (const end of ends) end.next.push(this.states.length)
  }

  private characterClass(): void {
    const { pattern } = this
    const negated = pattern[this.at] === 0x21 || pattern[this.at] === 0x5e
    if (negated) this.at++
    const ranges: Array<readonly [number, number]> = []
    for (let first = true; ; first = false) {
      if (this.atEnd) return void (this.why = "it has a [ without a ]")
      if (pattern[this.at] === 0x5d && !first) break
      const from = this.member()
      const isRange = pattern[this.at] === 0x2d && pattern[this.at + 1] !== 0x5d && this.at + 1 < pattern.length
      if (isRange) this.at++
      ranges.push([from, isRange ? this.member() : from])
    }
    this.at++
    this.step(
      (codePoint) => codePoint !== slash && negated !== ranges.some(([a, b]) => a <= codePoint && codePoint <= b)
    )
  }

  private member(): number {
    if (this.pattern[this.at] === 0x5c && this.at + 1 < this.pattern.length) this.at++
    return this.pattern[this.at++]!
  }

  private step(admits: (codePoint: number) => boolean): void {
    this.states.push({ _tag: "Step", admits, next: this.states.length + 1 })
  }

  private literal(expected: number): void {
    this.step((codePoint) => codePoint === expected)
  }

  private loop(admits: (codePoint: number) => boolean): void {
    const at = this.states.length
    this.states.push({ _tag: "Fork", next: [at + 1, at + 2] })
    this.states.push({ _tag: "Step", admits, next: at })
  }

  private fork() {
    const fork: { readonly _tag: "Fork"; readonly next: Array<number> } = {
      _tag: "Fork",
      next: [this.states.length + 1]
    }
    this.states.push(fork)
    return fork
  }
}

const notSlash = (codePoint: number) => codePoint !== slash
const anything = () => true

/** A set of states that can be reached by the same text. */
interface Reached {
  readonly states: ReadonlyArray<number>
  readonly ends: boolean
  readonly after: Map<number, Reached>
}

/** Works with sets of states, and remembers what follows from them: the cost of a character does not grow with the pattern. */
class Matcher {
  private readonly remembered = new Map<string, Reached>()
  private readonly states: ReadonlyArray<State>
  private readonly start: Reached

  constructor(states: ReadonlyArray<State>) {
    this.states = states
    this.start = this.reach([0])
  }

  matches(path: string): boolean {
    let reached = this.start
    for (let at = 0; at < path.length; at++) {
      const codePoint = path.codePointAt(at)!
      if (codePoint > 0xffff) at++
      let next = reached.after.get(codePoint)
      if (next === undefined) {
        next = this.reach(
          reached.states.flatMap((index) => {
            const state = this.states[index]!
            return state._tag === "Step" && state.admits(codePoint) ? [state.next] : []
          })
        )
        if (reached.after.size < maxRemembered) reached.after.set(codePoint, next)
      }
      if (next.states.length === 0) return false
      reached = next
    }
    return reached.ends
  }

  private reach(from: ReadonlyArray<number>): Reached {
    const seen = new Set<number>()
    const waiting = [...from]
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      if (seen.has(index)) continue
      seen.add(index)
      const state = this.states[index]!
      if (state._tag === "Fork") waiting.push(...state.next)
    }
    const states = [...seen].filter((index) => this.states[index]!._tag !== "Fork").toSorted((a, b) => a - b)
    const key = states.join(" ")
    const known = this.remembered.get(key)
    if (known !== undefined) return known
    const reached = { states, ends: states.some((index) => this.states[index]!._tag === "End"), after: new Map() }
    if (this.remembered.size < maxRemembered) this.remembered.set(key, reached)
    return reached
  }
}
