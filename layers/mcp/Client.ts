/**
 * The client that a call came from, for tools and policies that have to ask it something.
 *
 * A call that did not come over MCP has none: see `CurrentClient`.
 *
 * **Details**
 *
 * How a client is asked depends on the revision. Up to 2025-11-25 it is sent a request
 * while the call waits. In 2026-07-28 the call is ended, and made again by the client
 * with the answers: what a tool did before it asked, it does again. A task waits, and
 * tells what it waits for whenever it is asked for its state.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/**
 * The client cannot be asked this, or did not answer as it must.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotAnswered extends Schema.TaggedError<NotAnswered>()("NotAnswered", {
  why: Schema.String
}) {
  override get message() {
    return `The client was not asked, or gave no answer: ${this.why}`
  }
}

/**
 * What a client is asked, by names of the asker's choice.
 *
 * @category models
 * @since 0.1.0
 */
export type Questions = Readonly<Record<string, McpSchema.McpInputRequest>>

/**
 * The results of the questions, by their names.
 *
 * @category models
 * @since 0.1.0
 */
export type Answers = Readonly<Record<string, McpSchema.McpInputResponse>>

/**
 * @category models
 * @since 0.1.0
 */
export interface Client {
  readonly protocolVersion: string
  readonly capabilities: McpSchema.ClientCapabilities
  /**
   * Asks, all at once. `state` is for a tool that has to know, when its call is made again, how far it was: it comes
   * back as `state`, and cannot have been changed on the way.
   */
  readonly ask: (questions: Questions, state?: string) => Effect.Effect<Answers, NotAnswered>
  /** What the call was made again with: the answers to all that its earlier rounds asked. */
  readonly answers: Answers
  readonly state: string | undefined
  /** Sends a log message, if the client wants those of the level. */
  readonly log: (level: McpSchema.LoggingLevel, data: unknown) => Effect.Effect<void>
}

/**
 * The client of the call that runs. Undefined for a call that did not come over MCP.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentClient = Context.Reference<Client | undefined>("toolstream/mcp/CurrentClient", {
  defaultValue: () => undefined
})

/**
 * Whether it can show its user a form.
 *
 * @category predicates
 * @since 0.1.0
 */
export const showsForms = ({ elicitation }: McpSchema.ClientCapabilities): boolean =>
  elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)

/**
 * Asks a client of a revision in which the server sends requests.
 *
 * @category running
 * @since 0.1.0
 */
export const askDirectly = (
  getClient: Effect.Effect<McpSchema.McpReverseClient, never, Scope.Scope>,
  questions: Questions
): Effect.Effect<Answers, NotAnswered> =>
  Effect.gen(function* () {
    const client = yield* getClient
    const answers = yield* Effect.forEach(
      Object.entries(questions),
      ([name, question]) => Effect.map(request(client, question), (answer) => [name, answer] as const),
      { concurrency: "unbounded" }
    )
    return Object.fromEntries(answers)
  }).pipe(
    Effect.scoped,
    Effect.mapError((error) =>
      error instanceof McpSchema.McpReverseOperationUnsupported
        ? new NotAnswered({ why: error.reason })
        : new NotAnswered({ why: "it answered with an error, or not in the form of the protocol" })
    )
  )

const request = (client: McpSchema.McpReverseClient, question: McpSchema.McpInputRequest) => {
  switch (question.method) {
    case "elicitation/create":
      return Effect.flatMap(decodeElicit(question.params), (params) =>
        Effect.flatMap(client.elicit(params), encodeElicit)
      )
    case "sampling/createMessage":
      return Effect.flatMap(decodeMessage(question.params), (params) =>
        Effect.flatMap(client.createMessage(params), encodeMessage)
      )
    case "roots/list":
      return Effect.flatMap(client.listRoots(), encodeRoots)
  }
}

const record = Schema.Record(Schema.String, Schema.Unknown)
const asRecord = Schema.decodeUnknownEffect(record)
const toRecord = <S extends Schema.Constraint>(schema: S) => {
  const encode = Schema.encodeUnknownEffect(Schema.toCodecJson(schema))
  return (value: S["Type"]) => Effect.flatMap(encode(value), asRecord)
}
const decodeElicit = Schema.decodeUnknownEffect(Schema.toCodecJson(McpSchema.Elicit.payloadSchema))
const encodeElicit = toRecord(McpSchema.Elicit.successSchema)
const decodeMessage = Schema.decodeUnknownEffect(Schema.toCodecJson(McpSchema.CreateMessage.payloadSchema))
const encodeMessage = toRecord(McpSchema.CreateMessage.successSchema)
const encodeRoots = toRecord(McpSchema.ListRoots.successSchema)
