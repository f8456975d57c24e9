/**
 * A process that searches the folder it is given while its own input is an open pipe, then reads that pipe.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as path from "node:path"
import * as Ripgrep from "../../layers/node/Ripgrep.ts"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Grep from "../../tools/Grep.ts"
import * as Workspace from "../layers/node/Workspace.ts"

const root = process.argv[2]!
const ports = Layer.merge(
  NodeWorkspaceFiles.layerWith({ state: path.join(path.dirname(root), "state") }),
  Ripgrep.layer
)
const matches = await Effect.runPromise(
  Effect.flatMap(Grep.Grep, ({ execute }) => ToolStream.runResult(execute({ pattern: "x" }))).pipe(
    Effect.provide(Workspace.within(root, Layer.provide(Grep.layer, ports)))
  )
)
const lines = matches.files.flatMap(({ lines, path }) => lines.map(({ line, text }) => `${path}:${line}:${text}`))
process.stdout.write(`${JSON.stringify(lines)}\n`)
process.stdin.once("data", (bytes) => process.stdout.write(`${bytes}end\n`, () => process.exit(0)))
