import { assert, describe, it } from "@effect/vitest"
import * as Decision from "../../../layers/permissions/Decision.ts"
import * as Offer from "../../../layers/permissions/Offer.ts"
import { command, places, rules } from "./Judge.ts"
import * as RandomRequest from "./RandomRequest.ts"

const offered = (tool: string, subject: Decision.Subject, texts: ReadonlyArray<string> = []) =>
  Offer.make(rules(texts), { tool, subject, places })

const bash = (line: string, ...texts: ReadonlyArray<string>) => offered("bash", command(line), texts)

const paths = (...paths: ReadonlyArray<string>): Decision.Subject => ({
  _tag: "Paths",
  targets: paths.map((path) => ({ path, beneath: false }))
})

describe("what is offered to be granted", { timeout: 60_000 }, () => {
  it.each([
    ["git status", "git status *"],
    ["git status -s", "git status *"],
    ["git commit -m 'a; rm x'", "git commit *"],
    ["git diff HEAD~1 > /dev/null", "git diff *"],
    ["npm test", "npm test *"],
    ["npm run build -- --watch", "npm run build *"],
    ["cargo build --release 2>&1", "cargo build *"],
    ["timeout 60 go test ./...", "go test *"],
    ["NO_COLOR=1 npm test", "npm test *"]
  ])("of %s is its first words", (line, pattern) => {
    assert.strictEqual(bash(line), `bash(${pattern})`)
  })

  it("is that of the part that no rule allows", () => {
    assert.strictEqual(bash("git log | head -5", "bash(head *)"), "bash(git log *)")
    assert.strictEqual(bash("git log | head -5"), undefined)
    assert.strictEqual(bash("git add x && git commit -m y", "bash(git add *)"), "bash(git commit *)")
    assert.strictEqual(bash("git add x && git commit -m y"), undefined)
  })

  it.each([
    // Others that begin in the same way do much worse.
    "rm x",
    "ls",
    "cat x",
    "curl https://a.org",
    "git push origin x",
    "git reset HEAD",
    "git checkout x",
    "git config user.name x",
    "npm install x",
    "npm run",
    "npm run -s build",
    "npm",
    "python x.py",
    "sudo git status",
    "./git status",
    "make test",
    // It runs or writes more than it says.
    "git -c core.pager=x status",
    "git --git-dir=/x status",
    "git diff --no-index /etc/shadow x",
    "git diff --output=x",
    "go test -exec x ./...",
    "cargo test --manifest-path /x/Cargo.toml",
    "git status > x",
    "GIT_DIR=x git status",
    // It is not literal.
    "git status $X",
    "git log $(id)",
    "$(echo git) status",
    "alias git=rm; git status",
    "git status; $X",
    "xargs git status",
    "cd /x && git status"
  ])("is nothing of %s", (line) => {
    assert.strictEqual(bash(line), undefined)
  })

  it("is nothing that a rule asks for or denies, or may", () => {
    for (const rule of ["deny bash(git commit *)", "ask bash(git commit *)", "deny bash(git * -m *)"])
      assert.strictEqual(bash("git commit -m x", rule), undefined, rule)
    assert.strictEqual(bash("git add src/*.ts", "deny bash(git add x)"), undefined)
  })

  it("of files is their folder, below the workspace", () => {
    assert.strictEqual(offered("write_file", paths("/ws/src/a.ts")), "write_file(src/*)")
    assert.strictEqual(offered("write_file", paths("/ws/src/my files/a.ts")), "write_file(src/my files/*)")
    assert.strictEqual(offered("apply_patch", paths("/ws/src/a.ts", "/ws/src/b.ts")), "apply_patch(src/*)")
    for (const subject of [
      paths("/ws/a.ts"),
      paths("/ws"),
      paths("/etc/passwd"),
      paths("/wsx/src/a.ts"),
      paths("src/a.ts"),
      paths("/ws/src/../../etc/a"),
      paths("/ws/.git/hooks/pre-commit"),
      paths("/ws/src/.env"),
      paths("/ws/src/*/a"),
      paths("/ws/src/a.ts", "/ws/lib/b.ts"),
      paths("/ws/src/a.ts", "/etc/passwd"),
      { _tag: "Paths", targets: [{ path: "/ws/src/a", beneath: true }] } as const
    ])
      assert.strictEqual(offered("write_file", subject), undefined, JSON.stringify(subject))
    assert.strictEqual(offered("write_file", paths("/ws/src/a.ts"), ["deny write_file(src/a.ts)"]), undefined)
  })

  it("of a host is that host, if it is one of the outside", () => {
    const host = (...hosts: ReadonlyArray<string>) => offered("web_fetch", { _tag: "Hosts", hosts })
    assert.strictEqual(host("docs.example.com"), "web_fetch(docs.example.com)")
    for (const name of ["localhost", "127.0.0.1", "[::1]", "router", "10.1", "metadata"])
      assert.strictEqual(host(name), undefined, name)
    assert.strictEqual(host("a.org", "b.org"), undefined)
  })

  it("is nothing of a tool of which nothing is known", () => {
    assert.strictEqual(offered("mcp__x", { _tag: "Whole" }), undefined)
    assert.strictEqual(offered("mcp__x", command("git status")), undefined)
  })

  const kinds = { offered: 0, covers: 0, refused: 0, notLiteral: 0 }

  it.prop(
    "allows the call that it is of, and no other that rules ask for or deny, or that is not literal",
    [RandomRequest.List, RandomRequest.Seed],
    ([list, seed]) => {
      const inForce = RandomRequest.rules(list)
      for (let one = seed; one < seed + 5; one++) {
        const first = RandomRequest.request(one)
        const pattern = Offer.make(inForce, first)
        if (pattern === undefined) continue
        kinds.offered++
        const more = { ...inForce, allow: [...inForce.allow, ...Offer.granted([pattern])] }
        assert.strictEqual(Decision.decide(more, first)._tag, "Allowed")
        for (let other = seed + 5; other < seed + 10; other++) {
          const second = RandomRequest.request(other)
          const [before, after] = [inForce, more].map((rules) => Decision.decide(rules, second))
          if (before?._tag === "Denied" || before?._tag === "Asked") {
            kinds.refused++
            assert.deepStrictEqual(after, before)
          }
          if (second.subject._tag === "Command" && second.subject.analysis.notLiteral.length > 0) {
            kinds.notLiteral++
            assert.notStrictEqual(after?._tag, "Allowed")
          }
          if (before?._tag === "Undecided" && after?._tag === "Allowed") kinds.covers++
        }
      }
    },
    { arbitrary: { runs: 400 } }
  )

  it("was something, and covered something", () => {
    for (const [kind, count] of Object.entries(kinds)) assert.isAbove(count, 20, kind)
  })
})

describe("a text that was granted", () => {
  it("grants nothing if it is no rule", () => {
    for (const text of ["", "bash(", "bash(a; b)", "(x)", "mcp__x(a)"])
      assert.deepStrictEqual(Offer.granted([text]), [])
    assert.strictEqual(Offer.granted(["bash(git log *)", "bash("]).length, 1)
  })
})
