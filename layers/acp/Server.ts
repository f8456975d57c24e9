/**
 * An agent of the Agent Client Protocol, version 1: an editor drives conversations with a
 * model that uses the tools.
 *
 * **Contract**
 *
 * - A connection has many sessions, each in a workspace of its own. Their turns run side by
 *   side: one that waits, for its user or for its client's files, delays no other.
 * - The updates of a session are sent in the order in which things happen, each when the
 *   one before is on its way. The answer to a prompt comes after its last update, once;
 *   after a cancel it is `cancelled`, whatever had happened by then.
 * - When the connection ends, its sessions end: what runs is cancelled and has its results,
 *   in the log. They can be loaded again.
 *
 * **Source** ACP v1, https://agentclientprotocol.com, and its schema.
 *
 * @since 0.1.0
 */
import {
  agent,
  type AgentContext,
  type ClientCapabilities,
  type McpServer,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type SessionModeState,
  type Stream as Wire
} from "@agentclientprotocol/sdk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as FileSystem from "effect/FileSystem"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Clocks, CurrentClocks } from "../../src/Clocks.ts"
import { Records } from "../../src/Journal.ts"
import { Mode } from "../../src/Mode.ts"
import { Permission } from "../../src/Permission.ts"
import { coalesceAsDeclared, CurrentProgressPolicy } from "../../src/ProgressPolicy.ts"
import { Questions } from "../../src/Questions.ts"
import * as Session from "../../src/Session.ts"
import type * as ToolEvent from "../../src/ToolEvent.ts"
import type { ToolRegistry } from "../../src/ToolRegistry.ts"
import type { ToolRuntime } from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Conversation from "../agent/Conversation.ts"
import * as History from "../agent/History.ts"
import * as Recall from "../agent/Recall.ts"
import type { Sampler } from "../agent/Sampler.ts"
import type { TurnEvent } from "../agent/Turn.ts"
import { CurrentClient } from "./Client.ts"
import * as Connection from "./Connection.ts"
import type { Mapping, TurnView } from "./Mapping.ts"
import { Sessions } from "./Sessions.ts"
import * as V1 from "./V1.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly name: string
  readonly version: string
  /** How each conversation is held. */
  readonly conversation?: ((workspace: string) => Omit<Conversation.Options, "log" | "records" | "wakes">) | undefined
  /** Whether its user is asked for permission. Default: true. Else whoever the layers below say is. */
  readonly asks?: boolean | undefined
  /** Of every call. */
  readonly clocks?: Clocks | undefined
  /** Default: that of version 1. */
  readonly mapping?: Mapping | undefined
}

/** A session of the connection. */
interface Live {
  readonly session: Session.Session
  readonly scope: Scope.Closeable
  readonly conversation: Conversation.Conversation
  readonly absolute: (path: string) => string
  /** The prompt that is being answered. */
  prompt: { cancelled: boolean; readonly view: TurnView } | undefined
  /** The mode that the client knows. */
  mode: Mode
  /** Said before the next answer, once. */
  notice: string | undefined
}

const modes: SessionModeState["availableModes"] = [
  { id: "ask", name: "Ask", description: "Asks before it changes files or runs commands" },
  { id: "auto-edit", name: "Edit files", description: "Changes files of the workspace unasked, and asks for the rest" },
  { id: "read-only", name: "Read only", description: "Changes nothing" },
  { id: "plan", name: "Plan", description: "Changes nothing but its plan, until you approve of that" }
]

const modeState = (currentModeId: Mode): SessionModeState => ({ currentModeId, availableModes: modes })

const isMode = Schema.is(Mode)

/** Why a turn ends when its client says so. */
const cancelledBy = "the user cancelled the turn"
const leftBy = "the editor left"

/**
 * What a server stands on.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Sampler | ToolRegistry | ToolRuntime | Sessions | FileSystem.FileSystem | Path.Path

/**
 * Serves one client, until its connection ends.
 *
 * @category running
 * @since 0.1.0
 */
