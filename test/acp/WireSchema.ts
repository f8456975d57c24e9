/**
 * Every message of a connection, checked against the official schema of the protocol, and
 * every update against what has been told of its call before.
 */
import { Ajv2020 } from "ajv/dist/2020.js"
import { createRequire } from "node:module"

type Json = Readonly<Record<string, unknown>>

const schema: { readonly $defs: Readonly<Record<string, Json>> } = createRequire(import.meta.url)(
  "@agentclientprotocol/sdk/schema/v1/schema.json"
)

const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema(schema, "acp")

/** By method, the names of its definitions. */
const definitions = new Map<string, { request?: string; response?: string }>()
for (const [name, definition] of Object.entries(schema.$defs)) {
  const method = definition["x-method"]
  if (typeof method !== "string") continue
  const known = definitions.get(method) ?? {}
  definitions.set(method, name.endsWith("Response") ? { ...known, response: name } : { ...known, request: name })
}

const record = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {}

export type Side = "client" | "agent"

/** One connection. */
export class WireSchema {
  /** What is wrong, a line each. */
  readonly breaches: Array<string> = []
  /** Messages so far. */
  count = 0
  /** What was asked and not answered, by who asked and its id. */
  private readonly open = new Map<string, { readonly method: string; readonly sessionId: unknown }>()
  private readonly calls = new Map<string, { ended: boolean }>()
  /** Answers to prompts, in order. */
  readonly stops: Array<unknown> = []

  /** A message, as it was sent. */
  take(from: Side, message: unknown): void {
    this.count++
    const { error, id, method, params, result } = record(message)
    const shown = JSON.stringify(message).slice(0, 300)
    if (record(message)["jsonrpc"] !== "2.0") this.breaches.push(`no JSON-RPC: ${shown}`)
    if (typeof method === "string") {
      if (id !== undefined) this.open.set(`${from} ${String(id)}`, { method, sessionId: record(params)["sessionId"] })
      this.validate(definitions.get(method)?.request, params, shown, `no such method: ${shown}`)
      if (method === "session/update") this.update(record(params), shown)
      if (method === "session/request_permission") this.asked(record(params), shown)
      return
    }
    const asked = this.open.get(`${from === "client" ? "agent" : "client"} ${String(id)}`)
    if (asked === undefined) return void this.breaches.push(`an answer to nothing: ${shown}`)
    this.open.delete(`${from === "client" ? "agent" : "client"} ${String(id)}`)
    if (error !== undefined) {
      if (asked.method === "session/prompt") this.stops.push("error")
      if (!ajv.validate("acp#/$defs/Error", error)) this.breaches.push(`Error: ${ajv.errorsText()} in ${shown}`)
      return
    }
    this.validate(definitions.get(asked.method)?.response, result, shown, `no answer to ${asked.method}: ${shown}`)
    if (asked.method !== "session/prompt") return
    this.stops.push(record(result)["stopReason"])
    for (const [call, { ended }] of this.calls) {
      if (!ended && call.startsWith(`${String(asked.sessionId)} `)) this.breaches.push(`the turn ended before ${call}`)
    }
  }

  /** Calls that have begun. */
  get begun(): number {
    return this.calls.size
  }

  private validate(name: string | undefined, value: unknown, shown: string, otherwise: string): void {
    if (name === undefined) return void this.breaches.push(otherwise)
    if (!ajv.validate(`acp#/$defs/${name}`, value)) this.breaches.push(`${name}: ${ajv.errorsText()} in ${shown}`)
  }

  private update({ sessionId, update }: Json, shown: string): void {
    const { content, locations, sessionUpdate, status, toolCallId } = record(update)
    if (sessionUpdate !== "tool_call" && sessionUpdate !== "tool_call_update") return
    const key = `${String(sessionId)} ${String(toolCallId)}`
    const known = this.calls.get(key)
    if (sessionUpdate === "tool_call") {
      // A session that is loaded is told again.
      if (known !== undefined && !known.ended) this.breaches.push(`begun twice: ${shown}`)
      this.calls.set(key, { ended: false })
    } else if (known === undefined) this.breaches.push(`an update before its tool_call: ${shown}`)
    else if (known.ended) this.breaches.push(`something after the end: ${shown}`)
    if (status === "completed" || status === "failed") this.calls.set(key, { ended: true })
    const paths = [...(Array.isArray(locations) ? locations : []), ...(Array.isArray(content) ? content : [])]
      .map((part) => record(part)["path"])
      .filter((path) => typeof path === "string")
    for (const path of paths) if (!path.startsWith("/")) this.breaches.push(`a path that is not absolute: ${shown}`)
  }

  private asked({ sessionId, toolCall }: Json, shown: string): void {
    const known = this.calls.get(`${String(sessionId)} ${String(record(toolCall)["toolCallId"])}`)
    if (known === undefined) this.breaches.push(`C139 permission was asked for before the tool_call: ${shown}`)
    else if (known.ended) this.breaches.push(`permission was asked for after the end: ${shown}`)
  }
}
