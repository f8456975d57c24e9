/**
 * Calls as spans and metrics, exported over OTLP.
 *
 *     node examples/telemetry.ts
 *
 * With `OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318` they go to your collector. Without, to one in this program,
 * which prints what it gets.
 */
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Otlp from "effect/observability/Otlp"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as http from "node:http"
import * as Telemetry from "../layers/Telemetry.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolCall from "../src/ToolCall.ts"
import * as ToolRegistry from "../src/ToolRegistry.ts"
import * as ToolRuntime from "../src/ToolRuntime.ts"

class Divide extends Tool.Service<Divide>()("divide", {
  description: "Divide two numbers.",
  parameters: { a: Schema.Finite, b: Schema.Finite },
  success: Schema.Finite,
  failure: Schema.String
}) {}

const DivideLive = Divide.toLayer(({ a, b }) =>
  b === 0 ? Effect.fail("division by zero") : Effect.withSpan(Effect.succeed(a / b), "long division")
)

/** Prints the names of the spans and metrics that it gets. */
const collector = Effect.acquireRelease(
  Effect.callback<http.Server>((resume) => {
    const names = (value: unknown): ReadonlyArray<string> => {
      if (typeof value !== "object" || value === null) return []
      const below = Object.values(value).flatMap(names)
      return "name" in value && ("spanId" in value || "histogram" in value) ? [String(value.name), ...below] : below
    }
    const server = http.createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += String(chunk)
      for (const name of names(JSON.parse(body))) console.log(`${request.url}  ${name}`)
      response.end("{}")
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.promise(() => new Promise((resolve) => server.close(resolve)))
)

const endpoint = Effect.gen(function* () {
  const given = process.env["OTEL_EXPORTER_OTLP_ENDPOINT"]
  if (given !== undefined) return given
  const address = (yield* collector).address()
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
})

const exporting = Layer.unwrap(
  Effect.map(endpoint, (baseUrl) =>
    Otlp.layer({ baseUrl, resource: { serviceName: "telemetry-example" } }).pipe(
      Layer.provide(OtlpSerialization.layerJson),
      Layer.provide(FetchHttpClient.layer)
    )
  )
)

const tools = ToolRuntime.layer.pipe(
  Layer.provide(Telemetry.layer),
  Layer.provide(ToolRegistry.layer(Divide)),
  Layer.provide(DivideLive)
)

const program = Effect.gen(function* () {
  const runtime = yield* ToolRuntime.ToolRuntime
  for (const parameters of [{ a: 6, b: 3 }, { a: 1, b: 0 }, { a: 1 }]) {
    yield* Stream.runDrain(runtime.events(yield* ToolCall.make({ name: "divide", parameters })))
  }
})

await Effect.runPromise(program.pipe(Effect.provide(tools), Effect.provide(exporting)))
