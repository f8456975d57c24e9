/**
 * Everything that decides, together: hooks that are commands, rules, grants, hints, a person. A model that knows only
 * sets of what was granted says what should happen.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Permissions from "../../../layers/Permissions.ts"
import * as CommandHooks from "../../../layers/permissions/CommandHooks.ts"
import * as Decision from "../../../layers/permissions/Decision.ts"
import * as Grants from "../../../layers/permissions/Grants.ts"
import * as Offer from "../../../layers/permissions/Offer.ts"
import type * as Rules from "../../../layers/permissions/Rules.ts"
import * as RuleVerdict from "../../../layers/permissions/RuleVerdict.ts"
import * as ScriptedProcess from "../../../layers/testing/ScriptedProcess.ts"
import * as ErasedTool from "../../../src/ErasedTool.ts"
import * as Permission from "../../../src/Permission.ts"
import * as Tool from "../../../src/Tool.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { call, guarded, terminalEvent } from "../../Harness.ts"
import { command } from "./Judge.ts"
import * as RandomLine from "./RandomLine.ts"
import * as RandomRequest from "./RandomRequest.ts"

class Shell extends Tool.Service<Shell>()("bash", {
  description: "Says which line it was given.",
  parameters: { command: Schema.String },
  success: Schema.String
}) {}

const shell = ErasedTool.fromImplementation(Shell, { execute: ({ command }) => ToolStream.succeed(command) })

/** What a hook says of a line: by what is in the line, so that it is the same whenever it is asked. */
type Saying = "nothing" | "allow" | "deny" | "rewrite" | "fail"
const sayings: ReadonlyArray<Saying> = ["nothing", "nothing", "nothing", "nothing", "allow", "deny", "rewrite", "fail"]
const saysOf = (line: string): Saying => sayings[line.length % sayings.length]!
const rewritten = "git log -2"

const answer: Readonly<Record<Saying, ScriptedProcess.Script>> = {
  nothing: ScriptedProcess.exits(0, '{"_tag":"Nothing"}'),
  allow: ScriptedProcess.exits(0, '{"_tag":"Allow"}'),
  deny: ScriptedProcess.exits(0, '{"_tag":"Deny","why":"no"}'),
  rewrite: ScriptedProcess.exits(0, `{"_tag":"Rewrite","parameters":{"command":"${rewritten}"}}`),
  fail: ScriptedProcess.exits(1, '{"_tag":"Allow"}')
}

/** The line that the hook is asked about. */
const lineOf = (input: unknown): string =>
  typeof input === "string"
    ? (JSON.parse(input) as { readonly parameters: { readonly command: string } }).parameters.command
    : ""

const processes = ScriptedProcess.layer(({ input }) => answer[saysOf(lineOf(input))])

const hook: CommandHooks.CommandHook = { name: "h", tool: "bash", command: ["h"] }

/** What a person says to a question: by chance, but the same to the same. */
const person = (seed: number, { pattern, text }: Pick<Permission.Question, "pattern" | "text">): Permission.Answer => {
  const next = RandomLine.random(seed + text.length * 7 + text.charCodeAt(0))
  const kind = next()
  if (kind < 0.3) return { _tag: "Denied", by: "Ada", why: "" }
  const extent = kind < 0.5 ? "once" : "session"
  return pattern !== undefined && next() < 0.6 ? { _tag: "Allowed", extent, pattern } : { _tag: "Allowed", extent }
}

/** What ran, by the model: for each call the line, or by whom it was refused. */
const model = (rules: Rules.Rules, lines: ReadonlyArray<string>, seed: number): ReadonlyArray<string> => {
  const exactly = new Set<string>()
  const patterns = new Set<string>()
  const decided = (line: string): string => {
    const inForce = { ...rules, allow: [...rules.allow, ...Offer.granted(Array.from(patterns))] }
    const request = { tool: "bash", subject: command(line), places: { workspace: "/ws", home: "/home/me" } }
    const decision = Decision.decide(inForce, request)
    if (decision._tag === "Denied") return "refused by a rule"
    if (decision._tag === "Allowed" || exactly.has(line)) return line
    const pattern = decision._tag === "Undecided" ? Offer.make(inForce, request) : undefined
    const said = person(seed, { pattern, text: line })
    if (said._tag === "Denied") return `refused by ${said.by}`
    if (said.extent === "session") (said.pattern === undefined ? exactly : patterns).add(said.pattern ?? line)
    return line
  }
  return lines.map((line) => {
    switch (saysOf(line)) {
      case "nothing":
        return decided(line)
      case "allow":
        return line
      case "rewrite":
        return decided(rewritten)
      default:
        return "refused by the hook h"
    }
  })
}

