/**
 * A port of this machine.
 *
 * @since 0.1.0
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import type { HttpServer } from "effect/http/HttpServer"
import type * as Layer from "effect/Layer"
import { createServer } from "node:http"

/** Connections at once. More is refused by the system's own means. */
const maxConnections = 1024

/** How long requests may go on once the server ends. Who listens would never end by himself. */
const graceful = "2 seconds"

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: {
  /** 0 is any that is free. */
  readonly port: number
  readonly host: string
}): Layer.Layer<HttpServer, ServeError> =>
  NodeHttpServer.layerServer(() => Object.assign(createServer(), { maxConnections }), {
    ...options,
    gracefulShutdownTimeout: graceful
  })
