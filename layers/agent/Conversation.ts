/**
 * A conversation with a model that works with tools: its history, what waits to be said
 * in it, and its turns, one after another.
 *
 * **Contract**
 *
 * - Every call of a response has exactly one result, which stands with it: whether it
 *   succeeded, failed, was denied, cancelled, cut off, not known, or lost in a crash.
 * - What is said while a turn runs is said after all results of the step that runs, in
 *   order, once. So is the end of a task in the background.
 * - `cancel` ends the turn, not its reader: the reader gets the terminals of the calls, then
 *   `Cancelled`. No call of the step is started after it. A reader that leaves cancels as well.
 * - A response that fails leaves the history as it was: a turn can be tried again.
 * - All of it is written to the log in the order in which it happens.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { CurrentSession, type Session } from "../../src/Session.ts"
import * as Tasks from "../../src/Tasks.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import { text } from "../../src/ToolContent.ts"
import { ToolRegistry } from "../../src/ToolRegistry.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Compaction from "./Compaction.ts"
import type * as History from "./History.ts"
import { Inbox } from "./internal/Inbox.ts"
import { lost } from "./internal/Step.ts"
import * as Loop from "./internal/Loop.ts"
import { Sampler } from "./Sampler.ts"
import type { SamplerError } from "./SamplerError.ts"
import * as SessionLog from "./SessionLog.ts"
import type { Limits, TurnEvent, TurnResult } from "./Turn.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Who the model is and how it works. */
  readonly system?: string | undefined
  readonly limits?: Limits | undefined
  /** Default: `Compaction.none`. */
  readonly compaction?: Compaction.Compact | undefined
  /** After so many equal responses in a row the model is told; with that many none of their calls is executed and the turn ends. Default: 5 and 10. */
  readonly repeats?: { readonly nudge: number; readonly stop: number } | undefined
  /** Whether the end of a task in the background wakes an idle conversation. Default: false. */
  readonly wakes?: boolean | undefined
  /** Default: nothing is kept. */
  readonly log?: SessionLog.SessionLog | undefined
  /** What was kept of it before: it is taken up again. */
  readonly records?: ReadonlyArray<SessionLog.SessionRecord> | undefined
  /** What is known of a call that had no result when the records end. Default: nothing, so that it is lost. */
  readonly recover?: ((callId: string) => Effect.Effect<History.CallResult | undefined>) | undefined
}

/**
 * What is put into a conversation.
 *
 * @category models
 * @since 0.1.0
 */
export interface Saying {
  /** Default: the user. */
  readonly from?: "user" | "program" | undefined
  /** Whether a turn is there for it: one that runs goes on, and `woken` ends. Default: true, of the user. */
  readonly wakes?: boolean | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Conversation {
  readonly session: Session
  /** What has been said. A response whose calls run is no part of it yet. */
  readonly history: Effect.Effect<History.History>
  /** Puts something in: the running turn says it after the results of its step, the next one begins with it. */
  readonly say: (content: ReadonlyArray<ToolContent>, saying?: Saying) => Effect.Effect<void>
  /** One turn, with what waits to be said. It begins when the one before it has ended. With nothing to say or to answer it ends at once. */
  readonly turn: ToolStream.ToolStream<TurnEvent, TurnResult, SamplerError>
  /** Ends the turn that runs. It returns when its calls have their terminals. False if none runs. The first reason given is told. */
  readonly cancel: (why: string) => Effect.Effect<boolean>
  /** Waits until there is something to say that is worth a turn. */
  readonly woken: Effect.Effect<void>
}

/**
 * A conversation of the current session, until the scope closes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: Options = {}
): Effect.Effect<Conversation, never, Sampler | ToolRegistry | ToolRuntime | Scope.Scope> =>
  Effect.gen(function* () {
    const session = yield* CurrentSession
    const scope = yield* Effect.scope
    const { log, records = [], recover = () => Effect.undefined } = options
    const inbox = new Inbox()
    const replayed = SessionLog.replay(records, lost)
    const state: Loop.State = {
      session,
      sampler: yield* Sampler,
      registry: yield* ToolRegistry,
      runtime: yield* ToolRuntime,
      inbox,
      history: replayed.history,
      append: log === undefined ? () => Effect.void : log.append,
      watchTasks: yield* taskWatcher(session, scope, inbox, options.wakes ?? false),
      system: options.system,
      limits: options.limits ?? {},
      repeats: options.repeats ?? { nudge: 5, stop: 10 },
      compact: options.compaction ?? Compaction.none
    }
    if (replayed.open !== undefined) yield* recovered(state, replayed.open, recover)
    const turns = yield* Semaphore.make(1)
    let running: Loop.Cancellation | undefined
    const turn = ToolStream.callbackArray<TurnEvent, TurnResult, SamplerError, never>((emit) =>
      turns.withPermit(
        Effect.suspend(() => {
          const cancellation: Loop.Cancellation = { asked: Deferred.makeUnsafe(), why: undefined, step: undefined }
          running = cancellation
          return Effect.ensuring(
            Effect.provideService(Loop.run(state, cancellation, emit), CurrentSession, session),
            Effect.sync(() => {
              running = undefined
            })
          )
        })
      )
    )
    return {
      session,
      history: Effect.sync(() => state.history),
      say: (content, { from = "user", wakes = from === "user" } = {}) =>
        Effect.sync(() => inbox.put({ message: { _tag: "Message", from, content }, wakes })),
      turn,
      cancel: (why) =>
        Effect.suspend(() =>
          running === undefined ? Effect.succeed(false) : Effect.as(Loop.cancel(running, why), true)
        ),
      woken: inbox.woken
    }
  })

/** Settles the calls that had no result, and makes their response a part of the history. */
const recovered = Effect.fnUntraced(function* (
  state: Loop.State,
  { answers, asked }: SessionLog.Open,
  recover: NonNullable<Options["recover"]>
) {
  const known = new Map(answers)
  for (const part of asked.parts) {
    if (part.type !== "call" || known.has(part.callId)) continue
    const result = (yield* recover(part.callId)) ?? lost(part)
    known.set(part.callId, result)
    yield* state.append([{ _tag: "Answered", callId: part.callId, result }])
  }
  state.history = [...state.history, SessionLog.close({ asked, answers: known }, lost)]
})

/** Puts the end of every task of the session into the inbox. Gives what looks for tasks that are new. */
const taskWatcher = Effect.fnUntraced(function* (session: Session, scope: Scope.Scope, inbox: Inbox, wakes: boolean) {
  const seen = new Set((yield* session.tasks.all).map(({ id }) => id))
  const watch = (task: Tasks.Task) =>
    Effect.flatMap(task.ended, (info) =>
      Effect.sync(() =>
        inbox.put({
          message: {
            _tag: "Message",
            from: "task",
            content: [text(`A task in the background has ended. ${Tasks.toText(info)}`)]
          },
          wakes,
          taskId: task.id
        })
      )
    )
  return Effect.flatMap(session.tasks.all, (tasks) =>
    Effect.forEach(
      tasks.filter(({ id }) => !seen.has(id) && seen.add(id)),
      (task) => Effect.forkIn(watch(task), scope, { startImmediately: true }),
      { discard: true }
    )
  )
})
