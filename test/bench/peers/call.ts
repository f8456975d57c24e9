/**
 * A trivial call, `{ text }` in and `{ text }` out, in libraries that call tools. Each takes what it takes in use: a value,
 * or the text that a model wrote. All validate what comes in; effect/ai, Mastra, the MCP SDK and the generator also what goes
 * out, as ours does.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Tool from "../../../src/Tool.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as AiSdk from "../aiSdk.ts"
import type { Contender } from "../race.ts"
import * as Zod from "../zod.ts"
import { imported, type Peer } from "./Peer.ts"

const parameters = { text: "Hello." }
const json = JSON.stringify(parameters)
const description = "Gives back the text."

const check = (result: unknown) => {
  if ((result as { readonly text?: unknown } | undefined)?.text !== parameters.text)
    throw new Error(`got ${JSON.stringify(result)}`)
}

/** `one`, n times, one after another. */
const awaited =
  (one: () => Promise<unknown>): Contender["run"] =>
  async (n) => {
    let result: unknown
    for (let i = 0; i < n; i++) result = await one()
    check(result)
  }

/** The same in one fiber: what starts and ends it is no part of a call. */
const inOneFiber =
  <A, E>(one: Effect.Effect<A, E>, valueOf: (result: A) => unknown): Contender["run"] =>
  (n) =>
    Effect.runPromise(
      Effect.suspend(() => {
        let i = 0
        let result: A
        return Effect.andThen(
          Effect.whileLoop({ while: () => i++ < n, body: () => one, step: (value) => (result = value) }),
          Effect.sync(() => check(valueOf(result)))
        )
      })
    )

class Echo extends Tool.Service<Echo>()("echo", {
  description,
  parameters: { text: Schema.String },
  success: Schema.Struct({ text: Schema.String })
}) {}

const live = ToolRuntime.layer.pipe(
  Layer.provide(ToolRegistry.layer(Echo)),
  Layer.provide(Echo.toLayer(({ text }) => Effect.succeed({ text })))
)

/** Ours, from a value, or from text, until the scope closes. */
export const ours = (input: "text" | "value") =>
  Effect.gen(function* () {
    const { dispatch, dispatchText } = Context.get(yield* Layer.build(live), ToolRuntime.ToolRuntime)
    const fromValue = Effect.flatMap(ToolCall.make({ name: "echo", parameters }), (call) =>
      ToolStream.runResult(dispatch(call))
    )
    const fromText = Effect.suspend(() => ToolStream.runResult(dispatchText({ name: "echo", text: json })))
    return inOneFiber(input === "value" ? fromValue : fromText, ({ value }) => value)
  })

/** What needs no library. */
export const generator = async (): Promise<Contender["run"]> => {
  const z = await Zod.load()
  const [input, output] = [z.object({ text: z.string() }), z.object({ text: z.string() })]
  async function* echo(value: unknown) {
    const { text } = input.parse(value)
    return output.parse({ text })
  }
  return awaited(async () => (await echo(parameters).next()).value)
}

interface Text {
  readonly text: string
}

const echo = ({ text }: Text) => Promise.resolve({ text })

const text = async () => {
  const z = await Zod.load()
  return z.object({ text: z.string() })
}

export const peers = {
  "effect-ai": {
    package: "effect",
    what: "effect/ai's `Toolkit.handle`, drained",
    load: () => {
      const schema = Schema.Struct({ text: Schema.String })
      const tools = Toolkit.make(AiTool.make("echo", { description, parameters: schema, success: schema }))
      return Effect.gen(function* () {
        const { handle } = yield* tools
        const one = Effect.flatMap(handle("echo", parameters), Stream.runLast)
        return inOneFiber(one, (last) => (last._tag === "Some" ? last.value.encodedResult : undefined))
      }).pipe(Effect.provide(tools.toLayer({ echo: ({ text }) => Effect.succeed({ text }) })), Effect.runPromise)
    }
  },
  "ai-sdk": {
    package: "ai",
    what: "the AI SDK's `parseToolCall` and `executeToolCall`",
    load: async () => {
      const sdk = await AiSdk.load()
      const tools = { echo: sdk.tool({ description, inputSchema: await text(), execute: echo }) }
      return awaited(() => AiSdk.call(sdk, tools, "echo", json))
    }
  },
  "openai-agents": {
    package: "@openai/agents",
    what: "the OpenAI Agents SDK's `tool().invoke`",
    load: async () => {
      interface Agents {
        readonly RunContext: new () => object
        readonly tool: (options: object) => { readonly invoke: (context: object, input: string) => Promise<unknown> }
      }
      const { RunContext, tool } = await imported<Agents>("@openai/agents")
      const { invoke } = tool({ name: "echo", description, parameters: await text(), execute: echo })
      const context = new RunContext()
      return awaited(() => invoke(context, json))
    }
  },
  mastra: {
    package: "@mastra/core",
    what: "Mastra's `createTool().execute`",
    load: async () => {
      interface Mastra {
        readonly createTool: (options: object) => {
          readonly execute: (input: object, context: object) => Promise<unknown>
        }
      }
      const { createTool } = await imported<Mastra>("@mastra/core/tools")
      const [inputSchema, outputSchema] = [await text(), await text()]
      const tool = createTool({ id: "echo", description, inputSchema, outputSchema, execute: echo })
      return awaited(() => tool.execute(parameters, {}))
    }
  },
  langchain: {
    package: "@langchain/core",
    what: "LangChain's `tool().invoke`",
    load: async () => {
      interface LangChain {
        readonly tool: (run: typeof echo, options: object) => { readonly invoke: (input: object) => Promise<unknown> }
      }
      const { tool } = await imported<LangChain>("@langchain/core/tools")
      const echoing = tool(echo, { name: "echo", description, schema: await text() })
      return awaited(() => echoing.invoke(parameters))
    }
  },
  "mcp-sdk": {
    package: "@modelcontextprotocol/sdk",
    what: "the MCP SDK's `Client.callTool`, in memory",
    load: async () => {
      interface Servers {
        readonly McpServer: new (info: object) => {
          readonly registerTool: (name: string, config: object, run: (input: Text) => object) => unknown
          readonly connect: (transport: object) => Promise<void>
        }
      }
      const { Client } = await import("@modelcontextprotocol/sdk/client/index.js")
      const { InMemoryTransport } = await import("@modelcontextprotocol/sdk/inMemory.js")
      const { McpServer } = await imported<Servers>("@modelcontextprotocol/sdk/server/mcp.js")
      const [inputSchema, outputSchema] = [await text(), await text()]
      const server = new McpServer({ name: "bench", version: "1" })
      server.registerTool("echo", { description, inputSchema, outputSchema }, ({ text }) => ({
        content: [{ type: "text", text: JSON.stringify({ text }) }],
        structuredContent: { text }
      }))
      const client = new Client({ name: "bench", version: "1" })
      const [near, far] = InMemoryTransport.createLinkedPair()
      await Promise.all([server.connect(far), client.connect(near)])
      return awaited(async () => (await client.callTool({ name: "echo", arguments: parameters })).structuredContent)
    }
  }
} satisfies Readonly<Record<string, Peer<Contender["run"]>>>

/** Who is called with the text that a model wrote. */
export const fromText: ReadonlySet<string> = new Set(["ai-sdk", "openai-agents"])
