import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RateLimits from "../../layers/RateLimits.ts"
import { call, guarded, succeeds, terminal } from "../Harness.ts"

describe("RateLimits", () => {
  for (const algorithm of ["fixed-window", "token-bucket"] as const) {
    it.effect(`law: a call that comes too early is told when to come again, and runs then (${algorithm})`, () =>
      Effect.gen(function* () {
        let ran = 0
        const { events } = yield* guarded(
          { t: (parameters) => (ran++, succeeds(parameters)), other: succeeds },
          RateLimits.layer({ t: { limit: 2, window: "1 second", algorithm } })
        )
        const one = (id: string, name = "t") => Effect.map(Stream.runCollect(events(call(id, name))), terminal)
        assert.deepStrictEqual([yield* one("1"), yield* one("2")], [[7], [7]])
        const refused = (yield* one("3")) as { readonly _tag: string; readonly retryAfterMs: number }
        assert.strictEqual(refused._tag, "RateLimited")
        assert.deepStrictEqual(yield* one("4", "other"), [7], "the other tool has no limit")
        yield* TestClock.adjust(refused.retryAfterMs - 1)
        assert.strictEqual(((yield* one("5")) as { readonly _tag: string })._tag, "RateLimited")
        yield* TestClock.adjust(1 + (algorithm === "fixed-window" ? 0 : refused.retryAfterMs))
        assert.deepStrictEqual(yield* one("6"), [7])
        assert.strictEqual(ran, 3)
      })
    )
  }
})
