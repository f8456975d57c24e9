/**
 * A plugin that prints wherever it can, as its dependencies may.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as Tool from "../../../../src/Tool.ts"
import * as ToolRegistry from "../../../../src/ToolRegistry.ts"

const print = (when: string) => {
  console.log(`${when}: console.log`)
  console.info(`${when}: console.info`)
  process.stdout.write(`${when}: process.stdout\n`)
  fs.writeSync(1, `${when}: the descriptor\n`)
  spawnSync("/bin/sh", ["-c", `echo '${when}: a child'; echo '${when}: the reserved descriptor' >&3`], {
    stdio: ["ignore", "inherit", "ignore"]
  })
}

print("loading")

class Noisy extends Tool.Service<Noisy>()("noisy", {
  description: "Prints.",
  parameters: {},
  success: Schema.String
}) {}

const NoisyLive = Noisy.toLayer(() =>
  Effect.sync(() => {
    print("running")
    return "done"
  })
)

export default Layer.provide(ToolRegistry.layerRegister(Noisy), NoisyLive)
