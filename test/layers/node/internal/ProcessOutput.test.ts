import { assert, describe, it } from "@effect/vitest"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Stream from "effect/Stream"
import { PassThrough } from "node:stream"
import { ProcessOutput } from "../../../../layers/node/internal/ProcessOutput.ts"
import { type ExitStatus, Processes } from "../../../../src/Processes.ts"
import * as Spill from "../../../../src/Spill.ts"
import * as ToolCall from "../../../../src/ToolCall.ts"
import * as ToolRegistry from "../../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../../src/ToolStream.ts"
import * as Bash from "../../../../tools/bash/Bash.ts"

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

const outputOf = (stdout: PassThrough, stderr: PassThrough) => new ProcessOutput(stdout, stderr, () => false)

/** Does something before every operation of a fiber. */
class Interposed extends Scheduler.MixedScheduler {
  private readonly between: () => void
  constructor(between: () => void) {
    super()
    this.between = between
  }
  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    this.between()
    return super.shouldYield(fiber)
  }
}

/** A runtime whose commands write what a test writes, and never exit. */
const scripted = (stdout: PassThrough, stderr: PassThrough) =>
  ToolRuntime.layer.pipe(
    Layer.provide(ToolRegistry.layer(Bash.Bash)),
    Layer.provide(Bash.layer),
    Layer.provide(
      Layer.sync(Processes, () => ({
        leftovers: [],
        spawn: () =>
          Effect.succeed({
            pid: 0,
            output: Stream.fromPull(Effect.succeed(outputOf(stdout, stderr).pull)),
            exit: Effect.never as Effect.Effect<ExitStatus>,
            sweep: Effect.succeed([]),
            withheld: []
          })
      }))
    ),
    Layer.provide(Spill.layerOff)
  )

describe("ProcessOutput", () => {
  type Dispatched = ReturnType<ToolRuntime.ToolRuntime["Service"]["dispatch"]>
  type See = (chunk: ReadonlyArray<unknown>) => Effect.Effect<void>
  const readers = {
    drains: (stream: Dispatched, see: See) => Effect.asVoid(ToolStream.runForEachArray(stream, see)),
    pulls: (stream: Dispatched, see: See) => Effect.asVoid(Channel.runForEach(stream, see))
  }
  for (const [reads, readWith] of Object.entries(readers))
    it.live(`what is read is with a reader that ${reads} before the read returns`, () =>
      Effect.gen(function* () {
        const [stdout, stderr] = [new PassThrough(), new PassThrough()]
        const { dispatch } = yield* Effect.provide(
          ToolRuntime.ToolRuntime,
          yield* Layer.build(scripted(stdout, stderr))
        )
        const call = yield* ToolCall.make({ name: "bash", parameters: { command: "scripted" } })
        const seen: Array<unknown> = []
        const reader = yield* Effect.forkChild(
          readWith(dispatch(call), (chunk) => Effect.sync(() => void seen.push(...chunk)))
        )
        for (let wait = 0; wait < 10; wait++) yield* turn
        const expected: Array<unknown> = []
        for (let n = 0; n < 200; n++) {
          const [stream, source] = n % 3 === 0 ? (["stderr", stderr] as const) : (["stdout", stdout] as const)
          const text = n % 7 === 0 ? `${"long ".repeat(30)}\n` : `line ${n}\n`
          source.emit("data", Buffer.from(text))
          expected.push({ stream, text })
          // Not a turn of the event loop, nor a microtask, lies between.
          assert.strictEqual(seen.length, n + 1)
        }
        assert.deepStrictEqual(seen, expected)
        yield* Fiber.interrupt(reader)
      }).pipe(Effect.scoped)
    )

  it.live("what comes between any two operations of a reader is not forgotten", () =>
    Effect.gen(function* () {
      for (let at = 1; at <= 40; at++) {
        const [stdout, stderr] = [new PassThrough(), new PassThrough()]
        const seen: Array<string> = []
        let operations = 0
        const scheduler = new Interposed(() => {
          if (++operations === at) stdout.emit("data", Buffer.from("between"))
        })
        const reader = yield* Stream.fromPull(Effect.succeed(outputOf(stdout, stderr).pull)).pipe(
          Stream.runForEach(({ bytes }) => Effect.sync(() => void seen.push(Buffer.from(bytes).toString()))),
          Effect.provideService(Scheduler.Scheduler, scheduler),
          Effect.forkChild
        )
        for (let wait = 0; wait < 5; wait++) yield* turn
        // A reader that waits by then does nothing more.
        const expected = operations >= at ? ["between"] : []
        assert.deepStrictEqual(seen, expected, `at operation ${at}`)
        stdout.emit("data", Buffer.from("after"))
        yield* turn
        assert.deepStrictEqual(
          seen.filter((text) => text === "after"),
          ["after"],
          `at operation ${at}`
        )
        yield* Fiber.interrupt(reader)
      }
    })
  )
})
