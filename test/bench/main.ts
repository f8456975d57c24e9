/**
 * Compares the runtime with what else there is, side by side in one run. `npm run bench -- --help`
 */
import * as child_process from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import type { Measured, Row } from "./race.ts"

const help = `npm run bench -- [--only PART] [--rounds N] [--json FILE]

  --only PART   measure this part: call, files, journal, mcp, monitor, process, progress, start or turn
  --rounds N    rounds of every race (15); a race of processes has as many
  --json FILE   write the rows to FILE
`

const here = import.meta.dirname
const root = path.resolve(here, "../..")
const readJson = (...file: ReadonlyArray<string>) => JSON.parse(fs.readFileSync(path.join(...file), "utf8"))
const versionOf = (...folder: ReadonlyArray<string>): string | undefined => {
  const manifest = path.join(...folder, "package.json")
  return fs.existsSync(manifest) ? readJson(manifest).version : undefined
}

const fail = (message: string): never => {
  console.error(message)
  process.exit(1)
}

/** The peers are dependencies of the benchmarks alone, installed when first needed. */
const peers: Readonly<Record<string, string>> = readJson(here, "package.json").dependencies
const installPeers = () => {
  if (Object.entries(peers).every(([name, version]) => versionOf(here, "node_modules", name) === version)) return
  console.error("Installing what the benchmarks compare with …")
  const { status } = child_process.spawnSync("npm", ["ci", "--prefix", here], { cwd: here, stdio: ["ignore", 2, 2] })
  if (status !== 0) fail("npm ci failed, and without the peers there is nothing to compare with.")
}

/** Otherwise V8 throws away the code of whoever waits for its turn, and the race is one of compiling it again. */
const flags = ["--no-flush-bytecode"]

const measure = (part: string, rounds: number) =>
  new Promise<ReadonlyArray<Measured>>((resolve, reject) => {
    let measured: ReadonlyArray<Measured> | undefined
    child_process
      .fork(path.join(here, "measure.ts"), [part, String(rounds)], { execArgv: flags })
      .on("message", (message) => (measured = message as ReadonlyArray<Measured>))
      .on("error", reject)
      .on("exit", (code) =>
        measured === undefined ? reject(new Error(`${part} ended with ${code}`)) : resolve(measured)
      )
  })

const number = (value: number) => {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US")
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

const line = ({ quartiles, row }: Measured): ReadonlyArray<string> => [
  row.id,
  number(row.ours),
  number(row.theirs),
  row.unit,
  `${number(row.ratio)} ×${row.lowerIsBetter ? " as much" : ""}`,
  `${number(quartiles[0])} … ${number(quartiles[1])}`,
  row.floor === null ? "" : `${number(row.floor)} ${holds(row) ? "holds" : "MISSED"}`,
  row.against
]

const holds = ({ floor, lowerIsBetter, ratio }: Row) =>
  floor === null || (lowerIsBetter ? ratio <= floor : ratio >= floor)

const head = ["id", "ours", "theirs", "unit", "ratio", "quartiles", "floor", "against"]
const toTheLeft = new Set(["id", "unit", "against"])

const table = (measured: ReadonlyArray<Measured>): string => {
  const lines = [head, ...measured.map(line)]
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]!.length)))
  const pad = (cell: string, column: number) =>
    toTheLeft.has(head[column]!) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)
  return lines.map((cells) => cells.map(pad).join("  ").trimEnd()).join("\n")
}

const machine = (): string => {
  const memory = `${Math.round(os.totalmem() / 2 ** 30)} GB`
  const versions = [
    `node ${process.versions.node}`,
    `effect ${versionOf(root, "node_modules/effect")}`,
    ...Object.keys(peers).map((name) => `${name} ${versionOf(here, "node_modules", name)}`),
    `toolstream ${versionOf(root)}`
  ]
  return [
    `${os.cpus()[0]?.model.trim() ?? "unknown processor"}, ${os.cpus().length} cores, ${memory}, ${os.type()} ${os.release()}`,
    versions.join(", "),
    `${new Date().toISOString().slice(0, 10)}, load ${os.loadavg()[0]!.toFixed(1)} at the end`
  ].join("\n")
}

const arguments_ = () => {
  try {
    return parseArgs({
      options: {
        json: { type: "string" },
        only: { type: "string" },
        rounds: { type: "string", default: "15" },
        help: { type: "boolean", default: false }
      }
    }).values
  } catch (error) {
    return fail(`${(error as Error).message}\n\n${help}`)
  }
}

const options = arguments_()
if (options.help) {
  process.stdout.write(help)
  process.exit(0)
}
const names = ["call", "files", "journal", "mcp", "monitor", "process", "progress", "start", "turn"].filter(
  (part) => options.only === undefined || part === options.only
)
if (names.length === 0) fail(`There is no part "${options.only}".\n\n${help}`)
const rounds = Number(options.rounds)
if (!Number.isInteger(rounds) || rounds < 1) fail(`--rounds is a whole number, not "${options.rounds}".`)

installPeers()
const measured: Array<Measured> = []
for (const name of names) {
  console.error(`Measuring ${name} …`)
  try {
    measured.push(...(await measure(name, rounds)))
  } catch (error) {
    // It has said why on stderr. What the others measured is still worth reading.
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
console.log(`\n${table(measured)}\n`)
console.log(
  `Ratios are medians over ${rounds} rounds: how many times as fast ours is; "as much" is ours over theirs.\n`
)
console.log(machine())
if (options.json !== undefined) {
  const rows = measured.map(({ row }) => row)
  fs.writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`)
}
