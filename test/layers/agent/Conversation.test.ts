import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Compaction from "../../../layers/agent/Compaction.ts"
import * as Conversation from "../../../layers/agent/Conversation.ts"
import * as History from "../../../layers/agent/History.ts"
import { ContextTooLong } from "../../../layers/agent/SamplerError.ts"
import * as SessionLog from "../../../layers/agent/SessionLog.ts"
import * as Turn from "../../../layers/agent/Turn.ts"
import * as ScriptedSampler from "../../../layers/testing/ScriptedSampler.ts"
import * as Session from "../../../src/Session.ts"
import { text } from "../../../src/ToolContent.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as Plan from "./Plan.ts"

const call = (does: Plan.Does, token: string, id = token): History.AskedCall => ({
  type: "call",
  id,
  name: "work",
  text: JSON.stringify({ token, does, ms: 2 })
})

const script = (...calls: ReadonlyArray<History.AskedCall>): ScriptedSampler.Script => ({ parts: calls })
const says = (words: string, more: Partial<ScriptedSampler.Script> = {}): ScriptedSampler.Script => ({
  parts: [{ type: "text", text: words }],
  ...more
})

/** A conversation with a model that says these, and all that happened. */
const begin = Effect.fnUntraced(function* (
  scripts: Parameters<typeof ScriptedSampler.make>[0],
  options: Conversation.Options = {}
) {
  const world = Plan.makeWorld()
  const model = ScriptedSampler.make(scripts)
  const context = yield* Layer.build(Layer.merge(model.layer, Plan.layer(world)))
  const conversation = yield* Effect.provideContext(Conversation.make(options), context)
  const events: Array<Turn.TurnEvent> = []
  const turn = ToolStream.runForEachArray(conversation.turn, (some) => Effect.sync(() => void events.push(...some)))
  const say = (words: string) => Effect.andThen(conversation.say([text(words)]), turn)
  const calls = Effect.map(conversation.history, (history) => history.flatMap(History.callsOf))
  const said = (words: string) =>
    Effect.map(conversation.history, (history) => history.filter((item) => JSON.stringify(item).includes(words)).length)
  return { calls, conversation, events, model, said, say, turn, world }
})

const scoped = <A, E>(effect: Effect.Effect<A, E, import("effect/Scope").Scope>) =>
  Effect.provide(Effect.scoped(effect), Session.layer({ workspace: "/" }))

describe("limits of a turn", () => {
  const endless = (_: unknown, number: number) => script(call("succeed", `t${number}a`), call("succeed", `t${number}b`))

  it.effect("samples: the results of the last one are there, and the next turn goes on from them", () =>
    Effect.gen(function* () {
      const { calls, model, say, turn } = yield* begin(endless, { limits: { samples: 2 } })
      const result = yield* say("go")
      assert.deepStrictEqual(result.stop, { _tag: "LimitReached", limit: "samples", max: 2 })
      assert.deepInclude(result, { samples: 2, calls: 4 })
      assert.isTrue((yield* calls).every(({ result }) => !result.isError))
      yield* turn
      assert.strictEqual(model.requests.length, 4)
    }).pipe(scoped)
  )

  it.effect("calls: those beyond it are refused, each with its result, and not executed", () =>
    Effect.gen(function* () {
      const { calls, say, world } = yield* begin(endless, { limits: { calls: 3 } })
      const result = yield* say("go")
      assert.deepStrictEqual(result.stop, { _tag: "LimitReached", limit: "calls", max: 3 })
      assert.deepStrictEqual([...world.started], ["t0a", "t0b", "t1a"])
      const last = (yield* calls).at(-1)
      assert.include(JSON.stringify(last?.result), "a turn may make 3 calls, and has made them. It was not executed.")
    }).pipe(scoped)
  )

  it.effect("tokens and output: no further sample", () =>
    Effect.gen(function* () {
      const tokens = yield* begin(endless, { limits: { tokens: 3 } })
      assert.deepInclude(yield* tokens.say("go"), {
        stop: { _tag: "LimitReached", limit: "tokens", max: 3 },
        samples: 2
      })
      const output = yield* begin(endless, { limits: { outputUnits: 10 } })
      assert.deepInclude(yield* output.say("go"), {
        stop: { _tag: "LimitReached", limit: "outputUnits", max: 10 },
        samples: 1
      })
    }).pipe(scoped)
  )
})

