/**
 * A process that makes the changes of `rich` and is killed at its n-th system call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as BrokenCalls from "./BrokenCalls.ts"

const [root = "", state = "", moment = ""] = process.argv.slice(2)

const calls = BrokenCalls.counted(
  (
    (count) => () =>
      void (++count === Number(moment) && process.kill(process.pid, "SIGKILL"))
  )(0)
)

await Effect.runPromise(
  Effect.provide(BrokenCalls.fulfil(BrokenCalls.rich.wishes), BrokenCalls.layer(root, state, { calls }))
)
