import type * as Scope from "effect/Scope"
import { methods, type SessionUpdate } from "@agentclientprotocol/sdk"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as NodePath from "@effect/platform-node/NodePath"
import * as fs from "node:fs"
import * as path from "node:path"
import * as ClientFiles from "../../../layers/acp/ClientFiles.ts"
import * as ClientTerminals from "../../../layers/acp/ClientTerminals.ts"
import * as Sessions from "../../../layers/acp/Sessions.ts"
import { NotAuthorized } from "../../../layers/agent/SamplerError.ts"
import * as MemoryJournal from "../../../layers/journal/MemoryJournal.ts"
import * as Modes from "../../../layers/Modes.ts"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import * as NodeWorkspaceFiles from "../../../layers/node/WorkspaceFiles.ts"
import * as Permissions from "../../../layers/Permissions.ts"
import * as Grants from "../../../layers/permissions/Grants.ts"
import * as ScriptedSampler from "../../../layers/testing/ScriptedSampler.ts"
import type { Records } from "../../../src/Journal.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as AskUser from "../../../tools/AskUser.ts"
import * as Bash from "../../../tools/bash/Bash.ts"
import * as EditFile from "../../../tools/edit-file/EditFile.ts"
import * as EnterPlan from "../../../tools/EnterPlan.ts"
import * as ExitPlan from "../../../tools/ExitPlan.ts"
import * as ApplyPatch from "../../../tools/apply-patch/ApplyPatch.ts"
import * as ReadFile from "../../../tools/ReadFile.ts"
import * as TodoWrite from "../../../tools/TodoWrite.ts"
import * as WriteFile from "../../../tools/WriteFile.ts"
import * as Workspace from "../node/Workspace.ts"
import * as Editor from "./Editor.ts"

/** The tools, guarded, on the ports of an editor; a model that follows a script; sessions in memory. */
const world = (
  top: string,
  scripts: Parameters<typeof ScriptedSampler.make>[0],
  journal: Layer.Layer<never> | Layer.Layer<Records> = Layer.empty
) => {
  const local = Layer.mergeAll(
    NodeWorkspaceFiles.layerWith({ state: path.join(top, "state") }),
    NodeProcesses.layer,
    NodePath.layer
  )
  const ports = Layer.merge(ClientFiles.layer, ClientTerminals.layer).pipe(Layer.provideMerge(local))
  const registry = ToolRegistry.layer(
    ReadFile.ReadFile,
    WriteFile.WriteFile,
    EditFile.EditFile,
    ApplyPatch.ApplyPatch,
    Bash.Bash,
    TodoWrite.TodoWrite,
    AskUser.AskUser,
    EnterPlan.EnterPlan,
    ExitPlan.ExitPlan
  ).pipe(
    Layer.provide([
      ReadFile.layer,
      WriteFile.layer,
      EditFile.layer,
      ApplyPatch.layer,
      Bash.layer,
      TodoWrite.layer,
      AskUser.layer,
      EnterPlan.layer,
      ExitPlan.layer
    ])
  )
  const permissions = Layer.unwrap(
    Effect.map(
      Modes.rules(() => Effect.succeed({ _tag: "Undecided", why: ["there is no rule for it"] })),
      (rules) => Permissions.layerWith({ rules })
    )
  )
  const tools = ToolRuntime.layerWith({ grace: 1000 }).pipe(
    Layer.provide(Layer.provide(permissions, Grants.layerMemory())),
    Layer.provide(Modes.layer),
    Layer.provideMerge(registry),
    Layer.provide(ports),
    Layer.provideMerge(journal)
  )
  const { layer, requests } = ScriptedSampler.make(scripts)
  return { layer: Layer.mergeAll(tools, layer, Sessions.layerMemory), requests }
}

const call = (name: string, parameters: unknown, id = name) =>
  ({ type: "call", id, name, text: JSON.stringify(parameters) }) as const

