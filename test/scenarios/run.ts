/**
 * Scenarios of `apply_patch`: folders with `input/`, `patch.txt` and `expected/`, applied to real files and compared
 * byte for byte.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeWorkspaceFiles from "../../layers/node/WorkspaceFiles.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as ApplyPatch from "../../tools/apply-patch/ApplyPatch.ts"
import * as Workspace from "../layers/node/Workspace.ts"

/** The layers that scenarios are for. */
export const layers = {
  default: ApplyPatch.layer,
  compatible: ApplyPatch.layerCompatible
} as const
export type LayerName = keyof typeof layers

/** How a scenario went. */
export interface Outcome {
  readonly scenario: string
  readonly layer: LayerName
  /** None if it went as it should. */
  readonly problems: ReadonlyArray<string>
  /** What the model would read, if the call failed. */
  readonly failure: string | undefined
}

/** Names of the scenarios in a folder. */
export const list = (folder: string): ReadonlyArray<string> =>
  fs
    .readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && fs.existsSync(path.join(folder, entry.name, "patch.txt")))
    .map((entry) => entry.name)
    .toSorted()

/**
 * Runs one through one layer. With `stays`, the tree must be as it was instead of as expected. Where it is expected to
 * be as it was, the call must have failed: a tool that says it changed something has.
 */
export const run = (folder: string, scenario: string, layer: LayerName, stays: boolean) =>
  Effect.gen(function* () {
    const input = read(path.join(folder, scenario, "input"))
    const expected = stays ? input : read(path.join(folder, scenario, "expected"))
    const patch = fs.readFileSync(path.join(folder, scenario, "patch.txt"), "utf8")
    const { root, top } = yield* Workspace.make(input)
    const files = NodeWorkspaceFiles.layerWith({ state: path.join(top, "state") })
    const exit = yield* Effect.flatMap(ApplyPatch.ApplyPatch, ({ execute }) =>
      ToolStream.runResult(execute({ patch }))
    ).pipe(
      Effect.provide(Workspace.within(root, Layer.provide(layers[layer], files))),
      Effect.mapError(({ message }) => message),
      Effect.exit
    )
    const failure = Exit.isSuccess(exit) ? undefined : String(yield* Effect.flip(exit))
    const unchanged = differences(input, expected).length === 0
    const told =
      failure === undefined && unchanged
        ? ["the call succeeded, but nothing was to change"]
        : failure !== undefined && !unchanged && layer === "default"
          ? ["the call failed"]
          : []
    return { scenario, layer, problems: [...differences(expected, read(root)), ...told], failure } satisfies Outcome
  }).pipe(Effect.scoped)

/** Files by their path. Folders are nothing of their own. */
const read = (folder: string): Readonly<Record<string, Buffer>> =>
  Object.fromEntries(
    (fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true, withFileTypes: true }) : [])
      .filter((entry) => !entry.isDirectory())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => [path.relative(folder, file), fs.readFileSync(file)])
  )

const differences = (
  expected: Readonly<Record<string, Buffer>>,
  found: Readonly<Record<string, Buffer>>
): ReadonlyArray<string> =>
  [...new Set([...Object.keys(expected), ...Object.keys(found)])].toSorted().flatMap((file) => {
    const [wanted, is] = [expected[file], found[file]]
    if (wanted === undefined) return [`${file} should not be there`]
    if (is === undefined) return [`${file} is missing`]
    return wanted.equals(is)
      ? []
      : [`${file} is ${JSON.stringify(is.toString())}, not ${JSON.stringify(wanted.toString())}`]
  })
