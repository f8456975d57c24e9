import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Permissions from "../../layers/Permissions.ts"
import * as Grants from "../../layers/permissions/Grants.ts"
import type * as Hooks from "../../layers/permissions/Hooks.ts"
import * as LawCheck from "../../layers/testing/LawCheck.ts"
import * as ScriptedTool from "../../layers/testing/ScriptedTool.ts"
import { CurrentClocks } from "../../src/Clocks.ts"
import type * as ErasedTool from "../../src/ErasedTool.ts"
import * as Permission from "../../src/Permission.ts"
import * as Session from "../../src/Session.ts"
import * as ToolContent from "../../src/ToolContent.ts"
import type { PreparedCall } from "../../src/ToolMiddleware.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { call, erased, guarded, start, succeeds, terminal, terminalEvent } from "../Harness.ts"

const guard = (options: Permissions.Options) => Layer.provide(Permissions.layerWith(options), Grants.layerMemory())

const says = (verdict: Permissions.Verdict) => () => Effect.succeed(verdict)

/** Answers, and remembers what was asked. */
const asking = (answer: Permission.Answer, questions: Array<Permission.Question> = []) =>
  Layer.succeed(Permission.Permission, (question: Permission.Question) =>
    Effect.sync(() => {
      questions.push(question)
      return answer
    })
  )
const yes = (extent: Permission.Extent): Permission.Answer => ({ _tag: "Allowed", extent })
const refuses = (why: string): Permission.Answer => ({ _tag: "Denied", by: "Ada", why })
const no: Permission.Answer = { _tag: "Denied", by: "Ada", why: "not today" }

const notPermitted = (by: string, why: string) => ({ _tag: "PermissionDenied", by, why })

/** A tool that reads only. */
const reads: ErasedTool.ErasedTool = {
  ...erased("t", succeeds),
  descriptor: {
    ...erased("t", succeeds).descriptor,
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false }
  }
}

const run = (runtime: Effect.Success<ReturnType<typeof guarded>>, parameters: unknown = {}, name = "t") =>
  Effect.map(Stream.runCollect(runtime.events(call(`${Math.random()}`, name, parameters))), terminal)

