/**
 * A program that runs one command in a sandbox, as the user that it is told to be, and prints how that ended.
 *
 * `PROFILES WORKSPACE SCRIPT [UID]`
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import { ended, spawn, within } from "./Sandboxed.ts"

const [profiles = "", workspace = "", script = "", uid] = process.argv.slice(2)

if (uid !== undefined) {
  process.setgroups?.([])
  process.setgid?.(Number(uid))
  process.setuid?.(Number(uid))
}

const program = Effect.gen(function* () {
  const child = yield* spawn(script)
  process.stdout.write(`${child.pid}\n`)
  const { exit, stderr, stdout } = yield* ended(child)
  return { exit, stderr, stdout }
}).pipe(
  Effect.scoped,
  within(profiles, workspace),
  Effect.catchTag("SpawnFailed", ({ message, reason }) => Effect.succeed({ message, reason })),
  Effect.provide(NodeProcesses.layer)
)

process.stdout.write(`${JSON.stringify(await Effect.runPromise(program))}\n`)
