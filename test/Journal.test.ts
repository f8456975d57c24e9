import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ErasedTool from "../src/ErasedTool.ts"
import * as Journal from "../src/Journal.ts"
import * as Tool from "../src/Tool.ts"
import * as ToolRegistry from "../src/ToolRegistry.ts"
import * as ToolStream from "../src/ToolStream.ts"
import { call, erased, into, runtime, start, succeeds, terminal, terminalEvent } from "./Harness.ts"

const readOnly = (tool: ErasedTool.ErasedTool): ErasedTool.ErasedTool => ({
  ...tool,
  descriptor: { ...tool.descriptor, hints: { ...tool.descriptor.hints, readOnly: true } }
})

const tags = (entries: ReadonlyArray<Journal.Entry>) => entries.map(({ _tag }) => _tag)

const noSpace = new Journal.JournalError({ reason: "NoSpace", detail: "no space left on the device" })

/** Refuses the entries named, as long as it is told to. */
const refusing = (refused: ReadonlyArray<Journal.Entry["_tag"]>) => {
  const kept: Array<Journal.Entry> = []
  const writer: Journal.Writer = {
    progress: "full",
    write: (entry) => (refused.includes(entry._tag) ? Effect.fail(noSpace) : Effect.sync(() => void kept.push(entry)))
  }
  return { kept, writer }
}

