import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const module = JSON.stringify(path.resolve(import.meta.dirname, "../../../layers/node/CodeCache.ts"))

/** A folder with files of a bundle, and what a program that runs the first prints. */
const bundle = (files: Readonly<Record<string, string>>) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "toolstream-code-"))
  const cache = path.join(folder, "cache/deep")
  const write = (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text)
  }
  write(files)
  return {
    write,
    cache,
    run: (directory: string | null = cache) => {
      const program = `import { run } from ${module}; console.log(run(${JSON.stringify(path.join(folder, "main.cjs"))}, ${directory === null ? "undefined" : JSON.stringify(directory)}))`
      const { status, stderr, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
        encoding: "utf8",
        timeout: 8_000
      })
      return { status, said: stdout.trim(), stderr }
    },
    kept: () => (fs.existsSync(cache) ? fs.readdirSync(cache).toSorted() : []),
    [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true })
  }
}

const main = (name: string) => `module.exports = require("./${name}")()`
const answer = (n: number) => `const late = () => ${n}; exports.n = 1; module.exports = () => late()`

describe("a cache of code", () => {
  it("is kept by a run that ends well, for the user alone, and taken by the next", () => {
    using given = bundle({ "main.cjs": main("a-12345678.cjs"), "a-12345678.cjs": answer(42) })
    assert.deepStrictEqual([given.run().said, given.kept()], ["42", ["a-12345678.cjs"]])
    assert.strictEqual(fs.statSync(given.cache).mode & 0o777, 0o700)
    const file = path.join(given.cache, "a-12345678.cjs")
    const { mode, mtimeMs } = fs.statSync(file)
    assert.strictEqual(mode & 0o777, 0o600)
    assert.strictEqual(given.run().said, "42")
    assert.strictEqual(fs.statSync(file).mtimeMs, mtimeMs)
    // Of a text as long as this one was: V8 looks no closer, which shows that it is taken.
    given.write({ "a-12345678.cjs": answer(43) })
    assert.strictEqual(given.run().said, "42")
  })

  it("is never that of another content", () => {
    using given = bundle({ "main.cjs": main("a-12345678.cjs"), "a-12345678.cjs": answer(42) })
    assert.strictEqual(given.run().said, "42")
    given.write({ "main.cjs": main("b-12345678.cjs"), "b-12345678.cjs": answer(43) })
    assert.strictEqual(given.run().said, "43")
    assert.deepStrictEqual(given.kept(), ["a-12345678.cjs", "b-12345678.cjs"])
  })

  it("is kept of the last three builds of a file, and of every file", () => {
    using given = bundle({ "main.cjs": main("ab-12345678.cjs"), "ab-12345678.cjs": answer(0) })
    given.run()
    for (let build = 1; build <= 5; build++) {
      const name = `a-${build}2345-78.cjs`
      given.write({ "main.cjs": main(name), [name]: answer(build) })
      assert.strictEqual(given.run().said, String(build))
      // However coarse the times of files are.
      fs.utimesSync(path.join(given.cache, name), build, build)
    }
    assert.deepStrictEqual(given.kept(), [...[3, 4, 5].map((build) => `a-${build}2345-78.cjs`), "ab-12345678.cjs"])
  })

  it.skipIf(process.getuid === undefined)("is taken from nobody else, and not where others can write it", () => {
    for (const spoil of [
      (file: string) => fs.chmodSync(file, 0o622),
      ...(process.getuid?.() === 0 ? [(file: string) => fs.chownSync(file, 1, 1)] : [])
    ]) {
      using given = bundle({ "main.cjs": main("a-12345678.cjs"), "a-12345678.cjs": answer(42) })
      assert.strictEqual(given.run().said, "42")
      const file = path.join(given.cache, "a-12345678.cjs")
      spoil(file)
      given.write({ "a-12345678.cjs": answer(43) })
      assert.strictEqual(given.run().said, "43")
      const { mode, uid } = fs.statSync(file)
      assert.deepStrictEqual([mode & 0o777, uid], [0o600, process.getuid!()])
    }
  })

  it("is made anew where it is not V8's", () => {
    using given = bundle({ "main.cjs": main("a-12345678.cjs"), "a-12345678.cjs": answer(42) })
    const file = path.join(given.cache, "a-12345678.cjs")
    fs.mkdirSync(given.cache, { recursive: true })
    for (const text of ["", "no code", "x".repeat(10_000)]) {
      fs.writeFileSync(file, text)
      assert.strictEqual(given.run().said, "42")
      assert.notStrictEqual(fs.readFileSync(file, "latin1"), text)
    }
  })

  it("is not kept by a run that fails, and cannot be had where nothing can be written", () => {
    using given = bundle({
      "main.cjs": `process.exitCode = 1; require("./a-12345678.cjs")`,
      "a-12345678.cjs": answer(1)
    })
    assert.deepStrictEqual([given.run().status, given.kept()], [1, []])
    given.write({ "main.cjs": main("a-12345678.cjs") })
    const { said, status } = given.run(path.join(module.slice(1, -1), "below a file"))
    assert.deepStrictEqual([status, said], [0, "1"])
    assert.strictEqual(given.run(null).said, "1")
    assert.deepStrictEqual(given.kept(), [])
  })
})