describe("repetition", () => {
  it.effect("the same calls again and again: a nudge after their results, then a stop before they are executed", () =>
    Effect.gen(function* () {
      // The order of keys and of calls, blanks and ids do not make them others.
      const forms = ['{"token":"x","does":"succeed","ms":2}', ' { "does":"succeed", "ms":2, "token":"x" } ']
      const { calls, conversation, model, said, say } = yield* begin(
        (_, number) => ({ parts: [{ type: "call", id: `id${number}`, name: "work", text: forms[number % 2]! }] }),
        { repeats: { nudge: 3, stop: 5 } }
      )
      const result = yield* say("go")
      assert.deepStrictEqual(result.stop, { _tag: "Repeated", times: 5 })
      assert.strictEqual(model.requests.length, 5)
      const results = (yield* calls).map(({ result }) => result.isError)
      assert.deepStrictEqual(results, [false, false, false, false, true])
      assert.include(JSON.stringify((yield* calls).at(-1)), "5 times in a row. It was not executed.")
      assert.strictEqual(yield* said("You have made the same calls 3 times"), 1)
      const history = yield* conversation.history
      const nudge = history.findIndex((item) => JSON.stringify(item).includes("You have made the same calls"))
      assert.strictEqual(nudge, 4, "after the third results")
    }).pipe(scoped)
  )

  it.effect("others in between begin the count anew", () =>
    Effect.gen(function* () {
      const { say } = yield* begin(
        (_, number) => (number === 8 ? says("done") : script(call("succeed", number % 2 === 0 ? "a" : "b"))),
        { repeats: { nudge: 2, stop: 3 } }
      )
      assert.deepStrictEqual((yield* say("go")).stop, { _tag: "End" })
    }).pipe(scoped)
  )
})

describe("what is said meanwhile", () => {
  it.effect("the program's word waits for the next sample, and is worth no turn; the user's prolongs the turn", () =>
    Effect.gen(function* () {
      const { conversation, model, say, turn } = yield* begin([says("one"), says("two"), says("three")])
      yield* conversation.say([text("(by the way)")], { from: "program" })
      assert.strictEqual((yield* turn).samples, 1, "it waited to be said, and there was a turn for it")
      const woken = yield* Effect.forkChild(conversation.woken, { startImmediately: true })
      yield* conversation.say([text("(again)")], { from: "program" })
      yield* TestClock.adjust(1)
      assert.isUndefined(woken.pollUnsafe())
      const result = yield* say("hello")
      assert.strictEqual(result.samples, 1)
      assert.deepStrictEqual(
        model.requests[1]?.history.slice(-2).map((item) => (item._tag === "Message" ? item.from : "reply")),
        ["program", "user"]
      )
      yield* Fiber.join(woken)
    }).pipe(scoped)
  )

  it.effect("the end of a task wakes an idle conversation that wants to be woken, and is told once", () =>
    Effect.gen(function* () {
      const { conversation, said, say, turn } = yield* begin(
        [script(call("task", "t")), says("It runs."), says("I see.")],
        {
          wakes: true
        }
      )
      const fiber = yield* Effect.forkChild(say("start it"), { startImmediately: true })
      yield* TestClock.adjust(0)
      yield* Fiber.join(fiber)
      const woken = yield* Effect.forkChild(conversation.woken, { startImmediately: true })
      assert.isUndefined(woken.pollUnsafe())
      yield* TestClock.adjust(10)
      yield* Fiber.join(woken)
      assert.deepInclude(yield* turn, { stop: { _tag: "End" }, samples: 1 })
      assert.strictEqual(yield* said("A task in the background has ended."), 1)
      assert.deepInclude(yield* turn, { samples: 0 })
    }).pipe(scoped)
  )

  it.effect("two turns of one conversation follow each other", () =>
    Effect.gen(function* () {
      const { conversation, events, turn } = yield* begin([says("a long one", { everyMs: 10 }), says("two")])
      yield* conversation.say([text("first")])
      const first = yield* Effect.forkChild(turn, { startImmediately: true })
      const second = yield* Effect.forkChild(turn, { startImmediately: true })
      yield* TestClock.adjust(20)
      assert.strictEqual((yield* Fiber.join(first)).samples, 1)
      assert.strictEqual((yield* Fiber.join(second)).samples, 0)
      assert.strictEqual(events.filter(({ _tag }) => _tag === "Sampling").length, 1)
    }).pipe(scoped)
  )
})

