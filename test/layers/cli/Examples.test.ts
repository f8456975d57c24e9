import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import { endings, repository, toolstream } from "./Program.ts"

describe.concurrent("examples", { timeout: 90_000 }, () => {
  it("turn.jsonl prints every terminal and ends with status 0", async () => {
    const file = path.join(repository, "examples/turn.jsonl")
    const asked = fs
      .readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly id: string }).id)
    const [json, plain] = await Promise.all([
      toolstream(["run", file, "--yes", "--json"]),
      toolstream(["run", file, "--yes"])
    ])
    assert.deepStrictEqual([json.status, plain.status], [0, 0])
    assert.sameMembers(Object.keys(endings(json.stdout)), asked)
    for (const id of asked) assert.match(plain.stdout, new RegExp(`^${id} [✓!] `, "m"))
    assert.match(plain.stdout, /^fails ! bash/m)
  })

  it("embed.ts calls its tool in three ways", async () => {
    const { stderr, stdout } = await promisify(execFile)(process.execPath, [path.join(repository, "examples/embed.ts")])
    assert.strictEqual(stderr, "")
    assert.match(stdout, /^guarded: 7\nunguarded: There is no item "kiwi".*\n(erased: \{"_tag":"Progress".*\n){2}/)
    assert.include(stdout, '"value":{"total":7}')
    assert.include(stdout, '"_tag":"InvalidParameters"')
  })

  it("telemetry.ts prints the spans and the histogram that it exports", async () => {
    const file = path.join(repository, "examples/telemetry.ts")
    const { stderr, stdout } = await promisify(execFile)(process.execPath, [file])
    assert.strictEqual(stderr, "")
    assert.match(stdout, /^\/v1\/traces {2}long division$/m)
    assert.strictEqual(stdout.match(/^\/v1\/traces {2}execute_tool divide$/gm)?.length, 3)
    assert.match(stdout, /^\/v1\/metrics {2}gen_ai.execute_tool.duration$/m)
  })
})
