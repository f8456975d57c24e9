/**
 * Calls that go on without their request: the tasks extension of 2026-07-28.
 *
 * **Contract**
 *
 * - The server decides, and only for clients that declared the extension. A call that ends soon is
 *   answered at once; one that does not is a task, which nothing but `tasks/cancel`, its session's end
 *   or the server's ends.
 * - A task is durable before its client hears of it, as far as its store is: see `TaskStore`.
 * - Whoever knows the id may ask for the task: it is of 128 random bits beside the call's own.
 * - `tasks/cancel` returns when the call has ended. To cancel twice, or too late, changes nothing.
 *
 * **Source** MCP, ext-tasks (SEP-2663).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Terminal } from "../../src/ToolEvent.ts"
import { CurrentStandIn, type StandIn } from "./Call.ts"
import type * as Client from "./Client.ts"
import type { Connections } from "./Connections.ts"
import * as Forms from "./Forms.ts"
import { TaskStore } from "./TaskStore.ts"

/** MissingRequiredClientCapability. */
const missingCapability = -32021

/**
 * The name of the extension.
 *
 * @category constants
 * @since 0.1.0
 */
export const extension = "io.modelcontextprotocol/tasks"

/**
 * How calls of a tool become tasks.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  /** How long a call may take before it is one. 0: it is one as soon as it is accepted. */
  readonly after: Duration.Input
  /** A client that has not declared the extension cannot call the tool. Default: its calls are answered when they end. */
  readonly required?: boolean | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Undefined: never a task. */
  readonly policyOf: (tool: string) => Policy | undefined
  /** From its creation on a task is kept so long; if it runs longer, until it ends. Default: a day. */
  readonly ttl?: Duration.Input | undefined
  /** How often clients are told to ask. Default: a second. */
  readonly pollInterval?: Duration.Input | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Tasks {
  /** Runs a call, or says that it goes on. `inner` gives the JSON of its result. */
  readonly call: (tool: string, inner: Effect.Effect<Json, unknown>) => Answer
  readonly get: (taskId: string) => Answer
  readonly cancel: (taskId: string) => Answer
  readonly update: (taskId: string, answers: Client.Answers) => Answer
}

type Answer = Effect.Effect<Json, unknown, McpSchema.McpRequestContext>
type Json = Readonly<Record<string, unknown>>

type End =
  | { readonly status: "completed"; readonly result: Json }
  | { readonly status: "failed"; readonly error: { readonly code: number; readonly message: string } }
  | { readonly status: "cancelled" }

interface Asked {
  readonly question: Client.Questions[string]
  readonly answer: Deferred.Deferred<Client.Answers[string]>
}

/** A call that may go on without its request. */
class Task {
  id = ""
  readonly createdAt: number
  updatedAt: number
  /** Its request has been answered, or is about to be. */
  detached: boolean
  /** It asked its client by the request, and ends with that. */
  askedByRequest = false
  cancelled = false
  end: End | undefined
  message: string | undefined
  readonly asked = new Map<string, Asked>()
  readonly accepted = Deferred.makeUnsafe<void>()
  fiber: Fiber.Fiber<Json, unknown> | undefined
  private questions = 0
  private readonly clock: Clock.Clock

  constructor(clock: Clock.Clock, detached: boolean) {
    this.clock = clock
    this.detached = detached
    this.createdAt = this.updatedAt = clock.currentTimeMillisUnsafe()
  }

  readonly standIn: StandIn = {
    accepted: (call) =>
      Effect.sync(() => {
        this.id = `${call.callId}-${Base64Url.encode(crypto.getRandomValues(new Uint8Array(16)))}`
        Deferred.doneUnsafe(this.accepted, Effect.void)
        return { ...call, callId: this.id }
      }),
    progress: (message) => {
      if (this.detached) this.change(() => (this.message = message))
      return this.detached
    },
    ask: (questions) => {
      if (this.detached) return this.ask(questions)
      this.askedByRequest = true
      return undefined
    }
  }

  change(act: () => unknown): void {
    act()
    this.updatedAt = this.clock.currentTimeMillisUnsafe()
  }

