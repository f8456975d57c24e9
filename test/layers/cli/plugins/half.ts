/** A plugin that breaks when it has registered one of its tools. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Tool from "../../../../src/Tool.ts"
import * as ToolRegistry from "../../../../src/ToolRegistry.ts"

class Half extends Tool.Service<Half>()("half", { description: "Half." }) {}

export default ToolRegistry.layerRegister(Half).pipe(
  Layer.provide(Half.toLayer(() => Effect.void)),
  Layer.tap(() => Effect.die(new Error("the other half is missing")))
)
