/**
 * Where the rules and hooks of the command line come from: the flags, the user's own
 * configuration, and a file of the workspace, as far as the user trusts it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as Result from "effect/Result"
import * as Glance from "../node/Glance.ts"
import * as GrantFile from "../node/GrantFile.ts"
import * as TrustFile from "../node/TrustFile.ts"
import * as RuleFiles from "../permissions/RuleFiles.ts"
import * as Rules from "../permissions/Rules.ts"
import { UsageError } from "./ExitStatus.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly workspace: string
  /** Rules. */
  readonly allow: ReadonlyArray<string>
}

/** Where the user's own files are kept. */
const configuration = Effect.map(Path.Path, (path) => {
  const { HOME: home = "/", XDG_CONFIG_HOME: given = "" } = process.env
  // A relative one is to be ignored, says the XDG Base Directory Specification 0.8.
  const base = path.isAbsolute(given) ? given : path.join(home, ".config")
  const folder = path.join(base, "toolstream")
  return {
    home,
    rules: path.join(folder, "permissions.json"),
    grants: path.join(folder, "grants.jsonl"),
    trust: path.join(folder, "trust.json")
  }
})

/**
 * What the user granted.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerGrants = Layer.unwrap(Effect.map(configuration, ({ grants }) => GrantFile.layer({ file: grants })))

/**
 * A file of rules, as it was read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Found extends RuleFiles.Source {
  readonly text: string
}

/**
 * What is in force, and what is left out of it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const inForce = Effect.fn("cli.inForce")(function* (
  { allow, workspace }: Options,
  /** A folder in the workspace whose rules hold, too. */
  inner: string = workspace
) {
  const { home, rules, trust: trustFile } = yield* configuration
  const fromFlags = yield* Effect.forEach(allow, (text) =>
    fromResult(
      Rules.parse(text, {
        action: "allow",
        locate: (offset) => ({ source: "--allow", line: 1, column: offset + 1 })
      })
    )
  )
  const flags: RuleFiles.Source = { origin: "user", file: "--allow", hash: "", rules: fromFlags, hooks: [] }
  const own = yield* at(rules, "user")
  const found = yield* ofWorkspace(workspace)
  const foundInside = inner === workspace ? Option.none() : yield* ofWorkspace(inner)
  const trust = yield* TrustFile.read(trustFile)
  return {
    ...RuleFiles.merge(
      [...Option.toArray(own), ...Option.toArray(found), ...Option.toArray(foundInside), flags],
      trust
    ),
    /** Of the file of the workspace, if there is one. */
    standing: Option.map(found, (source) => RuleFiles.standing(source, trust)),
    home
  }
})

/**
 * The file of a workspace, if it has one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofWorkspace = Effect.fn("cli.ofWorkspace")(function* (workspace: string) {
  const path = yield* Path.Path
  return yield* at(path.join(workspace, ".toolstream", "permissions.json"), "workspace")
})

/**
 * Trusts a file of a workspace with what it says, or, without a hash, no longer.
 *
 * @category running
 * @since 0.1.0
 */
export const trust = Effect.fn("cli.trust")(function* ({ file }: Found, hash: string | undefined) {
  const { trust } = yield* configuration
  yield* Effect.mapError(
    TrustFile.set(trust, { path: file, hash }),
    ({ message }) => new UsageError({ message: `${message}. Nothing has changed.` })
  )
})

/** A file of rules; none, if it is not there. One that cannot be read or understood ends the program: it may deny. */
const at = Effect.fn("cli.ruleFileAt")(function* (file: string, origin: RuleFiles.Source["origin"]) {
  if (Glance.isMissing(file)) return Option.none<Found>()
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.matchEffect(fs.readFileString(file), {
    onSuccess: Effect.succeedSome,
    onFailure: (error) =>
      error.reason._tag === "NotFound"
        ? Effect.succeed(Option.none<string>())
        : Effect.fail(new UsageError({ message: `${file} cannot be read: ${error.message}` }))
  })
  if (Option.isNone(text)) return Option.none<Found>()
  const { hooks, rules } = yield* fromResult(RuleFiles.parse(text.value, { source: file }))
  const { home } = yield* configuration
  // Trust is given to the file, by whatever way one came to it.
  const real = yield* Effect.orElseSucceed(fs.realPath(file), () => file)
  const programOf = (program: string) =>
    program.startsWith("~/")
      ? path.join(home, program.slice(2))
      : program.includes("/")
        ? path.resolve(path.dirname(real), program)
        : program
  return Option.some<Found>({
    origin,
    file: real,
    hash: yield* RuleFiles.hash(text.value),
    text: text.value,
    rules,
    hooks: hooks.map((hook) => {
      const [program, ...args] = hook.command
      return { ...hook, command: [programOf(program), ...args] }
    })
  })
})

const fromResult = <A>(result: Result.Result<A, { readonly message: string }>) =>
  Effect.mapError(Effect.fromResult(result), ({ message }) => new UsageError({ message }))
