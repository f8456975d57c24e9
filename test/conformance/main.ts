/**
 * Runs the official conformance suite against the tools of `tools.ts` in our runtime, and the inspector against the
 * command line. `npm run conformance`
 *
 * Status 0 only if: of 2026-07-28 every scored check passes; each scenario of the tasks extension passes a check, and none
 * fails or is skipped; the active suite of 2025-11-25 passes but for what `baseline.yml` says; the inspector finds nothing, and a load of 500
 * requests loses none.
 */
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const here = import.meta.dirname
const root = path.resolve(here, "../..")
const out = fs.mkdtempSync(path.join(os.tmpdir(), "toolstream-conformance-"))
process.on("exit", () => fs.rmSync(out, { recursive: true, force: true }))

const installed = path.join(here, "node_modules/.package-lock.json")
const lock = path.join(here, "package-lock.json")
if (!fs.existsSync(installed) || fs.statSync(installed).mtimeMs < fs.statSync(lock).mtimeMs) {
  console.error("Installing the conformance suite …")
  const { status } = child_process.spawnSync("npm", ["ci", "--prefix", here], { cwd: here, stdio: ["ignore", 2, 2] })
  if (status !== 0) throw new Error("npm ci failed, and without the suite there is nothing to run.")
}

interface Ran {
  readonly status: number | null
  readonly text: string
}

const environment = { ...process.env, HOME: out, XDG_CONFIG_HOME: out, MCP_INSPECTOR_SECRET_STORE: "memory" }

const run = (args: ReadonlyArray<string>): Promise<Ran> =>
  new Promise((resolve) => {
    const child = child_process.spawn(process.execPath, args, {
      cwd: out,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let text = ""
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (some: string) => (text += some))
    child.on("close", (status) => resolve({ status, text }))
  })

const binOf = (name: string, bin: string): string => {
  const folder = path.join(here, "node_modules/@modelcontextprotocol", name)
  const manifest: { readonly bin: Readonly<Record<string, string>> } = JSON.parse(
    fs.readFileSync(path.join(folder, "package.json"), "utf8")
  )
  return path.join(folder, manifest.bin[bin]!)
}
const suite = binOf("conformance", "conformance")
const inspector = binOf("inspector", "mcp-inspector")

const serve = (...args: ReadonlyArray<string>): Promise<{ readonly url: string; readonly stop: () => void }> =>
  new Promise((resolve, reject) => {
    const child = child_process.spawn(process.execPath, args, {
      cwd: root,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let text = ""
    const look = (some: string) => {
      text += some
      const [url] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(text) ?? []
      if (url !== undefined) resolve({ url, stop: () => child.kill() })
    }
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", look)
    child.on("exit", () => reject(new Error(`the server ended: ${text}`)))
  })

const total = { passed: 0, failed: 0, skipped: 0 }
let wrong = 0

const tell = (what: string, good: boolean, { passed = 0, failed = 0, skipped = 0 }, text: string): void => {
  total.passed += passed
  total.failed += failed
  total.skipped += skipped
  console.log(`${good ? "✓" : "✗"} ${what}: ${passed} passed, ${failed} failed, ${skipped} skipped`)
  if (good) return
  wrong++
  console.log(text.replace(/^/gm, "    "))
}

/** What the suite wrote of each check. */
const checksIn = (folder: string): ReadonlyArray<{ readonly status: string }> =>
  fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => path.basename(file) === "checks.json")
    .flatMap(
      (file) =>
        JSON.parse(fs.readFileSync(path.join(folder, file), "utf8")) as ReadonlyArray<{ readonly status: string }>
    )

const conformance = async (url: string, name: string, ...args: ReadonlyArray<string>) => {
  const folder = path.join(out, name)
  const { status, text } = await run([suite, "server", "--url", url, ...args, "-o", folder])
  const checks = fs.existsSync(folder) ? checksIn(folder) : []
  const count = (...states: ReadonlyArray<string>) => checks.filter(({ status }) => states.includes(status)).length
  return { status, text, passed: count("SUCCESS"), failed: count("FAILURE"), skipped: count("SKIPPED") }
}

const tasks = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-required-task-error",
  "tasks-mrtr-composition"
]

const fixture = await serve(path.join(here, "server.ts"))
const newest = await conformance(fixture.url, "newest", "--requirements", "2026-07-28")
// Of what is not scored some fails; the suite's status is that of what is.
tell("requirements of 2026-07-28", newest.status === 0 && newest.passed > 0, { passed: newest.passed }, newest.text)
for (const scenario of tasks) {
  const ran = await conformance(fixture.url, scenario, "--scenario", scenario)
  const good =
    ran.status === 0 && ran.passed > 0 && ran.failed === 0 && ran.skipped === 0 && !ran.text.includes("SKIPPED")
  tell(scenario, good, ran, ran.text)
}
const active = await conformance(
  fixture.url,
  "active",
  "--suite",
  "active",
  "--spec-version",
  "2025-11-25",
  "--expected-failures",
  path.join(here, "baseline.yml")
)
tell(
  "the active suite of 2025-11-25, by its baseline",
  active.status === 0 && active.passed > 0,
  { passed: active.passed },
  active.text
)
fixture.stop()

const toolstream = path.join(root, "layers/cli/main.ts")
const inspect = async (what: string, good: (ran: Ran) => boolean, ...args: ReadonlyArray<string>) => {
  const ran = await run([inspector, "--cli", ...args])
  tell(what, good(ran), good(ran) ? { passed: 1 } : { failed: 1 }, ran.text)
}
const succeeds = ({ status }: Ran) => status === 0
await inspect(
  "the inspector, --strict",
  succeeds,
  process.execPath,
  toolstream,
  "mcp",
  "--method",
  "tools/list",
  "--strict"
)
const served = await serve(toolstream, "mcp", "--http", "0", "--no-auth", "--workspace", root)
await inspect(
  "a load of 500 requests, 20 at a time",
  ({ status, text }) => status === 0 && /500\/500|"(?:ok|succeeded|success)"\s*:\s*500/.test(text),
  served.url,
  "--transport",
  "http",
  "--protocol-era",
  "modern",
  "--method",
  "tools/call",
  "--tool-name",
  "read_file",
  "--tool-args-json",
  '{"path":"package.json","limit":1}',
  "--load",
  "--load-requests",
  "500",
  "--load-concurrency",
  "20"
)
served.stop()

console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exitCode = wrong === 0 ? 0 : 1
