/**
 * Why a model gave no response.
 *
 * Nothing of a response that failed is kept, and no call of it was executed: whoever
 * asks again asks for the same.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Too many requests, or too many tokens.
 *
 * @category errors
 * @since 0.1.0
 */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  detail: Schema.String,
  retryAfterMs: Schema.optionalKey(Schema.Natural)
}) {
  override get message() {
    const { detail, retryAfterMs } = this
    return `too many requests: ${detail}${retryAfterMs === undefined ? "" : `; try again in ${Math.ceil(retryAfterMs / 1000)} s`}`
  }
}

/**
 * The provider has a fault, or too much to do.
 *
 * @category errors
 * @since 0.1.0
 */
export class ServerFault extends Schema.TaggedError<ServerFault>()("ServerFault", {
  /** Of HTTP, if it was a status that told it. */
  status: Schema.optionalKey(Schema.Int),
  detail: Schema.String,
  retryAfterMs: Schema.optionalKey(Schema.Natural)
}) {
  override get message() {
    return `the provider has a fault${this.status === undefined ? "" : ` (${this.status})`}: ${this.detail}`
  }
}

/**
 * The key is missing, wrong, or not good for this.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotAuthorized extends Schema.TaggedError<NotAuthorized>()("NotAuthorized", { detail: Schema.String }) {
  override get message() {
    return `not authorized: ${this.detail}`
  }
}

/**
 * The history is longer than the model can read.
 *
 * @category errors
 * @since 0.1.0
 */
export class ContextTooLong extends Schema.TaggedError<ContextTooLong>()("ContextTooLong", { detail: Schema.String }) {
  override get message() {
    return `the conversation is too long for the model: ${this.detail}`
  }
}

/**
 * The provider does not take the request: a model it does not have, an option it does not know.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  status: Schema.Int,
  detail: Schema.String
}) {
  override get message() {
    return `the provider refused the request (${this.status}): ${this.detail}`
  }
}

/**
 * There is no connection to the provider.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", { detail: Schema.String }) {
  override get message() {
    return `the provider cannot be reached: ${this.detail}`
  }
}

/**
 * The connection ended before the response did.
 *
 * @category errors
 * @since 0.1.0
 */
export class Disconnected extends Schema.TaggedError<Disconnected>()("Disconnected", { detail: Schema.String }) {
  override get message() {
    return `the connection ended in the middle of the response: ${this.detail}`
  }
}

/**
 * What came is not what the provider's protocol says.
 *
 * @category errors
 * @since 0.1.0
 */
export class MalformedResponse extends Schema.TaggedError<MalformedResponse>()("MalformedResponse", {
  detail: Schema.String
}) {
  override get message() {
    return `the response cannot be understood: ${this.detail}`
  }
}

/**
 * @category errors
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  TooManyRequests,
  ServerFault,
  NotAuthorized,
  ContextTooLong,
  InvalidRequest,
  Unreachable,
  Disconnected,
  MalformedResponse
])
export type Reason = typeof Reason.Type

/**
 * No response: who was asked, and why there is none. Made by `fromReason`.
 *
 * @category errors
 * @since 0.1.0
 */
export class SamplerError extends Schema.TaggedError<SamplerError>()("SamplerError", {
  /** As it is called in this program: `anthropic`, `openai`. */
  provider: Schema.String,
  /** For people, on one line. It holds no key. */
  message: Schema.String,
  reason: Reason
}) {}

/**
 * @category constructors
 * @since 0.1.0
 */
export const fromReason = (provider: string, reason: Reason): SamplerError =>
  new SamplerError({ provider, message: `${provider}: ${reason.message}`, reason })

/**
 * Whether the same request may succeed if it is sent again.
 *
 * @category combinators
 * @since 0.1.0
 */
export const isTransient = ({ reason }: SamplerError): boolean => {
  switch (reason._tag) {
    case "TooManyRequests":
    case "ServerFault":
    case "Unreachable":
    case "Disconnected":
    case "MalformedResponse":
      return true
    case "NotAuthorized":
    case "ContextTooLong":
    case "InvalidRequest":
      return false
  }
}
