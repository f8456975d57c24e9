/**
 * What the program says: data on stdout, talk on stderr.
 *
 * **Contract**
 *
 * - A write returns when the system has taken the text. A reader that is slow
 *   slows whoever writes, and nothing is held but what waits to be written.
 * - Writes of several fibers do not mix: each is written whole.
 * - When stdout has no reader left, every write to it fails with `OutputClosed`.
 *   A stderr without a reader is nobody's loss.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Writable } from "node:stream"
import * as OwnStdout from "./OwnStdout.ts"

/**
 * Nobody reads stdout any more, or its device is full. What was being written is lost.
 *
 * @category errors
 * @since 0.1.0
 */
export class OutputClosed extends Schema.TaggedError<OutputClosed>()("OutputClosed", {
  /** Of the system, such as EPIPE. */
  code: Schema.String
}) {
  override get message() {
    return this.code === "EPIPE"
      ? "stdout was closed; the calls that were still running were cancelled"
      : `stdout cannot be written (${this.code}); the calls that were still running were cancelled`
  }
}

/**
 * @category services
 * @since 0.1.0
 */
export class StandardStreams extends Context.Service<
  StandardStreams,
  {
    readonly write: (data: string) => Effect.Effect<void, OutputClosed>
    readonly talk: (text: string) => Effect.Effect<void>
  }
>()("toolstream/StandardStreams") {}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<StandardStreams> = Layer.sync(StandardStreams, () => {
  const stdout = OwnStdout.open()
  for (const stream of [stdout, process.stderr]) {
    // Each write learns of it in its own callback. Without a listener the event would end the program.
    stream.on("error", () => {})
  }
  return StandardStreams.of({
    write: (data) => writeTo(stdout, data),
    talk: (text) => Effect.ignore(writeTo(process.stderr, text))
  })
})

/** Who is interrupted does not take back what it has begun to write: half a line would spoil the next. */
const writeTo = (stream: Pick<Writable, "write">, text: string): Effect.Effect<void, OutputClosed> =>
  text === ""
    ? Effect.void
    : Effect.callback<void, OutputClosed>((resume) => {
        stream.write(text, "utf8", (error) =>
          resume(
            error === null || error === undefined
              ? Effect.void
              : Effect.fail(new OutputClosed({ code: "code" in error ? String(error.code) : error.message }))
          )
        )
      })
