/**
 * `enter_plan`: from here on nothing but the plan is written, until the user approves of
 * it. It is shown to a model only where somebody can be asked. No progress.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { planFile } from "../src/Mode.ts"
import { Questions } from "../src/Questions.ts"
import { CurrentSession } from "../src/Session.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolContent from "../src/ToolContent.ts"

/**
 * @category tools
 * @since 0.1.0
 */
export class EnterPlan extends Tool.Service<EnterPlan>()("enter_plan", {
  title: "Plan first",
  description:
    "Begins to plan: from then on you can read, search and ask, and write the plan to its file, but change nothing " +
    "else and run no commands. Use it before work that is large, or that the user may want done in another way. " +
    "exit_plan ends it, with the user's approval.",
  success: Schema.Struct({
    /** Of the plan, relative to the workspace. */
    path: Schema.String
  }),
  hints: { readOnly: true, idempotent: true, openWorld: false },
  listed: Effect.map(Questions, (ask) => ask !== undefined),
  toContent: ({ path }) => [
    ToolContent.text(
      `You are planning. Look around, then write the plan to ${path} with write_file, and call exit_plan. Nothing else ` +
        "can be changed until then."
    )
  ]
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = EnterPlan.toLayer(() =>
  Effect.gen(function* () {
    const session = yield* CurrentSession
    yield* session.mode.set("plan")
    return { path: planFile(session) }
  })
)
