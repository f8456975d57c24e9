import { assert, describe, it } from "@effect/vitest"
import * as Decision from "../../../layers/permissions/Decision.ts"
import { command, judge, places, rules } from "./Judge.ts"

const decide = (texts: ReadonlyArray<string>, tool: string, subject: Decision.Subject) =>
  Decision.decide(rules(texts), { tool, subject, places })

const paths = (...targets: ReadonlyArray<string | Decision.Target>): Decision.Subject => ({
  _tag: "Paths",
  targets: targets.map((target) => (typeof target === "string" ? { path: target, beneath: false } : target))
})

const beneath = (path: string): Decision.Target => ({ path, beneath: true })

const hosts = (...hosts: ReadonlyArray<string>): Decision.Subject => ({ _tag: "Hosts", hosts })

describe("commands that rules allow", () => {
  it.each([
    ["git status", ["bash(git status)"]],
    ["git status", ["bash(git status *)"]],
    ["git status -s", ["bash(git status *)"]],
    ["git  'status'\t-s # quietly", ["bash(git status *)"]],
    ["/usr/bin/git status", ["bash(git *)"]],
    ["git --no-pager log", ["bash(git *)"]],
    ["git commit -m 'a; rm x && $(id)'", ["bash(git commit *)"]],
    ["git commit -m 'größer, 日本'", ["bash(git commit -m *)"]],
    ["git add src/*.ts ./*.md", ["bash(git add *)"]],
    ["git log | head -5", ["bash(git log)", "bash(head *)"]],
    ["cd src && git status && ls", ["bash(cd *)", "bash(git *)", "bash(ls)"]],
    ["echo $HOME $(git log)", ["bash(echo *)", "bash(git log)"]],
    ['echo "today: $(date)"', ["bash(echo *)", "bash(date)"]],
    ["for f in a b; do echo $f; done", ["bash(echo *)"]],
    ["if test -f x; then cat x; fi", ["bash(test *)", "bash(cat *)"]],
    ["[[ -f x ]] && cat x", ["bash(cat *)"]],
    ["NO_COLOR=1 npm test", ["bash(npm test)"]],
    ["env NO_COLOR=1 npm test", ["bash(npm test)"]],
    ["timeout 5 npm test", ["bash(npm test)"]],
    ["time npm test", ["bash(npm test)"]],
    ["timeout 5 nice -n 10 env CI=1 nohup npm test", ["bash(npm test)"]],
    ["bash -c 'npm test && ls'", ["bash(npm test)", "bash(ls)"]],
    ["set -euo pipefail; ls", ["bash(set *)", "bash(ls)"]],
    ["trap 'ls' EXIT", ["bash(ls)"]],
    ["find . -name '*.ts' -exec cat {} +", ["bash(find *)", "bash(cat *)"]],
    ["ls | xargs echo", ["bash(ls)", "bash(xargs *)", "bash(echo *)"]],
    ["sudo ls", ["bash(sudo *)", "bash(ls)"]],
    ["command -v rm", ["bash(command *)", "deny bash(rm *)"]],
    ["ls 2>&1", ["bash(ls)"]],
    ["ls 2> /dev/null", ["bash(ls)"]],
    ["cat < x", ["bash(cat)"]],
    ["cat <<'EOF'\n$(rm x)\nEOF", ["bash(cat)"]],
    ["cat <<EOF\n\\$(rm x) \\`id\\`\nEOF", ["bash(cat)"]],
    ["cat <<< hello", ["bash(cat)"]],
    ["ls > build/out.txt", ["bash(ls)", "bash(> build/**)"]],
    ["ls > build/a/../b", ["bash(ls)", "bash(> build/*)"]],
    ["FOO=bar ls", ["bash(ls)", "bash(FOO=*)"]],
    ["FOO=bar ls", ["bash(ls)", "bash(FOO=bar)"]],
    ["python script.py --fast", ["bash(python script.py *)"]],
    ["python -m pytest -q", ["bash(python -m pytest *)"]],
    ["python -c 'print(1)'", ["bash(python -c 'print(1)')"]],
    ["node --version", ["bash(node --version)"]],
    ["bash build.sh", ["bash(bash build.sh)"]],
    ["./build.sh --all", ["bash(./build.sh *)"]],
    ["git -c color.ui=always log", ["bash(git -c color.ui=always *)"]],
    ["tar --use-compress-program=zstd -cf a b", ["bash(tar --use-compress-program=zstd *)"]],
    ["tar -xzf a.tgz", ["bash(tar *)"]],
    ["sed -n 1,10p a", ["bash(sed *)"]],
    ["sed 's/a/b/g' a", ["bash(sed *)"]],
    ["rg -n 'a|b' src", ["bash(rg *)"]],
    ["sort -u a", ["bash(sort *)"]],
    ["npm run build -- --watch", ["bash(npm run *)"]],
    ["git a x status", ["bash(git * x status)"]],
    ["git a b status", ["bash(git ** status)"]],
    ["git status", ["bash(git ** status)"]],
    ["gitk --all", ["bash(git* *)"]],
    ["ls", ["bash"]],
    ["FOO=1 ls > x", ["bash"]],
    ["python x", ["*"]],
    ["echo '*'", ["bash(echo '*')"]],
    ["echo '*'", ["bash(echo \\*)"]]
  ] as const)("%s, by %j", (line, texts) => {
    assert.strictEqual(judge(texts, line)._tag, "Allowed", Decision.explain(judge(texts, line)).join("; "))
  })

  it.each([
    ["git status -s", "bash(git status)"],
    ["git push", "bash(git status *)"],
    ["git a b status", "bash(git * status)"],
    ["git status", "bash(git * status)"],
    ["echo x", "bash(echo '*')"],
    ["ls", "bash(l *)"],
    ["python -W error evil.py", "bash(python script.py *)"],
    ["python -W error evil.py", "bash(python -W error *)"],
    ["python -c 'print(2)'", "bash(python -c *)"],
    ["echo x | psql db", "bash(psql db)"],
    ["python", "bash(python)"],
    ["python -", "bash(python -)"],
    ["bash /dev/stdin", "bash(bash /dev/stdin)"],
    ["psql db", "bash(psql db)"],
    ["python ~/x.py", "bash(python *)"],
    ["rg --pre=x a", "bash(rg --pre=* *)"],
    ["> /dev/tcp/a.org/80", "bash(> /dev/**)"],
    ["", "bash(*)"],
    ["# nothing", "bash(*)"]
  ])("%s is not allowed by %s", (line, text) => {
    assert.strictEqual(judge([text], line)._tag, "Undecided")
  })
})

