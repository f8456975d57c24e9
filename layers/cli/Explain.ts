/**
 * `permissions`: what is decided of a call, by which rule, and why. Nothing is run, and
 * nobody is asked.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PlainText from "../../src/PlainText.ts"
import { CurrentSession } from "../../src/Session.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import { ToolRegistry } from "../../src/ToolRegistry.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import * as Permissions from "../Permissions.ts"
import * as CommandHooks from "../permissions/CommandHooks.ts"
import * as Decision from "../permissions/Decision.ts"
import { Grants } from "../permissions/Grants.ts"
import type { Position } from "../permissions/Rules.ts"
import * as RuleVerdict from "../permissions/RuleVerdict.ts"
import { UsageError } from "./ExitStatus.ts"
import * as Permitted from "./Permitted.ts"
import * as RuleSources from "./RuleSources.ts"

/**
 * Prints the decision. Gives that it did.
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fn("cli.permissions")(function* (
  options: Omit<RuleSources.Options, "workspace"> & { readonly name: string; readonly parameters: string }
) {
  const registry = yield* ToolRegistry
  const session = yield* CurrentSession
  const { write } = yield* StandardStreams
  const grants = yield* Grants
  const inForce = yield* RuleSources.inForce({ ...options, workspace: session.workspace })
  const decide = yield* RuleVerdict.make(inForce)
  const call = yield* ToolCall.fromText({ name: options.name, text: options.parameters })
  const decided = registry.lease(call, (registered, origin) =>
    ToolStream.fromEffect(
      Effect.gen(function* () {
        const tool = "choose" in registered ? yield* registered.choose : registered
        const parameters = yield* Effect.mapError(tool.decode(call.parameters), (issues) => ({
          message: issues.map(({ message, path }) => `${path.join(".")}: ${message}`).join("; ")
        }))
        const granted = yield* grants.patterns(tool.name, session)
        const { decision } = yield* decide({ parameters, session, tool }, granted)
        return { decision, readsOnly: Permissions.readsOnly(tool, origin) }
      })
    )
  )
  const { decision, readsOnly } = yield* Effect.mapError(
    ToolStream.runResult(decided),
    ({ message }) => new UsageError({ message: call.malformed ?? message })
  )
  const hooks = inForce.hooks.filter((hook) => hook.when === "before" && CommandHooks.isFor(hook, options.name))
  const left = Permitted.leftOut(inForce)
  const lines = [
    ...hooks.map(({ name, position }) => `asked first: the hook ${name} (${placeOf(position)})`),
    ...Decision.explain(decision),
    ...(decision._tag === "Undecided" ? [readsOnly ? "it reads only: it runs" : "so it is asked for"] : []),
    ...inForce.untrusted.rules.map(({ position, text }) => `left out: allow ${text} (${placeOf(position)})`),
    ...inForce.untrusted.hooks.map(({ name, position }) => `left out: the hook ${name} (${placeOf(position)})`),
    ...(left === undefined ? [] : [left])
  ]
  yield* write(`${lines.map(PlainText.makeLine).join("\n")}\n`)
  return true
}, Effect.provide(RuleSources.layerGrants))

const placeOf = ({ column, line, source }: Position): string => `${source}:${line}:${column}`
