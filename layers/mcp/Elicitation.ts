/**
 * Permissions, and what tools ask, asked of the client's user by a form.
 *
 * **Source** MCP 2025-11-25 and 2026-07-28, client/elicitation, "Form Mode".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Answer, Ask, Question } from "../../src/Permission.ts"
import * as PlainText from "../../src/PlainText.ts"
import type * as Questions from "../../src/Questions.ts"
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

/**
 * Asks what a tool asks, if the client can show forms.
 *
 * @category constructors
 * @since 0.1.0
 */
export const question = (client: Client.Client): Questions.Ask | undefined =>
  Client.showsForms(client.capabilities)
    ? ({ options, text }) => {
        const name = `question-${digest(JSON.stringify([text, options]))}`
        const inWords = { type: "string", title: options.length === 0 ? "Answer" : "In other words" }
        const fields = options.length === 0 ? {} : { choice: { type: "string", title: "Choice", enum: options } }
        return client
          .ask({
            [name]: {
              method: "elicitation/create",
              params: {
                mode: "form",
                message: PlainText.make(text),
                requestedSchema: { type: "object", properties: { ...fields, words: inWords } }
              }
            }
          })
          .pipe(
            Effect.map((answers) => said(answers[name], options)),
            Effect.catch(({ why }) => Effect.succeed<Questions.Answer>({ _tag: "Declined", why }))
          )
      }
    : undefined

const said = (result: Client.Answers[string] | undefined, options: ReadonlyArray<string>): Questions.Answer => {
  const { action, content } = result ?? {}
  const { choice, words }: Readonly<Record<string, unknown>> =
    action === "accept" && typeof content === "object" && content !== null ? { ...content } : {}
  if (typeof words === "string" && words.trim() !== "") return { _tag: "Written", text: words }
  return typeof choice === "string" && options.includes(choice)
    ? { _tag: "Chosen", option: choice }
    : { _tag: "Declined", why: "the user gave no answer" }
}

/** The same for the same text, so that a call that is made again finds its answer: FNV-1a. */
const digest = (text: string): string => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return `${text.length}-${(hash >>> 0).toString(36)}`
}

const denied = (why: string): Answer => ({ _tag: "Denied", by: "the user", why })
