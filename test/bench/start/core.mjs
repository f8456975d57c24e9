// Loads the built core from the folder that it is given, declares a tool and calls it once.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const load = (name) => import(new URL(`${name}.js`, process.argv[2]))
const [Tool, ToolCall, ToolRegistry, ToolRuntime, ToolStream] = await Promise.all(
  ["Tool", "ToolCall", "ToolRegistry", "ToolRuntime", "ToolStream"].map(load)
)

class Echo extends Tool.Service()("echo", {
  description: "Gives back the text.",
  parameters: { text: Schema.String },
  success: Schema.Struct({ text: Schema.String })
}) {}

const live = ToolRuntime.layer.pipe(
  Layer.provide(ToolRegistry.layer(Echo)),
  Layer.provide(Echo.toLayer(({ text }) => Effect.succeed({ text })))
)

const { value } = await Effect.gen(function* () {
  const { dispatch } = yield* ToolRuntime.ToolRuntime
  const call = yield* ToolCall.make({ name: "echo", parameters: { text: "Hello." } })
  return yield* ToolStream.runResult(dispatch(call))
}).pipe(Effect.provide(live), Effect.runPromise)
if (value.text !== "Hello.") process.exit(1)
