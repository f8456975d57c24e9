import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as Fiber from "effect/Fiber"
import * as Anthropic from "../../../layers/agent/Anthropic.ts"
import * as OpenAiChat from "../../../layers/agent/OpenAiChat.ts"
import * as OpenAiResponses from "../../../layers/agent/OpenAiResponses.ts"
import { Sampler, type SamplerEvent } from "../../../layers/agent/Sampler.ts"
import * as ToolStream from "../../../src/ToolStream.ts"

const options = { model: "m", apiKey: Redacted.make("k"), retry: { retries: 0 } }
const layers = {
  anthropic: Anthropic.layer(options),
  responses: OpenAiResponses.layer(options),
  chat: OpenAiChat.layer(options)
}

/** A server that says these bytes, in these pieces, and keeps the connection if it is told to. */
const served = (pieces: ReadonlyArray<Uint8Array>, keeps = false) =>
  Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.sync(() => {
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            for (const piece of pieces) controller.enqueue(piece)
            if (!keeps) controller.close()
          }
        })
        return HttpClientResponse.fromWeb(
          request,
          new Response(body, { headers: { "content-type": "text/event-stream" } })
        )
      })
    )
  )

const sample = (provider: keyof typeof layers, pieces: ReadonlyArray<Uint8Array>, keeps = false) =>
  Effect.gen(function* () {
    const { sample } = yield* Sampler
    const events: Array<SamplerEvent> = []
    const response = yield* ToolStream.runForEachArray(sample({ history: [], tools: [] }), (some) =>
      Effect.sync(() => void events.push(...some))
    )
    return { events, response }
  }).pipe(Effect.provide(Layer.provide(layers[provider], served(pieces, keeps))))

const bytes = (text: string) => new TextEncoder().encode(text)
const sse = (messages: ReadonlyArray<unknown>) =>
  messages.map((message) => `data: ${typeof message === "string" ? message : JSON.stringify(message)}\n\n`).join("")

/** One response, as each says it: a thought, "Grüße 👋", and two calls. */
const said: Record<keyof typeof layers, string> = {
  anthropic: sse([
    {
      type: "message_start",
      message: { model: "m1", usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 } }
    },
    { type: "ping" },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "sig" } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Grüße " } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "👋" } },
    { type: "content_block_stop", index: 1 },
    { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "t1", name: "a", input: {} } },
    { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"x"' } },
    { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: ":1}" } },
    { type: "content_block_stop", index: 2 },
    {
      type: "content_block_start",
      index: 3,
      content_block: { type: "tool_use", id: "t2", name: "b", input: { y: 2 } }
    },
    { type: "content_block_stop", index: 3 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
    { type: "message_stop" }
  ]),
  responses: sse([
    { type: "response.created", response: {} },
    { type: "response.output_item.added", output_index: 0, item: { type: "reasoning", id: "r1", summary: [] } },
    { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "hm" },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { type: "reasoning", id: "r1", summary: [], encrypted_content: "sig" }
    },
    { type: "response.output_item.added", output_index: 1, item: { type: "message" } },
    { type: "response.output_text.delta", output_index: 1, delta: "Grüße " },
    { type: "response.output_text.delta", output_index: 1, delta: "👋" },
    {
      type: "response.output_item.added",
      output_index: 2,
      item: { type: "function_call", call_id: "t1", name: "a", arguments: "" }
    },
    {
      type: "response.output_item.added",
      output_index: 3,
      item: { type: "function_call", call_id: "t2", name: "b", arguments: "" }
    },
    { type: "response.function_call_arguments.delta", output_index: 2, delta: '{"x"' },
    { type: "response.function_call_arguments.delta", output_index: 2, delta: ":1}" },
    {
      type: "response.output_item.done",
      output_index: 2,
      item: { type: "function_call", call_id: "t1", name: "a", arguments: '{"x":1}' }
    },
    {
      type: "response.output_item.done",
      output_index: 3,
      item: { type: "function_call", call_id: "t2", name: "b", arguments: '{"y":2}' }
    },
    {
      type: "response.completed",
      response: {
        status: "completed",
        model: "m1",
        usage: { input_tokens: 7, input_tokens_details: { cached_tokens: 2 }, output_tokens: 9 }
      }
    }
  ]),
  chat: `: keep-alive\n\n${sse([
    { model: "m1", choices: [{ delta: { role: "assistant", content: null, reasoning_content: "hm" } }] },
    { choices: [{ delta: { content: "Grüße " } }] },
    { choices: [{ delta: { content: "👋" } }] },
    { choices: [{ delta: { tool_calls: [{ index: 0, id: "t1", function: { name: "a", arguments: '{"x"' } }] } }] },
    { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ":1}" } }] } }] },
    { choices: [{ delta: { tool_calls: [{ index: 1, id: "t2", function: { name: "b", arguments: '{"y":2}' } }] } }] },
    { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
    { choices: [], usage: { prompt_tokens: 7, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 2 } } },
    "[DONE]"
  ])}`
}

