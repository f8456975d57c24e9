// Loads effect/ai's Tool and Toolkit, declares a tool and calls it once.
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"

const Text = Schema.Struct({ text: Schema.String })
const tools = Toolkit.make(Tool.make("echo", { description: "Gives back the text.", parameters: Text, success: Text }))

const [last] = await Effect.gen(function* () {
  const { handle } = yield* tools
  return yield* Stream.runCollect(yield* handle("echo", { text: "Hello." }))
}).pipe(Effect.provide(tools.toLayer({ echo: ({ text }) => Effect.succeed({ text }) })), Effect.runPromise)
if (last.encodedResult.text !== "Hello.") process.exit(1)
