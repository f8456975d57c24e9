import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { CurrentClient } from "../../../layers/mcp/Client.ts"
import * as Revisions from "../../../layers/mcp/Revisions.ts"
import * as TaskRpcs from "../../../layers/mcp/TaskRpcs.ts"
import type * as Tasks from "../../../layers/mcp/Tasks.ts"
import * as TaskStore from "../../../layers/mcp/TaskStore.ts"
import * as MemoryJournal from "../../../layers/journal/MemoryJournal.ts"
import * as Journal from "../../../src/Journal.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { emitThenHang, type Play, runtime } from "../../Harness.ts"
import { lines, type Message, meta } from "./Wire.ts"

const declares = { extensions: { "io.modelcontextprotocol/tasks": {} } }

const call = (id: string, name: string, capabilities: object = declares) => ({
  id,
  method: "tools/call",
  params: { name, arguments: {}, ...meta(capabilities) }
})
const request = (id: string, method: string, taskId: unknown, more: object = {}) => ({
  id,
  method: `tasks/${method}`,
  params: { taskId, ...more, ...meta(declares) }
})

const policies: Readonly<Record<string, Tasks.Policy>> = {
  slow: { after: "5 seconds" },
  hangs: { after: "5 seconds" },
  asks: { after: 0 },
  fails: { after: 0 },
  must: { after: "5 seconds", required: true }
}
const tasks: Tasks.Options = { policyOf: (tool) => policies[tool], ttl: "1 hour" }

const slow: Play = () =>
  ToolStream.callback((emit) => Effect.as(Effect.andThen(emit(1), Effect.sleep("1 minute")), [1]))

const asks: Play = () =>
  ToolStream.fromEffect(
    Effect.gen(function* () {
      const client = yield* CurrentClient
      const answers = yield* Effect.orDie(
        client!.ask({
          name: {
            method: "elicitation/create",
            params: { mode: "form", message: "n?", requestedSchema: { type: "object", properties: {} } }
          }
        })
      )
      return [Number((answers["name"]!["content"] as { readonly n: number }).n)]
    })
  )

/** What comes of it in so many ms, in small steps: nobody knows when it begins to wait. */
const within = <A, E>(ms: number, effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    for (let i = 0; fiber.pollUnsafe() === undefined && i < 20; i++) yield* TestClock.adjust(ms / 10)
    return yield* Fiber.join(fiber)
  })

/** Until so many calls are in flight. */
const inFlight = (built: Effect.Success<ReturnType<typeof runtime>>, count: number) =>
  Effect.gen(function* () {
    for (let i = 0; (yield* built.runtime.inFlight).length !== count && i < 100; i++) yield* TestClock.adjust(1)
    assert.strictEqual((yield* built.runtime.inFlight).length, count)
  })

const resultOf = ({ response }: { readonly response: Message }) => {
  assert(response.result !== undefined, JSON.stringify(response))
  return response.result
}

