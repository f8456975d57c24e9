/**
 * Files, beside the programs that people use for them: `rg --json`, `sed`, `git apply`. The data are made once, in a
 * folder of their own, and removed.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { rgPath } from "@vscode/ripgrep"
import * as Ripgrep from "../../layers/node/Ripgrep.ts"
import * as WorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import * as Session from "../../src/Session.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as ApplyPatch from "../../tools/apply-patch/ApplyPatch.ts"
import * as Grep from "../../tools/Grep.ts"
import * as ReadFile from "../../tools/ReadFile.ts"
import { compare, type Comparison, type Contender, type Measured, race } from "./race.ts"

const grep = "grep over 200 MB, the first 200 results and the number of all"
const rg = "`rg --json` to /dev/null"
const growth = "what grep over 200 MB adds to what is resident"
const oneMegabyte = "1 MB"
const read = "read_file, 2,000 lines at line 1,000,000 of 1 GB"
const sed = "`sed -n 'A,Bp;Bq'` to /dev/null"
const nothing = "starting `true`"
const patch = "apply_patch of 500 files"
const loop = "a loop of write, fsync, rename"
const git = "`git apply`"

const unit = "ms"
const vsRg: Comparison = { id: "grep.200mb.vs-rg", ours: grep, theirs: rg, unit, floor: 1 / 1.15, goal: 1 / 1.05 }
const vsSed: Comparison = {
  id: "read_file.line-1m.vs-sed",
  ours: read,
  theirs: sed,
  over: nothing,
  unit,
  floor: 1 / 1.3
}
const ofGrowth: Comparison = {
  id: "grep.200mb.rss-growth",
  ours: growth,
  theirs: oneMegabyte,
  unit: "MB",
  floor: 64,
  lowerIsBetter: true
}
/**
 * ext4 without a journal does not give inodes again for a minute or more, and looks at each of them for every new file: up
 * to 1 ms. The loop gets the inode back that its last rename gave away; all or nothing needs 500 new ones, and gives 500
 * away with every round, so that each round is some 30 ms slower than the one before. What is asked is how long one patch
 * takes: few rounds, and where much was deleted just now, as by tests, this row says more about the disk.
 */
const maxPatchRounds = 5

const vsLoop: ReadonlyArray<Comparison> = [
  { id: "apply_patch.500.vs-loop", ours: patch, theirs: loop, unit, floor: 1 / 1.5 },
  // It does not wait for the disk, and leaves half of the files behind if it is killed.
  { id: "apply_patch.500.vs-git", ours: patch, theirs: git, unit, floor: null }
]
export const comparisons = [vsRg, ofGrowth, vsSed, ...vsLoop]

const lineOf = (number: number): string =>
  `${String(number).padStart(8, "0")} The quick brown fox ${number % 9973 === 0 ? "needle" : "jumps"} over the lazy dog, and so on and on.\n`

/** 200 MB of text: 800 files of 256 KB in 40 folders. What is looked for stands in every third of them. */
const makeTree = (root: string): { readonly matches: number } => {
  const linesOfFile = 3600
  let number = 0
  for (let file = 0; file < 800; file++) {
    const folder = path.join(root, `d${file % 40}`)
    fs.mkdirSync(folder, { recursive: true })
    const lines = Array.from({ length: linesOfFile }, () => lineOf(++number))
    fs.writeFileSync(path.join(folder, `f${file}.txt`), lines.join(""))
  }
  return { matches: Math.floor(number / 9973) }
}

const lines = 2000
const firstLine = 1_000_000

/** 1 GB of lines of 24 bytes: of longer ones 2,000 are more than an answer holds. */
const makeFile = (file: string): void => {
  const handle = fs.openSync(file, "w")
  let number = 0
  for (let written = 0; written < 2 ** 30;) {
    const text = Array.from({ length: 50_000 }, () => `${String(++number).padStart(10, "0")} some text.\n`).join("")
    written += fs.writeSync(handle, text)
  }
  fs.closeSync(handle)
}

