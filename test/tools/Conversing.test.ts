import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Modes from "../../layers/Modes.ts"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import * as Permissions from "../../layers/Permissions.ts"
import * as Grants from "../../layers/permissions/Grants.ts"
import { CurrentClocks } from "../../src/Clocks.ts"
import { planFile } from "../../src/Mode.ts"
import * as Permission from "../../src/Permission.ts"
import * as Questions from "../../src/Questions.ts"
import { CurrentSession } from "../../src/Session.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as AskUser from "../../tools/AskUser.ts"
import * as EditFile from "../../tools/edit-file/EditFile.ts"
import * as ApplyPatch from "../../tools/apply-patch/ApplyPatch.ts"
import * as EnterPlan from "../../tools/EnterPlan.ts"
import * as ExitPlan from "../../tools/ExitPlan.ts"
import * as TodoWrite from "../../tools/TodoWrite.ts"
import * as WriteFile from "../../tools/WriteFile.ts"
import { erased, succeeds, terminal, terminalEvent } from "../Harness.ts"
import * as Workspace from "../layers/node/Workspace.ts"

/** The tools of this file and those that write, guarded as the command line does, in a workspace. */
const world = (root: string, rules?: Permissions.Options["rules"], before: Permissions.Options["before"] = []) => {
  const files = NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") })
  const registry = ToolRegistry.layer(
    TodoWrite.TodoWrite,
    AskUser.AskUser,
    EnterPlan.EnterPlan,
    ExitPlan.ExitPlan,
    WriteFile.WriteFile,
    EditFile.EditFile,
    ApplyPatch.ApplyPatch
  ).pipe(
    Layer.provide([
      TodoWrite.layer,
      AskUser.layer,
      EnterPlan.layer,
      ExitPlan.layer,
      WriteFile.layer,
      EditFile.layer,
      ApplyPatch.layer
    ])
  )
  const permissions = Layer.unwrap(
    Effect.map(Modes.rules(rules ?? (() => Effect.succeed({ _tag: "Undecided", why: [] }))), (rules) =>
      Permissions.layerWith({ rules, before })
    )
  )
  return ToolRuntime.layerWith().pipe(
    Layer.provide(Layer.provide(permissions, Grants.layerMemory())),
    Layer.provide(Modes.layer),
    Layer.provideMerge(registry),
    Layer.provide(files)
  )
}

/** Makes a call in the session of the fiber, and gives how it ended. */
const make = (name: string, parameters: unknown = {}) =>
  Effect.gen(function* () {
    const runtime = yield* ToolRuntime.ToolRuntime
    const call = yield* ToolCall.make({ name, parameters })
    return yield* Stream.runCollect(runtime.events(call))
  })

const ended = (name: string, parameters: unknown = {}) => Effect.map(make(name, parameters), terminal)

const read = (name: string, parameters: unknown = {}) =>
  Effect.map(make(name, parameters), (events) => {
    const { result } = terminalEvent(events)
    assert(result._tag === "Success", JSON.stringify(result))
    return result.content.map((content) => (content.type === "text" ? content.text : content.type)).join("\n")
  })

const answering =
  (answer: Questions.Answer, asked: Array<Questions.Question> = []): Questions.Ask =>
  (question) =>
    Effect.sync(() => {
      asked.push(question)
      return answer
    })

const names = Effect.flatMap(ToolRegistry.ToolRegistry, ({ snapshot }) =>
  Effect.map(snapshot, (tools) => tools.map(({ name }) => name))
)

const denied = (mode: string) => (result: unknown) => {
  const { _tag, by } = result as { readonly _tag: string; readonly by: string }
  assert.deepStrictEqual([_tag, by], ["PermissionDenied", `the ${mode} mode`], JSON.stringify(result))
}

