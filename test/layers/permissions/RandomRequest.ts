/**
 * Rules and calls made at random, so that each kind of decision comes up often.
 */
import * as Schema from "effect/Schema"
import type * as Decision from "../../../layers/permissions/Decision.ts"
import * as Rules from "../../../layers/permissions/Rules.ts"
import { command, places, rule } from "./Judge.ts"
import * as RandomLine from "./RandomLine.ts"

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
  "bash(git log *)",
  "bash(git status -s)",
  "bash(git ** -s)",
  "write_file(src/**)",
  "write_file(**)",
  "write_file(*.ts)",
  "write_file(/**/a)",
  "write_file(~/**)",
  "write_file",
  "web_fetch(*.a.org)",
  "web_fetch(b.org)"
] as const

export const RuleText = Schema.Struct({
  action: Schema.Literals(["deny", "ask", "allow"]),
  body: Schema.Literals(bodies)
})
export type RuleText = typeof RuleText.Type

export const List = Schema.Array(RuleText).check(Schema.isMaxLength(12))

export const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

export const parse = (list: ReadonlyArray<RuleText>, source: string) =>
  list.map(({ action, body }, index) => ({
    ...rule(action === "allow" ? body : `${action} ${body}`, index + 1),
    position: { source, line: index + 1, column: 1 }
  }))

export const rules = (list: ReadonlyArray<RuleText>): Rules.Rules => Rules.make(parse(list, "rules"))

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
  "sh -c 'a; rm'",
  "git status",
  "git status -s",
  "git log -p x",
  "git log",
  "git log -1",
  "git status src"
]
const paths = ["/ws/src/a", "/ws/src/b/a", "/ws/a.ts", "/ws", "/home/me/a", "/etc/a", "src/a", "/ws/src/../a"]

/** A line of which one half of all can be allowed by rules. */
export const line = (next: () => number): string => {
  const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(next() * items.length)]!
  const kind = next()
  if (kind < 0.4) return RandomLine.line(next)
  return kind < 0.8 ? pick(literal) : `${pick(literal)}; ${pick(literal)}`
}

export const request = (seed: number): Decision.Request => {
  const next = RandomLine.random(seed)
  const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(next() * items.length)]!
  const kind = next()
  if (kind < 0.7) return { tool: "bash", subject: command(line(next)), places }
  if (kind < 0.9) {
    const targets = [pick(paths), pick(paths)].map((path) => ({ path, beneath: next() < 0.3 }))
    return { tool: "write_file", subject: { _tag: "Paths", targets }, places }
  }
  return { tool: "web_fetch", subject: { _tag: "Hosts", hosts: [pick(["a.org", "x.a.org", "b.org"])] }, places }
}
