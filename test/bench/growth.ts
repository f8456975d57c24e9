/**
 * How much memory the output of a command takes through `bash`, in a process that does nothing else: the most that is
 * resident while it runs, over what is at rest. `node --expose-gc test/bench/growth.ts COMMAND LENGTH`
 *
 * Not in the process of the races: whether V8 has grown its young generation there, by up to 64 MB, or has just given it
 * back, would decide.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { check, live, through } from "./process.ts"

/** Calls until all that a call needs is loaded. */
const warmUps = 20

/** Time between two looks, in ms. */
const lookEvery = 5

const [command = "true", length = "0"] = process.argv.slice(2)

const measure = Effect.gen(function* () {
  const run = Effect.runPromiseWith(yield* Layer.build(live("marker")))
  return yield* Effect.promise(async () => {
    for (let i = 0; i < warmUps; i++) await run(through("true", () => {}))
    // All that V8 can give back, its young generation too: what loading has left is no part of what is needed at rest.
    await global.gc?.({ type: "major", execution: "async", flavor: "last-resort" })
    const idle = process.memoryUsage.rss()
    let most = idle
    let seen = 0
    const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), lookEvery)
    await run(through(command, (text) => (seen += text.length)))
    clearInterval(timer)
    check("bash", seen, Number(length))
    return most - idle
  })
})

process.send?.(await Effect.runPromise(Effect.scoped(measure)), () => process.disconnect())
