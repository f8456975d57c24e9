import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as ShellCommand from "../../../layers/permissions/ShellCommand.ts"
import * as RandomLine from "./RandomLine.ts"
import * as RecordingShell from "./RecordingShell.ts"

const texts = (line: string) => ShellCommand.analyse(line).parts.map(({ text }) => text)

describe("a command line", () => {
  it("is taken apart to what it runs", () => {
    assert.deepStrictEqual(texts("timeout 5 git status > out.txt"), [
      "timeout 5 git status > out.txt",
      "git status",
      "> out.txt"
    ])
    assert.deepStrictEqual(texts("find . -exec ls + x \\;").at(-1), "ls + x")
    assert.deepStrictEqual(texts("NO_COLOR=1 env A=b sh -c 'ls; rm x' | tee y"), [
      "NO_COLOR=1",
      "NO_COLOR=1 env A=b sh -c 'ls; rm x'",
      "A=b",
      "sh -c 'ls; rm x'",
      "ls",
      "rm x",
      "tee y"
    ])
  })

  it("has words as the program is given them", () => {
    const [part] = ShellCommand.analyse(`a 'b c' "d\\"e" f\\ g $'h\\ni' "" ~/j k*`).parts
    assert(part?._tag === "Command")
    assert.deepStrictEqual(part.arguments, [
      { _tag: "Literal", value: "b c" },
      { _tag: "Literal", value: 'd"e' },
      { _tag: "Literal", value: "f g" },
      { _tag: "Literal", value: "h\ni" },
      { _tag: "Literal", value: "" },
      { _tag: "Open", text: "~/j" },
      { _tag: "Open", text: "k*" }
    ])
  })

  it("says why it is not literal, and what of it", () => {
    assert.deepStrictEqual(ShellCommand.analyse('ls; git "$x"; (cd a; ./b)').notLiteral, [
      { text: 'git "$x"', why: 'its argument "$x" is not literal: it depends on a variable' },
      { text: "./b", why: "the line changes the directory, so it is not known which file this is" }
    ])
    assert.deepStrictEqual(ShellCommand.analyse("ls\u00a0").notLiteral, [
      { text: "ls\u00a0", why: "it contains U+00A0, which is not seen as what it is" }
    ])
  })

  it("that is too long, or too deep, is not read", () => {
    const long = ShellCommand.analyse(`echo ${"a".repeat(50_000)}`)
    assert.deepStrictEqual(long.parts, [])
    assert.strictEqual(long.notLiteral.length, 1)
    for (const deep of [
      "$(".repeat(10_000),
      "(".repeat(20_000),
      `echo ${"$(echo ".repeat(200)}${")".repeat(200)}; $x`,
      `echo $((${"1+".repeat(20_000)}1))`,
      `${"eval ".repeat(20)}ls`,
      `${"! ".repeat(20_000)}ls $x`,
      `${"env ".repeat(10_000)}ls`,
      `${"ls;".repeat(10_000)}`,
      `${"a=1 ".repeat(10_000)}`
    ])
      assert.isAbove(ShellCommand.analyse(deep).notLiteral.length, 0, deep.slice(0, 40))
  })

  it.prop("of any text is analysed without a failure", [Schema.String], ([text]) => {
    assert.strictEqual(ShellCommand.analyse(text).line, text)
  })

  it("made at random from the grammar is analysed without a failure", () => {
    const next = RandomLine.random(7)
    for (let count = 0; count < 3_000; count++) {
      const line = RandomLine.line(next)
      assert.strictEqual(ShellCommand.analyse(line).line, line)
    }
  })
})

/** Whether a call is what the part says: what is open may be any number of words. */
const isCall = (part: ShellCommand.Part, [name, ...given]: ReadonlyArray<string>): boolean => {
  if (part._tag !== "Command" || part.program.slice(part.program.lastIndexOf("/") + 1) !== name) return false
  const fits = (words: ReadonlyArray<ShellCommand.Word>, given: ReadonlyArray<string>): boolean => {
    const [word, ...rest] = words
    if (word === undefined) return given.length === 0
    if (word._tag === "Literal") return given[0] === word.value && fits(rest, given.slice(1))
    return given.some((_, index) => fits(rest, given.slice(index))) || fits(rest, [])
  }
  return fits(part.arguments, given)
}

describe("bash", () => {
  // Seeds that found something once stay; `SEEDS=100 npx vitest run …` looks for more.
  const seeds = Array.from({ length: Number(process.env["SEEDS"] ?? 3) }, (_, index) => index + 1)

  it.each(seeds)(
    "runs nothing of a literal line that was not found in it: seed %i",
    async (seed) => {
      using shell = RecordingShell.make(RandomLine.programs)
      const next = RandomLine.random(seed)
      const lines = Array.from({ length: 100 }, () => RandomLine.line(next))
      const literal = lines.filter((line) => ShellCommand.analyse(line).notLiteral.length === 0)
      assert.isAbove(literal.length, 10)
      const counted = { calls: 0 }
      for (const line of literal) {
        const { parts } = ShellCommand.analyse(line)
        const { calls, written } = await shell.run(line)
        for (const call of calls)
          assert.isTrue(
            parts.some((part) => isCall(part, call)),
            `${JSON.stringify(line)} ran ${JSON.stringify(call)}`
          )
        for (const file of written)
          assert.isTrue(
            parts.some((part) => part._tag === "Redirection" && part.kind === "write" && part.target === file),
            `${JSON.stringify(line)} wrote ${JSON.stringify(file)}`
          )
        counted.calls += calls.length
      }
      assert.isAbove(counted.calls, literal.length / 3)
    },
    60_000
  )
})
