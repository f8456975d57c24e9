/**
 * What becomes of progress that comes faster than its reader takes it.
 *
 * - `lossless`: all of it, in order. The tool waits for its reader.
 * - `latest`: the reader gets the newest; what it had no time for is dropped.
 * - `sample`: the same, and at most one value in so many milliseconds.
 * - `coalesce`: what waits is merged into one value. Where two values cannot be
 *   merged, the tool waits.
 * - `shown`: for a reader that shows it to people. What waits is merged, or the newest
 *   stays; at most one value in so many milliseconds, and the tool never waits.
 *
 * **Laws**
 *
 * - Whoever is slow holds one value in memory, and the one it was given.
 * - The order stays, the last value is delivered before the result or the failure,
 *   and after the end there is none.
 * - Of what a tool emits each value is delivered, merged into another, or dropped:
 *   `emitted = delivered + merged + dropped`.
 *
 * A tool declares the policy that is right for its progress whoever reads it, and
 * how two of its values are merged; a consumer sets its own, `CurrentProgressPolicy`.
 * Where both are set, progress goes through the tool's, then through the consumer's.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as CallStage from "./CallStage.ts"
import { type Body, effectOf, type Emit, fromBody } from "./internal/Body.ts"
import { currentOf, fromCall } from "./internal/Prepared.ts"
import { remembering } from "./internal/Remembering.ts"
import type { PreparedCall } from "./ToolMiddleware.ts"
import type { ToolStream } from "./ToolStream.ts"

/**
 * Two values as one, the older first; undefined if they stay two.
 *
 * @category models
 * @since 0.1.0
 */
export type Merge<P> = (older: P, newer: P) => P | undefined

/**
 * @category models
 * @since 0.1.0
 */
export type ProgressPolicy<P = unknown> =
  | { readonly _tag: "Lossless" }
  | { readonly _tag: "Latest" }
  | { readonly _tag: "Sample"; readonly everyMs: number }
  /** Without `merge` as the tool declares it. */
  | { readonly _tag: "Coalesce"; readonly merge: Merge<P> | undefined }
  /** Without `merge` as the tool declares it. */
  | { readonly _tag: "Shown"; readonly everyMs: number; readonly merge: Merge<P> | undefined }

/**
 * @category constructors
 * @since 0.1.0
 */
export const lossless: { readonly _tag: "Lossless" } = { _tag: "Lossless" }

/**
 * @category constructors
 * @since 0.1.0
 */
export const latest: { readonly _tag: "Latest" } = { _tag: "Latest" }

/**
 * At most one value in so many milliseconds, of which there are 1 to 2,147,483,647: others throw.
 *
 * @category constructors
 * @since 0.1.0
 */
export const sample = (everyMs: number): { readonly _tag: "Sample"; readonly everyMs: number } => ({
  _tag: "Sample",
  everyMs: inRange(everyMs)
})

/**
 * For a reader that shows it: merged as the tool declares it, else the newest, and at most one value in so many
 * milliseconds, of which there are 1 to 2,147,483,647: others throw.
 *
 * @category constructors
 * @since 0.1.0
 */
export const shown = (
  everyMs: number
): { readonly _tag: "Shown"; readonly everyMs: number; readonly merge: undefined } => ({
  _tag: "Shown",
  everyMs: inRange(everyMs),
  merge: undefined
})

