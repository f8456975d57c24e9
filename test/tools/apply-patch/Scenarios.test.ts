import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as path from "node:path"
import * as Scenarios from "../../scenarios/run.ts"

const folder = path.resolve(import.meta.dirname, "../../fixtures/apply_patch")

/** Where the default layer refuses what the reference does. Then the tree stays as it was. */
const refused = ["c77-later-failure", "c90-add-onto-existing", "c90-move-onto-existing", "c92-parent"]

for (const layer of ["default", "compatible"] as const) {
  describe(`apply_patch, the ${layer} layer`, () => {
    for (const scenario of Scenarios.list(folder)) {
      it.live(scenario.replace(/^c(\d+)-/, "C$1: ").replaceAll("-", " "), () =>
        Effect.gen(function* () {
          const stays = layer === "default" && refused.includes(scenario)
          const { failure, problems } = yield* Scenarios.run(folder, scenario, layer, stays)
          assert.deepStrictEqual(problems, [], failure)
        })
      )
    }
  })
}
