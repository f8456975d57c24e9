/**
 * Rules: what tools may do without asking, what they must ask for, and what they may not do.
 *
 * **Form**
 *
 * A rule names a tool, and what of it is meant:
 *
 * - `read_file`, `mcp__github__*`, `*`: every call of the tool, of tools by a beginning, of all.
 * - `write_file(src/**)`: calls on paths. Relative patterns begin in the workspace, `~/…` in the home directory, `/…` at
 *   the root; `*` and `?` stay within a name, `**` is any number of names.
 * - `web_fetch(*.example.com)`: calls to hosts below that one; the host itself is a rule of its own.
 * - `bash(git status *)`: a command. `*` at the end is any arguments, between others exactly one, `**` any number anywhere.
 *   `bash(> build/**)` and `bash(< secrets/**)`: files that the shell itself writes and reads. `bash(FOO=*)`: a variable
 *   that is set.
 *
 * **Order**
 *
 * A deny goes before an ask, an ask before an allow, whatever the order in which they stand. A deny or an ask holds if
 * anything of a call matches; calls are allowed if all of it is matched by some allow.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as PlainText from "../../src/PlainText.ts"
import * as CommandPattern from "./internal/CommandPattern.ts"
import * as HostPattern from "./internal/HostPattern.ts"
import * as PathPattern from "./internal/PathPattern.ts"

/**
 * @category models
 * @since 0.1.0
 */
export type Action = "allow" | "ask" | "deny"

/**
 * Where a rule stands: the name of a file, or of a flag such as `--allow`; line and column from 1, in UTF-16 code units.
 *
 * @category models
 * @since 0.1.0
 */
export const Position = Schema.Struct({ source: Schema.String, line: Schema.Natural, column: Schema.Natural })

/**
 * @category models
 * @since 0.1.0
 */
export type Position = typeof Position.Type

/**
 * What the pattern of a rule is compared with.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = "command" | "path" | "host"

/**
 * By tool, what its rules may say in parentheses. A tool that is not named is allowed or denied as a whole.
 *
 * @category models
 * @since 0.1.0
 */
export type Kinds = Readonly<Record<string, Kind>>

/**
 * Of the tools of this package.
 *
 * @category constants
 * @since 0.1.0
 */
export const kinds: Kinds = {
  apply_patch: "path",
  bash: "command",
  build: "command",
  edit_file: "path",
  glob: "path",
  grep: "path",
  list_dir: "path",
  monitor: "command",
  read_file: "path",
  web_fetch: "host",
  write_file: "path"
}

/**
 * @category models
 * @since 0.1.0
 */
export type Pattern =
  | { readonly _tag: "Command"; readonly command: CommandPattern.CommandPattern }
  | { readonly _tag: "Path"; readonly path: PathPattern.PathPattern }
  | { readonly _tag: "Host"; readonly host: HostPattern.HostPattern }

/**
 * @category models
 * @since 0.1.0
 */
export interface Rule {
  readonly action: Action
  /** As it was written. */
  readonly text: string
  /** The name of a tool, in which `*` is any text. */
  readonly tool: string
  /** Without one, every call of the tool is meant. */
  readonly pattern: Pattern | undefined
  readonly position: Position
}

/**
 * Rules of which the order in which they were written no longer shows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rules {
  readonly deny: ReadonlyArray<Rule>
  readonly ask: ReadonlyArray<Rule>
  readonly allow: ReadonlyArray<Rule>
}

/**
 * A rule cannot be understood. None of the rules that it stands among is in force.
 *
 * @category errors
 * @since 0.1.0
 */
export class RuleInvalid extends Schema.TaggedError<RuleInvalid>()("RuleInvalid", {
  rule: Schema.String,
  position: Position,
  why: Schema.String
}) {
  override get message() {
    const { column, line, source } = this.position
    return `${source}:${line}:${column}: the rule ${PlainText.makeLine(PlainText.take(this.rule, 200))} is not valid: ${this.why}.`
  }
}

