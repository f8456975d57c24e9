import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Program, repository, terminals, toolstream } from "./Program.ts"

/** Below `dist`, where nothing is kept, and where the package is found by its name. */
const folder = path.join(repository, "dist", `test-${process.pid}`)
const main = path.join(folder, "layers/cli/main.js")
const script = (file: string) => path.join(repository, "node_modules", file)

describe("the command line as it is published", { timeout: 60_000 }, () => {
  beforeAll(() => {
    const { scripts } = JSON.parse(fs.readFileSync(path.join(repository, "package.json"), "utf8"))
    const run = (file: string, args: ReadonlyArray<string>) =>
      execFileSync(process.execPath, [file, ...args], { cwd: repository, stdio: ["ignore", "inherit", "inherit"] })
    run(script("typescript/bin/tsc"), ["-p", "tsconfig.build.json", "--outDir", folder])
    const [, ...args] = (scripts.bundle as string)
      .replaceAll("dist/", `${path.relative(repository, folder)}/`)
      .split(" ")
    run(script("rolldown/bin/cli.mjs"), args)
  }, 180_000)
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

  it("lists the tools, reads a file, searches and runs a command", async () => {
    assert.isTrue(fs.existsSync(path.join(folder, "bundle/Program.cjs")))
    const [built, plain] = await Promise.all([toolstream(["list", "--json"], { main }), toolstream(["list", "--json"])])
    assert.strictEqual(built.stdout, plain.stdout)
    for (const [name, parameters, expected] of [
      ["read_file", { path: "LICENSE", limit: 1 }, /MIT/],
      ["grep", { pattern: "MIT", path: "LICENSE" }, /LICENSE/],
      ["bash", { command: "echo $((6 * 7))" }, /42/]
    ] as const) {
      const { status, stderr, stdout } = await toolstream(["call", name, JSON.stringify(parameters)], { main })
      assert.deepStrictEqual([status, expected.test(stdout)], [0, true], stderr)
    }
  })

  it("loads a plugin, which finds the modules that run it", async () => {
    // Types are stripped from what is no JavaScript.
    const plugin = path.join(folder, "greet.ts")
    // As an application has it: by the name of the package, whose runtime has to be the one that runs.
    const source = fs.readFileSync(path.join(import.meta.dirname, "plugins/greet.ts"), "utf8")
    fs.writeFileSync(plugin, source.replaceAll(/"(?:\.\.\/)+(src|layers)\/(.*)\.ts"/g, `"${folder}/$1/$2.js"`))
    const { stderr, stdout } = await toolstream(["call", "greet", '{"name":"Ada"}', "--plugin", plugin, "--json"], {
      main
    })
    assert.match(String(terminals(stdout)[0]?.result.value), /^Hello, Ada/, stderr)
  })

  it("has stdout for itself when it speaks a protocol", async () => {
    await using program = new Program(["mcp", "--yes"], { main })
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
    program.write(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params })}\n`)
    await program.until((stdout) => stdout.includes("\n"))
    assert.strictEqual(JSON.parse(program.stdout).result.serverInfo.name, "toolstream")
  })

  it("is the agent of an editor, and brings what that needs", async () => {
    await using program = new Program(["acp", "--model", "ollama/none"], { main })
    program.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: 1 } })}\n`
    )
    await program.until((stdout) => stdout.includes("\n"))
    assert.strictEqual(JSON.parse(program.stdout).result.agentInfo.name, "toolstream")
    assert.match(
      fs
        .readdirSync(path.join(folder, "bundle"))
        .map((file) => fs.readFileSync(path.join(folder, "bundle", file), "utf8"))
        .join(""),
      /session\/request_permission/
    )
  })
})
