/**
 * Commands through `bash`, dispatched, beside raw spawns of the same commands: 1 GiB of text, start and exit of `true`,
 * and the time from a write to the progress that shows it.
 *
 * The text is a file of lines that `cat` writes again and again: as fast as a pipe takes it, and nothing that the tool
 * could take for less than text.
 */
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Processes from "../../layers/node/Processes.ts"
import { CurrentSandbox } from "../../src/Sandbox.ts"
import * as Spill from "../../src/Spill.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Bash from "../../tools/bash/Bash.ts"
import { compare, type Comparison, type Contender, race } from "./race.ts"

const flood = "1 GiB through bash"
const rawFlood = "a raw spawn's 'data' events"
const growth = "what 1 GiB through bash adds to what is resident at rest"
const oneMegabyte = "1 MB"
const started = "start and exit of `true` through bash"
const startedWithin = "start and exit of `true` through bash in a pid namespace"
const startedSandboxed = "start and exit of `true` through bash in a sandbox"
const rawStarted = "a raw spawn of `bash -c true`"
const latency = "the way from a write to its progress through bash"
const rawLatency = "the way from a write to the 'data' of a raw spawn"
const pulledLatency = `${latency}, pulled`
const at99 = (name: string) => `${name}, p99`

const floods: ReadonlyArray<Comparison> = [
  { id: "process.bash-1gib.vs-data", ours: flood, theirs: rawFlood, unit: "ms", floor: 1, goal: 2 },
  {
    id: "process.bash-1gib.growth",
    ours: growth,
    theirs: oneMegabyte,
    unit: "MB",
    floor: 64,
    goal: 40,
    lowerIsBetter: true
  }
]
const starts: ReadonlyArray<Comparison> = [
  {
    id: "process.spawn-true.vs-raw",
    ours: started,
    theirs: rawStarted,
    unit: "ms",
    floor: 1.15,
    goal: 0.4,
    lowerIsBetter: true
  },
  {
    id: "process.spawn-true-namespace.vs-raw",
    ours: startedWithin,
    theirs: rawStarted,
    unit: "ms",
    floor: null,
    lowerIsBetter: true
  },
  {
    id: "process.spawn-true-sandbox.vs-raw",
    ours: startedSandboxed,
    theirs: rawStarted,
    unit: "ms",
    floor: null,
    lowerIsBetter: true
  }
]
const waits: ReadonlyArray<Comparison> = [
  {
    id: "process.latency.vs-raw",
    ours: latency,
    theirs: rawLatency,
    unit: "us",
    floor: 1.5,
    goal: 1,
    lowerIsBetter: true
  },
  {
    id: "process.latency-p99.vs-raw",
    ours: at99(latency),
    theirs: at99(rawLatency),
    unit: "us",
    floor: null,
    lowerIsBetter: true
  },
  {
    id: "process.latency-pulled.vs-raw",
    ours: pulledLatency,
    theirs: rawLatency,
    unit: "us",
    floor: null,
    lowerIsBetter: true
  }
]
export const comparisons = [...floods, ...starts, ...waits]

const bytes = 2 ** 30
const fileBytes = 2 ** 26

/** Each of a process of its own, and seconds. */
const maxGrowthRounds = 5

/** Starts in one sample: a single one is mostly noise. */
const startSampleMs = 60

/** Lines in one sample, and the pause before each, in s: long enough for the reader to sleep. */
const lines = 100
const pauseSeconds = 0.003

/** Says when it is, without starting anything: a clock that is read anew for each line, and a wait for nobody. */
const clock = `exec {never}<> <(:); for i in {1..${lines}}; do read -t ${pauseSeconds} -u $never; echo $EPOCHREALTIME; done`

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "bench-process-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

/** `cat` of a file of lines, as often as it takes. */
const textIn = (folder: string): string => {
  const file = path.join(folder, "text")
  const line = Array.from({ length: 99 }, (_, i) => String.fromCharCode(97 + (i % 26))).join("")
  fs.writeFileSync(file, `${line}\n`.repeat(Math.ceil(fileBytes / 100)).slice(0, fileBytes))
  return `cat ${Array.from({ length: bytes / fileBytes }, () => file).join(" ")}`
}

export const live = (containment: "marker" | "namespace") =>
  ToolRuntime.layer.pipe(
    Layer.provide(ToolRegistry.layer(Bash.Bash)),
    Layer.provide(Bash.layer),
    Layer.provide(Processes.layerWith({ containment })),
    Layer.provide(Spill.layerOff)
  )

type Dispatched = ReturnType<ToolRuntime.ToolRuntime["Service"]["dispatch"]>
type See = (chunk: ReadonlyArray<unknown>) => Effect.Effect<void>

/** How a program reads a call: with a function that is run on what comes. */
const drain = (stream: Dispatched, see: See) => Effect.asVoid(ToolStream.runForEachArray(stream, see))
/** With an operation of its own for each chunk, as a `Channel` or a `Stream` does. */
const pull = (stream: Dispatched, see: See) => Effect.asVoid(Channel.runForEach(stream, see))

/** Runs a command through the runtime; `see` gets each progress. */
export const through = (command: string, see: (text: string) => void, readWith = drain) =>
  Effect.gen(function* () {
    const runtime = yield* ToolRuntime.ToolRuntime
    const call = yield* ToolCall.make({ name: "bash", parameters: { command } })
    yield* readWith(runtime.dispatch(call), (chunk) => {
      for (const { text } of chunk as ReadonlyArray<{ readonly text: string }>) see(text)
      return Effect.void
    })
  })

