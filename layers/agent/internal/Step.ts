/**
 * The calls of one response, run side by side. Each has its result when the step ends,
 * however it ends.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { ToolCall } from "../../../src/ToolCall.ts"
import { fromReason, Interrupted, Lost, toContent } from "../../../src/ToolError.ts"
import type { ToolEvent } from "../../../src/ToolEvent.ts"
import type { Dispatch, ToolRuntime } from "../../../src/ToolRuntime.ts"
import { type CallResult, fromTerminal } from "../History.ts"

/** What a step needs of the turn. */
export interface Options {
  readonly runtime: ToolRuntime["Service"]
  /** Of the calls of this response. */
  readonly dispatch: Dispatch
  /** Why a call is not executed, if it is not. */
  readonly refused: (index: number) => string | undefined
  /** The call has ended. It returns when that is kept. */
  readonly answered: (call: ToolCall, result: CallResult, terminal: ToolEvent | undefined) => Effect.Effect<void>
  readonly emit: (events: NonEmptyReadonlyArray<ToolEvent>) => Effect.Effect<void>
}

/** A call of the step, and how far it has come. */
interface Running {
  readonly call: ToolCall
  fiber: Fiber.Fiber<void> | undefined
  /** An event of it has come: the runtime has it, or has had it. */
  seen: boolean
  result: CallResult | undefined
}

export class Step {
  private readonly options: Options
  private readonly running: ReadonlyArray<Running>
  /** Why nothing is started any more. */
  private stopping: string | undefined

  constructor(calls: ReadonlyArray<ToolCall>, options: Options) {
    this.options = options
    this.running = calls.map((call) => ({ call, fiber: undefined, seen: false, result: undefined }))
  }

  /** Starts every call and waits until all have ended. To be followed by `settle`, whatever becomes of it. */
  readonly run: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      Effect.forEach(this.running, (running, index) => this.start(running, index), { discard: true }),
      Effect.forEach(this.running, ({ fiber }) => (fiber === undefined ? Effect.void : Fiber.await(fiber)), {
        discard: true
      })
    )
  )

  /**
   * Ends what runs, and what has not been started. It returns when every call has its terminal, whether or not its
   * reader has seen it.
   */
  stop(why: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.stopping ??= why
      // The last ones first: what a call waits for is before it, and its end must not let the call begin.
      return Effect.forEach(this.running.toReversed(), (running) => this.cancel(running, why), {
        concurrency: "unbounded",
        discard: true
      })
    })
  }

  /** Every call has its result after it; those that run are ended, for this reason. In the order of the calls. */
  settle(why: string): Effect.Effect<ReadonlyArray<CallResult>> {
    return Effect.gen({ self: this }, function* () {
      if (this.running.some(({ result }) => result === undefined)) {
        yield* this.stop(why)
        // Those that were not started have their pair in the journal, too.
        yield* Effect.forEach(this.running, (running, index) => this.start(running, index), { discard: true })
      }
      for (const running of this.running) {
        if (running.fiber !== undefined) yield* Fiber.await(running.fiber)
        if (running.result === undefined) yield* this.answer(running, lost(running.call), undefined)
      }
      return this.running.map(({ call, result }) => result ?? lost(call))
    })
  }

  private start(running: Running, index: number): Effect.Effect<void> {
    if (running.fiber !== undefined) return Effect.void
    return Effect.map(Effect.forkDetach(this.follow(running, index), { startImmediately: true }), (fiber) => {
      running.fiber = fiber
    })
  }

  /** One call, to its terminal. It does not fail: what is missing in the end is lost. */
  private follow(running: Running, index: number): Effect.Effect<void> {
    const { call } = running
    const { dispatch, emit, refused, runtime } = this.options
    const events = Stream.suspend(() => {
      const why = this.stopping ?? refused(index)
      return why === undefined
        ? dispatch.events(call)
        : runtime.refuse(call, new Interrupted({ why, phase: "not-started" }))
    })
    return Stream.runForEachArray(events, (events) => {
      running.seen = true
      const last = events[events.length - 1]
      return last?._tag === "Terminal"
        ? Effect.andThen(this.answer(running, fromTerminal(last), last), emit(events))
        : emit(events)
    }).pipe(
      Effect.exit,
      Effect.flatMap((exit) => (Exit.isFailure(exit) ? Effect.logError("a call of the turn", exit.cause) : Effect.void))
    )
  }

  private answer(running: Running, result: CallResult, terminal: ToolEvent | undefined): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (running.result !== undefined) return Effect.void
      running.result = result
      return this.options.answered(running.call, result, terminal)
    })
  }

  /** A call that the runtime does not know is about to begin, or has ended. */
  private cancel(running: Running, why: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (running.fiber === undefined || running.result !== undefined) return Effect.void
      return Effect.flatMap(this.options.runtime.cancel(running.call.callId, why), (cancelled) =>
        cancelled || running.seen || running.result !== undefined
          ? Effect.void
          : Effect.andThen(Effect.yieldNow, this.cancel(running, why))
      )
    })
  }
}

/** The result of a call of which nothing is known but that it was accepted. */
export const lost = (call: Pick<ToolCall, "name" | "callId">): CallResult => ({
  content: toContent(fromReason(call, new Lost())),
  isError: true
})
