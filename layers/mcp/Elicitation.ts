/**
 * Permissions, asked of the client's user by a form.
 *
 * **Source** MCP 2025-11-25 and 2026-07-28, client/elicitation, "Form Mode".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Answer, Ask, Question } from "../../src/Permission.ts"
import * as PlainText from "../../src/PlainText.ts"
import * as Client from "./Client.ts"

/**
 * Asks the client's user, if the client can show forms; else the answer is no, and says what to do instead.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ask =
  (instead: string) =>
  (client: Client.Client): Ask =>
  (question) => {
    if (!Client.showsForms(client.capabilities)) return Effect.succeed(cannot("cannot ask its user", instead))
    // The name says what is permitted: an answer that comes with other parameters answers nothing.
    const name = `permission-${question.parametersHash}`
    return client.ask({ [name]: form(question) }).pipe(
      Effect.map((answers) => answerOf(answers[name])),
      Effect.catch((error) => Effect.succeed(cannot(`did not ask its user (${error.why})`, instead)))
    )
  }

const cannot = (what: string, instead: string): Answer => ({
  _tag: "Denied",
  by: "the program",
  why: `it has to be asked for, and the client ${what}. ${instead}`
})

const decisions = ["allow once", "allow for this session", "always allow", "deny"] as const

/** Lines of a question. A form has no more room. */
const maxLines = 40

const form = ({ text, title, why }: Question): Client.Questions[string] => {
  const lines = text.split("\n")
  const shown =
    lines.length <= maxLines ? lines : [...lines.slice(0, maxLines), `(${lines.length - maxLines} more lines)`]
  return {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: [`Allow ${PlainText.makeLine(title)}?`, "", ...shown, "", ...why.map(PlainText.makeLine)].join("\n"),
      requestedSchema: {
        type: "object",
        properties: {
          decision: { type: "string", title: "Decision", enum: decisions },
          reason: { type: "string", title: "Reason", description: "Told to the model, if you deny" }
        },
        required: ["decision"]
      }
    }
  }
}

const answerOf = (result: Client.Answers[string] | undefined): Answer => {
  const { action, content } = result ?? {}
  if (action === "decline") return denied("no reason was given")
  if (action !== "accept") return denied("the question was dismissed")
  const { decision, reason }: Readonly<Record<string, unknown>> =
    typeof content === "object" && content !== null ? { ...content } : {}
  switch (decision) {
    case "allow once":
      return { _tag: "Allowed", extent: "once" }
    case "allow for this session":
      return { _tag: "Allowed", extent: "session" }
    case "always allow":
      return { _tag: "Allowed", extent: "always" }
    default:
      return denied(typeof reason === "string" && reason.trim() !== "" ? reason : "no reason was given")
  }
}

const denied = (why: string): Answer => ({ _tag: "Denied", by: "the user", why })
