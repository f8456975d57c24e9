/**
 * The journal in files: what it costs a call, and how long one of a million calls takes to open.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import * as FileJournal from "../../layers/node/FileJournal.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { fill, openOf } from "./journal-fill.ts"
import { compare, type Comparison, type Contender, type Measured, race } from "./race.ts"

const width = 64
const reads = `${width} calls in flight that only read, journal in files`
const unrecorded = "the same, no journal"
const writes = "calls with side effects, one after the other, journal in files"
const syncs = "two bare appends, each with fdatasync"
const many = `${width} calls in flight with side effects, journal in files`
const open = "claiming from a journal of a million calls, 1,000 of them open"
const bare = "reading its files, and nothing else"
const memory = "a process that claims from a journal of a million calls, resident at most"
const oneMegabyte = "1 MB"

const ofReads: Comparison = {
  id: "journal.read-only.64.vs-off",
  ours: reads,
  theirs: unrecorded,
  unit: "ns/call",
  floor: null
}
const ofWrites: Comparison = { id: "journal.writes.vs-two-syncs", ours: writes, theirs: syncs, unit: "us", floor: null }
const ofMany: Comparison = { id: "journal.writes.64.vs-two-syncs", ours: many, theirs: syncs, unit: "us", floor: null }
const ofOpen: Comparison = { id: "journal.open.1m.vs-read", ours: open, theirs: bare, unit: "ms", floor: null }
const ofMemory: Comparison = {
  id: "journal.open.1m.rss",
  ours: memory,
  theirs: oneMegabyte,
  unit: "MB",
  floor: null,
  lowerIsBetter: true
}
export const comparisons = [ofReads, ofWrites, ofMany, ofOpen, ofMemory]

class Look extends Tool.Service<Look>()("look", {
  description: "Looks.",
  parameters: { text: Schema.String },
  success: Schema.String,
  hints: { readOnly: true }
}) {}

class Write extends Tool.Service<Write>()("write", {
  description: "Writes.",
  parameters: { text: Schema.String },
  success: Schema.String
}) {}

const live = ToolRuntime.layerWith().pipe(
  Layer.provide(ToolRegistry.layer(Look, Write)),
  Layer.provide([Look.toLayer(({ text }) => Effect.succeed(text)), Write.toLayer(({ text }) => Effect.succeed(text))])
)

const fdatasync = promisify(fs.fdatasync)

const inTemporaryFolder = <A>(use: (folder: string) => Promise<A>): Promise<A> => {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "toolstream-bench-")))
  return use(folder).finally(() => fs.rmSync(folder, { recursive: true, force: true }))
}

const million = 1_000_000

/** Rounds of what takes seconds. */
const maxOpenRounds = 3

export const measure = (rounds: number): Promise<ReadonlyArray<Measured>> =>
  inTemporaryFolder(async (folder) => [
    ...(await Effect.runPromise(Effect.scoped(calls(folder, rounds)))),
    ...(await opening(path.join(folder, "million"), Math.min(rounds, maxOpenRounds)))
  ])

const calls = (folder: string, rounds: number) =>
  Effect.gen(function* () {
    const run = Effect.runPromiseWith(yield* Effect.context())
    const without = Context.get(yield* Layer.build(live), ToolRuntime.ToolRuntime)
    const recorded = live.pipe(Layer.provide(FileJournal.layer({ directory: path.join(folder, "journal") })))
    const withJournal = Context.get(yield* Layer.build(Layer.fresh(recorded)), ToolRuntime.ToolRuntime)

    const contender = (
      name: string,
      runtime: ToolRuntime.ToolRuntime["Service"],
      tool: string,
      concurrency: number
    ): Contender => {
      const one = Effect.flatMap(ToolCall.make({ name: tool, parameters: { text: "Hello." } }), (call) =>
        ToolStream.runResult(runtime.dispatch(call))
      )
      return {
        name,
        run: (n) =>
          run(
            Effect.gen(function* () {
              let left = n
              const worker = Effect.whileLoop({ while: () => left-- > 0, body: () => one, step: () => {} })
              yield* Effect.all(
                Array.from({ length: Math.min(concurrency, n) }, () => worker),
                { concurrency: "unbounded", discard: true }
              )
            })
          )
      }
    }
    const file = yield* Effect.acquireRelease(
      Effect.sync(() => fs.openSync(path.join(folder, "bare"), "w")),
      (fd) => Effect.sync(() => fs.closeSync(fd))
    )
    const line = `${"x".repeat(300)}\n`
    const twoSyncs: Contender = {
      name: syncs,
      run: async (n) => {
        for (let i = 0; i < 2 * n; i++) {
          fs.writeSync(file, line)
          await fdatasync(file)
        }
      }
    }
    const reading = [contender(reads, withJournal, "look", width), contender(unrecorded, without, "look", width)]
    const writing = [contender(writes, withJournal, "write", 1), contender(many, withJournal, "write", width), twoSyncs]
    return yield* Effect.promise(async () => [
      ...compare(await race(reading, { rounds }), [ofReads]),
      ...compare(await race(writing, { rounds }), [ofWrites, ofMany])
    ])
  })

const opening = async (directory: string, rounds: number): Promise<ReadonlyArray<Measured>> => {
  await Effect.runPromise(fill(directory, million))
  const samples = new Map<string, Array<number>>([open, bare, memory, oneMegabyte].map((name) => [name, []]))
  const add = (name: string, value: number) => samples.get(name)!.push(value)
  for (let round = 0; round < rounds; round++) {
    const { stderr, stdout } = spawnSync(
      process.execPath,
      [path.join(import.meta.dirname, "journal-open.ts"), directory, String(openOf(million))],
      {
        encoding: "utf8"
      }
    )
    if (stdout === "") throw new Error(stderr)
    const { bareMs, ms, rssBytes } = JSON.parse(stdout) as Record<"bareMs" | "ms" | "rssBytes", number>
    add(open, ms * 1e6)
    add(bare, bareMs * 1e6)
    add(memory, rssBytes)
    add(oneMegabyte, 1e6)
  }
  return compare(samples, [ofOpen, ofMemory])
}
