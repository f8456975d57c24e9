import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Conversation from "../../../layers/agent/Conversation.ts"
import * as History from "../../../layers/agent/History.ts"
import * as Recall from "../../../layers/agent/Recall.ts"
import * as SessionLog from "../../../layers/agent/SessionLog.ts"
import type { TurnEvent, TurnResult } from "../../../layers/agent/Turn.ts"
import * as RecordingJournal from "../../../layers/testing/RecordingJournal.ts"
import * as ScriptedSampler from "../../../layers/testing/ScriptedSampler.ts"
import * as Journal from "../../../src/Journal.ts"
import * as Session from "../../../src/Session.ts"
import { text, type ToolContent } from "../../../src/ToolContent.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as Plan from "./Plan.ts"

/** What was written, in the order in which it was: the conversation's own records, and the journal of its calls. */
type Trace = Array<SessionLog.SessionRecord | Journal.Entry>

const wordsOf = (content: ReadonlyArray<ToolContent>) =>
  content.map((item) => (item.type === "text" ? item.text : "")).join("\n")

/** Whose step a reply is: it stands in what it called. */
const stepOf = (calls: ReadonlyArray<History.AskedCall>): number => Number(/<(\d+)\./.exec(calls[0]!.text)![1])

/** Every reply has the calls of its step, in their order, and each has the result that it should have. */
const checkHistory = (history: History.History, plan: Plan.Plan, world: Plan.World, reasons: ReadonlySet<string>) => {
  for (const item of history) {
    const calls = History.callsOf(item)
    if (calls.length === 0) continue
    const number = stepOf(calls)
    const step = plan.steps[number]!
    assert.deepStrictEqual(
      calls.map(({ id, name, text }) => ({ id, name, text })),
      step.calls.map((call, index) => {
        const { id, name, text } = Plan.askedCall(call, number, index)
        return { id, name, text }
      }),
      "the calls of the step, in their order"
    )
    for (const [index, { name, result }] of calls.entries()) {
      const words = wordsOf(result.content)
      const wanted = Plan.resultOf(step, number, index)
      if (words.includes(wanted.says)) {
        assert.strictEqual(result.isError, wanted.isError)
        continue
      }
      // Only whom somebody ended may say something else, and what is known of it.
      assert.isAbove(reasons.size, 0, `call ${index} of step ${number} says: ${words}`)
      const started = world.started.has(Plan.tokenOf(number, index))
      const stopped = "It was stopped midway; what it had done so far stays done."
      const detached = "It did not react and may still be running; look before you call again."
      // One that is deaf may end within the time it is given.
      const deaf = step.calls[index]!.does === "deaf"
      const known = started ? (deaf ? [stopped, detached] : [stopped]) : ["It was not executed."]
      assert.include(
        Array.from(reasons, (why) => known.map((known) => `${name}: Interrupted: ${why}. ${known}`)).flat(),
        words.split("\n")[0]
      )
      assert.isTrue(result.isError)
    }
  }
}

/** How often each text stands in the messages of a history. */
const countOf = (history: History.History, words: string): number =>
  history.filter((item) => item._tag === "Message" && wordsOf(item.content).includes(words)).length

/** Every call is named, accepted, and ended, once each, in this order; nothing is said while one runs. */
const checkEvents = (events: ReadonlyArray<TurnEvent>, left: boolean) => {
  const open = new Set<string>()
  const over = new Set<string>()
  let named = new Set<string>()
  for (const event of events) {
    switch (event._tag) {
      case "Sampling":
      case "Said":
      case "Replied":
        assert.strictEqual(open.size, 0, `${event._tag} while calls run`)
        if (event._tag === "Sampling") named = new Set()
        break
      case "Retrying":
        named = new Set()
        break
      case "ToolCallStart":
        assert.isFalse(named.has(event.callId))
        named.add(event.callId)
        break
      case "ToolCallDelta":
      case "ToolCallEnd":
        assert.isTrue(named.has(event.callId))
        break
      case "Accepted":
        assert.isTrue(named.delete(event.call.callId), "it was named")
        assert.isFalse(over.has(event.call.callId))
        open.add(event.call.callId)
        break
      case "Progress":
        assert.isTrue(open.has(event.callId))
        break
      case "Terminal":
        assert.isTrue(open.delete(event.callId), "one terminal, of a call that was accepted")
        over.add(event.callId)
        break
      default:
    }
  }
  if (!left) assert.strictEqual(open.size, 0)
}

