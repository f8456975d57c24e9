import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { isAlive, Program, temporary } from "../cli/Program.ts"
import { connect, linesOfSdk, type Peer, type Server } from "./Peers.ts"

const progressOf = ({ wire }: Peer) => wire.filter(({ method }) => method === "notifications/progress")

/** On HTTP, with the token of this test. */
const served = async (args: ReadonlyArray<string>) => {
  const program = new Program(["mcp", "--http", "0", ...args])
  const url = await program.said(/MCP on (http:\S+)/)
  const token = await program.said(/Bearer (\S+)/)
  return { program, url, token, [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() }
}

const throughout = async (server: Server, line: (typeof linesOfSdk)[number], folder: string) => {
  let asked = 0
  await using peer = await connect(line, server, () => {
    asked++
    return { action: "accept", content: { decision: "allow once" } }
  })
  const names = (await peer.tools()).map(({ name }) => name)
  assert.includeMembers(names, ["read_file", "bash"])

  const counted = await peer.call(
    "bash",
    { command: "for i in 1 2 3; do echo $i; sleep 0.1; done" },
    { onprogress: () => {} }
  )
  assert.isFalse(counted.isError)
  assert.deepInclude(counted.structuredContent, { output: "1\n2\n3\n" })
  const progress = progressOf(peer).map(({ params }) => params as { progress: number; message: string })
  assert.strictEqual(progress.map(({ message }) => message).join("\n"), "1\n2\n3")
  assert.isTrue(progress.every(({ progress: n }, i) => i === 0 || n > progress[i - 1]!.progress))
  assert.isTrue(
    peer.wire.findLastIndex(({ method }) => method === "notifications/progress") <
      peer.wire.findIndex(({ result }) => result?.["structuredContent"] !== undefined)
  )
  assert.strictEqual(asked, 0)

  const failed = await peer.call("bash", { command: "exit 3" })
  assert.isTrue(failed.isError)
  const invalid = await peer.call("read_file", { pth: "x" })
  assert.isTrue(invalid.isError)
  await peer.call("no_such_tool", {}).then(
    () => assert.fail("it was called"),
    (error: { readonly code: unknown }) => assert.strictEqual(error.code, -32602)
  )

  const file = path.join(folder, `${line}.txt`)
  const written = await peer.call("write_file", { path: path.basename(file), content: "asked for" })
  assert.isNotTrue(written.isError, JSON.stringify(written))
  assert.strictEqual(fs.readFileSync(file, "utf8"), "asked for")
  assert.strictEqual(asked, 1)

  const abort = new AbortController()
  const told = peer.wire.length
  const aborted = peer
    .call(
      "bash",
      { command: "echo $$; exec sleep 1000" },
      { signal: abort.signal, onprogress: () => abort.abort("enough") }
    )
    .then(
      () => assert.fail("it ended"),
      () => undefined
    )
  await aborted
  const pid = Number(peer.wire.slice(told).find(({ params }) => params?.["message"] !== undefined)?.params?.["message"])
  assert.isAbove(pid, 1)
  // The next call comes after the cancel, on the same way.
  await peer.call("read_file", { path: path.basename(file) })
  for (let i = 0; isAlive(pid) && i < 300; i++) await peer.call("bash", { command: "sleep 0.05" })
  assert.isFalse(isAlive(pid))
  return true
}

describe("the official SDK's clients", { timeout: 120_000 }, () => {
  const allowed = ["--allow", "bash(*)"]

  for (const line of linesOfSdk) {
    it(`${line}, on stdio: lists, calls, progress on the wire, asks its user, cancels`, async () => {
      using folder = temporary("x", "")
      assert.isTrue(await throughout({ args: [...allowed, "--workspace", folder.directory] }, line, folder.directory))
    })
  }

  it("on HTTP the same, each in a folder of its own, at once", async () => {
    using folder = temporary("x", "")
    await using server = await served([...allowed, "--workspace", folder.directory])
    const done = await Promise.all(
      linesOfSdk.map(async (line, index) => {
        const own = path.join(folder.directory, String(index))
        fs.mkdirSync(own)
        return await throughout({ url: `${server.url}?workspace=${index}`, token: server.token }, line, own)
      })
    )
    assert.deepStrictEqual(done, [true, true, true])
  })

  it("a client that was told no cannot be made to say yes: what its user declines is refused", async () => {
    using folder = temporary("x", "")
    for (const line of linesOfSdk) {
      await using peer = await connect(line, { args: ["--workspace", folder.directory] }, () => ({ action: "decline" }))
      const refused = await peer.call("write_file", { path: "no.txt", content: "no" })
      assert.isTrue(refused.isError)
      assert.include(JSON.stringify(refused.content), "Not permitted by the user")
    }
    assert.isFalse(fs.existsSync(path.join(folder.directory, "no.txt")))
  })

  it("sessions are apart: what one has running in its background is not the other's", async () => {
    await using server = await served(["--yes"])
    for (const line of linesOfSdk) {
      const url = (name: string) => `${server.url}${line === "v2 of 2026-07-28" ? `?session=${name}` : ""}`
      await using one = await connect(line, { url: url("one"), token: server.token })
      await using other = await connect(line, { url: url("other"), token: server.token })
      await one.call("bash", { command: "sleep 1000", background: true })
      const tasks = async (peer: Peer) => JSON.stringify((await peer.call("list_tasks", {})).structuredContent)
      assert.include(await tasks(one), "sleep 1000")
      assert.notInclude(await tasks(other), "sleep 1000")
    }
  })

  it("50 clients that connect, call, cancel and vanish leave nothing running", async () => {
    await using server = await served(["--yes"])
    const mark = `31${process.pid}`
    const left = () =>
      fs
        .readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .filter((name) => {
          try {
            return fs.readFileSync(`/proc/${name}/cmdline`, "utf8").includes(mark)
          } catch {
            return false
          }
        })
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const peer = await connect(linesOfSdk[index % 3]!, { url: server.url, token: server.token })
        const abort = new AbortController()
        const running = new Promise<void>((resolve) => {
          peer
            .call(
              "bash",
              { command: `echo on; exec sleep ${mark}` },
              { signal: abort.signal, onprogress: () => resolve() }
            )
            .then(
              () => undefined,
              () => undefined
            )
        })
        await running
        if (index % 2 === 0) abort.abort("enough")
        await peer.close()
      })
    )
    await using last = await connect("v1", { url: server.url, token: server.token })
    for (let i = 0; left().length > 0 && i < 300; i++) await last.call("bash", { command: "sleep 0.05" })
    assert.deepStrictEqual(left(), [])
    server.program.signal("SIGTERM")
    assert.strictEqual((await server.program.ended).status, 130)
  })
})
