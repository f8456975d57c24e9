/**
 * The port to the conversations that were kept, so that a client can take one up again.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { SessionLog, SessionRecord } from "../agent/SessionLog.ts"

/**
 * @category services
 * @since 0.1.0
 */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** Of a conversation, in order; none, if there is no such. */
    readonly records: (sessionId: string) => Effect.Effect<Option.Option<ReadonlyArray<SessionRecord>>>
    /** Where the records of a conversation go, new or old. */
    readonly open: (kept: { readonly sessionId: string; readonly workspace: string }) => SessionLog
  }
>()("toolstream/acp/Sessions") {}

/**
 * In memory: they end with the program.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<Sessions> = Layer.sync(Sessions, () => {
  const kept = new Map<string, ReadonlyArray<SessionRecord>>()
  return Sessions.of({
    records: (sessionId) => Effect.sync(() => Option.fromUndefinedOr(kept.get(sessionId))),
    open: ({ sessionId }) => ({
      append: (records) => Effect.sync(() => void kept.set(sessionId, [...(kept.get(sessionId) ?? []), ...records]))
    })
  })
})
