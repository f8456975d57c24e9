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
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as McpSchema from "effect/ai/McpSchema"
import type * as McpServer from "effect/ai/McpServer"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type Clocks, CurrentClocks } from "../../src/Clocks.ts"
import { type Ask, Permission } from "../../src/Permission.ts"
import * as ProgressPolicy from "../../src/ProgressPolicy.ts"
import { Questions } from "../../src/Questions.ts"
import { CurrentSession, type Session } from "../../src/Session.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import type { ToolError } from "../../src/ToolError.ts"
import type { ToolResult } from "../../src/ToolResult.ts"
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
  readonly clocks: Clocks | undefined
}

/** What a call came to. */
export type Outcome<Bytes> = Forms.CallResult<Bytes> | McpSchema.InputRequired

const askedFirst = "the client was asked, and makes the call again with its answer"

/**
 * What a call came to that was run past effect's table of tools, if it has to go through it after all: only effect says
 * how a client is asked.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentOutcome = Context.Reference<McpSchema.InputRequired | undefined>("toolstream/mcp/CurrentOutcome", {
  defaultValue: () => undefined
})

/**
 * As effect's server has it called: by what is in its table of tools.
 *
 * @category running
 * @since 0.1.0
 */
export const run = (
  options: Options,
  connection: Connection,
  name: string,
  parameters: unknown
): Effect.Effect<
  McpSchema.CallToolResult | McpSchema.InputRequired,
  McpSchema.InvalidParams,
  McpSchema.McpRequestContext
> =>
  Effect.withFiber((fiber) => {
    const context = fiber.context as Context.Context<McpSchema.McpRequestContext>
    const outcome = Context.get(context, CurrentOutcome)
    if (outcome !== undefined) return Effect.succeed(outcome)
    const request = Context.get(context, McpSchema.McpRequestContext)
    const id = Context.get(context, CurrentRequestId)
    const begin = (before: Before) =>
      new Request(options, context, request, id, name, before, Forms.bytes).run(connection, parameters)
    const { inputResponses, requestState } = request
    if (requestState !== undefined) {
      return Effect.flatMap(opened(options.seals, name, requestState), ({ answers, state }) =>
        begin({ answers: { ...answers, ...inputResponses }, state })
      )
    }
    return begin(inputResponses === undefined ? nothing : { answers: inputResponses, state: undefined })
  })

/**
 * As a client called it first, past effect's table of tools. The result is as it is on the wire, but for what a revision
 * adds to it.
 *
 * @category running
 * @since 0.1.0
 */
export const runForClient = (
  options: Options,
  connection: Connection,
  name: string,
  parameters: unknown,
  id: string | number
): Effect.Effect<Outcome<string>, never, McpSchema.McpRequestContext> =>
  Effect.withFiber((fiber) => {
    const context = fiber.context as Context.Context<McpSchema.McpRequestContext>
    // What the request says of itself, effect has put there up to 2025-11-25.
    const told =
      Context.getOrUndefined(context, McpSchema.McpServerClient) ?? Context.get(context, McpSchema.McpRequestContext)
    const request = new Request(options, context, told, id, name, nothing, Forms.base64)
    return Effect.onExitPrimitive(request.run(connection, parameters), logged)
  })

/** What breaks here is told to the client as an internal error, and to nobody else. */
const logged = (exit: Exit.Exit<unknown>): Effect.Effect<void> | undefined =>
  Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause) ? Effect.logError(exit.cause) : undefined

/** What is told with a request: of its client, and by it. */
type Told = Pick<McpSchema.McpRequestContext["Service"], "protocolVersion" | "clientCapabilities" | "requestMetadata">

interface Before {
  readonly answers: Client.Answers
  readonly state: string | undefined
}

const nothing: Before = { answers: {}, state: undefined }

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

/** One request, and its client as tools see it. Most calls ask nothing and tell nothing: what that needs is made when it is used. */
class Request<Bytes> implements Client.Client {
  private readonly options: Options
  private readonly context: Context.Context<never>
  private readonly request: Told
  private readonly id: string | number | undefined
  private readonly name: string
  private readonly before: Before
  private readonly bytesOf: Forms.BytesOf<Bytes>
  private callId = ""
  /** What ended the call: its question. */
  private question: { readonly questions: Client.Questions; readonly state: string | undefined } | undefined

  constructor(
    options: Options,
    context: Context.Context<never>,
    request: Told,
    id: string | number | undefined,
    name: string,
    before: Before,
    bytesOf: Forms.BytesOf<Bytes>
  ) {
    this.options = options
    this.context = context
    this.request = request
    this.id = id
    this.name = name
    this.before = before
    this.bytesOf = bytesOf
  }

