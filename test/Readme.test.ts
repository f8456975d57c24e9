import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")
const readme = fs.readFileSync(path.join(root, "README.md"), "utf8")

/** All TypeScript of the README, one program, over the sources. */
const program = Array.from(readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm), ([, code]) => code)
  .join("\n")
  .replaceAll('"toolstream/testing"', '"./layers/testing/index.ts"')
  .replace(/"toolstream\/(layers\/[^"]+|tools\/[^"]+)"/g, '"./$1.ts"')
  .replace(/"toolstream\/(\w+)"/g, '"./src/$1.ts"')

const run = (code: string) =>
  spawnSync(process.execPath, ["--input-type=module-typescript", "--no-warnings", "-"], {
    cwd: root,
    input: code,
    encoding: "utf8",
    timeout: 90_000
  })

describe("README", () => {
  it("its program runs: progress, then one terminal, and a tool that keeps the law", { timeout: 100_000 }, () => {
    const { status, stderr, stdout } = run(
      `${program}\nawait Effect.runPromise(program)\nconsole.log(Object.keys(await Effect.runPromise(report)).length > 0)`
    )
    assert.strictEqual(status, 0, stderr)
    assert.match(stdout, /Progress[\s\S]*Progress[\s\S]*Progress[\s\S]*Terminal/)
    assert.match(stdout, /true\n$/)
  })

  it("names each file and folder that is there", () => {
    const links = Array.from(readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g), ([, target]) => target!)
    for (const link of links) assert.isTrue(fs.existsSync(path.join(root, link)), link)
  })

  it("has the two commands that a newcomer and CI run", () => {
    assert.include(readme, "npm ci && npm start")
    assert.include(readme, "npm ci && npm test")
  })
})
