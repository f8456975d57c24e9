/**
 * `exit_plan`: the user reads the plan, and approves of it or not. No permission stands in
 * for that: no rule, no grant, no flag. No progress.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CallStage from "../src/CallStage.ts"
import { Mode, planFile } from "../src/Mode.ts"
import { Questions } from "../src/Questions.ts"
import { CurrentSession } from "../src/Session.ts"
import * as Tool from "../src/Tool.ts"
import { CurrentToolCall } from "../src/ToolCall.ts"
import * as ToolContent from "../src/ToolContent.ts"
import { FileUnreachable, WorkspaceFiles } from "../src/WorkspaceFiles.ts"

/** Bytes of a plan. More is read by nobody. */
const maxBytes = 64 * 1024

/**
 * The plan was not shown. The session is in the mode that it was in.
 *
 * @category errors
 * @since 0.1.0
 */
export class PlanNotShown extends Schema.TaggedError<PlanNotShown>()("PlanNotShown", {
  reason: Schema.Union([
    Schema.TaggedStruct("NotPlanning", {}),
    Schema.TaggedStruct("NobodyToAsk", {}),
    Schema.TaggedStruct("Empty", { path: Schema.String }),
    Schema.TaggedStruct("TooLong", { path: Schema.String, sizeBytes: Schema.Natural })
  ])
}) {
  override get message() {
    const { reason } = this
    switch (reason._tag) {
      case "NotPlanning":
        return "You are not planning, so that there is nothing to approve of. Go on."
      case "NobodyToAsk":
        return "There is nobody who could approve of the plan. You are still planning: give the plan as your answer."
      case "Empty":
        return `There is no plan in ${reason.path}. Write it with write_file, then call exit_plan again.`
      case "TooLong":
        return `The plan in ${reason.path} has ${reason.sizeBytes} bytes, at most ${maxBytes} are shown. Shorten it, then call exit_plan again.`
    }
  }
}

/**
 * What the user said, and the mode from then on.
 *
 * @category models
 * @since 0.1.0
 */
export const Reviewed = Schema.Struct({
  approved: Schema.Boolean,
  /** What the user said against it, if anything. */
  why: Schema.optionalKey(Schema.String),
  mode: Mode
})
export type Reviewed = typeof Reviewed.Type

const approve = "Approve, and begin"
const revise = "Revise the plan"

/**
 * @category tools
 * @since 0.1.0
 */
export class ExitPlan extends Tool.Service<ExitPlan>()("exit_plan", {
  title: "Show the plan",
  description:
    "Shows the plan file to the user, who approves of it or wants it revised. With approval you are no longer planning, " +
    "and carry it out.",
  success: Reviewed,
  failure: Schema.Union([PlanNotShown, FileUnreachable]),
  hints: { readOnly: true, idempotent: false, openWorld: false },
  // It only waits: for others there is as much room as without it.
  resources: () => ({ weight: 0 }),
  listed: Effect.map(Questions, (ask) => ask !== undefined),
  toContent: ({ approved, mode, why }) => [
    ToolContent.text(
      approved
        ? `The user approves of the plan. You are no longer planning (mode: ${mode}): carry it out.`
        : `The user does not approve of the plan${why === undefined ? "" : `: ${why}`}. You are still planning: revise it.`
    )
  ]
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = ExitPlan.toLayer(
  Effect.gen(function* () {
    const files = yield* WorkspaceFiles

    const planAt = (path: string) =>
      Effect.scoped(
        Effect.gen(function* () {
          const file = yield* files.open(path)
          if (file.size > maxBytes) {
            return yield* new PlanNotShown({ reason: { _tag: "TooLong", path, sizeBytes: file.size } })
          }
          return new TextDecoder().decode(yield* file.read(0, file.size))
        })
      ).pipe(
        Effect.catchTag("FileUnreachable", (error) =>
          error.reason._tag === "NotFound" ? Effect.succeed("") : Effect.fail(error)
        )
      )

    return Effect.fn("ExitPlan.review")(function* () {
      const session = yield* CurrentSession
      const { mode } = session
      if (mode.now() !== "plan") return yield* new PlanNotShown({ reason: { _tag: "NotPlanning" } })
      const ask = yield* Questions
      if (ask === undefined) return yield* new PlanNotShown({ reason: { _tag: "NobodyToAsk" } })
      const path = planFile(session)
      const text = yield* planAt(path)
      if (text.trim() === "") return yield* new PlanNotShown({ reason: { _tag: "Empty", path } })
      const call = yield* CurrentToolCall
      const answer = yield* CallStage.within("approval", "the user", ask({ call, text, options: [approve, revise] }))
      if (answer._tag === "Chosen" && answer.option === approve) return { approved: true, mode: yield* mode.leavePlan }
      const why = answer._tag === "Written" ? answer.text : answer._tag === "Declined" ? answer.why : undefined
      return { approved: false, ...(why === undefined ? {} : { why }), mode: mode.now() }
    })
  })
)
