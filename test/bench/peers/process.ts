/**
 * Commands in libraries that run them: start and exit of `true`, and 1 GiB of text. All run `bash -c`, as the tool does,
 * without a stdin. Only ours decodes what it reads; the others hand out bytes.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChildProcess from "effect/process/ChildProcess"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as child_process from "node:child_process"
import { live, through } from "../process.ts"
import { imported, type Peer } from "./Peer.ts"

/** Runs a command to its end, and says how much it wrote. */
export type Run = (command: string) => Promise<number>

/** Ours, until the scope closes. */
export const ours = Effect.map(Layer.build(live("marker")), (context): Run => async (command) => {
  let seen = 0
  await Effect.runPromiseWith(context)(through(command, (text) => (seen += text.length)))
  return seen
})

/** What needs no library. */
export const raw: Run = (command) =>
  new Promise((resolve, reject) => {
    const child = child_process.spawn("bash", ["-c", command], { stdio: ["ignore", "pipe", "pipe"] })
    let seen = 0
    child.stdout.on("data", (chunk: Buffer) => (seen += chunk.length))
    child.stderr.resume()
    child.once("error", reject).once("close", () => resolve(seen))
  })

interface Execa {
  readonly execa: (
    file: string,
    args: ReadonlyArray<string>,
    options: object
  ) => Promise<unknown> & { readonly stdout: NodeJS.ReadableStream }
}

export const peers = {
  execa: {
    package: "execa",
    what: "execa, `buffer: false`, 'data' events",
    load: async (): Promise<Run> => {
      const { execa } = await imported<Execa>("execa")
      return async (command) => {
        let seen = 0
        const child = execa("bash", ["-c", command], { stdin: "ignore", buffer: false })
        child.stdout.on("data", (chunk: Buffer) => (seen += chunk.length))
        await child
        return seen
      }
    }
  },
  "effect-process": {
    package: "effect",
    what: "effect's `ChildProcess`, its `stdout` as a stream",
    load: async (): Promise<Run> => {
      const services = await Effect.runPromise(Layer.buildWithScope(NodeServices.layer, Scope.makeUnsafe()))
      return (command) => {
        let seen = 0
        return Effect.gen(function* () {
          const child = yield* ChildProcess.make("bash", ["-c", command], { stdin: "ignore" })
          yield* Stream.runForEachArray(child.stdout, (chunks) =>
            Effect.sync(() => {
              for (const { length } of chunks) seen += length
            })
          )
          yield* child.exitCode
          return seen
        }).pipe(Effect.scoped, Effect.runPromiseWith(services))
      }
    }
  }
} satisfies Readonly<Record<string, Peer<Run>>>
