/**
 * What rules say of a prepared call: its paths are resolved, its command line is read,
 * and the rules are asked.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PreparedCall } from "../../src/ToolMiddleware.ts"
import type { Judge, Verdict } from "../Permissions.ts"
import * as Decision from "./Decision.ts"
import * as Offer from "./Offer.ts"
import * as Rules from "./Rules.ts"

/** With the parser of the shell, which most calls do without. */
const shell = Effect.promise(() => import("./ShellCommand.ts"))

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly rules: Rules.Rules
  /** The home directory, for patterns with a tilde. */
  readonly home: string
  /** What the parameters of tools are. Default: those of the tools of this package. */
  readonly kinds?: Rules.Kinds | undefined
}

/**
 * What is decided of a call, with the patterns that were granted before.
 *
 * @category models
 * @since 0.1.0
 */
export type Decide = (
  prepared: Pick<PreparedCall, "parameters" | "session" | "tool">,
  granted: ReadonlyArray<string>
) => Effect.Effect<Decided>

/**
 * @category models
 * @since 0.1.0
 */
export interface Decided {
  readonly decision: Decision.Decision
  /** What could be granted, if nothing is decided. */
  readonly pattern: string | undefined
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* ({ home, kinds = Rules.kinds, rules }: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path

  /** Where a path leads, links resolved, also if nothing is there yet. Undefined if that cannot be known. */
  const real = (absolute: string): Effect.Effect<string | undefined> =>
    Effect.matchEffect(fs.realPath(absolute), {
      onSuccess: Effect.succeed,
      onFailure: ({ reason }) => {
        const parent = path.dirname(absolute)
        if (reason._tag !== "NotFound" || parent === absolute) return Effect.undefined
        return Effect.flatMap(
          Effect.option(fs.readLink(absolute)),
          // A link that leads nowhere would be followed by whoever writes to it.
          (link) =>
            link._tag === "Some"
              ? Effect.undefined
              : Effect.map(real(parent), (parent) => parent && path.join(parent, path.basename(absolute)))
        )
      }
    })

  const places = (workspace: string) =>
    Effect.map(Effect.all([real(path.resolve(workspace)), real(home)]), ([at, home_]) => ({
      workspace: at ?? path.resolve(workspace),
      home: home_ ?? home
    }))

  const subject = Effect.fnUntraced(function* (
    { parameters, tool }: Parameters<Decide>[0],
    workspace: string
  ): Effect.fn.Return<Decision.Subject> {
    const kind = Object.hasOwn(kinds, tool.name) ? kinds[tool.name] : undefined
    const given = new Map(Object.entries(typeof parameters === "object" && parameters !== null ? parameters : {}))
    const text = (key: string) => {
      const value = given.get(key)
      return typeof value === "string" ? value : undefined
    }
    switch (kind) {
      case "command": {
        const command = text("command")
        if (command === undefined) return { _tag: "Whole" }
        const from = path.resolve(workspace, text("cwd") ?? ".")
        const elsewhere = (yield* real(from)) !== workspace
        const { analyse } = yield* shell
        const analysis = analyse(command, {
          cwd: elsewhere ? text("cwd") : undefined,
          env: record(given.get("env"))
        })
        const resolved = new Map<string, string>()
        for (const part of analysis.parts) {
          if (part._tag !== "Redirection" || part.kind === "network") continue
          const target = yield* real(path.resolve(from, part.target))
          if (target !== undefined) resolved.set(part.target, target)
        }
        return { _tag: "Command", analysis, resolved }
      }
      case "host": {
        const url = text("url")
        return { _tag: "Hosts", hosts: url !== undefined && URL.canParse(url) ? [new URL(url).hostname] : [] }
      }
      case "path": {
        const used = tool.resources?.(parameters)
        const files = [...(used?.reads ?? []), ...(used?.writes ?? [])].flatMap((resource) =>
          typeof resource === "string" ? [] : [resource.file]
        )
        const beneath = files.length === 0
        const asked = beneath ? [text("path") ?? "."] : files
        const targets = yield* Effect.forEach(asked, (file) => {
          const absolute = path.resolve(workspace, file)
          // One that is not resolved is allowed by no rule.
          return Effect.map(real(absolute), (resolved) => ({ path: resolved ?? file, beneath }))
        })
        return { _tag: "Paths", targets }
      }
      case undefined:
        return { _tag: "Whole" }
    }
  })

  const decide: Decide = Effect.fnUntraced(function* (prepared, granted) {
    const where = yield* places(prepared.session.workspace)
    const inForce =
      granted.length === 0 ? rules : { ...rules, allow: [...rules.allow, ...Offer.granted(granted, kinds)] }
    const request = {
      tool: prepared.tool.name,
      subject: yield* subject(prepared, where.workspace),
      places: where
    }
    const decision = Decision.decide(inForce, request)
    return {
      decision,
      pattern: decision._tag === "Undecided" ? Offer.make(inForce, request, kinds) : undefined
    }
  })
  return decide
})

/**
 * Rules that are written in the program: what says of them whether they are valid is
 * `RuleInvalid`.
 *
 * ```ts
 * RuleVerdict.fromTexts({ allow: ["bash(git status *)"], deny: ["bash(rm *)"], home: "/home/me" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromTexts = Effect.fnUntraced(function* (
  options: Omit<Options, "rules"> & {
    readonly allow?: ReadonlyArray<string> | undefined
    readonly ask?: ReadonlyArray<string> | undefined
    readonly deny?: ReadonlyArray<string> | undefined
  }
) {
  const { allow = [], ask = [], deny = [], ...rest } = options
  const parse = (action: Rules.Action) => (text: string, index: number) =>
    Effect.fromResult(
      Rules.parse(text, {
        action,
        kinds: rest.kinds,
        locate: (offset) => ({ source: action, line: index + 1, column: offset + 1 })
      })
    )
  const rules = [
    ...(yield* Effect.forEach(allow, parse("allow"))),
    ...(yield* Effect.forEach(ask, parse("ask"))),
    ...(yield* Effect.forEach(deny, parse("deny")))
  ]
  return toJudge(yield* make({ ...rest, rules: Rules.make(rules) }))
})

/**
 * As the middleware takes it.
 *
 * @category converting
 * @since 0.1.0
 */
export const toJudge =
  (decide: Decide): Judge =>
  (prepared, granted) =>
    Effect.map(decide(prepared, granted), toVerdict)

const toVerdict = ({ decision, pattern }: Decided): Verdict => {
  const why = Decision.explain(decision)
  switch (decision._tag) {
    case "Denied":
      return { _tag: "Denied", by: "a rule", why: why.join("; ") }
    case "Asked":
      return { _tag: "Asked", why }
    case "Undecided":
      return { _tag: "Undecided", why, pattern }
    case "Allowed":
      return { _tag: "Allowed" }
  }
}

/** The texts of an object. */
const record = (value: unknown): Readonly<Record<string, string>> =>
  typeof value !== "object" || value === null
    ? {}
    : Object.fromEntries(
        Object.entries(value).flatMap(([key, text]) => (typeof text === "string" ? [[key, text]] : []))
      )
