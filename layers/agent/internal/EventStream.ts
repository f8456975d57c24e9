/**
 * One request to a provider, and its response as server-sent events, read as they come.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientRequest } from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as ToolStream from "../../../src/ToolStream.ts"
import type { Response, SamplerEvent } from "../Sampler.ts"
import {
  Disconnected,
  fromReason,
  MalformedResponse,
  type Reason,
  type SamplerError,
  Unreachable
} from "../SamplerError.ts"
import * as Refusal from "./Refusal.ts"

/** What becomes of the messages of one response. */
export interface Reader {
  /** One message, parsed: what it tells, or why the response has failed. */
  readonly read: (message: unknown) => Result.Result<ReadonlyArray<SamplerEvent>, Reason>
  /** The response, once it has ended. */
  readonly response: Response | undefined
  /** Told when nothing more comes, and the response has not ended. */
  readonly closed?: (() => void) | undefined
}

export interface Options {
  readonly provider: string
  readonly client: HttpClient.HttpClient
  readonly request: HttpClientRequest
  /** It is told to nobody. */
  readonly key: string | undefined
  readonly reader: () => Reader
  /** In which something has to come. In ms. */
  readonly idleMs: number
}

/** With which some say that nothing more comes. */
const done = "[DONE]"

/** Bytes of the body of an error that are read. */
const maxError = 64 * 1024

export const sample = (options: Options): ToolStream.ToolStream<SamplerEvent, Response, SamplerError> =>
  ToolStream.callbackArray((emit) => {
    const { client, idleMs, key, provider, request } = options
    const fail = (reason: Reason) => Effect.fail(fromReason(provider, reason))
    const late = () => fail(new Disconnected({ detail: `nothing came for ${idleMs} ms` }))
    const told = (error: unknown) =>
      Refusal.detailOf(error instanceof Error ? (causeOf(error) ?? error.message) : String(error), key)

    return Effect.gen(function* () {
      const response = yield* client.execute(request).pipe(
        Effect.catch((error) => fail(new Unreachable({ detail: told(error) }))),
        Effect.timeoutOrElse({ duration: idleMs, orElse: late })
      )
      if (response.status < 200 || response.status > 299) return yield* fail(yield* refusal(response, key))
      const reader = options.reader()
      const messages: Array<string> = []
      const parser = Sse.makeParser((event) => {
        if (event._tag === "Event") messages.push(event.data)
      })
      /** Whether the response has ended. */
      const feed = (text: string) =>
        Effect.gen(function* () {
          const tooLarge = parser.feed(text)
          if (tooLarge !== undefined) return yield* fail(new MalformedResponse({ detail: tooLarge.message }))
          const events: Array<SamplerEvent> = []
          let failed: Reason | undefined
          for (const message of messages.splice(0)) {
            if (message === done) reader.closed?.()
            if (message === done || reader.response !== undefined || failed !== undefined) break
            const read = Result.flatMap(parse(message, key), reader.read)
            if (Result.isSuccess(read)) events.push(...read.success)
            else failed = read.failure
          }
          if (Arr.isArrayNonEmpty(events)) yield* emit(events)
          if (failed !== undefined) return yield* fail(failed)
          return reader.response !== undefined
        })
      yield* response.stream.pipe(
        Stream.catch((error) => Stream.fromEffect(fail(new Disconnected({ detail: told(error) })))),
        Stream.timeoutOrElse({ duration: idleMs, orElse: () => Stream.fromEffect(late()) }),
        Stream.decodeText(),
        Stream.mapEffect(feed),
        Stream.takeUntil((ended) => ended),
        Stream.runDrain
      )
      reader.closed?.()
      if (reader.response !== undefined) return reader.response
      return yield* fail(new Disconnected({ detail: "it said no end" }))
    }).pipe(
      // A provider that sends its clients elsewhere would have the key sent there.
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
      Effect.provideService(HttpClient.TracerPropagationEnabled, false)
    )
  })

const refusal = Effect.fnUntraced(function* (response: HttpClientResponse, key: string | undefined) {
  const body = yield* response.stream.pipe(
    Stream.decodeText(),
    Stream.scan(
      () => "",
      (all, text: string) => all + text
    ),
    Stream.takeUntil((all) => all.length > maxError),
    Stream.runLast,
    Effect.map((last) => (last._tag === "Some" ? last.value : "")),
    Effect.timeoutOrElse({ duration: 10_000, orElse: () => Effect.succeed("") }),
    Effect.orElseSucceed(() => "")
  )
  const now = yield* Clock.currentTimeMillis
  return Refusal.ofStatus(response.status, body, Refusal.retryAfterMs(response.headers, now), key)
})

/** What lies under an error of the client: `fetch failed` says nothing. */
const causeOf = (error: Error): string | undefined => {
  const { cause } = error
  if (!(cause instanceof Error)) return undefined
  return (
    causeOf(cause) ??
    ("code" in cause && typeof cause.code === "string" ? `${cause.message || cause.code}` : cause.message)
  )
}

const parse = (text: string, key: string | undefined): Result.Result<unknown, Reason> =>
  Result.mapError(
    Result.try((): unknown => JSON.parse(text)),
    () => new MalformedResponse({ detail: `not JSON: ${Refusal.detailOf(text.slice(0, 80), key)}` })
  )

/** What a message says, if it is of the form. */
export const decoder = <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (message: unknown): Result.Result<S["Type"], Reason> =>
    Result.mapError(
      decode(message),
      ({ message }) => new MalformedResponse({ detail: Refusal.detailOf(message, undefined) })
    )
}
