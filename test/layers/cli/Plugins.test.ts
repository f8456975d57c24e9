import { assert, describe, it } from "@effect/vitest"
import * as path from "node:path"
import { isAlive, Program, repository, temporary, terminals, toolstream } from "./Program.ts"

const plugins = path.join(import.meta.dirname, "plugins")

describe.concurrent("--plugin", { timeout: 30_000 }, () => {
  it("registers tools beside the built-in ones; a path is seen from the current directory", async () => {
    const [called, listed] = await Promise.all([
      toolstream(["call", "greet", '{"name":"Ada"}', "--plugin", "greet.ts", "--json"], { cwd: plugins }),
      toolstream([
        "list",
        "--json",
        "--plugin",
        path.join(plugins, "greet.ts"),
        "--plugin",
        path.join(plugins, "deaf.ts")
      ])
    ])
    assert.match(String(terminals(called.stdout)[0]?.result.value), /^Hello, Ada, in /)
    const tools = JSON.parse(listed.stdout) as ReadonlyArray<{ readonly name: string; readonly origin: string }>
    assert.deepStrictEqual(
      tools.slice(-2).map(({ name }) => name),
      ["greet", "deaf"]
    )
    assert.deepStrictEqual(
      tools.slice(-3).map(({ origin }) => origin.replace(/.*\//, "")),
      ["the program", "greet.ts", "deaf.ts"]
    )
    for (const tool of tools) {
      assert.deepStrictEqual(Object.keys(tool), [
        "name",
        "title",
        "description",
        "parametersSchema",
        "progressSchema",
        "successSchema",
        "failureSchema",
        "hints",
        "origin"
      ])
    }
  })

  it("one that does not load names itself and the reason: status 2, and nothing runs", async () => {
    const effect = path.join(repository, "node_modules/effect/dist")
    const sources: ReadonlyArray<readonly [string, string, RegExp]> = [
      ["syntax.mjs", "export default {{", /Unexpected token|Invalid/],
      ["throws.mjs", "throw new Error('no network today')", /no network today/],
      ["none.mjs", "export const layer = 1", /it has no default export/],
      ["number.mjs", "export default 1", /its default export is no Layer/],
      ["function.mjs", "export default () => {}", /its default export is a function/],
      ["import.mjs", "import 'nowhere-to-be-found'", /nowhere-to-be-found/],
      [
        "fails.mjs",
        `import * as Layer from "${effect}/Layer.js"\nimport * as Effect from "${effect}/Effect.js"\n` +
          'export default Layer.effectDiscard(Effect.fail(new Error("no key was given")))',
        /no key was given/
      ]
    ]
    await Promise.all(
      sources.map(async ([name, source, why]) => {
        using plugin = temporary(name, source)
        const { status, stderr, stdout } = await toolstream([
          "call",
          "bash",
          '{"command":"echo ran"}',
          "--plugin",
          plugin.file
        ])
        assert.deepStrictEqual([name, status, stdout], [name, 2, ""])
        assert.match(stderr, /^toolstream: The plugin [^\n]+\n$/)
        assert.include(stderr, name)
        assert.match(stderr, why)
      })
    )
    const missing = await toolstream(["list", "--plugin", "nope.mjs"])
    assert.deepStrictEqual([missing.status, missing.stdout], [2, ""])
    assert.match(missing.stderr, /nope\.mjs was not loaded: Cannot find module '[^']*nope\.mjs'\n$/)
  })

  it("one whose tool has a name that is taken is refused", async () => {
    const greet = path.join(plugins, "greet.ts")
    using copy = temporary("again.ts", `export { default } from ${JSON.stringify(`${greet}?again`)}`)
    const { status, stderr } = await toolstream(["list", "--plugin", greet, "--plugin", copy.file])
    assert.deepStrictEqual(
      [status, /The name "greet" belongs to a tool of file:[^ ]*greet\.ts; file:[^ ]*again\.ts cannot/.test(stderr)],
      [2, true]
    )
  })

  it("one that breaks behind the calls is an internal error on one line, and takes the processes along", async () => {
    using plugin = temporary(
      "late.mjs",
      `import * as Layer from "${repository}/node_modules/effect/dist/Layer.js"
       process.once("SIGUSR2", () => { throw new Error("broken behind the calls") })
       export default Layer.empty`
    )
    await using program = new Program([
      "call",
      "bash",
      '{"command":"echo $$; sleep 60; true"}',
      "--plugin",
      plugin.file
    ])
    await program.until((stdout) => stdout.includes("\n"))
    const pid = Number(program.stdout)
    program.signal("SIGUSR2")
    const { status, stderr } = await program.ended
    assert.deepStrictEqual([status, stderr], [70, "toolstream: internal error: broken behind the calls\n"])
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10))
  })
})
