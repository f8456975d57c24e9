/**
 * `permissions`: what is decided of a call, by which rule, and why. Nothing is run, and
 * nobody is asked.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { CurrentSession } from "../../src/Session.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import { program, ToolRegistry } from "../../src/ToolRegistry.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import * as Decision from "../permissions/Decision.ts"
import type { Rule } from "../permissions/Rules.ts"
import * as RuleVerdict from "../permissions/RuleVerdict.ts"
import { UsageError } from "./ExitStatus.ts"
import * as Permitted from "./Permitted.ts"

/**
 * Prints the decision. Gives that it did.
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fn("cli.permissions")(function* (
  options: Omit<Permitted.Options, "workspace"> & { readonly name: string; readonly parameters: string }
) {
  const registry = yield* ToolRegistry
  const session = yield* CurrentSession
  const { write } = yield* StandardStreams
  const { home, rules, untrusted } = yield* Permitted.rules({ ...options, workspace: session.workspace })
  const decide = yield* RuleVerdict.make({ rules, home })
  const call = yield* ToolCall.fromText({ name: options.name, text: options.parameters })
  const decided = registry.lease(call, (registered, origin) =>
    ToolStream.fromEffect(
      Effect.gen(function* () {
        const tool = "choose" in registered ? yield* registered.choose : registered
        const parameters = yield* Effect.mapError(tool.decode(call.parameters), (issues) => ({
          message: issues.map(({ message, path }) => `${path.join(".")}: ${message}`).join("; ")
        }))
        const decision = yield* decide({ parameters, session, tool })
        return { decision, readsOnly: origin === program && tool.descriptor.hints.readOnly }
      })
    )
  )
  const { decision, readsOnly } = yield* Effect.mapError(
    ToolStream.runResult(decided),
    ({ message }) => new UsageError({ message: call.malformed ?? message })
  )
  const lines = [
    ...Decision.explain(decision),
    ...(decision._tag === "Undecided" ? [readsOnly ? "it reads only: it runs" : "so it is asked for"] : []),
    ...untrusted.map((rule) => `left out, because the file of a workspace cannot allow: ${place(rule)}`)
  ]
  yield* write(`${lines.join("\n")}\n`)
  return true
})

const place = ({ action, position: { column, line, source }, text }: Rule): string =>
  `${action} ${text} (${source}:${line}:${column})`
