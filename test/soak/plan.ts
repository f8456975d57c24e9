/**
 * What a soak does: calls drawn at random, the same for the same seed.
 *
 * @since 0.1.0
 */

/**
 * One call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan {
  readonly kind: string
  readonly parameters: { readonly command: string; readonly cwd?: string; readonly timeoutMs?: number }
  /** When it is cancelled, in ms after its start. */
  readonly cancelAfterMs?: number | undefined
}

type Random = () => number

/** Mulberry32: small, and good enough to draw cards with. */
const randomOf = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

interface Kind {
  readonly name: string
  /** How often it is drawn, beside the others. */
  readonly weight: number
  readonly command: (random: Random) => string
  /** It does not end by itself. */
  readonly endless?: boolean
  readonly cwd?: string
}

const int = (random: Random, from: number, to: number) => from + Math.floor(random() * (to - from + 1))

const kinds: ReadonlyArray<Kind> = [
  {
    name: "quick",
    weight: 30,
    command: (random) => ["true", "echo done", "pwd; ls", "printf x >&2"][int(random, 0, 3)]!
  },
  { name: "failing", weight: 8, command: (random) => `ls /nonexistent; exit ${int(random, 1, 255)}` },
  { name: "killed", weight: 4, command: () => "kill -9 $$" },
  { name: "no directory", weight: 3, command: () => "true", cwd: "/nonexistent" },
  {
    name: "pipes",
    weight: 10,
    command: (random) => `seq 1 ${int(random, 10, 50_000)} | sort -rn | head -3; (exit 2) | cat`
  },
  { name: "big output", weight: 6, command: (random) => `seq 1 ${int(random, 50_000, 300_000)}` },
  { name: "one line", weight: 2, command: () => "head -c 2000000 /dev/zero | tr '\\0' x" },
  { name: "background", weight: 10, command: (random) => `${"sleep 60 & ".repeat(int(random, 1, 3))} echo left` },
  { name: "background, quiet", weight: 5, command: () => "sleep 60 >/dev/null 2>&1 & echo left" },
  { name: "another group", weight: 3, command: () => "timeout 60 sleep 60 & echo left" },
  { name: "another session", weight: 6, command: () => "setsid sleep 60 & echo left" },
  { name: "another session, quiet", weight: 6, command: () => "setsid sleep 60 >/dev/null 2>&1 & echo left" },
  {
    name: "forked twice",
    weight: 4,
    command: () =>
      "(setsid sh -c 'setsid sleep 60 & sleep 60 & exec sleep 60' >/dev/null 2>&1 &) ; sleep 0.02; echo left"
  },
  { name: "flood", weight: 4, command: () => "yes", endless: true },
  { name: "flood in the background", weight: 2, command: () => "yes & sleep 0.02" },
  { name: "sleeper", weight: 10, command: () => "sleep 60", endless: true },
  { name: "sleepers", weight: 5, command: () => "sleep 60 & sleep 60 | cat; wait", endless: true },
  { name: "stopped", weight: 2, command: () => "sleep 60 & kill -STOP $$; sleep 60", endless: true },
  {
    name: "cleans up",
    weight: 3,
    command: () => "trap 'seq 1 1000; exit 0' TERM; while :; do sleep 0.01; done",
    endless: true
  },
  {
    name: "forks without end",
    weight: 2,
    command: () => "while :; do (setsid true &) ; sleep 0.005 & done",
    endless: true
  },
  // Each takes the whole time of grace.
  { name: "ignores SIGTERM", weight: 2, command: () => "trap '' TERM; sleep 60; sleep 60", endless: true }
]

const total = kinds.reduce((sum, { weight }) => sum + weight, 0)

const draw = (random: Random): Kind => {
  let left = random() * total
  return kinds.find(({ weight }) => (left -= weight) < 0) ?? kinds[0]!
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const plans = (seed: number, calls: number): ReadonlyArray<Plan> => {
  const random = randomOf(seed)
  return Array.from({ length: calls }, (_, i): Plan => {
    // Each kind once, before any is drawn: a short soak has all of them.
    const { command, cwd, endless = false, name } = kinds[i] ?? draw(random)
    const parameters = { command: command(random), ...(cwd === undefined ? {} : { cwd }) }
    const ms = int(random, 0, 250)
    const ending = random()
    if (ending < (endless ? 0.5 : 0.15)) return { kind: name, parameters, cancelAfterMs: ms }
    if (endless || ending < 0.25) return { kind: name, parameters: { ...parameters, timeoutMs: ms + 1 } }
    return { kind: name, parameters }
  })
}
