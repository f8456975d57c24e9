/**
 * A clock that moves when it is told to, and knows who sleeps.
 *
 * It is the `TestClock` of `effect/testing` with its sleepers counted. So it goes
 * from one deadline to the next instead of in steps that may be too large (a
 * sleep that begins in the middle of an adjustment starts late), and can say
 * that nothing is going to happen any more.
 *
 * **Contract**
 *
 * - Time stands still unless `advance` or `settle` is running.
 * - Whoever wakes runs until it waits again before the next one wakes, promises
 *   that resolve at once included.
 * - It says nothing of what waits for the real world: a file, a socket, a timer
 *   of the platform.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

/**
 * Why `settle` came back: what was awaited came true; nobody sleeps, so that time changes nothing; the next sleeper
 * is beyond the limit; sleepers woke up as often as was allowed.
 *
 * @category models
 * @since 0.1.0
 */
export type Settled = "Done" | "Quiet" | "Limit" | "Busy"

/**
 * @category services
 * @since 0.1.0
 */
export class VirtualClock extends Context.Service<
  VirtualClock,
  {
    /** Milliseconds since the clock was made. */
    readonly now: Effect.Effect<number>
    /** Fibers that sleep, now. */
    readonly sleepers: Effect.Effect<number>
    /** Lets time pass, deadline by deadline. */
    readonly advance: (duration: Duration.Input) => Effect.Effect<void>
    /** Lets time pass until nothing happens any more, or what is awaited has. */
    readonly settle: (options?: {
      readonly until?: (() => boolean) | undefined
      /** No time beyond it, counted from now, passes. Default: none. */
      readonly limit?: Duration.Input | undefined
      /** Moments at which somebody woke up. Default: 100,000. A loop that sleeps for ever ends there. */
      readonly maxWakes?: number | undefined
    }) => Effect.Effect<Settled>
    /** Runs an effect on the clock outside of this one. */
    readonly live: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("toolstream/testing/VirtualClock") {}

const make = Effect.gen(function* () {
  const clock = yield* TestClock.testClockWith(Effect.succeed)
  // The first sleep of a test clock starts a warning as a child of whoever sleeps; in a fiber that is being interrupted
  // that ends the sleep. After an adjustment there is no warning.
  yield* clock.adjust(0)
  const deadlines = new Map<object, number>()
  const now = clock.currentTimeMillisUnsafe
  const sleepUncounted = clock.sleep

  const sleep = (duration: Duration.Duration): Effect.Effect<void> =>
    Effect.suspend(() => {
      const key = {}
      deadlines.set(key, now() + Duration.toMillis(duration))
      return Effect.ensuring(
        sleepUncounted(duration),
        Effect.sync(() => deadlines.delete(key))
      )
    })

  // In place, not in a copy: a test clock inside of this one finds the real clock by this object.
  Object.assign(clock, { sleep })

  /** A turn of the event loop runs what promises and interruptions have made ready; a chain of them takes several. */
  const drain = (until: () => boolean): Effect.Effect<void> =>
    Effect.suspend(() => {
      let turns = 0
      return Effect.whileLoop({
        while: () => turns++ < turnsToDrain && !until(),
        body: () => Effect.yieldNow,
        step: () => {}
      })
    })

  const settle: VirtualClock["Service"]["settle"] = ({ limit, maxWakes = 100_000, until = () => false } = {}) =>
    Effect.suspend(() => {
      const end = now() + (limit === undefined ? Infinity : Duration.toMillis(Duration.fromInputUnsafe(limit)))
      const step = (wakes: number): Effect.Effect<Settled> =>
        Effect.flatMap(drain(until), () => {
          if (until()) return Effect.succeed("Done")
          const next = Math.min(...deadlines.values())
          if (next === Infinity) return Effect.succeed("Quiet")
          if (next > end) return Effect.as(clock.adjust(end - now()), "Limit")
          if (wakes >= maxWakes) return Effect.succeed("Busy")
          return Effect.flatMap(clock.adjust(Math.max(0, next - now())), () => step(wakes + 1))
        })
      return step(0)
    })

  const service = VirtualClock.of({
    now: clock.currentTimeMillis,
    sleepers: Effect.sync(() => deadlines.size),
    advance: (duration) =>
      Effect.suspend(() => {
        const end = now() + Duration.toMillis(Duration.fromInputUnsafe(duration))
        const rest = Effect.suspend(() => clock.adjust(Math.max(0, end - now())))
        return Effect.andThen(Effect.andThen(settle({ limit: duration }), rest), settle({ limit: 0 }))
      }),
    settle,
    live: clock.withLive
  })
  return service
})

/** Turns of the event loop after which nothing can be ready that waits for none of the world. */
const turnsToDrain = 12

/**
 * A clock at 0, in place of whichever there is. `TestClock.adjust` moves it, too.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<VirtualClock> = Layer.fresh(
  Layer.provideMerge(Layer.effect(VirtualClock, make), TestClock.layer())
)
