/**
 * How far the calls of a session may go without a person.
 *
 * - `ask`: whoever permits calls decides, and asks.
 * - `auto-edit`: files of the workspace are changed unasked; the rest is as in `ask`.
 * - `read-only`: nothing is changed.
 * - `plan`: nothing is changed but the plan, a file, until a person approves of it.
 *
 * It is a fact of the session, set by a person or by the tools that plan. What follows
 * from it is for `layers/Modes` to enforce; without that layer a mode is a word.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { LazyArg } from "effect/Function"
import * as Schema from "effect/Schema"

/**
 * @category models
 * @since 0.1.0
 */
export const Mode = Schema.Literals(["ask", "auto-edit", "read-only", "plan"])
export type Mode = typeof Mode.Type

/**
 * The mode of one session.
 *
 * @category models
 * @since 0.1.0
 */
export interface SessionMode {
  readonly now: LazyArg<Mode>
  readonly set: (mode: Mode) => Effect.Effect<void>
  /** Goes back to the mode before the planning began. Gives the mode from then on. */
  readonly leavePlan: Effect.Effect<Mode>
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const makeUnsafe = (initial: Mode = "ask"): SessionMode => {
  let mode = initial
  let before: Mode = initial === "plan" ? "ask" : initial
  return {
    now: () => mode,
    set: (next) =>
      Effect.sync(() => {
        if (next !== "plan") before = next
        mode = next
      }),
    leavePlan: Effect.sync(() => (mode === "plan" ? (mode = before) : mode))
  }
}

/**
 * The file of a session's plan, relative to its workspace: the only one that may be written while it plans.
 *
 * @category getters
 * @since 0.1.0
 */
export const planFile = (session: { readonly id: string }): string =>
  `.toolstream/plans/${encodeURIComponent(session.id)}.md`
