import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as McpServer from "effect/ai/McpServer"
import * as Schema from "effect/Schema"
import * as ErasedTool from "../../../src/ErasedTool.ts"
import * as TestClock from "effect/testing/TestClock"
import type * as Journal from "../../../src/Journal.ts"
import * as Tool from "../../../src/Tool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { deaf, emitThenHang, erased, runtime, succeeds } from "../../Harness.ts"
import { CurrentClient } from "../../../layers/mcp/Client.ts"
import * as Tools from "../../../layers/mcp/Tools.ts"
import { client, hello, lines, meta, type Message, services } from "./Wire.ts"

const call = (id: string | number, name: string, more: object = {}) => ({
  id,
  method: "tools/call",
  params: { name, arguments: {}, ...more }
})

const errorOf = ({ result }: Message) =>
  (
    result!["_meta"] as {
      readonly "toolstream/error": { readonly reason: { readonly _tag: string; readonly failure?: unknown } }
    }
  )["toolstream/error"].reason

class Picture extends Tool.Service<Picture>()("picture", {
  description: "A picture, and where it is.",
  title: "Picture!",
  parameters: {},
  success: Schema.String,
  hints: { readOnly: true, openWorld: false },
  icons: [{ src: "data:image/png;base64,aGVsbG8=", sizes: ["48x48"] }],
  toContent: () => [
    { type: "text", text: "See:" },
    { type: "image", data: "aGVsbG8=", mimeType: "image/png" },
    { type: "resource", uri: "file:///tmp/a%20b.png", mimeType: "image/png" }
  ]
}) {}
const picture = ErasedTool.fromImplementation(Picture, { execute: () => ToolStream.succeed("x") })

class Says extends Tool.Service<Says>()("says", { description: "Says.", parameters: {}, success: Schema.String }) {}
const says = ErasedTool.fromImplementation(Says, { execute: () => ToolStream.succeed("a\nb") })

class Odd extends Tool.Service<Odd>()("odd", {
  description: "Has content that throws when it is read.",
  parameters: {},
  success: Schema.String,
  toContent: () => [
    {
      type: "text",
      get text(): string {
        throw new Error("an odd text")
      }
    }
  ]
}) {}
const odd = ErasedTool.fromImplementation(Odd, { execute: () => ToolStream.succeed("x") })

