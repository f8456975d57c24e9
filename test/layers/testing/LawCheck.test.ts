import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as LawCheck from "../../../layers/testing/LawCheck.ts"
import { type Law, LawViolation, NoParameters } from "../../../layers/testing/LawViolation.ts"
import * as ScriptedTool from "../../../layers/testing/ScriptedTool.ts"
import * as Strangers from "./Strangers.ts"

const seed = 1

const check = (layer: Layer.Layer<Strangers.Counter>, options: LawCheck.Options = {}) =>
  Effect.provide(LawCheck.check(Strangers.Counter, { seed, runs: 10, ...options }), layer)

const violation = <A>(effect: Effect.Effect<A, LawViolation | NoParameters>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert(error instanceof LawViolation, String(error))
    return error
  })

/** What each stranger breaks, with which least `n`, and what its author is told. */
const faults: Record<keyof typeof Strangers.tools, readonly [law: Law, n: number, detail: RegExp, advice: RegExp]> = {
  rejects: ["Defect", 3, /socket hang up/, /Effect\.tryPromise/],
  throws: ["Defect", 3, /n is too large/, /Effect\.try\b/],
  returnsNothing: ["Defect", 3, /got undefined/, /Return a ToolStream or an Effect/],
  isAsync: ["Defect", 0, /got object/, /A promise is wrapped with `Effect\.tryPromise`/],
  succeedsWithNothing: ["Misfit", 3, /its success does not fit/, /Make the schema and what the handler gives agree/],
  misfitProgress: ["Misfit", 3, /its progress does not fit.*integer/, /`Schema\.Int` refuses fractions/],
  misfitSuccess: ["Misfit", 3, /its success does not fit.*"counted"/, /widen the schema/],
  neverEnds: ["Endless", 3, /waited for what does not come/, /resume an `Effect\.callback`.*`clock: "real"`|allow/],
  pollsForEver: ["Endless", 3, /after 60000 ms it had not ended/, /give a loop its end/],
  deaf: ["Deaf", 3, /detached 1000 ms later/, /out of `Effect\.uninterruptible`.*AbortSignal/],
  deafForEver: ["Deaf", 3, /had not ended; it ignored the shutdown/, /out of `Effect\.uninterruptible`/],
  opensCallback: ["Unquiet", 0, /told as stopped, and then gave/, /the cleanup from `Effect\.callback`/],
  forksAway: ["Unquiet", 3, /told as stopped, and then gave/, /`Effect\.forkChild`/]
}

