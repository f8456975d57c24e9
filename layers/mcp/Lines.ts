/**
 * The stdio transport: one message a line, both ways.
 *
 * **Contract**
 *
 * - A line that cannot be served is answered, and the next one is served.
 * - A request whose id is in flight is refused without that id: an answer to it would
 *   pass for the answer to the first.
 * - Nothing is written after the input has ended.
 *
 * **Details**
 *
 * Effect's own stdio transport logs a line that is not JSON, drops what came with it, and ends its program with the
 * status of an interruption.
 *
 * **Source** MCP 2026-07-28, basic/transports, "stdio".
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as RpcMessage from "effect/rpc/RpcMessage"
import * as RpcSerialization from "effect/rpc/RpcSerialization"
import * as RpcServer from "effect/rpc/RpcServer"
import * as Stream from "effect/Stream"
import type { Line } from "../JsonLines.ts"
import * as JsonRpc from "./JsonRpc.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options<E> {
  readonly lines: Stream.Stream<Line, E>
  /** Of whole lines, with their ends. Returns when the text has been taken. */
  readonly write: (text: string) => Effect.Effect<void, E>
  /** What is run when the input has ended, or nobody reads the output any more. */
  readonly ended: (exit: Exit.Exit<void, E>) => Effect.Effect<void>
}

/** There is one client. */
const client = 0

/** Revisions whose clients may send batches. */
const batching: ReadonlyArray<unknown> = ["2025-03-26", "2024-11-05"]

/** A batch whose responses are not all there. */
interface Batch {
  readonly open: Set<string>
  readonly answers: Array<string>
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = <E>({ ended, lines, write }: Options<E>): Layer.Layer<RpcServer.Protocol> =>
  Layer.effect(
    RpcServer.Protocol,
    RpcServer.Protocol.make((handle) =>
      Effect.gen(function* () {
        let hasEnded = false
        let mayBatch = false
        const batches = new Map<string, Batch>()

        const end = (exit: Exit.Exit<void, E>) =>
          Effect.suspend(() => {
            if (hasEnded) return Effect.void
            hasEnded = true
            return ended(exit)
          })
        const say = (text: string): Effect.Effect<void> =>
          Effect.suspend(() =>
            hasEnded ? Effect.void : Effect.catch(write(`${text}\n`), (error) => end(Exit.fail(error)))
          )

        const respond = (key: string, answer: string | undefined): Effect.Effect<void> => {
          const batch = batches.get(key)
          if (batch === undefined) return answer === undefined ? Effect.void : say(answer)
          batches.delete(key)
          batch.open.delete(key)
          if (answer !== undefined) batch.answers.push(answer)
          return batch.open.size > 0 || batch.answers.length === 0 ? Effect.void : say(`[${batch.answers.join(",")}]`)
        }

        const serve = (message: JsonRpc.Message): Effect.Effect<void> => {
          if (message._tag === "Exit") return accept(message)
          if (message.tag === "initialize") mayBatch = batching.includes(offered(message.payload))
          // A request that was cancelled is not answered, so that nothing else takes it out of its batch.
          const cancelled = message.tag === "notifications/cancelled" ? requestId(message.payload) : undefined
          return cancelled === undefined
            ? accept(message)
            : Effect.andThen(accept(message), respond(keyOf(cancelled), undefined))
        }

        /**
         * A response to a request of the server comes on the same way, says effect's server, if not its types. It refuses
         * an id that is in flight by an interruption that is not meant for whoever reads.
         */
        const accept = (message: JsonRpc.Message): Effect.Effect<void> =>
          Effect.flatMap(Effect.exit(handle(client, message as RpcMessage.FromClientEncoded)), (exit) =>
            Exit.isSuccess(exit) || message._tag === "Exit" || message.isNotification === true
              ? Effect.void
              : Cause.hasInterruptsOnly(exit.cause)
                ? say(
                    JsonRpc.refusal(
                      null,
                      JsonRpc.invalidRequest,
                      `Invalid Request: the id ${JSON.stringify(message.id)} is in flight`
                    )
                  )
                : Effect.logError(exit.cause)
          )

        const serveLine = ({ text, unreadable }: Line): Effect.Effect<void> => {
          if (unreadable !== undefined)
            return say(JsonRpc.refusal(null, JsonRpc.parseError, `Parse error: ${unreadable}`))
          const incoming = JsonRpc.read(text)
          switch (incoming._tag) {
            case "Refused":
              return say(incoming.answer)
            case "Message":
              return serve(incoming.message)
            case "Batch": {
              if (!mayBatch || incoming.messages.some(isInitialize)) {
                return say(JsonRpc.refusal(null, JsonRpc.invalidRequest, "Invalid Request: batches are not supported"))
              }
              const requests = incoming.messages.filter(isRequest)
              const batch: Batch = { open: new Set(requests.map(({ id }) => keyOf(id))), answers: [] }
              for (const key of batch.open) if (!batches.has(key)) batches.set(key, batch)
              return Effect.forEach(incoming.messages, serve, { discard: true })
            }
          }
        }

        yield* Stream.runForEach(lines, serveLine).pipe(Effect.onExit(end), Effect.ignore, Effect.forkScoped)

        return {
          disconnects: yield* Queue.make<number>(),
          send: (_client, message) => {
            const text = JsonRpc.write(message)
            if (text === undefined) return Effect.void
            return message._tag === "Exit" ? respond(keyOf(message.requestId), text) : say(text)
          },
          end: () => Effect.void,
          clientIds: Effect.succeed(new Set([client])),
          initialMessage: Effect.succeed(Option.none()),
          supportsAck: false,
          supportsTransferables: false,
          supportsSpanPropagation: false,
          supportsNotifications: true,
          codecFor: RpcSerialization.json.codecFor
        }
      })
    )
  )

const keyOf = (id: string | number): string => `${typeof id}:${id}`

const isRequest = (message: JsonRpc.Message): message is RpcMessage.RequestEncoded =>
  message._tag === "Request" && message.isNotification !== true

const isInitialize = (message: JsonRpc.Message): boolean => message._tag === "Request" && message.tag === "initialize"

const field = (payload: unknown, name: string): unknown =>
  typeof payload === "object" && payload !== null
    ? Object.entries(payload).find(([key]) => key === name)?.[1]
    : undefined

const offered = (payload: unknown): unknown => field(payload, "protocolVersion")

const requestId = (payload: unknown): string | number | undefined => {
  const id = field(payload, "requestId")
  return typeof id === "string" || typeof id === "number" ? id : undefined
}