describe("Journal", () => {
  it.effect("what changes something starts when that is durable, and what reads only does not wait", () =>
    Effect.gen(function* () {
      for (const [hints, waited] of [
        [false, ["Started", "Terminal"]],
        [true, ["Terminal"]]
      ] as const) {
        const entries: Array<Journal.Entry> = []
        const durable: Array<string> = []
        const gate = yield* Deferred.make<void>()
        let ran = false
        const tool = erased("t", () =>
          ToolStream.fromEffect(
            Effect.sync(() => {
              ran = true
              return []
            })
          )
        )
        const { runtime: running } = yield* runtime(
          { t: hints ? readOnly(tool) : tool },
          {
            journal: {
              progress: "full",
              write: (entry, durability) => {
                entries.push(entry)
                if (durability === "buffered") return Effect.void
                durable.push(entry._tag)
                return Deferred.await(gate)
              }
            }
          }
        )
        const fiber = yield* start(running.events(call("1", "t")))
        assert.deepStrictEqual([ran, fiber.pollUnsafe()], [hints, undefined])
        yield* Deferred.succeed(gate, undefined)
        terminal(yield* Fiber.join(fiber))
        assert.deepStrictEqual(durable, [...waited])
        assert.deepStrictEqual(tags(entries), ["Accepted", "Decoded", "Started", "Terminal"])
      }
    })
  )

  it.effect("a tool that is not compiled into the program only claims to read: its start is durable", () =>
    Effect.gen(function* () {
      const durable: Array<string> = []
      const { registry, runtime: running } = yield* runtime(
        {},
        {
          journal: {
            progress: "full",
            write: (entry, durability) => Effect.sync(() => void (durability === "durable" && durable.push(entry._tag)))
          }
        }
      )
      yield* registry.register(readOnly(erased("t", succeeds)), { origin: "a plugin" })
      terminal(yield* Stream.runCollect(running.events(call("1", "t"))))
      assert.deepStrictEqual(durable, ["Started", "Terminal"])
    })
  )

  it.effect("a journal that takes no call refuses it, before its tool ran", () =>
    Effect.gen(function* () {
      for (const refused of ["Accepted", "Decoded", "Started"] as const) {
        let ran = false
        const { kept, writer } = refusing([refused])
        const { runtime: running } = yield* runtime(
          {
            t: () => {
              ran = true
              return ToolStream.succeed([])
            }
          },
          { journal: writer }
        )
        const events = yield* Stream.runCollect(running.events(call("1", "t")))
        assert.deepStrictEqual(terminal(events), {
          _tag: "Unavailable",
          detail: "the journal takes no calls: no space left on the device"
        })
        assert.isFalse(ran, refused)
        // What has no beginning in it has no end in it.
        assert.strictEqual(tags(kept).includes("Terminal"), refused !== "Accepted")
      }
    })
  )

  it.effect("a terminal that is not kept reaches its reader, and says so", () =>
    Effect.gen(function* () {
      const { writer } = refusing(["Terminal"])
      const { runtime: running } = yield* runtime(
        { t: succeeds, fails: () => ToolStream.fail("no") },
        { journal: writer }
      )
      for (const name of ["t", "fails"]) {
        const { result } = terminalEvent(yield* Stream.runCollect(running.events(call(`e ${name}`, name))))
        const told = result._tag === "Success" ? result.unrecorded : result.error.unrecorded
        assert.strictEqual(told, noSpace.detail)
        const dispatched = yield* Effect.result(ToolStream.runResult(running.dispatch(call(`d ${name}`, name))))
        const said = dispatched._tag === "Success" ? dispatched.success.unrecorded : dispatched.failure.unrecorded
        assert.strictEqual(said, noSpace.detail)
      }
    })
  )

  it.effect("of what is declared as secret there is no trace in it", () =>
    Effect.gen(function* () {
      class Login extends Tool.Service<Login>()("login", {
        description: "Logs in.",
        parameters: { key: Schema.Redacted(Schema.String) },
        progress: Schema.Redacted(Schema.String),
        success: Schema.Struct({ key: Schema.Redacted(Schema.String) }),
        failure: Schema.Struct({ key: Schema.Redacted(Schema.String) })
      }) {}
      const secret = "hunter2 and more"
      const entries: Array<Journal.Entry> = []
      const end = (name: string, fails: boolean) => ({
        ...ErasedTool.fromImplementation(Login, {
          execute: ({ key }) =>
            ToolStream.gen(function* () {
              yield* ToolStream.progress(key)
              if (fails) return yield* Effect.fail({ key })
              return { key }
            })
        }),
        name
      })
      const { runtime: running } = yield* runtime(
        { login: end("login", false), fails: end("fails", true) },
        { journal: into(entries) }
      )
      for (const name of ["login", "fails"]) {
        const made = { ...call(name, name), parameters: { key: secret } }
        const events = yield* Stream.runCollect(running.events(made))
        assert.include(JSON.stringify(terminalEvent(events)), secret, "the caller gets it")
      }
      assert.strictEqual(tags(entries).filter((tag) => tag === "Terminal").length, 2)
      assert.notInclude(JSON.stringify(entries.map(Journal.toJson)), secret)
      const decoded = entries.find((entry) => entry._tag === "Decoded")
      assert.isTrue(decoded?.hidden)
    })
  )

  it.effect("where progress is not kept, how far it has come is, at most once a second", () =>
    Effect.gen(function* () {
      const entries: Array<Journal.Entry> = []
      const { runtime: running } = yield* runtime(
        {
          t: () =>
            ToolStream.gen(function* () {
              for (let i = 0; i < 25; i++) {
                yield* ToolStream.progress(10)
                yield* Effect.sleep(100)
              }
              return []
            })
        },
        { journal: { ...into(entries), progress: "watermark" } }
      )
      const fiber = yield* start(running.events(call("1", "t")))
      yield* TestClock.adjust(3000)
      terminal(yield* Fiber.join(fiber))
      const marks = entries.flatMap((entry) =>
        entry._tag === "Watermark" ? [[entry.seq, entry.emitted, entry.bytes]] : []
      )
      assert.deepStrictEqual(marks, [
        [0, 1, 2],
        [10, 11, 22],
        [20, 21, 42]
      ])
    })
  )

  describe("a call that is made again", () => {
    it.effect("keeps its id, counts on, and is one attempt more", () =>
      Effect.gen(function* () {
        const entries: Array<Journal.Entry> = []
        const tool = readOnly(
          erased("t", () =>
            ToolStream.gen(function* () {
              yield* ToolStream.progress(1)
              return [2]
            })
          )
        )
        const { runtime: running } = yield* runtime({ t: tool }, { journal: into(entries) })
        const events = yield* Stream.runCollect(running.resume(call("1", "t"), { attempt: 2, seq: 5 }))
        assert.deepStrictEqual(
          events.map((event) => (event._tag === "Progress" ? event.seq : event.callId)),
          [5, "1"]
        )
        assert.deepStrictEqual(tags(entries), ["Decoded", "Started", "Progress", "Terminal"])
        const started = entries.find((entry) => entry._tag === "Started")
        assert.deepStrictEqual([started?.attempt, started?.repeatable], [2, true])
      })
    )

    it.effect("is lost where the tool of its name is none to be run twice, or is not there", () =>
      Effect.gen(function* () {
        let ran = false
        const effect = erased("t", () => {
          ran = true
          return ToolStream.succeed([])
        })
        const { registry, runtime: running } = yield* runtime({ t: effect }, { journal: into([]) })
        yield* registry.register(readOnly({ ...effect, name: "foreign" }), { origin: "a plugin" })
        for (const name of ["t", "foreign", "gone"]) {
          const events = yield* Stream.runCollect(running.resume(call(name, name), { attempt: 2, seq: 0 }))
          assert.deepStrictEqual(terminal(events), { _tag: "Lost" }, name)
        }
        assert.isFalse(ran)
        assert.strictEqual(ToolRegistry.program, "the program")
      })
    )
  })
})
