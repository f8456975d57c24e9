import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as RuleFiles from "../../../layers/permissions/RuleFiles.ts"

const parse = (text: string) => RuleFiles.parse(text, { source: "rules.json" })

const contents = (text: string) => {
  const parsed = parse(text)
  return Result.isSuccess(parsed) ? parsed.success : assert.fail(parsed.failure.message)
}

const rules = (text: string) => contents(text).rules

const message = (text: string) => {
  const parsed = parse(text)
  return Result.isFailure(parsed) ? parsed.failure.message : assert.fail("it is valid")
}

describe("a file of rules", () => {
  it("is read with comments, and every rule knows where it stands", () => {
    const text = `{
  // What is harmless.
  "allow": ["read_file", /* and */ "bash(git status *)",],
  "deny": [
    "bash(rm *)"
  ],
}
`
    assert.deepStrictEqual(
      rules(text).map(({ action, position: { column, line }, text }) => [action, text, line, column]),
      [
        ["allow", "read_file", 3, 14],
        ["allow", "bash(git status *)", 3, 37],
        ["deny", "bash(rm *)", 5, 6]
      ]
    )
  })

  it("may be empty", () => {
    assert.deepStrictEqual(rules("{}"), [])
    assert.deepStrictEqual(rules('\ufeff{"$schema": "x", "allow": []} // end'), [])
  })

  it.each([
    ["", "1:1: expected a value, not the end of the file."],
    ["{", '1:2: expected a name in double quotes or "}", not the end of the file.'],
    ['{"deny": ["a" "b"]}', '1:15: expected "," or "]", not "\\"".'],
    ['{\n  "deny": [\n    oops\n  ]\n}', '3:5: expected a value, not "o".'],
    ['{"deny": []} x', '1:14: expected the end of the file, not "x".'],
    ['{"deny": ["a\n"]}', "1:11: the text is not closed."],
    ['{"deny": ["\\x"]}', "1:12: there is no such escape."],
    ['{"deny": []', '1:12: expected "," or "}", not the end of the file.'],
    ["{} /* x", "1:4: the comment is not closed."],
    ['{"deny": [], "deny": []}', '1:14: "deny" is there twice; join the two.'],
    ["[]", '1:1: Expected object; write lists of rules, as in "deny": ["bash(rm *)"].'],
    ['{\n  "deny": "rm"\n}', '2:3: Expected array; write lists of rules, as in "deny": ["bash(rm *)"].'],
    ['{"deny": ["a", 1]}', '1:16: Expected string; write lists of rules, as in "deny": ["bash(rm *)"].'],
    ['{"deny": [],\n "denied": []}', '2:2: there is no "denied" here; use allow, ask, deny, before, after.'],
    ['{"x": 1}', '1:2: there is no "x" here; use allow, ask, deny, before, after.'],
    ['{"__proto__": {"deny": []}}', '1:2: there is no "__proto__" here; use allow, ask, deny, before, after.'],
    [`${"[".repeat(50)}`, "1:34: it is nested too deeply."]
  ])("%j is not valid, and says where", (text, expected) => {
    assert.strictEqual(message(text), `rules.json:${expected} None of its rules is in force.`)
  })

  it("says of a rule that is not valid where in the file it is wrong, escapes counted", () => {
    assert.strictEqual(
      message('{\r\n  "deny": ["ls",\r\n    "bash(\\"a\\"; rm)"]\r\n}'),
      'rules.json:3:16: the rule bash("a"; rm) is not valid: ";" stands for itself only in quotes; a rule describes one command, write one for each.'
    )
  })

  it("is not in force in part: one rule that is not valid is a failure of all", () => {
    assert.include(message('{"deny": ["bash(rm *)"], "allow": ["bash("]}'), "rules.json:1:")
  })

  it("holds hooks, which know where they stand", () => {
    const text = `{
  "before": [
    { "name": "branch", "tool": "bash", "command": ["./no-push.py", "--quiet"], "timeoutMs": 2000, "sandbox": "workspace" },
    { "name": "all", "command": ["check"] }
  ],
  "after": [{ "name": "lint", "tool": "*_file", "command": ["./lint.sh"] }]
}`
    assert.deepStrictEqual(contents(text).hooks, [
      {
        when: "before",
        name: "branch",
        tool: "bash",
        command: ["./no-push.py", "--quiet"],
        timeoutMs: 2000,
        sandbox: ["workspace"],
        position: { source: "rules.json", line: 3, column: 5 }
      },
      {
        when: "before",
        name: "all",
        command: ["check"],
        sandbox: [],
        position: { source: "rules.json", line: 4, column: 5 }
      },
      {
        when: "after",
        name: "lint",
        tool: "*_file",
        command: ["./lint.sh"],
        sandbox: [],
        position: { source: "rules.json", line: 6, column: 13 }
      }
    ])
  })

  it.each([
    ['{"before": {}}', "1:2: Expected array"],
    ['{"before": ["x.sh"]}', "1:13: Expected object"],
    ['{"after": [{"name": "x"}]}', "1:12: command: Missing key"],
    ['{"after": [{"command": ["x"]}]}', "1:12: name: Missing key"],
    ['{"before": [{"name": "x", "command": "x.sh"}]}', "1:27: command: Expected array"],
    ['{"before": [{"name": "x", "command": []}]}', "1:38: command: Missing key"],
    ['{"before": [{"name": "x", "command": ["x", 1]}]}', "1:44: command: Expected string"],
    [
      '{"before": [{"name": "x",\n "command": ["x"], "timeoutMs": 0}]}',
      "2:20: timeoutMs: Expected a value between 1 and 2147483647"
    ],
    [
      '{"before": [{"name": "x",\n "command": ["x"], "timeout": 9}]}',
      '2:20: there is no "timeout" in a hook; use name, tool, command, timeoutMs, sandbox'
    ],
    ['{"before": [{"name": "x", "command": ["x"], "tool": "bash(ls)"}]}', "1:45: a hook is for a tool as a whole"],
    ['{"before": [{"name": "x", "command": ["x"], "sandbox": "none"}]}', '1:45: "none" is no sandbox here'],
    ['{"before": [{"name": "x", "command": ["x"], "tool": "ba sh"}]}', "1:45: the rule ba sh is not valid"]
  ])("of which a hook is wrong is not valid: %s", (text, expected) => {
    assert.include(message(text), `rules.json:${expected}`)
  })

  it("that is too long is not read", () => {
    assert.include(message(" ".repeat(1_000_001)), "1:1: it has 1000001 UTF-16 code units, at most 1000000 are read")
  })
})