describe("a server on lines", () => {
  it.effect("lists tools with their schemas and hints", () =>
    Effect.gen(function* () {
      const { ask } = yield* lines(yield* runtime({ picture, t: succeeds }))
      yield* ask(hello())
      const { response } = yield* ask({ id: 1, method: "tools/list" })
      const [first, second] = response.result!["tools"] as ReadonlyArray<Record<string, unknown>>
      assert.deepStrictEqual(first, {
        name: "picture",
        title: "Picture!",
        description: "A picture, and where it is.",
        icons: [{ src: "data:image/png;base64,aGVsbG8=", sizes: ["48x48"] }],
        inputSchema: { type: "object", properties: {}, additionalProperties: false },
        annotations: {
          title: "Picture!",
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: false
        }
      })
      assert.deepStrictEqual(second?.["name"], "t")
    })
  )

  it.effect("content is text, images and links; a value that is no object is structured in 2026-07-28 only", () =>
    Effect.gen(function* () {
      const content = [
        { type: "text", text: "See:" },
        { type: "image", data: "aGVsbG8=", mimeType: "image/png" },
        { type: "resource_link", name: "a%20b.png", uri: "file:///tmp/a%20b.png", mimeType: "image/png" }
      ]
      const built = yield* runtime({ picture })
      const { ask } = yield* lines(built)
      const newest = yield* ask(call(1, "picture", meta()))
      assert.deepInclude(newest.response.result, { content, structuredContent: "x", isError: false })
      yield* ask(hello())
      const older = yield* ask(call(2, "picture"))
      assert.deepStrictEqual(older.response.result, { content, isError: false })
    })
  )

  it.effect("older revisions are told of what they have no words for", () =>
    Effect.gen(function* () {
      const built = yield* runtime({ picture })
      for (const [revision, link] of [
        ["2025-06-18", "resource_link"],
        ["2025-03-26", "text"],
        ["2024-11-05", "text"]
      ] as const) {
        const { ask } = yield* lines(built)
        yield* ask(hello(revision))
        const { content } = (yield* ask(call(1, "picture"))).response.result as {
          readonly content: ReadonlyArray<{ readonly type: string }>
        }
        assert.deepStrictEqual(
          content.map(({ type }) => type),
          ["text", "image", link]
        )
      }
    })
  )

  it.effect("a string is said without the quotes of its JSON where it cannot be structured", () =>
    Effect.gen(function* () {
      const built = yield* runtime({ says })
      for (const server of [{}, { registrations: Layer.empty }]) {
        const newest = yield* client(built, { revision: "2026-07-28", server })
        assert.deepInclude(yield* newest.callTool({ name: "says", arguments: {} }), {
          content: [{ type: "text", text: `"a\\nb"` }],
          structuredContent: "a\nb"
        })
        for (const revision of ["2025-11-25", "2025-06-18", "2024-11-05"] as const) {
          const older = yield* client(built, { revision, server })
          const { content, structuredContent } = yield* older.callTool({ name: "says", arguments: {} })
          assert.deepStrictEqual([content, structuredContent], [[{ type: "text", text: "a\nb" }], undefined])
        }
      }
    })
  )

  it.effect("content that breaks the server is an internal error, and in the log", () =>
    Effect.gen(function* () {
      const logs: Array<string> = []
      const logger = Logger.make(({ cause }) => {
        logs.push(Cause.pretty(cause))
      })
      const { ask } = yield* lines(yield* runtime({ odd })).pipe(Effect.provide(Logger.layer([logger])))
      yield* ask(hello())
      const { error } = (yield* ask(call(1, "odd"))).response
      assert.deepStrictEqual(error, { code: -32603, message: "Internal error" })
      assert.include(logs.join(), "an odd text")
    })
  )

  it.effect("parameters that are to be repeated in headers are left to who compares them", () =>
    Effect.gen(function* () {
      const t = erased("t", succeeds)
      const properties = { region: { type: "string", "x-mcp-header": "Region" } }
      const parametersSchema = { type: "object", properties } as const
      const mirrored = { ...t, name: "mirrored", descriptor: { ...t.descriptor, parametersSchema } }
      const built = yield* runtime({ t, mirrored })
      const context = yield* Layer.build(services(built))
      const tools = yield* Effect.provideContext(Tools.make({}), context)
      const called = (name: string, checks?: "headers") =>
        tools.call({ name, parameters: {}, requestId: 1 }, checks) !== undefined
      assert.isFalse(called("t"), "it is registered nowhere")
      yield* Layer.build(Layer.provide(tools.layer, McpServer.McpServer.layer))
      assert.deepStrictEqual([called("t"), called("t", "headers")], [true, true])
      assert.deepStrictEqual([called("mirrored"), called("mirrored", "headers")], [true, false])
    })
  )

  it.effect("2026-07-28: a call that asks is made again with the answer, and is run once each time", () =>
    Effect.gen(function* () {
      let runs = 0
      const asks = ErasedTool.fromImplementation(Says, {
        execute: () =>
          ToolStream.fromEffect(
            Effect.gen(function* () {
              runs++
              const client = yield* CurrentClient
              const answers = yield* client!.ask({ which: { method: "roots/list", params: {} } }, `run ${runs}`)
              return `${client!.state}: ${JSON.stringify(answers)}`
            }).pipe(Effect.orDie)
          )
      })
      const { ask } = yield* lines(yield* runtime({ asks: { ...asks, name: "asks" } }))
      const capabilities = { roots: {} }
      const first = (yield* ask(call(1, "asks", meta(capabilities)))).response.result!
      assert.deepInclude(first, { resultType: "input_required" })
      assert.deepStrictEqual(Object.keys(first["inputRequests"] as object), ["which"])
      assert.strictEqual(runs, 1)
      const answered = { requestState: first["requestState"], inputResponses: { which: { roots: [] } } }
      const second = (yield* ask(call(2, "asks", { ...answered, ...meta(capabilities) }))).response.result!
      assert.deepInclude(second, { resultType: "complete", structuredContent: `run 1: {"which":{"roots":[]}}` })
      assert.strictEqual(runs, 2)
      const unable = (yield* ask(call(3, "asks", meta()))).response
      assert.isDefined(unable.error, "it has not said that it can be asked")
    })
  )

  it.effect("middleware that is registered beside the tools is around their calls", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const registrations = McpServer.middleware(
        (effect, { target }) =>
          Effect.andThen(
            Effect.sync(() => seen.push(target)),
            effect
          ),
        { global: true }
      )
      for (const revision of ["2026-07-28", "2025-11-25"] as const) {
        const { callTool } = yield* client(yield* runtime({ t: succeeds }), { revision, server: { registrations } })
        assert.isFalse((yield* callTool({ name: "t", arguments: {} })).isError)
      }
      assert.deepStrictEqual(seen, ["t", "t"])
    })
  )

  it.effect("the id of a request is the externalId of its call; descriptions are those of the session, now", () =>
    Effect.gen(function* () {
      const journal: Array<Journal.Entry> = []
      let asked = 0
      const described = { ...erased("t", succeeds), describe: Effect.sync(() => `asked ${++asked}`) }
      const { ask } = yield* lines(yield* runtime({ t: described }, { journal }))
      yield* ask(hello())
      yield* ask(call("seven", "t"))
      yield* ask(call(8, "t"))
      assert.deepStrictEqual(
        journal.flatMap((entry) => (entry._tag === "Accepted" ? [entry.call.externalId] : [])),
        ["seven", "8"]
      )
      const { response } = yield* ask({ id: 9, method: "tools/list" })
      const [tool] = response.result!["tools"] as ReadonlyArray<{ readonly description: string }>
      assert.strictEqual(tool?.description, `asked ${asked}`)
    })
  )

  it.effect("what the model can mend is a result; what it cannot is an error", () =>
    Effect.gen(function* () {
      const { ask } = yield* lines(
        yield* runtime({
          t: succeeds,
          fails: () => ToolStream.fail("nope"),
          breaks: () => ToolStream.fromEffect(Effect.die(new Error("secret")))
        })
      )
      yield* ask(hello())
      const invalid = (yield* ask(call(1, "t", { arguments: { m: 1 } }))).response
      assert.strictEqual(errorOf(invalid)._tag, "InvalidParameters")
      assert.isTrue(invalid.result?.["isError"])
      const failed = (yield* ask(call(2, "fails"))).response
      assert.deepInclude(errorOf(failed), { _tag: "ToolFailed", failure: "nope" })
      const broken = (yield* ask(call(3, "breaks"))).response
      assert.strictEqual(errorOf(broken)._tag, "ToolDefect")
      assert.notInclude(JSON.stringify(broken), "secret")
      const unknown = (yield* ask(call(4, "u"))).response
      assert.strictEqual(unknown.error?.code, -32602)
      const malformed = (yield* ask(call(5, "t", { arguments: 5 }))).response
      assert.strictEqual(malformed.error?.code, -32602)
      assert.strictEqual((yield* ask({ id: 6, method: "no/such" })).response.error?.code, -32601)
    })
  )

  it.effect("what cannot be served is answered, and the next line is served", () =>
    Effect.gen(function* () {
      const { ask, next, write } = yield* lines(yield* runtime({ t: succeeds }))
      yield* ask(hello())
      const answers: ReadonlyArray<readonly [string | Uint8Array, number, unknown]> = [
        ["{", -32700, null],
        ["nonsense", -32700, null],
        ["[]", -32600, null],
        ["7", -32600, null],
        ["null", -32600, null],
        [`{"jsonrpc":"1.0","id":3,"method":"ping"}`, -32600, 3],
        [`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, null],
        [`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, null],
        [`{"jsonrpc":"2.0","id":"x","method":5}`, -32600, "x"],
        [`{"jsonrpc":"2.0","id":9}`, -32600, 9],
        [`[{"jsonrpc":"2.0","id":9,"method":"ping"}]`, -32600, null]
      ]
      for (const [line, code, id] of answers) {
        yield* write(`${line}\n`)
        const { error, id: answered } = yield* next
        assert.deepStrictEqual([error?.code, answered], [code, id], String(line))
      }
      // In one piece with what is not.
      yield* write(`bad\n{"jsonrpc":"2.0","id":1,"method":"ping"}\nbad\n`)
      assert.deepStrictEqual(
        [yield* next, yield* next, yield* next].map(({ error, id }) => [id, error?.code]).toSorted(),
        [
          [null, -32700],
          [null, -32700],
          [1, undefined]
        ].toSorted()
      )
    })
  )

  it.effect("the id of a request that is in flight is refused, and the first is answered", () =>
    Effect.gen(function* () {
      const release = yield* Deferred.make<void>()
      const { ask, next, send } = yield* lines(yield* runtime({ t: succeeds, deaf: deaf(release) }))
      yield* ask(hello())
      yield* send(call("same", "deaf"))
      yield* send(call("same", "t"))
      const refused = yield* next
      assert.deepStrictEqual([refused.id, refused.error?.code], [null, -32600])
      yield* Deferred.succeed(release, undefined)
      const answered = yield* next
      assert.strictEqual(answered.id, "same")
      assert.deepInclude(answered.result, { isError: false })
      assert.strictEqual((yield* ask(call(2, "t"))).response.id, 2)
    })
  )

  it.effect("C130 progress comes before the response, none after it, none without a token", () =>
    Effect.gen(function* () {
      const emits = () =>
        ToolStream.callback((emit: (n: number) => Effect.Effect<void>) =>
          Effect.as(Effect.andThen(emit(4), emit(5)), [5])
        )
      const { ask, written } = yield* lines(yield* runtime({ emits }))
      yield* ask(hello())
      const told = yield* ask(call(1, "emits", { _meta: { progressToken: 7 } }))
      assert.deepStrictEqual(
        told.before.map(({ params }) => params),
        [
          { progressToken: 7, progress: 1, message: "4" },
          { progressToken: 7, progress: 2, message: "5" }
        ]
      )
      assert.deepStrictEqual((yield* ask(call(2, "emits"))).before, [])
      assert.deepStrictEqual(yield* written, [])
    })
  )

  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const more = revision === "2026-07-28" ? meta() : {}
    it.effect(`${revision}: a cancelled request ends its call, and has no response`, () =>
      Effect.gen(function* () {
        const journal: Array<Journal.Entry> = []
        const built = yield* runtime({ hangs: emitThenHang, t: succeeds }, { journal })
        const { ask, send } = yield* lines(built)
        if (revision === "2025-11-25") yield* ask(hello())
        yield* send(call(1, "hangs", more))
        yield* send({ method: "notifications/cancelled", params: { requestId: 1, reason: "changed my mind", ...more } })
        yield* send({ method: "notifications/cancelled", params: { requestId: 99, ...more } })
        const { before, response } = yield* ask(call(2, "t", more))
        assert.strictEqual(response.id, 2)
        assert.deepStrictEqual(before, [])
        assert.deepStrictEqual(yield* built.runtime.inFlight, [])
        assert.include(JSON.stringify(journal), "consumer left")
      })
    )
  }

  it.effect("2025-03-26: the responses of a batch are one array; what was cancelled is not in it", () =>
    Effect.gen(function* () {
      const { ask, next, send, write } = yield* lines(yield* runtime({ hangs: emitThenHang, t: succeeds }))
      yield* ask(hello("2025-03-26"))
      const requests = [call(1, "t"), call(2, "hangs"), { method: "notifications/progress", params: {} }, call(3, "t")]
      yield* write(`${JSON.stringify(requests.map((request) => ({ jsonrpc: "2.0", ...request })))}\n`)
      yield* send({ method: "notifications/cancelled", params: { requestId: 2 } })
      const answers = (yield* next) as unknown as ReadonlyArray<Message>
      assert.deepStrictEqual(answers.map(({ id }) => id).toSorted(), [1, 3])
    })
  )

  it.effect("when the input has ended nothing is written any more", () =>
    Effect.gen(function* () {
      const built = yield* runtime({ hangs: emitThenHang })
      const { ask, end, ended, send, written } = yield* lines(built)
      yield* ask(hello())
      yield* send(call(1, "hangs", { _meta: { progressToken: 1 } }))
      yield* Effect.yieldNow
      yield* end
      assert.isTrue(Exit.isSuccess(yield* ended))
      yield* written
      // It has a result now, which nobody waits for.
      const [running] = yield* built.runtime.inFlight
      assert.isTrue(yield* built.runtime.cancel(running?.call.callId ?? "", "the test wants to see"))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* written, [])
    })
  )
})