describe("LawCheck", () => {
  for (const [name, layer] of Object.entries(Strangers.tools)) {
    const [law, n, detail, advice] = faults[name as keyof typeof faults]
    it.effect(`finds what is wrong with a tool that ${name}, and says what to do`, () =>
      Effect.gen(function* () {
        const real = name === "opensCallback"
        const found = yield* violation(check(layer, real ? { clock: "real", maxShrinks: 2, linger: 100 } : {}))
        assert.strictEqual(found.law, law, found.message)
        assert.match(found.detail, detail)
        assert.match(found.advice, advice)
        if (!real) assert.deepStrictEqual(found.parameters, { n }, "reduced")
        assert.include(found.message, "counter breaks a law")
        assert.include(found.message, 'Parameters: {"n":')
        assert.include(found.message, "journal: Accepted")
        assert.include(found.message, `What to do: ${found.advice}`)
        assert.include(found.message, `seed ${seed}`)
      })
    )
  }

  it.effect("passes good tools, typed, as a plain effect and erased, in every scenario", () =>
    Effect.gen(function* () {
      const good = yield* check(Strangers.good)
      assert.deepStrictEqual(Object.keys(good.scenarios).toSorted(), [
        "Break",
        "Cancel",
        "Drain",
        "Leave",
        "Shutdown",
        "Take",
        "Timeout",
        "Twice"
      ])
      assert.deepStrictEqual(Object.keys(good.endings).toSorted(), [
        "Interrupted (stopped)",
        "Success",
        "TimedOut (stopped)"
      ])
      assert.strictEqual(good.parameters, 10)
      const plain = yield* check(Strangers.plain)
      assert.deepStrictEqual(Object.keys(plain.endings).toSorted(), ["Success", "ToolFailed"])
      const erased = yield* LawCheck.checkErased(Strangers.erased, { parameters: [{ n: 1 }, { n: 2, label: "b" }] })
      assert.deepStrictEqual(erased.endings, { Success: erased.calls })
    })
  )

  it.effect("state that calls share is no violation, and progress after the result is counted", () =>
    Effect.map(check(Strangers.shared), (report) => {
      assert.isAbove(report.late, 0)
      assert.isAbove(report.endings["Success"] ?? 0, 0)
    })
  )

  it.effect("the same seed gives the same check", () =>
    Effect.gen(function* () {
      const twice = yield* Effect.all([check(Strangers.good, { runs: 3 }), check(Strangers.good, { runs: 3 })])
      assert.deepStrictEqual(twice[0], twice[1])
      const found = yield* Effect.all([
        violation(check(Strangers.tools.forksAway)),
        violation(check(Strangers.tools.forksAway))
      ])
      assert.strictEqual(found[0].message, found[1].message)
    })
  )

  it.effect("a law can be allowed to be broken", () =>
    Effect.gen(function* () {
      const endless = yield* check(Strangers.tools.neverEnds, { allow: ["Endless"], runs: 2 })
      assert.isAbove(endless.endings["Interrupted (stopped)"] ?? 0, 0)
      const deaf = yield* Effect.provide(
        LawCheck.check(Strangers.Counter, { allow: ["Deaf"], parameters: [{ n: 3 }], steps: 2 }),
        Strangers.tools.deaf
      )
      assert.isAbove(deaf.endings["Interrupted (detached)"] ?? 0, 0)
    })
  )

  it.effect("a tool that declares a longer grace may take it", () =>
    Effect.gen(function* () {
      const slow = { actions: [], end: { _tag: "Hang" }, cleanUpMs: 3_000 } as const
      const parameters = [{}]
      const found = yield* violation(
        LawCheck.checkErased(ScriptedTool.make(slow).tool, { parameters, allow: ["Endless"] })
      )
      assert.strictEqual(found.law, "Deaf")
      const { tool } = ScriptedTool.make(slow, { clocks: { grace: 4_000 } })
      yield* LawCheck.checkErased(tool, { parameters, allow: ["Endless"] })
    })
  )

  it.effect("says when there is nothing to check with", () =>
    Effect.gen(function* () {
      const none = yield* Effect.flip(LawCheck.checkErased(Strangers.erased, { parameters: [] }))
      assert.instanceOf(none, NoParameters)
      const unfit = yield* Effect.flip(
        Effect.provide(LawCheck.check(Strangers.Counter, { parameters: [{ n: -1 }] }), Strangers.good)
      )
      assert.include(unfit.message, '{"n":-1} does not fit its schema')
      const refused = yield* violation(LawCheck.checkErased(Strangers.erased, { parameters: [{ n: "one" }] }))
      assert.strictEqual(refused.law, "Parameters")
    })
  )

  it.effect("runs on a clock of its own, and leaves the clock of the test alone", () =>
    Effect.gen(function* () {
      const before = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      yield* check(Strangers.good, { runs: 1 })
      assert.strictEqual(yield* Effect.clockWith((clock) => clock.currentTimeMillis), before)
    })
  )

  it.effect("passes every script that keeps the law, and no other", () => {
    const lawful = new Set(["Succeed", "Fail", "Interrupt"])
    return Effect.gen(function* () {
      const scripts = yield* Arbitrary.sampleEffect(Arbitrary.schema(ScriptedTool.Script), { count: 60, size: 4, seed })
      for (const script of scripts) {
        const { tool } = ScriptedTool.make({ ...script, cleanUpMs: 2, late: 0 })
        const exit = yield* Effect.exit(LawCheck.checkErased(tool, { parameters: [{}], steps: 3, seed }))
        const keeps = lawful.has(script.end._tag) && script.actions.every(({ _tag }) => _tag !== "Misfit")
        const sleeps = script.actions.reduce((sum, action) => sum + (action._tag === "Sleep" ? action.ms : 0), 0)
        // A deaf one that is not at it for long is not caught.
        if (script.deaf === true && sleeps > 0) continue
        assert.strictEqual(exit._tag === "Success", keeps, `${JSON.stringify(script)} ${JSON.stringify(exit)}`)
      }
    })
  })
})

/** Messages are for people, and errors are data. */
describe("LawViolation", () => {
  it.effect("goes through JSON", () =>
    Effect.gen(function* () {
      const found = yield* violation(check(Strangers.tools.misfitProgress))
      const codec = Schema.toCodecJson(LawViolation)
      const json = yield* Schema.encodeEffect(codec)(found)
      const back = yield* Schema.decodeUnknownEffect(codec)(JSON.parse(JSON.stringify(json)))
      assert.strictEqual(back.message, found.message)
    })
  )
})
