/**
 * The loop of a turn: say, sample, run the calls, and again.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Session } from "../../../src/Session.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolContent from "../../../src/ToolContent.ts"
import type { ToolEvent } from "../../../src/ToolEvent.ts"
import type { ToolRegistry } from "../../../src/ToolRegistry.ts"
import type { ToolRuntime } from "../../../src/ToolRuntime.ts"
import type { Compact } from "../Compaction.ts"
import * as History from "../History.ts"
import type { Response, Sampler } from "../Sampler.ts"
import type { SamplerError } from "../SamplerError.ts"
import type { Asked, SessionRecord } from "../SessionLog.ts"
import * as SessionLog from "../SessionLog.ts"
import type { Limits, TurnEvent, TurnResult, TurnStop } from "../Turn.ts"
import type { Inbox } from "./Inbox.ts"
import * as Offer from "./Offer.ts"
import { Repeats } from "./Repeats.ts"
import * as Sample from "./Sample.ts"
import { lost, Step } from "./Step.ts"

/** What a conversation is, between its turns and in them. */
export interface State {
  readonly session: Session
  readonly sampler: Sampler["Service"]
  readonly registry: ToolRegistry["Service"]
  readonly runtime: ToolRuntime["Service"]
  readonly inbox: Inbox
  history: History.History
  readonly append: (records: ReadonlyArray<SessionRecord>) => Effect.Effect<void>
  readonly watchTasks: Effect.Effect<void>
  readonly system: string | undefined
  readonly limits: Limits
  readonly repeats: { readonly nudge: number; readonly stop: number }
  readonly compact: Compact
}

/** How a turn that runs is told to end. */
export interface Cancellation {
  readonly asked: Deferred.Deferred<void>
  why: string | undefined
  /** The calls that run. */
  step: Step | undefined
}

type Emit = (events: Arr.NonEmptyReadonlyArray<TurnEvent>) => Effect.Effect<void>

/** Asks the turn to end, and waits for the terminals of its calls. */
export const cancel = (cancellation: Cancellation, why: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    cancellation.why ??= why
    Deferred.doneUnsafe(cancellation.asked, Effect.void)
    return cancellation.step === undefined ? Effect.void : cancellation.step.stop(cancellation.why)
  })

/** Where nobody says otherwise. More would hide a loop for long. */
const maxSamples = 200
const maxCalls = 1000

/** One turn. */
export const run = Effect.fnUntraced(function* (state: State, cancellation: Cancellation, emit: Emit) {
  const { calls: maxExecuted = maxCalls } = state.limits
  const repeats = new Repeats()
  const spent = { samples: 0, calls: 0, executed: 0, outputUnits: 0, usage: History.noUsage }
  const ended = (stop: TurnStop): TurnResult => ({
    stop,
    samples: spent.samples,
    calls: spent.calls,
    usage: spent.usage
  })

  /** What waits is said. One after another: each is kept before it is told. */
  const say = Effect.suspend(() => {
    const messages = state.inbox.take()
    if (!Arr.isReadonlyArrayNonEmpty(messages)) return Effect.void
    state.history = [...state.history, ...messages]
    const said = Arr.map(messages, (message) => ({ _tag: "Said", message }) as const)
    return Effect.uninterruptibleMask((restore) => Effect.andThen(state.append(said), restore(emit(said))))
  })

  yield* state.watchTasks
  yield* say
  if (!isOpen(state.history)) return ended({ _tag: "End" })
  const offer = yield* Offer.make(yield* state.registry.snapshot)

  for (;;) {
    if (cancellation.why !== undefined) return ended({ _tag: "Cancelled", why: cancellation.why })
    const reached = spent.samples === 0 ? undefined : reachedOf(state.limits, spent)
    if (reached !== undefined) return ended(reached)
    yield* untilCancelled(cancellation, compacted(state, emit, false))
    if (cancellation.why !== undefined) return ended({ _tag: "Cancelled", why: cancellation.why })

    spent.samples++
    yield* emit([{ _tag: "Sampling", sample: spent.samples }])
    const sampled = yield* sample(state, cancellation, offer, emit)
    if (Option.isNone(sampled)) continue
    const { callIds, response } = sampled.value
    spent.usage = History.addUsage(spent.usage, response.usage)
    const replied: TurnEvent = {
      _tag: "Replied",
      stop: response.stop,
      usage: response.usage,
      ...(response.model === undefined ? {} : { model: response.model })
    }
    const asked = response.parts.filter((part) => part.type === "call")
    if (asked.length === 0) {
      yield* replyWith(state, {
        ...response,
        _tag: "Reply",
        parts: response.parts.filter((part) => part.type !== "call")
      })
      yield* emit([replied])
      yield* state.watchTasks
      if (cancellation.why === undefined && state.inbox.wakes) {
        yield* say
        continue
      }
      return ended(stopOf(response.stop))
    }

    const times = repeats.count(asked)
    const stops = times >= state.repeats.stop
    const free = Math.max(0, maxExecuted - spent.executed)
    spent.calls += asked.length
    spent.executed += stops ? 0 : Math.min(free, asked.length)
    const reply = yield* step(state, cancellation, {
      response,
      callIds,
      offer,
      replied,
      emit,
      refused: (index) =>
        cancellation.why ??
        (stops
          ? `the same calls were made ${times} times in a row`
          : index >= free
            ? `a turn may make ${maxExecuted} calls, and has made them`
            : undefined)
    })
    spent.outputUnits += unitsOf(reply)
    if (stops) return ended({ _tag: "Repeated", times })
    if (times === state.repeats.nudge) {
      state.inbox.put({ message: nudge(times), wakes: false })
    }
    if (asked.length > free) return ended({ _tag: "LimitReached", limit: "calls", max: maxExecuted })
    if (cancellation.why === undefined) {
      yield* state.watchTasks
      yield* say
    }
  }
})

