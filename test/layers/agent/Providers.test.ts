import type { LLMock } from "@copilotkit/aimock"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Conversation from "../../../layers/agent/Conversation.ts"
import * as History from "../../../layers/agent/History.ts"
import { Sampler } from "../../../layers/agent/Sampler.ts"
import type { TurnEvent } from "../../../layers/agent/Turn.ts"
import { text } from "../../../src/ToolContent.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as http from "node:http"
import * as Served from "./Served.ts"

const names: ReadonlyArray<Served.Provider> = ["anthropic", "responses", "chat"]

/** A conversation with a server, and all that happened in it. */
const begin = Effect.fnUntraced(function* (provider: Served.Provider, prepare: (mock: LLMock) => void) {
  const mock = yield* Served.server
  prepare(mock)
  const sent: Array<Served.Sent> = []
  const done: Served.Done = []
  const sampler = Layer.provide(Served.providers[provider](mock.url), Served.recording(sent))
  const context = yield* Layer.build(Layer.merge(sampler, Served.tools(done)))
  const conversation = yield* Effect.provideContext(Conversation.make({ system: "You are terse." }), context)
  const events: Array<TurnEvent> = []
  const turn = (words: string) =>
    Effect.andThen(
      conversation.say([text(words)]),
      ToolStream.runForEachArray(conversation.turn, (some) => Effect.sync(() => void events.push(...some)))
    )
  const history = conversation.history
  /** What each call read as, in order. */
  const results = Effect.map(history, (history) =>
    history
      .flatMap(History.callsOf)
      .map(
        ({ name, result }) =>
          `${name}: ${result.content.map((item) => (item.type === "text" ? item.text : item.type)).join("|")}`
      )
  )
  /** When it happens. */
  const until = (found: (event: TurnEvent) => boolean): Effect.Effect<void> =>
    Effect.suspend(() => (events.some(found) ? Effect.void : Effect.andThen(Effect.sleep(2), until(found))))
  return { conversation, done, events, history, mock, results, sent, turn, until }
})

const add = (a: number, b: number) => ({ name: "add", arguments: JSON.stringify({ a, b }) })

