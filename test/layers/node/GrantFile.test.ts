import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as GrantFile from "../../../layers/node/GrantFile.ts"
import { Grants } from "../../../layers/permissions/Grants.ts"
import * as Session from "../../../src/Session.ts"

const granted = { tool: "bash", parametersHash: "abc", workspace: "/ws" }

/** A file, and the grants in it as the next start of a program finds them. */
const folder = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "grants-"))),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
  ),
  (folder) => {
    const file = path.join(folder, "below", "grants.jsonl")
    const start = Effect.map(Layer.build(Layer.fresh(GrantFile.layer({ file }))), (context) =>
      Context.get(context, Grants)
    )
    return { file, start }
  }
)

describe("GrantFile", () => {
  it.effect("keeps what is granted for always, until it expires, in a file that only its user reads", () =>
    Effect.gen(function* () {
      const { file, start } = yield* folder
      const session = yield* Session.make({ workspace: "/ws" })
      const first = yield* start
      yield* first.add({ ...granted, parametersHash: "once" }, "once", session)
      yield* first.add({ ...granted, parametersHash: "session" }, "session", session)
      assert.isFalse(fs.existsSync(file))
      yield* first.add(granted, "always", session)
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(path.dirname(file)).mode & 0o777, 0o700)
      const second = yield* start
      assert.isTrue(yield* second.has(granted, session))
      assert.isFalse(yield* second.has({ ...granted, workspace: "/other" }, session))
      assert.isFalse(yield* second.has({ ...granted, tool: "monitor" }, session))
      yield* TestClock.adjust("31 days")
      assert.isFalse(yield* second.has(granted, session))
      const third = yield* start
      assert.isFalse(yield* third.has(granted, session))
      assert.strictEqual(fs.readFileSync(file, "utf8"), "", "what has expired is cleaned away")
    })
  )

  it.effect("keeps patterns, by tool and workspace, as long as it keeps anything", () =>
    Effect.gen(function* () {
      const { start } = yield* folder
      const session = yield* Session.make({ workspace: "/ws" })
      const elsewhere = yield* Session.make({ workspace: "/other" })
      const first = yield* start
      const pattern = { tool: "bash", workspace: "/ws", pattern: "bash(git log *)" }
      yield* first.add({ ...pattern, pattern: "bash(ls *)" }, "session", session)
      yield* first.add({ ...pattern, pattern: "bash(id *)" }, "once", session)
      yield* first.add(pattern, "always", session)
      assert.deepStrictEqual(yield* first.patterns("bash", session), ["bash(ls *)", "bash(git log *)"])
      const second = yield* start
      assert.deepStrictEqual(yield* second.patterns("bash", session), ["bash(git log *)"])
      assert.deepStrictEqual(yield* second.patterns("monitor", session), [])
      assert.deepStrictEqual(yield* second.patterns("bash", elsewhere), [])
      yield* TestClock.adjust("31 days")
      assert.deepStrictEqual(yield* second.patterns("bash", session), [])
      assert.deepStrictEqual(yield* (yield* start).patterns("bash", session), [])
      assert.deepStrictEqual(yield* first.patterns("bash", session), ["bash(ls *)"], "the session goes on")
    })
  )

  it.effect("a line that was cut off grants nothing, and takes no other along", () =>
    Effect.gen(function* () {
      const { file, start } = yield* folder
      const session = yield* Session.make({ workspace: "/ws" })
      yield* (yield* start).add(granted, "always", session)
      const [line] = fs.readFileSync(file, "utf8").split("\n")
      fs.writeFileSync(file, `${line}\n${line!.replace("abc", "def").slice(0, -9)}`)
      const grants = yield* start
      assert.isTrue(yield* grants.has(granted, session))
      assert.isFalse(yield* grants.has({ ...granted, parametersHash: "def" }, session))
      // What is added next is a line of its own.
      yield* grants.add({ ...granted, parametersHash: "ghi" }, "always", session)
      assert.isTrue(yield* (yield* start).has({ ...granted, parametersHash: "ghi" }, session))
    })
  )
})
