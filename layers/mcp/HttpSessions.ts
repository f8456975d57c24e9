/**
 * The sessions of a server on HTTP, where many clients come and go.
 *
 * **Details**
 *
 * - A client of a revision with sessions has one of its own, from its first call until it
 *   ends it (DELETE) or is not heard of for an hour.
 * - A client of 2026-07-28 has no connection that could have one: its calls are of the
 *   session that its URL names, `?session=NAME`, or of a common one.
 * - Either works in the workspace that its URL names, `?workspace=DIR`, a folder inside
 *   of the server's own; without one in that itself.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Session from "../../src/Session.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import * as Connections from "./Connections.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The workspace that a client asks for, or why it cannot have it. */
  readonly workspaceOf: (asked: string | undefined) => Effect.Effect<string, string>
  /** How long a session is kept of which nothing is heard, and what runs in its background with it. Default: an hour. */
  readonly idle?: Duration.Input | undefined
}

/**
 * @category services
 * @since 0.1.0
 */
export class HttpSessions extends Context.Service<
  HttpSessions,
  {
    /** Handles a request in its session; refuses it (400) if it asks for a workspace that it cannot have. */
    readonly around: <E, R>(
      app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest>
  }
>()("toolstream/mcp/HttpSessions") {}

/** Which session it is. Keys of a map are compared as texts. */
interface Key {
  readonly workspace: string
  /** That of a revision with sessions. */
  readonly sessionId?: string | undefined
  readonly name?: string | undefined
}

const CurrentKey = Context.Reference<string>("toolstream/mcp/HttpSessions/CurrentKey", { defaultValue: () => "{}" })

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = ({
  idle = "1 hour",
  workspaceOf
}: Options): Layer.Layer<Connections.Connections | HttpSessions, never, ToolRuntime> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const runtime = yield* ToolRuntime
      const sessions = yield* RcMap.make({
        idleTimeToLive: idle,
        lookup: (key: string): Effect.Effect<Connections.Connection, never, Scope.Scope> => {
          const { sessionId, workspace } = JSON.parse(key) as Key
          return Effect.map(Session.make({ workspace }), (session) =>
            sessionId === undefined
              ? // Clients that know nothing of each other use the same ids.
                { session, inBatch: (use) => use(runtime) }
              : Connections.make(session, runtime)
          )
        }
      })
      const connections = Connections.Connections.of({
        use: (run) => Effect.scoped(Effect.flatMap(CurrentKey, (key) => Effect.flatMap(RcMap.get(sessions, key), run)))
      })
      const around: HttpSessions["Service"]["around"] = (app) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, method, url }) => {
          const parameters = new URL(url, "http://localhost").searchParams
          const sessionId = headers["mcp-session-id"]
          return Effect.matchEffect(workspaceOf(parameters.get("workspace") ?? undefined), {
            onFailure: (why) => Effect.succeed(HttpServerResponse.text(`${why}\n`, { status: 400 })),
            onSuccess: (workspace) => {
              const name = parameters.get("session") ?? undefined
              const key: Key = sessionId === undefined ? { workspace, name } : { workspace, sessionId }
              const text = JSON.stringify(key)
              const handled = Effect.provideService(app, CurrentKey, text)
              return sessionId === undefined || method !== "DELETE"
                ? handled
                : Effect.tap(handled, ({ status }) => (status === 204 ? RcMap.invalidate(sessions, text) : Effect.void))
            }
          })
        })
      return Context.make(Connections.Connections, connections).pipe(Context.add(HttpSessions, { around }))
    })
  )