describe("tools that come and go", () => {
  it.effect("clients are told; a removed tool is not listed, and calls of it are refused", () =>
    Effect.gen(function* () {
      const built = yield* runtime({ t: succeeds })
      const { ask, next, send } = yield* lines(built)
      yield* ask(hello())
      yield* send({ method: "notifications/initialized" })
      const names = Effect.map(ask({ id: "list", method: "tools/list" }), ({ response }) =>
        (response.result!["tools"] as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
      )
      assert.deepStrictEqual(yield* names, ["t"])
      yield* Effect.orDie(built.registry.register(erased("u", succeeds)))
      assert.strictEqual((yield* next).method, "notifications/tools/list_changed")
      assert.deepStrictEqual(yield* names, ["t", "u"])
      yield* built.registry.unregister("t")
      assert.strictEqual((yield* next).method, "notifications/tools/list_changed")
      assert.deepStrictEqual(yield* names, ["u"])
      assert.strictEqual((yield* ask(call(1, "t"))).response.error?.code, -32602)
      // Its name is free for another.
      yield* Effect.orDie(built.registry.register(erased("t", () => ToolStream.succeed([8]))))
      assert.strictEqual((yield* next).method, "notifications/tools/list_changed")
      assert.deepStrictEqual((yield* ask(call(2, "t"))).response.result?.["content"], [{ type: "text", text: "[8]" }])
    })
  )

  it.effect("a client of 2026-07-28 hears of them where it listens", () =>
    Effect.gen(function* () {
      const built = yield* runtime({ t: succeeds })
      const { next, send } = yield* lines(built)
      yield* send({
        id: "listening",
        method: "subscriptions/listen",
        params: { notifications: { toolsListChanged: true }, ...meta() }
      })
      const acknowledged = yield* next
      assert.strictEqual(acknowledged.method, "notifications/subscriptions/acknowledged")
      yield* Effect.orDie(built.registry.register(erased("u", succeeds)))
      assert.strictEqual((yield* next).method, "notifications/tools/list_changed")
    })
  )

  it.effect("effect's own client in memory lists and calls", () =>
    Effect.gen(function* () {
      const { callTool, listTools } = yield* client(yield* runtime({ t: succeeds }))
      assert.deepStrictEqual(
        (yield* listTools()).tools.map(({ name }) => name),
        ["t"]
      )
      assert.isFalse((yield* callTool({ name: "t", arguments: {} })).isError)
    })
  )
})
