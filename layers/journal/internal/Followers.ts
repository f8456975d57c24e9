/**
 * Readers that wait for what comes of a call.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

export interface Followers {
  /** Those of these calls; of all calls if none is named. */
  readonly wake: (callIds?: Iterable<string>) => void
  /**
   * Looks, and where there is nothing yet waits to be woken, or for `Effect.never` or a timer in its place, and looks
   * again. Who is woken while it looks does not wait.
   */
  readonly look: <A, E>(
    callId: string,
    see: Effect.Effect<A | undefined, E>,
    otherwise: Effect.Effect<void>
  ) => Effect.Effect<A, E>
}

export const make = (): Followers => {
  const waiting = new Map<string, Set<Deferred.Deferred<void>>>()

  const wakeOne = (callId: string) => {
    const those = waiting.get(callId)
    if (those === undefined) return
    waiting.delete(callId)
    for (const woken of those) Deferred.doneUnsafe(woken, Effect.void)
  }

  const join = (callId: string): Deferred.Deferred<void> => {
    const woken = Deferred.makeUnsafe<void>()
    const those = waiting.get(callId)
    if (those === undefined) waiting.set(callId, new Set([woken]))
    else those.add(woken)
    return woken
  }

  const leave = (callId: string, woken: Deferred.Deferred<void>) => {
    const those = waiting.get(callId)
    if (those?.delete(woken) === true && those.size === 0) waiting.delete(callId)
  }

  return {
    wake: (callIds) => {
      for (const callId of callIds ?? [...waiting.keys()]) wakeOne(callId)
    },
    look: (callId, see, otherwise) =>
      Effect.gen(function* () {
        while (true) {
          const woken = join(callId)
          const seen = yield* see.pipe(
            Effect.tap((seen) =>
              seen === undefined ? Effect.raceFirst(Deferred.await(woken), otherwise) : Effect.void
            ),
            Effect.ensuring(Effect.sync(() => leave(callId, woken)))
          )
          if (seen !== undefined) return seen
        }
      })
  }
}
