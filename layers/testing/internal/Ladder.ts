/**
 * The scenarios for a call, from what it did when nobody interfered: from simple
 * to intricate, and from early to late, so that the first that shows a fault is
 * the least.
 *
 * @since 0.1.0
 */
import type { Scenario, Step } from "../LawViolation.ts"
import type { View } from "../RecordingReader.ts"
import type { Trial } from "./Trial.ts"

/** How long a slow reader takes over each thing, in ms: longer than nothing, and seldom as long as what a tool does. */
const paceMs = 3

const views: ReadonlyArray<View> = ["events", "pulled", "run", "taken"]

/** What follows the probe, which read the events to their end. */
export const ladder = ({ calls, durationMs }: Trial, steps: number): ReadonlyArray<Scenario> => {
  const count = calls[0]?.runs.reduce((sum, { emitted }) => sum + emitted.length, 0) ?? 0
  const times = spread(durationMs, steps).filter((ms) => ms > 0)
  const numbers = spread(count, steps)
  const at: ReadonlyArray<Step> = [
    ...numbers.map((n): Step => ({ _tag: "AfterProgress", n })),
    ...times.map((ms): Step => ({ _tag: "AfterMs", ms }))
  ]
  const some = numbers.filter((n) => n > 0).slice(0, 4)
  return [
    { _tag: "Drain", view: "pulled", paceMs: 0 },
    { _tag: "Drain", view: "run", paceMs: 0 },
    { _tag: "Drain", view: "taken", paceMs: 0 },
    ...(count > 0 ? [{ _tag: "Drain", view: "events", paceMs } as const] : []),
    ...at.map((at): Scenario => ({ _tag: "Cancel", at })),
    ...at.map((at): Scenario => ({ _tag: "Leave", at })),
    ...some.map((n, index): Scenario => ({ _tag: "Take", view: views[index % views.length]!, n })),
    ...some.map((n, index): Scenario => ({ _tag: "Break", view: views[index % views.length]!, n })),
    ...times.map((ms): Scenario => ({ _tag: "Timeout", ms })),
    { _tag: "Twice", atOnce: false },
    { _tag: "Twice", atOnce: true },
    ...at.map((at): Scenario => ({ _tag: "Shutdown", at }))
  ]
}

/** At most `steps + 1` whole numbers from 0 to `end`, both among them, the small ones first. */
const spread = (end: number, steps: number): ReadonlyArray<number> =>
  end <= steps
    ? Array.from({ length: end + 1 }, (_, n) => n)
    : [...new Set(Array.from({ length: steps + 1 }, (_, n) => Math.floor((n * end) / steps)))]