describe("a decision", () => {
  it("is a deny before an ask, and an ask before an allow", () => {
    const [allow, ask, deny] = ["bash(ls *)", "ask bash(ls *)", "deny bash(ls *)"]
    assert.strictEqual(judge([allow, ask, deny], "ls")._tag, "Denied")
    assert.strictEqual(judge([allow, ask], "ls")._tag, "Asked")
    assert.strictEqual(judge([allow], "ls")._tag, "Allowed")
    assert.strictEqual(judge([], "ls")._tag, "Undecided")
  })

  it("names the rule, where it stands, and the part that is under it", () => {
    assert.deepStrictEqual(Decision.explain(judge(["bash(ls *)", "deny bash(rm *)"], "ls; timeout 5 rm -f x")), [
      "denied: rm -f x is under deny bash(rm *) (rules:2:1)"
    ])
    assert.deepStrictEqual(Decision.explain(judge(["bash(ls *)", "bash(> build/**)"], "ls > build/x")), [
      "allowed: ls > build/x is under allow bash(ls *) (rules:1:1)",
      "allowed: > build/x is under allow bash(> build/**) (rules:2:1)"
    ])
    assert.deepStrictEqual(Decision.explain(judge(["bash(ls *)", "bash(git *)"], "git -c a=b log; $x; FOO=1 ls")), [
      "no rule allows $x: its program is not literal: it depends on a variable",
      "no rule allows git -c a=b log: it may run or write more than it says; a rule must spell out -c",
      "no rule allows FOO=1: a variable that is set needs a rule of its own"
    ])
  })

  it("is about the tools that a rule names", () => {
    assert.strictEqual(decide(["mcp__git__*"], "mcp__git__log", { _tag: "Whole" })._tag, "Allowed")
    assert.strictEqual(decide(["mcp__git__*"], "mcp__other", { _tag: "Whole" })._tag, "Undecided")
    assert.strictEqual(decide(["*"], "mcp__other", { _tag: "Whole" })._tag, "Allowed")
    assert.strictEqual(decide(["*", "deny *__push"], "git__push", { _tag: "Whole" })._tag, "Denied")
    assert.strictEqual(decide(["bash"], "bash2", { _tag: "Whole" })._tag, "Undecided")
    assert.strictEqual(decide(["a*b*a"], "aba", { _tag: "Whole" })._tag, "Allowed")
    assert.strictEqual(decide(["aba*aba"], "aba", { _tag: "Whole" })._tag, "Undecided")
  })

  it("is not an allow for a call of which it is not told what a deny would look at", () => {
    assert.strictEqual(decide(["*", "deny bash(rm *)"], "bash", { _tag: "Whole" })._tag, "Undecided")
    assert.strictEqual(decide(["*", "deny write_file(x)"], "write_file", paths())._tag, "Undecided")
  })

  it("denies a connection by what denies the file that stands for it", () => {
    assert.strictEqual(judge(["*", "deny bash(> /dev/tcp/**)"], "cat < /dev/tcp/a.org/80")._tag, "Denied")
  })

  it("does not allow a line that is not literal, even by a rule for everything", () => {
    assert.strictEqual(judge(["*", "bash", "bash(*)"], "$x")._tag, "Undecided")
  })

  it("does not allow a redirection of which it is not told where it leads", () => {
    const subject = { _tag: "Command", analysis: command("ls > build/x"), resolved: new Map() } as const
    const analysis = subject.analysis._tag === "Command" ? subject.analysis.analysis : assert.fail()
    const told = (path: string | undefined) =>
      decide(["bash(ls)", "bash(> build/**)"], "bash", {
        _tag: "Command",
        analysis,
        resolved: new Map(path === undefined ? [] : [["build/x", path]])
      })._tag
    assert.strictEqual(told("/ws/build/x"), "Allowed")
    assert.strictEqual(told("/etc/passwd"), "Undecided")
    assert.strictEqual(told(undefined), "Undecided")
    assert.strictEqual(told("build/x"), "Undecided")
    assert.strictEqual(told("/ws/build/../x"), "Undecided")
  })
})