  private ask(questions: Client.Questions): Effect.Effect<Client.Answers> {
    return Effect.suspend(() => {
      // A key is never used again.
      const asked = Object.entries(questions).map(
        ([name, question]) =>
          [
            name,
            `${++this.questions}-${name}`,
            { question, answer: Deferred.makeUnsafe<Client.Answers[string]>() }
          ] as const
      )
      this.change(() => asked.forEach(([_, key, one]) => this.asked.set(key, one)))
      return Effect.map(
        Effect.forEach(asked, ([name, , { answer }]) =>
          Effect.map(Deferred.await(answer), (given) => [name, given] as const)
        ),
        (answers): Client.Answers => Object.fromEntries(answers)
      ).pipe(Effect.ensuring(Effect.sync(() => this.change(() => asked.forEach(([_, key]) => this.asked.delete(key))))))
    })
  }

  get state(): Json {
    if (this.end !== undefined) return { ...this.end }
    return this.asked.size === 0
      ? { status: "working" }
      : {
          status: "input_required",
          inputRequests: Object.fromEntries(Array.from(this.asked, ([key, { question }]) => [key, question]))
        }
  }
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  { policyOf, pollInterval = "1 second", ttl = "1 day" }: Options,
  connections: Connections["Service"]
): Effect.Effect<Tasks, never, Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* TaskStore
    const scope = yield* Effect.scope
    const clock = yield* Clock.Clock
    const tasks = new Map<string, Task>()
    const terms = {
      ttlMs: Duration.toMillis(Duration.fromInputUnsafe(ttl)),
      pollIntervalMs: Duration.toMillis(Duration.fromInputUnsafe(pollInterval))
    }

    const shown = (task: Task): Json => ({
      taskId: task.id,
      createdAt: new Date(task.createdAt).toISOString(),
      lastUpdatedAt: new Date(task.updatedAt).toISOString(),
      ...terms,
      ...(task.message === undefined ? {} : { statusMessage: task.message })
    })

    const forget = (task: Task) =>
      Effect.sleep(Math.max(0, task.createdAt + terms.ttlMs - clock.currentTimeMillisUnsafe())).pipe(
        Effect.andThen(task.fiber === undefined ? Effect.void : Fiber.await(task.fiber)),
        Effect.andThen(Effect.sync(() => tasks.delete(task.id))),
        Effect.forkIn(scope)
      )

    const begin = ({ after }: Policy, inner: Effect.Effect<Json, unknown>): Effect.Effect<Json, unknown> =>
      connections.use(({ session }) =>
        Effect.gen(function* () {
          const wait = Duration.fromInputUnsafe(after)
          const task = new Task(clock, Duration.isZero(wait))
          const fiber = yield* inner.pipe(
            Effect.provideService(CurrentStandIn, task.standIn),
            Effect.forkIn(session.scope)
          )
          const ended = Fiber.await(fiber)
          return yield* Effect.gen(function* () {
            const later = Effect.andThen(Deferred.await(task.accepted), Effect.sleep(wait))
            const soon = yield* Effect.raceFirst(Effect.asSome(ended), Effect.as(later, Option.none()))
            // One that is a task in any case is one that has ended already, once it was accepted.
            if (Option.isSome(soon) && (task.id === "" || !Duration.isZero(wait))) return yield* soon.value
            task.detached = true
            if (task.askedByRequest) return yield* yield* ended
            yield* store.created(task.id)
            task.fiber = fiber
            tasks.set(task.id, task)
            fiber.addObserver((exit) => task.change(() => (task.end = endOf(task, exit))))
            yield* forget(task)
            return { resultType: "task", ...shown(task), status: "working" }
          }).pipe(Effect.onInterrupt(() => (tasks.has(task.id) ? Effect.void : Fiber.interrupt(fiber))))
        })
      )

    /** What is left of a task of a process that is gone, or runs in another. */
    const elsewhere = (taskId: string): Effect.Effect<Json, Failure> =>
      Effect.flatMap(store.read(taskId), (found) => {
        if (Option.isNone(found)) return Effect.fail(failure(McpSchema.INVALID_PARAMS_ERROR_CODE, "Task not found"))
        const at = new Date(madeAt(taskId)).toISOString()
        const task = { taskId, createdAt: at, lastUpdatedAt: at, ...terms }
        return found.value === "open"
          ? Effect.succeed({ ...task, status: "working" })
          : Effect.succeed({ ...task, ...endOfTerminal(found.value) })
      })

    const forClient =
      (run: (taskId: string) => Effect.Effect<Json, unknown>) =>
      (taskId: string): Answer =>
        Effect.gen(function* () {
          const http = yield* Effect.serviceOption(HttpServerRequest.HttpServerRequest)
          if (Option.isSome(http) && McpServer.decodeNameHeader(http.value.headers["mcp-name"] ?? "") !== taskId) {
            return yield* Effect.fail(
              failure(McpSchema.HEADER_MISMATCH_ERROR_CODE, "Mcp-Name header does not match params.taskId")
            )
          }
          if (!(yield* declared)) return yield* missing
          return { resultType: "complete", ...(yield* run(taskId)) }
        })

    /** Runs it on a task of this process; for others it does nothing but to make sure that they exist. */
    const onTask = (act: (task: Task) => Effect.Effect<void>) =>
      forClient((taskId) => {
        const task = tasks.get(taskId)
        return Effect.as(task === undefined ? Effect.asVoid(elsewhere(taskId)) : act(task), {})
      })

    return {
      call: (tool, inner) => {
        const policy = policyOf(tool)
        return policy === undefined
          ? inner
          : Effect.flatMap(declared, (declared) =>
              declared ? begin(policy, inner) : policy.required === true ? missing : inner
            )
      },
      get: forClient((taskId) => {
        const task = tasks.get(taskId)
        return task === undefined ? elsewhere(taskId) : Effect.succeed({ ...shown(task), ...task.state })
      }),
      cancel: onTask((task) =>
        Effect.suspend(() => {
          if (task.end !== undefined || task.fiber === undefined) return Effect.void
          task.cancelled = true
          return Effect.asVoid(Fiber.interrupt(task.fiber))
        })
      ),
      update: (taskId, answers) =>
        onTask((task) =>
          Effect.forEach(
            Object.entries(answers),
            ([key, answer]) => {
              const asked = task.asked.get(key)
              if (asked === undefined) return Effect.void
              task.change(() => task.asked.delete(key))
              return Deferred.succeed(asked.answer, answer)
            },
            { discard: true }
          )
        )(taskId)
    }
  })

