import { assert, describe, it, vi } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as SpillFiles from "../../../layers/node/SpillFiles.ts"
import * as Session from "../../../src/Session.ts"
import { Spill } from "../../../src/Spill.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "spill-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** All files and directories below, with their modes. */
const tree = (directory: string): Array<readonly [string, string]> =>
  fs.readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) => {
    const stat = fs.statSync(path.join(directory, name))
    return [name, `${stat.isDirectory() ? "d" : "f"}${(stat.mode & 0o777).toString(8)}`] as const
  })

const files = (directory: string) => tree(directory).filter(([, mode]) => mode.startsWith("f"))

const store = Effect.fnUntraced(function* (directory: string, scope?: Scope.Scope) {
  const within = scope ?? (yield* Effect.scope)
  return Context.get(yield* Layer.buildWithScope(SpillFiles.layerWith({ directory }), within), Spill)
})

const quiet = Effect.provide(Logger.layer([]))

const inSession = Effect.gen(function* () {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const session = yield* Scope.provide(Session.make({ workspace: "/" }), scope)
  return {
    run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Session.CurrentSession, session),
    close: Scope.close(scope, Exit.void)
  }
})

describe("SpillFiles", () => {
  it.live("what is written is read back, byte for byte, while it is written and after", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const spill = yield* store(directory)
      const { run } = yield* inSession
      const writing = yield* Scope.make()
      const writer = yield* run(Scope.provide(spill.open, writing))
      assert.match(writer.handle, /^out_[0-9a-z]{13}$/)
      const read = (offset: number, length: number) => run(spill.read(writer.handle, offset, length))
      assert.deepStrictEqual(yield* read(0, 10), { bytes: new Uint8Array(0), sizeBytes: 0 })
      yield* writer.write(bytes("one "))
      assert.strictEqual(text((yield* read(0, 10)).bytes), "one ")
      yield* writer.write(new Uint8Array(0))
      yield* writer.write(bytes("two"))
      yield* Scope.close(writing, Exit.void)
      assert.deepStrictEqual(yield* writer.state, { handle: writer.handle, sizeBytes: 7, complete: true })
      assert.deepStrictEqual(yield* read(2, 3), { bytes: bytes("e t"), sizeBytes: 7 })
      assert.deepStrictEqual(yield* read(7, 3), { bytes: new Uint8Array(0), sizeBytes: 7 })
      assert.deepStrictEqual(yield* read(100, 3), { bytes: new Uint8Array(0), sizeBytes: 7 })
      yield* writer.write(bytes("late"))
      assert.deepStrictEqual(yield* writer.state, { handle: writer.handle, sizeBytes: 7, complete: false })
    })
  )

  it.live("directories are for nobody else, and nor are files", () =>
    Effect.gen(function* () {
      const directory = path.join(yield* temporary, "new")
      const spill = yield* store(directory)
      assert.isFalse(fs.existsSync(directory))
      const { run } = yield* inSession
      yield* run(spill.open)
      const modes = [
        `d${(fs.statSync(directory).mode & 0o777).toString(8)}`,
        ...tree(directory).map(([, mode]) => mode)
      ]
      assert.deepStrictEqual(modes, ["d700", "d700", "d700", "f600"])
    })
  )

  it.live("a session reads its own, and its files go when it closes", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const spill = yield* store(directory)
      const one = yield* inSession
      const other = yield* inSession
      const writer = yield* one.run(spill.open)
      const kept = yield* other.run(spill.open)
      yield* writer.write(bytes("secret"))
      yield* kept.write(bytes("kept"))
      assert.strictEqual((yield* Effect.flip(other.run(spill.read(writer.handle, 0, 9)))).why, "unknown")
      assert.strictEqual((yield* Effect.flip(one.run(spill.read("out_x", 0, 9)))).why, "unknown")
      yield* one.close
      assert.strictEqual((yield* Effect.flip(one.run(spill.read(writer.handle, 0, 9)))).why, "unknown")
      yield* writer.write(bytes("more"))
      assert.isFalse((yield* writer.state).complete)
      assert.strictEqual(files(directory).length, 1)
      assert.strictEqual(text((yield* other.run(spill.read(kept.handle, 0, 9))).bytes), "kept")
      // A session that has closed keeps nothing, and nothing fails.
      const late = yield* one.run(spill.open)
      yield* late.write(bytes("late"))
      assert.deepStrictEqual(yield* late.state, { handle: late.handle, sizeBytes: 0, complete: false })
      assert.strictEqual(files(directory).length, 1)
    }).pipe(quiet)
  )

  it.live("many may be opened at once, the first ones of their session", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const spill = yield* store(directory)
      const { run } = yield* inSession
      const writers = yield* run(
        Effect.all(
          Array.from({ length: 20 }, () => spill.open),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.forEach(writers, ({ handle, write }) => write(bytes(handle)))
      for (const { handle, state } of writers) {
        assert.deepStrictEqual(yield* state, { handle, sizeBytes: handle.length, complete: true })
      }
      assert.strictEqual(files(directory).length, 20)
    })
  )

  it.live("what is discarded is gone", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const spill = yield* store(directory)
      const { run } = yield* inSession
      const writer = yield* run(spill.open)
      yield* writer.write(bytes("x"))
      yield* writer.discard
      assert.deepStrictEqual(files(directory), [])
      assert.strictEqual((yield* Effect.flip(run(spill.read(writer.handle, 0, 9)))).why, "unknown")
    })
  )

  it.live("a disk that is full ends the writing once, with what was written, and no call", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const spill = yield* store(directory)
      const { run } = yield* inSession
      const writer = yield* run(spill.open)
      yield* writer.write(bytes("before"))
      const handle = yield* Effect.promise(() => fs.promises.open(path.join(directory, "any"), "w"))
      const write = vi
        .spyOn(Object.getPrototypeOf(handle) as fs.promises.FileHandle, "write")
        .mockRejectedValueOnce(Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" }))
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => {
          write.mockRestore()
          return handle.close()
        })
      )
      yield* writer.write(bytes("lost"))
      // There is room again. What came after a hole would pass for what followed.
      yield* writer.write(bytes("after"))
      assert.strictEqual(write.mock.calls.length, 1)
      assert.deepStrictEqual(yield* writer.state, { handle: writer.handle, sizeBytes: 6, complete: false })
      assert.strictEqual(text((yield* run(spill.read(writer.handle, 0, 99))).bytes), "before")
    }).pipe(quiet)
  )

  it.live("where no directory can be made nothing is kept, and nothing fails", () =>
    Effect.gen(function* () {
      const file = path.join(yield* temporary, "file")
      fs.writeFileSync(file, "")
      const spill = yield* store(path.join(file, "below"))
      const { run } = yield* inSession
      const writer = yield* run(spill.open)
      yield* writer.write(bytes("x"))
      assert.deepStrictEqual(yield* writer.state, { handle: writer.handle, sizeBytes: 0, complete: false })
      assert.deepStrictEqual(yield* run(spill.read(writer.handle, 0, 9)), { bytes: new Uint8Array(0), sizeBytes: 0 })
    }).pipe(quiet)
  )

  it.live("at its start it removes what programs left that have ended, and nothing else", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const alive = yield* store(directory)
      const { run } = yield* inSession
      const writer = yield* run(alive.open)
      yield* writer.write(bytes("alive"))
      const [own] = fs.readdirSync(directory)
      assert(own !== undefined)
      const uuid = own.slice(own.lastIndexOf(".") + 1)
      const [pid, start, ...place] = own.slice(0, own.lastIndexOf(".")).split("-")
      const dead = spawnSync("true").pid
      const names = {
        ended: [`${dead}-${start}-${place.join("-")}.${uuid}`, `${pid}-1-${place.join("-")}.${uuid}`],
        stay: [`${dead}-${start}-${place.slice(0, -1).join("-")}-elsewhere.${uuid}`, "of-somebody-else", own]
      }
      for (const name of [...names.ended, ...names.stay]) fs.mkdirSync(path.join(directory, name), { recursive: true })
      fs.writeFileSync(path.join(directory, names.ended[0]!, "out_x"), "x")
      yield* store(directory)
      assert.deepStrictEqual(fs.readdirSync(directory).toSorted(), names.stay.toSorted())
      assert.strictEqual(text((yield* run(alive.read(writer.handle, 0, 9))).bytes), "alive")
    })
  )

  it.live("a layer that closes takes all its files with it, and those of no other", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const { run } = yield* inSession
      const scope = yield* Scope.make()
      yield* run((yield* store(directory, scope)).open)
      const other = yield* store(directory)
      yield* run(other.open)
      assert.strictEqual(files(directory).length, 2)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(files(directory).length, 1)
    })
  )
})
