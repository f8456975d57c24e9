import { assert, describe, it } from "@effect/vitest"
import * as Decision from "../../../layers/permissions/Decision.ts"
import * as RuleFiles from "../../../layers/permissions/RuleFiles.ts"
import * as Rules from "../../../layers/permissions/Rules.ts"
import * as RandomLine from "./RandomLine.ts"
import { List, parse, request, RuleText, Seed } from "./RandomRequest.ts"

/** From strict to loose. */
const looseness = { Denied: 0, Asked: 1, Undecided: 2, Allowed: 3 }

const loose = (decision: Decision.Decision): number => looseness[decision._tag]

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
      const own: RuleFiles.Source = { origin: "user", file: "u", hash: "1", rules: parse(user, "u"), hooks: [] }
      const found: RuleFiles.Source = {
        origin: "workspace",
        file: "w",
        hash: "2",
        rules: parse(workspace, "w"),
        hooks: []
      }
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
