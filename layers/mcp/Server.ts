/**
 * An MCP server over the tools of a registry.
 *
 * **Details**
 *
 * It stands on effect's `McpServer`: revisions, validation and encoding are effect's. What
 * is added: the tools are those of a live registry and run in its runtime; what a call
 * has to be asked for is asked of the client; every connection has a session; and a line
 * that cannot be served is answered.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as McpServer from "effect/ai/McpServer"
import * as Layer from "effect/Layer"
import { ToolRegistry } from "../../src/ToolRegistry.ts"
import type { ToolRuntime } from "../../src/ToolRuntime.ts"
import { Connections } from "./Connections.ts"
import * as Lines from "./Lines.ts"
import * as Revisions from "./Revisions.ts"
import * as Tasks from "./Tasks.ts"
import * as Tools from "./Tools.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends Tools.Options {
  readonly name: string
  readonly version: string
  /** Told to the client's model, on how to use the server. */
  readonly instructions?: string | undefined
  /** What else the server has: prompts, resources, middleware. */
  readonly registrations?: Layer.Layer<never, never, McpServer.McpServer> | undefined
  /** Which calls may go on as tasks. Default: none. What outlives the server of them, `TaskStore` says. */
  readonly tasks?: Tasks.Options | undefined
}

/**
 * What a server stands on.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = ToolRegistry | ToolRuntime | Connections

/** What effect is told of it. */
export const described = (options: Options) =>
  Effect.gen(function* () {
    const { instructions, name, registrations, version } = options
    const connections = yield* Connections
    const tasks = options.tasks === undefined ? undefined : yield* Tasks.make(options.tasks, connections)
    const tools = yield* Tools.make(options)
    const { protocols, unknown, ...has } = yield* Revisions.make(yield* ToolRegistry, connections, {
      tasks,
      // What else is registered may be around calls: effect's middleware.
      call: registrations === undefined ? tools.call : undefined
    })
    if (tasks !== undefined && !has.tasks) {
      yield* Effect.logWarning("MCP tasks: effect's adapter is not of the form known here. No tasks are advertised.")
    }
    if (unknown.length > 0) {
      yield* Effect.logWarning(
        `MCP ${unknown.join(", ")}: effect's adapter is not of the form known here. Calls have no externalId, and all sessions are listed the same.`
      )
    }
    return {
      name,
      version,
      instructions,
      protocols,
      ...(has.tasks ? { extensions: { [Tasks.extension]: {} } } : {}),
      registrations: registrations === undefined ? tools.layer : Layer.merge(tools.layer, registrations)
    }
  })

/**
 * A server on lines: stdio. Provide `Connections.layerOne`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerLines = <E>(options: Options & Lines.Options<E>): Layer.Layer<never, never, Services> =>
  Layer.unwrap(Effect.map(described(options), (options) => McpServer.layer(options))).pipe(
    // What is added to a server after it was described, its calls would not go through.
    Layer.flatMap(() => Layer.empty),
    Layer.provide(Lines.layer(options)),
    Layer.orDie
  )
