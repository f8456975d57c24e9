/** A tool of a plugin, which asks a port of the built-in tools. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Tool from "../../../../src/Tool.ts"
import * as ToolRegistry from "../../../../src/ToolRegistry.ts"
import { WorkspaceFiles } from "../../../../src/WorkspaceFiles.ts"

class Greet extends Tool.Service<Greet>()("greet", {
  description: "Greets.",
  parameters: { name: Schema.String },
  success: Schema.String,
  hints: { readOnly: true }
}) {}

const layer = Greet.toLayer(
  Effect.map(
    WorkspaceFiles,
    (files) =>
      ({ name }) =>
        Effect.map(files.display("."), (place) => `Hello, ${name}, in ${place}`)
  )
)

export default Layer.provide(ToolRegistry.layerRegister(Greet), layer)