const inWorkspace = <A, E>(
  tree: Workspace.Tree,
  use: (root: string) => Effect.Effect<A, E, ToolRuntime.ToolRuntime | ToolRegistry.ToolRegistry>,
  layer: (root: string) => Layer.Layer<ToolRuntime.ToolRuntime | ToolRegistry.ToolRegistry> = world
) => Effect.flatMap(Workspace.make(tree), ({ root }) => Effect.provide(use(root), Workspace.within(root, layer(root))))

describe("todo_write", () => {
  it.live("gives the list back, and tells the model how far it is", () =>
    inWorkspace({}, () =>
      Effect.gen(function* () {
        const todos = [
          { id: "1", content: "look", status: "completed" },
          { id: "2", content: "change", status: "in_progress" },
          { id: "3", content: "test", status: "pending" }
        ]
        assert.deepStrictEqual(yield* ended("todo_write", { todos }), { todos })
        assert.strictEqual(yield* read("todo_write", { todos }), "1 of 3 done, 1 in progress. Next: change")
        assert.strictEqual(yield* read("todo_write", { todos: [] }), "The list is empty now.")
        const twice = yield* ended("todo_write", { todos: [todos[0], todos[1], { ...todos[2], id: "1" }] })
        assert.deepInclude(twice as object, { _tag: "ToolFailed" })
        const odd = yield* ended("todo_write", { todos: [{ id: "1", content: "x", status: "done" }] })
        assert.deepInclude(odd as object, { _tag: "InvalidParameters" })
      })
    )
  )
})

describe("ask_user", () => {
  it.live("is shown where somebody can be asked, with the tools that plan", () =>
    inWorkspace({}, () =>
      Effect.gen(function* () {
        const asking = ["ask_user", "enter_plan", "exit_plan"]
        assert.notIncludeMembers(yield* names, asking)
        const shown = yield* Effect.provideService(names, Questions.Questions, answering({ _tag: "Declined", why: "" }))
        assert.includeMembers(shown, asking)
        assert.deepInclude((yield* ended("ask_user", { question: "Which?" })) as object, { _tag: "ToolFailed" })
      })
    )
  )

  it.live("passes the question on, and the answer back", () =>
    inWorkspace({}, () =>
      Effect.gen(function* () {
        const asked: Array<Questions.Question> = []
        const by = (answer: Questions.Answer, parameters: unknown) =>
          Effect.provideService(read("ask_user", parameters), Questions.Questions, answering(answer, asked))
        const options = ["tabs", "spaces"]
        assert.strictEqual(
          yield* by({ _tag: "Chosen", option: "tabs" }, { question: "Which?", options }),
          "The user chose: tabs"
        )
        assert.strictEqual(
          yield* by({ _tag: "Written", text: "neither" }, { question: "Why?" }),
          "The user answered: neither"
        )
        assert.include(yield* by({ _tag: "Declined", why: "busy" }, { question: "Why?" }), "There is no answer: busy.")
        assert.deepStrictEqual(
          asked.map(({ options, text }) => [text, options]),
          [
            ["Which?", options],
            ["Why?", []],
            ["Why?", []]
          ]
        )
        const one = yield* ended("ask_user", { question: "Which?", options: ["only"] })
        assert.deepInclude(one as object, { _tag: "InvalidParameters" })
      })
    )
  )

  it.effect("waits as for an approval: that clock runs, and withdraws the question", () =>
    Effect.gen(function* () {
      let withdrawn = false
      const never: Questions.Ask = () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => (withdrawn = true)))
      const fiber = yield* Effect.forkChild(
        ended("ask_user", { question: "Which?" }).pipe(
          Effect.provideService(Questions.Questions, never),
          Effect.provideService(CurrentClocks, { approval: 1000 })
        ),
        { startImmediately: true }
      )
      yield* TestClock.adjust(0)
      yield* TestClock.adjust(1000)
      assert.deepInclude((yield* Fiber.join(fiber)) as object, { _tag: "TimedOut", clock: "approval" })
      assert.isTrue(withdrawn)
    }).pipe(Effect.provide(Workspace.within("/", world("/nowhere"))))
  )
})

