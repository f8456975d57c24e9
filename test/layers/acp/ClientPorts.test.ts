import { assert, describe, it } from "@effect/vitest"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Client from "../../../layers/acp/Client.ts"
import * as ClientFiles from "../../../layers/acp/ClientFiles.ts"
import * as ClientTerminals from "../../../layers/acp/ClientTerminals.ts"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import * as NodeWorkspaceFiles from "../../../layers/node/WorkspaceFiles.ts"
import * as Processes from "../../../src/Processes.ts"
import * as Sandbox from "../../../src/Sandbox.ts"
import { WorkspaceFiles } from "../../../src/WorkspaceFiles.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as ApplyPatch from "../../../tools/apply-patch/ApplyPatch.ts"
import * as EditFile from "../../../tools/edit-file/EditFile.ts"
import * as ReadFile from "../../../tools/ReadFile.ts"
import * as WriteFile from "../../../tools/WriteFile.ts"
import * as Workspace from "../node/Workspace.ts"

/** The buffers of an editor: what it holds, what it refuses. */
const editor = (
  buffers: Record<string, string>,
  options: { readonly refuses?: string; readonly gone?: boolean } = {}
) => {
  const refused = (detail: string) =>
    Effect.fail(new Client.ClientRefused({ ...(options.gone === true ? {} : { code: -32002 }), detail }))
  const client: Client.Client = {
    buffers: {
      read: (path) => {
        const text = buffers[path]
        return text === undefined || options.gone === true ? refused(`no ${path}`) : Effect.succeed(text)
      },
      write: (path, content) =>
        options.refuses === path ? refused("it is locked") : Effect.sync(() => void (buffers[path] = content))
    },
    terminals: undefined
  }
  return client
}

