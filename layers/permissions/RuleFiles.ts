/**
 * Files of rules.
 *
 * ```jsonc
 * {
 *   // A deny goes before an ask, an ask before an allow.
 *   "allow": ["read_file", "bash(git status *)"],
 *   "ask": ["write_file(**)"],
 *   "deny": ["bash(rm *)", "read_file(/**\/.env)"]
 * }
 * ```
 *
 * **Contract**
 *
 * - A file is in force as a whole or not at all. One that cannot be understood is a failure, not a file without rules:
 *   what it denies would be allowed.
 * - A file that was found in a workspace only tightens: its allows are left out until the user has trusted that file,
 *   with what it says. Changed by one byte, it is not trusted.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as JsonText from "./internal/JsonText.ts"
import * as Rules from "./Rules.ts"

const list = (description: string) => Schema.optionalKey(Schema.Array(Schema.String).annotate({ description }))

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
  deny: list("What is not done, also where an allow or an ask matches.")
})

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
): Result.Result<ReadonlyArray<Rules.Rule>, RuleFileInvalid | Rules.RuleInvalid> => {
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
  return Result.succeed(rules)
}

const decode = Schema.decodeUnknownResult(RuleFile, { onExcessProperty: "error" })

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const names = Object.keys(RuleFile.fields)

const explain = (message: string, path: ReadonlyArray<PropertyKey>): string => {
  const [name] = path
  if (typeof name !== "string" || names.includes(name))
    return `${message}; write lists of rules, as in "deny": ["bash(rm *)"]`
  return `there is no ${JSON.stringify(name)} here; use ${names.slice(1).join(", ")}`
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
export interface Source {
  /**
   * `user`: from the user's own configuration, or from a flag. `workspace`: from a file that was found where the tools
   * work, and that anybody may have written.
   */
  readonly origin: "user" | "workspace"
  /** The same for the same file, such as its path: trust is given to it. */
  readonly file: string
  /** Of what it says, by `hash`. */
  readonly hash: string
  readonly rules: ReadonlyArray<Rules.Rule>
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
  /** Allows that are left out, because their file is not trusted. */
  readonly untrusted: ReadonlyArray<Rules.Rule>
}

/**
 * Puts the rules of all sources in force together. Their order means nothing.
 *
 * @category combinators
 * @since 0.1.0
 */
export const merge = (sources: Iterable<Source>, trust: Trust): Merged => {
  const judged = Array.from(sources).flatMap((source) =>
    source.rules.map((rule) => ({ rule, holds: rule.action !== "allow" || isTrusted(source, trust) }))
  )
  return {
    rules: Rules.make(judged.flatMap(({ holds, rule }) => (holds ? [rule] : []))),
    untrusted: judged.flatMap(({ holds, rule }) => (holds ? [] : [rule]))
  }
}

const isTrusted = ({ file, hash, origin }: Source, trust: Trust): boolean =>
  origin === "user" || trust.get(file) === hash

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
