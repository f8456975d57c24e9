import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Prompt from "../../../layers/cli/Prompt.ts"
import * as TerminalLines from "../../../layers/cli/TerminalLines.ts"
import { StandardStreams } from "../../../layers/node/StandardStreams.ts"
import { Questions } from "../../../src/Questions.ts"
import { Permission, type Question } from "../../../src/Permission.ts"

const question = (id: string, pattern?: string): Question => ({
  call: { callId: id, sessionId: "1", externalId: id, name: "bash", parameters: {} },
  title: "Run a shell command",
  text: `echo ${id}`,
  why: ["no rule allows it"],
  parametersHash: "",
  pattern
})

/** Somebody who types, and sees what is said. */
const terminal = Effect.gen(function* () {
  const typed = yield* Queue.unbounded<Uint8Array, "ended">()
  const said: Array<string> = []
  const streams = Layer.succeed(
    StandardStreams,
    StandardStreams.of({ write: () => Effect.void, talk: (text) => Effect.sync(() => void said.push(text)) })
  )
  const stdin = Stream.orDie(Stream.fromQueue(typed).pipe(Stream.catch(() => Stream.empty)))
  const context = yield* Layer.build(
    Layer.provide(Layer.merge(Prompt.layer, Prompt.questions), [
      streams,
      Layer.provide(TerminalLines.layer, Stdio.layerTest({ stdin }))
    ])
  )
  const ask = (id: string, pattern?: string) =>
    Effect.forkChild(Effect.flatMap(Effect.provideContext(Permission, context), (ask) => ask(question(id, pattern))))
  const wonder = (text: string, options: ReadonlyArray<string>) =>
    Effect.forkChild(
      Effect.flatMap(Effect.provideContext(Questions, context), (ask) => {
        assert(ask !== undefined)
        return ask({ call: question("1").call, text, options })
      })
    )
  const type = (text: string) => Queue.offer(typed, new TextEncoder().encode(text))
  const until = (holds: (said: string) => boolean) =>
    Effect.promise(async () => {
      while (!holds(said.join(""))) await new Promise((resolve) => setTimeout(resolve, 1))
    })
  return { ask, wonder, type, until, said, end: Queue.fail(typed, "ended") }
})

describe("Prompt", () => {
  it.live("understands what is answered, and asks again what it does not", () =>
    Effect.gen(function* () {
      const { ask, said, type, until } = yield* terminal
      const answers: Array<unknown> = []
      for (const [n, lines] of [["y\n"], ["S\n"], ["always\n"], ["n\n"], ["maybe\n", "no: too early\n"]].entries()) {
        const fiber = yield* ask(`call ${n}`)
        yield* until((said) => said.includes(`echo call ${n}\n`))
        for (const line of lines) yield* type(line)
        answers.push(yield* Fiber.join(fiber))
      }
      assert.deepStrictEqual(answers, [
        { _tag: "Allowed", extent: "once" },
        { _tag: "Allowed", extent: "session" },
        { _tag: "Allowed", extent: "always" },
        { _tag: "Denied", by: "the user", why: "no reason was given" },
        { _tag: "Denied", by: "the user", why: "too early" }
      ])
      assert.include(said.join(""), "no rule allows it")
    })
  )

  it.live("shows a pattern that can be granted, and takes none that was not shown", () =>
    Effect.gen(function* () {
      const { ask, said, type, until } = yield* terminal
      const pattern = "bash(echo *)"
      for (const [answer, extent] of [
        ["sp", "session"],
        ["AP", "always"]
      ] as const) {
        const fiber = yield* ask(answer, pattern)
        yield* until((said) => said.includes(`echo ${answer}\n`) && said.includes(`all that is ${pattern}`))
        yield* type(`${answer}\n`)
        assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Allowed", extent, pattern })
      }
      said.length = 0
      const fiber = yield* ask("without")
      yield* until((said) => said.includes("echo without\n"))
      yield* type("ap\n")
      yield* until((said) => said.includes("y, s, a, or n and a reason: "))
      assert.notInclude(said.join(""), "all that is")
      yield* type("y\n")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Allowed", extent: "once" })
    })
  )

  it.live("asks one after another; who is interrupted is no longer asked, and the next one is", () =>
    Effect.gen(function* () {
      const { ask, said, type, until } = yield* terminal
      const first = yield* ask("first")
      yield* until((said) => said.includes("echo first\n"))
      const second = yield* ask("second")
      yield* Effect.sleep(5)
      assert.notInclude(said.join(""), "echo second")
      yield* Fiber.interrupt(first)
      yield* until((said) => said.includes("echo second\n"))
      assert.include(said.join(""), "(no longer asked)")
      yield* type("y\n")
      assert.deepStrictEqual(yield* Fiber.join(second), { _tag: "Allowed", extent: "once" })
    })
  )

  it.live("the end of the input is a no", () =>
    Effect.gen(function* () {
      const { ask, end, until } = yield* terminal
      const fiber = yield* ask("first")
      yield* until((said) => said.includes("echo first\n"))
      yield* end
      assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Denied", by: "the user", why: "the input has ended" })
    })
  )

  it.live("asks what a tool wants to know, after what was asked before", () =>
    Effect.gen(function* () {
      const { ask, end, said, type, until, wonder } = yield* terminal
      const first = yield* ask("call 1")
      yield* until((said) => said.includes("echo call 1\n"))
      const choice = yield* wonder("Tabs?\u001b[2J", ["tabs", "spaces"])
      assert.notInclude(said.join(""), "Tabs?")
      yield* type("y\n")
      yield* Fiber.join(first)
      yield* until((said) => said.includes("Tabs?"))
      assert.notInclude(said.join(""), "\u001b")
      yield* type("3\n\n2\n")
      assert.deepStrictEqual(yield* Fiber.join(choice), { _tag: "Chosen", option: "spaces" })
      const other = yield* wonder("Which?", ["a", "b"])
      yield* until((said) => said.includes("Which?"))
      yield* type("neither of them\n")
      assert.deepStrictEqual(yield* Fiber.join(other), { _tag: "Written", text: "neither of them" })
      const free = yield* wonder("Why?", [])
      yield* until((said) => said.includes("Why?"))
      yield* type("42\n")
      assert.deepStrictEqual(yield* Fiber.join(free), { _tag: "Written", text: "42" })
      const last = yield* wonder("Still there?", [])
      yield* until((said) => said.includes("Still there?"))
      yield* end
      assert.deepStrictEqual(yield* Fiber.join(last), { _tag: "Declined", why: "the input has ended" })
    })
  )
})