describe("providers, served", () => {
  it.live.each(names)(
    "%s: calls side by side, denied, unknown, unreadable, with a picture, then the answer",
    (provider) =>
      Effect.gen(function* () {
        const { done, events, mock, results, sent, turn } = yield* begin(provider, (mock) => {
          mock.on(
            { userMessage: "work", hasToolResult: false },
            {
              content: "Let me see.",
              reasoning: "It wants sums.",
              toolCalls: [
                add(1, 2),
                { name: "guarded", arguments: "{}" },
                { name: "look", arguments: "" },
                { name: "no.such tool!", arguments: "{}" },
                { name: "add", arguments: '{"a":1,' },
                add(3, 4)
              ]
            }
          )
          mock.on({ predicate: ({ messages }) => messages.at(-1)?.content !== "thanks" }, { content: "3 and 7." })
          mock.on({ userMessage: "thanks" }, { content: "Any time." })
        })
        const result = yield* turn("work")
        assert.deepStrictEqual(result.stop, { _tag: "End" })
        assert.strictEqual(result.calls, 6)
        assert.sameMembers(done, ["add 1 2", "add 3 4", "look"])
        const read = yield* results
        assert.deepStrictEqual(
          read.map((text) => text.slice(0, 30)),
          [
            "add: 3",
            "guarded: guarded: Not permitte",
            "look: |image|resource",
            "no.such tool!: no.such tool!: ",
            "add: add: The parameters are i",
            "add: 7"
          ]
        )
        const said = events.flatMap((event) => (event._tag === "Text" ? [event.text] : [])).join("")
        assert.strictEqual(said, "Let me see.3 and 7.")
        assert.include(
          events.flatMap((event) => (event._tag === "Reasoning" ? [event.text] : [])).join(""),
          "It wants sums."
        )
        assert.deepStrictEqual((yield* turn("thanks")).stop, { _tag: "End" })
        assert.strictEqual(sent.length, 3)
        Served.checkSent(sent, mock)
      })
  )

  it.live.each(names)("%s: a turn that is cancelled while a tool runs goes on in the next (C123)", (provider) =>
    Effect.gen(function* () {
      const { conversation, done, mock, results, sent, turn, until } = yield* begin(provider, (mock) => {
        mock.on(
          { userMessage: "wait", hasToolResult: false },
          { toolCalls: [add(1, 1), { name: "wait", arguments: '{"note":"a"}' }, add(2, 2)] }
        )
        mock.on({ userMessage: "go on" }, { content: "Gone on." })
      })
      const turning = yield* Effect.forkChild(turn("wait"))
      yield* until((event) => event._tag === "Progress")
      assert.isTrue(yield* conversation.cancel("the user has had enough"))
      assert.deepStrictEqual((yield* Fiber.join(turning)).stop, { _tag: "Cancelled", why: "the user has had enough" })
      assert.deepStrictEqual(yield* results, [
        "add: 2",
        "wait: wait: Interrupted: the user has had enough. It was stopped midway; what it had done so far stays done.",
        "add: 4"
      ])
      assert.deepStrictEqual((yield* turn("go on")).stop, { _tag: "End" })
      assert.sameMembers(done, ["add 1 1", "wait a", "add 2 2"])
      Served.checkSent(sent, mock)
    })
  )

  it.live.each(names)("%s: a turn that is cancelled while the model speaks keeps what was said", (provider) =>
    Effect.gen(function* () {
      const words = "A long answer, one piece at a time. ".repeat(6)
      const { conversation, history, mock, sent, turn, until } = yield* begin(provider, (mock) => {
        mock.on({ userMessage: "speak" }, { content: words }, { latency: 10, chunkSize: 4 })
        mock.on({ userMessage: "go on" }, { content: "Gone on." })
      })
      const turning = yield* Effect.forkChild(turn("speak"))
      yield* until((event) => event._tag === "Text")
      yield* conversation.cancel("enough")
      assert.deepStrictEqual((yield* Fiber.join(turning)).stop, { _tag: "Cancelled", why: "enough" })
      const reply = (yield* history)[1]
      assert(reply?._tag === "Reply" && reply.parts[0]?.type === "text")
      assert.isTrue(words.startsWith(reply.parts[0].text))
      assert.isBelow(reply.parts[0].text.length, words.length)
      yield* turn("go on")
      Served.checkSent(sent, mock)
    })
  )

  it.live.each(names)("%s: a call that was cut off is not executed, and is asked for again (C112)", (provider) =>
    Effect.gen(function* () {
      const { done, mock, results, sent, turn } = yield* begin(provider, (mock) => {
        mock.on(
          { userMessage: "cut", hasToolResult: false },
          { toolCalls: [add(1, 1), add(5, 5)], finishReason: "length" }
        )
        mock.on({ userMessage: "cut", hasToolResult: true }, { content: "Well." })
      })
      yield* turn("cut")
      assert.deepStrictEqual(done, ["add 1 1"])
      assert.include((yield* results)[1], "The call was cut off before its end.")
      Served.checkSent(sent, mock)
    })
  )

  it.live.each(names)(
    "%s: a connection that ends in the middle of a call is made again, and nothing is executed twice",
    (provider) =>
      Effect.gen(function* () {
        const { done, events, mock, sent, turn } = yield* begin(provider, (mock) => {
          const calls = { toolCalls: [add(10, 20), add(30, 40)] }
          mock.on({ userMessage: "break", hasToolResult: false, sequenceIndex: 0 }, calls, {
            truncateAfterChunks: 8,
            chunkSize: 4,
            latency: 5
          })
          mock.on({ userMessage: "break", hasToolResult: false }, calls)
          mock.on({ userMessage: "break", hasToolResult: true }, { content: "Done." })
        })
        const result = yield* turn("break")
        assert.deepStrictEqual(result.stop, { _tag: "End" })
        const tags = events.map(({ _tag }) => _tag)
        assert.strictEqual(tags.filter((tag) => tag === "Retrying").length, 1)
        assert.isBelow(tags.indexOf("ToolCallStart"), tags.indexOf("Retrying"), "a call had begun")
        assert.deepStrictEqual(done, ["add 10 20", "add 30 40"])
        Served.checkSent(sent, mock)
      })
  )

  it.live.each(names)(
    "%s: what may pass is asked for again: 500, a body that is none, 429 after the time it asks for",
    (provider) =>
      Effect.gen(function* () {
        const { events, mock, sent, turn } = yield* begin(provider, (mock) => {
          const failures = [
            { error: { message: "it broke", type: "server_error" }, status: 500 },
            { error: { message: "slower", type: "rate_limit_error" }, status: 429, retryAfter: 1 }
          ]
          for (const [sequenceIndex, failure] of failures.entries())
            mock.on({ userMessage: "try", sequenceIndex }, failure)
          mock.on({ userMessage: "try", sequenceIndex: 2 }, { content: "x" }, { chaos: { malformedRate: 1 } })
          mock.on({ userMessage: "try" }, { content: "At last." })
        })
        const result = yield* turn("try")
        assert.deepStrictEqual(result.stop, { _tag: "End" })
        const retries = events.flatMap((event) => (event._tag === "Retrying" ? [event] : []))
        assert.deepStrictEqual(
          retries.map(({ attempt }) => attempt),
          [1, 2, 3]
        )
        assert.include(retries[0]?.why, "it broke")
        assert.include(retries[1]?.why, "slower")
        assert.isAtLeast(retries[1]?.delayMs ?? 0, 1000)
        assert.strictEqual(sent.length, 4)
        Served.checkSent(sent, mock)
      })
  )

  it.live.each(names)(
    "%s: what will not pass fails at once, says why and not the key, and leaves the history as it was",
    (provider) =>
      Effect.gen(function* () {
        const { conversation, history, mock, sent, turn } = yield* begin(provider, (mock) => {
          mock.on(
            { userMessage: "refuse", sequenceIndex: 0 },
            {
              error: { message: `Incorrect API key provided: ${Served.key}.`, type: "authentication_error" },
              status: 401
            }
          )
          mock.on({ userMessage: "refuse" }, { content: "After all." })
        })
        const error = yield* Effect.flip(turn("refuse"))
        assert.strictEqual(error.reason._tag, "NotAuthorized")
        assert.include(error.message, "Incorrect API key provided: (the key).")
        assert.strictEqual(sent.length, 1)
        assert.strictEqual((yield* history).length, 1)
        // It is asked again as it stands.
        assert.deepStrictEqual((yield* ToolStream.runResult(conversation.turn)).stop, { _tag: "End" })
        assert.strictEqual((yield* history).length, 2)
        Served.checkSent(sent, mock)
      })
  )

  it.live.each(names)("%s: ids that come again in a later turn, and twice in one response (C127)", (provider) =>
    Effect.gen(function* () {
      const { done, mock, results, sent, turn } = yield* begin(provider, (mock) => {
        const again = { ...add(1, 2), id: "call_x" }
        mock.on({ userMessage: "first", hasToolResult: false }, { toolCalls: [again, { ...add(9, 9), id: "call_x" }] })
        mock.on({ userMessage: "first", hasToolResult: true }, { content: "One." })
        mock.on({ userMessage: "second", hasToolResult: false }, { toolCalls: [{ ...add(3, 4), id: "call_x" }] })
        mock.on({ userMessage: "second", hasToolResult: true }, { content: "Two." })
      })
      yield* turn("first")
      yield* turn("second")
      assert.deepStrictEqual(done, ["add 1 2", "add 3 4"])
      const read = yield* results
      assert.strictEqual(read.length, 3)
      assert.include(read[1], "Another call of the same batch has this id")
      assert.strictEqual(read[2], "add: 7")
      Served.checkSent(sent, mock)
    })
  )

  it.live("a provider that sends its clients elsewhere is refused, and the key does not go along", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const listening = (answer: (url: string) => http.RequestListener, to = "") =>
        Effect.acquireRelease(
          Effect.promise(
            () =>
              new Promise<http.Server>((resolve) => {
                const server = http.createServer(answer(to)).listen(0, "127.0.0.1", () => resolve(server))
              })
          ),
          (server) => Effect.sync(() => void server.close().closeAllConnections())
        )
      const urlOf = (server: http.Server) => {
        const address = server.address()
        return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : ""
      }
      const other = yield* listening(() => ({ headers }, response) => {
        asked.push(JSON.stringify(headers))
        response.end()
      })
      const first = yield* listening(
        (to) => (_, response) => void response.writeHead(307, { location: `${to}/v1/messages` }).end(),
        urlOf(other)
      )
      for (const name of names) {
        const context = yield* Layer.build(Layer.provide(Served.providers[name](urlOf(first)), FetchHttpClient.layer))
        const { sample } = Context.get(context, Sampler)
        const error = yield* Effect.flip(ToolStream.runResult(sample({ history: [], tools: [] })))
        assert.strictEqual(error.reason._tag, "Unreachable", error.message)
      }
      assert.deepStrictEqual(asked, [])
    })
  )
})
