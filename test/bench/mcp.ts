/**
 * A call over MCP, `{ text }` in and `{ text }` out: from the client's request to its response, as JSON-RPC text in
 * memory. Ours is minted, looked up, decoded, run and encoded by the runtime; the bare handler does nothing of that, and is
 * what effect's server itself costs.
 */
import { Client as SdkClient } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { Server as SdkServer } from "@modelcontextprotocol/sdk/server/index.js"
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as McpTest from "effect/ai/McpTest"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Connections from "../../layers/mcp/Connections.ts"
import * as Server from "../../layers/mcp/Server.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import { type Places, type Profile, profile } from "./profile.ts"
import { compare, type Comparison, type Contender, type Measured, race } from "./race.ts"

const adapter = "a call over MCP, dispatched"
const bare = "effect's bare `addTool` handler"
const adapterNewest = "a call over MCP 2026-07-28, dispatched"
const bareNewest = "effect's bare `addTool` handler, 2026-07-28"
const sdk = "the official SDK's server and client, in memory"

const unit = "ns/call"
export const comparisons: ReadonlyArray<Comparison> = [
  { id: "mcp.call.vs-bare-handler", ours: adapter, theirs: bare, unit, floor: 1 / 1.15 },
  { id: "mcp.call-2026-07-28.vs-bare-handler", ours: adapterNewest, theirs: bareNewest, unit, floor: 1 / 1.15 },
  { id: "mcp.call.vs-sdk", ours: adapter, theirs: sdk, unit, floor: null }
]

const text = "Hello."

class Echo extends Tool.Service<Echo>()("echo", {
  description: "Gives back the text.",
  parameters: { text: Schema.String },
  success: Schema.Struct({ text: Schema.String })
}) {}

const live = Connections.layerOne.pipe(
  Layer.provideMerge(ToolRuntime.layerWith()),
  Layer.provideMerge(ToolRegistry.layer(Echo)),
  Layer.provide(Echo.toLayer(({ text }) => Effect.succeed({ text })))
)

const handler = Layer.effectDiscard(
  Effect.flatMap(McpServer.McpServer, ({ addTool }) =>
    addTool({
      tool: new McpSchema.Tool({
        name: "echo",
        description: "Gives back the text.",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
      }),
      annotations: Context.empty(),
      handle: ({ text }: { readonly text: string }) =>
        Effect.sync(
          () =>
            new McpSchema.CallToolResult({
              content: [{ type: "text", text: JSON.stringify({ text }) }],
              structuredContent: { text },
              isError: false
            })
        )
    })
  )
)

const check = (result: { readonly structuredContent?: unknown }) => {
  const { structuredContent } = result
  if ((structuredContent as { readonly text?: unknown } | undefined)?.text !== text)
    throw new Error(`got ${JSON.stringify(result)}`)
}

const request = { name: "echo", arguments: { text } }

const official = async (): Promise<Contender> => {
  const server = new SdkServer({ name: "bench", version: "1" }, { capabilities: { tools: {} } })
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const echoed = { text: String(params.arguments?.["text"]) }
    return { content: [{ type: "text", text: JSON.stringify(echoed) }], structuredContent: echoed, isError: false }
  })
  const client = new SdkClient({ name: "bench", version: "1" })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(theirs), client.connect(ours)])
  return {
    name: sdk,
    run: async (n) => {
      let result = {}
      for (let i = 0; i < n; i++) result = await client.callTool(request)
      check(result)
    }
  }
}

/** Whoever takes part, as long as they are used. */
const withContenders = <A>(
  use: (contenders: ReadonlyArray<Contender>, ofNewest: ReadonlyArray<Contender>) => Promise<A>
): Promise<A> =>
  Effect.gen(function* () {
    const { protocols, registrations } = yield* Server.described({ name: "bench", version: "1" })
    const run = Effect.runPromiseWith(yield* Effect.context())
    /** The calls follow each other in one fiber: what starts and ends that fiber is no part of a call. */
    const contender = (name: string, { callTool }: McpTest.Client): Contender => ({
      name,
      run: (n) =>
        run(
          Effect.suspend(() => {
            let i = 0
            let result = {}
            return Effect.andThen(
              Effect.whileLoop({
                while: () => i++ < n,
                body: () => callTool(request),
                step: (value) => (result = value)
              }),
              Effect.sync(() => check(result))
            )
          })
        )
    })
    const both = Effect.fnUntraced(function* (
      names: readonly [ours: string, theirs: string],
      protocol: typeof McpProtocol.v2025_11_25 | typeof McpProtocol.v2026_07_28
    ) {
      const { protocolVersion } = protocol
      return [
        contender(names[0], yield* McpTest.makeClient(registrations, { protocols, protocolVersion })),
        contender(names[1], yield* McpTest.makeClient(handler, { protocols: [protocol] }))
      ]
    })
    const established = yield* both([adapter, bare], McpProtocol.v2025_11_25)
    const newest = yield* both([adapterNewest, bareNewest], McpProtocol.v2026_07_28)
    return yield* Effect.promise(async () => use([...established, await official()], newest))
  }).pipe(Effect.provide(live), Effect.scoped, Effect.runPromise)

/**
 * Many short samples: a call takes so long that one of the usual length holds few, and on a busy machine hardly any of those
 * is left alone.
 */
const samples = { roundsPerRound: 10, sampleMs: 10, warmUpMs: 1500 }

export const measure = (rounds: number): Promise<ReadonlyArray<Measured>> =>
  withContenders(async (contenders, ofNewest) => {
    const { roundsPerRound, ...rest } = samples
    const options = { ...rest, rounds: rounds * roundsPerRound }
    // One race each: what all of them run is fast for none.
    return compare(new Map([...(await race(contenders, options)), ...(await race(ofNewest, options))]), comparisons)
  })

const places: Places = [
  ["the SDK, and zod", /node_modules\/(@modelcontextprotocol|zod)\//],
  ["effect's MCP", /node_modules\/effect\/dist\/ai\//],
  ["effect's RPC", /node_modules\/effect\/dist\/rpc\//],
  ["effect's Schema", /node_modules\/effect\/dist\/(Schema|internal\/schema\/)/],
  ["effect's core", /node_modules\/effect\/dist\//],
  ["toolstream's MCP adapter", /\/layers\/mcp\//],
  ["toolstream's core", /\/src\//],
  ["the benchmark", /\/test\/bench\//]
]

export const profiles = (): Promise<ReadonlyArray<Profile>> =>
  withContenders(async (contenders) => [
    await profile("Where the CPU time of a call over MCP goes", contenders, places)
  ])
