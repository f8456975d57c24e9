import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fs from "node:fs"
import * as path from "node:path"
import type * as SystemCalls from "../../../../layers/node/internal/SystemCalls.ts"
import * as Workspace from "../Workspace.ts"
import * as BrokenCalls from "./BrokenCalls.ts"

const { aSecondLater, fulfil, read, tagsOf, workspace } = BrokenCalls

describe("a directory swapped for a link", () => {
  for (const [byDescriptor, old] of [
    [true, false],
    [true, true],
    [false, false]
  ] as const) {
    const how = byDescriptor ? "by descriptors" : "or is noticed, without them"
    it.live(`C52: never leads out, ${how}${old ? ", where times tell what is known" : ""}`, () =>
      Effect.gen(function* () {
        if (old) yield* aSecondLater
        const { root, top } = yield* Workspace.make({ "d/f": "inside", "keep/f": "inside" })
        fs.mkdirSync(path.join(top, "out"))
        fs.writeFileSync(path.join(top, "out/f"), "SECRET")
        fs.rmSync(path.join(root, "keep"), { recursive: true })
        // At a random call the directory becomes a link to the outside.
        for (let n = 1, reached = true; reached && n < 400; n++) {
          reached = false
          let count = 0
          const calls: SystemCalls.SystemCalls = BrokenCalls.counted(() => {
            if (++count !== n) return
            reached = true
            fs.renameSync(path.join(root, "d"), path.join(root, "moved"))
            fs.symlinkSync("../out", path.join(root, "d"))
          })
          const layer = BrokenCalls.layer(root, path.join(top, "state"), { calls, byDescriptor })
          const seen = yield* Effect.exit(Effect.provide(read("d/f"), layer))
          if (reached) {
            fs.unlinkSync(path.join(root, "d"))
            fs.renameSync(path.join(root, "moved"), path.join(root, "d"))
          }
          assert.isFalse(Exit.isSuccess(seen) && seen.value === "SECRET")
          if (!byDescriptor) continue
          count = 0
          yield* Effect.exit(
            Effect.provide(
              fulfil([
                { write: "d/f", bytes: "inside" },
                { write: "d/g", bytes: "g" }
              ]),
              layer
            )
          )
          if (fs.lstatSync(path.join(root, "d")).isSymbolicLink()) {
            reached = true
            fs.unlinkSync(path.join(root, "d"))
            fs.renameSync(path.join(root, "moved"), path.join(root, "d"))
          }
          fs.rmSync(path.join(root, "d/g"), { force: true })
          assert.deepStrictEqual(fs.readdirSync(path.join(top, "out")), ["f"])
          assert.strictEqual(fs.readFileSync(path.join(top, "out/f"), "utf8"), "SECRET")
          assert.deepStrictEqual(fs.readdirSync(path.join(root, "d")), ["f"])
        }
      })
    )
  }
})

describe("without paths by descriptor", () => {
  it.live("the same holds by path", () =>
    Effect.gen(function* () {
      const { run, at, text, top, state } = yield* workspace({ f: "old", "d/g": "g" }, { byDescriptor: false })
      fs.mkdirSync(path.join(top, "out"))
      fs.symlinkSync("../out", at("outbox"))
      fs.symlinkSync("d/g", at("link"))
      yield* run(
        fulfil([
          { write: "f", bytes: "new" },
          { write: "link", bytes: "G" },
          { write: "a/b/c", bytes: "c" }
        ])
      )
      assert.deepStrictEqual([text("f"), text("d/g"), text("a/b/c")], ["new", "G", "c"])
      assert.strictEqual(yield* run(read("link")), "G")
      assert.deepStrictEqual(yield* run(tagsOf(["outbox/x", "../x"])), ["OutsideWorkspace", "OutsideWorkspace"])
      assert.deepStrictEqual(fs.readdirSync(state), [])
    })
  )
})
