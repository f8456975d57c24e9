/**
 * What samplers over the protocol of a provider have in common: where it is, how it is asked, and how often.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { HttpClient } from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Redacted from "effect/Redacted"
import * as Retry from "../Retry.ts"
import { type Request, Sampler } from "../Sampler.ts"
import * as EventStream from "./EventStream.ts"

/** What whoever makes a sampler may say. */
export interface Options {
  readonly model: string
  readonly retry?: Retry.Policy | undefined
  /** In which something of a response has to come, in ms. Default: 5 minutes. */
  readonly idleMs?: number | undefined
}

/** A provider's own. */
export interface Protocol {
  /** The name in errors, and of what it wants back. */
  readonly provider: string
  readonly apiKey: Redacted.Redacted | undefined
  readonly baseUrl: string
  /** Below the base. Begins with a slash. */
  readonly path: string
  readonly authorize: (request: HttpClientRequest.HttpClientRequest) => HttpClientRequest.HttpClientRequest
  readonly body: (asked: Request) => unknown
  /** It gets the key only so that it can keep it out of what it says. */
  readonly reader: (key: string | undefined) => EventStream.Reader
}

const defaultIdleMs = 300_000

export const sampler = (
  { idleMs = defaultIdleMs, retry }: Options,
  { apiKey, authorize, baseUrl, body, path, provider, reader }: Protocol
): Effect.Effect<Sampler["Service"], never, HttpClient> =>
  Effect.map(HttpClient, (client) => {
    const key = apiKey === undefined ? undefined : Redacted.value(apiKey)
    const empty = authorize(HttpClientRequest.post(`${baseUrl.replace(/\/+$/, "")}${path}`))
    return Sampler.of({
      sample: (asked) =>
        Retry.retrying(
          EventStream.sample({
            provider,
            client,
            key,
            idleMs,
            reader: () => reader(key),
            request: HttpClientRequest.bodyJsonUnsafe(empty, body(asked))
          }),
          retry
        )
    })
  })
