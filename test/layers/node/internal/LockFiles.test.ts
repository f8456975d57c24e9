import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as LockFiles from "../../../../layers/node/internal/LockFiles.ts"
import * as Owner from "../../../../layers/node/internal/Owner.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "toolstream-locks-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

const contender = path.join(import.meta.dirname, "LockContender.ts")

const locks = (folder: string) => fs.readdirSync(folder).filter((name) => name.startsWith("s.lock."))

const isSupported = process.platform === "linux"

describe("LockFiles", () => {
  it.live("one holder at a time; released it is free", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporary
        const lock = yield* LockFiles.take(folder, "s")
        const refused = yield* Effect.flip(LockFiles.take(folder, "s"))
        assert.deepStrictEqual(
          [refused._tag, "file" in refused ? refused.file : ""],
          ["Locked", path.join(folder, "s.lock.1")]
        )
        assert.strictEqual(yield* LockFiles.left(folder, "s"), undefined)
        yield* lock.release("open")
        assert.strictEqual(yield* LockFiles.left(folder, "s"), "open")
        const next = yield* LockFiles.take(folder, "s")
        // What is given up goes with the next one, and nothing else is left.
        assert.deepStrictEqual(locks(folder), ["s.lock.2"])
        yield* next.release("clean")
        assert.strictEqual(yield* LockFiles.left(folder, "s"), "clean")
        assert.strictEqual(fs.statSync(path.join(folder, "s.lock.2")).mode & 0o777, 0o600)
      })
    )
  )

  it.live("a process of another pid namespace or host counts as running, one of another boot does not", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporary
        const [pid, start, namespace, boot, host] = (yield* Owner.current).split("-")
        const left = (owner: ReadonlyArray<string | undefined>) =>
          fs.writeFileSync(path.join(folder, "s.lock.7"), `h${JSON.stringify({ owner: owner.join("-") })}`)
        for (const owner of [
          [pid, start, "pid1", boot, host],
          [pid, start, namespace, boot, "elsewhere"]
        ]) {
          left(owner)
          const refused = yield* Effect.flip(LockFiles.take(folder, "s"))
          assert.strictEqual("file" in refused ? refused.file : "", path.join(folder, "s.lock.7"))
        }
        for (const owner of [
          [pid, start, namespace, "before", host],
          [pid, "1", namespace, boot, host]
        ]) {
          left(owner)
          yield* Effect.flatMap(LockFiles.take(folder, "s"), (lock) => lock.remove())
        }
        // One that was not written whole is of a machine that lost power.
        fs.writeFileSync(path.join(folder, "s.lock.9"), "")
        yield* LockFiles.take(folder, "s")
        assert.deepStrictEqual(locks(folder), ["s.lock.10"])
      })
    )
  )

  it.live.skipIf(!isSupported)(
    "of many processes that want it, are killed with it, give it up and remove it, one holds it at a time",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* temporary
          const log = path.join(folder, "log")
          fs.writeFileSync(log, "")
          const contenders = new Set<ChildProcess>()
          const run = { seed: 0, killed: 0, stopping: false }
          const start = () => {
            const child = spawn(process.execPath, [contender, folder, "s", String(++run.seed)], { stdio: "ignore" })
            contenders.add(child)
            child.on("exit", (_code, signal) => {
              contenders.delete(child)
              if (signal === "SIGKILL") run.killed++
              if (!run.stopping) start()
            })
          }
          // One that is not gone may write to the folder while it is removed.
          yield* Effect.addFinalizer(() =>
            Effect.promise(async () => {
              run.stopping = true
              const gone = Array.from(contenders, (child) => once(child, "exit"))
              for (const child of contenders) child.kill("SIGKILL")
              await Promise.all(gone)
            })
          )
          for (let n = 0; n < 6; n++) start()
          const times = () =>
            fs
              .readFileSync(log, "utf8")
              .split("\n")
              .filter((line) => line === "held").length
          while (times() < 200 || run.killed < 6) {
            yield* Effect.sleep(20)
            const breach = /^both.*/m.exec(fs.readFileSync(log, "utf8"))
            assert.isNull(breach, `${breach?.[0]}`)
          }
        })
      ),
    120_000
  )
})
