import { LLMock } from "@copilotkit/aimock"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as WireRules from "../agent/WireRules.ts"
import { type Options, Program, toolstream } from "./Program.ts"

const key = "sk-not-to-be-told"

let mock: LLMock
let root: string

beforeAll(async () => {
  mock = new LLMock({ port: 0 })
  mock.on(
    { userMessage: "look", hasToolResult: false },
    {
      content: "Looking.",
      toolCalls: [
        { name: "list_dir", arguments: "{}" },
        { name: "read_file", arguments: '{"path":"a.txt"}' }
      ]
    }
  )
  mock.on({ userMessage: "look", hasToolResult: true }, { content: "I have seen it." })
  mock.on(
    { userMessage: "write", hasToolResult: false },
    { toolCalls: [{ name: "write_file", arguments: '{"path":"new.txt","content":"x"}' }] }
  )
  mock.on({ userMessage: "write", hasToolResult: true }, { content: "So be it." })
  mock.on(
    { userMessage: "sleep", hasToolResult: false },
    {
      content: "Sleeping.",
      toolCalls: [
        { name: "list_dir", arguments: "{}" },
        { name: "bash", arguments: '{"command":"sleep 0.5; echo begun; sleep 100"}' }
      ]
    }
  )
  mock.on({ userMessage: "after" }, { content: "Awake." })
  mock.on(
    { userMessage: "refuse" },
    { error: { message: `bad key ${key}`, type: "authentication_error" }, status: 401 }
  )
  await mock.start()
})

afterAll(() => void mock.stop())

/** A workspace, and the folder in which conversations are kept. */
const place = () => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), "agent-"))
  const workspace = path.join(root, "workspace")
  fs.mkdirSync(workspace)
  fs.writeFileSync(path.join(workspace, "a.txt"), "alpha\n")
  const model = ["--model", "anthropic/claude", "--base-url", mock.url, "--workspace", workspace]
  const options = (more: Options = {}): Options => ({
    ...more,
    env: { XDG_STATE_HOME: path.join(root, "state"), ANTHROPIC_API_KEY: key }
  })
  const sessions = () => {
    const folder = path.join(root, "state", "toolstream", "sessions")
    return fs.existsSync(folder)
      ? fs
          .readdirSync(folder)
          .filter((name) => name.endsWith(".jsonl"))
          .map((name) => path.join(folder, name))
      : []
  }
  return {
    workspace,
    sessions,
    agent: (args: ReadonlyArray<string>, more?: Options) => toolstream(["agent", ...args, ...model], options(more)),
    start: (args: ReadonlyArray<string>, more?: Options) => new Program(["agent", ...args, ...model], options(more)),
    remove: () => fs.rmSync(root, { recursive: true })
  }
}

const linesOf = (stdout: string) =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line): { readonly _tag: string; readonly [key: string]: unknown } => JSON.parse(line))