const ran = Effect.fnUntraced(function* (rules: Rules.Rules, lines: ReadonlyArray<string>, seed: number) {
  const decide = yield* RuleVerdict.make({ rules, home: "/home/me" })
  const before = yield* Effect.provide(CommandHooks.before(hook), processes)
  const permissions = Permissions.layerWith({ before: [before], rules: RuleVerdict.toJudge(decide) })
  const asks = Layer.succeed(Permission.Permission, (question: Permission.Question) =>
    Effect.sync(() => person(seed, { pattern: question.pattern, text: question.text.replace(/^command: /, "") }))
  )
  const { events } = yield* guarded(
    { bash: shell },
    permissions.pipe(Layer.provide(Grants.layerMemory()), Layer.provide(asks)),
    { workspace: "/ws" }
  )
  return yield* Effect.forEach(lines, (line, n) =>
    Effect.map(Stream.runCollect(events(call(`${n}`, "bash", { command: line }))), (events) => {
      const { result } = terminalEvent(events)
      if (result._tag === "Success") return String(result.value)
      return result.error.reason._tag === "PermissionDenied"
        ? `refused by ${result.error.reason.by}`
        : result.error.message
    })
  )
})

/** Plain lines: of others neither the port nor the question is a fair reader. */
const linesOf = (seed: number): ReadonlyArray<string> => {
  const next = RandomLine.random(seed)
  return Array.from({ length: 8 }, () => RandomRequest.line(next)).filter((line) => /^[\x20-\x7e]+$/.test(line))
}

const runs = { arbitrary: { runs: 60 } }

describe("hooks that are commands, rules, grants and a person", { timeout: 60_000 }, () => {
  it.layer(NodeServices.layer)((it) => {
    const seen = { ran: 0, hook: 0, rule: 0, person: 0 }

    it.effect.prop(
      "decide as the model does, call after call",
      { list: RandomRequest.List, seed: RandomRequest.Seed },
      ({ list, seed }) =>
        Effect.scoped(
          Effect.gen(function* () {
            const rules = RandomRequest.rules(list)
            const lines = linesOf(seed)
            const ended = yield* ran(rules, lines, seed)
            assert.deepStrictEqual(ended, model(rules, lines, seed))
            for (const end of ended)
              seen[
                end === "refused by the hook h"
                  ? "hook"
                  : end === "refused by a rule"
                    ? "rule"
                    : end === "refused by Ada"
                      ? "person"
                      : "ran"
              ]++
          })
        ),
      runs
    )

    it.effect("came to every end", () =>
      Effect.sync(() => {
        for (const [end, count] of Object.entries(seen)) assert.isAbove(count, 10, end)
      })
    )

    it.effect.prop(
      "another deny never lets more run, whatever was granted; the order of rules changes nothing",
      { list: RandomRequest.List, deny: RandomRequest.RuleText, seed: RandomRequest.Seed },
      ({ deny, list, seed }) =>
        Effect.scoped(
          Effect.gen(function* () {
            const lines = linesOf(seed)
            const before = yield* ran(RandomRequest.rules(list), lines, seed)
            const shuffled = yield* ran(RandomRequest.rules(list.toReversed()), lines, seed)
            assert.deepStrictEqual(shuffled, before)
            const after = yield* ran(RandomRequest.rules([...list, { ...deny, action: "deny" }]), lines, seed)
            for (const [index, end] of after.entries())
              if (!end.startsWith("refused")) assert.isFalse(before[index]!.startsWith("refused"), lines[index])
          })
        ),
      runs
    )
  })
})
