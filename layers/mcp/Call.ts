/**
 * One `tools/call`: dispatched, its progress told, its end as a result.
 *
 * **Contract**
 *
 * - The call is dispatched once, by the runtime, as any other. Interrupting the request
 *   ends it, and when the interruption is done it has its terminal.
 * - Progress is told if the client gave a token: in order, rising, at the pace at which
 *   it is taken and no faster than people read. It ends before the result.
 * - A question to the client of a revision without requests from servers ends the call as
 *   `Interrupted`, and the request with `input_required`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as McpSchema from "effect/ai/McpSchema"
import type * as McpServer from "effect/ai/McpServer"
import * as Option from "effect/Option"
import { type Clocks, CurrentClocks } from "../../src/Clocks.ts"
import { type Ask, Permission } from "../../src/Permission.ts"
import * as ProgressPolicy from "../../src/ProgressPolicy.ts"
import { Questions } from "../../src/Questions.ts"
import { CurrentSession } from "../../src/Session.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import type { ToolError } from "../../src/ToolError.ts"
import type { ToolRuntime } from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Client from "./Client.ts"
import type { Connection } from "./Connections.ts"
import type * as Continuation from "./Continuation.ts"
import * as Elicitation from "./Elicitation.ts"
import * as Forms from "./Forms.ts"
import { Progress } from "./ProgressText.ts"

/**
 * The id of the request that the running fiber handles, as JSON-RPC has it. Undefined where it is not known.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentRequestId = Context.Reference<string | number | undefined>("toolstream/mcp/CurrentRequestId", {
  defaultValue: () => undefined
})

/**
 * Who stands in for the request once a call goes on without it: a task.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentStandIn = Context.Reference<StandIn | undefined>("toolstream/mcp/CurrentStandIn", {
  defaultValue: () => undefined
})

/**
 * @category models
 * @since 0.1.0
 */
export interface StandIn {
  /** The call, before it is dispatched: as it is to be. */
  readonly accepted: (call: ToolCall.ToolCall) => Effect.Effect<ToolCall.ToolCall>
  /** Whether it keeps the progress, in place of the request. */
  readonly progress: (message: string) => boolean
  /** Asks the client; undefined if it leaves that to the request. */
  readonly ask: (questions: Client.Questions) => Effect.Effect<Client.Answers> | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly server: McpServer.McpServer["Service"]
  readonly runtime: ToolRuntime["Service"]
  readonly seals: Continuation.Seals
  /** Who permits in the client's name; undefined if it is not asked. */
  readonly permission: ((client: Client.Client) => Ask) | undefined
  readonly progress: ProgressPolicy.ProgressPolicy
  readonly clocks: Clocks
}

type Outcome = McpSchema.CallToolResult | McpSchema.InputRequired

const askedFirst = "the client was asked, and makes the call again with its answer"

/**
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fnUntraced(function* (
  { clocks, permission, progress, runtime, seals, server }: Options,
  { inBatch, session }: Connection,
  name: string,
  parameters: unknown
): Effect.fn.Return<Outcome, McpSchema.InvalidParams, McpSchema.McpRequestContext> {
  const context = yield* Effect.context<McpSchema.McpRequestContext>()
  const request = Context.get(context, McpSchema.McpRequestContext)
  const id = Context.get(context, CurrentRequestId)
  const standIn = Context.get(context, CurrentStandIn)
  const before = yield* continued(seals, request, name)
  const made = yield* Effect.provideService(
    ToolCall.make({ name, parameters, ...(id === undefined ? {} : { externalId: String(id) }) }),
    CurrentSession,
    session
  )
  const call = standIn === undefined ? made : yield* standIn.accepted(made)

  /** What ended the call: its question. */
  let question: { readonly questions: Client.Questions; readonly state: string | undefined } | undefined
  const reverse = Context.getOption(context, McpSchema.McpServerClient)
  const client: Client.Client = {
    protocolVersion: request.protocolVersion,
    capabilities: request.clientCapabilities,
    answers: before.answers,
    state: before.state,
    ask: (questions, state) =>
      Effect.suspend(() => {
        const known = Object.keys(questions).every((key) => Object.hasOwn(before.answers, key))
        if (known) return Effect.succeed(before.answers)
        if (Option.isSome(reverse)) return Client.askDirectly(reverse.value.getClient, questions)
        const asked = standIn?.ask(questions)
        if (asked !== undefined) return asked
        question ??= { questions, state }
        return Effect.andThen(Effect.forkDetach(runtime.cancel(call.callId, askedFirst)), Effect.never)
      }),
    log: (level, data) =>
      Effect.provideContext(server.notifications["notifications/message"]({ level, data }), context).pipe(Effect.ignore)
  }

  const token = request.requestMetadata?.["progressToken"]
  const tells = typeof token === "string" || typeof token === "number"
  const shown = new Progress()
  const tell = (value: unknown) => {
    const next = shown.next(value)
    return standIn?.progress(next.message) === true || !tells
      ? Effect.void
      : Effect.ignore(server.notifications["notifications/progress"]({ progressToken: token, ...next }))
  }
  const references = Context.make(CurrentSession, session).pipe(
    Context.add(Client.CurrentClient, client),
    Context.add(ProgressPolicy.CurrentProgressPolicy, progress),
    Context.add(CurrentClocks, clocks),
    Context.add(Questions, Elicitation.question(client)),
    permission === undefined ? (context) => context : Context.add(Permission, permission(client))
  )
  const result = yield* inBatch((batch) => {
    const stream = batch.dispatch(call)
    return tells || standIn !== undefined
      ? ToolStream.runForEachArray(stream, Effect.forEach(tell, { discard: true }))
      : ToolStream.runResult(stream)
  }).pipe(
    Effect.provideContext(references),
    Effect.match({
      onSuccess: (result) => Forms.resultOf(result, request.protocolVersion),
      onFailure: (error) => error
    })
  )
  if (result instanceof McpSchema.CallToolResult) return result
  return question === undefined
    ? yield* failed(result, request.protocolVersion)
    : new McpSchema.InputRequired({
        inputRequests: question.questions,
        requestState: yield* seals.seal({
          tool: name,
          answers: before.answers,
          ...(question.state === undefined ? {} : { state: question.state })
        })
      })
})

const failed = (error: ToolError, revision: string): Effect.Effect<McpSchema.CallToolResult> => {
  const result = Effect.succeed(Forms.failureOf(error, revision))
  return error.reason._tag === "ToolDefect" ? Effect.andThen(Effect.logError(error.message), result) : result
}

interface Before {
  readonly answers: Client.Answers
  readonly state: string | undefined
}

/** What the earlier rounds of the call left with the client, and what it adds to that. */
const continued = (
  seals: Continuation.Seals,
  { inputResponses = {}, requestState }: McpSchema.McpRequestContext["Service"],
  tool: string
): Effect.Effect<Before, McpSchema.InvalidParams> =>
  requestState === undefined
    ? Effect.succeed({ answers: inputResponses, state: undefined })
    : Effect.flatMap(seals.open(tool, requestState), (opened) =>
        Option.match(opened, {
          onNone: () => Effect.fail(new McpSchema.InvalidParams({ message: "Invalid requestState" })),
          onSome: ({ answers, state }) => Effect.succeed({ answers: { ...answers, ...inputResponses }, state })
        })
      )
