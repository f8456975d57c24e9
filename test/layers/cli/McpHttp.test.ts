import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import { isAlive, Program, temporary, toolstream } from "./Program.ts"

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
})

const served = async (...args: ReadonlyArray<string>) => {
  const program = new Program(["mcp", "--http", "0", ...args])
  const url = await program.said(/MCP on (http:\S+)/)
  const token = args.includes("--no-auth") ? "" : await program.said(/Bearer (\S+)/)
  return { program, url, token, [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() }
}

interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

/** `fetch` lets nobody choose `Host`. */
const post = (
  url: string,
  headers: Record<string, string>,
  body: string = initialize,
  method = "POST"
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = http.request(
      url,
      {
        method,
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers }
      },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
      }
    )
    request.on("error", reject)
    request.end(body)
  })

describe("toolstream mcp --http", { timeout: 60_000 }, () => {
  it("keeps out who has no token, comes by another name, from another page, or with too much", async () => {
    using folder = temporary("file", "")
    fs.mkdirSync(path.join(folder.directory, "inner"))
    fs.symlinkSync("/", path.join(folder.directory, "out"))
    await using server = await served("--workspace", folder.directory)
    const { port } = new URL(server.url)
    const right = { authorization: `Bearer ${server.token}` }
    assert.match(server.token, /^[\w-]{43}$/)
    const status = async (headers: Record<string, string>, query = "", body = initialize) =>
      (await post(server.url + query, headers, body)).status
    assert.deepStrictEqual(
      await Promise.all([
        status({}),
        status({ authorization: "Bearer x" }),
        status({ authorization: `Bearer ${server.token.slice(0, -1)}` }),
        status({ authorization: `Bearer ${server.token}x` }),
        status({ ...right, host: "evil.example" }),
        status({ ...right, host: `localhost.evil.example:${port}` }),
        status({ ...right, origin: "http://evil.example" }),
        status({ ...right, origin: "null" }),
        status({ ...right, "content-length": String(17 * 1024 * 1024) }).catch(() => 413)
      ]),
      [401, 401, 401, 401, 403, 403, 403, 403, 413]
    )
    assert.deepStrictEqual(
      await Promise.all([
        status(right),
        status({ ...right, host: `localhost:${port}`, origin: `http://localhost:${port}` }),
        status(right, "?workspace=inner"),
        status(right, "?workspace=.."),
        status(right, "?workspace=out"),
        status(right, "?workspace=out/etc"),
        status(right, "?workspace=file"),
        status(right, "?workspace=nowhere")
      ]),
      [200, 200, 200, 400, 400, 400, 400, 400]
    )
  })

  it("rules of a folder hold for whoever works there", async () => {
    using folder = temporary("x", "")
    const inner = path.join(folder.directory, "inner", ".toolstream")
    fs.mkdirSync(inner, { recursive: true })
    fs.writeFileSync(path.join(inner, "permissions.json"), JSON.stringify({ deny: ["read_file(**)"] }))
    fs.writeFileSync(path.join(folder.directory, "inner", "f"), "inner")
    fs.writeFileSync(path.join(folder.directory, "f"), "outer")
    await using server = await served("--workspace", folder.directory, "--no-auth")
    const read = async (query: string) => {
      const { headers } = await post(server.url + query, {})
      const session = { "mcp-session-id": String(headers["mcp-session-id"]) }
      const call = {
        jsonrpc: "2.0",
        id: 2,
        method: "tools/call",
        params: { name: "read_file", arguments: { path: "f" } }
      }
      return (await post(server.url + query, session, JSON.stringify(call))).body
    }
    assert.include(await read(""), "outer")
    assert.match(await read("?workspace=inner"), /PermissionDenied/)
  })

  it("a session that its client ends is gone, and what it had in its background", async () => {
    await using server = await served("--yes", "--no-auth")
    const { headers } = await post(server.url, {})
    const session = { "mcp-session-id": String(headers["mcp-session-id"]) }
    const bash = (command: string, more: object) =>
      JSON.stringify({
        jsonrpc: "2.0",
        id: 2,
        method: "tools/call",
        params: { name: "bash", arguments: { command, ...more } }
      })
    using folder = temporary("pid", "")
    await post(server.url, session, bash(`echo $$ > ${folder.file}; exec sleep 1000`, { background: true }))
    await post(server.url, { ...session }, bash(`until [ -s ${folder.file} ]; do sleep 0.05; done`, {}))
    const pid = Number(fs.readFileSync(folder.file, "utf8"))
    assert.isTrue(isAlive(pid))
    assert.strictEqual((await post(server.url, session, "", "DELETE")).status, 204)
    assert.isFalse(isAlive(pid))
    assert.strictEqual((await post(server.url, session, bash("true", {}))).status, 404)
  })

  it("a signal ends what runs, answers it, and is status 130", async () => {
    await using server = await served("--yes", "--no-auth")
    const { headers } = await post(server.url, {})
    using folder = temporary("pid", "")
    const answered = post(
      server.url,
      { "mcp-session-id": String(headers["mcp-session-id"]) },
      JSON.stringify({
        jsonrpc: "2.0",
        id: 2,
        method: "tools/call",
        params: { name: "bash", arguments: { command: `echo $$ > ${folder.file}; exec sleep 1000` } }
      })
    )
    const pid = () => Number(fs.readFileSync(folder.file, "utf8"))
    for (let i = 0; pid() === 0 && i < 500; i++) await post(server.url, {}, "{}")
    server.program.signal("SIGINT")
    assert.match((await answered).body, /Interrupted/)
    assert.strictEqual((await server.program.ended).status, 130)
    assert.isFalse(isAlive(pid()))
  })

  it("--no-auth is for this machine alone; a port that is taken is status 2", async () => {
    const open = await toolstream(["mcp", "--http", "0", "--host", "0.0.0.0", "--no-auth"])
    assert.strictEqual(open.status, 2)
    assert.include(open.stderr, "--no-auth serves whoever reaches 0.0.0.0")
    await using server = await served()
    const taken = await toolstream(["mcp", "--http", new URL(server.url).port])
    assert.strictEqual(taken.status, 2)
    assert.include(taken.stderr, "EADDRINUSE")
  })
})
