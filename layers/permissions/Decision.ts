/**
 * What rules say of a call, and why.
 *
 * **Contract**
 *
 * - Another deny or ask never makes a decision looser, another allow never makes it stricter.
 *   From strict to loose: denied, asked, undecided, allowed.
 * - A command line that is not literal is not allowed by rules, whatever they say.
 * - It is pure: paths are resolved by whoever asks, before.
 *
 * @since 0.1.0
 */
import * as CommandPattern from "./internal/CommandPattern.ts"
import * as HostPattern from "./internal/HostPattern.ts"
import * as PathPattern from "./internal/PathPattern.ts"
import { concerns, type Rule, type Rules } from "./Rules.ts"
import type * as ShellCommand from "./ShellCommand.ts"

/**
 * Where relative patterns begin, and those with a tilde: absolute paths, resolved.
 *
 * @category models
 * @since 0.1.0
 */
export type Places = PathPattern.Places

/**
 * A path that a call is about: absolute, links resolved, without `.` and `..`. One that is not is never allowed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target {
  readonly path: string
  /** The call is about what lies beneath it, too. */
  readonly beneath: boolean
}

/**
 * What is asked for.
 *
 * @category models
 * @since 0.1.0
 */
export type Subject =
  /** Nothing that a pattern could be about. */
  | { readonly _tag: "Whole" }
  | { readonly _tag: "Paths"; readonly targets: ReadonlyArray<Target> }
  | { readonly _tag: "Hosts"; readonly hosts: ReadonlyArray<string> }
  | {
      readonly _tag: "Command"
      readonly analysis: ShellCommand.Analysis
      /** By the target of a redirection, the path to which it leads. One that is missing is never allowed. */
      readonly resolved: ReadonlyMap<string, string>
    }

/**
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly tool: string
  readonly subject: Subject
  readonly places: Places
}

/**
 * A part of a call, and the rule that it is under.
 *
 * @category models
 * @since 0.1.0
 */
export interface Match {
  readonly rule: Rule
  /** The command, the path or the host; the name of the tool for a rule about all of it. */
  readonly part: string
}

/**
 * A part of a call that no rule allows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Open {
  readonly part: string
  readonly why: string
}

/**
 * @category models
 * @since 0.1.0
 */
export type Decision =
  | { readonly _tag: "Denied"; readonly by: Match }
  | { readonly _tag: "Asked"; readonly by: Match }
  | { readonly _tag: "Allowed"; readonly by: ReadonlyArray<Match> }
  | { readonly _tag: "Undecided"; readonly open: ReadonlyArray<Open> }

/**
 * @category deciding
 * @since 0.1.0
 */
export const decide = (rules: Rules, request: Request): Decision => {
  const concerned = (list: ReadonlyArray<Rule>) => list.filter((rule) => concerns(rule, request.tool))
  const [deny, ask, allow] = [concerned(rules.deny), concerned(rules.ask), concerned(rules.allow)]
  const denied = firstMatch(deny, request)
  if (denied !== undefined) return { _tag: "Denied", by: denied }
  const asked = firstMatch(ask, request)
  if (asked !== undefined) return { _tag: "Asked", by: asked }
  const verdicts = [
    ...doubts([...deny, ...ask], request).map(({ part, why }): Verdict => ({ _tag: "Open", part, why })),
    ...needed(request).map((piece): Verdict => allowed(allow, piece, request))
  ]
  const open = verdicts.flatMap((verdict) => (verdict._tag === "Open" ? [verdict] : []))
  return open.length > 0
    ? { _tag: "Undecided", open: open.map(({ part, why }) => ({ part, why })) }
    : {
        _tag: "Allowed",
        by: verdicts.flatMap((verdict) =>
          verdict._tag === "Match" ? [{ rule: verdict.rule, part: verdict.part }] : []
        )
      }
}

/**
 * The decision in lines that a person reads.
 *
 * @category converting
 * @since 0.1.0
 */
export const explain = (decision: Decision): ReadonlyArray<string> => {
  switch (decision._tag) {
    case "Denied":
      return [`denied: ${explainMatch(decision.by)}`]
    case "Asked":
      return [`asks: ${explainMatch(decision.by)}`]
    case "Allowed":
      return decision.by.map((match) => `allowed: ${explainMatch(match)}`)
    case "Undecided":
      return decision.open.map(({ part, why }) => `no rule allows ${part}: ${why}`)
  }
}

const explainMatch = ({ part, rule: { action, position, text } }: Match): string =>
  `${part} is under ${action} ${text} (${position.source}:${position.line}:${position.column})`

type Verdict = ({ readonly _tag: "Match" } & Match) | ({ readonly _tag: "Open" } & Open)

/** What a rule is compared with. */
type Piece =
  | { readonly _tag: "Whole" }
  | { readonly _tag: "Path"; readonly target: Target }
  | { readonly _tag: "Host"; readonly host: string }
  | { readonly _tag: "Part"; readonly part: ShellCommand.Part; readonly resolved: string | undefined }

const whole: Piece = { _tag: "Whole" }

