import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as TailedOutput from "../../../../layers/node/internal/TailedOutput.ts"

const megabyte = 2 ** 20

/** Runs a command that writes to the output. */
const run = (output: TailedOutput.TailedOutput, command: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("sh", ["-c", `exec ${command}`], { stdio: ["ignore", output.fd, "ignore"] })
      output.attach({ signal: (signal) => child.kill(signal) }, 25)
      child.once("exit", () => output.end())
      return child
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const readAll = (output: TailedOutput.TailedOutput) =>
  Effect.gen(function* () {
    let total = 0
    for (;;) {
      const bytes = output.read()
      if (bytes !== undefined) total += bytes.length
      else if (output.finished) return total
      else yield* output.more
    }
  })

const state = (pid: number): string => fs.readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "")[0]!

describe("TailedOutput", () => {
  it.live("gives all that is written, in the order it is written, and has no name", () =>
    Effect.gen(function* () {
      const output = yield* TailedOutput.open
      assert.match(fs.readlinkSync(`/proc/self/fd/${output.fd}`), / \(deleted\)$/)
      yield* run(output, "seq 1 200000")
      let text = ""
      for (;;) {
        const bytes = output.read()
        if (bytes !== undefined) text += Buffer.from(bytes).toString()
        else if (output.finished) break
        else yield* output.more
      }
      assert.strictEqual(text, Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join(""))
    })
  )

  it.live("stops a writer that nobody reads from, and loses nothing when somebody does", () =>
    Effect.gen(function* () {
      const output = yield* TailedOutput.open
      const child = yield* run(output, `head -c ${300 * megabyte} /dev/zero`)
      yield* Effect.repeat(
        Effect.sync(() => state(child.pid!)),
        { until: (state) => state === "T" || state === "Z" }
      )
      assert.isAbove(fs.fstatSync(output.fd).size, 32 * megabyte)
      assert.strictEqual(yield* readAll(output), 300 * megabyte)
    })
  )

  it.live("stops a writer again that the reader of its other output let go on", () =>
    Effect.gen(function* () {
      const output = yield* TailedOutput.open
      const child = yield* run(output, `head -c ${600 * megabyte} /dev/zero`)
      const until = (states: string) =>
        Effect.repeat(
          Effect.sync(() => state(child.pid!)),
          { until: (state) => states.includes(state) }
        )
      assert.strictEqual(yield* until("TZ"), "T")
      const { size } = fs.fstatSync(output.fd)
      child.kill("SIGCONT")
      yield* Effect.repeat(
        Effect.sync(() => fs.fstatSync(output.fd).size),
        { until: (now) => now > size }
      )
      assert.strictEqual(yield* until("TZ"), "T")
    })
  )

  it.live("is closed with its scope, also while the writer is stopped", () =>
    Effect.gen(function* () {
      const before = fs.readdirSync("/proc/self/fd").length
      yield* Effect.scoped(
        Effect.gen(function* () {
          const output = yield* TailedOutput.open
          const child = yield* run(output, "cat /dev/zero")
          yield* Effect.repeat(
            Effect.sync(() => state(child.pid!)),
            { until: (state) => state === "T" }
          )
        })
      )
      assert.strictEqual(fs.readdirSync("/proc/self/fd").length, before)
    })
  )
})