/** In a session that plans. */
const planning = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.andThen(
    Effect.flatMap(CurrentSession, ({ mode }) => mode.set("plan")),
    effect
  )

const here = Effect.flatMap(CurrentSession, (session) =>
  Effect.succeed({ plan: planFile(session), mode: session.mode })
)

describe("the plan mode", () => {
  it.live("is entered, allows the plan file alone, and is left with approval", () =>
    inWorkspace({ "a.txt": "a\n" }, (root) =>
      Effect.gen(function* () {
        const { mode, plan } = yield* here
        yield* mode.set("auto-edit")
        assert.deepStrictEqual(yield* ended("enter_plan"), { path: plan })
        assert.strictEqual(mode.now(), "plan")
        assert.deepInclude((yield* ended("exit_plan")) as object, { _tag: "ToolFailed" })

        denied("plan")(yield* ended("write_file", { path: "b.txt", content: "b" }))
        denied("plan")(yield* ended("edit_file", { path: "a.txt", oldText: "a", newText: "b" }))
        denied("plan")(
          yield* ended("apply_patch", {
            patch: `*** Begin Patch\n*** Add File: ${plan}\n+x\n*** Delete File: a.txt\n*** End Patch`
          })
        )
        assert.deepStrictEqual(fs.readdirSync(root), ["a.txt"])
        assert.strictEqual(fs.readFileSync(path.join(root, "a.txt"), "utf8"), "a\n")

        yield* ended("write_file", { path: plan, content: "1. Do it.\n" })
        yield* ended("edit_file", { path: path.join(root, plan), oldText: "Do", newText: "Undo" })
        assert.strictEqual(fs.readFileSync(path.join(root, plan), "utf8"), "1. Undo it.\n")

        const asked: Array<Questions.Question> = []
        const exit = (answer: Questions.Answer) =>
          Effect.provideService(ended("exit_plan"), Questions.Questions, answering(answer, asked))
        assert.deepStrictEqual(yield* exit({ _tag: "Written", text: "shorter" }), {
          approved: false,
          why: "shorter",
          mode: "plan"
        })
        assert.deepStrictEqual(yield* exit({ _tag: "Chosen", option: asked[0]!.options[1]! }), {
          approved: false,
          mode: "plan"
        })
        assert.deepStrictEqual(yield* exit({ _tag: "Chosen", option: asked[0]!.options[0]! }), {
          approved: true,
          mode: "auto-edit"
        })
        assert.deepStrictEqual(
          asked.map(({ text }) => text),
          ["1. Undo it.\n", "1. Undo it.\n", "1. Undo it.\n"]
        )
        yield* ended("write_file", { path: "b.txt", content: "b" })
        assert.deepStrictEqual(fs.readdirSync(root).toSorted(), [".toolstream", "a.txt", "b.txt"])
      })
    )
  )

  it.live("stands above a person, a rule and a hook that allow", () =>
    Effect.gen(function* () {
      for (const [rules, before] of [
        [() => Effect.succeed({ _tag: "Allowed" } as const), []],
        [undefined, [{ name: "eager", ask: () => Effect.succeed({ _tag: "Allow" } as const) }]]
      ] as const) {
        yield* inWorkspace(
          {},
          (root) =>
            planning(
              Effect.gen(function* () {
                denied("plan")(
                  yield* Effect.provideService(
                    ended("write_file", { path: "b.txt", content: "b" }),
                    Permission.Permission,
                    () => Effect.succeed({ _tag: "Allowed", extent: "always" })
                  )
                )
                assert.deepStrictEqual(fs.readdirSync(root), [])
              })
            ),
          (root) => world(root, rules, before)
        )
      }
    })
  )

  it.live("a mode that is set while a person is asked holds", () =>
    inWorkspace({}, (root) =>
      Effect.gen(function* () {
        const { mode } = yield* here
        const result = yield* Effect.provideService(
          ended("write_file", { path: "b.txt", content: "b" }),
          Permission.Permission,
          () => Effect.as(mode.set("read-only"), { _tag: "Allowed", extent: "once" })
        )
        denied("read-only")(result)
        assert.deepStrictEqual(fs.readdirSync(root), [])
      })
    )
  )

  it.live("a link in place of the plan, or on the way to it, opens nothing", () =>
    inWorkspace({ "src/main.ts": "main\n" }, (root) =>
      planning(
        Effect.gen(function* () {
          const { plan } = yield* here
          const at = path.join(root, plan)
          const write = ended("write_file", { path: plan, content: "stolen" })
          fs.mkdirSync(path.dirname(at), { recursive: true })
          fs.symlinkSync("../../src/main.ts", at)
          denied("plan")(yield* write)
          fs.rmSync(path.join(root, ".toolstream"), { recursive: true })
          fs.symlinkSync("src", path.join(root, ".toolstream"))
          denied("plan")(yield* write)
          assert.deepStrictEqual(fs.readdirSync(path.join(root, "src")), ["main.ts"])
          assert.strictEqual(fs.readFileSync(path.join(root, "src/main.ts"), "utf8"), "main\n")
          denied("plan")(yield* ended("write_file", { path: `${plan}/../../x`, content: "" }))
        })
      )
    )
  )

  it.live("a tool that is not compiled into the program does not run, whatever it says of itself", () =>
    inWorkspace({}, () =>
      planning(
        Effect.gen(function* () {
          const registry = yield* ToolRegistry.ToolRegistry
          const tool = erased("t", succeeds)
          const hints = { readOnly: true, destructive: false, idempotent: true, openWorld: false }
          yield* Effect.orDie(
            registry.register({ ...tool, descriptor: { ...tool.descriptor, hints } }, { origin: "a plugin" })
          )
          denied("plan")(yield* ended("t"))
        })
      ).pipe(Effect.scoped)
    )
  )
})

