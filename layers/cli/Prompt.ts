/**
 * Asks whoever sits at the terminal: one question after another, on stderr, answered by
 * a line on stdin.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { type Answer, Permission, type Question } from "../../src/Permission.ts"
import * as PlainText from "../../src/PlainText.ts"
import * as Questions from "../../src/Questions.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import { type Next, TerminalLines } from "./TerminalLines.ts"

/** Lines of a question. More scrolls away what is asked. */
const maxLines = 40

/** A question, and how its answer is understood. */
interface Asked<A> {
  readonly shown: string
  /** Undefined if the line is no answer: it is asked for again. */
  readonly read: (line: string) => A | undefined
  /** What is to be typed, in short. */
  readonly hint: string
  /** There is no line any more. */
  readonly ended: A
}

class Dialogue extends Context.Service<Dialogue, { readonly ask: <A>(asked: Asked<A>) => Effect.Effect<A> }>()(
  "toolstream/cli/Prompt/Dialogue"
) {}

/** One for all who ask. */
const dialogue: Layer.Layer<Dialogue, never, StandardStreams | TerminalLines> = Layer.effect(
  Dialogue,
  Effect.gen(function* () {
    const lines = yield* TerminalLines
    const { talk } = yield* StandardStreams
    const turn = yield* Semaphore.make(1)

    const answered = <A>(asked: Asked<A>, next: Next): Effect.Effect<A> =>
      Effect.matchEffect(next, {
        onFailure: () => Effect.succeed(asked.ended),
        onSuccess: (line) => {
          const answer = asked.read(line.trim())
          return answer === undefined
            ? Effect.andThen(talk(`  ${asked.hint}: `), answered(asked, next))
            : Effect.succeed(answer)
        }
      })

    return Dialogue.of({
      ask: (asked) =>
        turn.withPermits(1)(
          lines
            .asking((next) => Effect.andThen(talk(asked.shown), answered(asked, next)))
            .pipe(Effect.onInterrupt(() => talk("\n  (no longer asked)\n")))
        )
    })
  })
)

/**
 * Asks whether a call may run.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never, never, StandardStreams | TerminalLines> = Layer.effect(
  Permission,
  Effect.map(
    Dialogue,
    ({ ask }) =>
      (question: Question) =>
        ask<Answer>({
          shown: show(question),
          read: (line) => read(line, question.pattern),
          hint: `${question.pattern === undefined ? "y, s, a" : "y, s, a, sp, ap"}, or n and a reason`,
          ended: denied("the input has ended")
        })
  )
).pipe(Layer.provide(dialogue))

/**
 * Asks what a tool wants to know.
 *
 * @category layers
 * @since 0.1.0
 */
export const questions: Layer.Layer<never, never, StandardStreams | TerminalLines> = Layer.effect(
  Questions.Questions,
  Effect.map(
    Dialogue,
    ({ ask }): Questions.Ask =>
      (question) =>
        ask<Questions.Answer>({
          shown: showQuestion(question),
          read: (line) => readAnswer(question.options, line),
          hint: question.options.length === 0 ? "an answer" : `a number from 1 to ${question.options.length}, or words`,
          ended: { _tag: "Declined", why: "the input has ended" }
        })
  )
).pipe(Layer.provide(dialogue))

const denied = (why: string): Answer => ({ _tag: "Denied", by: "the user", why })

const read = (line: string, pattern: string | undefined): Answer | undefined => {
  const word = line.toLowerCase()
  switch (word) {
    case "y":
    case "yes":
      return { _tag: "Allowed", extent: "once" }
    case "s":
    case "session":
      return { _tag: "Allowed", extent: "session" }
    case "a":
    case "always":
      return { _tag: "Allowed", extent: "always" }
    case "sp":
    case "ap":
      return pattern === undefined
        ? undefined
        : { _tag: "Allowed", extent: word === "sp" ? "session" : "always", pattern }
    case "n":
    case "no":
      return denied("no reason was given")
  }
  const [, reason] = /^no?[\s,:]+(.+)$/i.exec(line) ?? []
  return reason === undefined ? undefined : denied(reason)
}

const show = ({ call, pattern, text, title, why }: Question): string =>
  [
    "",
    `? ${idOf(call)}${PlainText.makeLine(title)}`,
    ...bounded(text),
    ...why.map((line) => `  ${PlainText.makeLine(line)}`),
    ...(pattern === undefined ? [] : [`  sp, ap: all that is ${PlainText.makeLine(pattern)}, this session or always`]),
    "  Allow it? y: once, s: this session, a: always; n and a reason: "
  ].join("\n")

/** A number chooses; what is no number is an answer in words. An empty line is none. */
const readAnswer = (options: ReadonlyArray<string>, line: string): Questions.Answer | undefined => {
  if (line === "") return undefined
  const option = options.find((option, index) => line === String(index + 1) || line === option)
  if (option !== undefined) return { _tag: "Chosen", option }
  return options.length > 0 && /^\d+$/.test(line) ? undefined : { _tag: "Written", text: line }
}

const showQuestion = ({ call, options, text }: Questions.Question): string =>
  [
    "",
    `? ${idOf(call)}The model asks:`,
    ...bounded(PlainText.make(text)),
    ...options.map((option, index) => `  ${index + 1}: ${PlainText.makeLine(option)}`),
    options.length === 0 ? "  Your answer: " : "  A number, or an answer in words: "
  ].join("\n")

/** UTF-16 code units of an id that somebody gave to know it again. Those that providers make are longer, and say nothing. */
const maxId = 16

const idOf = ({ externalId }: Question["call"]): string =>
  externalId === undefined || externalId.length > maxId ? "" : `${PlainText.makeLine(externalId)} `

const bounded = (text: string): ReadonlyArray<string> => {
  const lines = text.split("\n")
  const shown =
    lines.length <= maxLines ? lines : [...lines.slice(0, maxLines), `(${lines.length - maxLines} more lines)`]
  return shown.map((line) => `  | ${line}`)
}
