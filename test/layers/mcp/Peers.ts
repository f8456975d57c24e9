/**
 * The official SDK's clients, of both its lines, and what they see on the wire.
 *
 * @since 0.1.0
 */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client"
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import * as path from "node:path"
import { repository } from "../cli/Program.ts"
import type { Message } from "./Wire.ts"

/** v1 speaks up to 2025-11-25; v2 that, or 2026-07-28. */
export type Line = "v1" | "v2 of 2025-11-25" | "v2 of 2026-07-28"
export const linesOfSdk: ReadonlyArray<Line> = ["v1", "v2 of 2025-11-25", "v2 of 2026-07-28"]

/** A program to start, or a URL with a token. */
export type Server =
  | { readonly args: ReadonlyArray<string>; readonly cwd?: string }
  | { readonly url: string; readonly token?: string }

export interface Result {
  readonly content?: unknown
  readonly structuredContent?: unknown
  readonly isError?: unknown
}

export interface Peer extends AsyncDisposable {
  readonly tools: () => Promise<ReadonlyArray<{ readonly name: string }>>
  readonly call: (
    name: string,
    parameters: Record<string, unknown>,
    options?: { readonly onprogress?: () => void; readonly signal?: AbortSignal }
  ) => Promise<Result>
  /** All that came, in its order: the clients drop progress that comes in one piece with the result. */
  readonly wire: ReadonlyArray<Message>
  readonly close: () => Promise<void>
}

/** Answers its forms. */
export type Answer = () => {
  readonly action: "accept" | "decline" | "cancel"
  readonly content?: Record<string, string>
}

export const program = (args: ReadonlyArray<string>, environment: Record<string, string> = {}) => ({
  command: process.execPath,
  args: [path.join(repository, "layers/cli/main.ts"), "mcp", ...args],
  env: { PATH: process.env["PATH"]!, HOME: process.env["HOME"] ?? "/", XDG_CONFIG_HOME: "/nowhere", ...environment },
  stderr: "ignore" as const
})

export const connect = async (line: Line, server: Server, answer?: Answer): Promise<Peer> => {
  const info = { name: "test", version: "1" }
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } }
  const headers = "url" in server && server.token !== undefined ? { authorization: `Bearer ${server.token}` } : {}
  const wire: Array<Message> = []
  const watch = (transport: { onmessage?: ((message: never) => void) | undefined }) => {
    const inner = transport.onmessage
    const onmessage = (message: never) => {
      wire.push(message as Message)
      inner?.(message)
    }
    Object.assign(transport, { onmessage })
  }
  if (line === "v1") {
    const client = new ClientV1(info, { capabilities })
    if (answer !== undefined) client.setRequestHandler(ElicitRequestSchema, () => answer())
    const transport =
      "url" in server
        ? new HttpV1(new URL(server.url), { requestInit: { headers } })
        : new StdioV1({ ...program(server.args), ...(server.cwd === undefined ? {} : { cwd: server.cwd }) })
    await client.connect(transport as Parameters<ClientV1["connect"]>[0])
    watch(transport)
    return {
      wire,
      tools: async () => (await client.listTools()).tools,
      call: async (name, parameters, options = {}) =>
        ({ ...(await client.callTool({ name, arguments: parameters }, undefined, options)) }) as Result,
      close: () => client.close(),
      [Symbol.asyncDispose]: () => client.close()
    }
  }
  const client = new ClientV2(info, {
    capabilities,
    versionNegotiation: { mode: line === "v2 of 2025-11-25" ? "legacy" : { pin: "2026-07-28" } }
  })
  if (answer !== undefined) client.setRequestHandler("elicitation/create", () => answer())
  const transport =
    "url" in server
      ? new HttpV2(new URL(server.url), { requestInit: { headers } })
      : new StdioV2({ ...program(server.args), ...(server.cwd === undefined ? {} : { cwd: server.cwd }) })
  await client.connect(transport)
  watch(transport)
  return {
    wire,
    tools: async () => (await client.listTools()).tools,
    call: (name, parameters, options = {}) => client.callTool({ name, arguments: parameters }, options),
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close()
  }
}
