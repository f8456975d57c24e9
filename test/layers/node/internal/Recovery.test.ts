import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as References from "effect/References"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Workspace from "../Workspace.ts"
import * as BrokenCalls from "./BrokenCalls.ts"

const { fulfil } = BrokenCalls

describe("recovery", () => {
  it.live("leaves alone what somebody changed since, and keeps the old content", () =>
    Effect.gen(function* () {
      const { root, top } = yield* Workspace.make({ a: "old a", b: "old b" })
      const state = path.join(top, "state")
      let renames = 0
      // Dies when both files have got their new content.
      const calls = BrokenCalls.counted((name) => {
        if ((name === "rename" && ++renames > 2) || renames > 2) throw BrokenCalls.failure("EIO")
      })
      const exit = yield* Effect.exit(
        Effect.provide(
          fulfil([
            { write: "a", bytes: "new a" },
            { write: "b", bytes: "new b" }
          ]),
          BrokenCalls.layer(root, state, { calls })
        )
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(fs.readFileSync(path.join(root, "a"), "utf8"), "new a")
      fs.writeFileSync(path.join(root, "a"), "by hand")
      yield* Effect.provide(Effect.void, BrokenCalls.layer(root, state))
      assert.strictEqual(fs.readFileSync(path.join(root, "a"), "utf8"), "by hand")
      assert.strictEqual(fs.readFileSync(path.join(root, "b"), "utf8"), "old b")
      const kept = fs.readdirSync(root).filter((name) => name.startsWith(".toolstream-"))
      assert.deepStrictEqual(
        kept.map((name) => fs.readFileSync(path.join(root, name), "utf8")),
        ["old a"]
      )
      assert.deepStrictEqual(fs.readdirSync(state), [])
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.live("tells a rewriting that was broken off from somebody's change, in a file of several names", () =>
    Effect.gen(function* () {
      const old = "old ".repeat(20)
      const made = "new! ".repeat(10)
      for (const { now, after } of [
        { now: made, after: old },
        { now: made.slice(0, 7) + old.slice(7), after: old },
        { now: "by hand", after: "by hand" }
      ]) {
        const { root, top } = yield* Workspace.make({ a: old, z: "z" })
        const [a, b, state] = [path.join(root, "a"), path.join(root, "b"), path.join(top, "state")]
        fs.linkSync(a, b)
        // Dies when the file is written over.
        let dead = false
        const calls = BrokenCalls.counted((name) => {
          if (dead && name !== "close") throw BrokenCalls.failure("EIO")
          dead ||= name === "ftruncate"
        })
        yield* Effect.exit(
          Effect.provide(fulfil([{ write: "a", bytes: made }]), BrokenCalls.layer(root, state, { calls }))
        )
        fs.writeFileSync(b, now)
        yield* Effect.provide(Effect.void, BrokenCalls.layer(root, state))
        assert.deepStrictEqual([fs.readFileSync(a, "utf8"), fs.readFileSync(b, "utf8")], [after, after])
        assert.strictEqual(fs.readdirSync(root).length, after === old ? 3 : 4)
        assert.deepStrictEqual(fs.readdirSync(state), [])
      }
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )
})
