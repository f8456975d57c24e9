/**
 * The revisions of MCP that a server speaks, with what effect's adapters leave out: the
 * id of a request, lists as each session sees them, and tasks.
 *
 * **Details**
 *
 * It is put around the handlers that an adapter of effect installs, whose form is not a
 * stable part of effect. `make` looks at it first. Where it is not the form that is known
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
import type * as McpSchema from "effect/ai/McpSchema"
import * as Exit from "effect/Exit"
import { CurrentSession } from "../../src/Session.ts"
import type { ToolRegistry } from "../../src/ToolRegistry.ts"
import { CurrentRequestId } from "./Call.ts"
import type { Connections } from "./Connections.ts"
import * as TaskRpcs from "./TaskRpcs.ts"
import type * as Tasks from "./Tasks.ts"
import type { Tools } from "./Tools.ts"

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
  change: (handlers: Handlers) => Handlers
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
                  target.install(protocol, rpcs, change(handlers))
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
      (handlers: Handlers): Handlers => ({
        ...handlers,
        "tools/call": callOf(adapter.runtime._tag === "Stateful" ? call : undefined, handlers["tools/call"]),
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

/** The tool itself where there is one: effect's table and its form of results are not gone through. */
const callOf =
  (call: Tools["call"] | undefined, handler: Handler): Handler =>
  (payload, request) =>
    (call === undefined ? undefined : called(call, payload, request)) ??
    Effect.provideService(handler(payload, request), CurrentRequestId, request.requestId)

/** Its payload was decoded as that of a call. */
const called = (call: Tools["call"], payload: unknown, { requestId }: Request) => {
  const { arguments: parameters = {}, name } = payload as { readonly name: string; readonly arguments?: unknown }
  // What it requires is provided by effect, as to its own handler.
  return call(name, parameters, requestId) as Effect.Effect<unknown> | undefined
}

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
