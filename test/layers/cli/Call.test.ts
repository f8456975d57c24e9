import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { bash, endings, events, isAlive, lines, Program, temporary, terminals, toolstream } from "./Program.ts"

const call = (name: string, parameters: unknown, ...flags: ReadonlyArray<string>) =>
  toolstream(["call", name, typeof parameters === "string" ? parameters : JSON.stringify(parameters), ...flags])

const reasonOf = (stdout: string) => terminals(stdout)[0]!.result.error.reason

/** The command line promises it of whatever goes wrong. */
const noTrace = (stderr: string) => assert.notMatch(stderr, /^\s+at /m)

describe.concurrent("call", { timeout: 30_000 }, () => {
  it("prints progress as it comes, then one terminal", async () => {
    // The command goes on only when the test has seen what it wrote.
    const command = "for i in 1 2 3; do echo $i; while [ ! -e $i ]; do sleep 0.02; done; done; exit 3"
    using go = temporary("0", "")
    await using program = new Program(
      ["call", "bash", JSON.stringify({ command }), "--json", "--yes", "--id", "mine"],
      {
        cwd: go.directory
      }
    )
    for (const i of [1, 2, 3]) {
      await program.until((stdout) => events(whole(stdout)).length === i)
      assert.strictEqual(events(program.stdout).at(-1)?._tag, "Progress")
      await fs.writeFile(`${go.directory}/${i}`, "")
    }
    const { status, stderr, stdout } = await program.ended
    const all = events(stdout)
    assert.deepStrictEqual(
      all.map(({ _tag, externalId, seq }) => [_tag, externalId, seq]),
      [
        ["Progress", "mine", 0],
        ["Progress", "mine", 1],
        ["Progress", "mine", 2],
        ["Terminal", "mine", undefined]
      ]
    )
    assert.deepStrictEqual(
      all.slice(0, 3).map(({ value }) => value),
      ["1\n", "2\n", "3\n"].map((text) => ({ stream: "stdout", text }))
    )
    const { result } = all[3]!
    assert.deepStrictEqual([result._tag, result.isError], ["Success", true])
    assert.deepStrictEqual(result.value["exit"], { _tag: "Exited", code: 3 })
    assert.deepStrictEqual([status, stderr], [0, ""])
  })

  it("writes the forms of events with their keys in order", async () => {
    const { stdout } = await call("bash", { command: "echo x" }, "--json", "--id", "1")
    const keys = stdout
      .trim()
      .split("\n")
      .map((line) => Object.keys(JSON.parse(line) as object).join(" "))
    assert.deepStrictEqual(keys, ["_tag callId externalId seq value", "_tag callId externalId result stats"])
    const failed = await call("bash", {}, "--json")
    assert.match(
      failed.stdout,
      /^\{"_tag":"Terminal","callId":"([^"]+)","result":\{"_tag":"Failure","error":\{"_tag":"ToolError","tool":"bash","callId":"\1","message":/
    )
  })

  it("plain: output on stdout, what the command said aside on stderr, then how it ended", async () => {
    const { status, stderr, stdout } = await call("bash", { command: "printf abc; echo aside >&2; exit 2" })
    assert.deepStrictEqual([status, stdout, stderr], [0, "abc\nExit status 2.\n", "aside\n"])
  })

  it("plain: output that comes in lines is printed once, as it was written", async () => {
    const command = "echo one; echo aside >&2; printf two"
    const [monitor, build] = await Promise.all([
      call("monitor", { command }),
      call("build", { command: `${command}; exit 2` })
    ])
    assert.deepStrictEqual([monitor.stdout, monitor.stderr], ["one\ntwo\nExit status 0.\n", "aside\n"])
    assert.match(build.stdout, /^one\ntwo\n(?!one)[^\n]*: exit status 2\. [^\n]*\n$/)
    assert.strictEqual(build.stderr, "aside\n")
  })

  it("plain: the last lines are printed with the result if some were not told", async () => {
    const { stdout } = await call("monitor", { command: "seq 5000" })
    assert.match(stdout, /\n4999\n5000\nExit status 0\. 5000 lines, the last 50 are shown\. .* \d+ were too many/)
  })

  it("plain: nothing that a tool says acts on the terminal", async () => {
    using file = temporary("a.txt", "a\u001b[31mb\u009b2J\u0007\u007f\r\nend\n")
    const read = await toolstream(["call", "read_file", '{"path":"a.txt"}', "--workspace", file.directory])
    const unknown = await toolstream(["call", "\u001b[2Jnope", "{}"])
    for (const { stderr, stdout } of [read, unknown]) {
      // oxlint-disable-next-line no-control-regex
      assert.notMatch(stdout + stderr, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    }
    assert.include(read.stdout, "end")
    assert.strictEqual(unknown.status, 1)
  })

  it("text that is no JSON, is too deep or does not decode ends as InvalidParameters", async () => {
    const [bad, deep, key, proto] = await Promise.all([
      call("bash", "{bad", "--json"),
      call("bash", "[".repeat(100_000), "--json"),
      call("read_file", { path: "README.md", lines: 3 }, "--json"),
      call("read_file", '{"path":"README.md","__proto__":{"limit":1}}', "--json")
    ])
    for (const { status, stderr, stdout } of [bad, deep, key, proto]) {
      assert.deepStrictEqual([status, reasonOf(stdout)._tag], [1, "InvalidParameters"])
      assert.strictEqual(stderr, "")
    }
    assert.deepStrictEqual(reasonOf(key.stdout).issues[0]?.path, ["lines"])
    assert.include(reasonOf(key.stdout).issues[0]?.message, "path, offset, limit")
    assert.deepStrictEqual(reasonOf(proto.stdout).issues[0]?.path, ["__proto__"])
  })

  it("an unknown tool is a terminal that names those there are", async () => {
    const { status, stderr, stdout } = await call("read_fil", {})
    assert.deepStrictEqual([status, stdout], [1, ""])
    assert.match(stderr, /^read_fil: .*Did you mean read_file/)
  })

  it("reads parameters from stdin", async () => {
    const stdin = JSON.stringify(bash(1, "echo from stdin").parameters)
    const [good, bytes] = await Promise.all([
      toolstream(["call", "bash", "-", "--json"], { stdin }),
      toolstream(["call", "bash", "-", "--json"], { stdin: "\u0000" })
    ])
    assert.strictEqual(terminals(good.stdout)[0]?.result.value["output"], "from stdin\n")
    assert.deepStrictEqual([bytes.status, reasonOf(bytes.stdout)._tag], [1, "InvalidParameters"])
  })

  it("--timeout and --cancel-after end the call, with what it had done so far", async () => {
    const command = "echo before; exec sleep 60"
    const [timed, cancelled] = await Promise.all([
      call("bash", { command }, "--timeout", "2500", "--json"),
      call("bash", { command }, "--cancel-after", "2500", "--json")
    ])
    for (const [{ status, stdout }, tag] of [
      [timed, "TimedOut"],
      [cancelled, "Interrupted"]
    ] as const) {
      const reason = reasonOf(stdout)
      assert.deepStrictEqual([status, reason._tag, reason.phase], [1, tag, "stopped"])
      assert.strictEqual(reason.partial.value["output"], "before\n")
    }
    assert.strictEqual(reasonOf(cancelled.stdout).why, "cancelled after 2500 ms")
  })

  it("SIGINT: the terminal is printed, the processes are gone, status 130", async () => {
    await using program = new Program(["call", "bash", '{"command":"echo $$; sleep 60; true"}', "--json"])
    await program.until((stdout) => stdout.endsWith("\n"))
    const pid = Number(events(program.stdout)[0]?.value["text"])
    assert.isTrue(isAlive(pid))
    program.signal("SIGINT")
    const { status, stderr, stdout } = await program.ended
    assert.deepStrictEqual([status, stderr], [130, ""])
    assert.deepStrictEqual([reasonOf(stdout)._tag, reasonOf(stdout).why], ["Interrupted", "interrupted by the user"])
    assert.isFalse(isAlive(pid))
  })

  it("a second signal does not wait", async () => {
    // A tool that cannot be interrupted holds the program for the grace period of 5 seconds.
    const plugin = path.join(import.meta.dirname, "plugins/deaf.ts")
    await using program = new Program(["run", "--plugin", plugin, "--json"])
    program.write(lines(bash("bash", "trap '' TERM; echo $$; sleep 60; sleep 60"), { id: "deaf", name: "deaf" }))
    await program.until((stdout) => events(whole(stdout)).length === 2)
    const pid = Number(events(program.stdout).find(({ externalId }) => externalId === "bash")?.value["text"])
    program.signal("SIGTERM")
    // Signals in the first moment count as one: that a program gets Ctrl-C twice under npm is no second wish.
    await new Promise((resolve) => setTimeout(resolve, 300))
    program.signal("SIGTERM")
    const { status, stdout } = await program.ended
    assert.strictEqual(status, 130)
    assert.notProperty(endings(stdout), "deaf")
    await gone(pid)
  })

  it("a closed stdout ends the calls: a line on stderr, status 1", async () => {
    await using program = new Program(["call", "bash", '{"command":"echo $$; while :; do echo y; done"}'])
    await program.until((stdout) => stdout.includes("\n"))
    const pid = Number(program.stdout.split("\n")[0])
    program.closeStdout()
    const { status, stderr } = await program.ended
    assert.strictEqual(status, 1)
    assert.match(stderr, /^toolstream: stdout was closed[^\n]*\n$/)
    await gone(pid)
  })

  it("usage errors are status 2, say the next step, and run nothing", async () => {
    const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
      [["call"], /Missing required argument: NAME[^]*Usage: toolstream call[^]*--help/],
      [["call", "bash", "{}", "extra"], /extra/],
      [["call", "bash", "{}", "--nope"], /--nope[^]*--help/],
      [["call", "bash", "{}", "--timeout", "0"], /from 1 to 2147483647/],
      [["call", "bash", "{}", "--timeout", "2147483648"], /from 1 to 2147483647/],
      [["call", "bash", "{}", "--cancel-after", "1.5"], /--cancel-after/],
      [["nope"], /nope[^]*--help/],
      [["call", "bash", "{}", "--workspace", "/does/not/exist"], /--workspace \/does\/not\/exist: it does not exist/],
      [["call", "bash", "{}", "--workspace", "package.json"], /package\.json: it is not a directory/],
      [[], /SUBCOMMANDS/]
    ]
    await Promise.all(
      wrong.map(async ([args, message]) => {
        const { status, stderr, stdout } = await toolstream(args)
        assert.deepStrictEqual([args, status, stdout], [args, 2, ""])
        assert.match(stderr, message)
        noTrace(stderr)
      })
    )
  })

  it("--help and --version are data", async () => {
    const [help, version] = await Promise.all([toolstream(["call", "--help"]), toolstream(["--version"])])
    assert.deepStrictEqual([help.status, help.stderr, version.status, version.stderr], [0, "", 0, ""])
    for (const option of ["workspace", "id", "cancel-after", "timeout", "yes", "allow", "plugin", "json"]) {
      assert.include(help.stdout, `--${option}`)
    }
    assert.match(help.stdout, /Exit status: 0/)
    assert.match(version.stdout, /^toolstream \d+\.\d+\.\d+\n$/)
  })
})

/** The lines that are there whole. */
const whole = (stdout: string) => stdout.slice(0, stdout.lastIndexOf("\n") + 1)

/** What was killed on the way out is gone when the kernel has cleared it away. */
const gone = async (pid: number) => {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10))
}
