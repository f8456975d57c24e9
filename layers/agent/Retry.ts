/**
 * How often a response is asked for that did not come, and how long is waited between.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as ToolStream from "../../src/ToolStream.ts"
import type { Response, SamplerEvent } from "./Sampler.ts"
import { isTransient, type SamplerError } from "./SamplerError.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  /** Further attempts. Default: 4. */
  readonly retries?: number | undefined
  /** Before the first of them; doubled each time, and up to half of it is left to chance. Default: 500 ms. */
  readonly baseMs?: number | undefined
  /** At most. A provider that wants to be left alone for longer is not asked again. Default: 60,000 ms. */
  readonly maxMs?: number | undefined
}

/**
 * Asks again after a failure that may pass: what had been told of the response is void, and a `Retrying` says so.
 *
 * @category combinators
 * @since 0.1.0
 */
export const retrying = (
  attempt: ToolStream.ToolStream<SamplerEvent, Response, SamplerError>,
  { baseMs = 500, maxMs = 60_000, retries = 4 }: Policy = {}
): ToolStream.ToolStream<SamplerEvent, Response, SamplerError> =>
  ToolStream.callbackArray((emit) => {
    const from = (number: number): Effect.Effect<Response, SamplerError> =>
      Effect.catch(ToolStream.runForEachArray(attempt, emit), (error) =>
        Effect.gen(function* () {
          if (number > retries || !isTransient(error)) return yield* error
          const asked = "retryAfterMs" in error.reason ? error.reason.retryAfterMs : undefined
          if (asked !== undefined && asked > maxMs) return yield* error
          const backoff = Math.min(maxMs, baseMs * 2 ** (number - 1)) * (1 - 0.5 * (yield* Random.next))
          const delayMs = Math.round(Math.max(asked ?? 0, backoff))
          const told: NonEmptyReadonlyArray<SamplerEvent> = [
            { _tag: "Retrying", attempt: number, delayMs, why: error.message }
          ]
          yield* emit(told)
          yield* Effect.sleep(delayMs)
          return yield* from(number + 1)
        })
      )
    return from(1)
  })
