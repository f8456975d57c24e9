/**
 * Asks whoever sits at the terminal: one question after another, on stderr, answered by
 * a line on stdin.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Semaphore from "effect/Semaphore"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { type Answer, Permission, type Question } from "../../src/Permission.ts"
import * as PlainText from "../../src/PlainText.ts"
import { StandardStreams } from "../node/StandardStreams.ts"

/** Lines of a question. More scrolls away what is asked. */
const maxLines = 40

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never, never, StandardStreams | Stdio.Stdio> = Layer.effect(
  Permission,
  Effect.gen(function* () {
    const { stdin } = yield* Stdio.Stdio
    const { talk } = yield* StandardStreams
    const turn = yield* Semaphore.make(1)
    const lines = yield* Queue.unbounded<string, "ended">()
    let reads = false
    const scope = yield* Effect.scope
    /** From the first question on: who is not asked anything is not read from. */
    const reading = Effect.suspend(() => {
      if (reads) return Effect.void
      reads = true
      return stdin.pipe(
        Stream.decodeText(),
        Stream.splitLines,
        Stream.runForEach((line) => Queue.offer(lines, line)),
        Effect.ignore,
        Effect.andThen(Queue.fail(lines, "ended")),
        Effect.forkIn(scope)
      )
    })

    const answered: Effect.Effect<Answer> = Effect.suspend(() =>
      Effect.matchEffect(Queue.take(lines), {
        onFailure: () => Effect.succeed(denied("the input has ended")),
        onSuccess: (line) => {
          const answer = read(line.trim())
          return answer === undefined
            ? Effect.andThen(talk(`  y, s, a, or n and a reason: `), answered)
            : Effect.succeed(answer)
        }
      })
    )

    return (question: Question) =>
      turn.withPermits(1)(
        Effect.andThen(reading, talk(show(question))).pipe(
          // What was typed before the question is no answer to it.
          Effect.andThen(Queue.clear(lines)),
          Effect.ignore,
          Effect.andThen(answered),
          Effect.onInterrupt(() => talk("\n  (no longer asked)\n"))
        )
      )
  })
)

const denied = (why: string): Answer => ({ _tag: "Denied", by: "the user", why })

const read = (line: string): Answer | undefined => {
  switch (line.toLowerCase()) {
    case "y":
    case "yes":
      return { _tag: "Allowed", extent: "once" }
    case "s":
    case "session":
      return { _tag: "Allowed", extent: "session" }
    case "a":
    case "always":
      return { _tag: "Allowed", extent: "always" }
    case "n":
    case "no":
      return denied("no reason was given")
  }
  const [, reason] = /^no?[\s,:]+(.+)$/i.exec(line) ?? []
  return reason === undefined ? undefined : denied(reason)
}

const show = ({ call, text, title, why }: Question): string => {
  const lines = text.split("\n")
  const shown =
    lines.length <= maxLines ? lines : [...lines.slice(0, maxLines), `(${lines.length - maxLines} more lines)`]
  return [
    "",
    `? ${call.externalId === undefined ? "" : `${PlainText.makeLine(call.externalId)} `}${PlainText.makeLine(title)}`,
    ...shown.map((line) => `  | ${line}`),
    ...why.map((line) => `  ${PlainText.makeLine(line)}`),
    "  Allow it? y: once, s: this session, a: always; n and a reason: "
  ].join("\n")
}
