/**
 * The revisions of MCP that a server speaks, with what effect's adapters leave out: the
 * id of a request, lists as each session sees them, and tasks.
 *
 * **Details**
 *
 * Calls of our tools are made here, past effect's table of tools, but for those that only
 * effect can answer (docs/decisions/0032).
 *
 * All of it is put around the handlers that an adapter of effect installs, whose form is
 * not a stable part of effect. `make` looks at it first. Where it is not the form that is known
 * here, the adapter is taken as it is: calls then have no `externalId`, every session
 * is listed what the server's own is, there are no tasks, and calls go through effect's
 * table of tools.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as McpSchema from "effect/ai/McpSchema"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { CurrentSession } from "../../src/Session.ts"
import type { ToolRegistry } from "../../src/ToolRegistry.ts"
import { CurrentOutcome, CurrentRequestId, type Outcome } from "./Call.ts"
import type { Connections } from "./Connections.ts"
import type { CallResult } from "./Forms.ts"
import * as TaskRpcs from "./TaskRpcs.ts"
import type * as Tasks from "./Tasks.ts"
import type { Requested, Tools } from "./Tools.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Revisions {
  readonly protocols: NonEmptyReadonlyArray<McpProtocol.ProtocolAdapter>
  /** Revisions whose adapters are not of the form that is known here. */
  readonly unknown: ReadonlyArray<string>
  /** Whether the newest has tasks. */
  readonly tasks: boolean
}

/** Newest first. A client that offers none of them is answered with the newest that it can speak. */
const adapters: NonEmptyReadonlyArray<McpProtocol.ProtocolAdapter> = [
  McpProtocol.v2026_07_28,
  McpProtocol.v2025_11_25,
  McpProtocol.v2025_06_18,
  McpProtocol.v2025_03_26,
  McpProtocol.v2024_11_05
]

/** What effect's handlers require is provided by effect. */
type Handler = (payload: unknown, request: Request) => Effect.Effect<unknown, unknown>

interface Request {
  readonly requestId: string | number
}

/** What an adapter installs, by method. */
export type Handlers = Readonly<Record<string, Handler>> & {
  readonly "tools/call": Handler
  readonly "tools/list": Handler
}

/**
 * The adapter, with other handlers. Undefined if its handlers are not what is known here.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withHandlers = (
  adapter: McpProtocol.ProtocolAdapter,
  change: (handlers: Handlers, server: ServerInfo) => Handlers
): Effect.Effect<McpProtocol.ProtocolAdapter | undefined> =>
  Effect.map(handlersOf(adapter), (handlers) =>
    handlers === undefined
      ? undefined
      : {
          ...adapter,
          installHandlers: (core, lifecycle, target) =>
            Effect.updateContext(
              adapter.installHandlers(core, lifecycle, {
                ...target,
                install: (protocol: unknown, rpcs: unknown, handlers: Handlers) =>
                  target.install(protocol, rpcs, change(handlers, target.context.serverInfo))
              }),
              (context: Context.Context<unknown>) => Context.makeUnsafe(context.mapUnsafe, { maxDepth })
            )
        }
  )

/**
 * How much is added to the context of a handler before effect copies it. effect's own limit is 8, which its server uses up
 * for every request: whatever a call then adds would copy all of it. More, and what is not in it is looked for longer.
 */
const maxDepth = 20

/** Has it install its handlers somewhere where nothing comes of it. */
const handlersOf = (adapter: McpProtocol.ProtocolAdapter): Effect.Effect<Handlers | undefined> =>
  Effect.suspend(() => {
    let installed: unknown
    const nowhere = {
      context: {
        supportedVersions: [],
        serverInfo: { name: "", version: "" },
        registrationPresence: Effect.succeed({ tools: true, resources: false, prompts: false }),
        subscribeServerNotifications: Effect.never
      },
      install: (_protocol: unknown, _rpcs: unknown, handlers: unknown) => {
        installed = handlers
        return Effect.void
      }
    }
    const install = Effect.suspend(() => adapter.installHandlers({}, {}, nowhere) as Effect.Effect<void>)
    return Effect.map(Effect.exit(install), (exit) =>
      Exit.isSuccess(exit) && isHandlers(installed) ? installed : undefined
    )
  })

