import { assert, describe, it, vi } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as SpillFiles from "../../../layers/node/SpillFiles.ts"
import * as Session from "../../../src/Session.ts"
import { Spill, type Store, type Writer } from "../../../src/Spill.ts"

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

const store = Effect.fnUntraced(function* (
  directory: string,
  scope?: Scope.Scope,
  limits?: Omit<SpillFiles.Options, "directory">
) {
  const within = scope ?? (yield* Effect.scope)
  return Context.get(yield* Layer.buildWithScope(SpillFiles.layerWith({ directory, ...limits }), within), Spill)
})

/** Bytes of all files below. */
const stored = (directory: string): number =>
  files(directory).reduce((all, [name]) => all + fs.statSync(path.join(directory, name)).size, 0)

/** Makes the next write of any file fail. */
const failNextWrite = Effect.fnUntraced(function* (directory: string, code: string) {
  const handle = yield* Effect.promise(() => fs.promises.open(path.join(directory, "any"), "w"))
  const write = vi
    .spyOn(Object.getPrototypeOf(handle) as fs.promises.FileHandle, "write")
    .mockRejectedValueOnce(Object.assign(new Error(`${code}: injected, write`), { code }))
  yield* Effect.addFinalizer(() =>
    Effect.promise(() => {
      write.mockRestore()
      return handle.close()
    })
  )
  return write
})

const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex")

/** Writes an output from its beginning to its end. */
const whole = (spill: Store, content: Uint8Array) =>
  Effect.scoped(Effect.tap(spill.open, ({ write }) => write(content)))

