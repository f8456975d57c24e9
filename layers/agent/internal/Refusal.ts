/**
 * What a provider says when it gives no response, as a reason.
 *
 * @since 0.1.0
 */
import * as PlainText from "../../../src/PlainText.ts"
import {
  ContextTooLong,
  InvalidRequest,
  NotAuthorized,
  type Reason,
  ServerFault,
  TooManyRequests
} from "../SamplerError.ts"

/** UTF-16 code units of what a provider says that are told. More is a page of HTML. */
const maxDetail = 300

/** On one line, and without the key: some providers quote it. */
export const detailOf = (text: string, key: string | undefined): string => {
  const line = PlainText.makeLine(key === undefined || key === "" ? text : text.replaceAll(key, "(the key)")).trim()
  return line.length <= maxDetail ? line : `${PlainText.take(line, maxDetail)}…`
}

/** The message in the body of an error, whoever's form it has; or the body. */
export const messageOf = (body: string): string => {
  const { error, message } = record(parsed(body))
  const inner = record(error)["message"]
  return [inner, message, error].find((text): text is string => typeof text === "string") ?? body
}

/** The code or type that an error gives itself. */
export const codeOf = (body: unknown): string => {
  const { code, error, type } = record(body)
  const inner = record(error)
  return [inner["code"], inner["type"], code, type].filter((text) => typeof text === "string").join(" ")
}

const tooLong =
  /context.{0,20}(length|window)|prompt is too long|too many (input )?tokens|maximum.{0,20}tokens|input is too long/i

/** By the status of HTTP and what is said with it. */
export const ofStatus = (
  status: number,
  body: string,
  retryAfterMs: number | undefined,
  key: string | undefined
): Reason => {
  const detail = detailOf(messageOf(body), key) || "it gives no reason"
  const code = codeOf(parsed(body))
  const retry = retryAfterMs === undefined ? {} : { retryAfterMs }
  if (status === 401 || status === 403) return new NotAuthorized({ detail })
  // No waiting brings back money that is spent.
  if (code.includes("insufficient_quota")) return new InvalidRequest({ status, detail })
  if (status === 429) return new TooManyRequests({ detail, ...retry })
  if (status >= 500 || status === 408 || status === 409) return new ServerFault({ status, detail, ...retry })
  if ((status === 400 || status === 413) && (tooLong.test(detail) || code.includes("context_length"))) {
    return new ContextTooLong({ detail })
  }
  return new InvalidRequest({ status, detail })
}

/** By the code of an error that comes within a response. */
export const ofCode = (code: string, message: string, key: string | undefined): Reason => {
  const detail = detailOf(message, key) || "it gives no reason"
  if (/rate_limit/.test(code)) return new TooManyRequests({ detail })
  if (/context_length/.test(code) || tooLong.test(detail)) return new ContextTooLong({ detail })
  if (/authentication|permission|api_key/.test(code)) return new NotAuthorized({ detail })
  if (/invalid_(request|prompt)|not_found/.test(code)) return new InvalidRequest({ status: 400, detail })
  return new ServerFault({ detail })
}

/**
 * How long the provider wants to be left alone, in ms.
 *
 * **Source** RFC 9110, section 10.2.3; `retry-after-ms` of OpenAI.
 */
export const retryAfterMs = (
  headers: Readonly<Record<string, string | undefined>>,
  now: number
): number | undefined => {
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN)
  if (Number.isFinite(ms) && ms >= 0) return Math.ceil(ms)
  const after = headers["retry-after"]
  if (after === undefined) return undefined
  const seconds = Number(after)
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1000))
  const date = Date.parse(after)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}
