/**
 * Who permits the calls of the command line: the user's rules, those of the workspace,
 * the flags, and whoever sits at the terminal.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Stdio from "effect/Stdio"
import * as Permission from "../../src/Permission.ts"
import * as Modes from "../Modes.ts"
import * as GrantFile from "../node/GrantFile.ts"
import * as Permissions from "../Permissions.ts"
import * as RuleFiles from "../permissions/RuleFiles.ts"
import * as Rules from "../permissions/Rules.ts"
import * as RuleVerdict from "../permissions/RuleVerdict.ts"
import { UsageError } from "./ExitStatus.ts"
import * as Prompt from "./Prompt.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly workspace: string
  /** Allows every call that no rule denies. */
  readonly yes: boolean
  /** Rules. */
  readonly allow: ReadonlyArray<string>
  /** Whoever calls is asked, or has somebody to ask: a protocol's client. By default whoever sits at the terminal. */
  readonly asksCaller?: boolean | undefined
}

/** Where the user's own rules, and what they granted, are kept. */
const configuration = Effect.gen(function* () {
  const path = yield* Path.Path
  const home = yield* Config.String("HOME").pipe(Config.withDefault("/"))
  const given = yield* Config.String("XDG_CONFIG_HOME").pipe(Config.withDefault(""))
  // A relative one is to be ignored, says the XDG Base Directory Specification 0.8.
  const base = path.isAbsolute(given) ? given : path.join(home, ".config")
  return { home, folder: path.join(base, "toolstream") }
}).pipe(Effect.orDie)

/**
 * The rules in force, and what is left out of them.
 *
 * @category constructors
 * @since 0.1.0
 */
export const rules = Effect.fn("cli.rules")(function* ({ allow, workspace }: Options) {
  const path = yield* Path.Path
  const { folder, home } = yield* configuration
  const fromFlags = yield* Effect.forEach(allow, (text) =>
    fromResult(
      Rules.parse(text, {
        action: "allow",
        locate: (offset) => ({ source: "--allow", line: 1, column: offset + 1 })
      })
    )
  )
  const sources: ReadonlyArray<RuleFiles.Source> = [
    ...(yield* sourceAt(path.join(folder, "permissions.json"), "user")),
    ...(yield* sourceAt(path.join(workspace, ".toolstream", "permissions.json"), "workspace")),
    { origin: "user", file: "--allow", hash: "", rules: fromFlags }
  ]
  return { ...RuleFiles.merge(sources, new Map()), home, folder }
})

/** A file of rules; none, if it is not there. One that cannot be read or understood ends the program: it may deny. */
const sourceAt = Effect.fn("cli.sourceAt")(function* (file: string, origin: RuleFiles.Source["origin"]) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.matchEffect(fs.readFileString(file), {
    onSuccess: Effect.succeedSome,
    onFailure: (error) =>
      error.reason._tag === "NotFound"
        ? Effect.succeed(Option.none<string>())
        : Effect.fail(new UsageError({ message: `${file} cannot be read: ${error.message}` }))
  })
  if (Option.isNone(text)) return []
  const rules = yield* fromResult(RuleFiles.parse(text.value, { source: file }))
  return [{ origin, file, hash: yield* RuleFiles.hash(text.value), rules }]
})

const fromResult = <A>(result: Result.Result<A, { readonly message: string }>) =>
  Effect.mapError(Effect.fromResult(result), ({ message }) => new UsageError({ message }))

/**
 * How to permit what nobody can be asked for.
 *
 * @category constants
 * @since 0.1.0
 */
export const instead = "Allow it with --allow RULE, as in --allow 'bash(git status *)', or allow everything with --yes"

/**
 * The middleware, to be provided to a runtime.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const path = yield* Path.Path
      const { stdinIsTerminal } = yield* Stdio.Stdio
      const { folder, home, rules: inForce } = yield* rules(options)
      const decide = yield* RuleVerdict.make({ rules: inForce, home })
      const asks = options.yes
        ? Permission.layerAllowAll
        : options.asksCaller === true
          ? Permission.layerDenyAll(`nobody can be asked. ${instead}`)
          : (yield* stdinIsTerminal)
            ? Prompt.layer
            : Permission.layerDenyAll(`stdin is no terminal, so that nobody can be asked. ${instead}`)
      const verdicts = yield* Modes.rules((prepared) => Effect.map(decide(prepared), RuleVerdict.toVerdict))
      return Permissions.layerWith({ rules: verdicts }).pipe(
        Layer.provide(GrantFile.layer({ file: path.join(folder, "grants.jsonl") })),
        Layer.provide(asks)
      )
    })
  )
