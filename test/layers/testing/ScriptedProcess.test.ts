import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ScriptedProcess from "../../../layers/testing/ScriptedProcess.ts"
import * as VirtualClock from "../../../layers/testing/VirtualClock.ts"
import { Processes, SpawnFailed } from "../../../src/Processes.ts"

const command = { program: "x", args: [] }

const write = (output: string, stream: "stdout" | "stderr" = "stdout") => ({ _tag: "Write", stream, output }) as const

/** Starts the script in a scope of its own. */
const spawn = Effect.fnUntraced(function* (script: ScriptedProcess.Script | SpawnFailed) {
  const log: Array<ScriptedProcess.Spawned> = []
  const scope = yield* Scope.make()
  const process = yield* Effect.flatMap(Processes, ({ spawn }) => spawn(command)).pipe(
    Effect.provide(ScriptedProcess.layer(() => script, log)),
    Scope.provide(scope)
  )
  return { process, log, close: Scope.close(scope, Exit.void), clock: yield* VirtualClock.VirtualClock }
})

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

describe("ScriptedProcess", () => {
  it.effect("writes and exits in the time of the clock; output ends after the exit, when it was read", () =>
    Effect.gen(function* () {
      const { clock, process } = yield* spawn({
        actions: [write("a"), { _tag: "Sleep", ms: 50 }, write("b", "stderr")],
        exit: { _tag: "Exited", code: 3 }
      })
      const seen: Array<unknown> = []
      yield* fork(
        Effect.andThen(
          Stream.runForEach(process.output, ({ bytes, stream }) =>
            Effect.map(Clock.currentTimeMillis, (at) => void seen.push([at, stream, decode(bytes)]))
          ),
          Effect.sync(() => seen.push("end"))
        )
      )
      yield* clock.settle()
      assert.deepStrictEqual(seen, [[0, "stdout", "a"], [50, "stderr", "b"], "end"])
      assert.deepStrictEqual(yield* process.exit, { _tag: "Exited", code: 3 })
      assert.deepStrictEqual(yield* process.sweep, [])
    }).pipe(Effect.provide(VirtualClock.layer))
  )

  it.effect("is held up by output that nobody pulls, and overwrites what was pulled", () =>
    Effect.gen(function* () {
      const { clock, log, process } = yield* spawn(ScriptedProcess.exits(0, "a", "b", "c"))
      yield* clock.settle()
      assert.strictEqual(log[0]?.done, 1)
      assert.isUndefined(log[0]?.status)
      const chunks: Array<Uint8Array> = []
      yield* fork(Stream.runForEach(process.output, ({ bytes }) => Effect.sync(() => void chunks.push(bytes))))
      yield* clock.settle()
      assert.deepStrictEqual(log[0]?.status, { _tag: "Exited", code: 0 })
      assert.deepStrictEqual(chunks.map(decode), ["\0", "\0", "\0"])
    }).pipe(Effect.provide(VirtualClock.layer))
  )

  it.effect("ends when its scope closes: by SIGTERM, or by SIGKILL after 2 seconds", () =>
    Effect.gen(function* () {
      for (const [termMs, signal, at] of [
        [0, "SIGTERM", 0],
        [500, "SIGTERM", 500],
        [9_000, "SIGKILL", 2_000]
      ] as const) {
        const { clock, close, log, process } = yield* spawn({ actions: [write("a"), write("b")], termMs })
        const before = yield* clock.now
        const closing = yield* fork(close)
        assert.strictEqual(yield* clock.settle({ until: () => closing.pollUnsafe() !== undefined }), "Done")
        assert.strictEqual((yield* clock.now) - before, at)
        assert.deepStrictEqual(log[0]?.status, { _tag: "Signalled", signal })
        assert.deepStrictEqual(yield* process.exit, { _tag: "Signalled", signal })
      }
    }).pipe(Effect.provide(VirtualClock.layer))
  )

  it.effect("tells what was left behind, every time it is asked", () =>
    Effect.gen(function* () {
      const leftBehind = [{ pid: 7, name: "sleep", fate: "terminated" }] as const
      const { clock, process } = yield* spawn({ ...ScriptedProcess.exits(0), leftBehind })
      yield* clock.settle()
      assert.deepStrictEqual([yield* process.sweep, yield* process.sweep], [leftBehind, leftBehind])
    }).pipe(Effect.provide(VirtualClock.layer))
  )

  it.effect("may refuse to be started", () =>
    Effect.gen(function* () {
      const refusal = new SpawnFailed({ reason: "ProgramNotFound", message: "x was not found" })
      assert.strictEqual(yield* Effect.flip(spawn(refusal)), refusal)
    }).pipe(Effect.provide(VirtualClock.layer))
  )
})
