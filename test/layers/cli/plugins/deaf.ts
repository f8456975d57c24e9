/** A tool that says that it runs, and cannot be interrupted. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErasedTool from "../../../../src/ErasedTool.ts"
import * as Tool from "../../../../src/Tool.ts"
import { ToolRegistry } from "../../../../src/ToolRegistry.ts"
import * as ToolStream from "../../../../src/ToolStream.ts"

class Deaf extends Tool.Service<Deaf>()("deaf", { description: "Never ends.", progress: Schema.String }) {}

const layer = Deaf.toLayer(() =>
  ToolStream.gen(function* () {
    yield* ToolStream.progress("running")
    return yield* Effect.uninterruptible(Effect.never)
  })
)

export default Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    yield* registry.register(yield* ErasedTool.fromTool(Deaf))
  })
).pipe(Layer.provide(layer))
