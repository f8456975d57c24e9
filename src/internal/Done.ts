/**
 * Whether an effect has ended before it ran: most of a call's steps are functions,
 * and what they make is there at once.
 *
 * `Exit.isExit` looks for a property in a chain of prototypes, ten times in a call.
 * The exits of effect have one of two prototypes. One of another making is taken for
 * an effect, which it is as well.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

const success: unknown = Object.getPrototypeOf(Exit.void)
const failure: unknown = Object.getPrototypeOf(Exit.fail(undefined))

/** @internal */
export const isDone = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Exit<A, E> => {
  const prototype: unknown = Object.getPrototypeOf(effect)
  return prototype === success || prototype === failure
}

/** @internal */
export const hasSucceeded = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Success<A, E> =>
  Object.getPrototypeOf(effect) === success

/** An effect, or the defect that was thrown instead of it. For what runs already. */
export const startNow = <T extends Effect.Effect<any, any, any> | undefined>(start: () => T): T | Exit.Exit<never> => {
  try {
    return start()
  } catch (defect) {
    return Exit.die(defect)
  }
}
