import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { SessionRecord } from "../../../layers/agent/SessionLog.ts"
import * as SessionFiles from "../../../layers/node/SessionFiles.ts"
import { text } from "../../../src/ToolContent.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => path.join(fs.mkdtempSync(path.join(os.tmpdir(), "sessions-")), "kept")),
  (folder) => Effect.sync(() => fs.rmSync(path.dirname(folder), { recursive: true }))
)

const said = (words: string): SessionRecord => ({
  _tag: "Said",
  message: { _tag: "Message", from: "user", content: [text(words)] }
})

const a = { sessionId: "01-a", workspace: "/a" }

describe("SessionFiles", () => {
  it.effect("what is appended is read, line by line, by the user alone", () =>
    Effect.gen(function* () {
      const kept = yield* folder
      assert.isTrue(Option.isNone(yield* SessionFiles.records(kept, "01-a")))
      const log = SessionFiles.open(kept, a)
      yield* log.append([said("one\ntwo"), said("\u2028")])
      yield* log.append([said("three")])
      const records = Option.getOrThrow(yield* SessionFiles.records(kept, "01-a"))
      assert.deepStrictEqual(records.slice(1), [said("one\ntwo"), said("\u2028"), said("three")])
      assert.deepInclude(records[0], { _tag: "Opened", ...a })
      assert.strictEqual(fs.statSync(kept).mode & 0o777, 0o700)
      assert.strictEqual(fs.statSync(path.join(kept, "01-a.jsonl")).mode & 0o777, 0o600)
    }).pipe(Effect.scoped)
  )

  it.effect("a line that was cut off is left out, and spoils none that comes after it", () =>
    Effect.gen(function* () {
      const kept = yield* folder
      yield* SessionFiles.open(kept, a).append([said("one"), said("two")])
      const file = path.join(kept, "01-a.jsonl")
      fs.truncateSync(file, fs.statSync(file).size - 10)
      yield* SessionFiles.open(kept, a).append([said("three")])
      const records = Option.getOrThrow(yield* SessionFiles.records(kept, "01-a"))
      assert.deepStrictEqual(records.slice(1), [said("one"), said("three")])
    }).pipe(Effect.scoped)
  )

  it.effect("the latest of a workspace is found, whatever lies beside it", () =>
    Effect.gen(function* () {
      const kept = yield* folder
      assert.isTrue(Option.isNone(yield* SessionFiles.latest(kept, "/a")))
      for (const session of [a, { sessionId: "02-b", workspace: "/b" }, { sessionId: "03-a", workspace: "/a" }]) {
        yield* SessionFiles.open(kept, session).append([said("x")])
      }
      fs.writeFileSync(path.join(kept, "04-broken.jsonl"), "{")
      assert.deepStrictEqual(yield* SessionFiles.latest(kept, "/a"), Option.some("03-a"))
      assert.deepStrictEqual(yield* SessionFiles.latest(kept, "/b"), Option.some("02-b"))
      assert.isTrue(Option.isNone(yield* SessionFiles.latest(kept, "/c")))
    }).pipe(Effect.scoped)
  )

  it.effect("an id is no path, and a folder that cannot be written ends no conversation", () =>
    Effect.gen(function* () {
      const kept = yield* folder
      assert.isTrue(Option.isNone(yield* SessionFiles.records(kept, "../x")))
      fs.writeFileSync(kept, "a file")
      yield* SessionFiles.open(path.join(kept, "within"), a).append([said("x")])
    }).pipe(Effect.scoped)
  )
})
