/**
 * `acp`: a conversation with a model that uses the tools, driven by an editor.
 *
 * @since 0.1.0
 */
import { ndJsonStream } from "@agentclientprotocol/sdk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ClientFiles from "../acp/ClientFiles.ts"
import * as ClientTerminals from "../acp/ClientTerminals.ts"
import * as Server from "../acp/Server.ts"
import { Sessions } from "../acp/Sessions.ts"
import * as Compaction from "../agent/Compaction.ts"
import type { Ports } from "../Builtin.ts"
import { claim } from "../node/OwnStdout.ts"
import * as SessionFiles from "../node/SessionFiles.ts"
import { Signals } from "../node/Signals.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import * as Agent from "./Agent.ts"
import * as Models from "./Models.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly version: string
  /** Nobody is asked. */
  readonly yes: boolean
  readonly model: string | undefined
  readonly baseUrl: string | undefined
  /** Tokens that the model can read. */
  readonly contextTokens: number
  /** Responses in a turn. */
  readonly maxSamples: number | undefined
  /** The total clock in ms, of each call. */
  readonly timeout: number | undefined
}

/**
 * What tools ask, answered by an editor where it offers that, else by this machine.
 *
 * @category layers
 * @since 0.1.0
 */
export const ports = (local: Layer.Layer<Ports>): Layer.Layer<Ports> =>
  Layer.merge(ClientFiles.layer, ClientTerminals.layer).pipe(Layer.provideMerge(local))

/** The files in which `agent` keeps its conversations, too. */
const sessions = Layer.effect(
  Sessions,
  Effect.map(Agent.folder, (folder) =>
    Sessions.of({
      records: (sessionId) => SessionFiles.records(folder, sessionId),
      open: (kept) => SessionFiles.open(folder, kept)
    })
  )
)

/**
 * Serves one editor, until the input ends or a signal comes. What runs then is cancelled, and its sessions can be loaded
 * again. Gives true: no editor is served badly by its leaving.
 *
 * @category running
 * @since 0.1.0
 */
export const stdio = Effect.fn("cli.acp")(function* <E, R>(input: Stream.Stream<Uint8Array, E, R>, options: Options) {
  const signals = yield* Signals
  const { write } = yield* StandardStreams
  yield* Effect.sync(claim)
  const services = yield* Layer.build(Layer.merge(Models.layer(options), sessions))
  const readable = yield* Stream.toReadableStreamEffect(Stream.interruptWhen(input, signals.first))
  const decoder = new TextDecoder()
  const writable = new WritableStream<Uint8Array>({
    write: (bytes) => Effect.runPromise(write(decoder.decode(bytes)))
  })
  yield* Effect.provideContext(
    Server.serve(ndJsonStream(writable, readable), {
      name: "toolstream",
      version: options.version,
      asks: !options.yes,
      clocks: options.timeout === undefined ? {} : { total: options.timeout },
      conversation: (workspace) => ({
        system: Agent.system(workspace),
        limits: { samples: options.maxSamples },
        compaction: Compaction.summarising({ contextTokens: options.contextTokens })
      })
    }),
    services
  )
  return true
}, Effect.scoped)
