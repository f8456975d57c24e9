import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import * as Builtin from "../../layers/Builtin.ts"
import * as Ports from "../../layers/node/Ports.ts"
import * as Plugins from "../../layers/Plugins.ts"
import { ToolRegistry } from "../../src/ToolRegistry.ts"

const url = (name: string) => pathToFileURL(path.join(import.meta.dirname, "cli/plugins", name)).href

const within = <A, E>(effect: Effect.Effect<A, E, Plugins.Plugins | ToolRegistry>, names: ReadonlyArray<string>) =>
  effect.pipe(
    Effect.provide(
      Plugins.layerAll(names.map(url)).pipe(Layer.provideMerge(Builtin.registry), Layer.provide(Ports.layer))
    )
  )

describe("Plugins", () => {
  it.live("a plugin that fails fails alone, and nothing of it stays registered", () =>
    within(
      Effect.gen(function* () {
        const { failed, loaded } = yield* Plugins.Plugins
        assert.deepStrictEqual(loaded, ["greet.ts", "deaf.ts"].map(url))
        assert.deepStrictEqual(
          failed.map(({ module }) => module),
          ["half.ts", "missing.ts", "greet.ts"].map(url)
        )
        assert.include(failed[0]!.message, "the other half is missing")
        assert.include(failed[1]!.message, "missing.ts")
        assert.include(failed[2]!.message, 'The name "greet" belongs to a tool of')
        const tools = yield* Effect.flatMap(ToolRegistry, ({ snapshot }) => snapshot)
        assert.isTrue(tools.slice(0, -2).every(({ origin }) => origin === "the program"))
        assert.deepStrictEqual(
          tools.slice(-2).map(({ name, origin }) => [name, origin]),
          [
            ["greet", url("greet.ts")],
            ["deaf", url("deaf.ts")]
          ]
        )
      }),
      ["half.ts", "greet.ts", "missing.ts", "greet.ts", "deaf.ts"]
    )
  )

  it.live("its hints are listed as it claims them", () =>
    within(
      Effect.gen(function* () {
        const tools = yield* Effect.flatMap(ToolRegistry, ({ snapshot }) => snapshot)
        assert.deepStrictEqual(tools.at(-1)?.hints, {
          readOnly: true,
          destructive: false,
          idempotent: true,
          openWorld: true
        })
      }),
      ["greet.ts"]
    )
  )
})
