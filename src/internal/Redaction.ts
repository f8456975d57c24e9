/**
 * What must not be seen of a JSON value: the parts that its schema declares as
 * `Schema.Redacted`.
 *
 * @since 0.1.0
 */
import * as Hash from "effect/Hash"
import type * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import { codec } from "./JsonCodec.ts"

type Redact = (json: unknown) => unknown

/** Replaces what is redacted. Undefined where nothing is. */
export const make = (schema: Schema.Top): Redact | undefined => of(codec(schema).ast, new Map())

/**
 * Two equal secrets look equal, and nothing else is told of them. Of 32 bits no secret can be found again: too many
 * others have the same.
 */
const hidden: Redact = (json) =>
  json === undefined ? undefined : `[redacted #${(Hash.string(JSON.stringify(json) ?? "") >>> 0).toString(16)}]`

const isRedacted = (ast: SchemaAST.AST): boolean =>
  ast._tag === "Declaration" &&
  (ast.annotations?.["representation"] as { readonly id?: unknown } | undefined)?.id === "effect/schema/Redacted"

/** Recursive schemas are looked at once; while they are, they count as redacted nowhere. */
const of = (ast: SchemaAST.AST, known: Map<SchemaAST.AST, Redact | undefined>): Redact | undefined => {
  if (known.has(ast)) return known.get(ast)
  // What refers to itself finds its own rule when there is one.
  let rule: Redact | undefined
  known.set(ast, (json) => (rule === undefined ? json : rule(json)))
  rule = ruleOf(ast, known)
  known.set(ast, rule)
  return rule
}

const ruleOf = (ast: SchemaAST.AST, known: Map<SchemaAST.AST, Redact | undefined>): Redact | undefined => {
  if (isRedacted(ast)) return hidden
  const below = structureOf(ast, known)
  // What is encoded in another form hides all of it: where in that form the secret is, is not known.
  return below !== undefined && ast.encoding !== undefined ? hidden : below
}

const structureOf = (ast: SchemaAST.AST, known: Map<SchemaAST.AST, Redact | undefined>): Redact | undefined => {
  switch (ast._tag) {
    case "Objects": {
      const fields = new Map<string, Redact>()
      for (const { name, type } of ast.propertySignatures) {
        const rule = of(type, known)
        if (rule !== undefined) fields.set(String(name), rule)
      }
      const others = ast.indexSignatures.flatMap(({ type }) => of(type, known) ?? [])
      if (fields.size === 0 && others.length === 0) return undefined
      return (json) =>
        typeof json !== "object" || json === null || Array.isArray(json)
          ? json
          : Object.fromEntries(
              Object.entries(json).map(([key, value]) => {
                const rule = fields.get(key)
                return [key, rule === undefined ? others.reduce((value, rule) => rule(value), value) : rule(value)]
              })
            )
    }
    case "Arrays": {
      const elements = ast.elements.map((element) => of(element, known))
      const rest = ast.rest.flatMap((element) => of(element, known) ?? [])
      if (rest.length === 0 && elements.every((rule) => rule === undefined)) return undefined
      return (json) =>
        !Array.isArray(json)
          ? json
          : json.map((item: unknown, index) =>
              index < elements.length
                ? (elements[index]?.(item) ?? item)
                : rest.reduce((item, rule) => rule(item), item)
            )
    }
    case "Union": {
      // Which member it was is not asked: what one of them hides is hidden.
      const members = ast.types.flatMap((type) => of(type, known) ?? [])
      return members.length === 0 ? undefined : (json) => members.reduce((value, rule) => rule(value), json)
    }
    case "Suspend":
      return of(ast.thunk(), known)
    case "Declaration":
      return ast.typeParameters.some((parameter) => of(parameter, known) !== undefined) ? hidden : undefined
    default:
      return undefined
  }
}
