import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import * as Continuation from "../../../layers/mcp/Continuation.ts"

const continuation = { tool: "t", answers: { a: { action: "accept" } }, state: "2" }

describe("Continuation", () => {
  it.effect("opens for its tool, for an hour, and where it was made; else it does not", () =>
    Effect.gen(function* () {
      const seals = yield* Continuation.make
      const sealed = yield* seals.seal(continuation)
      assert.deepStrictEqual(yield* seals.open("t", sealed), Option.some(continuation))
      const changed = sealed.replace(/^./, (first) => (first === "e" ? "f" : "e"))
      const others = yield* Continuation.make
      for (const opened of [
        seals.open("u", sealed),
        seals.open("t", changed),
        seals.open("t", `${sealed.split(".")[0]}.`),
        seals.open("t", "no seal at all"),
        seals.open("t", ""),
        others.open("t", sealed)
      ]) {
        assert.isTrue(Option.isNone(yield* opened))
      }
      yield* TestClock.adjust("59 minutes")
      assert.isTrue(Option.isSome(yield* seals.open("t", sealed)))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Option.isNone(yield* seals.open("t", sealed)))
    })
  )
})
