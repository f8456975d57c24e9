/**
 * The lines that somebody types, and who they are for: a question that is asked gets the
 * next one, whoever else reads.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"

/** Waits for a line; fails when the input has ended. */
export type Next = Effect.Effect<string, "ended">

/** Lines that wait for a reader. More is a paste that nobody meant; the oldest are lost. */
const maxWaiting = 10_000

/**
 * @category services
 * @since 0.1.0
 */
export class TerminalLines extends Context.Service<
  TerminalLines,
  {
    /** The next line that is no answer to a question. */
    readonly next: Next
    /** While `use` runs, what is typed is for it. What was typed before is not. */
    readonly asking: <A, E, R>(use: (next: Next) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("toolstream/cli/TerminalLines") {}

/**
 * Nothing is read before the first who wants a line.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<TerminalLines, never, Stdio.Stdio> = Layer.effect(
  TerminalLines,
  Effect.gen(function* () {
    const { stdin } = yield* Stdio.Stdio
    const scope = yield* Effect.scope
    const lines = yield* Queue.sliding<string, "ended">(maxWaiting)
    /** The answers that are waited for. The last one is asked now. */
    let asked: ReadonlyArray<Queue.Queue<string, "ended">> = []
    let state: "unread" | "read" | "ended" = "unread"
    const end = Effect.suspend(() => {
      state = "ended"
      return Effect.forEach([lines, ...asked], (queue) => Queue.fail(queue, "ended"), { discard: true })
    })
    const reading = Effect.suspend(() => {
      if (state !== "unread") return Effect.void
      state = "read"
      return stdin.pipe(
        Stream.decodeText(),
        Stream.splitLines,
        Stream.runForEach((line) => Queue.offer(asked.at(-1) ?? lines, line)),
        Effect.ignore,
        Effect.andThen(end),
        Effect.forkIn(scope)
      )
    })
    return TerminalLines.of({
      next: Effect.andThen(reading, Queue.take(lines)),
      asking: (use) =>
        Effect.acquireUseRelease(
          Effect.gen(function* () {
            const answers = yield* Queue.unbounded<string, "ended">()
            if (state === "ended") yield* Queue.fail(answers, "ended")
            asked = [...asked, answers]
            return answers
          }),
          (answers) => Effect.andThen(reading, use(Queue.take(answers))),
          (answers) =>
            Effect.sync(() => {
              asked = asked.filter((other) => other !== answers)
            })
        )
    })
  })
)
