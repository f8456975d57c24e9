/**
 * The JSON form of a schema: its codec, its JSON Schema, and the words for what
 * does not decode.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { hasSucceeded } from "./Done.ts"
import type { InvalidParameters } from "../ToolError.ts"
import { below, keysOf } from "./JsonSchemaNode.ts"
import * as KnownKeys from "./KnownKeys.ts"
import * as PlainJson from "./PlainJson.ts"
import { unknownProperty } from "./UnknownProperty.ts"

type Issues = InvalidParameters["issues"]

/** The one cast of erasure: the services of a tool's schemas are those of its layer. */
export const codec = (schema: Schema.Top) => Schema.toCodecJson(schema) as unknown as Schema.Codec<unknown, unknown>

/**
 * What fails to encode does so with the issue, in text.
 *
 * @internal
 */
export interface Encoder {
  (value: unknown): Effect.Effect<unknown, SchemaIssue.Issue>
  /** What it does first, for whoever encodes many values: it makes nothing but the value. */
  readonly plain?: PlainJson.Copy
}

/** @internal */
export const encoder = (schema: Schema.Top): Encoder => {
  const json = codec(schema)
  const rest = SchemaParser.encodeUnknownEffect(json)
  const plain = PlainJson.make(json.ast)
  if (plain === undefined) return rest
  const encode = (value: unknown) => {
    const encoded = plain(value)
    return encoded === undefined ? rest(value) : Exit.succeed(encoded)
  }
  return Object.assign(encode, { plain })
}

/**
 * What `encoder` wrote is read by this.
 *
 * @internal
 */
export const reader = (schema: Schema.Top): ((json: unknown) => Effect.Effect<unknown, SchemaIssue.Issue>) => {
  const json = codec(schema)
  const rest = SchemaParser.decodeUnknownEffect(json)
  const plain = PlainJson.make(json.ast)
  if (plain === undefined) return rest
  return (value) => {
    const read = plain(value)
    return read === undefined ? rest(value) : Exit.succeed(read)
  }
}

/** @internal */
export const formatLines = SchemaIssue.makeFormatterDefault()

/**
 * Decodes fast, and refuses keys that the schema does not know; only what fails is
 * decoded again, to name all its issues.
 *
 * @internal
 */
export const decoder = (
  schema: Schema.Top,
  described: () => JsonSchema.JsonSchema
): ((value: unknown) => Effect.Effect<unknown, Issues>) => {
  const json = codec(schema)
  const decode = SchemaParser.decodeUnknownEffect(json)
  const plain = PlainJson.make(json.ast)
  const knowsKeysOf = KnownKeys.test(json.ast)
  const strict: SchemaAST.ParseOptions = { onExcessProperty: "error" }
  const all: SchemaAST.ParseOptions = { onExcessProperty: "error", errors: "all" }
  return (value) => {
    const copy = plain?.(value)
    if (copy !== undefined) return Exit.succeed(copy)
    const first = knowsKeysOf?.(value) === true ? decode(value) : decode(value, strict)
    return hasSucceeded(first)
      ? Exit.succeed(first.value)
      : Effect.catch(first, () => Effect.mapError(decode(value, all), (issue) => issuesOf(issue, described())))
  }
}

/** Stands for an unexpected key until its siblings are known: no schema has such a message. */
const unexpected = "\u0000unexpected"

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) =>
    leaf._tag === "UnexpectedKey" || (leaf._tag === "InvalidType" && leaf.ast._tag === "Never")
      ? unexpected
      : leaf._tag === "MissingKey"
        ? "is required"
        : SchemaIssue.defaultLeafHook(leaf)
})

const issuesOf = (issue: SchemaIssue.Issue, described: JsonSchema.JsonSchema): Issues =>
  format(issue).issues.map(({ message, path: segments = [] }) => {
    const path = segments.map((segment) => {
      const key = typeof segment === "object" ? segment.key : segment
      return typeof key === "number" ? key : String(key)
    })
    return { path, message: message === unexpected ? unknownKey(path, described) : message }
  })

const unknownKey = (path: ReadonlyArray<string | number>, described: JsonSchema.JsonSchema): string => {
  const place = path.slice(0, -1).reduce<JsonSchema.JsonSchema>((node, key) => below(node, key, described), described)
  return unknownProperty(String(path.at(-1)), keysOf(place, described))
}

/**
 * JSON Schema 2020-12 of what `codec` reads and writes, with the root inlined:
 * clients expect an object there, not a reference.
 *
 * @internal
 */
export const describe = (schema: Schema.Top): JsonSchema.JsonSchema => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  const { $ref, ...siblings } = root
  const name = typeof $ref === "string" ? $ref.replace("#/$defs/", "") : undefined
  const inlined = name === undefined ? root : { ...definitions[name], ...siblings }
  const used = reachable(inlined, definitions)
  return used.length === 0
    ? inlined
    : { ...inlined, $defs: Object.fromEntries(used.map((key) => [key, definitions[key]])) }
}

/** The definitions that a schema refers to, directly or not. */
const reachable = (
  root: JsonSchema.JsonSchema,
  definitions: Readonly<Record<string, JsonSchema.JsonSchema>>
): Array<string> => {
  const found = new Set<string>()
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return
    const name = "$ref" in node && typeof node.$ref === "string" ? node.$ref.replace("#/$defs/", "") : undefined
    if (name !== undefined && name in definitions && !found.has(name)) {
      found.add(name)
      visit(definitions[name])
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(root)
  return [...found]
}

/**
 * Where a schema holds a value that has no JSON form: the path to it, or
 * undefined. Deriving a codec for it would not fail before the first value does.
 *
 * @internal
 */
export const withoutCodec = (schema: Schema.Top): string | undefined => {
  const seen = new Set<SchemaAST.AST>()
  const visit = (ast: SchemaAST.AST, path: string): string | undefined => {
    if (seen.has(ast)) return undefined
    seen.add(ast)
    const link = ast.encoding?.at(-1)
    if (link !== undefined) return visit(link.to, path)
    const first = (children: Iterable<[SchemaAST.AST, string]>): string | undefined => {
      for (const [child, at] of children) {
        const found = visit(child, at)
        if (found !== undefined) return found
      }
      return undefined
    }
    switch (ast._tag) {
      case "Declaration":
        return typeof (ast.annotations?.toCodecJson ?? ast.annotations?.toCodec) === "function"
          ? first(ast.typeParameters.map((parameter) => [parameter, path]))
          : path
      case "Objects":
        return first([
          ...ast.propertySignatures.map(({ name, type }): [SchemaAST.AST, string] => [type, `${path}.${String(name)}`]),
          ...ast.indexSignatures.map(({ type }): [SchemaAST.AST, string] => [type, `${path}[]`])
        ])
      case "Arrays":
        return first([...ast.elements, ...ast.rest].map((type) => [type, `${path}[]`]))
      case "Union":
        return first(ast.types.map((type) => [type, path]))
      case "Suspend":
        return visit(ast.thunk(), path)
      default:
        return undefined
    }
  }
  return visit(schema.ast, "")
}
