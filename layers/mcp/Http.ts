/**
 * The HTTP transport: one endpoint, guarded, many clients.
 *
 * **Source** MCP 2026-07-28 and 2025-11-25, basic/transports, "Streamable HTTP".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as McpServer from "effect/ai/McpServer"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as HttpGuard from "./HttpGuard.ts"
import { HttpSessions } from "./HttpSessions.ts"
import * as Server from "./Server.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends Server.Options, HttpGuard.Options {
  /** Default: `/mcp`. */
  readonly path?: `/${string}` | undefined
}

/**
 * Serves on the `HttpServer`. Provide `HttpSessions.layer`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options
): Layer.Layer<never, never, Server.Services | HttpSessions | HttpServer.HttpServer> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const { around } = yield* HttpSessions
      const port = "port" in address ? address.port : 80
      const endpoint = McpServer.layerHttp({
        ...(yield* Server.described(options)),
        path: options.path ?? "/mcp",
        allowedOrigins: HttpGuard.originsOf(options.hosts ?? HttpGuard.loopback, port),
        allowSessionTermination: true
      })
      const guard = HttpGuard.make(options)
      const guarded = HttpRouter.middleware((app) => guard(around(app)), { global: true })
      return HttpRouter.serve(Layer.merge(endpoint, guarded), { disableLogger: true, disableListenLog: true })
    })
  ).pipe(Layer.orDie)
