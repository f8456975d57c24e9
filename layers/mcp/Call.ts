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
import { CurrentSession, type Session } from "../../src/Session.ts"
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
export const run = (
  options: Options,
  connection: Connection,
  name: string,
  parameters: unknown
): Effect.Effect<Outcome, McpSchema.InvalidParams, McpSchema.McpRequestContext> =>
  Effect.withFiber((fiber) => {
    const context = fiber.context as Context.Context<McpSchema.McpRequestContext>
    const { inputResponses = {}, requestState } = Context.get(context, McpSchema.McpRequestContext)
    const begin = (before: Before) => new Request(options, context, name, before).run(connection, parameters)
    return requestState === undefined
      ? begin({ answers: inputResponses, state: undefined })
      : Effect.flatMap(opened(options.seals, name, requestState), ({ answers, state }) =>
          begin({ answers: { ...answers, ...inputResponses }, state })
        )
  })

interface Before {
  readonly answers: Client.Answers
  readonly state: string | undefined
}

/** What the earlier rounds of the call left with the client. */
const opened = (
  seals: Continuation.Seals,
  tool: string,
  requestState: string
): Effect.Effect<Before, McpSchema.InvalidParams> =>
  Effect.flatMap(seals.open(tool, requestState), (opened) =>
    Option.match(opened, {
      onNone: () => Effect.fail(new McpSchema.InvalidParams({ message: "Invalid requestState" })),
      onSome: ({ answers, state }) => Effect.succeed({ answers, state })
    })
  )

/** One request, and its client as tools see it. */
class Request implements Client.Client {
  private readonly options: Options
  private readonly context: Context.Context<McpSchema.McpRequestContext>
  private readonly request: McpSchema.McpRequestContext["Service"]
  private readonly name: string
  private readonly standIn: StandIn | undefined
  private readonly token: unknown
  private readonly shown = new Progress()
  private callId = ""
  /** What ended the call: its question. */
  private question: { readonly questions: Client.Questions; readonly state: string | undefined } | undefined
  readonly answers: Client.Answers
  readonly state: string | undefined

  constructor(
    options: Options,
    context: Context.Context<McpSchema.McpRequestContext>,
    name: string,
    { answers, state }: Before
  ) {
    this.options = options
    this.context = context
    this.name = name
    this.answers = answers
    this.state = state
    this.request = Context.get(context, McpSchema.McpRequestContext)
    this.standIn = Context.get(context, CurrentStandIn)
    this.token = this.request.requestMetadata?.["progressToken"]
  }

  get protocolVersion() {
    return this.request.protocolVersion
  }

  get capabilities() {
    return this.request.clientCapabilities
  }

  run({ inBatch, session }: Connection, parameters: unknown): Effect.Effect<Outcome> {
    const { name, standIn } = this
    const id = Context.get(this.context, CurrentRequestId)
    const made = ToolCall.make(id === undefined ? { name, parameters } : { name, parameters, externalId: String(id) })
    const accepted = standIn === undefined ? made : Effect.flatMap(made, standIn.accepted)
    const dispatched = Effect.flatMap(accepted, (call) => {
      this.callId = call.callId
      return inBatch((batch) => {
        const stream = batch.dispatch(call)
        return isToken(this.token) || standIn !== undefined
          ? ToolStream.runForEachArray(stream, Effect.forEach(this.tell, { discard: true }))
          : ToolStream.runResult(stream)
      })
    })
    return Effect.matchEffect(Effect.updateContext(dispatched, this.within(session)), {
      onSuccess: (result) => Effect.succeed(Forms.resultOf(result, this.protocolVersion)),
      onFailure: (error) => this.failed(error)
    })
  }

  /** What the call sees of where it comes from. Added one by one: to merge contexts costs more than all of it. */
  private within(session: Session) {
    return (caller: Context.Context<never>): Context.Context<never> => {
      const { clocks, permission, progress } = this.options
      const known = caller.pipe(
        Context.add(CurrentSession, session),
        Context.add(Client.CurrentClient, this),
        Context.add(ProgressPolicy.CurrentProgressPolicy, progress),
        Context.add(CurrentClocks, clocks)
      )
      const permitting = permission === undefined ? known : Context.add(known, Permission, permission(this))
      return Client.showsForms(this.capabilities)
        ? Context.add(permitting, Questions, Elicitation.question(this))
        : permitting
    }
  }

  readonly ask = (questions: Client.Questions, state?: string): Effect.Effect<Client.Answers, Client.NotAnswered> =>
    Effect.suspend(() => {
      if (Object.keys(questions).every((key) => Object.hasOwn(this.answers, key))) return Effect.succeed(this.answers)
      const reverse = Context.getOption(this.context, McpSchema.McpServerClient)
      if (Option.isSome(reverse)) return Client.askDirectly(reverse.value.getClient, questions)
      const asked = this.standIn?.ask(questions)
      if (asked !== undefined) return asked
      this.question ??= { questions, state }
      return Effect.andThen(Effect.forkDetach(this.options.runtime.cancel(this.callId, askedFirst)), Effect.never)
    })

  readonly log = (level: McpSchema.LoggingLevel, data: unknown): Effect.Effect<void> =>
    this.notify(this.options.server.notifications["notifications/message"]({ level, data }))

  /** It goes where the request came from, which effect knows by the context. */
  private notify<E>(notification: Effect.Effect<void, E>): Effect.Effect<void> {
    return Effect.ignore(Effect.updateContext(notification, (_: Context.Context<never>) => this.context))
  }

  private readonly tell = (value: unknown): Effect.Effect<void> => {
    const { standIn, token } = this
    const next = this.shown.next(value)
    return standIn?.progress(next.message) === true || !isToken(token)
      ? Effect.void
      : this.notify(this.options.server.notifications["notifications/progress"]({ progressToken: token, ...next }))
  }

  private failed(error: ToolError): Effect.Effect<Outcome> {
    const { question } = this
    if (question !== undefined) {
      const { questions: inputRequests, state } = question
      const sealed = this.options.seals.seal({
        tool: this.name,
        answers: this.answers,
        ...(state === undefined ? {} : { state })
      })
      return Effect.map(sealed, (requestState) => new McpSchema.InputRequired({ inputRequests, requestState }))
    }
    const result = Effect.succeed(Forms.failureOf(error, this.protocolVersion))
    return error.reason._tag === "ToolDefect" ? Effect.andThen(Effect.logError(error.message), result) : result
  }
}

const isToken = (token: unknown): token is string | number => typeof token === "string" || typeof token === "number"