/** As the tool does. With a socket for its stdin, as is Node's default, bash may take itself for `rshd`'s: it reads ~/.bashrc. */
const spawned = (command: string) =>
  child_process.spawn("bash", ["-c", command], { detached: true, stdio: ["ignore", "pipe", "pipe"] })

/** The same without. */
const raw = (command: string, see: (chunk: Buffer) => void) =>
  new Promise<void>((resolve, reject) => {
    const child = spawned(command)
    child.stdout.on("data", see)
    child.stderr.resume()
    child.once("error", reject).once("close", () => resolve())
  })

export const check = (name: string, seen: number, expected: number) => {
  if (seen !== expected) throw new Error(`${name} saw ${seen} of ${expected}`)
}

/** There is a row less where bubblewrap is not installed. */
const hasSandbox = child_process.spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0

/** `one`, n times, one after another. */
const repeated = (name: string, one: () => Promise<void>): Contender => ({
  name,
  run: async (n) => {
    for (let i = 0; i < n; i++) await one()
  }
})

const quantile = (values: ReadonlyArray<number>, q: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN

/** In a process of its own, see `growth.ts`. */
const growthOf = (command: string, length: number) =>
  new Promise<number>((resolve, reject) => {
    let grown = Number.NaN
    child_process
      .fork(path.join(import.meta.dirname, "growth.ts"), [command, String(length)], { execArgv: ["--expose-gc"] })
      .on("message", (message) => (grown = Number(message)))
      .on("error", reject)
      .on("exit", (code) => (code === 0 ? resolve(grown) : reject(new Error(`growth.ts ended with ${code}`))))
  })

export const measure = (rounds: number) =>
  Effect.gen(function* () {
    const text = textIn(yield* temporary)
    const outside = Effect.runPromiseWith(yield* Layer.build(live("marker")))
    const within = Effect.runPromiseWith(yield* Layer.build(live("namespace")))

    const bashFlood = async () => {
      let seen = 0
      await outside(through(text, (piece) => (seen += piece.length)))
      check(flood, seen, bytes)
    }
    const nodeFlood = async () => {
      let seen = 0
      await raw(text, (chunk) => (seen += chunk.length))
      check(rawFlood, seen, bytes)
    }
    const none = () => {}
    const bashTrue = () => outside(through("true", none))
    const namespaceTrue = () => within(through("true", none))
    const sandboxedTrue = () =>
      outside(Effect.provideService(through("true", none), CurrentSandbox, ["workspace", "no-network"]))
    const nodeTrue = () =>
      new Promise<void>((resolve, reject) => {
        spawned("true")
          .once("error", reject)
          .once("exit", () => resolve())
      })

    const now = () => (performance.timeOrigin + performance.now()) * 1e6
    /** The ns from each write to its reader. */
    const latencyOf = async (run: (see: (text: string) => void) => Promise<void>): Promise<ReadonlyArray<number>> => {
      const times: Array<number> = []
      await run((text) => {
        const at = now()
        // Of several in one piece the last is the one that was just written.
        const written = text.trim().split("\n").at(-1)
        if (written !== undefined && written !== "") times.push(at - Number(written.replace(",", ".")) * 1e9)
      })
      return times
    }
    const sides: ReadonlyArray<readonly [name: string, run: (see: (text: string) => void) => Promise<void>]> = [
      [latency, (see) => outside(through(clock, see))],
      [rawLatency, (see) => raw(clock, (chunk) => see(chunk.toString()))],
      [pulledLatency, (see) => outside(through(clock, see, pull))]
    ]

    return yield* Effect.promise(async () => {
      // First: a fork takes the longer the more memory its parent has.
      const contenders = [
        repeated(started, bashTrue),
        repeated(startedWithin, namespaceTrue),
        ...(hasSandbox ? [repeated(startedSandboxed, sandboxedTrue)] : []),
        repeated(rawStarted, nodeTrue)
      ]
      const startedUp = await race(contenders, { rounds: rounds * 3, sampleMs: startSampleMs })

      const grown: Array<number> = []
      for (let round = 0; round < Math.min(rounds, maxGrowthRounds); round++) grown.push(await growthOf(text, bytes))
      const flooded = await race([repeated(flood, bashFlood), repeated(rawFlood, nodeFlood)], { rounds })

      const waited = new Map<string, Array<number>>(
        sides.flatMap(([name]): ReadonlyArray<[string, Array<number>]> => [
          [name, []],
          [at99(name), []]
        ])
      )
      for (let round = 0; round < rounds; round++) {
        const first = round % sides.length
        for (const [name, run] of [...sides.slice(first), ...sides.slice(0, first)]) {
          const times = await latencyOf(run)
          waited.get(name)!.push(quantile(times, 0.5))
          waited.get(at99(name))!.push(quantile(times, 0.99))
        }
      }
      return [
        ...compare(new Map([...flooded, [growth, grown], [oneMegabyte, grown.map(() => 1e6)]]), floods),
        ...compare(
          startedUp,
          starts.filter(({ ours }) => hasSandbox || ours !== startedSandboxed)
        ),
        ...compare(waited, waits)
      ]
    })
  }).pipe(Effect.scoped, Effect.runPromise)