const files = (root: string) =>
  Layer.mergeAll(ReadFile.layer, WriteFile.layer, EditFile.layer, ApplyPatch.layer).pipe(
    Layer.provideMerge(ClientFiles.layer),
    Layer.provide(NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") }))
  )

const inWorkspace = <A, E>(
  tree: Workspace.Tree,
  use: (root: string) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof files>>>
) => Effect.flatMap(Workspace.make(tree), ({ root }) => Effect.provide(use(root), Workspace.within(root, files(root))))

const by = (client: Client.Client) => Effect.provideService(Client.CurrentClient, client)

const edit = (parameters: { readonly path: string; readonly oldText: string; readonly newText: string }) =>
  Effect.flatMap(EditFile.EditFile, ({ execute }) => ToolStream.runResult(execute(parameters)))

const read = (path: string) =>
  Effect.flatMap(ReadFile.ReadFile, ({ execute }) => ToolStream.runResult(execute({ path })))

const write = (path: string, content: string) =>
  Effect.flatMap(WriteFile.WriteFile, ({ execute }) => ToolStream.runResult(execute({ path, content })))

const patch = (...lines: ReadonlyArray<string>) =>
  Effect.flatMap(ApplyPatch.ApplyPatch, ({ execute }) =>
    ToolStream.runResult(execute({ patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") }))
  )

const failed = (exit: Exit.Exit<unknown, unknown>) => {
  assert(Exit.isFailure(exit), "it failed")
  const [reason] = exit.cause.reasons
  assert(reason?._tag === "Fail" && reason.error instanceof Error)
  return reason.error.message
}

describe("the files of an editor", () => {
  it.live("an edit of an unsaved buffer reads and writes the buffer, and never touches the file on the disk", () =>
    inWorkspace({ "a.txt": "saved\n" }, (root) =>
      Effect.gen(function* () {
        const at = path.join(root, "a.txt")
        const before = fs.statSync(at, { bigint: true })
        const buffers: Record<string, string> = { [at]: "not saved\nyet\n" }
        const client = editor(buffers)
        const shown = yield* read("a.txt").pipe(by(client))
        assert.include(JSON.stringify(shown), "not saved")
        const edited = yield* edit({ path: "a.txt", oldText: "yet", newText: "still" }).pipe(by(client))
        assert.match(edited.diff ?? "", /^-yet\n\+still$/m)
        assert.strictEqual(buffers[at], "not saved\nstill\n")
        const after = fs.statSync(at, { bigint: true })
        assert.deepStrictEqual(
          [after.ino, after.mtimeNs, after.ctimeNs, fs.readFileSync(at, "utf8")],
          [before.ino, before.mtimeNs, before.ctimeNs, "saved\n"]
        )
        assert.deepStrictEqual(fs.readdirSync(root), ["a.txt"])
      })
    )
  )

  it.live("a buffer that was never saved is read and edited; a new file is made in the editor", () =>
    inWorkspace({}, (root) =>
      Effect.gen(function* () {
        const buffers: Record<string, string> = { [path.join(root, "new.txt")]: "one\n" }
        const client = editor(buffers)
        yield* read("new.txt").pipe(by(client))
        yield* edit({ path: "new.txt", oldText: "one", newText: "two" }).pipe(by(client))
        const written = yield* write("other.txt", "x\n").pipe(by(client))
        assert.isTrue(written.created)
        assert.deepStrictEqual(buffers, {
          [path.join(root, "new.txt")]: "two\n",
          [path.join(root, "other.txt")]: "x\n"
        })
        assert.deepStrictEqual(fs.readdirSync(root), [])
        assert.include(failed(yield* Effect.exit(read("absent.txt").pipe(by(client)))), "does not exist")
      })
    )
  )

  it.live("a buffer that its user changed since it was read is not overwritten", () =>
    inWorkspace({ "a.txt": "one\n" }, (root) =>
      Effect.gen(function* () {
        const at = path.join(root, "a.txt")
        const buffers: Record<string, string> = { [at]: "one\n" }
        const client = editor(buffers)
        yield* read("a.txt").pipe(by(client))
        buffers[at] = "one, and what I typed\n"
        const exit = yield* Effect.exit(edit({ path: "a.txt", oldText: "one", newText: "two" }).pipe(by(client)))
        assert.include(failed(exit), "was changed by somebody else since it was read")
        assert.strictEqual(buffers[at], "one, and what I typed\n")
        yield* read("a.txt").pipe(by(client))
        yield* edit({ path: "a.txt", oldText: "one", newText: "two" }).pipe(by(client))
        assert.strictEqual(buffers[at], "two, and what I typed\n")
      })
    )
  )

  it.live("of a patch that fails in the middle nothing is left; deletions are made on the disk", () =>
    inWorkspace({ "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" }, (root) =>
      Effect.gen(function* () {
        const at = (name: string) => path.join(root, name)
        const buffers: Record<string, string> = { [at("a.txt")]: "a\n", [at("b.txt")]: "b\n", [at("c.txt")]: "c2\n" }
        const lines = [
          "*** Update File: a.txt",
          "@@",
          "-a",
          "+A",
          "*** Delete File: c.txt",
          "*** Update File: b.txt",
          "@@",
          "-b",
          "+B"
        ]
        const exit = yield* Effect.exit(patch(...lines).pipe(by(editor(buffers, { refuses: at("b.txt") }))))
        assert.include(failed(exit), "it is locked")
        assert.deepStrictEqual(buffers, { [at("a.txt")]: "a\n", [at("b.txt")]: "b\n", [at("c.txt")]: "c2\n" })
        assert.isTrue(fs.existsSync(at("c.txt")))
        const applied = yield* patch(...lines).pipe(by(editor(buffers)))
        assert.deepStrictEqual(
          applied.files.map(({ kind, path }) => [kind, path]),
          [
            ["update", "a.txt"],
            ["delete", "c.txt"],
            ["update", "b.txt"]
          ]
        )
        assert.deepStrictEqual([buffers[at("a.txt")], buffers[at("b.txt")]], ["A\n", "B\n"])
        assert.deepStrictEqual(fs.readdirSync(root).toSorted(), ["a.txt", "b.txt"])
        assert.strictEqual(fs.readFileSync(at("a.txt"), "utf8"), "a\n")
      })
    )
  )

  it.live("a file that the editor saved since it was read can be deleted", () =>
    inWorkspace({ "a.txt": "one\n" }, (root) =>
      Effect.gen(function* () {
        const at = path.join(root, "a.txt")
        const buffers = new Proxy<Record<string, string>>(
          { [at]: "one\n" },
          { set: (held, name, text: string) => (fs.writeFileSync(String(name), text), Reflect.set(held, name, text)) }
        )
        const client = editor(buffers)
        yield* read("a.txt").pipe(by(client))
        yield* edit({ path: "a.txt", oldText: "one", newText: "one, saved" }).pipe(by(client))
        assert.strictEqual(fs.readFileSync(at, "utf8"), "one, saved\n")
        yield* patch("*** Delete File: a.txt").pipe(by(client))
        assert.deepStrictEqual(fs.readdirSync(root), [])
      })
    )
  )

  it.live(
    "what lies outside, what is no text, and what the editor does not have is as without it; an editor that is gone is told",
    () =>
      inWorkspace({ "a.bin": new Uint8Array([0, 1]), "a.txt": "disk\n", "../out": "secret" }, (root) =>
        Effect.gen(function* () {
          const buffers: Record<string, string> = {
            [path.join(root, "a.bin")]: "as text",
            [path.join(root, "../out")]: "x"
          }
          const client = editor(buffers)
          assert.include(failed(yield* Effect.exit(read("../out").pipe(by(client)))), "outside of the workspace")
          assert.include(failed(yield* Effect.exit(write("../out", "y").pipe(by(client)))), "outside of the workspace")
          assert.strictEqual(buffers[path.join(root, "../out")], "x")
          const bytes = yield* Effect.scoped(
            Effect.gen(function* () {
              const opened = yield* (yield* WorkspaceFiles).open("a.bin")
              return yield* opened.read(0, 10)
            })
          ).pipe(by(client))
          assert.deepStrictEqual([...bytes], [0, 1])
          assert.include(JSON.stringify(yield* read("a.txt").pipe(by(client))), "disk")
          const gone = editor(buffers, { gone: true })
          assert.include(failed(yield* Effect.exit(read("a.txt").pipe(by(gone)))), "the editor is gone")
          // Without an editor it is the disk.
          yield* write("a.txt", "new\n")
          assert.strictEqual(fs.readFileSync(path.join(root, "a.txt"), "utf8"), "new\n")
        })
      )
  )
})

/** A terminal that shows what a test says, and ends when it is told to. */
class Terminal {
  text = ""
  truncated = false
  readonly asked: Array<string> = []
  private exit: ((status: Client.TerminalExit) => void) | undefined
  private readonly exited = new Promise<Client.TerminalExit>((resolve) => (this.exit = resolve))

  readonly client: Client.Client = {
    buffers: undefined,
    terminals: {
      create: ({ args, cwd, program }, callId) =>
        Effect.sync(() => {
          this.asked.push(`create ${program} ${args.join(" ")} in ${cwd} for ${String(callId)}`)
          return {
            id: "1",
            output: Effect.sync(() => ({ text: this.text, truncated: this.truncated })),
            exit: Effect.promise(() => this.exited),
            kill: Effect.sync(() => {
              this.asked.push("kill")
              this.end({ code: undefined, signal: "SIGKILL" })
            }),
            release: Effect.sync(() => void this.asked.push("release"))
          }
        })
    }
  }

  end(status: Client.TerminalExit): void {
    this.exit?.(status)
  }
}

const processes = Workspace.within(
  "/",
  ClientTerminals.layer.pipe(Layer.provide([NodeProcesses.layer, NodePath.layer]))
)

/** In a session whose editor has this terminal. */
const runWith = <A, E>(use: (terminal: Terminal) => Effect.Effect<A, E, Processes.Processes>) => {
  const terminal = new Terminal()
  return use(terminal).pipe(Effect.provideService(Client.CurrentClient, terminal.client), Effect.provide(processes))
}

const spawn = (command: Processes.Command) => Effect.flatMap(Processes.Processes, ({ spawn }) => spawn(command))

const texts = (process: Processes.Process) =>
  Stream.runFold(
    process.output,
    () => "",
    (text, { bytes }) => text + new TextDecoder().decode(bytes)
  )

describe("the terminals of an editor", () => {
  it.live("a command runs there: its output as it comes, its status, and then it is released", () =>
    runWith((terminal) =>
      Effect.gen(function* () {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const running = yield* spawn({ program: "sh", args: ["-c", "x"], cwd: "tmp" })
            terminal.text = "one\n"
            const pieces: Array<string> = []
            const reading = Stream.runForEach(running.output, ({ bytes }) =>
              Effect.sync(() => {
                pieces.push(new TextDecoder().decode(bytes))
                if (terminal.text === "one\n") terminal.text += "two\n"
                else if (!terminal.text.includes("three")) {
                  terminal.text += "three\n"
                  terminal.end({ code: 3, signal: undefined })
                }
              })
            )
            yield* reading
            assert.strictEqual(pieces.join(""), "one\ntwo\nthree\n")
            assert.isAbove(pieces.length, 2)
            assert.deepStrictEqual(yield* running.exit, { _tag: "Exited", code: 3 })
          })
        )
        assert.deepStrictEqual(terminal.asked, ["create sh -c x in /tmp for undefined", "release"])
      })
    )
  )

  it.live("what is left running is killed, and waited for, before it is released", () =>
    runWith((terminal) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const running = yield* Scope.provide(spawn({ program: "sleep", args: ["9"] }), scope)
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(terminal.asked.slice(1), ["kill", "release"])
        assert.deepStrictEqual(yield* running.exit, { _tag: "Signalled", signal: "SIGKILL" })
      })
    )
  )

  it.live("lines that are drawn anew, and a beginning that was dropped, are told once", () =>
    runWith((terminal) =>
      Effect.scoped(
        Effect.gen(function* () {
          const running = yield* spawn({ program: "x", args: [] })
          const shows = ["a\n1%", "a\n2%", "a\n100%\nb\n"]
          terminal.text = shows.shift()!
          const pieces: Array<string> = []
          yield* Stream.runForEach(running.output, ({ bytes }) =>
            Effect.sync(() => {
              pieces.push(new TextDecoder().decode(bytes))
              const next = shows.shift()
              if (next !== undefined) terminal.text = next
              else if (!terminal.truncated) {
                terminal.truncated = true
                terminal.text = "100%\nb\nc\n"
              } else if (terminal.text.includes("c")) {
                terminal.text = "quite other\n"
                terminal.end({ code: 0, signal: undefined })
              }
            })
          )
          assert.deepStrictEqual(pieces.slice(0, 3), ["a\n1%", "\n2%", "\n100%\nb\n"])
          assert.include(pieces.at(-1), "output that was not seen in time")
        })
      )
    )
  )

  it.live("a command with an input, and one in a sandbox, run on this machine", () =>
    runWith((terminal) =>
      Effect.scoped(
        Effect.gen(function* () {
          const running = yield* spawn({ program: "cat", args: [], input: "hello" })
          assert.strictEqual(yield* texts(running), "hello")
          yield* Effect.exit(
            Effect.provideService(spawn({ program: "true", args: [] }), Sandbox.CurrentSandbox, ["no-network"])
          )
          assert.deepStrictEqual(terminal.asked, [])
        })
      )
    )
  )
})
