/**
 * An editor on the official SDK, connected to the server in memory. Every message goes
 * through JSON and the schema.
 */
import {
  type AnyMessage,
  client,
  type ClientCapabilities,
  type ClientConnection,
  type McpServer,
  methods,
  type RequestPermissionRequest,
  RequestError,
  type RequestPermissionResponse,
  type SessionUpdate
} from "@agentclientprotocol/sdk"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Server from "../../../layers/acp/Server.ts"
import { type Side, WireSchema } from "../../acp/WireSchema.ts"

export interface Behaviour {
  readonly capabilities?: ClientCapabilities
  readonly permission?: (
    params: RequestPermissionRequest,
    signal: AbortSignal
  ) => RequestPermissionResponse | Promise<RequestPermissionResponse>
  /** Text by absolute path, saved or not. What is not there cannot be read. */
  readonly buffers?: Map<string, string>
  readonly write?: (path: string) => void
  readonly answer?: string
  readonly update?: (update: SessionUpdate, sessionId: string) => void | Promise<void>
  readonly terminals?: Terminals
  /** Before a message of the agent gets through: a client that is slow to read. */
  readonly gate?: (message: AnyMessage) => void | Promise<void>
}

/** Terminals of a test. */
export interface Terminals {
  readonly create: (command: string, args: ReadonlyArray<string>) => string
  readonly output: (id: string) => { readonly output: string; readonly truncated: boolean }
  readonly exit: (id: string) => Promise<{ readonly exitCode?: number; readonly signal?: string }>
  readonly kill: (id: string) => void
  readonly release: (id: string) => void
}

export const select = (optionId: string): RequestPermissionResponse => ({ outcome: { outcome: "selected", optionId } })

const channel = (
  side: Side,
  schema: WireSchema,
  log: Array<readonly [Side, AnyMessage]>,
  gate: NonNullable<Behaviour["gate"]> = () => {}
) =>
  new TransformStream<AnyMessage, AnyMessage>({
    transform: async (message, controller) => {
      await gate(message)
      const sent: AnyMessage = JSON.parse(JSON.stringify(message))
      schema.take(side, sent)
      log.push([side, sent])
      controller.enqueue(sent)
    }
  })

/** An editor with a server behind it, whose options may be set. */
export const connect = Effect.fnUntraced(function* (behaviour: Behaviour = {}, options: Partial<Server.Options> = {}) {
  const schema = new WireSchema()
  const log: Array<readonly [Side, AnyMessage]> = []
  const updates: Array<SessionUpdate> = []
  const up = channel("client", schema, log)
  const down = channel("agent", schema, log, behaviour.gate)
  const scope = yield* Scope.fork(yield* Effect.scope)
  const served = yield* Server.serve(
    { readable: up.readable, writable: down.writable },
    { name: "toolstream", version: "0", ...options }
  ).pipe(Effect.provide(NodeServices.layer), Effect.forkIn(scope, { startImmediately: true }))
  const { buffers, terminals } = behaviour
  const app = client({ name: "test" })
    .onNotification(methods.client.session.update, async ({ params: { sessionId, update } }) => {
      updates.push(update)
      await behaviour.update?.(update, sessionId)
    })
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) => {
      assert(behaviour.permission !== undefined, "nobody is to be asked")
      return behaviour.permission(params, signal)
    })
    .onRequest(methods.client.fs.readTextFile, ({ params: { path } }) => {
      const content = buffers?.get(path)
      if (content === undefined) throw RequestError.resourceNotFound(path)
      return { content }
    })
    .onRequest(methods.client.fs.writeTextFile, ({ params: { content, path } }) => {
      behaviour.write?.(path)
      buffers?.set(path, content)
      return {}
    })
    .onRequest(methods.client.elicitation.create, () => ({
      action: "accept" as const,
      content: { answer: behaviour.answer ?? "" }
    }))
    .onRequest(methods.client.terminal.create, ({ params }) => ({
      terminalId: terminals!.create(params.command, params.args ?? [])
    }))
    .onRequest(methods.client.terminal.output, ({ params }) => terminals!.output(params.terminalId))
    .onRequest(methods.client.terminal.waitForExit, ({ params }) => terminals!.exit(params.terminalId))
    .onRequest(methods.client.terminal.kill, ({ params }) => {
      terminals!.kill(params.terminalId)
      return {}
    })
    .onRequest(methods.client.terminal.release, ({ params }) => {
      terminals!.release(params.terminalId)
      return {}
    })
  const connection: ClientConnection = app.connect({ readable: down.readable, writable: up.writable })
  const ask = connection.agent
  yield* Effect.promise(() =>
    ask.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientCapabilities: behaviour.capabilities ?? {},
      clientInfo: { name: "test", version: "0" }
    })
  )
  return {
    schema,
    log,
    updates,
    agent: ask,
    /** The updates of calls, in short: which, what, and the status. */
    calls: () =>
      updates.flatMap((update) =>
        update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update"
          ? [`${update.sessionUpdate === "tool_call" ? "+" : " "}${update.title ?? ""} ${update.status ?? ""}`.trim()]
          : []
      ),
    session: (cwd: string, servers: ReadonlyArray<string> = []) =>
      Effect.promise(() =>
        ask.request(methods.agent.session.new, {
          cwd,
          mcpServers: servers.map((name): McpServer => ({ name, command: "true", args: [], env: [] }))
        })
      ),
    prompt: (sessionId: string, text = "go") =>
      Effect.promise(() => ask.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] })),
    cancel: (sessionId: string) => Effect.promise(() => ask.notify(methods.agent.session.cancel, { sessionId })),
    /** The editor is gone. */
    leave: Effect.andThen(
      Effect.sync(() => connection.close()),
      Effect.promise(() => up.writable.close().catch(() => {}))
    ),
    /** Waits until the server has ended. */
    ended: Fiber.await(served),
    stop: Scope.close(scope, Exit.void)
  }
})
