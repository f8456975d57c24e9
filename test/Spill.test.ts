import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Session from "../src/Session.ts"
import * as Spill from "../src/Spill.ts"

const bytes = (length: number, value = 1) => new Uint8Array(length).fill(value)

describe("Spill in memory", () => {
  it.effect("keeps the first bytes of each output, and says that there were more", () =>
    Effect.gen(function* () {
      const spill = Spill.makeMemory({ outputBytes: 10 })
      const writer = yield* spill.open
      yield* writer.write(bytes(6))
      assert.deepStrictEqual(yield* writer.state, { handle: writer.handle, sizeBytes: 6, complete: true })
      yield* writer.write(bytes(6, 2))
      yield* writer.write(bytes(1, 3))
      assert.deepStrictEqual(yield* writer.state, {
        handle: writer.handle,
        sizeBytes: 10,
        complete: false,
        missing: "limit"
      })
      assert.deepStrictEqual(yield* spill.read(writer.handle, 5, 3), {
        bytes: new Uint8Array([1, 2, 2]),
        sizeBytes: 10,
        ended: false
      })
      assert.strictEqual((yield* spill.read(writer.handle, 99, 3)).bytes.length, 0)
    })
  )

  it.effect("forgets the oldest to have room for the newest", () =>
    Effect.gen(function* () {
      const spill = Spill.makeMemory({ outputBytes: 10, totalBytes: 20 })
      const writers = yield* Effect.forEach([1, 2, 3], () => spill.open)
      yield* Effect.forEach(writers, ({ write }) => write(bytes(8)))
      const [first, ...others] = writers
      assert.strictEqual((yield* Effect.flip(spill.read(first!.handle, 0, 1))).why, "unknown")
      assert.deepStrictEqual(yield* first!.state, {
        handle: first!.handle,
        sizeBytes: 0,
        complete: false,
        missing: "removed"
      })
      for (const { handle } of others) assert.strictEqual((yield* spill.read(handle, 0, 9)).bytes.length, 8)
    })
  )

  it.effect("belongs to a session, and goes with it", () =>
    Effect.gen(function* () {
      const spill = Spill.makeMemory()
      const scope = yield* Scope.make()
      const session = yield* Scope.provide(Session.make({ workspace: "/" }), scope)
      const within = Effect.provideService(Session.CurrentSession, session)
      const writer = yield* within(spill.open)
      yield* writer.write(bytes(8))
      assert.strictEqual((yield* Effect.flip(spill.read(writer.handle, 0, 1))).why, "unknown")
      assert.strictEqual((yield* within(spill.read(writer.handle, 0, 1))).sizeBytes, 8)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Effect.flip(within(spill.read(writer.handle, 0, 1)))).why, "unknown")
    })
  )

  it.effect("that is off keeps nothing", () =>
    Effect.gen(function* () {
      const { open } = yield* Spill.Spill
      const writer = yield* open
      yield* writer.write(bytes(1))
      assert.deepStrictEqual(yield* writer.state, {
        handle: writer.handle,
        sizeBytes: 0,
        complete: false,
        missing: "limit"
      })
    }).pipe(Effect.provide(Spill.layerOff))
  )
})
