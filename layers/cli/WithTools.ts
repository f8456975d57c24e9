/**
 * What a subcommand does around its work: it builds the tools that its options ask for, and
 * says how it ended.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Signals } from "../node/Signals.ts"
import * as ExitStatus from "./ExitStatus.ts"
import type * as Toolbox from "./Toolbox.ts"

/**
 * @category models
 * @since 0.1.0
 */
export type Options = Omit<Toolbox.Options, "session">

/**
 * Builds what the options ask for and uses it. Whoever ends the program before it is built has started no call.
 *
 * @category running
 * @since 0.1.0
 */
export const withTools = <E, R>(
  options: Options,
  use: Effect.Effect<boolean | number, E, R>,
  session?: (workspace: string) => Effect.Effect<string | undefined, ExitStatus.UsageError>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const status = yield* ExitStatus.ExitStatus
      const signals = yield* Signals
      const Toolbox = yield* Effect.promise(() => import("./Toolbox.ts"))
      const toolbox = yield* Effect.raceFirst(
        Effect.asSome(Layer.build(Toolbox.layer({ ...options, session }))),
        Effect.as(signals.first, Option.none())
      )
      const succeeded = Option.isSome(toolbox) && (yield* Effect.provide(use, toolbox.value))
      if (typeof succeeded === "number") return yield* status.set(succeeded)
      yield* status.set(
        (yield* signals.received) ? ExitStatus.interrupted : succeeded ? ExitStatus.succeeded : ExitStatus.failed
      )
    })
  )

/**
 * The same, once the calls are ended that a program left open in the journal.
 *
 * @category running
 * @since 0.1.0
 */
export const withJournal = <E, R>(
  given: Options & { readonly journal: string | undefined },
  use: Effect.Effect<boolean | number, E, R>
) =>
  withTools(
    given,
    given.journal === undefined
      ? use
      : Effect.andThen(
          Effect.flatMap(
            Effect.promise(() => import("./Journal.ts")),
            (Journal) => Journal.recoverFirst()
          ),
          use
        )
  )