/** Whether there is anything for the model to answer. */
const isOpen = (history: History.History): boolean => {
  const last = history.at(-1)
  return last !== undefined && (last._tag === "Message" ? last.from !== "summary" : History.callsOf(last).length > 0)
}

const reachedOf = (
  { outputUnits = Infinity, samples = maxSamples, tokens = Infinity }: Limits,
  spent: { readonly samples: number; readonly outputUnits: number; readonly usage: History.Usage }
): TurnStop | undefined =>
  spent.samples >= samples
    ? { _tag: "LimitReached", limit: "samples", max: samples }
    : spent.usage.inputTokens + spent.usage.outputTokens >= tokens
      ? { _tag: "LimitReached", limit: "tokens", max: tokens }
      : spent.outputUnits >= outputUnits
        ? { _tag: "LimitReached", limit: "outputUnits", max: outputUnits }
        : undefined

const stopOf = (stop: History.ReplyStop): TurnStop =>
  stop === "length" ? { _tag: "Length" } : stop === "refusal" ? { _tag: "Refusal" } : { _tag: "End" }

const unitsOf = (reply: History.Reply): number =>
  History.callsOf(reply)
    .flatMap(({ result }) => result.content)
    .reduce((units, item) => units + (item.type === "text" ? item.text.length : 0), 0)

const nudge = (times: number): History.Message => ({
  _tag: "Message",
  from: "program",
  content: [
    ToolContent.text(
      `You have made the same calls ${times} times in a row. Their results are above. Do something else, or say what keeps you from it.`
    )
  ]
})

/** None, when the turn was cancelled meanwhile. The effect is interrupted then. */
const untilCancelled = <A, E>(
  { asked }: Cancellation,
  effect: Effect.Effect<A, E>
): Effect.Effect<Option.Option<A>, E> =>
  Effect.raceFirst(Effect.asSome(effect), Effect.as(Deferred.await(asked), Option.none()))

const replyWith = (state: State, reply: History.Reply): Effect.Effect<void> =>
  Effect.suspend(() => {
    state.history = [...state.history, reply]
    return state.append([{ _tag: "Replied", reply }])
  })

/** Whether the history was made shorter. */
const compacted = (state: State, emit: Emit, forced: boolean): Effect.Effect<boolean> =>
  Effect.matchEffect(state.compact({ history: state.history, forced }, state.sampler), {
    onFailure: ({ message }) => Effect.as(emit([{ _tag: "CompactionFailed", why: message }]), false),
    onSuccess: (compacted) => {
      if (compacted === undefined) return Effect.succeed(false)
      const { kept, summary } = compacted
      const replaced = state.history.length - kept
      return Effect.uninterruptibleMask((restore) => {
        state.history = [summary, ...state.history.slice(replaced)]
        return state
          .append([{ _tag: "Compacted", summary, kept }])
          .pipe(Effect.andThen(restore(emit([{ _tag: "Compacted", replaced, kept }]))), Effect.as(true))
      })
    }
  })

