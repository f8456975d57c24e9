/**
 * Who permits the calls of the command line: the user's hooks and rules, those of the
 * workspace, the flags, and whoever sits at the terminal.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Stdio from "effect/Stdio"
import * as Permission from "../../src/Permission.ts"
import * as Modes from "../Modes.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import * as Permissions from "../Permissions.ts"
import type * as RuleFiles from "../permissions/RuleFiles.ts"
import * as Rules from "../permissions/Rules.ts"
import * as RuleVerdict from "../permissions/RuleVerdict.ts"
import * as ExitStatus from "./ExitStatus.ts"
import * as Prompt from "./Prompt.ts"
import * as RuleSources from "./RuleSources.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends RuleSources.Options {
  /** Allows every call that no rule denies. */
  readonly yes: boolean
  /** Whoever calls is asked, or has somebody to ask: a protocol's client. By default whoever sits at the terminal. */
  readonly asksCaller?: boolean | undefined
}

/**
 * How to permit what nobody can be asked for.
 *
 * @category constants
 * @since 0.1.0
 */
export const instead = "Allow it with --allow RULE, as in --allow 'bash(git status *)', or allow everything with --yes"

/**
 * What is left out of the file of a workspace, and why, in a line; undefined if nothing is.
 *
 * @category converting
 * @since 0.1.0
 */
export const leftOut = ({
  standing,
  untrusted: { hooks, rules }
}: {
  readonly standing: Option.Option<ReturnType<typeof RuleFiles.standing>>
  readonly untrusted: RuleFiles.Contents
}): string | undefined => {
  const [first] = [...rules, ...hooks]
  if (first === undefined) return undefined
  const what = [count(rules.length, "allow"), count(hooks.length, "hook")].filter((text) => text !== "").join(" and ")
  const why =
    Option.getOrUndefined(standing) === "changed"
      ? "it has changed since you trusted it"
      : "anybody may have written it"
  return `${what} of ${first.position.source} ${rules.length + hooks.length === 1 ? "is" : "are"} left out, because ${why}. To read and trust it: toolstream permissions trust`
}

const count = (n: number, what: string): string => (n === 0 ? "" : `${n} ${what}${n === 1 ? "" : "s"}`)

/**
 * The middleware, to be provided to a runtime.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { stdinIsTerminal } = yield* Stdio.Stdio
      const { talk } = yield* StandardStreams
      const inForce = yield* RuleSources.inForce(options)
      const note = leftOut(inForce)
      if (note !== undefined) yield* talk(ExitStatus.lineOf(note))
      const own = RuleVerdict.toJudge(yield* RuleVerdict.make(inForce))
      const judge = yield* judgeOf(options, options.yes ? unread(inForce.rules, own) : own)
      const asks = options.yes
        ? Permission.layerAllowAll
        : options.asksCaller === true
          ? Permission.layerDenyAll(`nobody can be asked. ${instead}`)
          : (yield* stdinIsTerminal)
            ? Prompt.layer
            : Permission.layerDenyAll(`stdin is no terminal, so that nobody can be asked. ${instead}`)
      return Permissions.layerWith({
        ...(inForce.hooks.length === 0 ? {} : yield* hooksOf(inForce.hooks)),
        rules: yield* Modes.rules(judge)
      }).pipe(Layer.provide(RuleSources.layerGrants), Layer.provide(asks))
    })
  )

const hooksOf = Effect.fnUntraced(function* (hooks: ReadonlyArray<RuleFiles.Hook>) {
  const CommandHooks = yield* Effect.promise(() => import("../permissions/CommandHooks.ts"))
  const of = (when: RuleFiles.Hook["when"]) => hooks.filter((hook) => hook.when === when)
  return {
    before: yield* Effect.forEach(of("before"), CommandHooks.before),
    after: yield* Effect.forEach(of("after"), CommandHooks.after)
  }
})

/**
 * Where everything is allowed that no rule denies, nobody reads what else they say of a call: what no rule is about need
 * not be looked at, and its command line not be parsed.
 */
const unread = (rules: Rules.Rules, judge: Permissions.Judge): Permissions.Judge => {
  const all = [...rules.deny, ...rules.ask, ...rules.allow]
  return (prepared, granted) =>
    granted.length > 0 || all.some((rule) => Rules.concerns(rule, prepared.tool.name))
      ? judge(prepared, granted)
      : Exit.succeed({ _tag: "Undecided", why: [] })
}

/** Judges by the rules of the workspace that a session works in, where that is a folder in the program's. */
const judgeOf = Effect.fnUntraced(function* (options: Options, own: Permissions.Judge) {
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const judges = new Map([[options.workspace, own]])
  const load = (workspace: string) =>
    RuleSources.inForce(options, workspace).pipe(
      Effect.flatMap(RuleVerdict.make),
      Effect.map((decide) => {
        const judge = RuleVerdict.toJudge(decide)
        judges.set(workspace, judge)
        return judge
      }),
      Effect.provideContext(services)
    )
  const judge: Permissions.Judge = (prepared, granted) => {
    const known = judges.get(prepared.session.workspace)
    return known !== undefined
      ? known(prepared, granted)
      : Effect.matchEffect(load(prepared.session.workspace), {
          onSuccess: (judge) => judge(prepared, granted),
          // They may deny.
          onFailure: ({ message: why }) => Effect.succeed({ _tag: "Denied", by: "the rules of the workspace", why })
        })
  }
  return judge
})
