/**
 * Compares the runtime with what else there is, side by side in one run. `npm run bench -- --help`
 */
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { type Curve, growthOf } from "./curves/Curve.ts"
import { curves } from "./curves/curves.ts"
import type { PartResults } from "./document.ts"
import * as Machine from "./machine.ts"
import type { Found } from "./measure.ts"
import { parts } from "./parts.ts"
import { byTask } from "./peers/peers.ts"
import * as Profile from "./profile.ts"
import * as Publish from "./publish.ts"
import * as Table from "./table.ts"

const help = `npm run bench -- [--only PART] [--rounds N] [--json FILE]
npm run bench -- --page

  --only PART   measure this part, or these curves, and write no page. Parts: ${Object.keys(parts).join(", ")}.
                Curves: ${Object.keys(curves).join(", ")}; or curves, for all of them
  --rounds N    rounds of every race (15); those of seconds have fewer, and so have the curves
  --json FILE   write the rows to FILE
  --page        measure nothing: write the page anew from the figures of the last whole run

A whole run takes about 12 minutes and writes docs/benchmarks.md, its pictures and its figures, docs/benchmarks/results.json.
`

const fail = (message: string): never => {
  console.error(message)
  process.exit(1)
}

const arguments_ = () => {
  try {
    return parseArgs({
      options: {
        json: { type: "string" },
        only: { type: "string" },
        page: { type: "boolean", default: false },
        rounds: { type: "string", default: "15" },
        help: { type: "boolean", default: false }
      }
    }).values
  } catch (error) {
    return fail(`${(error as Error).message}\n\n${help}`)
  }
}

/** What the benchmarks compare with is installed when first needed. */
const installPeers = () => {
  if (Machine.hasPeers()) return
  console.error("Installing what the benchmarks compare with …")
  const here = import.meta.dirname
  const { status } = child_process.spawnSync("npm", ["ci", "--prefix", here], { cwd: here, stdio: ["ignore", 2, 2] })
  if (status !== 0) fail("npm ci failed, and without the peers there is nothing to compare with.")
}

/** Otherwise V8 throws away the code of whoever waits for its turn, and the race is one of compiling it again. */
const flags = ["--no-flush-bytecode"]

const find = (name: string, rounds: number) =>
  new Promise<Found>((resolve, reject) => {
    let found: Found | undefined
    child_process
      .fork(path.join(import.meta.dirname, "measure.ts"), [name, String(rounds)], { execArgv: flags })
      .on("message", (message) => (found = message as Found))
      .on("error", reject)
      .on("exit", (code) => (found === undefined ? reject(new Error(`${name} ended with ${code}`)) : resolve(found)))
  })

const minutesSince = (start: number) => (performance.now() - start) / 60_000

const options = arguments_()
if (options.help) {
  process.stdout.write(help)
  process.exit(0)
}
if (options.page) {
  Publish.write(Publish.read())
  process.exit(0)
}
const { only } = options
const names = [...Object.keys(parts), ...Object.keys(curves)].filter(
  (name) => only === undefined || name === only || name.startsWith(`${only}.`)
)
if (names.length === 0) fail(`There is no part "${only}".\n\n${help}`)
const rounds = Number(options.rounds)
if (!Number.isInteger(rounds) || rounds < 1) fail(`--rounds is a whole number, not "${options.rounds}".`)

installPeers()
const startedAt = performance.now()
const found: Array<PartResults> = []
const traced: Array<Curve> = []
for (const name of names) {
  console.error(`${minutesSince(startedAt).toFixed(1).padStart(4)} min: measuring ${name} …`)
  try {
    const { curves, measured, profiles } = await find(name, rounds)
    if (name in parts) {
      const { says, title } = parts[name]!
      found.push({ name, title, says, measured, profiles })
    }
    traced.push(...curves)
  } catch (error) {
    // It has said why on stderr. What the others measured is still worth reading.
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
const minutes = minutesSince(startedAt)
const machine = Machine.describe()
const measured = found.flatMap(({ measured }) => measured)

if (measured.length > 0) {
  console.log(`\n${Table.toText(measured)}\n`)
  console.log(`Medians over ${rounds} rounds, fewer where one takes seconds; ratios are taken inside a round.`)
}
for (const profile of found.flatMap(({ profiles = [] }) => profiles)) console.log(`\n${Profile.toText(profile)}`)
for (const { id, lines } of traced) {
  for (const line of lines) {
    const { bar, exponent, isWorse } = growthOf(line)
    const verdict = isWorse ? "WORSE THAN n log n" : "not worse than n log n"
    console.log(`${id}, ${line.name}: n^${exponent.toFixed(2)}, ${verdict} (n^${bar.toFixed(2)})`)
  }
}
console.log(`\n${Machine.toText(machine)}`)
console.log(Machine.versionsToText(machine))
console.log(`${minutes.toFixed(1)} minutes, load ${os.loadavg()[0]!.toFixed(1)} at the end`)

if (options.json !== undefined) {
  const rows = measured.map(({ row }) => row)
  fs.writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`)
}
if (only === undefined) {
  if (process.exitCode === 1) fail("Not all was measured: the page stays as it is.")
  Publish.write({
    date: new Date().toISOString().slice(0, 10),
    rounds,
    minutes,
    machine,
    parts: found.filter(({ name }) => name !== "peers"),
    peers: byTask(found.find(({ name }) => name === "peers")!.measured),
    curves: traced
  })
  console.log("Written: docs/benchmarks.md")
}
