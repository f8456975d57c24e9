import { LLMock } from "@copilotkit/aimock"
import { assert, describe, it } from "@effect/vitest"
import * as path from "node:path"
import { WireSchema } from "../../acp/WireSchema.ts"
import { Program, temporary, toolstream } from "./Program.ts"

const noisy = path.join(import.meta.dirname, "plugins/noisy.ts")

describe("toolstream acp", { timeout: 60_000 }, () => {
  it("C134 nothing but messages is on stdout, whatever prints, and the end of the input is status 0", async () => {
    using folder = temporary("x", "")
    const mock = new LLMock({ port: 0 })
    mock.on({ userMessage: "print", hasToolResult: false }, { toolCalls: [{ name: "noisy", arguments: "{}" }] })
    mock.on({ userMessage: "print", hasToolResult: true }, { content: "Printed." })
    await mock.start()
    const args = ["acp", "--yes", "--plugin", noisy, "--model", "openai/gpt-4o", "--base-url", `${mock.url}/v1`]
    const env = { OPENAI_API_KEY: "none", XDG_STATE_HOME: folder.directory }
    await using program = new Program(args, { env })
    const schema = new WireSchema()
    const ask = (id: number, method: string, params: object) => {
      const message = { jsonrpc: "2.0", id, method, params }
      schema.take("client", message)
      program.write(`${JSON.stringify(message)}\n`)
    }
    const lines = () =>
      program.stdout
        .slice(0, program.stdout.lastIndexOf("\n") + 1)
        .split("\n")
        .filter(Boolean)
    const answered = async (id: number) => {
      const holds = (line: string) => {
        const { id: own, method } = JSON.parse(line)
        return own === id && method === undefined
      }
      await program.until(() => lines().some(holds))
      return JSON.parse(lines().find(holds) ?? "{}")
    }
    ask(0, "initialize", { protocolVersion: 1 })
    assert.strictEqual((await answered(0)).result.agentInfo.name, "toolstream")
    ask(1, "session/new", { cwd: folder.directory, mcpServers: [] })
    const { sessionId } = (await answered(1)).result
    ask(2, "session/prompt", { sessionId, prompt: [{ type: "text", text: "print" }] })
    assert.deepStrictEqual((await answered(2)).result, { stopReason: "end_turn" })
    program.end()
    const { status, stderr, stdout } = await program.ended
    void mock.stop()
    assert.strictEqual(status, 0)
    for (const line of lines()) schema.take("agent", JSON.parse(line))
    assert.deepStrictEqual([schema.breaches, schema.begun], [[], 1])
    for (const what of ["console.log", "process.stdout", "the descriptor", "a child"]) {
      assert.include(stderr, `running: ${what}\n`)
    }
    assert.notInclude(stdout + stderr, "running: the reserved descriptor\n")
  })

  it("without a model, or a key, it says what to set, with status 2", async () => {
    const env = { OPENAI_API_KEY: "", TOOLSTREAM_MODEL: "" }
    for (const [args, says] of [
      [["acp"], "TOOLSTREAM_MODEL"],
      [["acp", "--model", "openai/gpt-4o"], "OPENAI_API_KEY"]
    ] as const) {
      const { status, stderr, stdout } = await toolstream([...args], { env })
      assert.deepStrictEqual([status, stdout], [2, ""])
      assert.include(stderr, says)
    }
  })
})
