/**
 * Drives `toolstream acp` as editors do: as a process, by a client on the official SDK and
 * by acpx, which is another code base. The model is a server on this machine. Every line on
 * the wire is checked against the official schema. Status 0 only if all holds.
 */
import { LLMock } from "@copilotkit/aimock"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type Behaviour, Editor } from "./Editor.ts"
import { WireSchema } from "./WireSchema.ts"

const here = import.meta.dirname
const root = path.resolve(here, "../..")
const top = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "toolstream-acp-")))
const workspace = path.join(top, "workspace")
fs.mkdirSync(workspace)

/** Nothing of whose machine it is. */
const env = {
  PATH: process.env["PATH"] ?? "",
  HOME: top,
  XDG_CONFIG_HOME: path.join(top, "config"),
  XDG_STATE_HOME: path.join(top, "state"),
  XDG_CACHE_HOME: path.join(top, "cache"),
  OPENAI_API_KEY: "none"
}

const failures: Array<string> = []

const check = (holds: boolean, what: string, seen: unknown): void => {
  if (!holds) failures.push(`${what}: ${JSON.stringify(seen)}`)
}

const mock = new LLMock({ port: 0 })
const call = (name: string, parameters: unknown) => ({ name, arguments: JSON.stringify(parameters) })
const scripts: Readonly<Record<string, ReadonlyArray<ReturnType<typeof call>>>> = {
  "edit the note": [
    call("read_file", { path: "note.txt" }),
    call("edit_file", { path: "note.txt", oldText: "hello", newText: "hi" }),
    call("todo_write", { todos: [{ id: "1", content: "edit the note", status: "completed" }] })
  ],
  "run a command": [call("bash", { command: "echo one; sleep 0.3; echo two" })],
  "print noise": [call("bash", { command: "echo noise > /dev/fd/1; echo more >&2" })],
  "wait long": [call("bash", { command: "echo $$ > pid; sleep 100" })]
}
for (const [userMessage, toolCalls] of Object.entries(scripts)) {
  mock.on({ userMessage, hasToolResult: false }, { content: "Let me see. ", toolCalls: [...toolCalls] })
  mock.on({ userMessage, hasToolResult: true }, { content: `Done: ${userMessage}.` })
}
await mock.start()

const agent = [
  process.execPath,
  path.join(root, "layers/cli/main.ts"),
  "acp",
  "--model",
  "openai/gpt-4o",
  "--base-url",
  `${mock.url}/v1`
]

const note = path.join(workspace, "note.txt")
const isAlive = (): boolean => {
  const file = path.join(workspace, "pid")
  if (!fs.existsSync(file)) return false
  try {
    process.kill(Number(fs.readFileSync(file, "utf8")), 0)
    return true
  } catch {
    return false
  }
}
const until = async (holds: () => boolean, what: string): Promise<void> => {
  for (let turn = 0; turn < 1000 && !holds(); turn++) await new Promise((resolve) => setTimeout(resolve, 10))
  check(holds(), what, "not within 10 s")
}

/** One scenario. What breaks in it is a failure of its own. */
const scenario = async (name: string, run: (check_: typeof check) => Promise<void>): Promise<void> => {
  const before = failures.length
  fs.writeFileSync(note, "hello\n")
  fs.rmSync(path.join(workspace, "pid"), { force: true })
  const own: typeof check = (holds, what, seen) => check(holds, `${name}: ${what}`, seen)
  await run(own).catch((error: unknown) => own(false, "threw", error instanceof Error ? error.message : error))
  console.log(`${failures.length === before ? "ok  " : "FAIL"} ${name}`)
}

// -----------------------------------------------------------------------------
// A client on the SDK
// -----------------------------------------------------------------------------

const connect = (behaviour: Behaviour = {}) => Editor.connect(agent, env, behaviour)

/** The wire of a client holds, and its agent ends well. */
const close = async (editor: Editor, check_: typeof check): Promise<void> => {
  const status = await editor.end()
  check_(status === 0, "the agent's status", status)
  check_(editor.schema.breaches.length === 0, "the wire", editor.schema.breaches)
  check_(editor.schema.count > 4, "messages", editor.schema.count)
}