interface Failure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

const failure = (code: number, message: string, data?: unknown): Failure =>
  data === undefined ? { code, message } : { code, message, data }

const declared = Effect.map(McpSchema.McpRequestContext, ({ clientCapabilities, requestMetadata }) => {
  const stated = fieldsOf(requestMetadata?.["io.modelcontextprotocol/clientCapabilities"])["extensions"]
  return extension in { ...fieldsOf(stated), ...fieldsOf(clientCapabilities.extensions) }
})

const missing = Effect.fail(
  failure(missingCapability, "The client has to declare the tasks extension", {
    requiredCapabilities: { extensions: { [extension]: {} } }
  })
)

const fieldsOf = (value: unknown): Json => (typeof value === "object" && value !== null ? { ...value } : {})

const internalError = { code: McpSchema.INTERNAL_ERROR_CODE, message: "Internal error" }

const endOf = (task: Task, exit: Exit.Exit<Json, unknown>): End => {
  if (Exit.isSuccess(exit)) return endOfResult(exit.value)
  if (Cause.hasInterrupts(exit.cause)) {
    return task.cancelled
      ? { status: "cancelled" }
      : { status: "failed", error: { ...internalError, message: "The session, or the server, has ended." } }
  }
  const { code, message } = fieldsOf(Cause.squash(exit.cause))
  return {
    status: "failed",
    error: typeof code === "number" && typeof message === "string" ? { code, message } : internalError
  }
}

/** A result is `completed`, whatever it says; but one that was lost is none. */
const endOfResult = ({ _meta, resultType: _, ...result }: Json): End => {
  const { [Forms.errorKey]: error, "io.modelcontextprotocol/serverInfo": _server, ...meta } = fieldsOf(_meta)
  const { message, reason } = fieldsOf(error)
  if (fieldsOf(reason)["_tag"] === "Lost") {
    return { status: "failed", error: { code: McpSchema.INTERNAL_ERROR_CODE, message: String(message) } }
  }
  const kept = error === undefined ? meta : { ...meta, [Forms.errorKey]: error }
  return { status: "completed", result: Object.keys(kept).length === 0 ? result : { ...result, _meta: kept } }
}

const endOfTerminal = ({ result }: Terminal): End =>
  endOfResult({
    ...(result._tag === "Success"
      ? Forms.resultOf(result, "2026-07-28", Forms.base64)
      : Forms.failureOf(result.error, "2026-07-28", Forms.base64))
  })

/** An id begins with the time that it was made. */
const madeAt = (taskId: string): number => parseInt(taskId.replaceAll("-", "").slice(0, 12), 16) || 0
