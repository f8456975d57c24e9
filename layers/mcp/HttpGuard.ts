/**
 * Who may talk to a server on HTTP, and how much at once.
 *
 * **Order**
 *
 * 1. `Host` names this machine: else a page whose name was rebound to it could talk to it. 403.
 * 2. The bearer token, if there is one. 401.
 * 3. No more requests at once than there is room for. 503.
 * 4. A body that says that it is too long is not read (413); one that does not say so is read up to the limit.
 *
 * `Origin` is checked by effect's server, against `originsOf`: 403.
 *
 * **Source** MCP 2026-07-28, basic/transports, "Streamable HTTP", "Security Warning"; RFC 6750.
 *
 * @since 0.1.0
 */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Names under which the server is reached, without a port. Undefined: any, for a token keeps out who guesses. */
  readonly hosts: ReadonlyArray<string> | undefined
  /** Undefined: whoever reaches it may use it. */
  readonly token: Redacted.Redacted | undefined
  /** Requests at once, listening ones too. Default: 256. */
  readonly maxRequests?: number | undefined
  /** Bytes of a body. Default: 16 MiB, what a line on stdio may have. */
  readonly maxBody?: number | undefined
}

/**
 * The names of this machine for itself.
 *
 * @category constants
 * @since 0.1.0
 */
export const loopback: ReadonlyArray<string> = ["localhost", "127.0.0.1", "[::1]"]

/** More runs out of file descriptors; less turns away the second half of a team. */
const defaultRequests = 256
const defaultBody = 16 * 1024 * 1024

/**
 * The origins of pages that the server itself could have served.
 *
 * @category constructors
 * @since 0.1.0
 */
export const originsOf = (hosts: ReadonlyArray<string>, port: number): ReadonlyArray<string> =>
  hosts.map((host) => `http://${host}:${port}`)

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/**
 * Puts an app behind the guard.
 *
 * @category combinators
 * @since 0.1.0
 */
export const make = ({ hosts, maxBody = defaultBody, maxRequests = defaultRequests, token }: Options) => {
  const expected = token === undefined ? undefined : new TextEncoder().encode(`Bearer ${Redacted.value(token)}`)
  let running = 0
  return <E, R>(app: App<E, R>): App<E, R | HttpServerRequest.HttpServerRequest | Scope.Scope> =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
      if (hosts !== undefined && !hosts.includes(nameOf(headers["host"]))) {
        return answer(403, "Host is not a name of this server.")
      }
      if (expected !== undefined && !isSame(expected, headers["authorization"])) {
        return Effect.map(
          answer(401, "Authorization: Bearer TOKEN is missing or wrong."),
          HttpServerResponse.setHeader("www-authenticate", "Bearer")
        )
      }
      if (running >= maxRequests) {
        return Effect.map(answer(503, "Too many requests at once."), HttpServerResponse.setHeader("retry-after", "1"))
      }
      const length = headers["content-length"]
      if (length !== undefined && Number(length) > maxBody) return answer(413, `A body has at most ${maxBody} bytes.`)
      return Effect.andThen(
        // Until its response has been sent, however long that streams.
        Effect.acquireRelease(
          Effect.sync(() => {
            running++
          }),
          () =>
            Effect.sync(() => {
              running--
            })
        ),
        Effect.provideService(app, HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBody))
      )
    })
}

const answer = (status: number, text: string) => Effect.succeed(HttpServerResponse.text(`${text}\n`, { status }))

const nameOf = (host: string | undefined): string => (host ?? "").toLowerCase().replace(/:\d+$/, "")

/** Takes as long whatever is the same. */
const isSame = (expected: Uint8Array, given: string | undefined): boolean => {
  const bytes = new TextEncoder().encode(given ?? "")
  let difference = bytes.length ^ expected.length
  for (let i = 0; i < expected.length; i++) difference |= expected[i]! ^ (bytes[i] ?? 0)
  return difference === 0
}