export const serve = Effect.fn("acp.serve")(function* (wire: Wire, options: Options) {
  const { asks: asksUser = true, mapping = V1.mapping } = options
  const path = yield* Path.Path
  const fs = yield* FileSystem.FileSystem
  const sessions = yield* Sessions
  const journal = Option.getOrUndefined(yield* Effect.serviceOption(Records))
  const recall =
    journal === undefined
      ? undefined
      : yield* Effect.catch(Effect.provideService(Recall.make, Records, journal), (error) =>
          Effect.as(Effect.logError("the journal tells nothing of calls that were open", error), undefined)
        )
  const run = yield* FiberSet.makeRuntimePromise<Services, unknown, RequestError>()
  const lives = new Map<string, Live>()
  let offered: ClientCapabilities = {}

  // ---------------------------------------------------------------------------
  // Sessions
  // ---------------------------------------------------------------------------

  const find = (sessionId: string) => {
    const live = lives.get(sessionId)
    return live === undefined ? Effect.fail(RequestError.sessionNotFound(sessionId)) : Effect.succeed(live)
  }

  const workspaceAt = (cwd: string) =>
    path.isAbsolute(cwd)
      ? Effect.flatMap(Effect.option(fs.stat(cwd)), (stats) =>
          Option.isSome(stats) && stats.value.type === "Directory"
            ? Effect.succeed(path.resolve(cwd))
            : invalid(`cwd: ${cwd} is not a directory`)
        )
      : invalid(`cwd: ${cwd} is not absolute`)

  const begin = Effect.fnUntraced(function* (
    asked: { readonly cwd: string; readonly mcpServers: ReadonlyArray<McpServer> },
    kept?: { readonly sessionId: string; readonly records: Conversation.Options["records"] }
  ) {
    const workspace = yield* workspaceAt(asked.cwd)
    const own = yield* Scope.make()
    const live = yield* Effect.gen(function* () {
      const session = yield* Session.make({ workspace, id: kept?.sessionId })
      const conversation = yield* Effect.provideService(
        Conversation.make({
          recover: recall,
          ...options.conversation?.(workspace),
          log: sessions.open({ sessionId: session.id, workspace }),
          records: kept?.records ?? []
        }),
        Session.CurrentSession,
        session
      )
      return { session, conversation }
    }).pipe(
      Scope.provide(own),
      Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
    )
    const begun: Live = {
      ...live,
      scope: own,
      absolute: (given) => path.resolve(workspace, given),
      prompt: undefined,
      mode: live.session.mode.now(),
      notice: noticeOf(asked.mcpServers)
    }
    lives.set(live.session.id, begun)
    return begun
  })

  /** What runs is ended before what it stands on. */
  const end = (live: Live, why: string) =>
    Effect.suspend(() => {
      lives.delete(live.session.id)
      return Effect.andThen(cancel(live, why), Scope.close(live.scope, Exit.void))
    })

  /** How the journal says that a call ended. */
  const terminalOf = (callId: string): Effect.Effect<ToolEvent.Terminal | undefined> =>
    journal === undefined
      ? Effect.undefined
      : journal.events(callId).pipe(
          Stream.filter((event) => event._tag === "Terminal"),
          Stream.runHead,
          Effect.map(Option.getOrUndefined),
          Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.undefined }),
          Effect.orElseSucceed(() => undefined)
        )

  const load = Effect.fnUntraced(function* (
    params: {
      readonly sessionId: string
      readonly cwd: string
      readonly mcpServers: ReadonlyArray<McpServer>
    },
    client: AgentContext
  ) {
    const { sessionId } = params
    const before = lives.get(sessionId)
    if (before?.prompt !== undefined) return yield* refused("the session is answering a prompt")
    const live =
      before ??
      (yield* Effect.flatMap(sessions.records(sessionId), (records) =>
        Option.isNone(records)
          ? Effect.fail(RequestError.sessionNotFound(sessionId))
          : begin(params, { sessionId, records: records.value })
      ))
    const history = yield* live.conversation.history
    const terminals = new Map<string, ToolEvent.Terminal | undefined>()
    for (const { callId } of history.flatMap(History.callsOf)) terminals.set(callId, yield* terminalOf(callId))
    for (const update of mapping.replay(history, (callId) => terminals.get(callId)?.result, live.absolute)) {
      yield* Connection.tell({ client, sessionId }, update)
    }
    return { modes: modeState(live.session.mode.now()) }
  })

  // ---------------------------------------------------------------------------
  // Turns
  // ---------------------------------------------------------------------------

  /** Ends the turn, also if it has not begun: then at its first event. */
  const cancel = (live: Live, why: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (live.prompt === undefined) return Effect.void
      live.prompt.cancelled = true
      return Effect.asVoid(live.conversation.cancel(why))
    })

  const answer = Effect.fnUntraced(function* (
    live: Live,
    view: TurnView,
    content: ReturnType<Mapping["prompt"]>,
    client: AgentContext
  ) {
    const { conversation, session } = live
    const sessionId = session.id
    const to = { client, sessionId }
    const asking: Connection.Asking = { ...to, offered, mapping, absolute: live.absolute }
    const ends = cancel(live, cancelledBy)
    const tellAll = (updates: ReturnType<TurnView["event"]>) =>
      Effect.forEach(updates, (update) => Connection.tell(to, update), { discard: true })

    const tellEvent = Effect.fnUntraced(function* (event: TurnEvent) {
      // It was asked for before there was a turn to end.
      if (live.prompt?.cancelled === true && event._tag === "Said") yield* Effect.forkDetach(ends)
      yield* tellAll(view.event(event))
      const mode = session.mode.now()
      if (event._tag !== "Terminal" || mode === live.mode) return
      live.mode = mode
      yield* Connection.tell(to, { sessionUpdate: "current_mode_update", currentModeId: mode })
    })

    if (live.notice !== undefined) {
      const { notice } = live
      live.notice = undefined
      yield* Connection.tell(to, {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text: `${notice}\n\n` }
      })
    }
    yield* conversation.say(content)
    const permit = Connection.permission(asking, ends)
    const turn = ToolStream.runForEachArray(conversation.turn, (events) =>
      Effect.forEach(events, tellEvent, { discard: true })
    ).pipe(
      asksUser
        ? Effect.provideService(Permission, (question) =>
            Effect.tap(permit(question), ({ _tag }) =>
              _tag === "Allowed" ? tellAll(view.started(question.call.callId)) : Effect.void
            )
          )
        : identity,
      Effect.provideService(Questions, Connection.questions(asking, ends)),
      Effect.provideService(
        CurrentClient,
        Connection.client(asking, (callId, terminalId) => tellAll(view.attached(callId, terminalId)))
      ),
      Effect.provideService(CurrentClocks, options.clocks ?? {}),
      // Each update carries all of its text: what waits for a slow client is one.
      Effect.provideService(CurrentProgressPolicy, coalesceAsDeclared),
      Effect.result
    )
    const result = yield* turn
    yield* tellAll(view.ended())
    if (live.prompt?.cancelled === true) return mapping.stopped({ _tag: "Cancelled", why: cancelledBy })
    return result._tag === "Success"
      ? mapping.stopped(result.success.stop)
      : yield* Effect.fail(RequestError.internalError({ reason: result.failure.reason._tag }, result.failure.message))
  })

  /** The request of a prompt may be cancelled by itself, as any request. */
  const prompt = Effect.fnUntraced(function* (
    params: { readonly sessionId: string; readonly prompt: Parameters<Mapping["prompt"]>[0] },
    withdrawn: AbortSignal,
    client: AgentContext
  ) {
    const live = yield* find(params.sessionId)
    if (live.prompt !== undefined) return yield* refused("the session is answering a prompt")
    const content = mapping.prompt(params.prompt)
    if (content.length === 0) return yield* invalid("the prompt is empty")
    const view = mapping.view(live.absolute)
    live.prompt = { cancelled: false, view }
    return yield* Effect.raceFirst(
      answer(live, view, content, client),
      Effect.andThen(
        Effect.flatMap(aborted(withdrawn), (reason) =>
          cancel(live, reason instanceof RequestError ? cancelledBy : leftBy)
        ),
        Effect.never
      )
    ).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          live.prompt = undefined
        })
      )
    )
  })

  // ---------------------------------------------------------------------------
  // The connection
  // ---------------------------------------------------------------------------

  const connection = agent({ name: options.name })
    .onRequest(methods.agent.initialize, ({ params }) => {
      offered = params.clientCapabilities ?? {}
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: options.name, version: options.version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, audio: false, embeddedContext: true },
          mcpCapabilities: { http: false, sse: false },
          sessionCapabilities: { close: {} }
        },
        authMethods: []
      }
    })
    .onRequest(methods.agent.session.new, ({ params }) =>
      run(Effect.map(begin(params), ({ session }) => ({ sessionId: session.id, modes: modeState(session.mode.now()) })))
    )
    .onRequest(methods.agent.session.load, ({ client, params }) => run(load(params, client)))
    .onRequest(methods.agent.session.close, ({ params }) =>
      run(
        Effect.as(
          Effect.flatMap(find(params.sessionId), (live) => end(live, "the session was closed")),
          {}
        )
      )
    )
    .onRequest(methods.agent.session.setMode, ({ params: { modeId, sessionId } }) =>
      run(
        Effect.gen(function* () {
          const live = yield* find(sessionId)
          if (!isMode(modeId)) return yield* invalid(`modeId: one of ${Mode.literals.join(", ")}`)
          yield* live.session.mode.set(modeId)
          live.mode = modeId
          return {}
        })
      )
    )
    .onRequest(methods.agent.session.prompt, ({ client, params, signal }) => run(prompt(params, signal, client)))
    .onNotification(methods.agent.session.cancel, ({ params }) =>
      run(
        Effect.suspend(() => {
          const live = lives.get(params.sessionId)
          return live === undefined ? Effect.void : cancel(live, cancelledBy)
        })
      )
    )
    .connect(wire)
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      Effect.sync(() => connection.close()),
      Effect.forEach([...lives.values()], (live) => end(live, leftBy), {
        concurrency: "unbounded",
        discard: true
      })
    )
  )
  yield* Effect.promise(() => connection.closed)
}, Effect.scoped)

/** How long a journal is asked about a call that has not ended there. */
const patience = "2 seconds"

const invalid = (why: string) => Effect.fail(RequestError.invalidParams(undefined, why))

const refused = (why: string) => Effect.fail(RequestError.invalidRequest(undefined, why))

/** Waits, and gives the reason: of a connection that has ended it is no error of a request. */
const aborted = (signal: AbortSignal): Effect.Effect<unknown> =>
  Effect.callback((resume) => {
    const done = () => resume(Effect.sync((): unknown => signal.reason))
    if (signal.aborted) return done()
    signal.addEventListener("abort", done, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", done))
  })

/** A word on what the client wants mounted and is not. */
const noticeOf = (servers: ReadonlyArray<McpServer>): string | undefined =>
  servers.length === 0
    ? undefined
    : `(The MCP servers of the editor are not used here: ${servers.map(({ name }) => name).join(", ")}.)`
