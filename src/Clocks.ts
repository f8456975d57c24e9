/**
 * How long a call may take.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

/**
 * @category models
 * @since 0.1.0
 */
export interface Clocks {
  /** From the acceptance of the call to its end, whatever it does. None by default. */
  readonly total?: Duration.Input | undefined
  /**
   * How long a call that was ended may take to stop, before it is given up as detached. Less gives up on slow
   * clean-up; more keeps its reader waiting. By default the runtime's.
   */
  readonly grace?: Duration.Input | undefined
}

/**
 * The clocks that the caller sets for its calls, in addition to those that tools
 * declare: of two `total` the one that comes first holds, of two `grace` the
 * tool's.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentClocks = Context.Reference<Clocks>("toolstream/Clocks/CurrentClocks", {
  defaultValue: () => ({})
})