/** Waits for the end without blocking, as the tools do. */
const run = (program: string, ...args: ReadonlyArray<string>) =>
  new Promise<void>((resolve, reject) => {
    spawn(program, args, { stdio: "ignore" })
      .on("error", reject)
      .on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}`))))
  })

const check = (holds: boolean, got: unknown) => {
  if (!holds) throw new Error(`got ${JSON.stringify(got).slice(0, 500)}`)
}

const inTemporaryFolder = <A>(use: (folder: string) => Promise<A>): Promise<A> => {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "toolstream-bench-")))
  return use(folder).finally(() => fs.rmSync(folder, { recursive: true, force: true }))
}

const repeat = (run: () => Promise<unknown>) => async (n: number) => {
  for (let i = 0; i < n; i++) await run()
}

export const measure = (rounds: number): Promise<ReadonlyArray<Measured>> =>
  inTemporaryFolder(async (folder) => {
    const tree = path.join(folder, "tree")
    const { matches } = makeTree(tree)
    const big = path.join(folder, "big.txt")
    makeFile(big)

    const layers = Layer.mergeAll(ApplyPatch.layer, Grep.layer, ReadFile.layer).pipe(
      Layer.provide(Layer.merge(Ripgrep.layer, WorkspaceFiles.layerWith({ state: path.join(folder, "state") }))),
      Layer.provideMerge(Session.layer({ workspace: folder }))
    )
    const program = Effect.gen(function* () {
      const grepTool = yield* Grep.Grep
      const readTool = yield* ReadFile.ReadFile
      const patchTool = yield* ApplyPatch.ApplyPatch
      const promise = Effect.runPromiseWith(yield* Effect.context())

      const search = async () => {
        const found = await promise(ToolStream.runResult(grepTool.execute({ pattern: "needle", path: "tree" })))
        check(found.total === matches && found.shown === Math.min(200, matches) && found.complete, found.total)
      }
      const ours: Contender = { name: grep, run: repeat(search) }
      const theirs: Contender = { name: rg, run: repeat(() => run(rgPath, "--json", "needle", tree)) }

      const oursRead: Contender = {
        name: read,
        run: repeat(async () => {
          const success = await promise(
            ToolStream.runResult(readTool.execute({ path: "big.txt", offset: firstLine, limit: lines }))
          )
          check(success._tag === "Text" && success.lines.length === lines && success.firstLine === firstLine, success)
        })
      }
      const last = firstLine + lines - 1
      const theirsRead: Contender = {
        name: sed,
        run: repeat(() => run("sed", "-n", `${firstLine},${last}p;${last}q`, big))
      }
      const start: Contender = { name: nothing, run: repeat(() => run("true")) }

      return yield* Effect.promise(async () => {
        const before = await settled()
        let peak = before
        const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 1)
        for (let i = 0; i < 5; i++) await search()
        clearInterval(timer)
        const memory = new Map([
          [growth, [peak - before]],
          [oneMegabyte, [1e6]]
        ])
        return [
          ...compare(await race([ours, theirs], { rounds }), [vsRg]),
          ...compare(memory, [ofGrowth]),
          ...compare(await race([oursRead, theirsRead, start], { rounds }), [vsSed]),
          ...compare(
            await race(
              patching(folder, (patch) => promise(ToolStream.runResult(patchTool.execute({ patch })))),
              { rounds: Math.min(rounds, maxPatchRounds) }
            ),
            vsLoop
          )
        ]
      })
    }).pipe(Effect.provide(layers), Effect.scoped)
    return Effect.runPromise(program)
  })

/** Each in a folder of its own: there and back again, with every second run. */
const patching = (folder: string, apply: (patch: string) => Promise<unknown>): ReadonlyArray<Contender> => {
  const count = 500
  const before = Array.from({ length: 60 }, (_, index) => `line ${index} of some text that stays as it is`)
  const after = before.with(30, "a line that is another one now")
  const text = (lines: ReadonlyArray<string>) => lines.map((line) => `${line}\n`).join("")
  const names = Array.from({ length: count }, (_, index) => `f${index}.txt`)
  const make = (name: string) => {
    const place = path.join(folder, name)
    fs.mkdirSync(place)
    for (const file of names) fs.writeFileSync(path.join(place, file), text(before))
    return place
  }
  const hunk = (from: ReadonlyArray<string>, to: ReadonlyArray<string>) =>
    [
      ...from.slice(27, 30).map((line) => ` ${line}`),
      `-${from[30]}`,
      `+${to[30]}`,
      ...from.slice(31, 34).map((line) => ` ${line}`)
    ].join("\n")
  const ours = (from: ReadonlyArray<string>, to: ReadonlyArray<string>) =>
    `*** Begin Patch\n${names.map((name) => `*** Update File: patched/${name}\n@@\n${hunk(from, to)}\n`).join("")}*** End Patch\n`
  const [there, back] = [ours(before, after), ours(after, before)]
  const gits = path.join(folder, "git.patch")
  fs.writeFileSync(
    gits,
    names.map((name) => `--- a/${name}\n+++ b/${name}\n@@ -28,7 +28,7 @@\n${hunk(before, after)}\n`).join("")
  )
  const [ourPlace, loopPlace, gitPlace] = [make("patched"), make("looped"), make("git")]
  const alternating = (run: (isThere: boolean) => unknown, place: string): Contender["run"] => {
    let isThere = false
    return async (n) => {
      for (let i = 0; i < n; i++) {
        isThere = !isThere
        await run(isThere)
      }
      const last = fs.readFileSync(path.join(place, names.at(-1)!), "utf8")
      check(last === text(isThere ? after : before), last)
    }
  }
  return [
    { name: patch, run: alternating((isThere) => apply(isThere ? there : back), ourPlace) },
    {
      name: loop,
      run: alternating((isThere) => {
        const content = text(isThere ? after : before)
        for (const name of names) {
          const temporary = path.join(loopPlace, `.${name}`)
          const handle = fs.openSync(temporary, "w")
          fs.writeSync(handle, content)
          fs.fsyncSync(handle)
          fs.closeSync(handle)
          fs.renameSync(temporary, path.join(loopPlace, name))
        }
      }, loopPlace)
    },
    {
      name: git,
      run: alternating((isThere) => {
        const { status, stderr } = spawnSync("git", ["apply", ...(isThere ? [] : ["-R"]), gits], { cwd: gitPlace })
        if (status !== 0) throw new Error(`git apply: ${stderr}`)
      }, gitPlace)
    }
  ]
}

/** The memory of this process, at rest. */
const settled = async (): Promise<number> => {
  await new Promise((resolve) => setTimeout(resolve, 50))
  return process.memoryUsage().rss
}
