/** What it was measured on. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  /** Names and versions of what was measured. */
  readonly versions: Readonly<Record<string, string>>
}

const here = import.meta.dirname
const root = path.resolve(here, "../..")

const manifestOf = (folder: string): { readonly version?: string; readonly dependencies?: object } | undefined => {
  const file = path.join(folder, "package.json")
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined
}

/** What the benchmarks compare with: dependencies of theirs alone. */
const peers = Object.entries(manifestOf(here)?.dependencies ?? {}) as ReadonlyArray<readonly [string, string]>

const installed = (name: string) => manifestOf(path.join(here, "node_modules", name))?.version

export const hasPeers = () => peers.every(([name, version]) => installed(name) === version)

/** Of the project's dependencies, those that are measured. */
const measured = ["effect", "@effect/platform-node", "@modelcontextprotocol/sdk", "@vscode/ripgrep"]

export const describe = (): Machine => ({
  processor: os.cpus()[0]?.model.trim() ?? "unknown processor",
  cores: os.cpus().length,
  memoryGb: Math.round(os.totalmem() / 2 ** 30),
  system: `${os.type()} ${os.release()}`,
  versions: {
    toolstream: manifestOf(root)?.version ?? "?",
    node: process.versions.node,
    ...Object.fromEntries(
      measured.map((name) => [name, manifestOf(path.join(root, "node_modules", name))?.version ?? "?"])
    ),
    ...Object.fromEntries(peers.map(([name]) => [name, installed(name) ?? "?"]))
  }
})

export const versionsToText = ({ versions }: Machine): string =>
  Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ")

export const toText = ({ cores, memoryGb, processor, system }: Machine): string =>
  `${processor}, ${cores} cores, ${memoryGb} GB, ${system}`
