import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
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

describe("permissions of the command line", { timeout: 120_000 }, () => {
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

  it("a file of the workspace allows what the user has trusted by its hash, until it changes", async () => {
    const { call, configuration, remove, rules, workspace } = folders()
    const file = path.join(fs.realpathSync(workspace), ".toolstream", "permissions.json")
    const trust = (...flags: ReadonlyArray<string>) =>
      toolstream(["permissions", "trust", "--workspace", workspace, ...flags], { configuration })
    const hash = () => createHash("sha256").update(fs.readFileSync(file)).digest("hex")
    const none = await trust()
    assert.strictEqual(none.status, 2)
    assert.match(none.stderr, /has no \.toolstream\/permissions\.json\. There is nothing to trust/)
    rules("workspace", '{ "allow": ["bash(id)"], "deny": ["bash(rm *)"] }')

    const shown = await trust()
    assert.strictEqual(shown.status, 2, "nobody is there to be asked")
    assert.include(shown.stdout, `${file}\nSHA-256 ${hash()}\nIt is not trusted.\n`)
    assert.include(shown.stdout, "In force, trusted or not:\n  deny bash(rm *) (1:36)\n")
    assert.include(shown.stdout, "In force only if you trust it:\n  allow bash(id) (1:14)\n")
    assert.match(shown.stderr, /--hash HASH/)
    const other = await trust("--hash", hash().replace(/^./, "x"))
    assert.strictEqual(other.status, 2)
    assert.match(other.stderr, /is that of another file/)
    const trusted = await trust("--hash", hash())
    assert.strictEqual(trusted.status, 0, trusted.stderr)
    const kept = path.join(configuration, "toolstream", "trust.json")
    assert.strictEqual(fs.statSync(kept).mode & 0o777, 0o600)
    assert.deepStrictEqual(JSON.parse(fs.readFileSync(kept, "utf8")), { [file]: hash() })
    const after = await call("bash", { command: "id" })
    assert.strictEqual(after.status, 0, after.stderr)
    assert.notMatch(after.stderr, /left out/)

    fs.appendFileSync(file, " ")
    const changed = await call("bash", { command: "id" })
    assert.strictEqual(changed.status, 1)
    assert.match(changed.stderr, /is left out, because it has changed since you trusted it/)
    assert.match((await trust()).stdout, /It has changed since you trusted it, and is not trusted\./)
    assert.strictEqual((await trust("--revoke")).status, 0)
    assert.deepStrictEqual(JSON.parse(fs.readFileSync(kept, "utf8")), {})
    remove()
  })

  it("hooks are commands of the user, and of a workspace that is trusted with them", async () => {
    const { call, configuration, remove, rules, workspace } = folders()
    const says = (folder: string, name: string, answer: unknown) =>
      fs.writeFileSync(path.join(folder, name), `#!/bin/sh\ncat >> ${name}.told\necho '${JSON.stringify(answer)}'\n`, {
        mode: 0o755
      })
    says(path.join(configuration, "toolstream"), "own.sh", {
      _tag: "Rewrite",
      parameters: { command: "echo rewritten" }
    })
    rules(
      "user",
      '{ "before": [{ "name": "own", "tool": "bash", "command": ["./own.sh"] }], "allow": ["bash(echo *)"] }'
    )
    says(path.join(workspace, ".toolstream"), "found.sh", { _tag: "Deny", why: "as the workspace says" })
    rules("workspace", '{ "before": [{ "name": "found", "command": ["./found.sh"] }] }')
    const first = await call("bash", { command: "id" })
    assert.strictEqual(first.status, 0, first.stderr)
    assert.match(first.stdout, /^rewritten\n/)
    assert.match(first.stderr, /1 hook of .* is left out, because anybody may have written it/)
    assert.isTrue(fs.existsSync(path.join(workspace, "own.sh.told")))
    assert.isFalse(fs.existsSync(path.join(workspace, "found.sh.told")), "what is not trusted is not run")
    const hash = createHash("sha256")
      .update(fs.readFileSync(path.join(workspace, ".toolstream", "permissions.json")))
      .digest("hex")
    const trusted = await toolstream(["permissions", "trust", "--workspace", workspace, "--hash", hash], {
      configuration
    })
    assert.match(trusted.stdout, /before \*: the hook found, \["\/.*found\.sh"\].*\n.*not part of the hash/)
    const second = await call("bash", { command: "id" })
    assert.strictEqual(second.status, 1)
    assert.match(second.stderr, /Not permitted by the hook found: as the workspace says/)
    const explained = await toolstream(["permissions", "bash", '{"command":"id"}', "--workspace", workspace], {
      configuration
    })
    assert.match(explained.stdout, /^asked first: the hook own \(.*:1:\d+\)\nasked first: the hook found \(/)
    remove()
  })
})
