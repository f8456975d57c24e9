/**
 * What a client carries from one round of a call to the next, sealed: the server keeps
 * nothing in between.
 *
 * **Contract**
 *
 * A seal opens for the same tool, and for an hour, in the process that made it. Whatever
 * was changed on the way, or comes from elsewhere, does not open.
 *
 * **Source** MCP 2026-07-28, "Multi Round-Trip Requests": `requestState` is to be treated as attacker-controlled input.
 *
 * @since 0.1.0
 */
import * as Base64Url from "effect/encoding/Base64Url"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/**
 * @category models
 * @since 0.1.0
 */
export const Continuation = Schema.Struct({
  tool: Schema.String,
  /** All answers so far: a client gives only those of the last round. */
  answers: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown)),
  /** What the tool wants to know again. */
  state: Schema.optionalKey(Schema.String)
})
export type Continuation = typeof Continuation.Type

/**
 * @category models
 * @since 0.1.0
 */
export interface Seals {
  readonly seal: (continuation: Continuation) => Effect.Effect<string>
  /** Nothing, if it is not for this tool, too old, or not what was sealed. */
  readonly open: (tool: string, sealed: string) => Effect.Effect<Option.Option<Continuation>>
}

/** Time in ms that a seal opens. Less gives up a user who was away; more lets an answer be used again for longer. */
const lifetimeMs = 60 * 60 * 1000

const Sealed = Schema.fromJsonString(Schema.Struct({ until: Schema.Finite, continuation: Continuation }))
const encode = Schema.encodeEffect(Sealed)
const decode = Schema.decodeUnknownOption(Sealed)

/**
 * Seals with a key of its own.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Seals> = Effect.map(
  Effect.promise(() => crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"])),
  (key): Seals => ({
    seal: (continuation) =>
      Effect.gen(function* () {
        const until = (yield* Clock.currentTimeMillis) + lifetimeMs
        const content = new TextEncoder().encode(yield* Effect.orDie(encode({ until, continuation })))
        const signature = yield* Effect.promise(() => crypto.subtle.sign("HMAC", key, content))
        return `${Base64Url.encode(content)}.${Base64Url.encode(new Uint8Array(signature))}`
      }),
    open: (tool, sealed) =>
      Effect.gen(function* () {
        const [content, signature] = sealed.split(".").map((part) => Result.getOrUndefined(Base64Url.decode(part)))
        if (content === undefined || signature === undefined) return Option.none()
        const genuine = yield* Effect.promise(() =>
          crypto.subtle.verify("HMAC", key, new Uint8Array(signature), new Uint8Array(content))
        )
        if (!genuine) return Option.none()
        const now = yield* Clock.currentTimeMillis
        return Option.flatMap(decode(new TextDecoder().decode(content)), ({ continuation, until }) =>
          continuation.tool === tool && now < until ? Option.some(continuation) : Option.none()
        )
      })
  })
)
