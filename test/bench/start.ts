/**
 * From nothing to the first answer: a process that loads the core as it is published, declares a tool and calls it.
 */
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { compare, type Comparison, type Contender, race } from "./race.ts"

const empty = "an empty script"
const core = "starting the core and one call"
const toolkit = "effect/ai's Tool and Toolkit and one call"
const readFile = "starting the built command line: `call read_file`"
const bash = "starting the built command line: `call bash`"
const oneMs = "1 ms more"

export const comparisons: ReadonlyArray<Comparison> = [
  { id: "start.core", ours: core, theirs: empty, unit: "ms", floor: null, lowerIsBetter: true },
  { id: "start.core.vs-toolkit", ours: core, theirs: toolkit, over: empty, unit: "ms", floor: null },
  {
    id: "start.call-read-file",
    ours: readFile,
    theirs: oneMs,
    over: empty,
    unit: "ms",
    floor: 110,
    goal: 30,
    lowerIsBetter: true
  },
  {
    id: "start.call-bash",
    ours: bash,
    theirs: oneMs,
    over: empty,
    unit: "ms",
    floor: 130,
    goal: 60,
    lowerIsBetter: true
  }
]

const root = path.resolve(import.meta.dirname, "../..")

/** Where the build goes: ignored like any package, and next to the one that it imports. */
const built = path.join(import.meta.dirname, "node_modules/.toolstream")

/** Users load JavaScript, so the time node takes to strip types is none of theirs. Only the core is built. */
const build = () => {
  fs.rmSync(built, { recursive: true, force: true })
  fs.mkdirSync(built, { recursive: true })
  const write = (file: string, json: unknown) => fs.writeFileSync(path.join(built, file), JSON.stringify(json))
  write("package.json", { type: "module" })
  write("tsconfig.json", {
    extends: path.join(root, "tsconfig.build.json"),
    compilerOptions: { rootDir: root, outDir: built, typeRoots: [path.join(root, "node_modules/@types")] },
    include: [path.join(root, "src")]
  })
  const tsc = path.join(root, "node_modules/typescript/bin/tsc")
  // Output to stderr: stdout is for the figures.
  child_process.execFileSync(process.execPath, [tsc, "-p", built], { stdio: ["ignore", 2, 2] })
}

/** The command line, as `npm run build` makes it. */
const buildProgram = () =>
  child_process.execFileSync("npm", ["run", "-s", "build"], { cwd: root, stdio: ["ignore", 2, 2] })

/** A fresh process a sample; warm are only the caches of the file system, and of compiled code. */
const program = (name: string, args: ReadonlyArray<string>): Contender => ({
  name,
  run: async (n) => {
    for (let i = 0; i < n; i++) {
      const child = child_process.spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", 2] })
      const code = await new Promise((resolve, reject) => child.once("error", reject).once("exit", resolve))
      if (code !== 0) throw new Error(`${args.join(" ")} ended with ${String(code)}`)
    }
  }
})

const script = (name: string, file: string, ...args: ReadonlyArray<string>): Contender =>
  program(name, [path.join(import.meta.dirname, "start", file), ...args])

const calling = (name: string, tool: string, parameters: unknown): Contender =>
  program(name, [path.join(root, "dist/layers/cli/main.js"), "call", tool, JSON.stringify(parameters), "--yes"])

export const measure = async (rounds: number) => {
  build()
  buildProgram()
  const contenders = [
    script(empty, "empty.mjs"),
    script(core, "core.mjs", pathToFileURL(path.join(built, "src") + path.sep).href),
    script(toolkit, "toolkit.mjs"),
    calling(readFile, "read_file", { path: "README.md", limit: 5 }),
    calling(bash, "bash", { command: "true" })
  ]
  // One process a sample: averaging several would hide one that was slow.
  const samples = await race(contenders, { rounds, sampleMs: 1, warmUpMs: 100 })
  const empties = samples.get(empty) ?? []
  return compare(new Map([...samples, [oneMs, empties.map((ns) => ns + 1e6)]]), comparisons)
}
