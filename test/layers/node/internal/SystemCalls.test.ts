import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as SystemCalls from "../../../../layers/node/internal/SystemCalls.ts"
import * as BrokenCalls from "./BrokenCalls.ts"

const { counted, failure } = BrokenCalls

describe("calls in the pool, side by side", () => {
  it.effect("fail as the first that failed, but not before all have ended: their descriptors are closed next", () =>
    Effect.gen(function* () {
      const last = yield* Deferred.make<void>()
      const made: Array<string> = []
      const ended: Array<string> = []
      const fiber = yield* Effect.forkChild(
        SystemCalls.waitForAll(["throws", "rejects", "waits"], (name) => {
          made.push(name)
          if (name === "throws") throw failure("EIO")
          if (name === "rejects") return Promise.reject(failure("ENOSPC"))
          return Effect.runPromise(Deferred.await(last)).then(() => void ended.push(name))
        }),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      assert.deepStrictEqual(made, ["throws", "rejects", "waits"])
      // An interruption waits for them, too.
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* Effect.yieldNow
      assert.isUndefined(fiber.pollUnsafe())
      yield* Deferred.succeed(last, undefined)
      yield* Fiber.join(interruption)
      assert.deepStrictEqual(ended, ["waits"])
      const alone = SystemCalls.waitForAll(["throws", "rejects"], (name) => Promise.reject(failure(name)))
      assert.strictEqual(yield* Effect.flip(alone), "throws")
    })
  )

  for (const size of [0, 1, 64 * 1024, 5 * 1024 * 1024]) {
    it.live(`${size} bytes are written and read in full, however few a call takes`, () =>
      Effect.gen(function* () {
        const bytes = Uint8Array.from({ length: size }, (_, index) => index * 31)
        const stored = new Uint8Array(size)
        const piece = Math.ceil(size / 3)
        const calls: SystemCalls.SystemCalls = {
          ...counted(() => {}),
          write: (_, from, position) => {
            const taken = from.subarray(0, piece)
            stored.set(taken, position)
            return position === 0 ? taken.length : Promise.resolve(taken.length)
          },
          read: (_, into, position) => {
            const given = stored.subarray(position, position + Math.min(piece, into.length))
            into.set(given)
            return position === 0 ? given.length : Promise.resolve(given.length)
          }
        }
        yield* SystemCalls.writeFully(calls, 3, bytes)
        assert.isTrue(Buffer.from(stored).equals(bytes))
        assert.isTrue(Buffer.from(yield* SystemCalls.readFully(calls, 3, 0, size + 1)).equals(bytes))
      })
    )
  }
})
