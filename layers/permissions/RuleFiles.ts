/**
 * Files of rules, and of hooks that are commands.
 *
 * ```jsonc
 * {
 *   // A deny goes before an ask, an ask before an allow.
 *   "allow": ["read_file", "bash(git status *)"],
 *   "ask": ["write_file(**)"],
 *   "deny": ["bash(rm *)", "read_file(/**\/.env)"],
 *   // Asked before all rules, and told of what has succeeded. See `CommandHooks`.
 *   "before": [{ "name": "branch", "tool": "bash", "command": ["./no-push-to-main.py"], "timeoutMs": 2000 }],
 *   "after": [{ "name": "lint", "tool": "*_file", "command": ["./lint.sh", "--quiet"] }]
 * }
 * ```
 *
 * **Contract**
 *
 * - A file is in force as a whole or not at all. One that cannot be understood is a failure, not a file without rules:
 *   what it denies would be allowed.
 * - A file that was found in a workspace only tightens: its allows and its hooks are left out until the user has trusted
 *   that file, with what it says. Changed by one byte, it is not trusted. What the programs of its hooks are is not part of
 *   what it says.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Sandbox from "../../src/Sandbox.ts"
import type { CommandHook } from "./CommandHooks.ts"
import * as JsonText from "./internal/JsonText.ts"
import * as Rules from "./Rules.ts"

const list = (description: string) => Schema.optionalKey(Schema.Array(Schema.String).annotate({ description }))

const HookEntry = Schema.Struct({
  name: Schema.NonEmptyString,
  tool: Schema.optionalKey(Schema.NonEmptyString),
  command: Schema.NonEmptyArray(Schema.NonEmptyString),
  timeoutMs: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 }))),
  /** As on the command line: `workspace,no-network`. */
  sandbox: Schema.optionalKey(Schema.String)
})

const hooks = (description: string) => Schema.optionalKey(Schema.Array(HookEntry).annotate({ description }))

/**
 * What a file of rules says.
 *
 * @category models
 * @since 0.1.0
 */
export const RuleFile = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String),
  allow: list("What is done without asking."),
  ask: list("What is asked for, also where an allow matches."),
  deny: list("What is not done, also where an allow or an ask matches."),
  before: hooks("Commands that are asked before all rules, in their order."),
  after: hooks("Commands that are told of what has succeeded, in their order.")
})

/**
 * A hook of a file. A program whose name has a slash in it stands beside the file, unless it is absolute.
 *
 * @category models
 * @since 0.1.0
 */
export interface Hook extends CommandHook {
  readonly when: "before" | "after"
  readonly position: Rules.Position
}

/**
 * What a file says, read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Contents {
  readonly rules: ReadonlyArray<Rules.Rule>
  readonly hooks: ReadonlyArray<Hook>
}

/**
 * The file cannot be understood. None of its rules is in force.
 *
 * @category errors
 * @since 0.1.0
 */
export class RuleFileInvalid extends Schema.TaggedError<RuleFileInvalid>()("RuleFileInvalid", {
  position: Rules.Position,
  why: Schema.String
}) {
  override get message() {
    const { column, line, source } = this.position
    return `${source}:${line}:${column}: ${this.why}. None of its rules is in force.`
  }
}

/**
 * UTF-16 code units of a file. More takes seconds to read; less refuses nothing that a person wrote.
 */
const longest = 1_000_000

/**
 * Reads a file of rules.
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (
  text: string,
  options: {
    /** The file's name in errors and explanations. */
    readonly source: string
    readonly kinds?: Rules.Kinds | undefined
  }
): Result.Result<Contents, RuleFileInvalid | Rules.RuleInvalid> => {
  const { kinds, source } = options
  const position = locator(text, source)
  const invalid = (offset: number, why: string) => Result.fail(new RuleFileInvalid({ position: position(offset), why }))
  if (text.length > longest) return invalid(0, `it has ${text.length} UTF-16 code units, at most ${longest} are read`)
  const json = JsonText.parse(text)
  if (Result.isFailure(json)) return invalid(json.failure.offset, json.failure.why)
  const decoded = decode(JsonText.toValue(json.success))
  if (Result.isFailure(decoded)) {
    const [issue] = format(decoded.failure.issue).issues
    const path = (issue?.path ?? []).map((key) => (typeof key === "object" ? key.key : key))
    return invalid(JsonText.locate(json.success, path), explain(issue?.message ?? decoded.failure.message, path))
  }
  const rules: Array<Rules.Rule> = []
  for (const { action, node } of texts(json.success)) {
    const rule = Rules.parse(node.value, {
      action,
      kinds,
      locate: (offset) => position(node.offsets[offset] ?? node.offset)
    })
    if (Result.isFailure(rule)) return Result.fail(rule.failure)
    rules.push(rule.success)
  }
  const hooks: Array<Hook> = []
  for (const when of ["before", "after"] as const)
    for (const [index, hook] of (decoded.success[when] ?? []).entries()) {
      const at = (...path: ReadonlyArray<PropertyKey>) => JsonText.locate(json.success, [when, index, ...path])
      const tool = Rules.parse(hook.tool ?? "*", { action: "ask", locate: () => position(at("tool")) })
      if (Result.isFailure(tool)) return Result.fail(tool.failure)
      if (tool.success.pattern !== undefined)
        return invalid(at("tool"), "a hook is for a tool as a whole; leave the parentheses out")
      const { sandbox: written, ...rest } = hook
      const sandbox = Sandbox.parse(written ?? "off")
      if (Result.isFailure(sandbox)) return invalid(at("sandbox"), sandbox.failure)
      hooks.push({ ...rest, sandbox: sandbox.success, when, position: position(at()) })
    }
  return Result.succeed({ rules, hooks })
}

