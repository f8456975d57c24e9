/**
 * Progress policies around every call: what the tool declares, then what its
 * consumer wants. See `src/ProgressPolicy`.
 *
 * Without this layer nothing is merged or dropped, and every tool waits for its
 * reader.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ProgressPolicy from "../src/ProgressPolicy.ts"
import * as ToolMiddleware from "../src/ToolMiddleware.ts"

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = ToolMiddleware.layer(
  Effect.succeed((next) => (prepared) => ProgressPolicy.forCall(next(prepared), prepared))
)
