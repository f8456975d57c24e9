import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Builtin from "../../layers/Builtin.ts"
import * as BuiltinTool from "../../layers/BuiltinTool.ts"
import * as Ports from "../../layers/node/Ports.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import { ToolRegistry } from "../../src/ToolRegistry.ts"
import * as ToolStream from "../../src/ToolStream.ts"

const registryOf = (layer: BuiltinTool.Registry) =>
  Effect.map(Layer.build(Layer.provide(layer, Ports.layer)), Context.get(ToolRegistry))

/** What a call of that name would run. */
const leased = Effect.fnUntraced(function* (registry: ToolRegistry["Service"], name: string) {
  const call = yield* ToolCall.make({ name, parameters: {} })
  return yield* ToolStream.runResult(
    registry.lease(call, (tool, origin) =>
      ToolStream.fromEffect(Effect.succeed({ described: "descriptor" in tool ? tool.descriptor : undefined, origin }))
    )
  )
})

describe("built-in tools", () => {
  it.effect("are the same alone and together", () =>
    Effect.gen(function* () {
      const together = yield* registryOf(Builtin.registry)
      for (const name of BuiltinTool.names()) {
        const layer = yield* Effect.promise(async () => BuiltinTool.load(name))
        assert.isDefined(layer)
        const alone = yield* registryOf(layer)
        assert.deepStrictEqual(yield* leased(alone, name), yield* leased(together, name))
        assert.isAtMost((yield* alone.snapshot).length, 1)
      }
      const listed = (yield* together.snapshot).map(({ name }) => name)
      assert.includeMembers([...BuiltinTool.names()], listed)
    })
  )

  it("are not what others are called", () => {
    for (const name of ["read_files", "", "toString", "__proto__"]) assert.isUndefined(BuiltinTool.load(name))
  })
})
