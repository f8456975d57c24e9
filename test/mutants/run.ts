/**
 * Breaks the core on purpose, one way at a time, and expects the tests to notice.
 *
 * `npm run mutants [-- part of a name]`. Ends with status 1 if a mutant survives, if one no longer fits the code, or
 * if the control, which breaks nothing, does not pass.
 *
 * @since 0.1.0
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { control, type Mutant, mutants } from "./mutants.ts"
import { turnMutants } from "./turn.ts"

const root = path.resolve(import.meta.dirname, "../..")
/** As many as a small machine runs without slowing one another down to their time-outs. */
const workers = 2

/** A copy of what the tests of the core need, for each worker. */
const copy = (): string => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "mutants-"))
  for (const name of ["src", "tools", "layers", "test", "package.json", "tsconfig.json", "vitest.config.ts"]) {
    fs.cpSync(path.join(root, name), path.join(folder, name), {
      recursive: true,
      filter: (file) => !file.includes("node_modules")
    })
  }
  fs.symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"))
  return folder
}

const core = [
  "test/ToolStream",
  "test/ToolRuntime",
  "test/ToolRegistry",
  "test/ErasedTool",
  "test/ToolCall",
  "test/ToolMiddleware",
  "test/Clocks",
  "test/ProgressPolicy",
  "test/Arguments",
  "test/Bounded",
  "test/SpillQuota",
  "test/Journal",
  "test/layers/journal/Recovery",
  "test/internal"
]

/** Whether the tests of the core pass in a folder. */
const pass = (folder: string, tests: ReadonlyArray<string>): Promise<boolean> =>
  new Promise((resolve) => {
    const options = ["--bail=1", "--testTimeout=6000", "--hookTimeout=1000", "--maxWorkers=1"]
    const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...tests, ...options], {
      cwd: folder,
      stdio: "ignore",
      // A property of turns takes long; a fault that it finds, it finds early.
      env: tests === core ? process.env : { RUNS: "150", ...process.env },
      timeout: 120_000,
      killSignal: "SIGKILL"
    })
    child.on("exit", (code) => resolve(code === 0))
  })

type Fate = "killed" | "survived" | "stale"

const fateOf = async ({ file, from, tests = core, to }: Mutant, folder: string): Promise<Fate> => {
  const target = path.join(folder, "src", file)
  const text = fs.readFileSync(target, "utf8")
  if (text.split(from).length !== 2) return "stale"
  fs.writeFileSync(
    target,
    text.replace(from, () => to)
  )
  const fate = (await pass(folder, tests)) ? "survived" : "killed"
  fs.writeFileSync(target, text)
  return fate
}

const only = process.argv[2] ?? ""
const queue = [...mutants, ...turnMutants].filter(({ name }) => name.includes(only))
const total = queue.length
const bad: Array<string> = []

const work = async (): Promise<void> => {
  const folder = copy()
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    const fate = await fateOf(mutant, folder)
    console.log(fate.padEnd(8), mutant.name)
    if (fate !== "killed") bad.push(`${mutant.name} (${fate})`)
  }
  fs.rmSync(folder, { recursive: true })
}

const folder = copy()
const sound = await pass(folder, [...new Set(queue.flatMap(({ tests = core }) => tests))])
fs.rmSync(folder, { recursive: true })
console.log(sound ? "passed  " : "FAILED  ", control)
if (!sound) process.exit(1)

await Promise.all(Array.from({ length: workers }, work))
console.log(bad.length === 0 ? `all ${total} killed` : `not killed:\n  ${bad.join("\n  ")}`)
process.exitCode = bad.length === 0 ? 0 : 1