const pieces = ({ subject }: Request): ReadonlyArray<Piece> => {
  switch (subject._tag) {
    case "Whole":
      return [whole]
    case "Paths":
      return orWhole(subject.targets.map((target) => ({ _tag: "Path", target })))
    case "Hosts":
      return orWhole(subject.hosts.map((host) => ({ _tag: "Host", host })))
    case "Command":
      return subject.analysis.parts.map((part): Piece => ({
        _tag: "Part",
        part,
        resolved: part._tag === "Redirection" ? subject.resolved.get(part.target) : undefined
      }))
  }
}

/** Nothing would be under every rule. */
const orWhole = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> => (pieces.length === 0 ? [whole] : pieces)

/** What must be allowed. Of a call about nothing that is known, the call itself. */
const needed = (request: Request): ReadonlyArray<Piece> => {
  const needed = pieces(request).filter((piece) => piece._tag !== "Part" || needsAllow(piece.part))
  return needed.length === 0 ? [whole] : needed
}

const needsAllow = (part: ShellCommand.Part): boolean => {
  switch (part._tag) {
    case "Command":
      return !part.transparent
    case "Assignment":
      return !part.harmless
    case "Redirection":
      return part.kind !== "read"
  }
}

const describe = (piece: Piece, { tool }: Request): string => {
  switch (piece._tag) {
    case "Whole":
      return tool
    case "Path":
      return piece.target.path
    case "Host":
      return piece.host
    case "Part":
      return piece.part.text
  }
}

const firstMatch = (rules: ReadonlyArray<Rule>, request: Request): Match | undefined => {
  const all = pieces(request)
  for (const rule of rules) {
    const piece = rule.pattern === undefined ? whole : all.find((piece) => matches(rule, piece, request.places, "some"))
    if (piece !== undefined) return { rule, part: describe(piece, request) }
  }
  return undefined
}

const allowed = (rules: ReadonlyArray<Rule>, piece: Piece, request: Request): Verdict => {
  const part = describe(piece, request)
  if (piece._tag === "Path" && !PathPattern.isResolved(piece.target.path))
    return { _tag: "Open", part, why: "it is not known where it leads" }
  const rule = rules.find((rule) => rule.pattern === undefined || matches(rule, piece, request.places, "every"))
  return rule === undefined ? { _tag: "Open", part, why: whyOpen(piece) } : { _tag: "Match", rule, part }
}

const whyOpen = (piece: Piece): string => {
  if (piece._tag !== "Part") return "there is no rule for it"
  const { part, resolved } = piece
  switch (part._tag) {
    case "Assignment":
      return "a variable that is set needs a rule of its own"
    case "Redirection":
      return part.kind === "network"
        ? "a connection is allowed by no pattern"
        : resolved === undefined
          ? "it is not known where it leads"
          : "a file that the shell writes needs a rule of its own"
    case "Command": {
      const spelled = [...part.spelled].flatMap((index) => {
        const word = part.arguments[index]
        return word === undefined ? [] : [word._tag === "Literal" ? word.value : word.text]
      })
      return spelled.length === 0
        ? "there is no rule for it"
        : `it may run or write more than it says; a rule must spell out ${spelled.join(" ")}`
    }
  }
}

/** Why a call may be under a deny or an ask, although it cannot be told. */
const doubts = (rules: ReadonlyArray<Rule>, request: Request): ReadonlyArray<Open> => {
  const { subject, places } = request
  const unread =
    subject._tag === "Command" ? subject.analysis.notLiteral.map(({ text, why }) => ({ part: text, why })) : []
  return [
    ...unread,
    ...pieces(request).flatMap((piece) =>
      rules.flatMap((rule) =>
        matches(rule, piece, places, "possible")
          ? [{ part: describe(piece, request), why: `it may be under ${rule.action} ${rule.text}` }]
          : []
      )
    )
  ]
}

const matches = (rule: Rule, piece: Piece, places: Places, how: CommandPattern.Strictness): boolean => {
  const { pattern } = rule
  if (pattern === undefined) return false
  // A call of a tool that has rules about its parameters, of which none was told.
  if (piece._tag === "Whole") return how === "possible"
  switch (pattern._tag) {
    case "Path": {
      if (piece._tag !== "Path") return false
      const comparison = { fold: how !== "every" }
      const { beneath, path } = piece.target
      if (how === "every" && beneath && !PathPattern.coversBelow(pattern.path)) return false
      return how === "possible" && beneath
        ? PathPattern.reachesBelow(pattern.path, path, places, comparison)
        : PathPattern.matches(pattern.path, path, places, comparison)
    }
    case "Host":
      return piece._tag === "Host" && HostPattern.matches(pattern.host, piece.host)
    case "Command":
      return piece._tag === "Part" && matchesPart(pattern.command, piece, places, how)
  }
}

const matchesPart = (
  pattern: CommandPattern.CommandPattern,
  { part, resolved }: Extract<Piece, { readonly _tag: "Part" }>,
  places: Places,
  how: CommandPattern.Strictness
): boolean => {
  switch (pattern._tag) {
    case "Command":
      return part._tag === "Command" && CommandPattern.matchesCommand(pattern.tokens, part, how)
    case "Assignment":
      return part._tag === "Assignment" && CommandPattern.matchesAssignment(pattern.name, pattern.value, part, how)
    case "Redirection":
      return (
        part._tag === "Redirection" &&
        CommandPattern.matchesRedirection(pattern.kind, pattern.path, part, resolved, places, how)
      )
  }
}
