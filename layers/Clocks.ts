/**
 * The clocks of a runtime: defaults for what neither the tool nor the caller sets,
 * defaults for single tools, and caps that no call exceeds. See `src/Clocks`.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import { ClockPolicy, type Policy } from "../src/Clocks.ts"

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (policy: Policy): Layer.Layer<never> => Layer.succeed(ClockPolicy, policy)

/**
 * Nobody waits for ever: a call waits at most 10 minutes for resources and an hour
 * for a person. How long a tool may run is left to the tool.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = layerWith({ defaults: { queue: "10 minutes", approval: "1 hour" } })
