/**
 * How long a command takes from its start to its exit in a process that holds so much more memory, through `bash` and raw.
 * `node test/bench/curves/start-child.ts BYTES`
 */
import * as Effect from "effect/Effect"
import * as Processes from "../peers/process.ts"
import { median, race } from "../race.ts"

export interface Sample {
  readonly rssBytes: number
  /** Both in ns. */
  readonly ours: number
  readonly raw: number
}

const rounds = 9
/** Starts in one sample: a single one is mostly noise. */
const sampleMs = 100

const pieceBytes = 1e7

/** Written to: memory that was never touched has no pages. */
const hold = (bytes: number) => Array.from({ length: bytes / pieceBytes }, () => Buffer.alloc(pieceBytes, 1))

const measured = Effect.gen(function* () {
  const ours = yield* Processes.ours
  const held = hold(Number(process.argv[2] ?? 0))
  const again = (name: string, run: Processes.Run) => ({
    name,
    run: async (n: number) => {
      for (let i = 0; i < n; i++) await run("true")
    }
  })
  const contenders = [again("ours", ours), again("raw", Processes.raw)]
  const samples = yield* Effect.promise(() => race(contenders, { rounds, sampleMs }))
  const rssBytes = process.memoryUsage.rss()
  if (rssBytes < held.length * pieceBytes)
    throw new Error(`of ${held.length} pieces only ${rssBytes} bytes are resident`)
  return { rssBytes, ours: median(samples.get("ours")!), raw: median(samples.get("raw")!) }
})

const sample: Sample = await Effect.runPromise(Effect.scoped(measured))
if (process.send === undefined) console.log(sample)
else process.send(sample, () => process.exit())
