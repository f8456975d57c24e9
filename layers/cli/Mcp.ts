/**
 * `mcp`: the tools, served to clients of the Model Context Protocol.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Stream from "effect/Stream"
import { Records } from "../../src/Journal.ts"
import { CurrentSession } from "../../src/Session.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import * as Recovery from "../journal/Recovery.ts"
import * as JsonLines from "../JsonLines.ts"
import * as Connections from "../mcp/Connections.ts"
import * as Http from "../mcp/Http.ts"
import * as HttpGuard from "../mcp/HttpGuard.ts"
import * as HttpSessions from "../mcp/HttpSessions.ts"
import * as Server from "../mcp/Server.ts"
import * as TaskStore from "../mcp/TaskStore.ts"
import * as Workspaces from "../mcp/Workspaces.ts"
import * as HttpListener from "../node/HttpListener.ts"
import { claim } from "../node/OwnStdout.ts"
import { Signals } from "../node/Signals.ts"
import { type OutputClosed, StandardStreams } from "../node/StandardStreams.ts"
import { UsageError } from "./ExitStatus.ts"
import * as Permitted from "./Permitted.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly version: string
  readonly yes: boolean
  /** The total clock in ms, of each call. */
  readonly timeout: number | undefined
}

/** A call that takes longer goes on as a task, for clients that know them. Less makes them ask twice for most builds. */
const taskAfter = "10 seconds"

/** Tasks are there if there is a journal, which outlives the program: what it left open is ended first. */
const described = Effect.fnUntraced(function* ({ timeout, version, yes }: Options) {
  const records = yield* Effect.serviceOption(Records)
  if (Option.isSome(records)) {
    yield* Effect.mapError(
      Effect.provideService(Recovery.recover, Records, records.value),
      ({ message }) => new UsageError({ message: `--journal: ${message}` })
    )
  }
  const options: Server.Options = {
    name: "toolstream",
    version,
    ...(yes ? {} : { asking: Permitted.instead }),
    clocks: timeout === undefined ? {} : { total: timeout },
    ...(Option.isSome(records) ? { tasks: { policyOf: () => ({ after: taskAfter }) } } : {})
  }
  const store = Option.isSome(records)
    ? Layer.provide(TaskStore.layerJournal, Layer.succeed(Records, records.value))
    : Layer.empty
  return { options, store }
})

/** Long enough not to be guessed. A shorter one was made by a person. */
const minToken = 16

/** One that the user chose, so that clients need not be told anew; or a new one. */
const token = Effect.gen(function* () {
  const { talk } = yield* StandardStreams
  const chosen = yield* Effect.orDie(Config.String("TOOLSTREAM_MCP_TOKEN").pipe(Config.withDefault("")))
  if (chosen !== "") {
    if (chosen.length >= minToken) return Redacted.make(chosen)
    return yield* new UsageError({ message: `TOOLSTREAM_MCP_TOKEN is shorter than ${minToken} characters` })
  }
  const made = Base64Url.encode(crypto.getRandomValues(new Uint8Array(32)))
  yield* talk(`Authorization: Bearer ${made}\n`)
  return Redacted.make(made)
})

/**
 * Serves many clients, until a signal comes. What runs then is cancelled, and answered.
 *
 * @category running
 * @since 0.1.0
 */
export const http = Effect.fn("cli.mcpHttp")(function* (
  options: Options & { readonly port: number; readonly host: string; readonly auth: boolean }
) {
  const { auth, host, port } = options
  const signals = yield* Signals
  const { talk } = yield* StandardStreams
  const runtime = yield* ToolRuntime
  const { workspace } = yield* CurrentSession
  const isLocal = HttpGuard.loopback.includes(host) || host === "::1"
  if (!auth && !isLocal) {
    return yield* new UsageError({ message: `--no-auth serves whoever reaches ${host}; use it on 127.0.0.1 only` })
  }
  const { options: ofServer, store } = yield* described(options)
  const server = Http.layer({
    ...ofServer,
    hosts: isLocal ? HttpGuard.loopback : undefined,
    token: auth ? yield* token : undefined
  }).pipe(
    Layer.provide(store),
    Layer.provide(HttpSessions.layer({ workspaceOf: yield* Workspaces.within(workspace) })),
    Layer.provideMerge(HttpListener.layer({ port, host }))
  )
  const { address } = Context.get(
    yield* Effect.mapError(
      Layer.build(server),
      ({ cause }) => new UsageError({ message: `--http ${port}: ${messageOf(cause)}` })
    ),
    HttpServer.HttpServer
  )
  const name = isLocal ? "127.0.0.1" : host
  yield* talk(`toolstream: MCP on http://${name}:${"port" in address ? address.port : port}/mcp\n`)
  const why = yield* signals.first
  yield* Effect.flatMap(
    runtime.inFlight,
    Effect.forEach(({ call }) => runtime.cancel(call.callId, why), { concurrency: "unbounded", discard: true })
  )
  return true
}, Effect.scoped)

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/**
 * Serves one client, until the input ends or a signal comes. What runs then is cancelled. Gives true: no client is served
 * badly by its leaving.
 *
 * @category running
 * @since 0.1.0
 */
export const stdio = Effect.fn("cli.mcp")(function* <E>(input: Stream.Stream<Uint8Array, E>, options: Options) {
  const signals = yield* Signals
  const { write } = yield* StandardStreams
  yield* Effect.sync(claim)
  const { options: ofServer, store } = yield* described(options)
  const ended = yield* Deferred.make<void, E | OutputClosed>()
  yield* Layer.build(
    Server.layerLines<E | OutputClosed>({
      ...ofServer,
      lines: JsonLines.lines(input, signals.first),
      write,
      ended: (exit) => Deferred.done(ended, exit)
    }).pipe(Layer.provide(store), Layer.provide(Connections.layerOne))
  )
  yield* Deferred.await(ended)
  return true
}, Effect.scoped)
