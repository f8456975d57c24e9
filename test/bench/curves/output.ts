/**
 * The output of one command through `bash`, decoded and shown, nothing kept: the time of a byte, and how much memory the
 * process takes over what it has at rest.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as child_process from "node:child_process"
import * as path from "node:path"
import { check, live, through } from "../process.ts"
import { median } from "../race.ts"
import * as Text from "../text.ts"
import type { Curve } from "./Curve.ts"
import { raced } from "./raced.ts"

const sizes = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10]
/** The largest takes ten seconds and more. */
const rounds = 3
/** Less is less than what loading a module moves. */
const smallestGrowth = 1e6

/** In a process of its own, see `growth.ts`. */
const growthOf = (command: string, length: number) =>
  new Promise<number>((resolve, reject) => {
    let grown = Number.NaN
    child_process
      .fork(path.join(import.meta.dirname, "../growth.ts"), [command, String(length)], { execArgv: ["--expose-gc"] })
      .on("message", (message) => (grown = Number(message)))
      .on("error", reject)
      .on("exit", (code) => (code === 0 ? resolve(grown) : reject(new Error(`growth.ts ended with ${code}`))))
  })

export const trace = (): Promise<ReadonlyArray<Curve>> =>
  Effect.gen(function* () {
    const commandOf = yield* Text.make
    const run = Effect.runPromiseWith(yield* Layer.build(live("marker")))
    const reading = async (size: number) => {
      let seen = 0
      await run(through(commandOf(size), (text) => (seen += text.length)))
      check("bash", seen, size)
    }
    return yield* Effect.promise(async (): Promise<ReadonlyArray<Curve>> => {
      const time = await raced("through bash, from its start to its exit", sizes, reading, { rounds })
      const grown: Array<readonly [number, number]> = []
      for (const size of sizes.filter((size) => size >= smallestGrowth)) {
        const bytes: Array<number> = []
        for (let round = 0; round < rounds; round++) bytes.push(await growthOf(commandOf(size), size))
        // There is no logarithm of none.
        grown.push([size, Math.max(1e3, median(bytes))])
      }
      const x = { label: "output of a command", unit: "bytes" } as const
      return [
        { id: "output", title: "Time of a byte of output", x, y: { label: "time of each", unit: "ns" }, lines: [time] },
        {
          id: "output-memory",
          title: "Memory while a command writes",
          x,
          y: { label: "resident, over idle", unit: "bytes" },
          lines: [{ name: "the most that is resident, over idle", cost: "whole", points: grown }]
        }
      ]
    })
  }).pipe(Effect.scoped, Effect.runPromise)