/**
 * UTF-16 code units of a rule. More is not read by the person whose rule it is; less refuses commands that are spelled out.
 */
const longest = 2_000

/**
 * Reads a rule.
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (
  text: string,
  options: {
    readonly action: Action
    /** Where the text stands, by the offset in it in UTF-16 code units. */
    readonly locate: (offset: number) => Position
    /** Default: those of the tools of this package. */
    readonly kinds?: Kinds | undefined
  }
): Result.Result<Rule, RuleInvalid> => {
  const { action, kinds: known = kinds, locate } = options
  const invalid = (offset: number, why: string) =>
    Result.fail(new RuleInvalid({ rule: text, position: locate(offset), why }))
  if (text.length > longest) return invalid(0, `it has ${text.length} UTF-16 code units, at most ${longest} are read`)
  const [tool] = /^[^(]*/.exec(text) ?? [""]
  const odd = /[^\w.:/*-]/.exec(tool)
  if (tool === "") return invalid(0, "it names no tool; begin with one, as in bash(git status *), or with *")
  if (odd !== null)
    return invalid(odd.index, `a tool's name has no ${JSON.stringify(odd[0])}; write it as in bash(git status *)`)
  const rule = (pattern: Pattern | undefined): Rule => ({ action, text, tool, pattern, position: locate(0) })
  if (tool === text) return Result.succeed(rule(undefined))
  if (!text.endsWith(")")) return invalid(text.length, 'it does not end with ")"; nothing follows the parentheses')
  const kind = Object.hasOwn(known, tool) ? known[tool] : undefined
  if (kind === undefined)
    return invalid(
      tool.length,
      `nothing is known of the parameters of ${tool}; leave the parentheses out, or use a tool of ${Object.keys(known).join(", ")}`
    )
  return Result.mapBoth(parsePattern(kind, text.slice(tool.length + 1, -1)), {
    onFailure: ({ offset, why }) => new RuleInvalid({ rule: text, position: locate(tool.length + 1 + offset), why }),
    onSuccess: rule
  })
}

const parsePattern = (kind: Kind, text: string): Result.Result<Pattern, PathPattern.Misplaced> => {
  switch (kind) {
    case "command":
      return Result.map(CommandPattern.parse(text), (command) => ({ _tag: "Command", command }))
    case "path":
      return Result.map(PathPattern.parse(text), (path) => ({ _tag: "Path", path }))
    case "host":
      return Result.map(HostPattern.parse(text), (host) => ({ _tag: "Host", host }))
  }
}

/**
 * Puts rules in force together. Their order means nothing, and neither does a rule that is there twice.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (rules: Iterable<Rule>): Rules => {
  const sorted = Array.from(rules).toSorted((a, b) => compare(key(a), key(b)))
  const of = (action: Action) => sorted.filter((rule) => rule.action === action)
  return { deny: of("deny"), ask: of("ask"), allow: of("allow") }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Sorts by where rules stand, and is never the same for two different ones. */
const key = ({ position: { column, line, source }, text }: Rule): string =>
  JSON.stringify([source, String(line).padStart(9, "0"), String(column).padStart(9, "0"), text])

/**
 * Whether the rule is one about this tool.
 *
 * @category comparing
 * @since 0.1.0
 */
export const concerns = ({ tool }: Rule, name: string): boolean => namesTool(tool, name)

/**
 * Whether a name in which `*` is any text is that of a tool.
 *
 * @category comparing
 * @since 0.1.0
 */
export const namesTool = (pattern: string, name: string): boolean => {
  const [first = "", ...rest] = pattern.split("*")
  const last = rest.pop()
  if (last === undefined) return pattern === name
  if (!name.startsWith(first)) return false
  const at = rest.reduce((at, piece) => {
    const found = at < 0 ? -1 : name.indexOf(piece, at)
    return found < 0 ? -1 : found + piece.length
  }, first.length)
  return at >= 0 && name.length - last.length >= at && name.endsWith(last)
}
