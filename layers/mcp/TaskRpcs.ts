/**
 * The requests of the tasks extension, added to effect's adapter of 2026-07-28.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as McpProtocol from "effect/ai/McpProtocol"
import * as Rpc from "effect/rpc/Rpc"
import type * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import type { Handlers } from "./Revisions.ts"
import type { Tasks } from "./Tasks.ts"

type Group = RpcGroup.RpcGroup<Rpc.AnyWithProps>
type Fields = Readonly<Record<string, unknown>>

/**
 * The adapter with tasks. Undefined if it is not of the form that is known here.
 *
 * @category combinators
 * @since 0.1.0
 */
export const add = (adapter: McpProtocol.ProtocolAdapter, tasks: Tasks): McpProtocol.ProtocolAdapter | undefined => {
  const { clientRpcs } = adapter
  const { handlerRpcs }: Fields = { ...adapter }
  if (!isGroup(clientRpcs) || !isGroup(handlerRpcs)) return undefined
  const call = handlerRpcs.requests.get("tools/call")
  const list = handlerRpcs.requests.get("tools/list")
  const meta = metaOf(list?.payloadSchema)
  if (call === undefined || meta === undefined) return undefined

  const request = <F extends Schema.Struct.Fields>(method: string, fields: F) =>
    Rpc.make(method, {
      success: Schema.Unknown,
      error: call.errorSchema,
      payload: { _meta: meta, taskId: Schema.String, ...fields }
    })
  const added = [
    // Its results are those of a call, or a task.
    Rpc.make("tools/call", { success: Schema.Unknown, error: call.errorSchema, payload: call.payloadSchema }),
    request("tasks/get", {}),
    request("tasks/cancel", {}),
    request("tasks/update", {
      inputResponses: Schema.optionalKey(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown)))
    })
  ] as const
  const withTasks = (group: Group) => group.omit("tools/call").add(...added)

  const encodeResult = Schema.encodeUnknownEffect(Schema.toCodecJson(call.successSchema))
  const encode = (result: unknown) => Effect.orDie(encodeResult(result)) as Effect.Effect<unknown>
  const withHandlers = (handlers: Handlers) => ({
    ...handlers,
    "tools/call": (payload: { readonly name: string }, request: { readonly requestId: string | number }) =>
      tasks.call(
        payload.name,
        Effect.flatMap(handlers["tools/call"](payload, request), (result) =>
          Effect.map(encode(result), (json): Fields => ({ ...(json as object) }))
        )
      ),
    "tasks/get": ({ taskId }: { readonly taskId: string }) => tasks.get(taskId),
    "tasks/cancel": ({ taskId }: { readonly taskId: string }) => tasks.cancel(taskId),
    "tasks/update": ({
      inputResponses = {},
      taskId
    }: {
      readonly taskId: string
      readonly inputResponses?: Readonly<Record<string, Fields>>
    }) => tasks.update(taskId, inputResponses)
  })

  const changed = {
    ...adapter,
    clientRpcs: withTasks(clientRpcs),
    handlerRpcs: withTasks(handlerRpcs),
    installHandlers: (core, lifecycle, target) =>
      adapter.installHandlers(core, lifecycle, {
        ...target,
        install: (protocol: unknown, rpcs: Group, handlers: Handlers) =>
          target.install(protocol, withTasks(rpcs), withHandlers(handlers))
      })
  } satisfies McpProtocol.ProtocolAdapter & { readonly handlerRpcs: unknown }
  return changed
}

const isGroup = (value: unknown): value is Group => {
  if (typeof value !== "object" && typeof value !== "function") return false
  if (value === null || !("requests" in value) || !("omit" in value) || !("add" in value)) return false
  return value.requests instanceof Map && typeof value.omit === "function" && typeof value.add === "function"
}

/** The schema of what every request carries. */
const metaOf = (payload: unknown): Schema.Top | undefined => {
  const meta = fieldOf(fieldOf(payload, "fields"), "_meta")
  return Schema.isSchema(meta) ? meta : undefined
}

const fieldOf = (value: unknown, name: string): unknown =>
  (typeof value === "object" || typeof value === "function") && value !== null && name in value
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined
