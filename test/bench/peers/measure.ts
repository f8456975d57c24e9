/**
 * Races one library at one task, beside ours and what needs none, and tells its parent.
 * `node --no-flush-bytecode test/bench/peers/measure.ts TASK LIBRARY ROUNDS`
 */
import * as Effect from "effect/Effect"
import { compare, type Contender, race } from "../race.ts"
import * as Text from "../text.ts"
import * as Calls from "./call.ts"
import type { Peer } from "./Peer.ts"
import { comparisonsOf, type TaskName, tasks } from "./peers.ts"
import * as Processes from "./process.ts"

const floodBytes = 2 ** 30
/** A race of seconds: more rounds take minutes. */
const maxFloodRounds = 5
/** Starts in one sample: a single one is mostly noise. */
const startSampleMs = 60

type Run = Contender["run"]

const calls = (peer: string) =>
  Effect.gen(function* () {
    const { load }: Peer<Run> = Calls.peers[peer as keyof typeof Calls.peers]
    const ours = yield* Calls.ours(Calls.fromText.has(peer) ? "text" : "value")
    return yield* Effect.promise(async () => [ours, await load(), await Calls.generator()] as const)
  })

/** The command, again and again. */
const commands = (peer: string, command: string, bytes: number) =>
  Effect.gen(function* () {
    const { load }: Peer<Processes.Run> = Processes.peers[peer as keyof typeof Processes.peers]
    const ours = yield* Processes.ours
    const theirs = yield* Effect.promise(load)
    const again =
      (run: Processes.Run): Run =>
      async (n) => {
        for (let i = 0; i < n; i++) {
          const seen = await run(command)
          if (seen !== bytes) throw new Error(`${peer} saw ${seen} of ${bytes} bytes`)
        }
      }
    return [again(ours), again(theirs), again(Processes.raw)] as const
  })

const raced = (task: TaskName, peer: string, rounds: number) =>
  Effect.gen(function* () {
    const [runs, options] =
      task === "call"
        ? [yield* calls(peer), { rounds }]
        : task === "start"
          ? [yield* commands(peer, "true", 0), { rounds, sampleMs: startSampleMs }]
          : [
              yield* commands(peer, (yield* Text.make)(floodBytes), floodBytes),
              { rounds: Math.min(rounds, maxFloodRounds) }
            ]
    const comparisons = comparisonsOf(task, peer)
    const names = [comparisons[0].ours, comparisons[0].theirs, comparisons[1].theirs]
    const contenders = runs.map((run, index) => ({ name: names[index]!, run }))
    return compare(yield* Effect.promise(() => race(contenders, options)), comparisons)
  })

const [task = "", peer = "", rounds = "1"] = process.argv.slice(2)
if (!(task in tasks)) throw new Error(`there is no task "${task}"`)
const measured = await Effect.runPromise(Effect.scoped(raced(task as TaskName, peer, Number(rounds))))
if (process.send === undefined) console.log(measured.map(({ row }) => row))
else process.send(measured, () => process.exit())
