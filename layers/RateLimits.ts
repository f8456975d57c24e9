/**
 * How often each tool may be called. A call that comes too early ends as
 * `RateLimited`, and says when to call again: it is not executed, and does not wait.
 *
 * The limits are kept by Effect's `RateLimiter`: in memory, or for all processes
 * that share its store (`RateLimiter.layerStoreRedis`).
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimiter from "effect/persistence/RateLimiter"
import type { ToolCall } from "../src/ToolCall.ts"
import { fromReason, RateLimited, type ToolError, Unavailable } from "../src/ToolError.ts"
import * as ToolMiddleware from "../src/ToolMiddleware.ts"
import * as ToolStream from "../src/ToolStream.ts"

/**
 * So many calls in any such time.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rate {
  readonly limit: number
  readonly window: Duration.Input
  /** Default: "fixed-window", where the count starts anew after each window. */
  readonly algorithm?: "fixed-window" | "token-bucket" | undefined
}

/**
 * By the name of the tool. A tool that is not named has no limit.
 *
 * @category models
 * @since 0.1.0
 */
export type Rates = Readonly<Record<string, Rate>>

/**
 * @category layers
 * @since 0.1.0
 */
export const layerShared = (rates: Rates): Layer.Layer<never, never, RateLimiter.RateLimiter> =>
  ToolMiddleware.layer(
    Effect.gen(function* () {
      const limiter = yield* RateLimiter.RateLimiter
      return (next) => (prepared) => {
        const { call } = prepared
        const rate = Object.hasOwn(rates, call.name) ? rates[call.name] : undefined
        if (rate === undefined) return next(prepared)
        const consume = Effect.mapError(
          limiter.consume({ ...rate, key: `toolstream/${call.name}`, onExceeded: "fail" }),
          (error) => refusal(call, error)
        )
        return ToolStream.lift(next(prepared), (run) => Effect.andThen(consume, run))
      }
    })
  )

/**
 * Within this process.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (rates: Rates): Layer.Layer<never> =>
  layerShared(rates).pipe(Layer.provide(RateLimiter.layer), Layer.provide(RateLimiter.layerStoreMemory))

const refusal = (call: ToolCall, { reason }: RateLimiter.RateLimiterError): ToolError =>
  fromReason(
    call,
    reason._tag === "RateLimitExceeded"
      ? new RateLimited({ retryAfterMs: Math.max(1, Math.ceil(Duration.toMillis(reason.retryAfter))) })
      : new Unavailable({ detail: `its rate limits cannot be read: ${reason.message}` })
  )
