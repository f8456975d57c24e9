/**
 * Conversations with a real server that speaks the protocols of the providers, and with
 * tools that do what they are told. Whatever is sent is checked against the rules of the
 * provider, as it went over the wire and as the server's journal has it.
 */
import { LLMock } from "@copilotkit/aimock"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Anthropic from "../../../layers/agent/Anthropic.ts"
import * as OpenAiChat from "../../../layers/agent/OpenAiChat.ts"
import * as OpenAiResponses from "../../../layers/agent/OpenAiResponses.ts"
import type { Sampler } from "../../../layers/agent/Sampler.ts"
import * as Session from "../../../src/Session.ts"
import * as Tool from "../../../src/Tool.ts"
import { fromReason, PermissionDenied } from "../../../src/ToolError.ts"
import * as ToolMiddleware from "../../../src/ToolMiddleware.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as WireRules from "./WireRules.ts"

export const key = "sk-not-to-be-told"

const options = { apiKey: Redacted.make(key), retry: { retries: 3, baseMs: 2 } }

export const providers = {
  anthropic: (url: string) => Anthropic.layer({ ...options, model: "claude-sonnet-4-5", baseUrl: url }),
  responses: (url: string) => OpenAiResponses.layer({ ...options, model: "gpt-4o", baseUrl: `${url}/v1` }),
  chat: (url: string) => OpenAiChat.layer({ ...options, model: "gpt-4o", baseUrl: `${url}/v1` })
} satisfies Record<string, (url: string) => Layer.Layer<Sampler, never, HttpClient.HttpClient>>

export type Provider = keyof typeof providers

/** A server for the length of the test. */
export const server: Effect.Effect<LLMock, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const mock = new LLMock({ port: 0 })
    await mock.start()
    return mock
  }),
  // It would wait for connections that are kept alive.
  (mock) => Effect.sync(() => void mock.stop())
)

export interface Sent {
  readonly path: string
  readonly body: unknown
}

/** A client that remembers what it sent. */
export const recording = (sent: Array<Sent>): Layer.Layer<HttpClient.HttpClient> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) =>
      HttpClient.tapRequest(client, (request) =>
        Effect.sync(() => void sent.push({ path: new URL(request.url).pathname, body: bodyOf(request) }))
      )
    )
  ).pipe(Layer.provide(FetchHttpClient.layer))

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): unknown =>
  body._tag === "Uint8Array" ? JSON.parse(new TextDecoder().decode(body.body)) : undefined

/** Nothing was sent that a provider would refuse. */
export const checkSent = (sent: ReadonlyArray<Sent>, mock: LLMock): void => {
  assert.isNotEmpty(sent)
  for (const { body, path } of sent) assert.deepStrictEqual(WireRules.violations(path, body), [], path)
  for (const { body, path } of mock.getRequests()) {
    if (body !== null) assert.deepStrictEqual(WireRules.journal(record(body)["messages"]), [], `journal of ${path}`)
  }
  assert.notInclude(JSON.stringify(sent), key)
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

/** What the tools did, in the order in which they began. */
export type Done = Array<string>

class Add extends Tool.Service<Add>()("add", {
  description: "Adds two numbers.",
  parameters: { a: Schema.Finite, b: Schema.Finite },
  success: Schema.Finite
}) {}

class Wait extends Tool.Service<Wait>()("wait", {
  description: "Waits until it is ended.",
  parameters: { note: Schema.optionalKey(Schema.String) },
  progress: Schema.String,
  success: Schema.String
}) {}

class Look extends Tool.Service<Look>()("look", {
  description: "Shows a picture.",
  parameters: {},
  success: Schema.String,
  toContent: (data) => [
    { type: "text", text: "" },
    { type: "image", data, mimeType: "image/png" },
    { type: "resource", uri: "file:///a\ud800.png" }
  ]
}) {}

class Guarded extends Tool.Service<Guarded>()("guarded", {
  description: "Is permitted to nobody.",
  parameters: {},
  success: Schema.String
}) {}

/** One pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const denials = ToolMiddleware.layer(
  Effect.succeed(
    (next) => (prepared) =>
      prepared.tool.name === "guarded"
        ? ToolStream.fail(fromReason(prepared.call, new PermissionDenied({ by: "the test", why: "nobody may" })))
        : next(prepared)
  )
)

export const tools = (done: Done) =>
  ToolRuntime.layerWith({ grace: 500 }).pipe(
    Layer.provide(denials),
    Layer.provideMerge(ToolRegistry.layer(Add, Wait, Look, Guarded)),
    Layer.provide([
      Add.toLayer(Effect.succeed(({ a, b }) => Effect.sync(() => (done.push(`add ${a} ${b}`), a + b)))),
      Wait.toLayer(
        Effect.succeed(({ note }) =>
          ToolStream.callback((emit: (text: string) => Effect.Effect<void>) => {
            done.push(`wait ${note}`)
            return Effect.andThen(emit("waiting"), Effect.never)
          })
        )
      ),
      Look.toLayer(Effect.succeed(() => Effect.sync(() => (done.push("look"), png)))),
      Guarded.toLayer(Effect.succeed(() => Effect.sync(() => (done.push("guarded"), "never"))))
    ]),
    Layer.provideMerge(Session.layer({ workspace: "/" }))
  )
