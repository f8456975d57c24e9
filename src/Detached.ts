/**
 * The last resort against work that ignores interruption.
 *
 * A call whose tool does not stop within its grace is given up as detached: its
 * terminal says so, and its fiber goes on. Most of what can be detached can be ended
 * by force (a worker is terminated, a connection destroyed), and whoever started it
 * knows how. It is not done by itself: force may leave behind what interruption
 * would have cleaned up. `ToolRuntime.inFlight` lists the calls, each with `kill`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Current from "./internal/Current.ts"

/**
 * Says how to end an effect that ignores interruption, should its call be detached
 * and killed. `kill` makes the effect end; it does not wait for it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const killable = <A, E, R, R2>(
  effect: Effect.Effect<A, E, R>,
  kill: Effect.Effect<void, never, R2>
): Effect.Effect<A, E, R | R2> =>
  Effect.contextWith((context) =>
    Effect.withFiber((fiber) => {
      const current = Current.of(fiber.context)
      if (current === undefined) return effect
      const own = Effect.provideContext(kill, context)
      const known = Effect.suspend(() => {
        current.kills = [...current.kills, own]
        return effect
      })
      return Effect.onExitPrimitive(known, () => {
        current.kills = current.kills.filter((other) => other !== own)
        return undefined
      })
    })
  )
