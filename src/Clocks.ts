/**
 * How long a call may take, and each part of it.
 *
 * Every clock has an ending of its own, `TimedOut`, that names it, says how far the
 * call had come, and what is known of its result. `grace` is no ending: it says how
 * long a call that was ended may take to stop.
 *
 * **Who sets a clock**
 *
 * - A tool declares its clocks, as limits or as defaults (`byDefault`).
 * - Whoever calls sets `CurrentClocks`: it takes the place of a default; where the
 *   tool declares a limit, the shorter of the two holds.
 * - A `ClockPolicy` has defaults for what nobody set, defaults for single tools, and
 *   caps that nobody exceeds.
 *
 * A clock is a whole number of milliseconds from 1 to 2,147,483,647, or infinite:
 * none. Anything else is an error of whoever set it, and the call is not executed.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

/**
 * @category models
 * @since 0.1.0
 */
export interface Clocks<D = Duration.Input> {
  /** From the acceptance of the call to its end, whatever it does. */
  readonly total?: D | undefined
  /** Without progress, while the tool runs. It stands still while progress waits for its reader. */
  readonly idle?: D | undefined
  /** Waiting for resources, and for its turn. */
  readonly queue?: D | undefined
  /** Waiting for a person. */
  readonly approval?: D | undefined
  /**
   * How long a call that was ended may take to stop, before it is given up as detached. Less gives up on slow
   * clean-up; more keeps its reader waiting. By default the runtime's. The tool's goes before the caller's.
   */
  readonly grace?: D | undefined
}

/**
 * A clock that whoever calls may set otherwise.
 *
 * @category models
 * @since 0.1.0
 */
export interface Default {
  readonly byDefault: Duration.Input
}

/**
 * What a tool declares.
 *
 * @category models
 * @since 0.1.0
 */
export type Declared = Clocks<Duration.Input | Default>

/**
 * @category constructors
 * @since 0.1.0
 */
export const byDefault = (duration: Duration.Input): Default => ({ byDefault: duration })

/** @internal */
export const unset: Clocks = {}

/**
 * The clocks that the caller sets for its calls.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentClocks = Context.Reference<Clocks>("toolstream/Clocks/CurrentClocks", {
  defaultValue: () => unset
})

/**
 * The clocks of a runtime.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  /** Of what neither the tool nor the caller sets. */
  readonly defaults?: Clocks | undefined
  /** By tool, in place of the defaults that it declares. */
  readonly tools?: Readonly<Record<string, Clocks>> | undefined
  /** What no call exceeds, whoever asks. */
  readonly caps?: Clocks | undefined
}

/**
 * Read when a runtime is built. By default there are no defaults and no caps.
 *
 * @category references
 * @since 0.1.0
 */
export const ClockPolicy = Context.Reference<Policy>("toolstream/Clocks/ClockPolicy", { defaultValue: () => ({}) })
