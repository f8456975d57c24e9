/**
 * Runs every scenario of a folder through both layers of `apply_patch`.
 *
 *     node test/scenarios/main.ts DIR [--except NAME,NAME]
 *
 * Exit status 0: `layerCompatible` passes all of them, the default layer all but those excepted, by their name or the
 * part before its first underscore; of these the tree stays as it was. 1: not so. 2: usage.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { parseArgs } from "node:util"
import * as Scenarios from "./run.ts"

const usage = (why: string): never => {
  process.stderr.write(`${why}\nusage: node test/scenarios/main.ts DIR [--except NAME,NAME]\n`)
  process.exit(2)
}

const parse = () => {
  try {
    return parseArgs({ allowPositionals: true, options: { except: { type: "string", default: "" } } })
  } catch (error) {
    return usage(String(error))
  }
}

const { positionals, values } = parse()
const [folder, ...others] = positionals
if (folder === undefined || others.length > 0) usage("one folder is expected")
else if (!fs.existsSync(folder)) usage(`${folder} does not exist`)
else {
  const scenarios = Scenarios.list(folder)
  if (scenarios.length === 0) usage(`${folder} has no scenarios: folders with a patch.txt`)
  const except = values.except.split(",").filter((name) => name !== "")
  const isExcepted = (scenario: string) => except.some((name) => name === scenario || name === scenario.split("_")[0])
  const lost = except.filter(
    (name) => !scenarios.some((scenario) => name === scenario || name === scenario.split("_")[0])
  )
  if (lost.length > 0) usage(`no scenario is called ${lost.join(", ")}`)

  for (const layer of ["compatible", "default"] as const) {
    let passed = 0
    process.stdout.write(`${layer}\n`)
    for (const scenario of scenarios) {
      const stays = layer === "default" && isExcepted(scenario)
      const { failure, problems } = await Effect.runPromise(Scenarios.run(folder, scenario, layer, stays))
      const how = problems.length > 0 ? "FAIL" : stays ? "pass, the tree stays" : "pass"
      process.stdout.write(`  ${how}  ${scenario}\n`)
      if (failure !== undefined) process.stdout.write(`        refused: ${failure.replaceAll("\n", "\n        ")}\n`)
      for (const problem of problems) process.stdout.write(`        ${problem}\n`)
      if (problems.length === 0) passed++
      else process.exitCode = 1
    }
    process.stdout.write(`${layer}: ${passed} of ${scenarios.length} passed\n`)
  }
}
