/**
 * `permissions trust`: shows what the file of a workspace allows and which hooks it has,
 * and trusts it with exactly that, if the user says so.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as PlainText from "../../src/PlainText.ts"
import { Signals } from "../node/Signals.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import type * as RuleFiles from "../permissions/RuleFiles.ts"
import { UsageError } from "./ExitStatus.ts"
import * as RuleSources from "./RuleSources.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly workspace: string
  /** Of a file that was read before: it is trusted without a question, if it is still that one. */
  readonly hash: string | undefined
  /** Trusts it no longer. */
  readonly revoke: boolean
}

/**
 * Gives whether it is as the user wants it now.
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fn("cli.trust")(function* ({ hash, revoke, workspace }: Options) {
  const { talk, write } = yield* StandardStreams
  const { standing } = yield* RuleSources.inForce({ workspace, allow: [] })
  const source = Option.getOrUndefined(yield* RuleSources.ofWorkspace(workspace))
  if (source === undefined)
    return yield* new UsageError({
      message: `${workspace} has no .toolstream/permissions.json. There is nothing to trust.`
    })
  if (revoke) {
    yield* RuleSources.trust(source, undefined)
    yield* talk("It is not trusted.\n")
    return true
  }
  yield* write(
    show(
      source,
      Option.getOrElse(standing, () => "unknown" as const)
    )
  )
  if (!loosens(source)) return true
  if (hash !== undefined && hash.toLowerCase() !== source.hash)
    return yield* new UsageError({
      message: `--hash is that of another file: this one is ${source.hash}. It is not trusted.`
    })
  if (hash === undefined && !(yield* agreed)) {
    yield* talk("Nothing has changed.\n")
    return false
  }
  yield* RuleSources.trust(source, source.hash)
  yield* talk("It is trusted, until it changes.\n")
  return true
})

/** Whether somebody at the terminal says yes. Whoever ends the program does not. */
const agreed = Effect.gen(function* () {
  const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
  const { talk } = yield* StandardStreams
  const signals = yield* Signals
  if (!(yield* stdinIsTerminal))
    return yield* new UsageError({
      message:
        "stdin is no terminal, so that nobody can be asked. Read it, and trust what you have read with --hash HASH"
    })
  yield* talk("Trust it with what it says now? y or n: ")
  const line = stdin.pipe(Stream.decodeText(), Stream.splitLines, Stream.runHead, Effect.orDie)
  const answer = yield* Effect.raceFirst(line, Effect.as(signals.first, Option.none<string>()))
  if (Option.isNone(answer)) yield* talk("\n")
  return Option.exists(answer, (text) => /^\s*y(?:es)?\s*$/i.test(text))
})

const loosens = ({ hooks, rules }: RuleFiles.Contents): boolean =>
  hooks.length > 0 || rules.some(({ action }) => action === "allow")

const standings = {
  trusted: "It is trusted.",
  changed: "It has changed since you trusted it, and is not trusted.",
  unknown: "It is not trusted."
}

const show = (source: RuleSources.Found, standing: keyof typeof standings): string => {
  const { file, hash, hooks, rules } = source
  const tightening = rules.filter(({ action }) => action !== "allow")
  const loosening = rules.filter(({ action }) => action === "allow")
  const lines = [
    file,
    `SHA-256 ${hash}`,
    loosens(source) ? standings[standing] : "It allows nothing and has no hooks: there is nothing to trust.",
    ...section("In force, trusted or not:", tightening.map(showRule)),
    ...section("In force only if you trust it:", [...loosening.map(showRule), ...hooks.map(showHook)]),
    ...(hooks.length === 0
      ? []
      : ["What the programs of its hooks are is not part of the hash. Whoever can write them runs what they like."])
  ]
  return `${lines.map(PlainText.makeLine).join("\n")}\n`
}

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)]

const showRule = ({ action, position: { column, line }, text }: RuleFiles.Contents["rules"][number]): string =>
  `${action} ${text} (${line}:${column})`

const showHook = ({ command, name, position: { column, line }, sandbox = [], tool = "*", when }: RuleFiles.Hook) =>
  `${when} ${tool}: the hook ${name}, ${JSON.stringify(command)}, in ${sandbox.length === 0 ? "no sandbox" : `the sandbox ${sandbox.join(",")}`} (${line}:${column})`