const check = ({ events, response }: Effect.Success<ReturnType<typeof sample>>) => {
  assert.deepStrictEqual(
    response.parts.map(({ type, text }) => [type, text]),
    [
      ["reasoning", "hm"],
      ["text", "Grüße 👋"],
      ["call", '{"x":1}'],
      ["call", '{"y":2}']
    ]
  )
  assert.deepStrictEqual(
    response.parts.flatMap((part) => (part.type === "call" ? [`${part.id} ${part.name}`] : [])),
    ["t1 a", "t2 b"]
  )
  assert.strictEqual(response.stop, "calls")
  assert.strictEqual(response.model, "m1")
  assert.deepStrictEqual(response.usage, { inputTokens: 7, outputTokens: 9, cacheReadTokens: 2 })
  // The events tell the same.
  const told = (tag: "Text" | "Reasoning") =>
    events.flatMap((event) => (event._tag === tag ? [event.text] : [])).join("")
  assert.strictEqual(told("Text"), "Grüße 👋")
  assert.strictEqual(told("Reasoning"), "hm")
  for (const [index, text] of ['{"x":1}', '{"y":2}'].entries()) {
    const own = events.filter((event) => "index" in event && event.index === index)
    assert.strictEqual(own[0]?._tag, "ToolCallStart")
    assert.strictEqual(own.at(-1)?._tag, "ToolCallEnd")
    assert.strictEqual(own.flatMap((event) => (event._tag === "ToolCallDelta" ? [event.text] : [])).join(""), text)
  }
}

const names = ["anthropic", "responses", "chat"] as const

const cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4000 }))).check(
  Schema.isMaxLength(30)
)

describe("readers of providers", () => {
  for (const name of names) {
    it.effect.prop(
      `${name}: wherever the bytes are cut, also within a character, the response is the same`,
      { at: Arbitrary.schema(cuts), crlf: Arbitrary.schema(Schema.Boolean) },
      ({ at, crlf }) =>
        Effect.gen(function* () {
          const all = bytes(crlf ? said[name].replaceAll("\n", "\r\n") : said[name])
          const places = [0, ...at.filter((place) => place < all.length).toSorted((a, b) => a - b), all.length]
          const pieces = places.slice(1).map((place, index) => all.slice(places[index], place))
          check(yield* sample(name, pieces))
        }),
      { arbitrary: { runs: 100 } }
    )

    it.effect(`${name}: the response has ended when it says so, though the connection stays`, () =>
      Effect.map(sample(name, [bytes(said[name])], true), check)
    )

    it.effect(`${name}: what ends before its end is no response`, () =>
      Effect.gen(function* () {
        const end = said[name].lastIndexOf(name === "chat" ? '"finish_reason"' : "data:")
        const error = yield* Effect.flip(sample(name, [bytes(said[name].slice(0, end))]))
        assert.strictEqual(error.reason._tag, "Disconnected")
      })
    )

    it.effect(`${name}: of a provider that falls silent is not waited for for ever`, () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(Effect.flip(sample(name, [bytes(said[name].slice(0, 40))], true)))
        yield* TestClock.adjust(0)
        for (let minute = 0; minute < 6; minute++) {
          // The body is read by the platform, in its own time.
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
          yield* TestClock.adjust("1 minute")
        }
        const error = yield* Fiber.join(fiber)
        assert.include(error.message, "nothing came for 300000 ms")
      })
    )
  }

  it.effect("an error within the response is told as what it is", () =>
    Effect.gen(function* () {
      const within = {
        anthropic: [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
        responses: [{ type: "response.failed", response: { error: { code: "server_error", message: "Overloaded" } } }],
        chat: [{ error: { message: "Overloaded", code: 503 } }]
      }
      for (const name of names) {
        const error = yield* Effect.flip(sample(name, [bytes(sse(within[name]))]))
        assert.strictEqual(error.reason._tag, "ServerFault", name)
        assert.include(error.message, "Overloaded")
      }
    })
  )

  it.effect("Chat of others: calls without index or id, several at one index, each in one piece", () =>
    Effect.gen(function* () {
      const one = (call: object) => ({ choices: [{ delta: { tool_calls: [call] } }] })
      const { response } = yield* sample("chat", [
        bytes(
          sse([
            one({ function: { name: "a", arguments: "{}" } }),
            one({ index: 0, id: "x", function: { name: "b", arguments: '{"n":1}' } }),
            one({ index: 0, id: "y", function: { name: "c", arguments: "" } }),
            one({ index: 0, id: "y", function: { arguments: '{"n":2}' } }),
            { choices: [{ delta: {}, finish_reason: "stop" }] }
          ])
        )
      ])
      assert.deepStrictEqual(
        response.parts.map((part) => (part.type === "call" ? [part.id, part.name, part.text] : [])),
        [
          ["", "a", "{}"],
          ["x", "b", '{"n":1}'],
          ["y", "c", '{"n":2}']
        ]
      )
      assert.strictEqual(response.stop, "calls")
    })
  )
})