/** A journal that another process has left behind. */
const leftBehind = (entries: ReadonlyArray<Journal.Entry>): Journal.Service => {
  const all = [...entries]
  const of = (callId: string) => all.filter((entry) => Journal.callIdOf(entry) === callId)
  return {
    progress: "full",
    write: (entry) => Effect.sync(() => void all.push(entry)),
    events: (callId) =>
      of(callId).length === 0
        ? Stream.fail(new Journal.JournalError({ reason: "Unknown", detail: callId }))
        : Stream.fromIterable(of(callId).filter((entry) => entry._tag === "Terminal")),
    claim: Effect.sync(() =>
      all.flatMap((accepted): ReadonlyArray<Journal.OpenCall> => {
        if (accepted._tag !== "Accepted") return []
        const own = of(accepted.call.callId)
        if (own.some(({ _tag }) => _tag === "Terminal")) return []
        return [
          own.reduce<Journal.OpenCall>(
            (open, entry) =>
              entry._tag === "Accepted" || entry._tag === "Terminal" ? open : Journal.follow(open, entry),
            { accepted, nextSeq: 0 }
          )
        ]
      })
    )
  }
}

const isRecord = (entry: Trace[number]): entry is SessionLog.SessionRecord =>
  ["Opened", "Said", "Replied", "Asked", "Answered", "Compacted"].includes(entry._tag)

/** The process ends after so much was written; another takes the conversation up. */
const checkResumed = (trace: Trace) =>
  Effect.gen(function* () {
    const records = trace.filter(isRecord)
    const journal = trace.filter((entry): entry is Journal.Entry => !isRecord(entry))
    const model = ScriptedSampler.make([])
    const written: Trace = []
    const context = yield* Layer.build(
      Layer.merge(
        model.layer,
        Layer.provideMerge(Plan.layer(Plan.makeWorld()), Journal.layer(Effect.succeed(leftBehind(journal))))
      )
    )
    const recover = yield* Effect.provideContext(Recall.make, context)
    const conversation = yield* Conversation.make({
      records,
      recover,
      log: { append: (records) => Effect.sync(() => void written.push(...records)) }
    }).pipe(Effect.provideContext(context))
    const history = yield* conversation.history
    const answered = new Map(
      records.flatMap((record) => (record._tag === "Answered" ? [[record.callId, record.result]] : []))
    )
    const decoded = new Set(journal.flatMap((entry) => (entry._tag === "Decoded" ? [entry.callId] : [])))
    const started = new Set(journal.flatMap((entry) => (entry._tag === "Started" ? [entry.callId] : [])))
    const ended = new Map(
      journal.flatMap((entry) => (entry._tag === "Terminal" ? [[entry.callId, History.fromTerminal(entry)]] : []))
    )
    for (const record of records) {
      if (record._tag !== "Asked") continue
      for (const part of record.parts) {
        if (part.type !== "call") continue
        const call = history.flatMap(History.callsOf).filter(({ callId }) => callId === part.callId)
        assert.strictEqual(call.length, 1, "each call that was written is there once")
        const words = wordsOf(call[0]!.result.content)
        const known = answered.get(part.callId)
        if (known !== undefined) assert.deepStrictEqual(call[0]!.result, known)
        else if (ended.has(part.callId)) assert.deepStrictEqual(call[0]!.result, ended.get(part.callId))
        else {
          // That it was not executed is said only where it is known.
          const known = decoded.has(part.callId) && !started.has(part.callId)
          assert.include(words, known ? "It was not executed." : "The answer was lost. It may have been executed")
        }
      }
    }
    // What was recovered was written: a second crash finds it.
    const again = SessionLog.replay([...records, ...written.filter(isRecord)], () =>
      assert.fail("a call without a result")
    )
    assert.isUndefined(again.open)
    assert.deepStrictEqual(again.history, history)
    yield* conversation.say([text("go on")])
    const result = yield* ToolStream.runResult(conversation.turn)
    assert.deepStrictEqual(result.stop, { _tag: "End" })
    assert.deepStrictEqual(model.requests[0]!.history.slice(0, -1), history)
  })

const check = (plan: Plan.Plan) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(0)
    const world = Plan.makeWorld()
    const trace: Trace = []
    const model = ScriptedSampler.make((_, number) => {
      const step = plan.steps[number]
      return step === undefined ? { parts: [{ type: "text", text: "That is all." }] } : Plan.script(step, number)
    })
    const journal = yield* RecordingJournal.make({ onWrite: (entry) => void trace.push(entry) })
    const context = yield* Layer.build(Layer.provide(Layer.merge(model.layer, Plan.layer(world)), journal.layer))
    const conversation = yield* Conversation.make({
      wakes: plan.wakes,
      log: { append: (records) => Effect.sync(() => void trace.push(...records)) }
    }).pipe(Effect.provideContext(context))
    const said = new Set<number>()
    const reasons = new Set<string>()
    const end = (why: string, how: Effect.Effect<unknown>) => {
      reasons.add(why)
      world.ending = true
      return Effect.forkChild(how, { startImmediately: true })
    }

    /** Nothing more is said. */
    let quiet = false
    /** One turn, and what the plan has for it. */
    const turn = Effect.fnUntraced(function* (prompt: string, patience: number, ends: Plan.Plan["ends"]) {
      world.ending = false
      const events: Array<TurnEvent> = []
      yield* conversation.say([text(prompt)])
      const run = ToolStream.runForEachArray(conversation.turn, (some) =>
        Effect.andThen(
          Effect.sync(() => void events.push(...some)),
          plan.pace === 0 ? Effect.void : Effect.sleep(plan.pace)
        )
      )
      const fiber = yield* Effect.forkChild(run, { startImmediately: true })
      for (let now = 1; now <= patience + 40 && fiber.pollUnsafe() === undefined; now++) {
        yield* TestClock.adjust(1)
        for (const [index, { at, from }] of plan.says.entries()) {
          if (quiet || at !== now || said.has(index)) continue
          said.add(index)
          yield* conversation.say([text(`(said ${index})`)], { from })
        }
        if ((ends._tag === "Cancel" && ends.at === now) || now === patience) {
          yield* end("stopped by the user", conversation.cancel("stopped by the user"))
        } else if (ends._tag === "Leave" && ends.at === now) yield* end("consumer left", Fiber.interrupt(fiber))
      }
      const exit = fiber.pollUnsafe()
      assert.isDefined(exit, "the turn has ended")
      const left = ends._tag === "Leave" && Exit.isFailure(exit)
      if (!left) {
        assert.isTrue(Exit.isSuccess(exit))
        const { stop } = (exit as Exit.Success<TurnResult>).value
        if (stop._tag === "Cancelled") assert.strictEqual(stop.why, "stopped by the user")
        else assert.include(["End", "Length"], stop._tag)
        if (stop._tag === "Cancelled") assert.isTrue(world.ending)
      }
      checkEvents(events, left)
      assert.deepStrictEqual([...world.late], [], "no call is started after the turn was told to end")
      yield* TestClock.adjust(20)
    })
    yield* turn("(prompt)", 301, plan.ends)
    // Further turns say what the first one left, and bring the plan to its end.
    const more: Array<string> = []
    while (more.length === 0 || model.requests.length <= plan.steps.length + 1) {
      const prompt = `(more ${more.length})`
      more.push(prompt)
      yield* turn(prompt, 61, { _tag: "ByItself" })
    }
    // What was said at the end of the last one waits for another.
    quiet = true
    more.push("(last)")
    yield* turn("(last)", 61, { _tag: "ByItself" })

    const history = yield* conversation.history
    for (const request of model.requests) checkHistory(request.history, plan, world, reasons)
    checkHistory(history, plan, world, reasons)
    const words = ["(prompt)", ...more, ...Array.from(said, (n) => `(said ${n})`)]
    for (const word of words) assert.strictEqual(countOf(history, word), 1, `${word} is said once`)

    // The log tells the same history, and the journal has a pair for every call of it.
    const records = trace.filter(isRecord)
    const replayed = SessionLog.replay(records, () => assert.fail("a call without a result"))
    assert.isUndefined(replayed.open)
    assert.deepStrictEqual(replayed.history, history)
    const journalled = trace.filter((entry): entry is Journal.Entry => !isRecord(entry))
    const callIds = history.flatMap(History.callsOf).map(({ callId }) => callId)
    for (const tag of ["Accepted", "Terminal"] as const) {
      const ids = journalled.flatMap((entry) =>
        entry._tag === tag ? [entry._tag === "Accepted" ? entry.call.callId : entry.callId] : []
      )
      assert.sameMembers(ids, callIds, tag)
    }
    for (const [id, { waited }] of world.tasks) {
      if (!waited) assert.strictEqual(countOf(history, id), 1, "the end of a task is told once")
      else if (reasons.size === 0) assert.strictEqual(countOf(history, id), 0, "what a result told is not told again")
    }
    for (let crash = 0; crash <= trace.length; crash += Math.max(1, Math.floor(trace.length / 5))) {
      yield* checkResumed(trace.slice(0, crash))
    }
  }).pipe(Effect.scoped, Effect.provide(Session.layer({ workspace: "/" })))

describe("Turn", () => {
  it.effect.prop(
    "every call has one result right after it, whatever happens (C112, C123, C125, C127)",
    { plan: Arbitrary.schema(Plan.Plan) },
    ({ plan }) => check(plan),
    { arbitrary: { runs: Number(process.env["RUNS"] ?? 500) }, timeout: 120_000 }
  )
})
