import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Decision from "../../../layers/permissions/Decision.ts"
import * as RuleVerdict from "../../../layers/permissions/RuleVerdict.ts"
import * as Session from "../../../src/Session.ts"
import { erased, succeeds } from "../../Harness.ts"
import { rules } from "./Judge.ts"

/** A workspace with a folder in it, another one, and what is decided there. */
const judging = Effect.fnUntraced(function* (texts: ReadonlyArray<string>) {
  const root = yield* Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "verdict-")))),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
  )
  const workspace = path.join(root, "workspace")
  fs.mkdirSync(path.join(workspace, "inside"), { recursive: true })
  fs.symlinkSync(workspace, path.join(root, "link"))
  const session = yield* Session.make({ workspace: path.join(root, "link") })
  const decide = yield* RuleVerdict.make({ rules: rules(texts), home: "/home/me" })
  return (name: string, parameters: unknown) =>
    Effect.map(decide({ tool: { ...erased(name, succeeds) }, parameters, session }, []), ({ decision }) => [
      decision._tag,
      ...Decision.explain(decision)
    ])
})

describe("what rules say of a call", () => {
  it.layer(NodeServices.layer)((it) => {
    it.effect("what a shell is started with is part of its command", () =>
      Effect.gen(function* () {
        const judge = yield* judging(["bash(npm test)", "bash(./run)", "bash(cd inside)", "deny bash(EVIL=*)"])
        const bash = (command: string, more: object) => judge("bash", { command, ...more })
        assert.strictEqual((yield* bash("npm test", {}))[0], "Allowed")
        assert.strictEqual((yield* bash("npm test", { cwd: ".", env: { NO_COLOR: "1" } }))[0], "Allowed")
        assert.strictEqual((yield* bash("npm test", { cwd: "inside/.." }))[0], "Allowed")
        for (const env of [{ LD_PRELOAD: "x" }, { PATH: "x" }, { BASH_ENV: "x" }, { "BASH_FUNC_npm%%": "() { id; }" }])
          assert.deepStrictEqual(yield* bash("npm test", { env }), [
            "Undecided",
            ...Object.entries(env).map(
              ([name, value]) => `no rule allows ${name}=${value}: a variable that is set needs a rule of its own`
            )
          ])
        assert.strictEqual((yield* bash("npm test", { env: { LC_ALL: "C" } }))[0], "Undecided")
        assert.strictEqual((yield* bash("npm test", { env: { EVIL: "1" } }))[0], "Denied")
        assert.deepStrictEqual(yield* bash("npm test", { cwd: "/" }), [
          "Undecided",
          "no rule allows cd /: there is no rule for it"
        ])
        assert.strictEqual((yield* bash("npm test", { cwd: "nowhere" }))[0], "Undecided")
        assert.strictEqual((yield* bash("npm test", { cwd: "inside" }))[0], "Allowed")
        assert.strictEqual((yield* bash("./run", {}))[0], "Allowed")
        assert.deepStrictEqual(yield* bash("./run", { cwd: "inside" }), [
          "Undecided",
          "no rule allows ./run: the line changes the directory, so it is not known which file this is"
        ])
      })
    )
  })
})