  get protocolVersion() {
    return this.request.protocolVersion
  }

  get capabilities() {
    return this.request.clientCapabilities
  }

  get answers() {
    return this.before.answers
  }

  get state() {
    return this.before.state
  }

  run(connection: Connection, parameters: unknown): Effect.Effect<Outcome<Bytes>> {
    const { context, id } = this
    const token = this.request.requestMetadata?.["progressToken"]
    const standIn = Context.get(context, CurrentStandIn)
    const telling = isToken(token) || standIn !== undefined ? { token, standIn } : undefined
    const call = ToolCall.makeUnsafe(connection.session, {
      name: this.name,
      parameters,
      externalId: id === undefined ? undefined : String(id)
    })
    const dispatched =
      standIn === undefined
        ? this.dispatch(connection, call, telling)
        : Effect.flatMap(standIn.accepted(call), (accepted) => this.dispatch(connection, accepted, telling))
    return Effect.matchEffect(
      Effect.updateContext(dispatched, (caller) => this.within(caller, connection.session, telling)),
      {
        onSuccess: (result) => Exit.succeed(Forms.resultOf(result, this.protocolVersion, this.bytesOf)),
        onFailure: (error) => this.failed(error)
      }
    )
  }

  private dispatch(
    connection: Connection,
    call: ToolCall.ToolCall,
    telling: Telling | undefined
  ): Effect.Effect<ToolResult, ToolError> {
    this.callId = call.callId
    return connection.inBatch((batch) => {
      const stream = batch.dispatch(call)
      return telling === undefined
        ? ToolStream.runResult(stream)
        : ToolStream.runForEachArray(stream, Effect.forEach(this.teller(telling), { discard: true }))
    })
  }

  /**
   * What the call sees of where it comes from, but for what its caller has already. Added one by one: to merge contexts
   * costs more than all of it.
   */
  private within(
    caller: Context.Context<never>,
    session: Session,
    telling: Telling | undefined
  ): Context.Context<never> {
    const { clocks, permission, progress } = this.options
    let known = Context.add(caller, Client.CurrentClient, this)
    if (Context.get(caller, CurrentSession) !== session) known = Context.add(known, CurrentSession, session)
    if (telling !== undefined) known = Context.add(known, ProgressPolicy.CurrentProgressPolicy, progress)
    if (clocks !== undefined) known = Context.add(known, CurrentClocks, clocks)
    if (permission !== undefined) known = Context.add(known, Permission, permission(this))
    return Client.showsForms(this.capabilities) ? Context.add(known, Questions, Elicitation.question(this)) : known
  }

  get ask() {
    return (questions: Client.Questions, state?: string): Effect.Effect<Client.Answers, Client.NotAnswered> =>
      Effect.suspend(() => {
        if (Object.keys(questions).every((key) => Object.hasOwn(this.answers, key))) return Effect.succeed(this.answers)
        const reverse = Context.getOption(this.context, McpSchema.McpServerClient)
        if (Option.isSome(reverse)) return Client.askDirectly(reverse.value.getClient, questions)
        const asked = Context.get(this.context, CurrentStandIn)?.ask(questions)
        if (asked !== undefined) return asked
        this.question ??= { questions, state }
        return Effect.andThen(Effect.forkDetach(this.options.runtime.cancel(this.callId, askedFirst)), Effect.never)
      })
  }

  get log() {
    return (level: McpSchema.LoggingLevel, data: unknown): Effect.Effect<void> =>
      this.notify(this.options.server.notifications["notifications/message"]({ level, data }))
  }

  /** It goes where the request came from, which effect knows by the context. */
  private notify<E>(notification: Effect.Effect<void, E>): Effect.Effect<void> {
    return Effect.ignore(Effect.updateContext(notification, (_: Context.Context<never>) => this.context))
  }

  private teller({ standIn, token }: Telling): (value: unknown) => Effect.Effect<void> {
    const shown = new Progress()
    return (value) => {
      const next = shown.next(value)
      return standIn?.progress(next.message) === true || !isToken(token)
        ? Effect.void
        : this.notify(this.options.server.notifications["notifications/progress"]({ progressToken: token, ...next }))
    }
  }

  private failed(error: ToolError): Effect.Effect<Outcome<Bytes>> {
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
    const result = Effect.succeed(Forms.failureOf(error, this.protocolVersion, this.bytesOf))
    return error.reason._tag === "ToolDefect" ? Effect.andThen(Effect.logError(error.message), result) : result
  }
}

/** Who is told of the progress of a call. */
interface Telling {
  readonly token: unknown
  readonly standIn: StandIn | undefined
}

const isToken = (token: unknown): token is string | number => typeof token === "string" || typeof token === "number"
