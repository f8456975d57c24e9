/**
 * The tools that the conformance suite calls by name, in our runtime, behind our server on HTTP.
 *
 * `node test/conformance/server.ts` prints its URL and serves until it is killed.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { HttpServer } from "effect/http/HttpServer"
import * as Http from "../../layers/mcp/Http.ts"
import * as HttpGuard from "../../layers/mcp/HttpGuard.ts"
import * as HttpSessions from "../../layers/mcp/HttpSessions.ts"
import * as HttpListener from "../../layers/node/HttpListener.ts"
import * as Progress from "../../layers/Progress.ts"
import { ToolRegistry, layerEmpty } from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import { callTools, taskTools } from "./tools.ts"
import { prompts, resources } from "./others.ts"

const tools = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    for (const tool of [...callTools(registry), ...taskTools]) yield* Effect.orDie(registry.register(tool))
  })
).pipe(Layer.provideMerge(layerEmpty))

/** As the suite wants them. */
const policies: Readonly<Record<string, { readonly after: number; readonly required?: boolean }>> = {
  slow_compute: { after: 0 },
  failing_job: { after: 0, required: true },
  protocol_error_job: { after: 0 },
  confirm_delete: { after: 0 },
  multi_input: { after: 0 },
  // Asks before it becomes a task, which it is after that.
  test_tool_with_task: { after: 50 }
}

const server = Http.layer({
  name: "toolstream-conformance",
  version: "1.0.0",
  hosts: HttpGuard.loopback,
  token: undefined,
  registrations: Layer.merge(prompts, resources),
  tasks: { policyOf: (tool) => policies[tool], pollInterval: 100, ttl: "1 minute" }
}).pipe(
  Layer.provide(HttpSessions.layer({ workspaceOf: () => Effect.succeed(".") })),
  Layer.provide(ToolRuntime.layerWith().pipe(Layer.provide(Progress.layer))),
  Layer.provide(tools),
  Layer.provideMerge(HttpListener.layer({ port: Number(process.env["PORT"] ?? 0), host: "127.0.0.1" }))
)

Effect.runFork(
  Effect.gen(function* () {
    const { address } = yield* HttpServer
    if ("port" in address) console.log(`http://127.0.0.1:${address.port}/mcp`)
    return yield* Effect.never
  }).pipe(Effect.provide(server))
)