describe("cancel", () => {
  it.effect("C123: quick read, long command, write: success, cancelled, cancelled before it started", () =>
    Effect.gen(function* () {
      const { calls, conversation, say, world } = yield* begin([
        script(call("succeed", "read"), call("write", "command"), call("write", "write"))
      ])
      const fiber = yield* Effect.forkChild(say("go"), { startImmediately: true })
      yield* TestClock.adjust(1)
      assert.isTrue(yield* conversation.cancel("enough"))
      assert.deepStrictEqual((yield* Fiber.join(fiber)).stop, { _tag: "Cancelled", why: "enough" })
      const words = (yield* calls).map(({ result }) => JSON.stringify(result))
      assert.include(words[0], "done read")
      assert.include(words[1], "Interrupted: enough. It was stopped midway")
      assert.include(words[2], "Interrupted: enough. It was not executed.")
      assert.deepStrictEqual([...world.started], ["read", "command"])
      assert.isFalse(yield* conversation.cancel("again"))
    }).pipe(scoped)
  )

  it.effect(
    "while the model speaks: what it said stays, without what it had given up and without a call it had begun",
    () =>
      Effect.gen(function* () {
        const parts = [{ type: "text" as const, text: "half a word" }, call("succeed", "x")]
        const { conversation, model, say } = yield* begin([{ parts, retries: true, hangs: true }, says("ok")])
        const fiber = yield* Effect.forkChild(say("go"), { startImmediately: true })
        yield* TestClock.adjust(1)
        yield* conversation.cancel("enough")
        assert.strictEqual((yield* Fiber.join(fiber)).stop._tag, "Cancelled")
        const [, reply] = yield* conversation.history
        assert.deepInclude(reply, { stop: "cancelled", parts: [{ type: "text", text: "half a word" }] })
        yield* say("go on")
        assert.deepStrictEqual(model.requests[1]?.history.slice(0, 2), (yield* conversation.history).slice(0, 2))
      }).pipe(scoped)
  )

  it.effect("it waits for the terminals of the calls: of one that is deaf until it ends", () =>
    Effect.gen(function* () {
      const { conversation, say } = yield* begin([script(call("deaf", "x"))])
      const fiber = yield* Effect.forkChild(say("go"), { startImmediately: true })
      yield* TestClock.adjust(1)
      const cancelled = yield* Effect.forkChild(conversation.cancel("now"), { startImmediately: true })
      yield* Effect.yieldNow
      assert.isUndefined(cancelled.pollUnsafe(), "the call still runs")
      yield* TestClock.adjust(2)
      assert.isTrue(yield* Fiber.join(cancelled))
      assert.strictEqual((yield* Fiber.join(fiber)).stop._tag, "Cancelled")
    }).pipe(scoped)
  )

  it.effect("a reader that leaves before the calls began has none executed, and each has its result", () =>
    Effect.gen(function* () {
      const { calls, conversation, world } = yield* begin([script(call("succeed", "x"), call("succeed", "y"))])
      const reached = yield* Deferred.make<void>()
      yield* conversation.say([text("go")])
      const slow = ToolStream.runForEachArray(conversation.turn, (events) =>
        events.some(({ _tag }) => _tag === "Replied")
          ? Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
          : Effect.void
      )
      const fiber = yield* Effect.forkChild(slow, { startImmediately: true })
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual([...world.started], [])
      assert.deepStrictEqual(
        (yield* calls).map(({ result }) => JSON.stringify(result).includes("It was not executed.")),
        [true, true]
      )
    }).pipe(scoped)
  )

  it.effect("it returns when the calls have their terminals, though nobody reads the turn", () =>
    Effect.gen(function* () {
      const { calls, conversation } = yield* begin([script(call("hang", "x"))])
      const accepted = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const slow = ToolStream.runForEachArray(conversation.turn, (events) =>
        events.some(({ _tag }) => _tag === "Progress")
          ? Effect.andThen(Deferred.succeed(accepted, undefined), Deferred.await(go))
          : Effect.void
      )
      yield* conversation.say([text("go")])
      const fiber = yield* Effect.forkChild(slow, { startImmediately: true })
      yield* Deferred.await(accepted)
      assert.isTrue(yield* conversation.cancel("now"))
      assert.isUndefined(fiber.pollUnsafe())
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* Fiber.join(fiber)).stop._tag, "Cancelled")
      assert.strictEqual((yield* calls).length, 1)
    }).pipe(scoped)
  )
})