describe("the other modes", () => {
  it.live("auto-edit: files of the workspace are changed unasked, hidden ones and what rules ask for are not", () =>
    inWorkspace(
      { "a.txt": "a\n" },
      (root) =>
        Effect.gen(function* () {
          const asked: Array<string> = []
          const no: Permission.Ask = ({ text }) =>
            Effect.sync(() => {
              asked.push(text.split("\n")[0]!)
              return { _tag: "Denied", by: "Ada", why: "" }
            })
          const { mode } = yield* here
          const write = (path: string) =>
            Effect.provideService(ended("write_file", { path, content: "x" }), Permission.Permission, no)
          yield* write("b.txt")
          yield* mode.set("auto-edit")
          fs.symlinkSync(".git", path.join(root, "git"))
          fs.mkdirSync(path.join(root, ".git"))
          for (const file of ["c.txt", "d/e.txt", ".git/hooks/x", ".envrc", "git/config", "../out.txt", "asked.txt"]) {
            yield* write(file)
          }
          assert.deepStrictEqual(asked, ["b.txt", ".git/hooks/x", ".envrc", "git/config", "../out.txt", "asked.txt"])
          assert.deepStrictEqual(fs.readdirSync(root).toSorted(), [".git", "a.txt", "c.txt", "d", "git"])
        }),
      (root) =>
        world(root, ({ parameters }) =>
          Effect.succeed(
            (parameters as { readonly path: string }).path === "asked.txt"
              ? { _tag: "Asked", why: [] }
              : { _tag: "Undecided", why: [] }
          )
        )
    )
  )

  it.live("read-only: nothing is changed, and what changes nothing runs", () =>
    inWorkspace({}, (root) =>
      Effect.gen(function* () {
        const { mode, plan } = yield* here
        yield* mode.set("read-only")
        denied("read-only")(yield* ended("write_file", { path: "b.txt", content: "b" }))
        denied("read-only")(yield* ended("write_file", { path: plan, content: "b" }))
        assert.deepStrictEqual(yield* ended("todo_write", { todos: [] }), { todos: [] })
        assert.deepStrictEqual(fs.readdirSync(root), [])
      })
    )
  )
})
