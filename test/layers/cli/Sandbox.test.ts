import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { because, missing } from "../node/Sandboxed.ts"
import { repository, toolstream } from "./Program.ts"

/** Not in /tmp, which is not the host's in a sandbox. */
const folder = () => {
  const cache = path.join(repository, "node_modules", ".cache")
  fs.mkdirSync(cache, { recursive: true })
  const root = fs.mkdtempSync(path.join(cache, "sandbox-cli-"))
  const workspace = path.join(root, "workspace")
  fs.mkdirSync(workspace)
  return { root, workspace, remove: () => fs.rmSync(root, { recursive: true }) }
}

const call = (workspace: string, name: string, parameters: unknown, ...flags: ReadonlyArray<string>) =>
  toolstream(["call", name, JSON.stringify(parameters), "--workspace", workspace, ...flags])

describe("--sandbox", { timeout: 120_000 }, () => {
  it("a profile that is none is a usage error, which names those that there are", async () => {
    for (const profile of ["everything", "workspace,everything", "", "off,no-network"]) {
      const { status, stderr, stdout } = await toolstream(["run", "--sandbox", profile])
      assert.strictEqual(status, 2)
      assert.match(stderr, /--sandbox.*off, or some of workspace, read-only, no-network/)
      assert.strictEqual(stdout, "")
    }
  })

  it.skipIf(missing !== undefined)(`holds for bash, monitor and build, and for tasks${because}`, async () => {
    const { remove, root, workspace } = folder()
    const command = `echo x > made; echo x > ${root}/outside; exec 3<>/dev/tcp/127.0.0.1/9`
    const flags = ["--sandbox", "workspace,no-network"]
    for (const name of ["bash", "monitor", "build"]) {
      const { status, stdout } = await call(workspace, name, { command }, ...flags, "--json")
      assert.strictEqual(status, 0, stdout)
      const { result } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "")
      assert.isTrue(result.isError)
      assert.deepStrictEqual(result.value.sandbox, ["workspace", "no-network"])
      // It has to know why.
      assert.match(JSON.stringify(result.content), /sandbox.*only the workspace.*no network/)
      assert.deepStrictEqual([fs.readdirSync(root), fs.readdirSync(workspace)], [["workspace"], ["made"]])
    }
    const lines = [
      { id: "start", name: "bash", parameters: { command: `${command}; touch done; sleep 60`, background: true } },
      {
        id: "wait",
        name: "bash",
        parameters: { command: "until [ -e done ]; do sleep 0.05; done" },
        after: ["start"]
      }
    ]
    const { stdout } = await toolstream(["run", "--workspace", workspace, ...flags], {
      stdin: lines.map((line) => JSON.stringify(line)).join("\n")
    })
    assert.include(stdout, "task_")
    assert.deepStrictEqual([fs.readdirSync(root), fs.readdirSync(workspace)], [["workspace"], ["done", "made"]])
    remove()
  })

  it("says what holds where the tools are listed", async () => {
    const listed = async (...flags: ReadonlyArray<string>) => {
      const tools: ReadonlyArray<{ readonly name: string; readonly description: string }> = JSON.parse(
        (await toolstream(["list", "--json", ...flags])).stdout
      )
      return tools.filter(({ description }) => description.includes("sandbox")).map(({ name }) => name)
    }
    assert.deepStrictEqual(await listed(), [])
    assert.deepStrictEqual(await listed("--sandbox", "read-only"), ["bash", "monitor", "build"])
  })
})