const isHandlers = (value: unknown): value is Handlers => {
  if (typeof value !== "object" || value === null) return false
  const { "tools/call": call, "tools/list": list }: Readonly<Record<string, unknown>> = { ...value }
  return typeof call === "function" && typeof list === "function"
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  registry: ToolRegistry["Service"],
  connections: Connections["Service"],
  { call, tasks }: { readonly call?: Tools["call"] | undefined; readonly tasks?: Tasks.Tasks | undefined } = {}
): Effect.Effect<Revisions> =>
  Effect.gen(function* () {
    const change =
      (adapter: McpProtocol.ProtocolAdapter) =>
      (handlers: Handlers, server: ServerInfo): Handlers => ({
        ...handlers,
        "tools/call": callOf(adapter, handlers["tools/call"], call, server),
        "tools/list": (payload, request) =>
          Effect.flatMap(handlers["tools/list"](payload, request), (listed) =>
            isListed(listed) ? asTheSessionSees(registry, connections, listed) : Effect.succeed(listed)
          )
      })
    const [newest, ...older] = yield* Effect.forEach(adapters, (adapter) =>
      Effect.map(withHandlers(adapter, change(adapter)), (changed) => ({ adapter, changed }))
    )
    const chosen = ({ adapter, changed }: typeof newest) => changed ?? adapter
    const withTasks =
      tasks === undefined || newest.changed === undefined ? undefined : TaskRpcs.add(newest.changed, tasks)
    return {
      protocols: [withTasks ?? chosen(newest), ...older.map(chosen)],
      unknown: [newest, ...older].flatMap(({ adapter, changed }) =>
        changed === undefined ? [adapter.protocolVersion] : []
      ),
      tasks: withTasks !== undefined
    }
  })

/**
 * By the tool itself where there is one. effect's table and its form of results are gone through by what only effect does:
 * it compares headers, asks the client, and takes its answers.
 */
const callOf = (
  { runtime }: McpProtocol.ProtocolAdapter,
  handler: Handler,
  call: Tools["call"] | undefined,
  server: ServerInfo
): Handler => {
  const byTable: Handler = (payload, request) =>
    Effect.provideService(handler(payload, request), CurrentRequestId, request.requestId)
  if (call === undefined) return byTable
  if (runtime._tag === "Stateful") {
    return (payload, request) => called(call(requested(payload, request), undefined)) ?? byTable(payload, request)
  }
  const serverInfo = encodeServerInfo(server)
  return (payload, request) => {
    const { inputResponses, requestState } = payload as Answered
    const outcome =
      inputResponses === undefined && requestState === undefined
        ? called(call(requested(payload, request), "headers"))
        : undefined
    return outcome === undefined
      ? byTable(payload, request)
      : Effect.flatMap(outcome, (outcome) =>
          "content" in outcome
            ? Exit.succeed(stamped(outcome, serverInfo))
            : Effect.provideService(byTable(payload, request), CurrentOutcome, outcome)
        )
  }
}

/** What it requires is provided by effect, as to its own handlers. */
const called = (called: ReturnType<Tools["call"]>) => called as Effect.Effect<Outcome<string>> | undefined

/** Its payload was decoded as that of a call. */
const requested = (payload: unknown, { requestId }: Request): Requested => {
  const { arguments: parameters = {}, name } = payload as { readonly name: string; readonly arguments?: unknown }
  return { requestId, name, parameters }
}

/** What comes with a call that is made again. */
interface Answered {
  readonly inputResponses?: unknown
  readonly requestState?: unknown
}

interface ServerInfo {
  readonly name: string
  readonly version: string
}

/**
 * What each result of 2026-07-28 says besides.
 *
 * **Source** MCP 2026-07-28, basic, "Result", and "io.modelcontextprotocol/serverInfo" of `_meta`.
 */
const stamped = (result: CallResult<string>, serverInfo: unknown) => ({
  ...result,
  _meta: { ...result._meta, "io.modelcontextprotocol/serverInfo": serverInfo },
  resultType: "complete"
})

const encodeServerInfo = Schema.encodeSync(Schema.toCodecJson(McpSchema.Implementation))

interface Listed {
  readonly tools: ReadonlyArray<McpSchema.Tool>
}

const isListed = (value: unknown): value is Listed =>
  typeof value === "object" && value !== null && "tools" in value && Array.isArray(value.tools)

/** In the order of the list, without what the session is not shown, and with the descriptions that it is shown. */
const asTheSessionSees = (
  registry: ToolRegistry["Service"],
  connections: Connections["Service"],
  listed: Listed
): Effect.Effect<Listed> =>
  connections.use(({ session }) =>
    Effect.map(Effect.provideService(registry.snapshot, CurrentSession, session), (tools) => {
      const seen = new Map(tools.map(({ description, name }) => [name, description]))
      return {
        ...listed,
        tools: listed.tools.flatMap((tool) => {
          const description = seen.get(tool.name)
          return description === undefined ? [] : [{ ...tool, description }]
        })
      }
    })
  )
