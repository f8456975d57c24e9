/** A tool of a plugin, which asks a port of the built-in tools. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErasedTool from "../../../../src/ErasedTool.ts"
import * as Tool from "../../../../src/Tool.ts"
import { ToolRegistry } from "../../../../src/ToolRegistry.ts"
import { WorkspaceFiles } from "../../../../src/WorkspaceFiles.ts"

class Greet extends Tool.Service<Greet>()("greet", {
  description: "Greets.",
  parameters: { name: Schema.String },
  success: Schema.String
}) {}

const layer = Greet.toLayer(
  Effect.map(
    WorkspaceFiles,
    (files) =>
      ({ name }: Tool.Parameters<typeof Greet>) =>
        Effect.map(Effect.orDie(files.display(".")), (place) => `Hello, ${name}, in ${place}`)
  )
)

export default Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    yield* registry.register(yield* ErasedTool.fromTool(Greet))
  })
).pipe(Layer.provide(layer))
