/**
 * JSON-RPC 2.0 as MCP uses it, to and from the messages of effect's RPC server.
 *
 * **Source** JSON-RPC 2.0; MCP 2026-07-28, basic, "Messages": ids are strings or integers, and never null.
 *
 * @since 0.1.0
 */
import type * as RpcMessage from "effect/rpc/RpcMessage"
import * as Result from "effect/Result"

/**
 * What a text is.
 *
 * @category models
 * @since 0.1.0
 */
export type Incoming =
  | { readonly _tag: "Message"; readonly message: Message }
  /** One response is owed, an array of the responses to its requests. */
  | { readonly _tag: "Batch"; readonly messages: ReadonlyArray<Message> }
  /** Nothing that can be served: what is answered. */
  | { readonly _tag: "Refused"; readonly answer: string }

/**
 * @category models
 * @since 0.1.0
 */
export type Message = RpcMessage.RequestEncoded | RpcMessage.ResponseExitEncoded

/**
 * The text cannot be read.
 *
 * @category constants
 * @since 0.1.0
 */
export const parseError = -32700

/**
 * The text can be read, and is no message.
 *
 * @category constants
 * @since 0.1.0
 */
export const invalidRequest = -32600

const internalError = -32603

/**
 * @category constructors
 * @since 0.1.0
 */
export const refusal = (id: string | number | null, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })

/**
 * Reads one text.
 *
 * @category converting
 * @since 0.1.0
 */
export const read = (text: string): Incoming =>
  Result.match(
    Result.try((): unknown => JSON.parse(text)),
    {
      onFailure: () => refused(null, parseError, "Parse error: the line is not JSON"),
      onSuccess: (value) => (Array.isArray(value) ? batchOf(value) : singleOf(value))
    }
  )

const refused = (id: string | number | null, code: number, message: string): Incoming => ({
  _tag: "Refused",
  answer: refusal(id, code, message)
})

const singleOf = (value: unknown): Incoming => {
  const message = messageOf(value)
  return typeof message === "string"
    ? refused(idOf(value) ?? null, invalidRequest, `Invalid Request: ${message}`)
    : { _tag: "Message", message }
}

const batchOf = (values: ReadonlyArray<unknown>): Incoming => {
  const messages: Array<Message> = []
  for (const value of values) {
    const message = messageOf(value)
    if (typeof message === "string") return refused(null, invalidRequest, `Invalid Request: in the batch: ${message}`)
    messages.push(message)
  }
  return messages.length === 0
    ? refused(null, invalidRequest, "Invalid Request: the batch is empty")
    : { _tag: "Batch", messages }
}

/** Or what is wrong with it. */
const messageOf = (value: unknown): Message | string => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "it is no object"
  const { error, jsonrpc, method, params } = fieldsOf(value)
  if (jsonrpc !== "2.0") return `"jsonrpc" has to be "2.0"`
  const hasId = "id" in value
  const id = idOf(value)
  if (hasId && id === undefined) return `"id" has to be a string or an integer`
  if (method !== undefined) {
    if (typeof method !== "string") return `"method" has to be a string`
    if (params !== undefined && (typeof params !== "object" || params === null)) return `"params" has to be an object`
    const payload = params ?? null
    return id === undefined
      ? { _tag: "Request", id: "", tag: method, payload, headers: [], isNotification: true }
      : { _tag: "Request", id, tag: method, payload, headers: [] }
  }
  if (id === undefined || "result" in value === "error" in value) return `it has no "method", and is no response`
  return {
    _tag: "Exit",
    requestId: id,
    exit:
      "result" in value
        ? { _tag: "Success", value: value.result }
        : { _tag: "Failure", cause: [{ _tag: "Fail", error }] }
  }
}

const fieldsOf = (value: object): Readonly<Record<string, unknown>> => ({ ...value })

const idOf = (value: unknown): string | number | undefined => {
  if (typeof value !== "object" || value === null || !("id" in value)) return undefined
  const { id } = value
  return typeof id === "string" || (typeof id === "number" && Number.isInteger(id)) ? id : undefined
}

/**
 * A message of the server, as JSON. Undefined for those that MCP does not know.
 *
 * @category converting
 * @since 0.1.0
 */
export const write = (message: RpcMessage.FromServerEncoded): string | undefined => {
  switch (message._tag) {
    case "Request":
      return JSON.stringify({
        jsonrpc: "2.0",
        ...(message.isNotification === true ? {} : { id: message.id }),
        method: message.tag,
        params: message.payload
      })
    case "Exit": {
      const { exit, requestId } = message
      return exit._tag === "Success"
        ? JSON.stringify({ jsonrpc: "2.0", id: requestId, result: exit.value })
        : JSON.stringify({ jsonrpc: "2.0", id: requestId, error: errorOf(exit.cause) })
    }
    default:
      return undefined
  }
}

type Cause = Extract<RpcMessage.ResponseExitEncoded["exit"], { readonly _tag: "Failure" }>["cause"]

const errorOf = (cause: Cause): object => {
  const failure = cause.find((reason) => reason._tag === "Fail")
  const { code, data, message } =
    typeof failure?.error === "object" && failure.error !== null ? fieldsOf(failure.error) : {}
  return typeof code === "number" && typeof message === "string"
    ? { code, message, ...(data === undefined ? {} : { data }) }
    : { code: internalError, message: "Internal error" }
}
