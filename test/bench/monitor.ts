/**
 * Lines of a process as events, at an unlimited rate, beside the loop that splits the same output and counts. Time is
 * that of the whole command, by line, and nothing is kept of the output: both start a process and read its pipe, so that what they share is in both.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Processes from "../../layers/node/Processes.ts"
import * as Re2 from "../../layers/Re2.ts"
import * as Session from "../../src/Session.ts"
import * as Spill from "../../src/Spill.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Monitor from "../../tools/Monitor.ts"
import { compare, type Comparison, type Contender, race } from "./race.ts"

const ours = "lines through monitor at an unlimited rate, dispatched"
const theirs = "a loop that splits what a raw spawn gives"

export const comparisons: ReadonlyArray<Comparison> = [
  { id: "monitor.lines.vs-split", ours, theirs, unit: "ns/item", floor: 0.3, goal: 0.8 }
]

/** Enough to hide the start of bash. */
const lines = 200_000

/** As long as lines of logs are. */
const lineOf = (n: number) =>
  `2026-01-01T00:00:00.000Z INFO  request ${n} GET /items/${n % 977} done in ${n % 53} ms, 200\n`

const check = (seen: number) => {
  if (seen !== lines) throw new Error(`saw ${seen} of ${lines} lines`)
}

const split = (command: string) =>
  new Promise<void>((resolve, reject) => {
    const child = child_process.spawn("bash", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] })
    let rest = ""
    let seen = 0
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (chunk: string) => {
      const parts = (rest + chunk).split("\n")
      rest = parts.pop()!
      for (const line of parts) if (line !== "") seen++
    })
    child.once("error", reject)
    child.once("close", () => {
      if (seen === lines) resolve()
      else reject(new Error(`saw ${seen} of ${lines} lines`))
    })
  })

const live = (workspace: string) =>
  ToolRuntime.layer.pipe(
    Layer.provide(ToolRegistry.layer(Monitor.Monitor)),
    Layer.provide(Monitor.layer),
    Layer.provide([Processes.layer, Re2.layer, Spill.layerOff]),
    Layer.provideMerge(Session.layer({ workspace }))
  )

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "bench-monitor-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

export const measure = (rounds: number) =>
  Effect.gen(function* () {
    const workspace = yield* temporary
    fs.writeFileSync(path.join(workspace, "log"), Array.from({ length: lines }, (_, n) => lineOf(n)).join(""))
    const command = `cat ${path.join(workspace, "log")}`
    const context = yield* Layer.build(live(workspace))
    const run = Effect.runPromiseWith(context)
    const parameters = { command, maxEventsPerSecond: 0 }
    const monitor: Contender = {
      name: ours,
      units: lines,
      run: async (n) => {
        for (let i = 0; i < n; i++) {
          let seen = 0
          await run(
            Effect.gen(function* () {
              const runtime = yield* ToolRuntime.ToolRuntime
              const call = yield* ToolCall.make({ name: "monitor", parameters })
              yield* ToolStream.runForEachArray(runtime.dispatch(call), (chunk) => {
                seen += chunk.length
                return Effect.void
              })
            })
          )
          check(seen)
        }
      }
    }
    const raw: Contender = {
      name: theirs,
      units: lines,
      run: async (n) => {
        for (let i = 0; i < n; i++) await split(command)
      }
    }
    return yield* Effect.promise(async () => compare(await race([monitor, raw], { rounds }), comparisons))
  }).pipe(Effect.scoped, Effect.runPromise)
