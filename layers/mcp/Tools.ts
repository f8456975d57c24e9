/**
 * The tools of the registry as tools of a server: those there are now, and those that
 * come and go while it runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as Stream from "effect/Stream"
import type { Clocks } from "../../src/Clocks.ts"
import * as ProgressPolicy from "../../src/ProgressPolicy.ts"
import { type ListedTool, ToolRegistry } from "../../src/ToolRegistry.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import * as Call from "./Call.ts"
import { Connections } from "./Connections.ts"
import * as Continuation from "./Continuation.ts"
import * as Elicitation from "./Elicitation.ts"
import * as Forms from "./Forms.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * What to do instead, told where a call has to be asked for and the client cannot ask. Undefined: clients are not
   * asked, and whoever the runtime asks decides.
   */
  readonly asking?: string | undefined
  /** What becomes of progress that comes faster than a client takes it. Default: as it is shown, 25 times a second. */
  readonly progress?: ProgressPolicy.ProgressPolicy | undefined
  /** Of every call. */
  readonly clocks?: Clocks | undefined
}

/** Between two notifications of a call. Less is more than anybody reads; more, and what is shown moves in jerks. */
const everyMs = 40

/**
 * @category models
 * @since 0.1.0
 */
export interface Tools {
  /** Registers them in the server, and tells clients of every change. */
  readonly layer: Layer.Layer<never, never, McpServer.McpServer>
  /**
   * Calls one of them, past the server's own table: to go through that costs more than all that is done here. Undefined
   * where the server has to do it: none is registered by that name, or it is of those whose headers it `checks`.
   */
  readonly call: (request: Requested, checks: "headers" | undefined) => Called | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Requested {
  readonly requestId: string | number
  readonly name: string
  readonly parameters: unknown
}

type Called = ReturnType<typeof Call.runForClient>

interface Live {
  readonly tool: ListedTool
  /** Whether some of its parameters are to be repeated in headers. */
  readonly hasHeaders: boolean
}

/**
 * The tools of the registry, for one server.
 *
 * **Details**
 *
 * A server cannot forget a tool: one that was removed is no longer listed, and calls of
 * it are refused as those of an unknown tool. So are calls of a tool that the server's own
 * session is not shown.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* ({
  asking,
  clocks,
  progress = ProgressPolicy.shown(everyMs)
}: Options) {
  const registry = yield* ToolRegistry
  const connections = yield* Connections
  const runtime = yield* ToolRuntime
  const seals = yield* Continuation.make
  const permission = asking === undefined ? undefined : Elicitation.ask(asking)
  const live = new Map<string, Live>()
  /** Of the server in which they are registered. */
  let served: Call.Options | undefined

  const layer = Layer.effectDiscard(
    Effect.gen(function* () {
      const server = yield* McpServer.McpServer
      const options: Call.Options = { server, runtime, seals, permission, progress, clocks }
      served = options

      const add = (tool: ListedTool) =>
        server.addTool({
          tool: Forms.toolOf(tool),
          annotations: Context.make(McpSchema.EnabledWhen, () => live.has(tool.name)),
          handle: (parameters: unknown) =>
            connections.use((connection) => Call.run(options, connection, tool.name, parameters))
        })

      const follow = Effect.fnUntraced(function* (tools: ReadonlyArray<ListedTool>) {
        const names = new Set(tools.map(({ name }) => name))
        const removed = [...live.keys()].filter((name) => !names.has(name))
        for (const name of removed) live.delete(name)
        for (const tool of tools) {
          const known = live.get(tool.name)
          if (known !== undefined && isSame(known.tool, tool)) continue
          live.set(tool.name, { tool, hasHeaders: JSON.stringify(tool.parametersSchema).includes(`"x-mcp-header"`) })
          yield* add(tool)
        }
        if (removed.length > 0) yield* server.notifications["notifications/tools/list_changed"]({})
      })

      yield* follow(yield* registry.snapshot)
      yield* Effect.forkScoped(Stream.runForEach(registry.changes, follow))
    })
  )

  const call: Tools["call"] = ({ name, parameters, requestId }, checks) => {
    const tool = live.get(name)
    const options = tool === undefined || (tool.hasHeaders && checks === "headers") ? undefined : served
    return options === undefined
      ? undefined
      : connections.use((connection) => Call.runForClient(options, connection, name, parameters, requestId))
  }
  const tools: Tools = { layer, call }
  return tools
})

/** To whoever reads the list. */
const isSame = (one: ListedTool, other: ListedTool): boolean =>
  one.description === other.description &&
  one.title === other.title &&
  one.parametersSchema === other.parametersSchema &&
  one.successSchema === other.successSchema &&
  one.hints === other.hints