describe("rules from several files", () => {
  const source = (origin: "user" | "workspace", file: string, hash: string, text: string): RuleFiles.Source => ({
    origin,
    file,
    hash,
    ...contents(text)
  })
  const user = source("user", "/home/me/rules.json", "u", '{"allow": ["read_file"], "deny": ["bash(rm *)"]}')
  const found = source("workspace", "/ws/rules.json", "w", '{"allow": ["bash"], "ask": ["grep"], "deny": ["glob"]}')
  const texts = ({ rules: { allow, ask, deny } }: RuleFiles.Merged) =>
    [deny, ask, allow].map((rules) => rules.map(({ text }) => text))

  it("are all in force, except what a workspace allows", () => {
    const merged = RuleFiles.merge([user, found], new Map())
    assert.deepStrictEqual(texts(merged), [["bash(rm *)", "glob"], ["grep"], ["read_file"]])
    assert.deepStrictEqual(
      merged.untrusted.rules.map(({ text }) => text),
      ["bash"]
    )
  })

  it("allow what a workspace allows, if that file is trusted with what it says", () => {
    const merged = (trust: RuleFiles.Trust) => texts(RuleFiles.merge([found, user], trust))[2]
    assert.deepStrictEqual(merged(new Map([["/ws/rules.json", "w"]]))?.toSorted(), ["bash", "read_file"])
    assert.deepStrictEqual(merged(new Map([["/ws/rules.json", "another"]])), ["read_file"])
    assert.deepStrictEqual(merged(new Map([["/other/rules.json", "w"]])), ["read_file"])
  })

  it("have hooks in the order in which they stand, those of a workspace if it is trusted with what it says", () => {
    const hook = (name: string) => `{"before": [{"name": "${name}", "command": ["x"]}]}`
    const sources = [
      source("user", "/home/me/rules.json", "u", hook("own")),
      source("workspace", "/ws", "w", hook("ws"))
    ]
    const names = (trust: RuleFiles.Trust) => {
      const { hooks, untrusted } = RuleFiles.merge(sources, trust)
      return [hooks, untrusted.hooks].map((hooks) => hooks.map(({ name }) => name))
    }
    assert.deepStrictEqual(names(new Map()), [["own"], ["ws"]])
    assert.deepStrictEqual(names(new Map([["/ws", "what it said before"]])), [["own"], ["ws"]])
    assert.deepStrictEqual(names(new Map([["/ws", "w"]])), [["own", "ws"], []])
  })

  it("say how they stand", () => {
    const standing = (trust: RuleFiles.Trust) => RuleFiles.standing(found, trust)
    assert.strictEqual(standing(new Map()), "unknown")
    assert.strictEqual(standing(new Map([["/ws/rules.json", "another"]])), "changed")
    assert.strictEqual(standing(new Map([["/ws/rules.json", "w"]])), "trusted")
    assert.strictEqual(RuleFiles.standing(user, new Map()), "trusted")
  })

  it.effect("are told apart by the hash of what they say", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* RuleFiles.hash("abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      )
      assert.notStrictEqual(yield* RuleFiles.hash("{}"), yield* RuleFiles.hash("{} "))
    })
  )
})
