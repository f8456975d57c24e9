import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import * as Permissions from "../../../layers/Permissions.ts"
import * as CommandHooks from "../../../layers/permissions/CommandHooks.ts"
import * as Grants from "../../../layers/permissions/Grants.ts"
import * as LawCheck from "../../../layers/testing/LawCheck.ts"
import * as ScriptedProcess from "../../../layers/testing/ScriptedProcess.ts"
import * as ScriptedTool from "../../../layers/testing/ScriptedTool.ts"
import { Processes } from "../../../src/Processes.ts"
import * as Sandbox from "../../../src/Sandbox.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { call, erased, guarded, terminalEvent, verdict } from "../../Harness.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hooks-")))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

const bash = (script: string, more: Partial<CommandHooks.CommandHook> = {}): CommandHooks.CommandHook => ({
  name: "h",
  command: ["bash", "-c", script],
  ...more
})

const printing = (answer: unknown) => bash(`cat > /dev/null; printf '%s' '${JSON.stringify(answer)}'`)

/** To end what a hook has started takes a busy machine some time. */
const echo = erased("t", ({ n }) => ToolStream.succeed([n ?? 0]), { grace: 10_000 })

interface Hooks {
  readonly before?: ReadonlyArray<CommandHooks.CommandHook>
  readonly after?: ReadonlyArray<CommandHooks.CommandHook>
  readonly rules?: Permissions.Judge
}

const allowed: Permissions.Judge = () => Effect.succeed({ _tag: "Allowed" })

/** A runtime in a workspace, every call allowed unless a hook says other. */
const runtime = Effect.fnUntraced(function* ({ after = [], before = [], rules = allowed }: Hooks, workspace = "/") {
  const layer = Permissions.layerWith({
    before: yield* Effect.forEach(before, CommandHooks.before),
    after: yield* Effect.forEach(after, CommandHooks.after),
    rules
  })
  return yield* guarded({ t: echo }, Layer.provide(layer, Grants.layerMemory()), { workspace })
})

const run = Effect.fnUntraced(function* (hooks: Hooks, parameters: unknown = { n: 1 }, workspace = "/") {
  const { events } = yield* runtime(hooks, workspace)
  return terminalEvent(yield* Stream.runCollect(events(call("1", "t", parameters, "one")))).result
})

const before = (hook: CommandHooks.CommandHook, parameters?: unknown) =>
  Effect.map(run({ before: [hook] }, parameters), verdict)

const denied = (why: string) => ({ _tag: "PermissionDenied", by: "the hook h", why })

const forms = '{"_tag":"Nothing"}, {"_tag":"Allow"}, {"_tag":"Deny","why":"…"} or {"_tag":"Rewrite","parameters":{…}}'

const runs = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

const eventually = (holds: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (holds() ? Effect.void : Effect.andThen(Effect.sleep(5), eventually(holds))))

