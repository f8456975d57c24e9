/**
 * Whose requests they are: the session behind a connection, and the batch of what is in
 * flight on it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CurrentSession, type Session } from "../../src/Session.ts"
import { type Dispatch, ToolRuntime } from "../../src/ToolRuntime.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Connection {
  readonly session: Session
  /** Runs what it makes of the batch of the requests that are in flight on the connection. */
  readonly inBatch: <A, E, R>(use: (batch: Dispatch) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * @category services
 * @since 0.1.0
 */
export class Connections extends Context.Service<
  Connections,
  {
    /**
     * Runs what it makes of the connection of the request that the running fiber handles. The session is held until it
     * ends.
     */
    readonly use: <A, E, R>(run: (connection: Connection) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("toolstream/mcp/Connections") {}

/**
 * A connection of the session. While anything is in flight on it, an id that a request has had is refused.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (session: Session, runtime: ToolRuntime["Service"]): Connection => {
  let inFlight = 0
  let current: Dispatch = runtime
  return {
    session,
    inBatch: (use) =>
      Effect.suspend(() => {
        // Counted and given back in one: an interruption in between would keep the batch open for ever.
        let counted = false
        const begun = Effect.suspend(() => {
          counted = true
          return inFlight++ === 0 ? Effect.flatMap(runtime.batch, (batch) => use((current = batch))) : use(current)
        })
        return Effect.onExitPrimitive(begun, () => {
          if (counted) inFlight--
          return undefined
        })
      })
  }
}

/**
 * One connection, that of the current session: a server on stdio.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerOne: Layer.Layer<Connections, never, ToolRuntime> = Layer.effect(
  Connections,
  Effect.gen(function* () {
    const connection = make(yield* CurrentSession, yield* ToolRuntime)
    return { use: (run) => run(connection) }
  })
)
