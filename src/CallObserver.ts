/**
 * Who watches calls from their acceptance to their terminal: telemetry.
 *
 * An observer sees every call that was accepted, also one that never gets to the
 * middlewares, and it sees the one terminal, also of a call that was given up as
 * detached. It answers at once and changes nothing; an exception in it is logged.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"
import type { Stage } from "./CallStage.ts"
import type { ToolCall } from "./ToolCall.ts"
import type { Terminal } from "./ToolEvent.ts"
import type { PreparedCall } from "./ToolMiddleware.ts"

/**
 * One call, watched.
 *
 * @category models
 * @since 0.1.0
 */
export interface Watch {
  /** The parent of whatever span is made within the call. */
  readonly span: Tracer.AnySpan | undefined
  /** The tool was found, and the parameters are decoded. */
  readonly prepared: (prepared: PreparedCall) => void
  /** Runs a stage: what `start` gives may have ended there and then. It is called where the call runs, and throws nothing. */
  readonly stage: <A, E, R>(stage: Stage, start: () => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The call has its terminal, which nobody has seen yet. */
  readonly ended: (terminal: Terminal) => void
}

/**
 * Begins to watch a call that was made in a context.
 *
 * @category models
 * @since 0.1.0
 */
export type Observer = (call: ToolCall, context: Context.Context<never>) => Watch

/**
 * Read when a runtime is built. Undefined by default: nothing is watched, and nothing is paid for it.
 *
 * @category references
 * @since 0.1.0
 */
export const CallObserver = Context.Reference<Observer | undefined>("toolstream/CallObserver", {
  defaultValue: () => undefined
})
