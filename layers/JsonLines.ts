/**
 * Bytes to lines, one after another, in bounded memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"

/** Bytes in a line. Parameters that hold a large file fit; what is longer is no call, and would fill the memory. */
export const maxLine = 16 * 1024 * 1024

/**
 * A line without its end, or why it could not be read as text.
 *
 * @category models
 * @since 0.1.0
 */
export interface Line {
  /** From 1. */
  readonly number: number
  readonly text: string
  readonly unreadable?: string | undefined
}

/**
 * The lines of a stream, each as soon as its end was read. What is blank is left out, and counted. When `stop` ends,
 * nothing more is read: lines that are there whole come, half a line does not.
 *
 * @category converting
 * @since 0.1.0
 */
export const lines = <E, R, R2 = never>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  stop: Effect.Effect<unknown, never, R2> = Effect.never
): Stream.Stream<Line, E, R | R2> =>
  Stream.suspend(() => {
    const reader = new Reader()
    let stopped = false
    const stopping = Effect.map(stop, () => {
      stopped = true
    })
    return Stream.concat(
      Stream.flatMap(Stream.interruptWhen(bytes, stopping), (chunk) => Stream.fromIterable(reader.read(chunk))),
      Stream.suspend(() => Stream.fromIterable(stopped ? [] : reader.end()))
    )
  })

/**
 * All of a stream as one line. What is too long is not read to its end.
 *
 * @category converting
 * @since 0.1.0
 */
export const whole = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Effect.Effect<Line, E, R> =>
  Effect.suspend(() => {
    const text = new Text()
    return bytes.pipe(
      Stream.takeUntil((chunk) => text.add(chunk.slice()).tooLong),
      Stream.runDrain,
      Effect.map(() => text.take(1))
    )
  })

const newline = 0x0a

class Reader {
  private number = 0
  private readonly line = new Text()

  read(chunk: Uint8Array): ReadonlyArray<Line> {
    const lines: Array<Line> = []
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      this.line.add(chunk.subarray(from, end))
      from = end + 1
      lines.push(...this.end())
    }
    // A copy: the source may use its buffer again.
    this.line.add(chunk.slice(from))
    return lines
  }

  end(): ReadonlyArray<Line> {
    const line = this.line.take(++this.number)
    return line.unreadable === undefined && line.text.trim() === "" ? [] : [line]
  }
}

/** Bytes that become one text. Of what is too long only the length is kept. */
class Text {
  private parts: Array<Uint8Array> = []
  private length = 0

  get tooLong(): boolean {
    return this.length > maxLine
  }

  add(part: Uint8Array): this {
    this.length += part.length
    if (this.tooLong) this.parts = []
    else if (part.length > 0) this.parts.push(part)
    return this
  }

  take(number: number): Line {
    const { parts, tooLong } = this
    this.parts = []
    this.length = 0
    if (tooLong) {
      return { number, text: "", unreadable: `It is longer than ${maxLine} bytes. Put long data into a file.` }
    }
    return Result.match(decode(parts), {
      onSuccess: (text): Line => ({ number, text }),
      onFailure: (): Line => ({ number, text: "", unreadable: "It is not UTF-8." })
    })
  }
}

const decode = (parts: ReadonlyArray<Uint8Array>) =>
  Result.try(() => {
    const decoder = new TextDecoder("utf-8", { fatal: true })
    return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode()
  })
