/**
 * A server over tools made on the spot, and clients of it that see what is on the wire.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as McpProtocol from "effect/ai/McpProtocol"
import * as McpTest from "effect/ai/McpTest"
import type * as McpSchema from "effect/ai/McpSchema"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Connections from "../../../layers/mcp/Connections.ts"
import * as Server from "../../../layers/mcp/Server.ts"
import type * as Tools from "../../../layers/mcp/Tools.ts"
import * as JsonLines from "../../../layers/JsonLines.ts"
import { ToolRegistry } from "../../../src/ToolRegistry.ts"
import { ToolRuntime } from "../../../src/ToolRuntime.ts"
import { type Play, runtime } from "../../Harness.ts"
import type * as ErasedTool from "../../../src/ErasedTool.ts"

type Built = Effect.Success<ReturnType<typeof runtime>>
export type Tooling = Record<string, Play | ErasedTool.ErasedTool>

export const services = ({ registry, runtime }: Built) =>
  Layer.provideMerge(
    Connections.layerOne,
    Layer.merge(Layer.succeed(ToolRegistry, registry), Layer.succeed(ToolRuntime, runtime))
  )

/** Effect's client in memory, of one revision. */
export const client = (
  built: Built,
  options: {
    readonly revision?: McpProtocol.ProtocolVersion
    readonly server?: Tools.Options & Pick<Server.Options, "registrations">
    readonly capabilities?: McpSchema.ClientCapabilities
  } = {}
) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(services(built))
    const { protocols, registrations } = yield* Effect.provideContext(
      Server.described({ name: "test", version: "1", ...options.server }),
      context
    )
    return yield* McpTest.makeClient(registrations, {
      protocols,
      protocolVersion: options.revision ?? "2025-11-25",
      ...(options.capabilities === undefined ? {} : { clientCapabilities: options.capabilities })
    }).pipe(Effect.provideContext(context))
  })

export interface Message {
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: { readonly [key: string]: unknown }
  readonly result?: { readonly [key: string]: unknown }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Lines in, lines out. */
export const lines = (built: Built, options: Pick<Server.Options, "tasks" | keyof Tools.Options> = {}) =>
  Effect.gen(function* () {
    const input = yield* Queue.unbounded<Uint8Array, Cause.Done>()
    const output = yield* Queue.unbounded<Message>()
    const ended = yield* Deferred.make<Exit.Exit<void>>()
    yield* Layer.build(
      Layer.provide(
        Server.layerLines<never>({
          ...options,
          name: "test",
          version: "1",
          lines: JsonLines.lines(Stream.fromQueue(input)),
          write: (text) => Queue.offer(output, JSON.parse(text) as Message),
          ended: (exit) => Deferred.succeed(ended, exit)
        }),
        services(built)
      )
    )
    const write = (text: string) => Queue.offer(input, new TextEncoder().encode(text))
    const send = (message: object) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
    return {
      write,
      send,
      next: Queue.take(output),
      written: Queue.clear(output),
      end: Queue.end(input),
      ended: Deferred.await(ended),
      /** Sends it and takes what is written until its response. */
      ask: (message: { readonly id: string | number; readonly method: string; readonly params?: object }) =>
        Effect.andThen(
          send(message),
          Effect.gen(function* () {
            const before: Array<Message> = []
            while (true) {
              const next = yield* Queue.take(output)
              if (next.id === message.id && next.method === undefined) return { before, response: next }
              before.push(next)
            }
          })
        )
    }
  })

export const hello = (revision = "2025-11-25", capabilities: object = {}) => ({
  id: "hello",
  method: "initialize",
  params: { protocolVersion: revision, capabilities, clientInfo: { name: "test", version: "1" } }
})

/** What every request of 2026-07-28 carries. */
export const meta = (capabilities: object = {}, more: object = {}) => ({
  _meta: {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    ...more
  }
})
