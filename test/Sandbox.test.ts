import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Sandbox from "../src/Sandbox.ts"

const profiles = Sandbox.Profile.literals

describe("Sandbox", () => {
  it.effect.prop("profiles are read in any order, and hold once", [Schema.Array(Sandbox.Profile)], ([some]) =>
    Effect.sync(() => {
      const text = some.length === 0 ? "off" : some.join(", ")
      assert.deepStrictEqual(
        Result.getOrThrow(Sandbox.parse(text)),
        profiles.filter((profile) => some.includes(profile))
      )
    })
  )

  it.effect.prop(
    "what one profile forbids is forbidden, whatever else holds",
    [Schema.Array(Sandbox.Profile)],
    ([some]) =>
      Effect.sync(() => {
        const rank = { anywhere: 2, workspace: 1, nowhere: 0 }
        for (const profile of some) {
          assert.isAtMost(rank[Sandbox.writes(some)], rank[Sandbox.writes([profile])])
          assert.isTrue(Sandbox.hasNetwork([profile]) || !Sandbox.hasNetwork(some))
        }
      })
  )

  it("a name that is none is refused, and those that there are are named", () => {
    for (const text of ["", "Workspace", "workspace,", "workspace;no-network", "off,no-network", "none", "__proto__"]) {
      const message = Result.getOrThrow(Result.flip(Sandbox.parse(text)))
      for (const profile of ["off", ...profiles]) assert.include(message, profile)
    }
  })

  it.effect("a model is told of it in the description of a tool, and not if there is none", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Sandbox.describe("Runs."), "Runs.")
      const within = (sandbox: Sandbox.Sandbox) =>
        Effect.provideService(Sandbox.describe("Runs."), Sandbox.CurrentSandbox, sandbox)
      assert.match(
        yield* within(["workspace"]),
        /^Runs\. .*only the workspace and the temporary folder \$TMPDIR can be written\.$/
      )
      assert.match(yield* within(["read-only", "no-network"]), /only the temporary folder \$TMPDIR.*no network/)
      assert.notInclude(yield* within(["no-network"]), "written")
    })
  )
})