const decode = Schema.decodeUnknownResult(RuleFile, { onExcessProperty: "error" })

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const names = Object.keys(RuleFile.fields)

const explain = (message: string, path: ReadonlyArray<PropertyKey>): string => {
  const [name, , field] = path
  if (typeof name !== "string" || isAction(name))
    return `${message}; write lists of rules, as in "deny": ["bash(rm *)"]`
  if (!names.includes(name)) return `there is no ${JSON.stringify(name)} here; use ${names.slice(1).join(", ")}`
  const fields = Object.keys(HookEntry.fields)
  if (typeof field === "string" && !fields.includes(field))
    return `there is no ${JSON.stringify(field)} in a hook; use ${fields.join(", ")}`
  const form = `"${name}": [{"name": "x", "tool": "bash", "command": ["./x.sh"]}]`
  return `${field === undefined ? "" : `${String(field)}: `}${message}; write hooks, as in ${form}`
}

const isAction = (name: string): name is Rules.Action => name === "allow" || name === "ask" || name === "deny"

const texts = (json: JsonText.Json) =>
  json._tag !== "Object"
    ? []
    : json.members.flatMap(({ name, value }) =>
        isAction(name) && value._tag === "Array"
          ? value.items.flatMap((node) => (node._tag === "String" ? [{ action: name, node }] : []))
          : []
      )

/** Lines end as editors count them. */
const locator = (text: string, source: string) => {
  const starts = [0, ...Array.from(text.matchAll(/\r\n|\n|\r/g), (end) => end.index + end[0].length)]
  return (offset: number): Rules.Position => {
    const line = starts.findLastIndex((start) => start <= offset)
    return { source, line: line + 1, column: offset - (starts[line] ?? 0) + 1 }
  }
}

/**
 * Where rules come from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source extends Contents {
  /**
   * `user`: from the user's own configuration, or from a flag. `workspace`: from a file that was found where the tools
   * work, and that anybody may have written.
   */
  readonly origin: "user" | "workspace"
  /** The same for the same file, such as its path: trust is given to it. */
  readonly file: string
  /** Of what it says, by `hash`. */
  readonly hash: string
}

/**
 * The files that the user trusts, with the hash of what they said then.
 *
 * @category models
 * @since 0.1.0
 */
export type Trust = ReadonlyMap<string, string>

/**
 * @category models
 * @since 0.1.0
 */
export interface Merged {
  readonly rules: Rules.Rules
  readonly hooks: ReadonlyArray<Hook>
  /** Allows and hooks that are left out, because their file is not trusted. */
  readonly untrusted: Contents
}

/**
 * Puts the rules of all sources in force together. Their order means nothing for rules; hooks keep it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const merge = (sources: Iterable<Source>, trust: Trust): Merged => {
  const all = Array.from(sources)
  const [held, left] = [
    all.filter((source) => standing(source, trust) === "trusted"),
    all.filter((source) => standing(source, trust) !== "trusted")
  ]
  const rules = (sources: ReadonlyArray<Source>) => sources.flatMap(({ rules }) => rules)
  const hooks = (sources: ReadonlyArray<Source>) => sources.flatMap(({ hooks }) => hooks)
  const loosens = ({ action }: Rules.Rule) => action === "allow"
  return {
    rules: Rules.make([...rules(held), ...rules(left).filter((rule) => !loosens(rule))]),
    hooks: hooks(held),
    untrusted: { rules: rules(left).filter(loosens), hooks: hooks(left) }
  }
}

/**
 * Whether a source is trusted; `changed`, if it is not what it was when the user trusted it.
 *
 * @category comparing
 * @since 0.1.0
 */
export const standing = (
  { file, hash, origin }: Pick<Source, "file" | "hash" | "origin">,
  trust: Trust
): "trusted" | "changed" | "unknown" => {
  if (origin === "user") return "trusted"
  const known = trust.get(file)
  return known === undefined ? "unknown" : known === hash ? "trusted" : "changed"
}

/**
 * What a trusted file says, in short: SHA-256 of its text in UTF-8, in hex.
 *
 * @category converting
 * @since 0.1.0
 */
export const hash = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
  )