describe("toolstream agent", { timeout: 60_000 }, () => {
  it("without a key it says which variable to set, without a model how to name one", async () => {
    const none = { env: { ANTHROPIC_API_KEY: "", TOOLSTREAM_MODEL: "" } }
    const keyless = await toolstream(["agent", "hi", "--model", "anthropic/claude"], none)
    assert.strictEqual(keyless.status, 2)
    assert.match(keyless.stderr, /^toolstream: ANTHROPIC_API_KEY is not set\. /)
    const unnamed = await toolstream(["agent", "hi"], none)
    assert.strictEqual(unnamed.status, 2)
    assert.match(unnamed.stderr, /--model PROVIDER\/MODEL, or set TOOLSTREAM_MODEL.*ANTHROPIC_API_KEY/)
  })

  it("a prompt: what the model says on stdout, what its tools do on stderr; kept in a file of the user's alone", async () => {
    const { agent, remove, sessions } = place()
    const { status, stderr, stdout } = await agent(["look"])
    assert.strictEqual(status, 0, stderr)
    assert.strictEqual(stdout, "Looking.\nI have seen it.\n")
    assert.match(stderr, /▸ 1 list_dir \{\}\n▸ 2 read_file \{"path":"a.txt"\}/)
    assert.match(stderr, /1 │ a\.txt\n/)
    assert.match(stderr, /✓ 2 read_file, \d+ ms/)
    const [file = ""] = sessions()
    assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
    assert.strictEqual(fs.statSync(path.dirname(file)).mode & 0o777, 0o700)
    assert.notInclude(fs.readFileSync(file, "utf8"), key)
    remove()
  })

  it("--json: each event a line, then the end; the prompt from stdin", async () => {
    const { agent, remove } = place()
    const { status, stderr, stdout } = await agent(["-", "--json"], { stdin: "look\n" })
    assert.strictEqual(status, 0, stderr)
    const tags = linesOf(stdout).map(({ _tag }) => _tag)
    assert.deepStrictEqual(tags.slice(0, 2), ["Said", "Sampling"])
    assert.strictEqual(tags.filter((tag) => tag === "Terminal").length, 2)
    assert.strictEqual(tags.at(-1), "Ended")
    assert.isBelow(tags.indexOf("Accepted"), tags.indexOf("Terminal"))
    remove()
  })

  it("what nobody permits is refused, and the model reads it; with --yes it is done", async () => {
    const { agent, remove, workspace } = place()
    const configuration = { configuration: "/nowhere" }
    const refused = await agent(["write"], configuration)
    assert.strictEqual(refused.status, 0)
    assert.match(refused.stderr, /✗ 1 write_file: Not permitted by the program: stdin is no terminal/)
    assert.isFalse(fs.existsSync(path.join(workspace, "new.txt")))
    await agent(["write", "--yes"], configuration)
    assert.isTrue(fs.existsSync(path.join(workspace, "new.txt")))
    remove()
  })

  it("Ctrl-C ends the turn and its command; the conversation is taken up again, each call with its result (C123)", async () => {
    const { agent, remove, start } = place()
    await using program = start(["sleep", "--yes", "--json"])
    await program.until((stdout) => stdout.includes('"begun'))
    program.signal("SIGINT")
    const { status, stdout } = await program.ended
    assert.strictEqual(status, 130)
    const ended = linesOf(stdout)
    assert.deepInclude(ended.at(-1), { _tag: "Ended" })
    assert.match(JSON.stringify(ended.at(-2)), /"Interrupted".*"stopped"/)
    mock.clearRequests()
    const again = await agent(["after", "--resume"])
    assert.strictEqual(again.stdout, "Awake.\n", again.stderr)
    const { body } = mock.getLastRequest() ?? {}
    const { messages } = body as { readonly messages: ReadonlyArray<object> }
    assert.deepStrictEqual(WireRules.journal(messages), [])
    assert.include(JSON.stringify(messages), "It was stopped midway")
    remove()
  })

  it("killed while a tool runs: the next one tells the model what is known of each call (C123)", async () => {
    const { agent, remove, start } = place()
    await using program = start(["sleep", "--yes", "--json"])
    await program.until((stdout) => stdout.includes('"begun'))
    program.signal("SIGKILL")
    await program.ended
    mock.clearRequests()
    const again = await agent(["after", "--resume"])
    assert.strictEqual(again.stdout, "Awake.\n", again.stderr)
    const { body } = mock.getLastRequest() ?? {}
    const { messages } = body as { readonly messages: ReadonlyArray<object> }
    assert.deepStrictEqual(WireRules.journal(messages), [])
    const [listed, slept] = messages.flatMap((message) => ("tool_call_id" in message ? [JSON.stringify(message)] : []))
    assert.include(listed, "a.txt", "what had ended is known")
    assert.include(slept, "The answer was lost", "what had begun may have been executed")
    remove()
  })

  it("a chat: a line is a turn, one after another; the end of the input ends it", async () => {
    const { agent, remove, sessions } = place()
    const { status, stderr, stdout } = await agent([], { stdin: "look\n\nafter\n" })
    assert.strictEqual(status, 0, stderr)
    assert.strictEqual(stdout, "Looking.\nI have seen it.\nAwake.\n")
    assert.strictEqual(sessions().length, 1)
    remove()
  })

  it("a model that gives no response: status 1, the reason, and not the key", async () => {
    const { agent, remove } = place()
    const { status, stderr, stdout } = await agent(["refuse"])
    assert.strictEqual(status, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, /✗ anthropic: not authorized: bad key \(the key\)/)
    remove()
  })

  it("nothing to resume is an error of the options", async () => {
    const { agent, remove } = place()
    const none = await agent(["after", "--resume"])
    assert.strictEqual(none.status, 2)
    assert.match(none.stderr, /--resume: no conversation was held in/)
    assert.strictEqual((await agent(["after", "--session", "../x"])).status, 2)
    remove()
  })
})
