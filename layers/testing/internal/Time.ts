/**
 * How a check waits: on a clock that it moves, or on that of the world.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { layer, VirtualClock } from "../VirtualClock.ts"

export interface Time {
  /** Waits until it is true, or until so many ms have passed, or nothing is going to happen any more. */
  readonly until: (done: () => boolean, limitMs: number, maxWakes: number) => Effect.Effect<void>
  /** Gives what was left running the time to show itself. */
  readonly linger: (ms: number) => Effect.Effect<void>
}

/** Times that a call is looked at again after nobody slept: it may wait for a promise. A millisecond each, of the world. */
const patience = 25

/** Moments at which somebody may wake while a check looks for what was left running. */
const lingeringWakes = 200

const virtual: Effect.Effect<Time, never, VirtualClock> = Effect.map(VirtualClock, (clock) => {
  const until: Time["until"] = (done, limitMs, maxWakes) => {
    const attempt = (left: number): Effect.Effect<void> =>
      Effect.flatMap(clock.settle({ until: done, limit: limitMs, maxWakes }), (settled) =>
        settled === "Quiet" && left > 0
          ? Effect.flatMap(clock.live(Effect.sleep(1)), () => attempt(left - 1))
          : Effect.void
      )
    return attempt(patience)
  }
  return {
    until,
    linger: (ms) => Effect.asVoid(clock.settle({ limit: ms, maxWakes: lingeringWakes }))
  }
})

const real: Time = {
  until: (done, limitMs) =>
    Effect.suspend(() => {
      const end = Date.now() + limitMs
      return Effect.whileLoop({
        while: () => !done() && Date.now() < end,
        body: () => Effect.sleep(1),
        step: () => {}
      })
    }),
  linger: Effect.sleep
}

/** Runs a trial on a new clock of the kind. */
export const within =
  (kind: "virtual" | "real") =>
  <A, E, R>(trial: (time: Time) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    kind === "virtual"
      ? Effect.provide(
          Effect.flatMap(virtual, (time) => trial(time)),
          layer
        )
      : // Whatever clock the caller has: a test runner's stands still.
        Effect.provideService(trial(real), Clock.Clock, Clock.Clock.defaultValue())