const inRange = (everyMs: number): number => {
  if (everyMs >= 1 && everyMs <= 2 ** 31 - 1) return everyMs
  throw new RangeError(`a sample every ${everyMs} ms; give 1 to ${2 ** 31 - 1} milliseconds`)
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const coalesce = <P>(merge: Merge<P>): ProgressPolicy<P> => ({ _tag: "Coalesce", merge })

/**
 * As the tool declares it. Of one that declares nothing, nothing is merged: it waits.
 *
 * @category constructors
 * @since 0.1.0
 */
export const coalesceAsDeclared: { readonly _tag: "Coalesce"; readonly merge: undefined } = {
  _tag: "Coalesce",
  merge: undefined
}

/**
 * What the consumer of the calls made here wants. Progress values are JSON. Undefined by default: all of it.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentProgressPolicy = Context.Reference<ProgressPolicy | undefined>(
  "toolstream/ProgressPolicy/CurrentProgressPolicy",
  { defaultValue: () => undefined }
)

/**
 * Puts a stream under a policy.
 *
 * @category combinators
 * @since 0.1.0
 */
export const apply = <P, A, E, R>(self: ToolStream<P, A, E, R>, policy: ProgressPolicy<P>): ToolStream<P, A, E, R> =>
  fromBody((emit) => under(policy, (emit) => effectOf(self, emit), undefined)(emit))

/**
 * Puts the stream of a call under the policy of its tool, then under that of its consumer. What they merge and drop is
 * told in the terminal of the call.
 *
 * @category combinators
 * @since 0.1.0
 */
export const forCall = <A, E, R>(
  self: ToolStream<unknown, A, E, R>,
  prepared: PreparedCall
): ToolStream<unknown, A, E, R> => {
  const { call, tool } = prepared
  const known = currentOf(prepared)
  const consumers = known === undefined ? undefined : consumersOf(known.outer)
  if (tool.progressPolicy === undefined && consumers === undefined) return self
  return fromCall(prepared, (emit: Emit<unknown>, current) => {
    const count = current?.call === call ? current : undefined
    let body: Body<unknown, A, E, R> = (emit) => effectOf(self, emit)
    if (tool.progressPolicy !== undefined) body = under(tool.progressPolicy, body, count)
    if (consumers !== undefined) {
      const asDeclared = (consumers._tag === "Coalesce" || consumers._tag === "Shown") && consumers.merge === undefined
      body = under(asDeclared ? { ...consumers, merge: tool.mergeProgress } : consumers, body, count)
    }
    return body(emit)
  })
}

const consumersOf = remembering((context) => Context.get(context, CurrentProgressPolicy))

const under = <P, A, E, R>(
  policy: ProgressPolicy<P>,
  body: Body<P, A, E, R>,
  counted: Count | undefined
): Body<P, A, E, R> =>
  policy._tag === "Lossless" || (policy._tag === "Coalesce" && policy.merge === undefined)
    ? body
    : (emit) =>
        Effect.withFiber((fiber) => {
          const count = counted ?? { merged: 0, omitted: 0, held: 0 }
          const slot = new Slot(policy, emit, count, fiber.context as Context.Context<never>)
          const run = Effect.suspend(() => body(slot.emit))
          return Effect.ensuring(
            Effect.matchCauseEffect(run, {
              onSuccess: (value) => Effect.as(slot.drain, value),
              onFailure: (cause) =>
                Cause.hasInterrupts(cause)
                  ? Effect.failCause(cause)
                  : Effect.andThen(slot.drain, Effect.failCause(cause))
            }),
            slot.close
          )
        })

interface Count {
  merged: number
  omitted: number
  held: number
}

/** Holds the one value that waits. A fiber of its own hands it over whenever the reader is ready. */
class Slot<P> {
  private readonly policy: ProgressPolicy<P>
  private readonly to: Emit<P>
  private readonly count: Count
  private readonly context: Context.Context<never>
  private readonly clock: Clock.Clock
  private value: { readonly held: P } | undefined
  private pump: Fiber.Fiber<void> | undefined
  /** Whether the pump waits for its next sample, and when it had the last. */
  private resting = false
  private sampledAt = -Infinity
  private ending = false
  private closed = false
  /** Emitters that cannot put their value. */
  private free: Deferred.Deferred<void> | undefined

  constructor(policy: ProgressPolicy<P>, to: Emit<P>, count: Count, context: Context.Context<never>) {
    this.policy = policy
    this.to = to
    this.count = count
    this.context = context
    this.clock = Context.get(context, Clock.Clock)
  }

  readonly emit: Emit<P> = (values) => Effect.suspend(() => this.put(values, 0))

  /** All that is held, handed over. */
  readonly drain: Effect.Effect<void> = Effect.suspend(() => {
    this.ending = true
    if (this.pump === undefined) return Effect.void
    const pump = this.pump
    const rest = this.resting
      ? Effect.andThen(
          Fiber.interrupt(pump),
          Effect.suspend(() => this.handOver())
        )
      : Fiber.await(pump)
    return CallStage.within("drain", "the reader of its progress", rest)
  })

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.closed = true
    const stop = this.pump === undefined ? Effect.void : Fiber.interrupt(this.pump)
    return Effect.andThen(
      stop,
      Effect.sync(() => {
        if (this.take() !== undefined) this.count.omitted++
        this.freed()
      })
    )
  })

  private put(values: NonEmptyReadonlyArray<P>, from: number): Effect.Effect<void> {
    for (let i = from; i < values.length; i++) {
      if (this.closed) {
        this.count.omitted += values.length - i
        return Effect.void
      }
      if (this.keep(values[i]!)) continue
      this.start()
      // A reader that was waiting has taken it here and now.
      if (!this.keep(values[i]!)) return this.later(values, i)
    }
    this.start()
    return Effect.void
  }

  private start(): void {
    if (this.pump !== undefined) return
    this.pump = Effect.runForkWith(this.context)(this.pumping())
    this.pump.addObserver(() => {
      this.pump = undefined
    })
  }

  /** Tries again when the value that is in the way is gone. Who is interrupted first has said it in vain. */
  private later(values: NonEmptyReadonlyArray<P>, from: number): Effect.Effect<void> {
    const wait = Effect.suspend(() => Deferred.await((this.free ??= Deferred.makeUnsafe())))
    const waited = Effect.onInterrupt(wait, () =>
      Effect.sync(() => {
        this.count.omitted += values.length - from
      })
    )
    return Effect.flatMap(waited, () => this.put(values, from))
  }

  private keep(value: P): boolean {
    const { count, policy } = this
    const before = this.value
    if (before === undefined) {
      count.held++
      this.value = { held: value }
      return true
    }
    if (policy._tag === "Coalesce" || policy._tag === "Shown") {
      const merged = policy.merge?.(before.held, value)
      if (merged !== undefined) {
        this.value = { held: merged }
        count.merged++
        return true
      }
      if (policy._tag === "Coalesce") return false
    }
    this.value = { held: value }
    count.omitted++
    return true
  }

  private take(): { readonly held: P } | undefined {
    const { value } = this
    if (value === undefined) return undefined
    this.value = undefined
    this.count.held--
    return value
  }

  private freed(): void {
    const { free } = this
    this.free = undefined
    if (free !== undefined) Deferred.doneUnsafe(free, Effect.void)
  }

  private pumping(): Effect.Effect<void> {
    return Effect.whileLoop({
      while: () => this.value !== undefined,
      body: () =>
        Effect.andThen(
          this.rest(),
          Effect.suspend(() => this.handOver())
        ),
      step: () => {}
    })
  }

  /** Until the next sample is due. */
  private rest(): Effect.Effect<void> {
    const { policy } = this
    if ((policy._tag !== "Sample" && policy._tag !== "Shown") || this.ending) return Effect.void
    const left = this.sampledAt + policy.everyMs - this.clock.currentTimeMillisUnsafe()
    if (left <= 0) return Effect.void
    this.resting = true
    return Effect.ensuring(
      Effect.sleep(left),
      Effect.sync(() => {
        this.resting = false
      })
    )
  }

  private handOver(): Effect.Effect<void> {
    const value = this.take()
    if (value === undefined) return Effect.void
    this.sampledAt = this.clock.currentTimeMillisUnsafe()
    // From here on it is counted where it is offered.
    const offered = this.to([value.held])
    this.freed()
    return offered
  }
}
