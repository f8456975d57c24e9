/**
 * What a call does between its acceptance and its terminal.
 *
 * Whatever makes a call wait (a gate, a person, a slow reader) says so here, once:
 * then `inFlight` shows it, the clock of the stage runs, and whoever observes the
 * call sees when the stage began and ended.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Current from "./internal/Current.ts"

/**
 * Waiting for resources or for its turn; waiting for a person; its tool runs; its
 * tool has ended, and what it said is on its way to the reader.
 *
 * @category models
 * @since 0.1.0
 */
export const Stage = Schema.Literals(["queue", "approval", "run", "drain"])
export type Stage = typeof Stage.Type

/**
 * The stages that stand around the tool.
 *
 * @category models
 * @since 0.1.0
 */
export type Waiting = Exclude<Stage, "run">

/**
 * Runs an effect as a stage of the current call. `detail` says what it waits for,
 * for people. A stage inside of another takes its place until it ends.
 *
 * **When to use**
 *
 * Only around what does wait: a stage that ends at once is a stage, too.
 *
 * @category combinators
 * @since 0.1.0
 */
export const within = <A, E, R>(
  stage: Waiting,
  detail: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => Current.of(fiber.context)?.within(stage, detail, effect) ?? effect)
