/**
 * A line under rules, in one word.
 */
import { assert } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Decision from "../../../layers/permissions/Decision.ts"
import * as Rules from "../../../layers/permissions/Rules.ts"
import * as ShellCommand from "../../../layers/permissions/ShellCommand.ts"

export const places: Decision.Places = { workspace: "/ws", home: "/home/me" }

/** Rules as one would list them: `deny bash(rm *)`, an allow without the word. The place is the position in the list. */
export const rule = (text: string, line = 1): Rules.Rule => {
  const [, action, body] = /^(?:(deny|ask|allow) )?([^]*)$/.exec(text) ?? []
  const parsed = Rules.parse(body ?? "", {
    action: action === "deny" || action === "ask" ? action : "allow",
    locate: (offset) => ({ source: "rules", line, column: offset + 1 })
  })
  if (Result.isFailure(parsed)) return assert.fail(parsed.failure.message)
  return parsed.success
}

export const rules = (texts: ReadonlyArray<string>): Rules.Rules =>
  Rules.make(texts.map((text, index) => rule(text, index + 1)))

/** As a shell in the workspace would resolve it, where there are no links. */
const resolve = (target: string): string => {
  const names: Array<string> = []
  for (const name of (target.startsWith("/") ? target : `/ws/${target}`).split("/")) {
    if (name === "..") names.pop()
    else if (name !== "" && name !== ".") names.push(name)
  }
  return `/${names.join("/")}`
}

export const command = (line: string): Decision.Subject => {
  const analysis = ShellCommand.analyse(line)
  const targets = analysis.parts.flatMap((part) => (part._tag === "Redirection" ? [part.target] : []))
  return { _tag: "Command", analysis, resolved: new Map(targets.map((target) => [target, resolve(target)])) }
}

export const judge = (texts: ReadonlyArray<string>, line: string): Decision.Decision =>
  Decision.decide(rules(texts), { tool: "bash", subject: command(line), places })
