import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { ToolContent } from "../../../src/ToolContent.ts"
import { unfinished } from "../../../src/TerminalText.ts"
import { type Output, TaskOutput } from "../../../tools/TaskOutput.ts"
import * as Background from "./Background.ts"

const toContent = TaskOutput.toContent as ((output: Output) => ReadonlyArray<ToolContent>) | undefined
const content = (output: Output) => toContent?.(output).map((item) => (item.type === "text" ? item.text : item.type))

const ended = (command: string) =>
  Effect.gen(function* () {
    const taskId = yield* Background.start(command)
    yield* (yield* Background.task(taskId)).ended
    return taskId
  })

/** All parts of the given limit, one after another. */
const parts = Effect.fnUntraced(function* (taskId: string, limitBytes: number) {
  const all: Array<Output> = []
  for (let offsetBytes = 0; ;) {
    const part = yield* Background.call(TaskOutput, { taskId, offsetBytes, limitBytes })
    all.push(part)
    if (part.nextOffsetBytes >= part.sizeBytes) return all
    assert.isAbove(part.nextOffsetBytes, offsetBytes)
    offsetBytes = part.nextOffsetBytes
  }
})

const join = (all: ReadonlyArray<Output>) => all.map(({ output }) => output).join("")

describe("task_output", () => {
  it.live("C38: output without a last newline is there after the end, again and again, with the status", () =>
    Background.session(
      Effect.gen(function* () {
        const taskId = yield* ended("printf 'one\\ntwo'; exit 3")
        const first = yield* Background.call(TaskOutput, { taskId })
        assert.deepStrictEqual(first, {
          taskId,
          status: { _tag: "Exited", code: 3 },
          output: "one\ntwo",
          offsetBytes: 0,
          nextOffsetBytes: 7,
          sizeBytes: 7,
          lostBytes: 0,
          spill: { handle: first.spill?.handle ?? "", sizeBytes: 7, complete: true }
        })
        assert.deepStrictEqual(yield* Background.call(TaskOutput, { taskId }), first)
        assert.deepStrictEqual(content(first), ["one\ntwo", `${taskId}: exited with 3. Bytes 0 to 7 of 7.`])
        const past = yield* Background.call(TaskOutput, { taskId, offsetBytes: 99, waitMs: 60_000 })
        assert.deepStrictEqual([past.output, past.offsetBytes, past.nextOffsetBytes], ["", 7, 7])
      })
    )
  )

  it.live("C38: an unknown id is a typed failure that names the known ones", () =>
    Background.session(
      Effect.gen(function* () {
        const taskId = yield* ended("true")
        const failure = yield* Effect.flip(Background.call(TaskOutput, { taskId: "task_unknown" }))
        assert(failure._tag === "TaskNotFound")
        assert.deepStrictEqual(failure.known, [taskId])
      })
    )
  )

  it.live("C14, C23: parts of any size make the whole, no character and no escape sequence is cut", () =>
    Background.session(
      Effect.gen(function* () {
        const taskId = yield* ended("for i in 1 2 3; do printf '你😀é\\e[1;31mred\\e[0m x\\e]0;title\\a'; done; echo")
        const whole = `${"你😀éred x".repeat(3)}\n`
        assert.strictEqual(join(yield* parts(taskId, 30_000)), whole)
        for (const limit of [16, 17, 18, 19, 31, 50]) {
          const all = yield* parts(taskId, limit)
          assert.isAbove(all.length, 1)
          assert.strictEqual(join(all), whole, `in parts of ${limit}`)
        }
        // Less than a sequence: no character is cut, and it gets on.
        for (const limit of [1, 2, 3, 5]) assert.notInclude(join(yield* parts(taskId, limit)), "\ufffd")
      })
    )
  )

  it.live("C17: binary output is plain text", () =>
    Background.session(
      Effect.gen(function* () {
        const taskId = yield* ended("printf 'a\\0b\\xff\\n'; head -c 20000 /dev/urandom")
        for (const { output } of yield* parts(taskId, 1_000)) {
          // oxlint-disable-next-line no-control-regex
          assert.notMatch(output, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
          assert.isTrue(output.isWellFormed())
        }
        const first = yield* Background.call(TaskOutput, { taskId, limitBytes: 5 })
        assert.strictEqual(first.output, "a\\0b\ufffd\n")
      })
    )
  )

  it.live("parts end after a line, and a negative offset is from the end", () =>
    Background.session(
      Effect.gen(function* () {
        const taskId = yield* ended("seq 1 1000; printf '你'")
        const first = yield* Background.call(TaskOutput, { taskId, limitBytes: 11 })
        assert.deepStrictEqual([first.output, first.nextOffsetBytes, first.sizeBytes], ["1\n2\n3\n4\n5\n", 10, 3_896])
        assert.deepStrictEqual(
          content(first)?.at(-1),
          `${taskId}: exited with 0. Bytes 0 to 10 of 3896. Go on with offsetBytes 10. ` +
            `To search all of it: read_output {"handle":"${first.spill?.handle}","pattern":"…"}.`
        )
        const last = yield* Background.call(TaskOutput, { taskId, offsetBytes: -12 })
        assert.deepStrictEqual([last.output, last.offsetBytes], ["999\n1000\n你", 3_884])
        const within = yield* Background.call(TaskOutput, { taskId, offsetBytes: -2 })
        assert.deepStrictEqual([within.output, within.offsetBytes], ["", 3_896])
      })
    )
  )

  it.live("it waits for output, or for the end, or for its time, and holds back what is not whole", () =>
    Background.session(
      Effect.gen(function* () {
        const wait = (name: string) => `until [ -e ${name} ]; do sleep 0.01; done`
        const command = `${wait("a")}; printf 'x\\xe4\\xbd'; ${wait("b")}; printf '\\xa0\\e['; ${wait("c")}; printf '32my'; ${wait("d")}`
        const taskId = yield* Background.start(command)
        const now = yield* Background.call(TaskOutput, { taskId, waitMs: 10 })
        assert.deepStrictEqual([now.output, now.status._tag], ["", "Running"])
        const read = (offsetBytes: number) => Background.call(TaskOutput, { taskId, offsetBytes, waitMs: 8_000 })
        const later = yield* Effect.forkChild(read(0), { startImmediately: true })
        yield* Background.touch("a")
        const first = yield* Fiber.join(later)
        assert.deepStrictEqual([first.output, first.nextOffsetBytes, first.sizeBytes], ["x", 1, 3])
        yield* Background.touch("b")
        yield* Background.written(taskId, "\u001b[")
        const second = yield* read(first.nextOffsetBytes)
        assert.deepStrictEqual([second.output, second.nextOffsetBytes], ["你", 4])
        yield* Background.touch("c")
        yield* Background.written(taskId, "y")
        const third = yield* read(second.nextOffsetBytes)
        assert.deepStrictEqual([third.output, third.nextOffsetBytes], ["y", 10])
        const end = yield* Effect.forkChild(read(third.nextOffsetBytes), { startImmediately: true })
        yield* Background.touch("d")
        assert.deepStrictEqual((yield* Fiber.join(end)).status, { _tag: "Exited", code: 0 })
      })
    )
  )

  it("what is unfinished at the end of bytes is known", () => {
    const of = (text: string) => unfinished(Buffer.from(text, "latin1"))
    assert.deepStrictEqual(
      ["", "a", "a\n", "a\x1b[0m", "\x1b(B", "\x1b]0;t\x07", "\x1bM", "\xe4\xbd\xa0", "\xff"].map(of),
      [0, 0, 0, 0, 0, 0, 0, 0, 0]
    )
    assert.deepStrictEqual(
      ["a\x1b", "a\x1b[", "a\x1b[1;3", "a\x1b(", "a\x1b]0;ti", "a\xe4", "a\xe4\xbd", "\xf0\x9f\x98"].map(of),
      [1, 2, 5, 2, 6, 1, 2, 3]
    )
  })
})