/** One response, for a history that is too long for it of a shorter one. None when it was cancelled: then what had been said of it is kept. */
const sample = (
  state: State,
  cancellation: Cancellation,
  offer: Offer.Offer,
  emit: Emit
): Effect.Effect<Option.Option<Sample.Sampled>, SamplerError> => {
  const attempt = Effect.suspend(() => {
    const sample = new Sample.Sample(emit)
    const request = { system: state.system, history: state.history, tools: offer.tools, sessionId: state.session.id }
    const keep = Effect.suspend(() => {
      const said = sample.said
      return said === undefined ? Effect.void : replyWith(state, said)
    })
    return untilCancelled(cancellation, sample.run(state.sampler.sample(request))).pipe(
      Effect.onInterrupt(() => keep),
      Effect.tap((sampled) => (Option.isNone(sampled) ? keep : Effect.void))
    )
  })
  return Effect.catchIf(
    attempt,
    ({ reason }) => reason._tag === "ContextTooLong",
    (error) =>
      Effect.flatMap(untilCancelled(cancellation, compacted(state, emit, true)), (shorter) =>
        Option.isNone(shorter) ? Effect.succeedNone : shorter.value ? attempt : Effect.fail(error)
      )
  )
}

/** Why calls are ended of whose turn nobody said that it should end. The words of the runtime. */
const unsaid = "consumer left"

/** The calls of a response, each with its result, as a part of the history. */
const step = Effect.fnUntraced(function* (
  state: State,
  cancellation: Cancellation,
  options: {
    readonly response: Response
    readonly callIds: ReadonlyMap<number, string>
    readonly offer: Offer.Offer
    readonly replied: TurnEvent
    readonly emit: Emit
    readonly refused: (index: number) => string | undefined
  }
) {
  const { callIds, emit, offer, refused, replied, response } = options
  const dispatch = yield* state.runtime.batch
  const calls: Array<ToolCall.ToolCall> = []
  const parts: Array<Asked["parts"][number]> = []
  for (const part of response.parts) {
    if (part.type !== "call") {
      parts.push(part)
      continue
    }
    const call = yield* ToolCall.fromText({
      name: offer.nameOf(part.name),
      text: part.text,
      ...(part.truncated === true ? { truncated: true } : {}),
      ...(part.id === "" ? {} : { externalId: part.id })
    })
    const callId = callIds.get(calls.length) ?? call.callId
    calls.push({ ...call, callId })
    parts.push({ ...part, callId })
  }
  const { model, stop, usage } = response
  const asked: Asked = { _tag: "Asked", parts, stop, usage, ...(model === undefined ? {} : { model }) }
  const answers = new Map<string, History.CallResult>()
  const running = new Step(calls, {
    runtime: state.runtime,
    dispatch,
    refused,
    emit: (events: Arr.NonEmptyReadonlyArray<ToolEvent>) => emit(events),
    answered: (call, result, terminal) => {
      answers.set(call.callId, result)
      if (terminal?._tag === "Terminal" && terminal.result._tag === "Success")
        tellTasks(state.inbox, terminal.result.value)
      return state.append([{ _tag: "Answered", callId: call.callId, result }])
    }
  })
  const accepted = calls.map((call): TurnEvent => ({ _tag: "Accepted", call }))
  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      // From here on the calls are owed their results, whatever happens.
      yield* state.append([asked])
      cancellation.step = running
      const stopped = Deferred.await(cancellation.asked).pipe(
        Effect.andThen(Effect.suspend(() => running.stop(cancellation.why ?? unsaid))),
        Effect.andThen(Effect.never)
      )
      const exit = yield* Effect.exit(
        restore(Effect.andThen(emit([replied, ...accepted]), Effect.raceFirst(running.run, stopped)))
      )
      yield* running.settle(cancellation.why ?? unsaid)
      cancellation.step = undefined
      const reply = SessionLog.close({ asked, answers }, lost)
      state.history = [...state.history, reply]
      yield* exit
      return reply
    })
  )
})

/** Levels of a value that are looked into for tasks. */
const maxDepth = 4

/** What a result says of the end of tasks need not be said again. */
const tellTasks = (inbox: Inbox, value: unknown, depth = 0): void => {
  if (typeof value !== "object" || value === null || depth > maxDepth) return
  if (!Array.isArray(value) && "taskId" in value && "status" in value && typeof value.taskId === "string") {
    const { status } = value
    if (typeof status === "object" && status !== null && "_tag" in status && status._tag !== "Running") {
      inbox.tell(value.taskId)
    }
  }
  for (const part of Object.values(value)) tellTasks(inbox, part, depth + 1)
}