describe("Permissions", () => {
  it.effect("law: a rule that denies, a person who says no: by whom and why, and it did not start", () =>
    Effect.gen(function* () {
      let ran = 0
      const tool = () => ToolStream.fromEffect(Effect.sync(() => [++ran]))
      const denied = yield* guarded(
        { t: tool },
        guard({ rules: says({ _tag: "Denied", by: "a rule", why: "deny t" }) })
      )
      assert.deepStrictEqual(yield* run(denied), notPermitted("a rule", "deny t"))
      const refused = yield* guarded({ t: tool }, Layer.provide(guard({}), asking(no)))
      assert.deepStrictEqual(yield* run(refused), notPermitted("Ada", "not today"))
      const nobody = yield* guarded({ t: tool }, guard({}))
      assert.deepStrictEqual(yield* run(nobody), notPermitted("the program", "there is nobody to ask"))
      assert.strictEqual(ran, 0)
    })
  )

  it.effect("what rules allow runs without a question; what they ask for is asked even of a tool that reads", () =>
    Effect.gen(function* () {
      const questions: Array<Permission.Question> = []
      const asks = (options: Permissions.Options) => Layer.provide(guard(options), asking(yes("once"), questions))
      const allowed = yield* guarded({ t: succeeds }, asks({ rules: says({ _tag: "Allowed" }) }))
      assert.deepStrictEqual(yield* run(allowed), [7])
      assert.strictEqual(questions.length, 0)
      const asked = yield* guarded({ t: reads }, asks({ rules: says({ _tag: "Asked", why: ["ask t (rules:1:1)"] }) }))
      assert.deepStrictEqual(yield* run(asked, { n: 3 }), [7])
      assert.deepStrictEqual(
        questions.map(({ text, title, why }) => [title, text, why]),
        [["numbers", "n: 3", ["ask t (rules:1:1)"]]]
      )
    })
  )

  it.effect("hints decide only where rules do not, and only of tools that are compiled in", () =>
    Effect.gen(function* () {
      const runtime = yield* guarded({ reads, writes: succeeds }, guard({}))
      assert.deepStrictEqual(yield* run(runtime, {}, "reads"), [7])
      assert.strictEqual(((yield* run(runtime, {}, "writes")) as { readonly _tag: string })._tag, "PermissionDenied")
      const plugin = yield* guarded({ reads }, guard({}), { origin: "a plugin" })
      assert.strictEqual(((yield* run(plugin, {}, "reads")) as { readonly _tag: string })._tag, "PermissionDenied")
    })
  )

  it.effect(
    "grants: once is once; for the session as long as it; always until it expires; for these parameters alone",
    () =>
      Effect.gen(function* () {
        for (const extent of ["once", "session", "always"] as const) {
          const questions: Array<Permission.Question> = []
          const runtime = yield* guarded({ t: succeeds }, Layer.provide(guard({}), asking(yes(extent), questions)))
          const inSession = (parameters: unknown) =>
            Effect.flatMap(Session.make({ workspace: "/" }), (session) => {
              const one = Effect.provideService(run(runtime, parameters), Session.CurrentSession, session)
              return Effect.andThen(one, one)
            })
          yield* Effect.scoped(inSession({ n: 1 }))
          assert.strictEqual(questions.length, extent === "once" ? 2 : 1, extent)
          yield* Effect.scoped(inSession({ n: 2 }))
          assert.strictEqual(questions.length, extent === "once" ? 4 : 2, "other parameters are asked for")
          yield* Effect.scoped(inSession({ n: 1 }))
          assert.strictEqual(questions.length, { once: 6, session: 3, always: 2 }[extent], "in another session")
          yield* TestClock.adjust("31 days")
          yield* Effect.scoped(inSession({ n: 1 }))
          assert.strictEqual(questions.length, { once: 8, session: 4, always: 3 }[extent], "later")
        }
      })
  )

  it.effect("a grant does not hold in another workspace: the same words run another program there", () =>
    Effect.gen(function* () {
      const questions: Array<Permission.Question> = []
      const runtime = yield* guarded({ t: succeeds }, Layer.provide(guard({}), asking(yes("always"), questions)))
      for (const [workspace, asked] of [
        ["/trusted", 1],
        ["/stranger", 2]
      ] as const) {
        const session = yield* Session.make({ workspace })
        const one = Effect.provideService(run(runtime, { n: 1 }), Session.CurrentSession, session)
        yield* Effect.andThen(one, one)
        assert.strictEqual(questions.length, asked, workspace)
      }
    })
  )

  it.effect(
    "law: nobody answers, or the call is cancelled at the question: it did not start, the question is withdrawn",
    () =>
      Effect.gen(function* () {
        yield* TestClock.adjust(0)
        let withdrawn = 0
        const never = Layer.succeed(Permission.Permission, () =>
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => void withdrawn++))
        )
        const { cancel, events, inFlight } = yield* guarded({ t: succeeds }, Layer.provide(guard({}), never))
        const timed = yield* start(Stream.provideService(events(call("1")), CurrentClocks, { approval: 50 }))
        const cancelled = yield* start(events(call("2")))
        yield* TestClock.adjust(0)
        // The hash of the parameters is made in the real world.
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20)))
        assert.deepStrictEqual(
          (yield* inFlight).map(({ phase, waitsFor }) => [phase, waitsFor?.stage]),
          [
            ["waiting", "approval"],
            ["waiting", "approval"]
          ]
        )
        yield* cancel("2", "user")
        assert.deepStrictEqual(terminal(yield* Fiber.join(cancelled)), {
          _tag: "Interrupted",
          why: "user",
          phase: "not-started"
        })
        yield* TestClock.adjust(50)
        assert.deepStrictEqual(terminal(yield* Fiber.join(timed)), {
          _tag: "TimedOut",
          clock: "approval",
          limitMs: 50,
          phase: "not-started"
        })
        assert.strictEqual(withdrawn, 2)
      })
  )

  describe("grants by pattern", () => {
    const rules = (pattern: string | undefined, covers: ReadonlyArray<number>): Permissions.Judge => {
      return ({ parameters }, granted) =>
        Effect.succeed(
          granted.includes("t(few)") && covers.includes((parameters as { readonly n: number }).n)
            ? { _tag: "Allowed" }
            : { _tag: "Undecided", why: [], pattern }
        )
    }
    const runtime = (answer: Permission.Answer, questions: Array<Permission.Question>, pattern?: string) =>
      guarded(
        { t: succeeds, u: succeeds },
        Layer.provide(guard({ rules: rules(pattern, [1, 2]) }), asking(answer, questions))
      )
    const grants = (extent: Permission.Extent): Permission.Answer => ({ _tag: "Allowed", extent, pattern: "t(few)" })

    it.effect("hold for what the pattern covers, of this tool in this workspace, as long as they are granted for", () =>
      Effect.gen(function* () {
        for (const extent of ["once", "session", "always"] as const) {
          const questions: Array<Permission.Question> = []
          const { events } = yield* runtime(grants(extent), questions, "t(few)")
          const inSession = (workspace: string, ...calls: ReadonlyArray<readonly [tool: string, n: number]>) =>
            Effect.scoped(
              Effect.flatMap(Session.make({ workspace }), (session) =>
                Effect.forEach(calls, ([name, n]) =>
                  Effect.provideService(
                    Stream.runDrain(events(call(`${Math.random()}`, name, { n }))),
                    Session.CurrentSession,
                    session
                  )
                )
              )
            )
          const asked: Array<number> = []
          const ask = (...calls: Parameters<typeof inSession>) =>
            Effect.andThen(
              inSession(...calls),
              Effect.sync(() => asked.push(questions.splice(0).length))
            )
          yield* ask("/ws", ["t", 1], ["t", 2], ["t", 1])
          yield* ask("/ws", ["t", 1], ["t", 3], ["t", 3], ["u", 1])
          yield* ask("/other", ["t", 1])
          yield* TestClock.adjust("31 days")
          yield* ask("/ws", ["t", 2])
          assert.deepStrictEqual(
            asked,
            { once: [3, 4, 1, 1], session: [1, 4, 1, 1], always: [1, 3, 1, 1] }[extent],
            extent
          )
        }
      })
    )

    it.effect("show the pattern; one that was not shown is granted to nobody", () =>
      Effect.gen(function* () {
        for (const shown of [undefined, "t(one)"]) {
          const questions: Array<Permission.Question> = []
          const one = yield* runtime(grants("always"), questions, shown)
          for (let i = 0; i < 2; i++) assert.deepStrictEqual(yield* run(one, { n: 1 }), [7])
          assert.deepStrictEqual(
            questions.map(({ pattern }) => pattern),
            [shown, shown]
          )
        }
      })
    )

    it.effect("are not asked about where a rule asks", () =>
      Effect.gen(function* () {
        const questions: Array<Permission.Question> = []
        const rules = says({ _tag: "Asked", why: ["ask t"] })
        const one = yield* guarded(
          { t: succeeds },
          Layer.provide(guard({ rules }), asking(grants("always"), questions))
        )
        for (let i = 0; i < 2; i++) yield* run(one)
        assert.deepStrictEqual(
          questions.map(({ pattern }) => pattern),
          [undefined, undefined]
        )
      })
    )
  })

  it.effect("100 approvals answered out of order reach their own calls", () =>
    Effect.gen(function* () {
      const waiting = new Map<string, Deferred.Deferred<Permission.Answer>>()
      const asks = Layer.succeed(Permission.Permission, ({ call, pattern }: Permission.Question) =>
        Effect.suspend(() => {
          assert.strictEqual(pattern, `t(${call.callId})`)
          const answer = Deferred.makeUnsafe<Permission.Answer>()
          waiting.set(call.callId, answer)
          return Deferred.await(answer)
        })
      )
      const echo = erased("t", ({ n }) => ToolStream.succeed([n ?? 0]))
      // Hooks that answer in their own time, and not in the order in which they were asked.
      const before: Hooks.Before = {
        name: "slow",
        ask: ({ call }) =>
          Effect.as(
            Effect.promise(() => new Promise((resolve) => setTimeout(resolve, Number(call.callId) % 7))),
            { _tag: "Nothing" }
          )
      }
      const rules: Permissions.Judge = ({ call }) =>
        Effect.succeed({ _tag: "Undecided", why: [], pattern: `t(${call.callId})` })
      const { events } = yield* guarded({ t: echo }, Layer.provide(guard({ before: [before], rules }), asks))
      const fibers = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, n) => n),
        (n) => start(events(call(`${n}`, "t", { n })))
      )
      yield* Effect.promise(async () => {
        while (waiting.size < 100) await new Promise((resolve) => setTimeout(resolve, 1))
      })
      // 37 and 100 have no common divisor: every one of them, in another order.
      for (let i = 0; i < 100; i++) {
        const n = (i * 37) % 100
        const answer: Permission.Answer =
          n % 3 === 0
            ? refuses(`${n}`)
            : n % 3 === 1
              ? yes("once")
              : { _tag: "Allowed", extent: "session", pattern: `t(${n})` }
        yield* Deferred.succeed(waiting.get(`${n}`)!, answer)
      }
      const ended = yield* Effect.forEach(fibers, (fiber) => Effect.map(Fiber.join(fiber), terminal))
      assert.deepStrictEqual(
        ended,
        Array.from({ length: 100 }, (_, n) => (n % 3 === 0 ? notPermitted("Ada", `${n}`) : [n]))
      )
    })
  )

  describe("hooks", () => {
    const hook = (name: string, ask: Hooks.Before["ask"]): Hooks.Before => ({ name, ask })
    const seen: Array<unknown> = []
    const echo = erased("t", ({ n }) => ToolStream.succeed([n ?? 0]))
    const with_ = (options: Permissions.Options) => guarded({ t: echo }, Layer.provide(guard(options), asking(no)))

    it.effect("go before rules, in their order; the first that allows or denies decides", () =>
      Effect.gen(function* () {
        const allow = hook("one", () => Effect.succeed({ _tag: "Allow" }))
        const deny = hook("two", () => Effect.succeed({ _tag: "Deny", why: "no" }))
        const rules = says({ _tag: "Denied", by: "a rule", why: "deny" })
        assert.deepStrictEqual(yield* run(yield* with_({ before: [allow, deny], rules })), [0])
        assert.deepStrictEqual(yield* run(yield* with_({ before: [deny, allow] })), notPermitted("the hook two", "no"))
      })
    )

    it.effect("one that rewrites has the parameters decoded again; rules, hash and tool see the new ones", () =>
      Effect.gen(function* () {
        const rewrite = (parameters: unknown) => hook("rewrites", () => Effect.succeed({ _tag: "Rewrite", parameters }))
        const rules = (prepared: PreparedCall) =>
          Effect.map(prepared.parametersHash, (hash): Permissions.Verdict => {
            seen.push(prepared.parameters, hash)
            return { _tag: "Allowed" }
          })
        assert.deepStrictEqual(yield* run(yield* with_({ before: [rewrite({ n: 5 })], rules }), { n: 1 }), [5])
        assert.deepStrictEqual(yield* run(yield* with_({ rules }), { n: 5 }), [5])
        assert.deepStrictEqual(seen[0], { n: 5 })
        assert.strictEqual(seen[1], seen[3], "the hash is that of the new parameters")
        const bad = yield* run(yield* with_({ before: [rewrite({ n: "five" })], rules }))
        assert.match(JSON.stringify(bad), /"PermissionDenied","by":"the hook rewrites".*do not fit/)
      })
    )

    it.effect("one that fails denies; one that fails afterwards changes nothing", () =>
      Effect.gen(function* () {
        const rules = says({ _tag: "Allowed" })
        for (const ask of [
          () => Effect.fail("x"),
          () => Effect.die("x"),
          (): never => {
            throw new Error("x")
          }
        ]) {
          const ended = yield* run(yield* with_({ before: [hook("breaks", ask)], rules }))
          assert.match(JSON.stringify(ended), /"PermissionDenied","by":"the hook breaks"/)
        }
        const after = [
          { name: "breaks", tell: () => Effect.die("x") },
          { name: "adds", tell: () => Effect.succeed([ToolContent.text("by the way")]) }
        ]
        const { events } = yield* with_({ after, rules })
        const { result } = terminalEvent(yield* Stream.runCollect(events(call("1"))))
        assert.deepStrictEqual(
          result._tag === "Success" && result.content.map((item) => item.type === "text" && item.text),
          ["[0]", "by the way"]
        )
      })
    )
  })

  it.effect.prop(
    "the law holds with denials at random",
    { denies: Schema.Array(Schema.Boolean).check(Schema.isMaxLength(6)) },
    ({ denies }) =>
      Effect.gen(function* () {
        let n = 0
        const rules = () =>
          Effect.suspend(() =>
            Effect.succeed<Permissions.Verdict>(
              denies[n++ % 7] === true ? { _tag: "Denied", by: "chance", why: "" } : { _tag: "Allowed" }
            )
          )
        const { tool } = ScriptedTool.make({
          actions: [
            { _tag: "Emit", value: 1 },
            { _tag: "Sleep", ms: 3 },
            { _tag: "Emit", value: 2 }
          ],
          end: { _tag: "Succeed", value: 0 }
        })
        yield* LawCheck.checkErased(tool, {
          parameters: [{}],
          steps: 2,
          runtime: ToolRuntime.layerWith({ grace: 1000 }).pipe(Layer.provide(guard({ rules })))
        })
      }),
    { arbitrary: { runs: 10 } }
  )
})
