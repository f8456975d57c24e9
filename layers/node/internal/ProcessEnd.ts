/**
 * How processes are ended: SIGTERM, a time of grace, SIGKILL, until a look finds none.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { LeftBehind } from "../../../src/Processes.ts"
import type { Entry } from "./ProcessTable.ts"

/**
 * Those that are to be ended, and how they are reached.
 *
 * @category models
 * @since 0.1.0
 */
export interface Prey {
  /** Who runs now. `see` gets each as soon as it is found. */
  readonly look: (see: (entry: Entry) => void) => ReadonlyArray<Entry>
  readonly runs: (entry: Entry) => boolean
  readonly signal: (entries: ReadonlyArray<Entry>, signal: NodeJS.Signals) => void
  /** Whether there is still somebody to wait for, although none runs. */
  readonly pending: () => boolean
  /** Who is not told of: the command itself. */
  readonly unnamed: (entry: Entry) => boolean
  /** Whether those that still run cannot hear SIGTERM, and are not to be waited for. */
  readonly deaf: (running: ReadonlyArray<Entry>) => boolean
}

/**
 * How long to wait for processes that SIGKILL was sent to, in ms. They are gone
 * in a few; those that are not hang in the kernel, and no wait would do.
 */
const killPatienceMs = 3_000

/** Longest pause between two looks at what is to end, in ms. A look reads one file for each known process. */
const maxPollMs = 50

/** Looks and kills in a row, for those who fork faster than a pause. One who keeps up with more gets the next pause. */
const maxKills = 16

/**
 * Waits in real time, whatever clock the program runs on: processes live in no other, and a test that stops the clock
 * would wait for ever when its scope closes.
 */
const pause = (ms: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    return Effect.sync(() => clearTimeout(timer))
  })

const keyOf = ({ pid, startedAt }: Entry) => `${pid} ${startedAt}`

/**
 * Ends them, and gives the fate of each that was seen. Returns when none runs and nothing is pending, or when patience
 * is at its end.
 *
 * @category running
 * @since 0.1.0
 */
export const endAll = (prey: Prey, graceMs: number): Effect.Effect<ReadonlyArray<LeftBehind>> =>
  Effect.suspend(() => {
    const fates = new Map<string, LeftBehind>()
    const told = new Set<string>()

    /** Whoever is found new is named, and told to end. */
    const look = (signal: NodeJS.Signals): ReadonlyArray<Entry> => {
      const isFresh = (entry: Entry) => !told.has(keyOf(entry))
      const tell = (fresh: ReadonlyArray<Entry>) => {
        for (const entry of fresh) told.add(keyOf(entry))
        prey.signal(fresh, signal)
      }
      // At once: by the end of the look it has forked another.
      const found = prey.look((entry) => {
        if (signal === "SIGKILL" && isFresh(entry)) tell([entry])
      })
      for (const entry of found) {
        if (prey.unnamed(entry) || fates.has(keyOf(entry))) continue
        fates.set(keyOf(entry), {
          pid: entry.pid,
          fate: "alive",
          ...(entry.name === undefined ? {} : { name: entry.name })
        })
      }
      const fresh = found.filter(isFresh)
      if (fresh.length > 0) {
        tell(fresh)
        // A stopped process sees no other signal before this one.
        if (signal === "SIGTERM") prey.signal(fresh, "SIGCONT")
      }
      return found
    }
    const kill = (): ReadonlyArray<Entry> => {
      for (let i = 0; i < maxKills; i++) {
        const before = told.size
        const found = look("SIGKILL")
        if (told.size === before) return found
      }
      return look("SIGKILL")
    }
    const settle = (fate: LeftBehind["fate"], running: ReadonlyArray<Entry>) => {
      const keys = new Set(running.map(keyOf))
      for (const [key, left] of fates) if (left.fate === "alive" && !keys.has(key)) fates.set(key, { ...left, fate })
    }
    const wait = (
      again: () => ReadonlyArray<Entry>,
      patienceMs: number,
      enough: (running: ReadonlyArray<Entry>) => boolean
    ): Effect.Effect<ReadonlyArray<Entry>> => {
      const deadline = performance.now() + patienceMs
      const poll = (known: ReadonlyArray<Entry>, waitMs: number): Effect.Effect<ReadonlyArray<Entry>> =>
        Effect.suspend(() => {
          // While one that is known runs there is no need to look through the whole of /proc.
          const same = known.filter(prey.runs)
          const late = performance.now() >= deadline
          const running = same.length > 0 && !late && !enough(same) ? same : again()
          if (late || enough(running)) return Effect.succeed(running)
          return Effect.andThen(pause(waitMs), poll(running, Math.min(waitMs * 2, maxPollMs)))
        })
      return poll([], 1)
    }
    const over = (running: ReadonlyArray<Entry>) => running.length === 0 && !prey.pending()
    const result = Effect.sync(() => Array.from(fates.values()))

    if (over(look("SIGTERM"))) return result
    const enough = (running: ReadonlyArray<Entry>) => over(running) || prey.deaf(running)
    return wait(() => look("SIGTERM"), graceMs, enough).pipe(
      Effect.flatMap((running) => {
        settle("terminated", running)
        if (over(running)) return Effect.void
        told.clear()
        return Effect.map(wait(kill, killPatienceMs, over), (left) => settle("killed", left))
      }),
      Effect.andThen(result)
    )
  })