/** One step of several writers: which, and what it does. Few contents and sizes, so that many are the same. */
const Step = Schema.Struct({
  who: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  what: Schema.Literals(["write", "write", "write", "write", "close", "discard", "read", "fail"]),
  letter: Schema.Literals(["a", "b"]),
  count: Schema.Literals([1, 5, 9])
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
      assert.deepStrictEqual(yield* read(0, 10), { bytes: new Uint8Array(0), sizeBytes: 0, ended: false })
      yield* writer.write(bytes("one "))
      assert.strictEqual(text((yield* read(0, 10)).bytes), "one ")
      yield* writer.write(new Uint8Array(0))
      yield* writer.write(bytes("two"))
      yield* Scope.close(writing, Exit.void)
      assert.deepStrictEqual(yield* writer.state, { handle: writer.handle, sizeBytes: 7, complete: true })
      assert.deepStrictEqual(yield* read(2, 3), { bytes: bytes("e t"), sizeBytes: 7, ended: true })
      assert.deepStrictEqual(yield* read(7, 3), { bytes: new Uint8Array(0), sizeBytes: 7, ended: true })
      assert.deepStrictEqual(yield* read(100, 3), { bytes: new Uint8Array(0), sizeBytes: 7, ended: true })
      yield* writer.write(bytes("late"))
      assert.deepStrictEqual(yield* writer.state, {
        handle: writer.handle,
        sizeBytes: 7,
        complete: false,
        missing: "closed"
      })
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
      assert.deepStrictEqual(modes, ["d700", "d700", "f600"])
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
      assert.deepStrictEqual(yield* late.state, {
        handle: late.handle,
        sizeBytes: 0,
        complete: false,
        missing: "removed"
      })
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
      const write = yield* failNextWrite(directory, "ENOSPC")
      yield* writer.write(bytes("lost"))
      // There is room again. What came after a hole would pass for what followed.
      yield* writer.write(bytes("after"))
      assert.strictEqual(write.mock.calls.length, 1)
      assert.deepStrictEqual(yield* writer.state, {
        handle: writer.handle,
        sizeBytes: 6,
        complete: false,
        missing: "disk full"
      })
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
      assert.deepStrictEqual(yield* writer.state, {
        handle: writer.handle,
        sizeBytes: 0,
        complete: false,
        missing: "disk failed"
      })
      assert.deepStrictEqual(yield* run(spill.read(writer.handle, 0, 9)), {
        bytes: new Uint8Array(0),
        sizeBytes: 0,
        ended: false
      })
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

  it.live("a disk that fails is told apart from one that is full", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const spill = yield* store(directory, undefined, { totalBytes: 21 })
      const { run } = yield* inSession
      const other = yield* run(whole(spill, bytes("other")))
      for (const [code, missing] of [
        ["EIO", "disk failed"],
        ["EDQUOT", "disk full"]
      ] as const) {
        const writer = yield* run(spill.open)
        yield* writer.write(bytes("before"))
        const failing = yield* failNextWrite(directory, code)
        yield* writer.write(bytes("lost"))
        failing.mockRestore()
        assert.deepStrictEqual(yield* writer.state, { handle: writer.handle, sizeBytes: 6, complete: false, missing })
      }
      // What was not written took no room.
      assert.strictEqual(text((yield* run(spill.read(other.handle, 0, 9))).bytes), "other")
    }).pipe(quiet)
  )

  it.live("a file is named by what is in it, and what is there already is not kept twice", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const spill = yield* store(directory)
      const one = yield* inSession
      const other = yield* inSession
      const names = () => files(directory).map(([name]) => path.basename(name))
      const first = yield* one.run(whole(spill, bytes("same")))
      const second = yield* other.run(whole(spill, bytes("same")))
      const third = yield* one.run(whole(spill, bytes("same")))
      assert.deepStrictEqual(names(), [sha256("same")])
      assert.deepStrictEqual(files(directory)[0]?.[1], "f600")
      assert.strictEqual(new Set([first.handle, second.handle, third.handle]).size, 3)
      // The same file is no way to the output of another session.
      const read = (session: typeof one, { handle }: Writer) => session.run(spill.read(handle, 0, 99))
      assert.strictEqual(text((yield* read(one, third)).bytes), "same")
      assert.strictEqual((yield* Effect.flip(read(other, first))).why, "unknown")
      assert.strictEqual((yield* Effect.flip(other.run(spill.read(sha256("same"), 0, 99)))).why, "unknown")
      // It stays as long as somebody has a handle for it.
      yield* first.discard
      yield* one.close
      assert.strictEqual(text((yield* read(other, second)).bytes), "same")
      assert.deepStrictEqual(names(), [sha256("same")])
      yield* other.close
      assert.deepStrictEqual(names(), [])
    })
  )

  it.live("of one output the first bytes are kept, and who is oldest goes to make room", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const spill = yield* store(directory, undefined, { outputBytes: 6, totalBytes: 10 })
      const { run } = yield* inSession
      const read = ({ handle }: Writer) => run(spill.read(handle, 0, 99))
      const long = yield* run(whole(spill, bytes("too long")))
      assert.deepStrictEqual(yield* long.state, {
        handle: long.handle,
        sizeBytes: 6,
        complete: false,
        missing: "limit"
      })
      assert.strictEqual(text((yield* read(long)).bytes), "too lo")
      const written = yield* run(spill.open)
      yield* written.write(bytes("abc"))
      const short = yield* run(whole(spill, bytes("x")))
      assert.strictEqual(stored(directory), 10)
      yield* written.write(bytes("d"))
      assert.match((yield* Effect.flip(read(long))).message, /may have been removed to make room/)
      assert.deepStrictEqual(yield* long.state, {
        handle: long.handle,
        sizeBytes: 0,
        complete: false,
        missing: "removed"
      })
      assert.deepStrictEqual([text((yield* read(written)).bytes), text((yield* read(short)).bytes)], ["abcd", "x"])
      // Who is written goes last, and who writes never.
      const last = yield* run(spill.open)
      yield* last.write(bytes("123456"))
      assert.strictEqual((yield* Effect.flip(read(short))).why, "unknown")
      assert.strictEqual(text((yield* read(written)).bytes), "abcd")
      const more = yield* run(spill.open)
      yield* more.write(bytes("y"))
      assert.strictEqual((yield* Effect.flip(read(written))).why, "unknown")
      yield* written.write(bytes("late"))
      assert.strictEqual((yield* written.state).missing, "removed")
      assert.deepStrictEqual([text((yield* read(last)).bytes), text((yield* read(more)).bytes)], ["123456", "y"])
      assert.strictEqual(stored(directory), 7)
    })
  )

  it.live("each counts its own, and removes nothing of another that shares the directory", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const { run } = yield* inSession
      const limits = { totalBytes: 6 }
      const [one, other] = [
        yield* store(directory, undefined, limits),
        yield* store(directory, undefined, limits)
      ] as const
      const kept = yield* run(whole(other, bytes("aaaa")))
      for (const content of ["aaaa", "bbbb", "cccc"]) yield* run(whole(one, bytes(content)))
      assert.strictEqual(text((yield* run(other.read(kept.handle, 0, 9))).bytes), "aaaa")
      assert.strictEqual(stored(directory), 8)
    })
  )

  it.live("what was removed to make room can be stored anew", () =>
    Effect.gen(function* () {
      const spill = yield* store(yield* temporary, undefined, { totalBytes: 6 })
      const { run } = yield* inSession
      for (const content of ["aaaa", "bbbb", "aaaa"]) {
        const { handle } = yield* run(whole(spill, bytes(content)))
        assert.strictEqual(text((yield* run(spill.read(handle, 0, 9))).bytes), content)
      }
    })
  )

  it.live("what is written again is as new as what was written last", () =>
    Effect.gen(function* () {
      const spill = yield* store(yield* temporary, undefined, { totalBytes: 10 })
      const { run } = yield* inSession
      const [first, second] = [yield* run(whole(spill, bytes("aaaa"))), yield* run(whole(spill, bytes("bb")))]
      const again = yield* run(whole(spill, bytes("aaaa")))
      yield* run(whole(spill, bytes("ccccc")))
      assert.strictEqual((yield* Effect.flip(run(spill.read(second.handle, 0, 9)))).why, "unknown")
      for (const { handle } of [first, again]) assert.strictEqual((yield* run(spill.read(handle, 0, 9))).sizeBytes, 4)
    })
  )

  it.live.prop(
    "whatever several writers do: never more than the quota, each content once, read as it was written",
    [
      Schema.Array(Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(4))).check(Schema.isMaxLength(25))
    ],
    ([rounds]) =>
      Effect.gen(function* () {
        const top = yield* temporary
        const directory = path.join(top, "spill")
        fs.mkdirSync(directory)
        const limits = { outputBytes: 20, totalBytes: 32 }
        const spill = yield* store(directory, undefined, limits)
        const { run } = yield* inSession
        const all: Array<{ writer: Writer; scope: Scope.Closeable; content: string; open: boolean }> = []
        const current: Array<(typeof all)[number] | undefined> = []
        const step = Effect.fnUntraced(function* ({ count, letter, what, who }: typeof Step.Type) {
          let output = current[who]
          if (output === undefined) {
            const scope = yield* Scope.make()
            const writer = yield* run(Scope.provide(spill.open, scope))
            output = current[who] = { writer, scope, content: "", open: true }
            all.push(output)
          }
          if (what === "fail" || what === "write") {
            const piece = letter.repeat(count)
            const failing = what === "fail" ? yield* failNextWrite(top, "ENOSPC") : undefined
            output.content += piece
            yield* output.writer.write(bytes(piece))
            failing?.mockRestore()
          } else if (what === "read") yield* Effect.exit(run(spill.read(output.writer.handle, 0, 99)))
          else {
            current[who] = undefined
            output.open = false
            if (what === "discard") yield* output.writer.discard
            yield* Scope.close(output.scope, Exit.void)
          }
        })
        for (const round of rounds) {
          // One step of each writer at most, all at once.
          const steps = Array.from(new Map(round.map((one) => [one.who, one])).values())
          yield* Effect.forEach(steps, (one) => Effect.scoped(step(one)), { concurrency: "unbounded" })
          assert.isAtMost(stored(directory), limits.totalBytes)
          // What is kept is the beginning of what was written, and says so if it is not all.
          const ended = new Set<string>()
          for (const { content, open, writer } of all) {
            const { complete, handle, missing, sizeBytes } = yield* writer.state
            const read = yield* Effect.exit(run(spill.read(handle, 0, 99)))
            if (Exit.isFailure(read)) {
              assert.deepStrictEqual([missing, sizeBytes], ["removed", 0])
              continue
            }
            assert.strictEqual(text(read.value.bytes), content.slice(0, sizeBytes))
            assert.strictEqual(complete, sizeBytes === content.length)
            if (!open) ended.add(sha256(read.value.bytes))
          }
          const named = files(directory).map(([name]) => path.basename(name))
          assert.deepStrictEqual(named.filter((name) => !name.startsWith("out_")).toSorted(), [...ended].toSorted())
        }
      }).pipe(Effect.scoped, quiet),
    { arbitrary: { runs: 30 }, timeout: 60_000 }
  )
})