const says = (text: string): ScriptedSampler.Script => ({ parts: [{ type: "text", text }] })

/** A turn of these calls, side by side, and a last word. */
const calling = (...calls: ReadonlyArray<ReturnType<typeof call>>): ReadonlyArray<ScriptedSampler.Script> => [
  { parts: calls },
  says("done")
]

const inWorld = <A, E>(
  tree: Workspace.Tree,
  scripts: Parameters<typeof ScriptedSampler.make>[0],
  use: (at: {
    readonly root: string
    readonly requests: ScriptedSampler.ScriptedSampler["requests"]
  }) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof world>["layer"]> | Scope.Scope>,
  journal?: Parameters<typeof world>[2]
) =>
  Effect.flatMap(Workspace.make(tree), ({ root, top }) => {
    const { layer, requests } = world(top, scripts, journal)
    return Effect.provide(use({ root, requests }), layer)
  })

const callUpdates = (updates: ReadonlyArray<SessionUpdate>) =>
  updates.flatMap((update) =>
    update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update" ? [update] : []
  )

const until = (holds: () => boolean) =>
  Effect.promise(async () => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
  })

const textOf = (updates: ReadonlyArray<SessionUpdate>, kind: "agent_message_chunk" | "user_message_chunk") =>
  updates
    .map((update) => (update.sessionUpdate === kind && update.content.type === "text" ? update.content.text : ""))
    .join("")

