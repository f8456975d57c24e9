import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { bash, endings, events, isAlive, lines, Program, temporary, terminals, toolstream } from "./Program.ts"

describe.concurrent("run", { timeout: 30_000 }, () => {
  it("starts each call when its line is read, and does not wait for the end of the input", async () => {
    await using program = new Program(["run", "--json"])
    program.write(lines(bash(1, "echo one")))
    await program.until((stdout) => "1" in endings(stdout))
    // Half a line is none, until the rest of it comes.
    const second = lines(bash("2", "echo two"))
    program.write(second.slice(0, 20))
    program.write(second.slice(20))
    await program.until((stdout) => "2" in endings(stdout))
    program.write(JSON.stringify(bash("3", "echo last line without its end")))
    program.end()
    const { status, stderr, stdout } = await program.ended
    assert.deepStrictEqual(endings(stdout), { "1": "Success", "2": "Success", "3": "Success" })
    assert.deepStrictEqual([status, stderr], [0, ""])
  })

  it("runs calls side by side", async () => {
    using place = temporary("a", "")
    // Each waits for a file that the other writes.
    const meet = (mine: string, other: string) => `touch ${mine}; while [ ! -e ${other} ]; do sleep 0.02; done`
    const { status, stdout } = await toolstream(
      ["run", "--json", "--workspace", place.directory, "--timeout", "20000"],
      {
        stdin: lines(bash("x", meet("x", "y")), bash("y", meet("y", "x")))
      }
    )
    assert.deepStrictEqual([status, endings(stdout)], [0, { x: "Success", y: "Success" }])
  })

  it("`after` waits for terminals of any kind, and is in vain for what is no earlier line", async () => {
    const { status, stdout } = await toolstream(["run", "--json"], {
      stdin: lines(
        bash("slow", "sleep 0.3; echo slow"),
        { id: "fails", name: "nope" },
        bash("next", "echo next", { after: ["slow", "fails"] }),
        bash("last", "echo last", { after: ["next"] }),
        bash("self", "echo self", { after: ["self"] }),
        bash("early", "echo early", { after: ["later"] }),
        bash("later", "echo later"),
        bash(7, "echo a number"),
        bash("eight", "echo is its text", { after: [7] })
      )
    })
    assert.deepStrictEqual(endings(stdout), {
      slow: "Success",
      fails: "ToolNotFound",
      next: "Success",
      last: "Success",
      self: "InvalidParameters",
      early: "InvalidParameters",
      later: "Success",
      "7": "Success",
      eight: "Success"
    })
    assert.strictEqual(status, 1)
    const all = events(stdout)
    const at = (id: string, tag: string) => all.findIndex(({ _tag, externalId }) => externalId === id && _tag === tag)
    assert.isBelow(at("slow", "Terminal"), at("next", "Progress"))
    assert.isBelow(at("fails", "Terminal"), at("next", "Progress"))
    assert.isBelow(at("next", "Terminal"), at("last", "Progress"))
    const early = terminals(stdout).find(({ externalId }) => externalId === "early")!.result.error
    assert.deepStrictEqual(early.reason.issues[0]?.path, ["after", 0])
    assert.include(early.message, '"later"')
  })

  it("an id is accepted once; the first is untouched, also while it waits", async () => {
    const { status, stdout } = await toolstream(["run", "--json"], {
      stdin: lines(bash("a", "sleep 0.2"), bash("b", "echo first", { after: ["a"] }), bash("b", "echo second"))
    })
    assert.deepStrictEqual(
      terminals(stdout).map(({ externalId, result }) => [
        externalId,
        result._tag === "Success" ? result.value["output"] : result.error.reason._tag
      ]),
      [
        ["b", "DuplicateCall"],
        ["a", ""],
        ["b", "first\n"]
      ]
    )
    assert.strictEqual(status, 1)
  })

  it("a line that is no call has a terminal that says why", async () => {
    const { status, stderr, stdout } = await toolstream(["run", "--json"], {
      stdin: lines(
        "not json",
        "",
        "   ",
        "[1]",
        `{"id":"deep","name":"bash","parameters":${"[".repeat(5000)}${"]".repeat(5000)}}`,
        { id: "name", name: 1 },
        { id: "key", name: "bash", arguments: {} },
        '{"id":"proto","name":"bash","__proto__":{}}',
        { id: ["x"], name: "bash" },
        { id: "after", name: "bash", after: "key" },
        { name: "nope" }
      )
    })
    const found = terminals(stdout).map(({ externalId, result: { error } }) => [
      externalId,
      error.tool,
      error.reason._tag,
      error.reason.issues?.map(({ path }) => path.join("."))
    ])
    assert.deepStrictEqual(found, [
      [undefined, "(unknown)", "InvalidParameters", [""]],
      [undefined, "(unknown)", "InvalidParameters", [""]],
      [undefined, "(unknown)", "InvalidParameters", [""]],
      ["name", "(unknown)", "InvalidParameters", ["name"]],
      ["key", "bash", "InvalidParameters", ["arguments"]],
      ["proto", "bash", "InvalidParameters", ["__proto__"]],
      [undefined, "bash", "InvalidParameters", ["id"]],
      ["after", "bash", "InvalidParameters", ["after"]],
      // Without an id it is the number of the line; blank ones count.
      ["11", "nope", "ToolNotFound", undefined]
    ])
    assert.include(terminals(stdout)[1]?.result.error.message, "Line 4: not an object")
    assert.deepStrictEqual([status, stderr], [1, ""])
  })

  it("--timeout counts for each call from its own acceptance", async () => {
    const { stdout } = await toolstream(["run", "--json", "--timeout", "2500"], {
      stdin: lines(bash("long", "sleep 60"), bash("short", "true", { after: ["long"] }))
    })
    assert.deepStrictEqual(endings(stdout), { long: "TimedOut", short: "Success" })
  })

  it("SIGINT: every line read has its terminal, what waits was not executed, nothing is left, status 130", async () => {
    await using program = new Program(["run", "--json"])
    program.write(
      lines(
        bash("one", "echo $$; sleep 60; true"),
        bash("two", "echo $$; sleep 60; true"),
        bash("waits", "true", { after: ["one"] })
      )
    )
    await program.until((stdout) => stdout.split("\n").length === 3)
    const pids = events(program.stdout).map(({ value }) => Number(value["text"]))
    program.signal("SIGINT")
    const { status, stderr, stdout } = await program.ended
    assert.deepStrictEqual([status, stderr], [130, ""])
    assert.deepStrictEqual(
      Object.fromEntries(
        terminals(stdout).map(({ externalId, result }) => [
          externalId,
          `${result.error.reason._tag} ${result.error.reason.phase}`
        ])
      ),
      { one: "Interrupted stopped", two: "Interrupted stopped", waits: "Interrupted not-started" }
    )
    assert.deepStrictEqual(pids.filter(isAlive), [])
  })

  it("SIGINT: what was read has its terminal, however much it is; half a line is none", async () => {
    const waiting = Array.from({ length: 400 }, (_, i) => bash(`w${i}`, "true", { after: ["one"] }))
    await using program = new Program(["run", "--json"])
    program.write(`${lines(bash("one", "echo running; sleep 60; true"), ...waiting)}{"id":"half`)
    await program.until((stdout) => stdout.endsWith("\n"))
    program.signal("SIGINT")
    const { status, stdout } = await program.ended
    assert.strictEqual(status, 130)
    assert.strictEqual(terminals(stdout).length, 401)
    assert.deepStrictEqual(new Set(Object.values(endings(stdout))), new Set(["Interrupted"]))
  })

  it("SIGINT between lines ends the program", async () => {
    await using program = new Program(["run", "--json"])
    program.write(lines(bash(1, "true")))
    await program.until((stdout) => "1" in endings(stdout))
    program.signal("SIGINT")
    assert.strictEqual((await program.ended).status, 130)
  })

  it("plain: every line says whose it is, every terminal is there", async () => {
    const { status, stdout } = await toolstream(["run"], {
      stdin: lines(
        bash("a", "printf 'x\\n\\ny'; echo aside >&2; exit 1"),
        { id: "b", name: "read_file", parameters: { path: "package.json", limit: 1 }, after: ["a"] },
        { id: "c\u001b[2J", name: "nope", after: ["b"] }
      )
    })
    assert.strictEqual(status, 1)
    assert.match(
      stdout,
      /^(a │ (x|y|aside)\n|a │\n){4}a │ Exit status 1\.\na ! bash, \d+ ms, ended with an error\nb │ \{\n(b │ .*\n)*b ✓ read_file, \d+ ms\nc␛\[2J ✗ nope: There is no such tool.*\n$/
    )
  })

  it("input that cannot be read is status 2, after what had been started has ended", async () => {
    const [missing, directory] = await Promise.all([toolstream(["run", "nope.jsonl"]), toolstream(["run", "."])])
    assert.deepStrictEqual([missing.status, missing.stdout], [2, ""])
    assert.match(missing.stderr, /^toolstream: nope\.jsonl cannot be read: it does not exist\n$/)
    assert.strictEqual(directory.status, 2)
    assert.match(directory.stderr, /^toolstream: \. cannot be read: .*\n$/)
  })

  it("reads a pipe by its name", async () => {
    using place = temporary("a", "")
    const pipe = path.join(place.directory, "pipe")
    execFileSync("mkfifo", [pipe])
    await using program = new Program(["run", pipe, "--json"])
    const writer = await fs.open(pipe, "r+")
    await writer.write(lines(bash(1, "true")))
    await program.until((stdout) => "1" in endings(stdout))
    // The writer stays: nobody waits for it.
    program.signal("SIGINT")
    assert.strictEqual((await program.ended).status, 130)
    await writer.close()
  })
})
