/**
 * A journal that remembers, in memory and with the time of every entry.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Journal from "../../src/Journal.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  /** Milliseconds of the writer's clock. */
  readonly at: number
  readonly entry: Journal.Entry
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RecordingJournal {
  /** What was written so far. It grows while calls run. */
  readonly entries: ReadonlyArray<Entry>
  /** To be provided to a runtime. */
  readonly layer: Layer.Layer<never>
}

/**
 * An empty one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: {
  /** Told of every entry as it is written, before anybody else learns of it. */
  readonly onWrite?: ((entry: Journal.Entry) => void) | undefined
}): Effect.Effect<RecordingJournal> =>
  Effect.sync(() => {
    const entries: Array<Entry> = []
    const write = (entry: Journal.Entry) =>
      Clock.clockWith((clock) =>
        Effect.sync(() => {
          entries.push({ at: clock.currentTimeMillisUnsafe(), entry })
          options?.onWrite?.(entry)
        })
      )
    return { entries, layer: Layer.succeed(Journal.Journal, { progress: "full", write }) }
  })