describe("acp", () => {
  it.live("a turn: named, permitted by the user, run, ended; the diff of an edit, and absolute paths", () =>
    inWorld(
      { "a.txt": "one\ntwo\nthree\n" },
      calling(call("edit_file", { path: "a.txt", oldText: "two", newText: "TWO" })),
      ({ root }) =>
        Effect.gen(function* () {
          const asked: Array<unknown> = []
          const editor = yield* Editor.connect({
            permission: ({ options, toolCall }) => {
              asked.push([toolCall.title, toolCall.kind, toolCall.content?.[0]?.type, options.map(({ kind }) => kind)])
              return Editor.select("once")
            }
          })
          const { modes, sessionId } = yield* editor.session(root)
          assert.deepStrictEqual(
            [modes?.currentModeId, modes?.availableModes.map(({ id }) => id)],
            ["ask", ["ask", "auto-edit", "read-only", "plan"]]
          )
          assert.deepStrictEqual(yield* editor.prompt(sessionId), { stopReason: "end_turn" })
          assert.deepStrictEqual(asked, [
            ["Edit a.txt", "edit", "diff", ["allow_once", "allow_always", "allow_always", "reject_once"]]
          ])
          assert.deepStrictEqual(editor.calls(), ["+Edit a file pending", "Edit a.txt", "in_progress", "completed"])
          const at = path.join(root, "a.txt")
          const last = callUpdates(editor.updates).at(-1)
          assert.deepStrictEqual(last?.content, [
            { type: "diff", path: at, oldText: "one\ntwo\nthree\n", newText: "one\nTWO\nthree\n" }
          ])
          assert.deepStrictEqual(last?.locations, [{ path: at, line: 1 }])
          assert.strictEqual(textOf(editor.updates, "agent_message_chunk"), "done")
          assert.strictEqual(fs.readFileSync(at, "utf8"), "one\nTWO\nthree\n")
          assert.deepStrictEqual(editor.schema.breaches, [])
        })
    )
  )

  it.live("C139 the permission is asked for after the tool_call; a rejection ends the call, and the turn goes on", () =>
    inWorld({}, calling(call("write_file", { path: "b.txt", content: "b" })), ({ root }) =>
      Effect.gen(function* () {
        const editor = yield* Editor.connect({ permission: () => Editor.select("no") })
        const { sessionId } = yield* editor.session(root)
        assert.deepStrictEqual(yield* editor.prompt(sessionId), { stopReason: "end_turn" })
        assert.deepStrictEqual(editor.calls(), ["+Write a file pending", "Write b.txt", "failed"])
        assert.isFalse(fs.existsSync(path.join(root, "b.txt")))
        const order = editor.log.flatMap(([, message]) => ("method" in message ? [message.method] : []))
        assert.isBelow(order.indexOf("session/update"), order.indexOf("session/request_permission"))
        assert.deepStrictEqual(editor.schema.breaches, [])
      })
    )
  )

  it.live("C137 a cancelled turn is answered once, with cancelled, after its updates, and its process is gone", () =>
    inWorld({}, calling(call("bash", { command: "echo $$ > pid; sleep 100" })), ({ root }) =>
      Effect.gen(function* () {
        const editor = yield* Editor.connect({ permission: () => Editor.select("once") })
        const { sessionId } = yield* editor.session(root)
        const fiber = yield* Effect.forkChild(editor.prompt(sessionId), { startImmediately: true })
        const pid = path.join(root, "pid")
        yield* until(() => fs.existsSync(pid) && fs.readFileSync(pid, "utf8").endsWith("\n"))
        yield* editor.cancel(sessionId)
        assert.deepStrictEqual(yield* Fiber.join(fiber), { stopReason: "cancelled" })
        assert.throws(() => process.kill(Number(fs.readFileSync(pid, "utf8")), 0), /ESRCH/)
        assert.strictEqual(editor.calls().at(-1), "failed")
        assert.deepStrictEqual(editor.schema.stops, ["cancelled"])
        const said = editor.log.length
        yield* Effect.sleep(50)
        assert.strictEqual(editor.log.length, said)
        assert.deepStrictEqual(editor.schema.breaches, [])
        // The session goes on.
        assert.deepStrictEqual(yield* editor.prompt(sessionId, "again"), { stopReason: "end_turn" })
      })
    )
  )

  it.live("a cancel at a permission ends the call unstarted; so does an editor that answers with cancelled", () =>
    inWorld(
      {},
      () => ({ parts: [call("bash", { command: "touch ran" })] }),
      ({ root }) =>
        Effect.gen(function* () {
          for (const tells of [true, false]) {
            const editor = yield* Editor.connect({
              permission: ({ sessionId }) => {
                if (tells) void editor.agent.notify(methods.agent.session.cancel, { sessionId })
                return { outcome: { outcome: "cancelled" } }
              }
            })
            const { sessionId } = yield* editor.session(root)
            assert.deepStrictEqual(yield* editor.prompt(sessionId), { stopReason: "cancelled" })
            const last = callUpdates(editor.updates).at(-1)
            assert.strictEqual(last?.status, "failed")
            assert.include(JSON.stringify(last?.content), "It was not executed")
            assert.deepStrictEqual(editor.schema.breaches, [])
            assert.deepStrictEqual(editor.schema.stops, ["cancelled"])
            yield* editor.stop
          }
          assert.isFalse(fs.existsSync(path.join(root, "ran")))
        })
    )
  )

  it.live("a cancel that overtakes the turn it is meant for ends it", () =>
    inWorld({}, [{ parts: [], hangs: true }], ({ root }) =>
      Effect.gen(function* () {
        const editor = yield* Editor.connect()
        // What is said of its servers comes before the turn.
        const { sessionId } = yield* editor.session(root, ["files"])
        const fiber = yield* Effect.forkChild(editor.prompt(sessionId), { startImmediately: true })
        yield* editor.cancel(sessionId)
        assert.deepStrictEqual(yield* Fiber.join(fiber), { stopReason: "cancelled" })
        assert.deepStrictEqual(editor.schema.breaches, [])
      })
    )
  )

  it.live("a cancel after the turn has failed, and before its client has read that, is answered with cancelled", () =>
    inWorld({}, [{ parts: [call("bash", {})], fails: new NotAuthorized({ detail: "no key" }) }], ({ root }) =>
      Effect.gen(function* () {
        let read = () => {}
        const reading = new Promise<void>((resolve) => (read = resolve))
        let held = 0
        const editor = yield* Editor.connect({
          gate: (message) => {
            if (!JSON.stringify(message).includes('"failed"')) return
            held++
            return reading
          }
        })
        const { sessionId } = yield* editor.session(root)
        const fiber = yield* Effect.forkChild(editor.prompt(sessionId), { startImmediately: true })
        yield* until(() => held > 0)
        yield* editor.cancel(sessionId)
        yield* Effect.sleep(20)
        read()
        assert.deepStrictEqual(yield* Fiber.join(fiber), { stopReason: "cancelled" })
        assert.deepStrictEqual(editor.schema.breaches, [])
      })
    )
  )

  it.live("calls that were named and not made are ended: the response was given up, the model went silent", () =>
    inWorld(
      {},
      [
        { parts: [call("todo_write", { todos: [] })], retries: true },
        { parts: [call("bash", {})], hangs: true }
      ],
      ({ root }) =>
        Effect.gen(function* () {
          const editor = yield* Editor.connect()
          const { sessionId } = yield* editor.session(root)
          const fiber = yield* Effect.forkChild(editor.prompt(sessionId), { startImmediately: true })
          yield* until(() => editor.schema.begun === 3)
          yield* editor.cancel(sessionId)
          assert.deepStrictEqual(yield* Fiber.join(fiber), { stopReason: "cancelled" })
          const statuses = callUpdates(editor.updates).map(({ status }) => status)
          assert.deepStrictEqual(
            statuses.filter((status) => status === "failed" || status === "completed"),
            ["failed", "completed", "failed"]
          )
          assert.deepStrictEqual(editor.schema.breaches, [])
        })
    )
  )

  it.live("progress is accumulated, todos are a plan, the mode is told when a tool changes it", () =>
    inWorld(
      {},
      [
        { parts: [call("bash", { command: "echo one; sleep 0.3; echo two" })] },
        { parts: [call("todo_write", { todos: [{ id: "1", content: "look", status: "in_progress" }] })] },
        { parts: [call("enter_plan", {})] },
        says("done")
      ],
      ({ root }) =>
        Effect.gen(function* () {
          const editor = yield* Editor.connect({ permission: () => Editor.select("once") })
          const { sessionId } = yield* editor.session(root)
          yield* editor.prompt(sessionId)
          const running = callUpdates(editor.updates).filter(({ status }) => status === "in_progress")
          assert.include(JSON.stringify(running.at(-1)?.content), "one\\ntwo")
          assert.deepInclude(editor.updates, {
            sessionUpdate: "plan",
            entries: [{ content: "look", status: "in_progress", priority: "medium" }]
          })
          assert.deepInclude(editor.updates, { sessionUpdate: "current_mode_update", currentModeId: "plan" })
          assert.deepStrictEqual(editor.schema.breaches, [])
        })
    )
  )

  it.live("modes: auto-edit does not ask for an edit, read-only refuses it", () =>
    inWorld(
      {},
      (_request, number) =>
        number % 2 === 0 ? { parts: [call("write_file", { path: `${number}.txt`, content: "" })] } : says("done"),
      ({ root }) =>
        Effect.gen(function* () {
          const editor = yield* Editor.connect()
          const { sessionId } = yield* editor.session(root)
          const set = (modeId: string) =>
            Effect.promise(() => editor.agent.request(methods.agent.session.setMode, { sessionId, modeId }))
          yield* set("auto-edit")
          yield* editor.prompt(sessionId)
          yield* set("read-only")
          yield* editor.prompt(sessionId)
          assert.deepStrictEqual(fs.readdirSync(root), ["0.txt"])
          const odd = yield* Effect.exit(
            Effect.tryPromise(() => editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "yolo" }))
          )
          assert.strictEqual(odd._tag, "Failure")
          assert.deepStrictEqual(editor.schema.breaches, [])
        })
    )
  )

  it.live(
    "ask_user: a choice by permission options, a text by a form where the editor has one; the plan is approved",
    () =>
      inWorld(
        {},
        [
          {
            parts: [
              call("ask_user", { question: "Tabs?", options: ["tabs", "spaces"] }),
              call("ask_user", { question: "Why?" }, "2")
            ]
          },
          { parts: [call("enter_plan", {})] },
          { parts: [call("write_file", { path: "PLAN", content: "x" })] },
          { parts: [call("exit_plan", {})] },
          says("done")
        ],
        ({ requests, root }) =>
          Effect.gen(function* () {
            const asked: Array<unknown> = []
            const editor = yield* Editor.connect({
              capabilities: { elicitation: { form: {} } },
              answer: "because",
              permission: ({ options, toolCall }) => {
                asked.push([toolCall.title, options.map(({ name }) => name)])
                return Editor.select("1")
              }
            })
            const { sessionId } = yield* editor.session(root)
            yield* editor.prompt(sessionId)
            assert.deepStrictEqual(asked, [["Tabs?", ["tabs", "spaces", "None of these"]]])
            const read = JSON.stringify(requests[1]?.history)
            assert.include(read, "The user chose: spaces")
            assert.include(read, "The user answered: because")
            assert.include(JSON.stringify(requests[3]?.history), "Not permitted by the plan mode")
            assert.include(JSON.stringify(requests[4]?.history), "There is no plan in")
            assert.deepStrictEqual(editor.schema.breaches, [])

            const plain = yield* Editor.connect()
            const other = yield* plain.session(root)
            yield* plain.prompt(other.sessionId)
            assert.deepStrictEqual(plain.schema.breaches, [])
          })
      )
  )

  it.live("a session whose editor left in the middle of a call is loaded again, with its updates", () =>
    inWorld(
      { "a.txt": "a\n" },
      [
        {
          parts: [
            { type: "text", text: "First I edit." },
            call("edit_file", { path: "a.txt", oldText: "a", newText: "b" })
          ]
        },
        { parts: [call("bash", { command: "echo $$ > pid; sleep 100" })] },
        says("Where were we?")
      ],
      ({ requests, root }) =>
        Effect.gen(function* () {
          const first = yield* Editor.connect({ permission: () => Editor.select("once") })
          const { sessionId } = yield* first.session(root)
          yield* Effect.forkChild(Effect.exit(first.prompt(sessionId, "do it")), { startImmediately: true })
          const pid = path.join(root, "pid")
          yield* until(() => fs.existsSync(pid) && fs.readFileSync(pid, "utf8").endsWith("\n"))
          yield* first.leave
          yield* first.ended
          assert.throws(() => process.kill(Number(fs.readFileSync(pid, "utf8")), 0), /ESRCH/)

          const second = yield* Editor.connect()
          yield* Effect.promise(() =>
            second.agent.request(methods.agent.session.load, { sessionId, cwd: root, mcpServers: [] })
          )
          assert.strictEqual(textOf(second.updates, "user_message_chunk"), "do it")
          assert.strictEqual(textOf(second.updates, "agent_message_chunk"), "First I edit.")
          assert.deepStrictEqual(second.calls(), [
            "+Edit a.txt pending",
            "completed",
            "+echo $$ > pid; sleep 100 pending",
            "failed"
          ])
          const [, edited, , lost] = callUpdates(second.updates)
          assert.deepStrictEqual(edited?.content?.[0], {
            type: "diff",
            path: path.join(root, "a.txt"),
            oldText: "a",
            newText: "b"
          })
          assert.include(JSON.stringify(lost?.content), "the editor left")
          assert.deepStrictEqual(yield* second.prompt(sessionId, "go on"), { stopReason: "end_turn" })
          assert.strictEqual(requests.length, 3)
          assert.deepStrictEqual(second.schema.breaches, [])

          const unknown = yield* Effect.exit(
            Effect.tryPromise(() =>
              second.agent.request(methods.agent.session.load, { sessionId: "none", cwd: root, mcpServers: [] })
            )
          )
          assert.strictEqual(unknown._tag, "Failure")
        })
    )
  )

  it.live("what is loaded again shows what the journal has of a call: its diff, not what was asked for", () =>
    inWorld(
      { "a.txt": "one\ntwo\n" },
      calling(call("edit_file", { path: "a.txt", oldText: "two", newText: "TWO" })),
      ({ root }) =>
        Effect.gen(function* () {
          const behaviour: Editor.Behaviour = { permission: () => Editor.select("once") }
          const first = yield* Editor.connect(behaviour)
          const { sessionId } = yield* first.session(root)
          yield* first.prompt(sessionId)
          yield* first.stop
          const second = yield* Editor.connect()
          yield* Effect.promise(() =>
            second.agent.request(methods.agent.session.load, { sessionId, cwd: root, mcpServers: [] })
          )
          const ends = [first, second].map(({ updates }) => callUpdates(updates).at(-1))
          assert.strictEqual(ends[0]?.status, "completed")
          assert.deepStrictEqual(ends[1], ends[0])
          assert.deepStrictEqual(second.schema.breaches, [])
        }),
      MemoryJournal.layer()
    )
  )

  it.live(
    "a session that waits for its user delays no other; one prompt at a time; MCP servers are named, not used",
    () =>
      inWorld(
        {},
        (request) => {
          const last = request.history.at(-1)
          const text = last?._tag === "Message" && last.content[0]?.type === "text" ? last.content[0].text : ""
          return text === "wait" ? { parts: [call("bash", { command: "true" })] } : says("hello")
        },
        ({ root }) =>
          Effect.gen(function* () {
            const editor = yield* Editor.connect({ permission: () => new Promise(() => {}) })
            const waiting = yield* editor.session(root)
            const other = yield* Effect.promise(() =>
              editor.agent.request(methods.agent.session.new, {
                cwd: root,
                mcpServers: [{ name: "files", command: "true", args: [], env: [] }]
              })
            )
            const fiber = yield* Effect.forkChild(editor.prompt(waiting.sessionId, "wait"), { startImmediately: true })
            yield* until(() =>
              editor.log.some(([, message]) => "method" in message && message.method === "session/request_permission")
            )
            assert.deepStrictEqual(yield* editor.prompt(other.sessionId), { stopReason: "end_turn" })
            assert.match(textOf(editor.updates, "agent_message_chunk"), /^\(The MCP servers .* files\.\)\s+hello$/)
            const again = yield* Effect.exit(
              Effect.tryPromise(() =>
                editor.agent.request(methods.agent.session.prompt, {
                  sessionId: waiting.sessionId,
                  prompt: [{ type: "text", text: "?" }]
                })
              )
            )
            assert.strictEqual(again._tag, "Failure")
            yield* editor.cancel(waiting.sessionId)
            assert.deepStrictEqual(yield* Fiber.join(fiber), { stopReason: "cancelled" })
            assert.deepStrictEqual(editor.schema.breaches, [])
          })
      )
  )

  it.live("what a model that gives no response says is an error of the prompt, and the session goes on", () =>
    inWorld({}, [{ parts: [], fails: new NotAuthorized({ detail: "no key" }) }, says("hello")], ({ root }) =>
      Effect.gen(function* () {
        const editor = yield* Editor.connect()
        const { sessionId } = yield* editor.session(root)
        const failed = yield* Effect.exit(
          Effect.tryPromise({
            try: () =>
              editor.agent.request(methods.agent.session.prompt, {
                sessionId,
                prompt: [{ type: "text", text: "go" }]
              }),
            catch: (error) => (error as Error).message
          })
        )
        assert.include(JSON.stringify(failed), "not authorized: no key")
        assert.deepStrictEqual(yield* editor.prompt(sessionId), { stopReason: "end_turn" })
        assert.deepStrictEqual(editor.schema.breaches, [])
      })
    )
  )
})
