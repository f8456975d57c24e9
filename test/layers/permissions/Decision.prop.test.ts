import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Decision from "../../../layers/permissions/Decision.ts"
import * as RuleFiles from "../../../layers/permissions/RuleFiles.ts"
import * as Rules from "../../../layers/permissions/Rules.ts"
import { command, places, rule } from "./Judge.ts"
import * as RandomLine from "./RandomLine.ts"

/** From strict to loose. */
const looseness = { Denied: 0, Asked: 1, Undecided: 2, Allowed: 3 }

const loose = (decision: Decision.Decision): number => looseness[decision._tag]

const bodies = [
  "*",
  "bash",
  "bash(*)",
  "bash(a *)",
  "bash(a)",
  "bash(b *)",
  "bash(rm *)",
  "bash(rm)",
  "bash(ls *)",
  "bash(l* *)",
  "bash(* x)",
  "bash(a ** -f)",
  "bash(echo *)",
  "bash(sh *)",
  "bash(find *)",
  "bash(xargs *)",
  "bash(x=*)",
  "bash(NO_COLOR=1)",
  "bash(> out)",
  "bash(> **)",
  "bash(< there)",
  "write_file(src/**)",
  "write_file(**)",
  "write_file(*.ts)",
  "write_file(/**/a)",
  "write_file(~/**)",
  "write_file",
  "web_fetch(*.a.org)",
  "web_fetch(b.org)"
] as const

const RuleText = Schema.Struct({ action: Schema.Literals(["deny", "ask", "allow"]), body: Schema.Literals(bodies) })

const List = Schema.Array(RuleText).check(Schema.isMaxLength(12))

const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

const parse = (list: typeof List.Type, source: string) =>
  list.map(({ action, body }, index) => ({
    ...rule(action === "allow" ? body : `${action} ${body}`, index + 1),
    position: { source, line: index + 1, column: 1 }
  }))

const literal = [
  "a",
  "a x",
  "b -f",
  "rm",
  "ls x",
  "echo $x",
  "a > out",
  "cat < there",
  "NO_COLOR=1 a",
  "x=1",
  "sh -c 'a; rm'"
]
const paths = ["/ws/src/a", "/ws/a.ts", "/ws", "/home/me/a", "/etc/a", "src/a", "/ws/src/../a"]

/** Half of the lines are ones that rules can allow. */
const request = (seed: number): Decision.Request => {
  const next = RandomLine.random(seed)
  const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(next() * items.length)]!
  const kind = next()
  if (kind < 0.35) return { tool: "bash", subject: command(RandomLine.line(next)), places }
  if (kind < 0.7) return { tool: "bash", subject: command(`${pick(literal)}; ${pick(literal)}`), places }
  if (kind < 0.9) {
    const targets = [pick(paths), pick(paths)].map((path) => ({ path, beneath: next() < 0.3 }))
    return { tool: "write_file", subject: { _tag: "Paths", targets }, places }
  }
  return { tool: "web_fetch", subject: { _tag: "Hosts", hosts: [pick(["a.org", "x.a.org", "b.org"])] }, places }
}

const runs = { arbitrary: { runs: 2_000 } }

describe("rules", () => {
  const seen = { Denied: 0, Asked: 0, Undecided: 0, Allowed: 0 }

  it.prop(
    "another deny or ask never makes a decision looser, another allow never stricter",
    [List, RuleText, Seed],
    ([list, more, seed]) => {
      const asked = request(seed)
      const before = Decision.decide(Rules.make(parse(list, "rules")), asked)
      const after = Decision.decide(Rules.make(parse([...list, more], "rules")), asked)
      seen[before._tag]++
      if (more.action === "allow") assert.isAtLeast(loose(after), loose(before))
      else assert.isAtMost(loose(after), loose(before))
      if (more.action === "deny")
        assert.isTrue(loose(after) === 0 || loose(after) === loose(before) || after._tag === "Undecided")
    },
    runs
  )

  it("were of every kind", () => {
    for (const count of Object.values(seen)) assert.isAbove(count, 20)
  })

  it.prop(
    "decide the same, for the same reason, in whatever order they stand",
    [List, Seed],
    ([list, seed]) => {
      const asked = request(seed)
      const all = parse(list, "rules")
      const next = RandomLine.random(seed)
      const shuffled = all
        .map((rule) => ({ rule, at: next() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ rule }) => rule)
      assert.deepStrictEqual(Decision.decide(Rules.make(shuffled), asked), Decision.decide(Rules.make(all), asked))
    },
    runs
  )

  it.prop(
    "of a workspace that is not trusted never make a decision looser",
    [List, List, Seed],
    ([user, workspace, seed]) => {
      const asked = request(seed)
      const own: RuleFiles.Source = { origin: "user", file: "u", hash: "1", rules: parse(user, "u") }
      const found: RuleFiles.Source = { origin: "workspace", file: "w", hash: "2", rules: parse(workspace, "w") }
      const trust = new Map([["w", "what it said before"]])
      const [without, together] = [[own], [found, own]].map((sources) =>
        Decision.decide(RuleFiles.merge(sources, trust).rules, asked)
      )
      assert.isAtMost(loose(together!), loose(without!))
    },
    runs
  )

  it.prop(
    "never allow a line that is not literal",
    [List, Seed],
    ([list, seed]) => {
      const asked = request(seed)
      const decision = Decision.decide(Rules.make(parse([...list, { action: "allow", body: "*" }], "rules")), asked)
      if (asked.subject._tag === "Command" && asked.subject.analysis.notLiteral.length > 0)
        assert.notStrictEqual(decision._tag, "Allowed")
    },
    runs
  )
})