describe("a hook that is a command", { timeout: 30_000 }, () => {
  it.layer(NodeProcesses.layer, { excludeTestServices: true })((it) => {
    it.effect("allows, denies, rewrites, or says nothing", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* before(printing({ _tag: "Nothing" })), [1])
        const denies: Permissions.Judge = () => Effect.succeed({ _tag: "Denied", by: "a rule", why: "no" })
        const allow = yield* run({ before: [printing({ _tag: "Allow" })], rules: denies })
        assert.deepStrictEqual(verdict(allow), [1])
        assert.deepStrictEqual(yield* before(printing({ _tag: "Deny", why: "not on main" })), denied("not on main"))
        assert.deepStrictEqual(yield* before(printing({ _tag: "Rewrite", parameters: { n: 5 } })), [5])
        const bad = yield* before(printing({ _tag: "Rewrite", parameters: { n: "five" } }))
        assert.match(JSON.stringify(bad), /"by":"the hook h","why":"it gave parameters that do not fit/)
      })
    )

    it.effect("is told of the call on stdin, in the workspace, with no shell before it", () =>
      Effect.gen(function* () {
        const folder = yield* temporary
        const script = path.join(folder, "hook.sh")
        fs.writeFileSync(script, '#!/bin/bash\npwd > told\nprintf "%s\\n" "$@" >> told\ncat >> told\necho "{}"\n', {
          mode: 0o755
        })
        const hook = { name: "h", command: [script, "$HOME *", "; id"] } as const
        const result = yield* run({ after: [hook] }, { n: 7 }, folder)
        assert.deepStrictEqual(verdict(result), [7])
        const [cwd, first, second, json] = fs.readFileSync(path.join(folder, "told"), "utf8").split("\n")
        assert.deepStrictEqual([cwd, first, second], [folder, "$HOME *", "; id"])
        const { sessionId, ...told } = JSON.parse(json ?? "")
        assert.isString(sessionId)
        assert.deepStrictEqual(told, {
          hook: "after",
          tool: "t",
          parameters: { n: 7 },
          callId: "1",
          externalId: "one",
          workspace: folder,
          result: { value: [7], content: [{ type: "text", text: "[7]" }], isError: false }
        })
      })
    )

    it.effect("that gives no answer denies the call, and says which hook and why", () =>
      Effect.gen(function* () {
        for (const [hook, why] of [
          [bash("exit 3"), "it failed: it exited with 3"],
          [bash('echo \'{"_tag":"Allow"}\'; echo oh no >&2; exit 1'), "it failed: it exited with 1. It says: oh no"],
          [bash("kill -9 $$"), "it failed: it was killed by SIGKILL"],
          [bash("cat > /dev/null"), `it failed: it printed nothing; it prints ${forms}`],
          [bash("echo yes"), `it failed: it printed no JSON: yes; it prints ${forms}`],
          [printing({ _tag: "Maybe" }), `it failed: what it printed does not fit; it prints ${forms}`],
          [printing({ _tag: "Deny" }), `it failed: what it printed does not fit; it prints ${forms}`],
          [printing({ _tag: "Allow", why: "x" }), `it failed: what it printed does not fit; it prints ${forms}`],
          [printing([{ _tag: "Allow" }]), `it failed: what it printed does not fit; it prints ${forms}`],
          [bash('echo \'{"_tag":"Allow"}{"_tag":"Allow"}\''), undefined],
          [bash("head -c 2000000 /dev/zero"), "it failed: it printed more than 1048576 bytes"],
          [bash("exec sleep 60", { timeoutMs: 50 }), "it failed: it had no answer after 50 ms"],
          [
            { name: "h", command: ["/no/such/hook"] },
            "it failed: The program /no/such/hook was not found on the PATH. Nothing was run"
          ]
        ] as const) {
          const ended = yield* before(hook)
          if (why === undefined)
            assert.match(JSON.stringify(ended), /"by":"the hook h","why":"it failed: it printed no JSON/)
          else assert.deepStrictEqual(ended, denied(why))
        }
      })
    )

    it.effect("what it says on stderr is shown bounded, and acts on no terminal", () =>
      Effect.gen(function* () {
        const noisy = bash("printf '\\033[31mfirst '; head -c 5000000 /dev/zero | tr '\\0' x; echo last; exit 1 ")
        const ended = JSON.stringify(
          yield* before({ ...noisy, command: ["bash", "-c", `{ ${noisy.command[2]}; } >&2`] })
        )
        assert.isBelow(ended.length, 1_500)
        assert.include(ended, "␛[31mfirst xxx")
        assert.include(ended, "xxxlast")
        assert.match(ended, /bytes omitted/)
      })
    )

    it.effect("is for the tools that it names", () =>
      Effect.gen(function* () {
        const no = { _tag: "Deny", why: "no" }
        assert.deepStrictEqual(yield* before({ ...printing(no), tool: "bash" }), [1])
        assert.deepStrictEqual(yield* before({ ...printing(no), tool: "*_file" }), [1])
        assert.deepStrictEqual(yield* before({ ...printing(no), tool: "t*" }), denied("no"))
      })
    )

    it.effect("ends with its call and with its deadline, and all that it started", () =>
      Effect.gen(function* () {
        const folder = yield* temporary
        const pids = () =>
          fs.existsSync(path.join(folder, "pids"))
            ? fs.readFileSync(path.join(folder, "pids"), "utf8").trim().split("\n").map(Number)
            : []
        const hangs = bash("sleep 61 & setsid sleep 62 & echo $$ > p; echo $! >> p; mv p pids; wait")
        const cancelled = yield* runtime({ before: [hangs] }, folder)
        const fiber = yield* Effect.forkChild(Stream.runCollect(cancelled.events(call("1"))))
        yield* eventually(() => pids().length === 2)
        const first = pids()
        assert.isTrue(first.every(runs))
        yield* cancelled.cancel("1", "user")
        assert.deepStrictEqual(verdict(terminalEvent(yield* Fiber.join(fiber)).result), {
          _tag: "Interrupted",
          why: "user",
          phase: "not-started"
        })
        assert.isFalse(first.some(runs))
        fs.rmSync(path.join(folder, "pids"))
        const late = yield* run({ before: [{ ...hangs, timeoutMs: 500 }] }, {}, folder)
        assert.deepStrictEqual(verdict(late), denied("it failed: it had no answer after 500 ms"))
        assert.strictEqual(pids().length, 2)
        assert.isFalse(pids().some(runs))
      })
    )

    it.effect("after a success it adds content; one that fails changes nothing", () =>
      Effect.gen(function* () {
        const adds = printing({ content: [{ type: "text", text: "by the way" }] })
        for (const broken of [bash("exit 1"), printing({ content: "text" }), printing({ more: 1 }), printing({})]) {
          const result = yield* run({ after: [broken, adds] })
          assert.deepStrictEqual(
            result._tag === "Success" && result.content.map((item) => item.type === "text" && item.text),
            ["[1]", "by the way"]
          )
        }
      })
    )
  })

  it.effect("stands outside of the sandbox of the calls, unless it is given one of its own", () =>
    Effect.gen(function* () {
      const seen: Array<Sandbox.Sandbox> = []
      const processes = Layer.effect(
        Processes,
        Effect.map(Processes, (processes) =>
          Processes.of({
            ...processes,
            spawn: (command) =>
              Effect.flatMap(Sandbox.CurrentSandbox, (sandbox) => {
                seen.push(sandbox)
                return processes.spawn(command)
              })
          })
        )
      ).pipe(Layer.provide(ScriptedProcess.layer(() => ScriptedProcess.exits(0, '{"_tag":"Nothing"}'))))
      const sandboxed = { ...printing({}), sandbox: ["no-network"] } as const
      yield* run({ before: [printing({}), sandboxed] }).pipe(
        Effect.provide(processes),
        Effect.provideService(Sandbox.CurrentSandbox, ["workspace"])
      )
      assert.deepStrictEqual(seen, [[], ["no-network"]])
    })
  )

  it.effect("starts no process for a tool that it is not for", () =>
    Effect.gen(function* () {
      const started: Array<ScriptedProcess.Spawned> = []
      const processes = ScriptedProcess.layer(() => ScriptedProcess.exits(0, '{"_tag":"Nothing"}'), started)
      yield* Effect.provide(before({ ...printing({}), tool: "other" }), processes)
      assert.strictEqual(started.length, 0)
      yield* Effect.provide(before(printing({})), processes)
      assert.strictEqual(started.length, 1)
    })
  )

  /** What a hook may do, and how often: once, every time of a call that is made again, never. */
  const answers: ReadonlyArray<ScriptedProcess.Script> = [
    ScriptedProcess.exits(0, '{"_tag":"Nothing"}'),
    ScriptedProcess.exits(0, '{"_tag":"Allow"}'),
    ScriptedProcess.exits(0, '{"_tag":"Deny","why":"chance"}'),
    ScriptedProcess.exits(0, '{"_tag":"Rewrite","parameters":{}}'),
    ScriptedProcess.exits(1),
    ScriptedProcess.exits(0, "no"),
    { actions: [{ _tag: "Sleep", ms: 3 }], exit: { _tag: "Exited", code: 2 } },
    { actions: [], termMs: 1 }
  ]

  it.effect("law: whatever hooks that are commands do, at whatever time the call is cancelled", () =>
    Effect.gen(function* () {
      for (const [first, script] of answers.entries()) {
        let n = first
        const processes = ScriptedProcess.layer(() => answers[n++ % answers.length] ?? script)
        const hooks = yield* Effect.provide(
          Effect.all({
            before: Effect.forEach([printing({}), printing({})], (hook) =>
              CommandHooks.before({ ...hook, timeoutMs: 5 })
            ),
            after: Effect.forEach([printing({})], (hook) => CommandHooks.after({ ...hook, timeoutMs: 5 }))
          }),
          processes
        )
        const { tool } = ScriptedTool.make({
          actions: [
            { _tag: "Emit", value: 1 },
            { _tag: "Sleep", ms: 3 }
          ],
          end: { _tag: "Succeed", value: 0 }
        })
        yield* LawCheck.checkErased(tool, {
          parameters: [{}],
          steps: 3,
          runtime: ToolRuntime.layerWith({ grace: 5_000 }).pipe(
            Layer.provide(Permissions.layerWith({ ...hooks, rules: allowed })),
            Layer.provide(Grants.layerMemory())
          )
        })
      }
    })
  )
})
