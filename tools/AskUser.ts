/**
 * `ask_user`: a question to the user, answered by a choice or in words. It is shown to a
 * model only where somebody can be asked. No progress.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CallStage from "../src/CallStage.ts"
import { Answer, Questions } from "../src/Questions.ts"
import * as Tool from "../src/Tool.ts"
import { CurrentToolCall } from "../src/ToolCall.ts"
import * as ToolContent from "../src/ToolContent.ts"

/** Options that a person can tell apart at a glance. */
const maxOptions = 10

/**
 * There is nobody to ask.
 *
 * @category errors
 * @since 0.1.0
 */
export class NobodyToAsk extends Schema.TaggedError<NobodyToAsk>()("NobodyToAsk", {}) {
  override get message() {
    return "There is nobody to ask here. Decide for yourself, and say what you decided."
  }
}

/**
 * @category tools
 * @since 0.1.0
 */
export class AskUser extends Tool.Service<AskUser>()("ask_user", {
  title: "Ask the user",
  description:
    "Asks the user, and waits for the answer. Use it where only the user can decide: what is wanted, which of several " +
    "ways. Not for what you can find out, and not for permission: that is asked for you.",
  parameters: {
    question: Schema.NonEmptyString,
    options: Schema.optionalKey(
      Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(2), Schema.isMaxLength(maxOptions))
    ).annotate({
      description: `Answers to choose from, 2 to ${maxOptions}, each in a few words. Without them the user writes one.`
    })
  },
  success: Answer,
  failure: NobodyToAsk,
  hints: { readOnly: true, idempotent: false, openWorld: false },
  // It only waits: for others there is as much room as without it.
  resources: () => ({ weight: 0 }),
  listed: Effect.map(Questions, (ask) => ask !== undefined),
  toContent: (answer) => [ToolContent.text(toText(answer))]
}) {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = AskUser.toLayer(
  Effect.fn("AskUser.ask")(function* ({ options = [], question }) {
    const ask = yield* Questions
    if (ask === undefined) return yield* new NobodyToAsk()
    const call = yield* CurrentToolCall
    return yield* CallStage.within("approval", "the user", ask({ call, text: question, options }))
  })
)

const toText = (answer: Answer): string => {
  switch (answer._tag) {
    case "Chosen":
      return `The user chose: ${answer.option}`
    case "Written":
      return `The user answered: ${answer.text}`
    case "Declined":
      return `There is no answer: ${answer.why}. Decide for yourself, or go on without it.`
  }
}