await scenario("sdk: a prompt, with permission", async (check_) => {
  const editor = await connect()
  const sessionId = await editor.session(workspace)
  check_((await editor.prompt(sessionId, "edit the note")) === "end_turn", "stop", editor.stop)
  check_(fs.readFileSync(note, "utf8") === "hi\n", "the note", fs.readFileSync(note, "utf8"))
  check_(editor.asked === 1, "questions", editor.asked)
  check_(editor.has("plan"), "a plan", editor.kinds)
  check_(editor.text.includes("Done: edit the note."), "the last word", editor.text)
  await close(editor, check_)
})

await scenario("sdk: a rejection", async (check_) => {
  const editor = await connect({ choose: "reject" })
  const sessionId = await editor.session(workspace)
  check_((await editor.prompt(sessionId, "edit the note")) === "end_turn", "stop", editor.stop)
  check_(fs.readFileSync(note, "utf8") === "hello\n", "the note", fs.readFileSync(note, "utf8"))
  check_(editor.statuses.includes("failed"), "statuses", editor.statuses)
  await close(editor, check_)
})

await scenario("sdk: a cancel while a command runs", async (check_) => {
  const editor = await connect()
  const sessionId = await editor.session(workspace)
  const stopped = editor.prompt(sessionId, "wait long")
  await until(isAlive, "the command runs")
  await editor.cancel(sessionId)
  check_((await stopped) === "cancelled", "stop", editor.stop)
  check_(!isAlive(), "the command", "is alive")
  await close(editor, check_)
})

await scenario("sdk: a cancel at a permission", async (check_) => {
  const editor = await connect({ choose: "cancel" })
  const sessionId = await editor.session(workspace)
  check_((await editor.prompt(sessionId, "wait long")) === "cancelled", "stop", editor.stop)
  check_(!fs.existsSync(path.join(workspace, "pid")), "the command", "has run")
  await close(editor, check_)
})

await scenario("sdk: an edit of a buffer that is not saved, and a terminal of the editor", async (check_) => {
  const editor = await connect({ buffers: new Map([[note, "hello, not saved\n"]]), terminals: true })
  const sessionId = await editor.session(workspace)
  await editor.prompt(sessionId, "edit the note")
  check_(editor.buffers?.get(note) === "hi, not saved\n", "the buffer", editor.buffers?.get(note))
  check_(fs.readFileSync(note, "utf8") === "hello\n", "the disk", fs.readFileSync(note, "utf8"))
  check_((await editor.prompt(sessionId, "run a command")) === "end_turn", "stop", editor.stop)
  check_(editor.released === 1, "terminals released", editor.released)
  const stopped = editor.prompt(sessionId, "wait long")
  await until(isAlive, "the command runs")
  await editor.cancel(sessionId)
  check_((await stopped) === "cancelled", "stop", editor.stop)
  check_(!isAlive(), "the command", "is alive")
  await close(editor, check_)
})

await scenario("sdk: the editor is lost in a call, and another one loads the session", async (check_) => {
  let sessionId = ""
  // What is left behind depends on how far the call has come.
  for (let time = 0; time < 5; time++) {
    fs.rmSync(path.join(workspace, "pid"), { force: true })
    const lost = await connect()
    sessionId = await lost.session(workspace)
    void lost.prompt(sessionId, "wait long").catch(() => {})
    await until(isAlive, "the command runs")
    const status = await lost.end()
    check_(status === 0, "the agent's status", status)
    check_(!isAlive(), "the command", "is alive")
    check_(lost.schema.breaches.length === 0, "the wire", lost.schema.breaches)
  }
  const editor = await connect()
  await editor.load(sessionId, workspace)
  check_(editor.has("user_message_chunk"), "what was said", editor.kinds)
  check_(editor.statuses.at(-1) === "failed", "the call that was lost", editor.statuses)
  check_((await editor.prompt(sessionId, "edit the note")) === "end_turn", "stop", editor.stop)
  await close(editor, check_)
})

await scenario("sdk: what tools print is not on the wire", async (check_) => {
  const editor = await connect()
  const sessionId = await editor.session(workspace)
  await editor.prompt(sessionId, "print noise")
  await close(editor, check_)
})

// -----------------------------------------------------------------------------
// acpx
// -----------------------------------------------------------------------------

const acpxProgram = path.join(here, "acpx/node_modules/acpx/dist/cli.js")
if (!fs.existsSync(acpxProgram)) {
  // Not `npm ci`: the lock file says nothing of optional packages for other systems, and that is an error to it.
  const options = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
  const { status } = childProcess.spawnSync("npm", ["install", ...options], {
    cwd: path.join(here, "acpx"),
    stdio: ["ignore", 2, 2]
  })
  check(status === 0, "npm install of acpx", status)
}

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly schema: WireSchema
  readonly methods: ReadonlyArray<string>
}

