import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import * as Session from "../../../src/Session.ts"
import type { Clocks } from "../../../src/Clocks.ts"
import type * as Tool from "../../../src/Tool.ts"
import type { ToolContent } from "../../../src/ToolContent.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { Bash, type Completed, layer, type Partial } from "../../../tools/bash/Bash.ts"

type Parameters = Tool.Parameters<typeof Bash>
type Progress = Tool.Progress<typeof Bash>

const workspace = Layer.unwrap(
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "bash-"))),
      (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
    ),
    (directory) => Session.layer({ workspace: directory })
  )
)

const TestLayer = Layer.mergeAll(Layer.provide(layer, NodeProcesses.layer), workspace)

/** The result, and every progress text by stream. */
const run = Effect.fnUntraced(function* (parameters: Parameters) {
  const { execute } = yield* Bash
  const progress: Array<Progress> = []
  const result = yield* ToolStream.runForEachArray(execute(parameters), (chunk) =>
    Effect.sync(() => {
      progress.push(...chunk)
    })
  )
  assert("exit" in result)
  const streamed = (stream: Progress["stream"]) =>
    progress
      .filter((item) => item.stream === stream)
      .map(({ text }) => text)
      .join("")
  return { result, progress, stdout: streamed("stdout"), stderr: streamed("stderr") }
})

/** For output of which only the length is of interest. */
const drain = Effect.fnUntraced(function* (parameters: Parameters) {
  const { execute } = yield* Bash
  let length = 0
  const result = yield* ToolStream.runForEachArray(execute(parameters), (chunk) =>
    Effect.sync(() => {
      for (const { text } of chunk) length += text.length
    })
  )
  assert("exit" in result)
  return { result, length }
})

// A declaration is of any tool: its functions are typed where they are written.
const toContent = Bash.toContent as ((result: Completed) => ReadonlyArray<ToolContent>) | undefined
const toPartialContent = Bash.toPartialContent as ((partial: Partial) => ReadonlyArray<ToolContent>) | undefined
const isError = Bash.isError as ((result: Completed) => boolean) | undefined
const clocks = Bash.clocks as ((parameters: Parameters) => Clocks) | undefined

const texts = (content: ReadonlyArray<ToolContent> | undefined) =>
  content?.map((item) => (item.type === "text" ? item.text : item.type))
const content = (result: Completed) => texts(toContent?.(result))