describe("compaction", () => {
  const full = { inputTokens: 900, outputTokens: 50 }
  const summary = says("They want X; Y is done.")

  it.effect("old items become a summary, calls stay with their results, and the log says the same", () =>
    Effect.gen(function* () {
      const records: Array<SessionLog.SessionRecord> = []
      const { conversation, events, model, say } = yield* begin(
        ({ history }, number) =>
          JSON.stringify(history[0]).includes("Write that summary")
            ? summary
            : number < 3
              ? {
                  ...script(call("succeed", `t${number}`)),
                  usage: number === 2 ? full : { inputTokens: 9, outputTokens: 1 }
                }
              : says("done"),
        {
          compaction: Compaction.summarising({ contextTokens: 1000, keepUnits: 100 }),
          log: { append: (some) => Effect.sync(() => void records.push(...some)) }
        }
      )
      yield* say("do X")
      const history = yield* conversation.history
      assert.deepInclude(
        events.find(({ _tag }) => _tag === "Compacted"),
        { kept: 1, replaced: 3 }
      )
      assert.deepStrictEqual(
        history.map((item) => (item._tag === "Message" ? item.from : item._tag)),
        ["summary", "Reply", "Reply"]
      )
      assert.include(JSON.stringify(history[0]), "They want X; Y is done.")
      assert.deepStrictEqual(
        history.flatMap(History.callsOf).map(({ id }) => id),
        ["t2"]
      )
      assert.deepStrictEqual(SessionLog.replay(records, () => assert.fail()).history, history)
      // It was shown the record as a text, and no tool.
      const asked = model.requests.find(({ history }) => JSON.stringify(history[0]).includes("Write that summary"))
      assert.deepStrictEqual(asked?.tools, [])
      assert.include(JSON.stringify(asked?.history), "[model calls work]")
    }).pipe(scoped)
  )

  it.effect("what the model refuses as too long is made shorter once, and asked again", () =>
    Effect.gen(function* () {
      const { conversation, say } = yield* begin(
        ({ history }) =>
          JSON.stringify(history[0]).includes("Write that summary")
            ? summary
            : history.length > 3
              ? { parts: [], fails: new ContextTooLong({ detail: "too long" }) }
              : says("ok"),
        { compaction: Compaction.summarising({ contextTokens: 1_000_000, keepUnits: 10 }) }
      )
      yield* say("one")
      yield* say("two")
      const result = yield* say("three")
      assert.deepStrictEqual(result.stop, { _tag: "End" })
      assert.strictEqual((yield* conversation.history)[0]?._tag, "Message")
    }).pipe(scoped)
  )

  it.effect("a summary that fails changes nothing, and the turn goes on", () =>
    Effect.gen(function* () {
      const { events, say } = yield* begin(
        ({ history }) =>
          JSON.stringify(history[0]).includes("Write that summary")
            ? { parts: [], fails: new ContextTooLong({ detail: "no" }) }
            : says("ok", { usage: full }),
        { compaction: Compaction.summarising({ contextTokens: 1000, keepUnits: 10 }) }
      )
      yield* say("one")
      yield* say("two")
      assert.strictEqual((yield* say("three")).stop._tag, "End")
      assert.isTrue(events.some(({ _tag }) => _tag === "CompactionFailed"))
    }).pipe(scoped)
  )
})

describe("events of a turn", () => {
  it.effect("go through JSON and back", () =>
    Effect.gen(function* () {
      const { events, say } = yield* begin([
        script(call("succeed", "a"), call("fail", "b")),
        says("done", { retries: true })
      ])
      yield* say("go")
      for (const event of events) {
        const back = yield* Turn.fromJson(JSON.parse(JSON.stringify(Turn.toJson(event))))
        assert.deepStrictEqual(Turn.toJson(back), JSON.parse(JSON.stringify(Turn.toJson(event))))
      }
    }).pipe(scoped)
  )
})