describe("tasks", () => {
  it.effect("a call that ends soon is answered; one that does not is a task, and its result is asked for", () =>
    Effect.gen(function* () {
      const built = yield* runtime({ slow, quick: () => ToolStream.succeed([3]) })
      const { ask, written } = yield* lines(built, { tasks })
      assert.deepInclude(resultOf(yield* ask(call("1", "quick"))), { resultType: "complete" })

      const created = resultOf(yield* within(5_000, ask(call("2", "slow"))))
      assert.deepInclude(created, { resultType: "task", status: "working", ttlMs: 3_600_000, pollIntervalMs: 1_000 })
      const { taskId } = created
      assert.match(String(taskId), /^[\w-]{59}$/)
      assert.deepInclude(resultOf(yield* ask(request("3", "get", taskId))), { status: "working", taskId })
      yield* inFlight(built, 1)

      yield* TestClock.adjust("1 minute")
      const ended = resultOf(yield* ask(request("4", "get", taskId)))
      assert.deepInclude(ended, { resultType: "complete", status: "completed" })
      assert.deepInclude(ended["result"], { isError: false, structuredContent: [1] })
      // What was not asked for was not sent.
      assert.deepStrictEqual(yield* written, [])

      yield* TestClock.adjust("1 hour")
      const gone = (yield* ask(request("5", "get", taskId))).response
      assert.strictEqual(gone.error?.code, -32602)
    })
  )

  it.effect("whoever has not declared the extension gets results, and nothing of what needs it", () =>
    Effect.gen(function* () {
      const { ask } = yield* lines(yield* runtime({ slow, must: slow }), { tasks })
      assert.deepInclude(resultOf(yield* within(70_000, ask(call("1", "slow", {})))), { resultType: "complete" })
      const { error } = (yield* ask(call("2", "must", {}))).response
      assert.strictEqual(error?.code, -32021)
      assert.deepStrictEqual(error?.data, { requiredCapabilities: declares })
    })
  )

  it.effect("cancelling ends the call before it is acknowledged; again, or too late, changes nothing", () =>
    Effect.gen(function* () {
      const built = yield* runtime({ hangs: emitThenHang, fails: () => ToolStream.fail("no") })
      const { ask } = yield* lines(built, { tasks })
      const { taskId } = resultOf(yield* within(5_000, ask(call("1", "hangs"))))
      for (const id of ["2", "3"]) {
        assert.deepStrictEqual(resultOf(yield* ask(request(id, "cancel", taskId))), { resultType: "complete" })
        assert.deepStrictEqual(yield* built.runtime.inFlight, [])
      }
      assert.deepInclude(resultOf(yield* ask(request("4", "get", taskId))), { status: "cancelled" })

      const failed = resultOf(yield* ask(call("5", "fails")))
      yield* ask(request("6", "cancel", failed["taskId"]))
      const kept = resultOf(yield* ask(request("7", "get", failed["taskId"])))
      assert.strictEqual(kept["status"], "completed")
      assert.deepInclude(kept["result"], { isError: true })
      assert.strictEqual((yield* ask(request("8", "cancel", "no such"))).response.error?.code, -32602)
    })
  )

  it.effect("cancelling the request ends a call that is no task yet, and not one that is", () =>
    Effect.gen(function* () {
      const built = yield* runtime({ hangs: emitThenHang })
      const { ask, send } = yield* lines(built, { tasks })
      yield* send(call("1", "hangs"))
      yield* inFlight(built, 1)
      yield* send({ method: "notifications/cancelled", params: { requestId: "1", ...meta(declares) } })
      yield* inFlight(built, 0)

      const { taskId } = resultOf(yield* within(5_000, ask(call("2", "hangs"))))
      yield* send({ method: "notifications/cancelled", params: { requestId: "2", ...meta(declares) } })
      assert.deepInclude(resultOf(yield* ask(request("3", "get", taskId))), { status: "working" })
      yield* inFlight(built, 1)
    })
  )

  it.effect("a task that asks waits for tasks/update", () =>
    Effect.gen(function* () {
      const { ask } = yield* lines(yield* runtime({ asks }), { tasks })
      const { taskId } = resultOf(yield* ask(call("1", "asks")))
      const waiting = resultOf(yield* ask(request("2", "get", taskId)))
      assert.strictEqual(waiting["status"], "input_required")
      const [key] = Object.keys(waiting["inputRequests"] as object)
      yield* ask(request("3", "update", taskId, { inputResponses: { other: {} } }))
      assert.deepInclude(resultOf(yield* ask(request("4", "get", taskId))), { status: "input_required" })
      const answer = { action: "accept", content: { n: 9 } }
      yield* ask(request("5", "update", taskId, { inputResponses: { [key!]: answer } }))
      const ended = resultOf(yield* ask(request("6", "get", taskId)))
      assert.deepInclude(ended["result"], { structuredContent: [9] })
    })
  )

  it.effect("with a journal a task is known to whoever comes after the server", () =>
    Effect.gen(function* () {
      const journal = yield* Effect.flatMap(MemoryJournal.make(), ({ open }) => open)
      const store = Context.get(
        yield* Layer.build(Layer.provide(TaskStore.layerJournal, Layer.succeed(Journal.Records, journal))),
        TaskStore.TaskStore
      )
      const release = yield* Deferred.make<void>()
      const waits: Play = () => ToolStream.fromEffect(Effect.as(Deferred.await(release), [4]))
      const tool = { asks: waits }
      const first = yield* runtime(tool, { journal })
      const { taskId } = yield* Effect.gen(function* () {
        const { ask } = yield* lines(first, { tasks })
        return resultOf(yield* within(100, ask(call("1", "asks"))))
      }).pipe(Effect.provideService(TaskStore.TaskStore, store))

      const second = yield* lines(yield* runtime(tool), { tasks }).pipe(
        Effect.provideService(TaskStore.TaskStore, store)
      )
      const get = (id: string) => Effect.map(within(1_000, second.ask(request(id, "get", taskId))), resultOf)
      assert.deepInclude(yield* get("2"), { status: "working", taskId })
      yield* Deferred.succeed(release, undefined)
      const ended = yield* get("3")
      assert.deepInclude(ended, { status: "completed" })
      assert.deepInclude(ended["result"], { structuredContent: [4] })
      assert.strictEqual((yield* second.ask(request("4", "get", "no such"))).response.error?.code, -32602)
    })
  )

  it.effect("adapters of another form are left as they are, and have no tasks", () =>
    Effect.gen(function* () {
      const none = Effect.die("not called")
      const unused: Tasks.Tasks = { call: () => none, get: () => none, cancel: () => none, update: () => none }
      assert.isDefined(TaskRpcs.add(McpProtocol.v2026_07_28, unused))
      const { clientRpcs } = McpProtocol.v2026_07_28
      const other = {
        ...McpProtocol.v2026_07_28,
        clientRpcs: { requests: clientRpcs.requests, prefix: clientRpcs.prefix }
      }
      assert.isUndefined(TaskRpcs.add(other, unused))
      const throws = { ...McpProtocol.v2026_07_28, installHandlers: () => none }
      assert.isUndefined(yield* Revisions.withHandlers(throws, (handlers) => handlers))
      const renamed = {
        ...McpProtocol.v2026_07_28,
        installHandlers: (
          _core: unknown,
          _lifecycle: unknown,
          target: { readonly install: (...args: ReadonlyArray<unknown>) => Effect.Effect<void> }
        ) => target.install({}, {}, { callTool: () => none })
      }
      assert.isUndefined(yield* Revisions.withHandlers(renamed, (handlers) => handlers))
    })
  )
})
