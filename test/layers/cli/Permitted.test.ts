import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { toolstream } from "./Program.ts"

/** A folder for the user's configuration and one to work in. */
const folders = () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "permitted-"))
  const configuration = path.join(root, "configuration")
  const workspace = path.join(root, "workspace")
  fs.mkdirSync(path.join(configuration, "toolstream"), { recursive: true })
  fs.mkdirSync(path.join(workspace, ".toolstream"), { recursive: true })
  const rules = (folder: "user" | "workspace", text: string) =>
    fs.writeFileSync(
      folder === "user"
        ? path.join(configuration, "toolstream", "permissions.json")
        : path.join(workspace, ".toolstream", "permissions.json"),
      text
    )
  const call = (name: string, parameters: unknown, ...flags: ReadonlyArray<string>) =>
    toolstream(["call", name, JSON.stringify(parameters), "--workspace", workspace, ...flags], { configuration })
  return { root, configuration, workspace, rules, call, remove: () => fs.rmSync(root, { recursive: true }) }
}

describe("permissions of the command line", { timeout: 60_000 }, () => {
  it("without a terminal: what reads only runs, the rest is refused, and the refusal names --allow and --yes", async () => {
    const { call, remove, workspace } = folders()
    fs.writeFileSync(path.join(workspace, "a.txt"), "a\n")
    const read = await call("read_file", { path: "a.txt" })
    assert.strictEqual(read.status, 0, read.stderr)
    const refused = await call("write_file", { path: "b.txt", content: "b" })
    assert.strictEqual(refused.status, 1)
    assert.match(refused.stderr, /write_file: Not permitted.*--allow RULE.*--yes.*It was not executed/)
    assert.isFalse(fs.existsSync(path.join(workspace, "b.txt")))
    const allowed = await call("write_file", { path: "b.txt", content: "b" }, "--allow", "write_file(*.txt)")
    assert.strictEqual(allowed.status, 0, allowed.stderr)
    assert.strictEqual(
      (await call("write_file", { path: "c.md", content: "c" }, "--allow", "write_file(*.txt)")).status,
      1
    )
    assert.strictEqual((await call("write_file", { path: "c.md", content: "c" }, "--yes")).status, 0)
    remove()
  })

  it("an allow of a command is one of all its parts", async () => {
    const { call, remove } = folders()
    const allow = ["--allow", "bash(echo *)"]
    assert.strictEqual((await call("bash", { command: "echo a; echo b" }, ...allow)).status, 0)
    for (const command of ["echo a; id", "echo $(id)", "echo a > x", "LD_PRELOAD=x echo a", "ec''ho a | sh", "$X a"]) {
      const { status, stderr } = await call("bash", { command }, ...allow)
      assert.strictEqual(status, 1, command)
      assert.match(stderr, /Not permitted/)
    }
    remove()
  })

  it("a rule that denies holds whatever else is said, and says where it stands", async () => {
    const { call, remove, rules } = folders()
    rules("user", '{\n  // Never.\n  "deny": ["bash(rm *)"]\n}\n')
    const { status, stderr } = await call("bash", { command: "ls; \\rm x" }, "--yes", "--allow", "bash(rm *)")
    assert.strictEqual(status, 1)
    assert.match(stderr, /is under deny bash\(rm \*\) \(.*permissions\.json:3:\d+\)/)
    remove()
  })

  it("a file of the workspace may tighten, and cannot loosen", async () => {
    const { call, remove, rules, workspace } = folders()
    fs.writeFileSync(path.join(workspace, "a.txt"), "a\n")
    rules("workspace", '{ "allow": ["*"], "deny": ["read_file(secret*)"], "ask": ["read_file(a.txt)"] }')
    assert.strictEqual((await call("bash", { command: "id" })).status, 1)
    assert.strictEqual((await call("read_file", { path: "a.txt" })).status, 1, "it asks, and nobody is there")
    const denied = await call("read_file", { path: "./x/../secret.txt" }, "--yes")
    assert.match(denied.stderr, /under deny read_file\(secret\*\)/)
    remove()
  })

  it("a file that cannot be understood ends the program, with its place: it may deny", async () => {
    const { call, remove, rules } = folders()
    rules("user", '{ "deny": ["bash(rm *"] }')
    const { status, stderr } = await call("read_file", { path: "x" })
    assert.strictEqual(status, 2)
    assert.match(stderr, /permissions\.json:1:\d+: the rule bash\(rm \* is not valid/)
    const flag = await call("bash", { command: "ls" }, "--allow", "bash(ls")
    assert.strictEqual(flag.status, 2)
    assert.match(flag.stderr, /--allow:1:\d+: the rule bash\(ls is not valid/)
    remove()
  })

  it("`permissions` says which rule decides, where it stands and why, and runs nothing", async () => {
    const { call, configuration, remove, rules, workspace } = folders()
    rules("user", '{ "allow": ["bash(echo *)"], "deny": ["bash(rm *)"] }')
    rules("workspace", '{ "allow": ["bash(id)"] }')
    const explain = (command: string) =>
      toolstream(["permissions", "bash", JSON.stringify({ command }), "--workspace", workspace], { configuration })
    const allowed = await explain("echo a > made.txt")
    assert.strictEqual(allowed.status, 0, allowed.stderr)
    assert.match(allowed.stdout, /no rule allows > made.txt: a file that the shell writes needs a rule of its own/)
    assert.match(allowed.stdout, /so it is asked for/)
    assert.match(allowed.stdout, /left out.*allow bash\(id\) \(.*\.toolstream\/permissions\.json:1:\d+\)/)
    assert.match((await explain("echo a; rm b")).stdout, /^denied: rm b is under deny bash\(rm \*\) \(.*:1:\d+\)/)
    assert.isFalse(fs.existsSync(path.join(workspace, "made.txt")))
    assert.strictEqual((await call("bash", { command: "echo a" })).status, 0)
    remove()
  })
})