/** Runs acpx on the agent, and reads what went over the wire. */
const acpx = async (options: ReadonlyArray<string>, command: ReadonlyArray<string>): Promise<Ended> => {
  // One for all: acpx knows a session by the command of its agent.
  const wire = path.join(top, "wire.txt")
  fs.writeFileSync(wire, "")
  const tee = [process.execPath, path.join(here, "tee.ts"), wire, ...agent]
    .map((part) => JSON.stringify(part))
    .join(" ")
  const child = childProcess.spawn(
    process.execPath,
    [acpxProgram, "--agent", tee, "--cwd", workspace, "--format", "json", "--json-strict", ...options, ...command],
    { env, cwd: workspace, stdio: ["ignore", "pipe", "inherit"] }
  )
  let stdout = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
  const status = await new Promise<number | null>((resolve) => child.on("close", resolve))
  const schema = new WireSchema()
  const methods: Array<string> = []
  for (const line of fs.readFileSync(wire, "utf8").split("\n")) {
    if (line === "") continue
    const side = line.startsWith("client ") ? "client" : "agent"
    const message = parsed(line.slice(side.length + 1))
    if (message === undefined) schema.breaches.push(`no JSON: ${line.slice(0, 200)}`)
    else {
      schema.take(side, message)
      if ("method" in message) methods.push(String(message.method))
    }
  }
  return { status, stdout, schema, methods }
}

const parsed = (line: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === "object" && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

const wireHolds = ({ methods, schema }: Ended, check_: typeof check): void => {
  check_(schema.breaches.length === 0, "the wire", schema.breaches)
  check_(schema.count > 4, "messages", methods)
}

await scenario("acpx: a prompt, with permission", async (check_) => {
  const ended = await acpx(["--approve-all"], ["exec", "edit the note"])
  check_(ended.status === 0, "status", ended)
  check_(ended.methods.includes("session/request_permission"), "asked", ended.methods)
  check_(fs.readFileSync(note, "utf8") === "hi\n", "the note", fs.readFileSync(note, "utf8"))
  check_(ended.schema.stops.join() === "end_turn", "stops", ended.schema.stops)
  wireHolds(ended, check_)
})

await scenario("acpx: a command in its terminal", async (check_) => {
  const ended = await acpx(["--approve-all"], ["exec", "run a command"])
  check_(ended.status === 0, "status", ended)
  check_(ended.methods.includes("terminal/create"), "its terminal", ended.methods)
  wireHolds(ended, check_)
})

await scenario("acpx: a rejection", async (check_) => {
  const ended = await acpx(["--deny-all"], ["exec", "edit the note"])
  check_(fs.readFileSync(note, "utf8") === "hello\n", "the note", fs.readFileSync(note, "utf8"))
  check_(ended.schema.stops.length === 1, "stops", ended.schema.stops)
  wireHolds(ended, check_)
})

await scenario("acpx: a cancel, by its time", async (check_) => {
  const ended = await acpx(["--approve-all", "--timeout", "10"], ["exec", "wait long"])
  check_(ended.status === 3, "status", ended.status)
  check_(fs.existsSync(path.join(workspace, "pid")), "the command", "did not run")
  await until(() => !isAlive(), "the command is gone")
  wireHolds(ended, check_)
})

await scenario("acpx: a session that is loaded again", async (check_) => {
  const named = ["-s", `loads-${process.pid}`]
  await acpx(["--approve-all", "--ttl", "1"], ["sessions", "new", "--name", named[1]!])
  const first = await acpx(["--approve-all", "--ttl", "1"], ["prompt", ...named, "edit the note"])
  check_(first.status === 0, "status", first)
  // Its queue owner, and with it the agent, ends after the time to live.
  await new Promise((resolve) => setTimeout(resolve, 4000))
  const second = await acpx(["--approve-all", "--ttl", "1"], ["prompt", ...named, "run a command"])
  check_(second.status === 0, "status", second)
  check_(second.methods.includes("session/load"), "loaded", second.methods)
  wireHolds(second, check_)
})

await mock.stop()
fs.rmSync(top, { recursive: true, force: true })
for (const failure of failures) console.error(`\n${failure.slice(0, 2000)}`)
console.log(failures.length === 0 ? "\nAll hold." : `\n${failures.length} failures.`)
process.exit(failures.length === 0 ? 0 : 1)