describe("paths", () => {
  it.each([
    ["write_file(src/**)", "/ws/src/a/b.ts", "Allowed"],
    ["write_file(src/**)", "/ws/src", "Allowed"],
    ["write_file(src/**)", "/ws/srcs", "Undecided"],
    ["write_file(src/**)", "/other/src/a", "Undecided"],
    ["write_file(src/*.ts)", "/ws/src/a.ts", "Allowed"],
    ["write_file(src/*.ts)", "/ws/src/a/b.ts", "Undecided"],
    ["write_file(src/**/*.ts)", "/ws/src/b.ts", "Allowed"],
    ["write_file(src/**/*.ts)", "/ws/src/a/b/c.ts", "Allowed"],
    ["write_file(a?c)", "/ws/aéc", "Allowed"],
    ["write_file(a?c)", "/ws/ac", "Undecided"],
    ["write_file(a*b*c)", "/ws/axxbxbxc", "Allowed"],
    ["write_file(a\\*)", "/ws/a*", "Allowed"],
    ["write_file(a\\*)", "/ws/ab", "Undecided"],
    ["write_file(/tmp/**)", "/tmp/x", "Allowed"],
    ["write_file(~/x)", "/home/me/x", "Allowed"],
    ["write_file(SRC/**)", "/ws/src/a", "Undecided"],
    ["write_file(src/**)", "/ws/src/../x", "Undecided"],
    ["write_file(src/**)", "src/x", "Undecided"],
    ["write_file(src/**)", "/ws/src//x", "Undecided"],
    ["write_file(src/**)", "/ws/src/./x", "Undecided"],
    ["write_file", "src/x", "Undecided"],
    ["deny write_file(src/**)", "/ws/SRC/a", "Denied"],
    ["deny write_file(caf\u00e9)", "/ws/cafe\u0301", "Denied"],
    ["deny write_file(/**/.env)", "/other/a/.env", "Denied"],
    ["deny write_file(**/.git/**)", "/ws/.git/config", "Denied"],
    ["ask write_file(**)", "/ws/a", "Asked"],
    ["write_file(/**)", "/", "Allowed"]
  ] as const)("%s: %s", (text, path, expected) => {
    assert.strictEqual(decide([text], "write_file", paths(path))._tag, expected)
  })

  it("are allowed if all of them are, and denied if one is", () => {
    const texts = ["apply_patch(src/**)", "deny apply_patch(src/secret)"]
    assert.strictEqual(decide(texts, "apply_patch", paths("/ws/src/a", "/ws/src/b"))._tag, "Allowed")
    assert.strictEqual(decide(texts, "apply_patch", paths("/ws/src/a", "/ws/b"))._tag, "Undecided")
    assert.strictEqual(decide(texts, "apply_patch", paths("/ws/src/a", "/ws/src/secret"))._tag, "Denied")
  })

  it("with all that is beneath are allowed by what allows all beneath", () => {
    assert.strictEqual(decide(["grep(src/**)"], "grep", paths(beneath("/ws/src")))._tag, "Allowed")
    assert.strictEqual(decide(["grep(*)"], "grep", paths(beneath("/ws/src")))._tag, "Undecided")
    assert.strictEqual(decide(["grep(*)"], "grep", paths("/ws/src"))._tag, "Allowed")
    assert.strictEqual(decide(["grep(**)", "deny grep(src/secret)"], "grep", paths(beneath("/ws")))._tag, "Undecided")
    assert.strictEqual(decide(["grep(**)", "deny grep(/**/.env)"], "grep", paths(beneath("/ws")))._tag, "Undecided")
    assert.strictEqual(decide(["grep(**)", "deny grep(src/secret)"], "grep", paths(beneath("/ws/lib")))._tag, "Allowed")
    assert.strictEqual(decide(["grep", "deny grep(~/.ssh/**)"], "grep", paths(beneath("/")))._tag, "Undecided")
  })

  it("of the home directory match nothing where there is none", () => {
    const subject = paths("/home/me/x")
    const decision = Decision.decide(rules(["write_file(~/x)"]), {
      tool: "write_file",
      subject,
      places: { workspace: "/ws" }
    })
    assert.strictEqual(decision._tag, "Undecided")
  })
})

describe("hosts", () => {
  it.each([
    ["web_fetch(example.com)", "example.com", "Allowed"],
    ["web_fetch(example.com)", "EXAMPLE.com.", "Allowed"],
    ["web_fetch(example.com)", "a.example.com", "Undecided"],
    ["web_fetch(*.example.com)", "a.b.example.com", "Allowed"],
    ["web_fetch(*.example.com)", "example.com", "Undecided"],
    ["web_fetch(*.example.com)", "evilexample.com", "Undecided"],
    ["web_fetch(*.example.com)", "example.com.evil.org", "Undecided"],
    ["web_fetch(*)", "evil.org", "Allowed"],
    ["web_fetch([::1])", "[::1]", "Allowed"],
    ["deny web_fetch(Example.com)", "example.com", "Denied"]
  ] as const)("%s: %s", (text, host, expected) => {
    assert.strictEqual(decide([text], "web_fetch", hosts(host))._tag, expected)
  })

  it("are allowed if all of them are", () => {
    assert.strictEqual(decide(["web_fetch(a.org)"], "web_fetch", hosts("a.org", "b.org"))._tag, "Undecided")
  })
})
