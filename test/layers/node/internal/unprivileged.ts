/**
 * A process that gives up its rights and then asks for files: prints how each attempt ended.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { WorkspaceFiles } from "../../../../src/WorkspaceFiles.ts"
import * as BrokenCalls from "./BrokenCalls.ts"

const [root = "", state = "", ...rest] = process.argv.slice(2)

process.setgroups?.([])
process.setgid?.(65534)
process.setuid?.(65534)

const ended = <A, E extends { readonly reason: unknown }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.match(effect, { onSuccess: (value): unknown => value, onFailure: ({ reason }): unknown => reason })

const program = Effect.gen(function* () {
  const { list, open } = yield* WorkspaceFiles
  const outcomes: Record<string, unknown> = {}
  for (const task of rest) {
    const [verb = "", path = ""] = task.split(":")
    outcomes[task] = yield* ended<unknown, { readonly reason: unknown }, WorkspaceFiles>(
      verb === "open"
        ? Effect.scoped(Effect.map(open(path), ({ size }) => size))
        : verb === "list"
          ? Effect.map(list(path, { limit: 10 }), ({ total }) => total)
          : Effect.map(BrokenCalls.fulfil([{ write: path, bytes: "mine\n" }]), ([done]) => done?.notKept)
    )
  }
  return outcomes
})

process.stdout.write(JSON.stringify(await Effect.runPromise(Effect.provide(program, BrokenCalls.layer(root, state)))))
