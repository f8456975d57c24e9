import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Rules from "../../../layers/permissions/Rules.ts"
import { rule } from "./Judge.ts"

const parse = (text: string) =>
  Rules.parse(text, { action: "allow", locate: (offset) => ({ source: "rules", line: 1, column: offset + 1 }) })

const message = (text: string) => {
  const parsed = parse(text)
  return Result.isFailure(parsed) ? parsed.failure.message : assert.fail(`${text} is a rule`)
}

describe("a rule", () => {
  it.each([
    ["", 1, "it names no tool; begin with one, as in bash(git status *), or with *"],
    ["(rm *)", 1, "it names no tool; begin with one, as in bash(git status *), or with *"],
    ["bash git", 5, `a tool's name has no " "; write it as in bash(git status *)`],
    ["bash(ls", 8, `it does not end with ")"; nothing follows the parentheses`],
    ["bash(ls) x", 11, `it does not end with ")"; nothing follows the parentheses`],
    ["bash()", 6, "it names no command; for every command write *"],
    ["bash(ls; rm x)", 8, `";" stands for itself only in quotes; a rule describes one command, write one for each`],
    ["bash(ls && rm)", 9, `"&" stands for itself only in quotes; a rule describes one command, write one for each`],
    ["bash(ls > x)", 9, `">" stands for itself only in quotes; a rule describes one command, write one for each`],
    ["bash(echo $x)", 11, `"$" stands for itself only in quotes; a rule describes one command, write one for each`],
    ["bash(echo 'a)", 11, "the quote is not closed"],
    ["bash(ls \\)", 9, `nothing follows the "\\"`],
    ["bash(A=1 ls)", 10, "a variable and a command are two rules: write one for each"],
    ["bash(> a//b)", 10, `a name is empty: remove one "/"`],
    ["write_file()", 12, "the path is empty; for every path leave the parentheses out"],
    ["write_file(src/)", 16, `it ends with "/"; end it with "/**" for all that is beneath`],
    ["write_file(src/../x)", 16, `".." matches nothing, because paths are resolved first; write the path itself`],
    ["write_file(./x)", 12, `"." matches nothing, because paths are resolved first; write the path itself`],
    ["write_file(~me/x)", 12, `only "~/" at the start is the home directory`],
    [
      "write_file(src/a.{js,ts})",
      18,
      `"{" is not a wildcard here; write one rule for each case, or "\\{" for the sign itself`
    ],
    ["write_file([ab])", 12, `"[" is not a wildcard here; write one rule for each case, or "\\[" for the sign itself`],
    ["write_file(src/a**)", 17, `"**" stands alone between slashes, as in src/**/*.ts`],
    ["write_file(a\\)", 13, `nothing follows the "\\"`],
    [
      "web_fetch(https://a.org)",
      11,
      `"https://a" is no part of the name of a host; write it without protocol, port and path, in ASCII`
    ],
    ["web_fetch(a.*.org)", 13, `"*" stands for all hosts below a name, as in *.example.com`],
    [
      "mcp__x(a)",
      7,
      "nothing is known of the parameters of mcp__x; leave the parentheses out, or use a tool of apply_patch, bash, build, " +
        "edit_file, glob, grep, list_dir, monitor, read_file, web_fetch, write_file"
    ]
  ])("%j is not valid, and says where and what to do", (text, column, why) => {
    assert.strictEqual(message(text), `rules:1:${column}: the rule ${text} is not valid: ${why}.`)
  })

  it("that is too long is not read", () => {
    assert.include(message(`bash(${"a".repeat(2_000)})`), "it has 2006 UTF-16 code units, at most 2000 are read")
  })

  it("with a constructor's name for a tool has no pattern", () => {
    assert.include(message("constructor(x)"), "nothing is known of the parameters of constructor")
  })

  it("in whatever order it stands is in force in the same", () => {
    const all = ["deny bash(b)", "ask bash", "bash(a)", "deny bash(a)"].map((text, index) => rule(text, 10 - index))
    assert.deepStrictEqual(Rules.make(all), Rules.make(all.toReversed()))
    assert.deepStrictEqual(
      Rules.make(all).deny.map(({ text }) => text),
      ["bash(a)", "bash(b)"]
    )
  })
})