describe("bash", () => {
  it.layer(TestLayer, { excludeTestServices: true })((it) => {
    it.effect("C35: a command that exits 7 is a success with its output, to be seen as an error", () =>
      Effect.gen(function* () {
        const { result, stderr, stdout } = yield* run({ command: "echo diagnostics; echo more >&2; exit 7" })
        assert.deepStrictEqual(result.exit, { _tag: "Exited", code: 7 })
        assert.deepStrictEqual([stdout, stderr], ["diagnostics\n", "more\n"])
        assert.deepStrictEqual([result.stdoutBytes, result.stderrBytes, result.omittedBytes], [12, 5, 0])
        assert.include(result.output, "diagnostics\n")
        assert.include(result.output, "more\n")
        assert.isTrue(isError?.(result))
        assert.strictEqual(content(result)?.at(-1), "Exit status 7.")
      })
    )

    it.effect("C33: a command killed by a signal is an error that names it", () =>
      Effect.gen(function* () {
        const { result } = yield* run({ command: "kill -9 $$" })
        assert.deepStrictEqual(result.exit, { _tag: "Signalled", signal: "SIGKILL" })
        assert.isTrue(isError?.(result))
        assert.deepStrictEqual(content(result), ["Killed by SIGKILL. No output."])
      })
    )

    it.effect("C01: a background process does not hold the call, and the model reads of it", () =>
      Effect.gen(function* () {
        const startedAt = performance.now()
        const { result } = yield* run({ command: "sleep 30 & echo done" })
        assert.isBelow(performance.now() - startedAt, 1_500)
        assert.strictEqual(result.output, "done\n")
        assert.isFalse(isError?.(result))
        assert.match(
          content(result)?.at(-1) ?? "",
          /^Exit status 0\. Left in the background: \w+ \(pid \d+, terminated\)\.$/
        )
      })
    )

    it.effect("C03: a process that left the group is ended with it, and named", () =>
      Effect.gen(function* () {
        const { result } = yield* run({
          command: "setsid sleep 60 & echo spawned; until [ $(ps -o pgid= -p $!) = $! ]; do :; done"
        })
        assert.strictEqual(result.output, "spawned\n")
        assert.match(content(result)?.at(-1) ?? "", /sleep \(pid \d+, (terminated|killed)\)/)
      })
    )

    it.effect("C07: when an interrupted call has ended, nothing of its group runs", () =>
      Effect.gen(function* () {
        const { execute } = yield* Bash
        const child = yield* Deferred.make<number>()
        const fiber = yield* Effect.forkChild(
          ToolStream.runForEachArray(execute({ command: "sh -c 'sleep 300 & echo $!; wait'" }), ([{ text }]) =>
            Deferred.succeed(child, Number(text))
          )
        )
        const pid = yield* Deferred.await(child)
        yield* Fiber.interrupt(fiber)
        assert.notMatch(spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout, /^[^Z\s]/)
      })
    )

    it.effect("C11: a timeout that no timer can hold is no parameter", () =>
      Effect.gen(function* () {
        const decode = Schema.decodeUnknownExit(Schema.toCodecJson(Bash.parametersSchema))
        for (const timeoutMs of [2 ** 31, 0, -1, 1.5, "60000", Number.NaN, null]) {
          assert.isTrue(Exit.isFailure(decode({ command: "true", timeoutMs })), String(timeoutMs))
        }
        for (const timeoutMs of [1, 2 ** 31 - 1]) {
          assert.isTrue(Exit.isSuccess(decode({ command: "true", timeoutMs })), String(timeoutMs))
        }
        assert.isTrue(Exit.isFailure(decode({ command: "" })))
        assert.strictEqual(clocks?.({ command: "true", timeoutMs: 5 })?.total, 5)
        assert.isUndefined(clocks?.({ command: "true" })?.total)
      })
    )

    it.effect("C12: a flood neither starves timers nor fills memory", () =>
      Effect.gen(function* () {
        const before = process.memoryUsage().rss
        const startedAt = performance.now()
        const exit = yield* drain({ command: "yes" }).pipe(Effect.timeout(1_000), Effect.exit)
        assert.isTrue(Exit.isFailure(exit))
        assert.isBelow(performance.now() - startedAt, 3_000)
        assert.isBelow(process.memoryUsage().rss - before, 64 * 1024 * 1024)
      })
    )

    it.effect("C14: a character split over two writes is whole", () =>
      Effect.gen(function* () {
        const split = yield* run({ command: "printf 'clean \\xe2'; sleep 0.05; printf '\\x80\\x94 end\\n'" })
        assert.strictEqual(split.result.output, "clean \u2014 end\n")
        assert.strictEqual(split.stdout, "clean \u2014 end\n")
        const many = yield* run({ command: "for i in $(seq 500); do printf '你%.0s' {1..100}; done" })
        assert.strictEqual(many.stdout, "你".repeat(50_000))
        assert.strictEqual(many.result.stdoutBytes, 150_000)
      })
    )

    it.effect("C16: every progress text and the output are well-formed, and at most 16 KiB", () =>
      Effect.gen(function* () {
        const { progress, result, stdout } = yield* run({
          command: "printf x; for i in $(seq 600); do printf '😀%.0s' {1..100}; done"
        })
        assert.strictEqual(stdout, `x${"😀".repeat(60_000)}`)
        for (const { text } of progress) {
          assert.isTrue(text.isWellFormed())
          assert.isAtMost(Buffer.byteLength(text), 16 * 1024)
        }
        assert.isTrue(result.output.isWellFormed())
        assert.notInclude(result.output, "\ufffd")
        assert.strictEqual(result.omittedBytes + Buffer.byteLength(result.output.replace(/\n\[.*\]\n/, "")), 240_001)
      })
    )

    it.effect("C17: binary output is plain text to the model and to the reader", () =>
      Effect.gen(function* () {
        const { result, stdout } = yield* run({ command: "printf 'a\\0b\\n'; head -c 100000 /dev/urandom" })
        assert.isTrue(result.output.startsWith("a\\0b\n"))
        // oxlint-disable-next-line no-control-regex
        assert.notMatch(result.output, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
        // oxlint-disable-next-line no-control-regex
        assert.notMatch(stdout, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/)
        assert.isTrue(result.output.isWellFormed())
        assert.strictEqual(result.stdoutBytes, 100_004)
      })
    )

    it.effect(
      "C18: 200 MB on one line leave memory where it was",
      () =>
        Effect.gen(function* () {
          yield* drain({ command: "head -c 20000000 /dev/zero | tr '\\0' x" })
          const before = process.memoryUsage().rss
          const { length, result } = yield* drain({ command: "head -c 200000000 /dev/zero | tr '\\0' x" })
          assert.isBelow(process.memoryUsage().rss - before, 64 * 1024 * 1024)
          assert.deepStrictEqual(result.exit, { _tag: "Exited", code: 0 })
          assert.deepStrictEqual(
            [length, result.stdoutBytes, result.omittedBytes],
            [200_000_000, 200_000_000, 199_970_000]
          )
          assert.strictEqual(
            result.output,
            `${"x".repeat(15_000)}\n[... 199970000 bytes omitted ...]\n${"x".repeat(15_000)}`
          )
        }),
      30_000
    )

    it.effect("C20: the end of long output is there, with what is omitted and the exit code", () =>
      Effect.gen(function* () {
        const { result } = yield* run({ command: "seq 1 100000; echo 'FAILED: 3 tests'; exit 3" })
        assert.isTrue(result.output.startsWith("1\n2\n3\n"))
        assert.isTrue(result.output.endsWith("\n100000\nFAILED: 3 tests\n"))
        assert.isAbove(result.omittedBytes, 0)
        assert.strictEqual(
          content(result)?.at(-1),
          `Exit status 3. ${result.omittedBytes} bytes of the output are omitted, where ` +
            `"[... ${result.omittedBytes} bytes omitted ...]" stands. ` +
            `All 588911 bytes: read_output {"handle":"${result.spill?.handle}"}.`
        )
      })
    )

    it.effect("C21: of a progress bar the last frame is left", () =>
      Effect.gen(function* () {
        const { result } = yield* run({
          command: "for i in $(seq 0 100); do printf '\\rDownloading %d%%' $i; done; printf '\\nend\\n'"
        })
        assert.strictEqual(result.output, "Downloading 100%\nend\n")
      })
    )

    it.effect("C23: no escape sequence gets through, whole or split", () =>
      Effect.gen(function* () {
        const { result, stdout } = yield* run({
          command:
            "printf '\\e[?25l\\e[31mred\\e[0m\\e]0;title\\a\\e]8;;http://x.invalid\\e\\\\link\\e]8;;\\e\\\\\\n'; printf '\\e['; sleep 0.1; printf '32mgreen\\n'"
        })
        assert.strictEqual(result.output, "redlink\ngreen\n")
        assert.strictEqual(stdout, "redlink\ngreen\n")
      })
    )

    it.effect("C24: a command that reads stdin finds it empty", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* run({ command: 'read x; echo "got:$x"; cat; true' })).result.output, "got:\n")
      })
    )

    it.effect("C26: a missing working directory is the one declared failure, and names it", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(run({ command: "true", cwd: "/nonexistent-xyz" }))
        assert.strictEqual(failure._tag, "SpawnFailed")
        assert.include(failure.message, "/nonexistent-xyz does not exist")
      })
    )

    it.effect("the environment is set for the command", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* run({ command: 'echo "$A"', env: { A: "b c" } })).result.output, "b c\n")
      })
    )

    it.effect("of a command that was stopped the model reads its output and who is still running", () =>
      Effect.sync(() => {
        const known = {
          output: "so far\n",
          stdoutBytes: 7,
          stderrBytes: 0,
          omittedBytes: 0,
          leftBehind: [],
          durationMs: 5
        }
        assert.deepStrictEqual(texts(toPartialContent?.(known)), ["so far\n", "Stopped before its end."])
        assert.deepStrictEqual(
          texts(toPartialContent?.({ ...known, leftBehind: [{ pid: 7, name: "x", fate: "alive" }] })),
          ["so far\n", "Stopped before its end. Left in the background: x (pid 7, still running)."]
        )
      })
    )

    const commands = [
      "echo hi # note",
      "cat <<EOF\nx\nEOF",
      "printf foo\\&",
      "echo a &",
      "cat <<'EOF'\nit's ( $HOME `x` \\n\nEOF\necho $((1+1)) $(echo ')')",
      'echo "$0 $# $* $LINENO $-"\nfoo-not-there\nexit 3',
      "set -e; false; echo no",
      "trap 'echo bye' EXIT; exit 2",
      "shopt -s extglob\ncase aa in +(a)) echo yes;; esac",
      "alias x=y; return 4",
      'printf %q "$IFS"; set -- 1 2; echo $#',
      // An error of syntax: of a quote that is never closed.
      "echo 'a"
    ]

    it.effect.each(commands)("C28, C29: %j is byte-identical to bash -c", (command) =>
      Effect.gen(function* () {
        const expected = spawnSync("bash", ["-c", command], { input: "", encoding: "utf8" })
        const { result, stderr, stdout } = yield* run({ command })
        assert.deepStrictEqual(
          [stdout, stderr, result.exit],
          [expected.stdout, expected.stderr, { _tag: "Exited", code: expected.status }]
        )
      })
    )

    it.effect.each(commands)("C30: %j is byte-identical behind more than 128 KiB", (command) =>
      Effect.gen(function* () {
        const expected = spawnSync("bash", ["-c", command], { input: "", encoding: "utf8" })
        // All that tells the difference is the prefix of an error of syntax.
        expected.stderr = expected.stderr.replaceAll("bash: -c: ", "bash: eval: ")
        const { result, stderr, stdout } = yield* run({ command: `: ${"😀'\"'\"".repeat(30_000)}; ${command}` })
        assert.deepStrictEqual(
          [stdout, stderr, result.exit],
          [expected.stdout, expected.stderr, { _tag: "Exited", code: expected.status }]
        )
      })
    )

    it.effect("C30: a command of 200,000 letters runs, and one of 3,000,000 is a failure", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* run({ command: `: ${"x".repeat(200_000)}; echo end` })).result.output, "end\n")
        const failure = yield* Effect.flip(run({ command: `: ${"x".repeat(3_000_000)}; echo end` }))
        assert.strictEqual(failure.reason, "ArgumentsTooLong")
      })
    )

    it.effect("a reader that does not pull holds the process, not the bytes", () =>
      Effect.gen(function* () {
        const { execute } = yield* Bash
        const before = process.memoryUsage().rss
        let seen = 0
        const fiber = yield* Effect.forkChild(
          ToolStream.runForEachArray(execute({ command: "yes" }), () =>
            Effect.suspend(() => (++seen > 1 ? Effect.never : Effect.void))
          )
        )
        yield* Effect.sleep(300)
        assert.strictEqual(seen, 2)
        assert.isBelow(process.memoryUsage().rss - before, 32 * 1024 * 1024)
        yield* Fiber.interrupt(fiber)
      })
    )
  })
})
