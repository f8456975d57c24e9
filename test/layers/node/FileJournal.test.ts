import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as FileJournal from "../../../layers/node/FileJournal.ts"
import * as JournalCheck from "../../../layers/testing/JournalCheck.ts"
import { accepted, decoded, progress, started, terminal } from "../journal/Entries.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "toolstream-journal-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

describe("FileJournal", { timeout: 60_000 }, () => {
  for (const progress of ["watermark", "full"] as const) {
    it.live(`keeps the contract of journals, progress: ${progress}`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const directory = path.join(yield* temporary, "journal")
          // Small files, so that they are rotated; nothing is dropped, because all of it is read again.
          const open = FileJournal.make({ directory, progress, rotateBytes: 4096 })
          // All calls of the check are of one session, which has one writer.
          const report = yield* JournalCheck.check({ open, shared: false }, { rounds: 6 })
          assert.isAbove(report.claimed, 0)
        })
      )
    )
  }

  it.live("keeps what it is given, and tells it again", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const directory = path.join(yield* temporary, "a", "b")
        const first = Effect.gen(function* () {
          const journal = yield* FileJournal.make({ directory, progress: "full" })
          yield* journal.write(accepted("1", "s"), "buffered")
          const following = yield* Effect.forkChild(Stream.runCollect(journal.events("1")))
          yield* journal.write(decoded("1"), "buffered")
          yield* journal.write(started("1"), "durable")
          yield* journal.write(progress("1", 0, "a"), "buffered")
          yield* journal.write(progress("1", 1, "b"), "buffered")
          yield* journal.write(terminal("1", "ü\n"), "durable")
          const again = yield* Effect.flip(journal.write(terminal("1"), "durable"))
          assert.strictEqual(again.reason, "Settled")
          yield* journal.write(accepted("2", "s"), "durable")
          return yield* Fiber.join(following)
        })
        const told = yield* Effect.scoped(first)
        assert.deepStrictEqual(told, [progress("1", 0, "a"), progress("1", 1, "b"), terminal("1", "ü\n")])
        assert.strictEqual(fs.statSync(directory).mode & 0o777, 0o700)
        for (const name of fs.readdirSync(directory)) {
          assert.strictEqual(fs.statSync(path.join(directory, name)).mode & 0o777, 0o600)
        }

        const journal = yield* FileJournal.make({ directory })
        assert.deepStrictEqual(yield* Stream.runCollect(journal.events("1", 1)), [
          progress("1", 1, "b"),
          terminal("1", "ü\n")
        ])
        assert.deepStrictEqual(yield* journal.claim, [{ accepted: accepted("2", "s"), nextSeq: 0 }])
        assert.deepStrictEqual(yield* journal.claim, [])
        yield* journal.write(terminal("2"), "durable")
        assert.deepStrictEqual(yield* Stream.runCollect(journal.events("2")), [terminal("2")])
        const unknown = yield* Effect.exit(Stream.runCollect(journal.events("3")))
        assert.isTrue(Exit.isFailure(unknown))
      })
    )
  )

  it.live("a session goes when nothing happened in it for as long as ended calls are kept", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const directory = path.join(yield* temporary, "journal")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const journal = yield* FileJournal.make({ directory })
            for (const id of ["old", "new", "open"]) {
              yield* journal.write(accepted(id, id), "buffered")
              yield* journal.write(id === "open" ? started(id) : terminal(id), "durable")
            }
          })
        )
        const files = () => fs.readdirSync(directory).map((name) => name.split(".")[0])
        const past = (Date.now() - 8 * 24 * 3_600_000) / 1000
        for (const id of ["old", "open"]) fs.utimesSync(path.join(directory, `${id}.00000001.jsonl`), past, past)
        const journal = yield* FileJournal.make({ directory })
        const claimed = yield* journal.claim
        assert.deepStrictEqual(
          claimed.map(({ accepted }) => accepted.call.callId),
          ["open"]
        )
        assert.deepStrictEqual(files().toSorted(), ["new", "new", "open", "open"])
      })
    )
  )

  it.live("odd ids of sessions make no odd files", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const directory = path.join(yield* temporary, "journal")
        const ids = ["", ".", "../../x", "A", "a", "a.b", "ü/\0", "x".repeat(5000), "x".repeat(5001), "s.lock.1"]
        const journal = yield* FileJournal.make({ directory })
        for (const [index, id] of ids.entries()) yield* journal.write(accepted(`${index}`, id), "durable")
        const names = fs.readdirSync(directory)
        assert.strictEqual(names.filter((name) => name.endsWith(".jsonl")).length, ids.length)
        assert.strictEqual(new Set(names.map((name) => name.toLowerCase())).size, 2 * ids.length)
        for (const name of names) assert.match(name, /^[a-z0-9_%~-]+\.(?:00000001\.jsonl|lock\.1)$/)
        for (const [index] of ids.entries()) yield* journal.write(terminal(`${index}`), "durable")
      })
    )
  )

  it.live("a session that another holder writes is refused, by the name of the file that says so", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const directory = path.join(yield* temporary, "journal")
        const [one, other] = [yield* FileJournal.make({ directory }), yield* FileJournal.make({ directory })]
        yield* one.write(accepted("1", "s"), "durable")
        const refused = yield* Effect.flip(other.write(accepted("2", "s"), "buffered"))
        assert.strictEqual(refused.reason, "Locked")
        assert.include(refused.detail, path.join(directory, "s.lock.1"))
        assert.deepStrictEqual(yield* other.claim, [])
        // It is there to be read, and what comes is seen.
        const reading = yield* Effect.forkChild(Stream.runCollect(other.events("1")))
        yield* one.write(terminal("1"), "durable")
        assert.deepStrictEqual(yield* Fiber.join(reading), [terminal("1")])
      })
    )
  )
})
