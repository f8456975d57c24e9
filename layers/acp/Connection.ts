/**
 * Requests to a client, as effects.
 *
 * @since 0.1.0
 */
import { type AgentContext, type ClientCapabilities, methods, RequestError } from "@agentclientprotocol/sdk"
import * as Effect from "effect/Effect"
import type { SessionUpdate } from "@agentclientprotocol/sdk"
import * as Permission from "../../src/Permission.ts"
import type * as Questions from "../../src/Questions.ts"
import { type Client, ClientRefused } from "./Client.ts"
import type { Choice, Mapping } from "./Mapping.ts"

/**
 * What a session may ask of its client.
 *
 * @category models
 * @since 0.1.0
 */
export interface Asking {
  readonly client: AgentContext
  readonly offered: ClientCapabilities
  readonly sessionId: string
  readonly mapping: Mapping
  readonly absolute: (path: string) => string
}

/**
 * Tells the client. It returns when the message is on its way: a client that is slow to read slows the session it reads.
 * One that is gone misses nothing.
 *
 * @category running
 * @since 0.1.0
 */
export const tell = (
  { client, sessionId }: Pick<Asking, "client" | "sessionId">,
  update: SessionUpdate
): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise(() => client.notify(methods.client.session.update, { sessionId, update })))

/** Interrupted, the request is withdrawn. */
const request = <A>(send: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, ClientRefused> =>
  Effect.tryPromise({
    try: send,
    catch: (error) =>
      error instanceof RequestError
        ? new ClientRefused({ code: error.code, detail: error.message })
        : new ClientRefused({ detail: error instanceof Error ? error.message : String(error) })
  })

/** Gives undefined if the client answers that the turn is cancelled. */
const choose = <A>(
  { client, sessionId }: Asking,
  { answer, request: asked }: Choice<A>
): Effect.Effect<A | undefined, ClientRefused> =>
  Effect.map(
    request((cancellationSignal) =>
      client.request(
        methods.client.session.requestPermission,
        { sessionId, ...asked },
        { cancellationSignal, stopWaitingOnCancel: true }
      )
    ),
    ({ outcome }) => (outcome.outcome === "selected" ? answer(outcome.optionId) : undefined)
  )

/** The client cancelled instead of answering: the call waits until the turn ends it. */
const unlessCancelled = <A>(
  chosen: Effect.Effect<A | undefined, ClientRefused>,
  cancel: Effect.Effect<void>
): Effect.Effect<A, ClientRefused> =>
  Effect.flatMap(chosen, (answer) =>
    answer === undefined ? Effect.andThen(Effect.forkDetach(cancel), Effect.never) : Effect.succeed(answer)
  )

/**
 * Asks the client's user whether a call may run. `cancel` ends the turn.
 *
 * @category constructors
 * @since 0.1.0
 */
export const permission =
  (asking: Asking, cancel: Effect.Effect<void>): Permission.Ask =>
  (question) =>
    Effect.catch(
      unlessCancelled(choose(asking, asking.mapping.askPermission(question, asking.absolute)), cancel),
      ({ message }) => Effect.succeed<Permission.Answer>({ _tag: "Denied", by: "the program", why: message })
    )

/**
 * Asks the client's user what a tool wants to know: a choice, or a text where the client can take one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const questions =
  (asking: Asking, cancel: Effect.Effect<void>): Questions.Ask =>
  (question) => {
    const { client, mapping, offered, sessionId } = asking
    const answered: Effect.Effect<Questions.Answer, ClientRefused> =
      question.options.length > 0
        ? unlessCancelled(choose(asking, mapping.askChoice(question, asking.absolute)), cancel)
        : offered.elicitation?.form == null
          ? Effect.succeed(noText)
          : Effect.map(
              request((cancellationSignal) =>
                client.request(
                  methods.client.elicitation.create,
                  {
                    mode: "form",
                    sessionId,
                    toolCallId: question.call.callId,
                    message: question.text,
                    requestedSchema: {
                      type: "object",
                      properties: { answer: { type: "string", title: "Your answer" } },
                      required: ["answer"]
                    }
                  },
                  { cancellationSignal, stopWaitingOnCancel: true }
                )
              ),
              (response): Questions.Answer => {
                const answer = "content" in response ? record(response.content)["answer"] : undefined
                return response.action === "accept" && typeof answer === "string"
                  ? { _tag: "Written", text: answer }
                  : { _tag: "Declined", why: "the user does not want to answer" }
              }
            )
    return Effect.catch(answered, ({ message }) => Effect.succeed<Questions.Answer>({ _tag: "Declined", why: message }))
  }

const noText: Questions.Answer = {
  _tag: "Declined",
  why: "the editor can take a choice, and no text: ask again with options, or ask in your answer"
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

/**
 * What the client offers. `attached` is told of a terminal in which a call runs.
 *
 * @category constructors
 * @since 0.1.0
 */
export const client = (
  { client, offered, sessionId }: Pick<Asking, "client" | "offered" | "sessionId">,
  attached: (callId: string, terminalId: string) => Effect.Effect<void>
): Client => ({
  // Read through the editor and written past it, a file would be two.
  buffers:
    offered.fs?.readTextFile === true && offered.fs.writeTextFile === true
      ? {
          read: (path) =>
            Effect.map(
              request(() => client.request(methods.client.fs.readTextFile, { sessionId, path })),
              ({ content }) => content
            ),
          write: (path, content) =>
            Effect.asVoid(request(() => client.request(methods.client.fs.writeTextFile, { sessionId, path, content })))
        }
      : undefined,
  terminals:
    offered.terminal === true
      ? {
          create: ({ args, cwd, env, outputByteLimit, program }, callId) =>
            request(() =>
              client.createTerminal({
                sessionId,
                command: program,
                args: [...args],
                cwd,
                env: Object.entries(env).map(([name, value]) => ({ name, value })),
                outputByteLimit
              })
            ).pipe(
              Effect.tap(({ id }) => (callId === undefined ? Effect.void : attached(callId, id))),
              Effect.map((terminal) => ({
                id: terminal.id,
                output: Effect.map(
                  request(() => terminal.currentOutput()),
                  ({ output, truncated }) => ({ text: output, truncated })
                ),
                exit: Effect.map(
                  request(() => terminal.waitForExit()),
                  ({ exitCode, signal }) => ({ code: exitCode ?? undefined, signal: signal ?? undefined })
                ),
                kill: Effect.asVoid(request(() => terminal.kill())),
                release: Effect.asVoid(request(() => terminal.release()))
              }))
            )
        }
      : undefined
})
