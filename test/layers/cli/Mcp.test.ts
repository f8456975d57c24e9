import { assert, describe, it } from "@effect/vitest"
import * as path from "node:path"
import type { Message } from "../mcp/Wire.ts"
import { isAlive, Program, temporary, toolstream } from "./Program.ts"

const plugins = path.join(import.meta.dirname, "plugins")

const line = (message: object): string => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`

const hello =
  line({
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
  }) + line({ method: "notifications/initialized" })

const call = (id: number, name: string, parameters: object = {}, more: object = {}): string =>
  line({ id, method: "tools/call", params: { name, arguments: parameters, ...more } })

/** Every line of it, which all have to be messages. */
const messages = (stdout: string): ReadonlyArray<Message> =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const message = JSON.parse(line) as Message & { readonly jsonrpc: unknown }
      assert.strictEqual(message.jsonrpc, "2.0", line)
      return message
    })

const responses = (stdout: string) => messages(stdout).filter(({ id }) => id !== undefined)

const has = (id: number) => (stdout: string) =>
  responses(stdout.slice(0, stdout.lastIndexOf("\n") + 1)).some((message) => message.id === id)

describe("toolstream mcp", { timeout: 60_000 }, () => {
  it("C134 nothing but messages is on stdout, whatever prints, and the end of the input is status 0", async () => {
    await using program = new Program(["mcp", "--yes", "--plugin", path.join(plugins, "noisy.ts")])
    program.write(hello)
    program.write(call(1, "noisy"))
    program.write(call(2, "bash", { command: "echo out; echo err >&2" }))
    await program.until(has(1))
    await program.until(has(2))
    program.end()
    const { status, stderr, stdout } = await program.ended
    assert.strictEqual(status, 0)
    assert.deepStrictEqual(
      messages(stdout)
        .map(({ id }) => id)
        .toSorted(),
      [0, 1, 2]
    )
    for (const when of ["loading", "running"]) {
      for (const what of ["console.log", "console.info", "process.stdout", "the descriptor", "a child"]) {
        assert.include(stderr, `${when}: ${what}\n`)
      }
      assert.notInclude(stdout + stderr, `${when}: the reserved descriptor\n`)
    }
  })

  it("the end of the input ends what runs, and what it started", async () => {
    using folder = temporary("x", "")
    await using program = new Program(["mcp", "--yes", "--workspace", folder.directory])
    program.write(hello)
    program.write(call(1, "bash", { command: "echo $$; exec sleep 1000" }, { _meta: { progressToken: 1 } }))
    const stdout = await program.until((stdout) => stdout.includes("notifications/progress"))
    const pid = Number(messages(stdout).find(({ params }) => params !== undefined)?.params?.["message"])
    assert.isTrue(isAlive(pid))
    program.end()
    const ended = await program.ended
    assert.strictEqual(ended.status, 0)
    assert.isFalse(isAlive(pid))
    assert.isFalse(responses(ended.stdout).some(({ id }) => id === 1))
  })

  it("a signal ends it with status 130, and what it started", async () => {
    await using program = new Program(["mcp", "--yes"])
    program.write(hello)
    program.write(call(1, "bash", { command: "echo $$; exec sleep 1000" }, { _meta: { progressToken: 1 } }))
    const stdout = await program.until((stdout) => stdout.includes("notifications/progress"))
    const pid = Number(messages(stdout).find(({ params }) => params !== undefined)?.params?.["message"])
    program.signal("SIGTERM")
    assert.strictEqual((await program.ended).status, 130)
    assert.isFalse(isAlive(pid))
  })

  it("a client that reads no more is status 1", async () => {
    await using program = new Program(["mcp"])
    program.write(hello)
    await program.until(has(0))
    program.closeStdout()
    program.write(line({ id: 1, method: "ping" }))
    const { status, stderr } = await program.ended
    assert.strictEqual(status, 1)
    assert.include(stderr, "stdout was closed")
  })

  it("what has to be asked for is refused, with the flag that allows it; --allow does", async () => {
    using configuration = temporary("x", "")
    const options = { configuration: configuration.directory }
    await using refusing = new Program(["mcp"], options)
    await using allowing = new Program(["mcp", "--allow", "bash(echo *)"], options)
    for (const program of [refusing, allowing]) {
      program.write(hello)
      program.write(call(1, "bash", { command: "echo hi" }))
    }
    const refused = responses(await refusing.until(has(1)))[1]
    assert.isTrue(refused?.result?.["isError"])
    assert.match(JSON.stringify(refused), /PermissionDenied.*--allow RULE/)
    const allowed = responses(await allowing.until(has(1)))[1]
    assert.isFalse(allowed?.result?.["isError"], JSON.stringify(allowed))
  })

  it("its help is on stdout", async () => {
    const { status, stdout } = await toolstream(["mcp", "--help"])
    assert.strictEqual(status, 0)
    assert.include(stdout, "Serves the tools to an MCP client")
  })
})
