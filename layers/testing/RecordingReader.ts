/**
 * A reader of one call that writes down what it gets and when, and misbehaves on
 * request: it is slow, leaves, or breaks.
 *
 * What it saw is plain data. It asserts nothing, so it goes with any test runner.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ToolCall } from "../../src/ToolCall.ts"
import type { ToolError } from "../../src/ToolError.ts"
import type * as ToolEvent from "../../src/ToolEvent.ts"
import type { ToolResult } from "../../src/ToolResult.ts"
import type { Dispatch } from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"

/**
 * How a call is read: as events; as a stream whose values are pulled; with a function that is given the values, in the
 * fiber of the reader; or with one that has done with them at once, unless it takes its time over them.
 *
 * @category models
 * @since 0.1.0
 */
export const View = Schema.Literals(["events", "pulled", "run", "taken"])
export type View = typeof View.Type

/**
 * One thing that arrived.
 *
 * @category models
 * @since 0.1.0
 */
export type Arrival =
  | { readonly _tag: "Progress"; readonly at: number; readonly value: unknown }
  | { readonly _tag: "Terminal"; readonly at: number; readonly result: ToolEvent.Terminal["result"] }

/**
 * What became of the reader: it read all there was; it left, as it was told to; it was interrupted from outside; it
 * broke.
 *
 * @category models
 * @since 0.1.0
 */
export type End = "ended" | "left" | "interrupted" | "broke"

/**
 * @category models
 * @since 0.1.0
 */
export interface RecordingReader {
  /** Reads a call. It never fails, and is to be run once. */
  readonly read: (dispatch: Dispatch, call: ToolCall) => Effect.Effect<void>
  /** What arrived so far, in order, with the time in milliseconds of the clock. It grows while the call is read. */
  readonly arrivals: ReadonlyArray<Arrival>
  /** Undefined until it is known. */
  readonly end: End | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Default: "events". */
  readonly view?: View | undefined
  /** How long it takes over each thing that it gets. Default: no time. */
  readonly pace?: Duration.Input | undefined
  /** It leaves when it has got so many progress values, from 1. */
  readonly leaveAfter?: number | undefined
  /** Its own code dies when it has got so many progress values, from 1. */
  readonly breakAfter?: number | undefined
  /** Run when it has got a progress value, with their number, before it asks for more. */
  readonly onProgress?: ((count: number) => Effect.Effect<void>) | undefined
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<RecordingReader> => Effect.sync(() => new Recorder(options))

class Recorder implements RecordingReader {
  readonly arrivals: Array<Arrival> = []
  end: End | undefined
  private count = 0
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  read(dispatch: Dispatch, call: ToolCall): Effect.Effect<void> {
    return Effect.asVoid(
      Effect.exit(
        Effect.onExit(this.view(dispatch, call), (exit) =>
          Effect.sync(() => {
            this.end = this.leaves
              ? "left"
              : Exit.isSuccess(exit)
                ? "ended"
                : Cause.hasDies(exit.cause)
                  ? "broke"
                  : "interrupted"
          })
        )
      )
    )
  }

  private view({ dispatch, events }: Dispatch, call: ToolCall): Effect.Effect<unknown> {
    const until = Stream.takeUntil(() => this.leaves)
    switch (this.options.view ?? "events") {
      case "events":
        return Stream.runDrain(
          events(call).pipe(
            Stream.tap((event) => (event._tag === "Progress" ? this.progress(event.value) : this.ended(event.result))),
            until
          )
        )
      case "pulled":
        return Stream.runDrain(
          ToolStream.toStream(dispatch(call)).pipe(
            Stream.tap((step) => (step._tag === "Progress" ? this.progress(step.value) : this.exited(step.exit))),
            until
          )
        )
      case "run":
        return Effect.flatMap(
          Effect.exit(
            ToolStream.runForEachArray(dispatch(call), (values) =>
              Effect.forEach(
                values,
                (value) =>
                  this.leaves
                    ? Effect.void
                    : Effect.andThen(
                        this.progress(value),
                        Effect.suspend(() => (this.leaves ? Effect.interrupt : Effect.void))
                      ),
                { discard: true }
              )
            )
          ),
          (exit) => this.ran(exit)
        )
      case "taken":
        return Clock.clockWith((clock) =>
          Effect.flatMap(
            Effect.exit(ToolStream.runForEachArray(dispatch(call), (values) => this.taken(values, clock))),
            (exit) => this.ran(exit)
          )
        )
    }
  }

  /** What is left to be done about values: nothing, for most. */
  private taken(values: ReadonlyArray<unknown>, clock: Clock.Clock): Effect.Effect<void> {
    let rest: Effect.Effect<void> = Effect.void
    const then = (effect: Effect.Effect<void>) => {
      if (!Exit.isExit(effect) || Exit.isFailure(effect)) rest = Effect.andThen(rest, effect)
    }
    for (const value of values) {
      if (this.leaves) break
      this.arrivals.push({ _tag: "Progress", at: clock.currentTimeMillisUnsafe(), value })
      const count = ++this.count
      if (count === this.options.breakAfter) throw new Error("the reader broke")
      if (this.options.pace !== undefined) then(Effect.sleep(this.options.pace))
      if (this.options.onProgress !== undefined) then(this.options.onProgress(count))
    }
    if (this.leaves) then(Effect.interrupt)
    return rest
  }

  private ran(exit: Exit.Exit<ToolResult, ToolError>): Effect.Effect<void> {
    return Exit.hasInterrupts(exit) || Exit.hasDies(exit) ? Exit.asVoid(asOwn(exit)) : this.exited(exit)
  }

  private get leaves(): boolean {
    return this.options.leaveAfter !== undefined && this.count >= this.options.leaveAfter
  }

  private arrived(make: (at: number) => Arrival): Effect.Effect<void> {
    const note = Clock.clockWith((clock) =>
      Effect.sync(() => {
        this.arrivals.push(make(clock.currentTimeMillisUnsafe()))
      })
    )
    return this.options.pace === undefined ? note : Effect.andThen(note, Effect.sleep(this.options.pace))
  }

  private progress(value: unknown): Effect.Effect<void> {
    return Effect.andThen(
      this.arrived((at) => ({ _tag: "Progress", at, value })),
      Effect.suspend(() => {
        const count = ++this.count
        if (count === this.options.breakAfter) return Effect.die(new Error("the reader broke"))
        return this.options.onProgress?.(count) ?? Effect.void
      })
    )
  }

  private ended(result: ToolEvent.Terminal["result"]): Effect.Effect<void> {
    return this.arrived((at) => ({ _tag: "Terminal", at, result }))
  }

  private exited(exit: Exit.Exit<ToolResult, ToolError>): Effect.Effect<void> {
    if (Exit.isSuccess(exit)) return this.ended({ _tag: "Success", ...exit.value })
    const failed = exit.cause.reasons.find(Cause.isFailReason)
    return failed === undefined ? Exit.asVoid(asOwn(exit)) : this.ended({ _tag: "Failure", error: failed.error })
  }
}

/** An end of the reader itself: none of the call's failures is in it. */
const asOwn = <A, E>(exit: Exit.Exit<A, E>): Exit.Exit<A> =>
  Exit.isSuccess(exit)
    ? Exit.succeed(exit.value)
    : Exit.failCause(Cause.fromReasons(exit.cause.reasons.filter((reason) => !Cause.isFailReason(reason))))
