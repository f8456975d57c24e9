/**
 * `mcp`: the tools, served to clients of the Model Context Protocol.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import * as JsonLines from "../JsonLines.ts"
import * as Connections from "../mcp/Connections.ts"
import * as Server from "../mcp/Server.ts"
import { claim } from "../node/OwnStdout.ts"
import { Signals } from "../node/Signals.ts"
import { type OutputClosed, StandardStreams } from "../node/StandardStreams.ts"
import * as Permitted from "./Permitted.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly version: string
  readonly yes: boolean
  /** The total clock in ms, of each call. */
  readonly timeout: number | undefined
}

const described = ({ timeout, version, yes }: Options): Server.Options => ({
  name: "toolstream",
  version,
  ...(yes ? {} : { asking: Permitted.instead }),
  clocks: timeout === undefined ? {} : { total: timeout }
})

/**
 * Serves one client, until the input ends or a signal comes. What runs then is cancelled. Gives true: no client is served
 * badly by its leaving.
 *
 * @category running
 * @since 0.1.0
 */
export const stdio = Effect.fn("cli.mcp")(function* <E>(input: Stream.Stream<Uint8Array, E>, options: Options) {
  const signals = yield* Signals
  const { write } = yield* StandardStreams
  yield* Effect.sync(claim)
  const ended = yield* Deferred.make<void, E | OutputClosed>()
  yield* Layer.build(
    Server.layerLines<E | OutputClosed>({
      ...described(options),
      lines: JsonLines.lines(input, signals.first),
      write,
      ended: (exit) => Deferred.done(ended, exit)
    }).pipe(Layer.provide(Connections.layerOne))
  )
  yield* Deferred.await(ended)
  return true
}, Effect.scoped)
