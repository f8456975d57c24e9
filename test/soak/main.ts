/**
 * Runs many commands through the runtime and `bash`, ends some of them early, and looks whether anything stays.
 * `npm run soak -- --help`
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { parseArgs } from "node:util"
import * as NodeProcesses from "../../layers/node/Processes.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as Bash from "../../tools/bash/Bash.ts"
import { type Plan, plans } from "./plan.ts"
import { leaks, measure, type Residue } from "./residue.ts"

const help = `npm run soak -- [--calls N] [--seed S] [--concurrency C] [--containment LEVEL]

  --calls N            how many calls (2000)
  --seed S             of the calls and of when they end (1)
  --concurrency C      how many at once (8)
  --containment LEVEL  namespace, cgroup, marker, group or best (marker)

Exits 1 if processes, descriptors, timers or listeners are not what they were before, or if memory grows from one half of
the calls to the other.
`

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    concurrency: { type: "string", default: "8" },
    containment: { type: "string", default: "marker" },
    help: { type: "boolean", default: false }
  }
})
if (values.help) {
  process.stdout.write(help)
  process.exit(0)
}
const levels = ["namespace", "cgroup", "marker", "group", "best"] as const
const containment = levels.find((level) => level === values.containment)
const [calls, seed, concurrency] = [values.calls, values.seed, values.concurrency].map(Number) as [
  number,
  number,
  number
]
if (containment === undefined || ![calls, seed, concurrency].every(Number.isInteger)) {
  console.error(help)
  process.exit(1)
}

/** What fills caches and compiles code is no leak: as many are run before the first look. */
const warmUps = Math.max(30, Math.round(calls / 20))

/** Processes that were killed are there until the system has reaped them, in ms. */
const patienceMs = 5_000

const warnings: Array<string> = []
process.on("warning", (warning) => warnings.push(warning.message))

const live = ToolRuntime.layer.pipe(
  Layer.provide(ToolRegistry.layer(Bash.Bash)),
  Layer.provide(Bash.layer),
  Layer.provide(NodeProcesses.layerWith({ containment }))
)

/** Runs one call to its end and says how it ended. */
const call = Effect.fnUntraced(function* ({ cancelAfterMs, parameters }: Plan) {
  const runtime = yield* ToolRuntime.ToolRuntime
  const call = yield* ToolCall.make({ name: "bash", parameters })
  if (cancelAfterMs !== undefined) {
    yield* Effect.forkChild(Effect.delay(runtime.cancel(call.callId, "soak"), cancelAfterMs))
  }
  const terminals: Array<string> = []
  yield* Stream.runForEach(runtime.events(call), (event) =>
    Effect.sync(() => {
      if (event._tag !== "Terminal") return
      terminals.push(event.result._tag === "Success" ? "Success" : event.result.error.reason._tag)
    })
  )
  return terminals.length === 1 ? terminals[0]! : `${terminals.length} terminals`
})

const tally = (names: ReadonlyArray<string>): string =>
  [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => `${length} ${name}`).join(", ")

const expected = new Set(["Success", "ToolFailed", "Interrupted", "TimedOut"])

const settled = (isSettled: (now: Residue) => boolean): Effect.Effect<Residue> => {
  const deadline = performance.now() + patienceMs
  const look: Effect.Effect<Residue> = Effect.suspend(() => {
    const now = measure()
    return isSettled(now) || performance.now() >= deadline ? Effect.succeed(now) : Effect.delay(look, 50)
  })
  return look
}

const program = Effect.gen(function* () {
  const run = (some: ReadonlyArray<Plan>) => Effect.forEach(some, call, { concurrency })
  yield* run(plans(seed + 1, warmUps))
  const isAlone = ({ processes }: Residue) => processes.length === 0
  const before = yield* settled(isAlone)
  const startedAt = performance.now()
  const all = plans(seed, calls)
  const first = yield* run(all.slice(0, calls / 2))
  const half = yield* settled(isAlone)
  const endings = [...first, ...(yield* run(all.slice(calls / 2)))]
  const seconds = (performance.now() - startedAt) / 1000
  const after = yield* settled((now) => leaks(before, half, now).length === 0)
  const stats = yield* (yield* ToolRuntime.ToolRuntime).stats
  return { before, half, after, endings, seconds, stats }
}).pipe(Effect.provide(live))

const { after, before, endings, half, seconds, stats } = await Effect.runPromise(program)

const figure = (name: string, of: (residue: Residue) => string | number) =>
  console.log(
    `  ${name.padEnd(16)}${[before, half, after].map((residue) => String(of(residue)).padStart(10)).join("")}`
  )
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

console.log(`${calls} calls of seed ${seed}, ${concurrency} at once, held by ${containment}: ${seconds.toFixed(1)} s`)
console.log(`  ${tally(endings)}; ${stats.detached} detached\n`)
console.log(`  ${"".padEnd(16)}${["before", "half", "after"].map((name) => name.padStart(10)).join("")}`)
figure("processes", ({ processes }) => processes.length)
figure("descriptors", ({ descriptors }) => descriptors)
figure("resources", ({ resources }) => resources)
figure("listeners", ({ listeners }) => listeners)
figure("heap", ({ heapBytes }) => megabytes(heapBytes))
figure("resident", ({ residentBytes }) => megabytes(residentBytes))

const wrong = [
  ...leaks(before, half, after),
  ...warnings.map((warning) => `warning: ${warning}`),
  ...endings.filter((ending) => !expected.has(ending)).map((ending) => `a call ended with ${ending}`),
  ...(stats.detached > 0 ? [`${stats.detached} calls did not end in their time of grace`] : [])
]
console.log(wrong.length === 0 ? "\nNothing is left." : `\n${wrong.join("\n")}`)
process.exitCode = wrong.length === 0 ? 0 : 1
