/**
 * Tools of strangers: an MCP server, a plugin, another process. What is known of one is
 * JSON, and none of it is taken on trust.
 *
 * **Contract**
 *
 * - Parameters and results are validated against the original schemas. What a model is
 *   shown is another thing: an object schema of 2020-12, its texts cleaned and labelled.
 * - The name a model calls it by carries its origin (see `OutwardName`), so it cannot take
 *   the place of a tool of the program.
 * - Its hints are claims. Without any it is taken to write, destroy and reach out.
 * - A result that says it is an error is passed on as it is, whatever its schema says.
 * - `review` keeps what the stranger said, and lists what was changed of it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import { type ErasedTool, fromImplementation } from "./ErasedTool.ts"
import * as ForeignText from "./ForeignText.ts"
import { effectOf, fromBody } from "./internal/Body.ts"
import * as Current from "./internal/Current.ts"
import {
  dialectOf,
  type IgnoredPattern,
  type Issue,
  JsonSchemaValidator,
  UnusableSchema
} from "./JsonSchemaValidator.ts"
import * as OutwardName from "./OutwardName.ts"
import { isNode, type Node } from "./SchemaTree.ts"
import type { AnyDeclaration, Hints } from "./Tool.ts"
import type { CurrentToolCall, ToolCall } from "./ToolCall.ts"
import * as ToolContent from "./ToolContent.ts"
import { fromReason, InvalidOutput, type ToolErrorReason } from "./ToolError.ts"
import type { PreparedCall } from "./ToolMiddleware.ts"
import * as ToolStream from "./ToolStream.ts"

/**
 * What a foreign tool ends with.
 *
 * @category models
 * @since 0.1.0
 */
export interface ForeignResult {
  /** Absent is null, unless there is a schema for it: then it has to be there. */
  readonly value?: Schema.Json | undefined
  /** Default: the JSON of the value, as text. */
  readonly content?: ReadonlyArray<ToolContent.ToolContent> | undefined
  /** The tool says that it failed. Its content is all there is to know, and no schema holds. */
  readonly isError?: boolean | undefined
}

/**
 * What a foreign tool fails with: a message, which becomes a `ToolFailed`, or a reason of
 * which more is known (`Unavailable`, `Lost`, `Unauthorized`…).
 *
 * @category models
 * @since 0.1.0
 */
export type ForeignFailure = string | ToolErrorReason

/**
 * @category models
 * @since 0.1.0
 */
export interface Options<R = never> {
  /** Who says all this: the name of the server, as the user's configuration has it. */
  readonly origin: string
  /** As the origin has it. */
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** JSON Schema of draft-07 or 2020-12, see `JsonSchemaValidator.dialectOf`. Undefined and null take any object. */
  readonly parametersSchema?: unknown
  /** Of `value`. Undefined takes anything. */
  readonly successSchema?: unknown
  readonly progressSchema?: unknown
  readonly hints?: { readonly [K in keyof Hints]?: boolean | undefined } | undefined
  readonly run: (
    parameters: Schema.JsonObject,
    call: ToolCall
  ) =>
    | ToolStream.ToolStream<unknown, ForeignResult, ForeignFailure, R>
    | Effect.Effect<ForeignResult, ForeignFailure, R>
}

/**
 * What a person should see before a foreign tool is trusted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Review {
  /** What the origin says, as it says it. It may carry what acts on a terminal: show it through `ForeignText.escape`. */
  readonly original: Omit<Options, "run">
  readonly changes: ReadonlyArray<ForeignText.Change>
  /** What is not asserted; `at` begins with the name of the schema. */
  readonly ignoredPatterns: ReadonlyArray<IgnoredPattern>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ForeignTool extends ErasedTool {
  readonly review: Review
}

/**
 * A foreign tool cannot be offered. It was left out; others of its origin are untouched.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnusableTool extends Schema.TaggedError<UnusableTool>()("UnusableTool", {
  origin: Schema.String,
  /** Cleaned. */
  tool: Schema.String,
  schema: Schema.Literals(["parameters", "success", "progress"]),
  reason: UnusableSchema
}) {
  override get message() {
    return `The tool "${this.tool}" of "${this.origin}" is left out. Its ${this.schema} schema: ${this.reason.message}`
  }
}

/**
 * Levels of nesting that parameters may have, as those that come as text. More would come
 * near the end of the stack in whatever walks them.
 */
const maxDepth = 200

/**
 * Makes a tool of what a stranger says of it. Schemas are compiled at once: a broken one
 * is known here, by the name of its tool.
 *
 * **Details**
 *
 * The services of `run` are taken from here and win over those of whoever calls;
 * `CurrentToolCall` is the call's.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <R = never>(
  options: Options<R>
): Effect.Effect<ForeignTool, UnusableTool, JsonSchemaValidator | Exclude<R, CurrentToolCall>> =>
  Effect.gen(function* () {
    const within = Current.over(yield* Effect.context<Exclude<R, CurrentToolCall>>())
    const { run, ...original } = options
    const name = yield* OutwardName.make(options)
    const parameters = yield* prepare(options, "parameters", options.parametersSchema, toObject)
    const success = yield* prepare(options, "success", options.successSchema, toCurrent)
    const progress = yield* prepare(options, "progress", options.progressSchema, toCurrent)
    const title = ForeignText.review("title", options.title ?? options.name, {
      max: ForeignText.limits.title,
      line: true
    })
    const description = ForeignText.review("description", options.description ?? "", {
      max: ForeignText.limits.description
    })
    const descriptor = {
      name,
      title: title.text === "" ? name : title.text,
      description: ForeignText.label(options.origin, description.text),
      parametersSchema: parameters.outward,
      progressSchema: progress.outward,
      successSchema: success.outward,
      failureSchema: { type: "string" },
      hints: {
        readOnly: options.hints?.readOnly ?? false,
        destructive: options.hints?.destructive ?? true,
        idempotent: options.hints?.idempotent ?? false,
        openWorld: options.hints?.openWorld ?? true
      }
    }
    const erased = fromImplementation(declare(descriptor, success, progress), {
      execute: ({ keep, parameters, prepared }: Started) =>
        fromBody((emit) =>
          Effect.suspend(() => {
            const body: Effect.Effect<ForeignResult, ForeignFailure, any> = effectOf(
              run(parameters, prepared.call),
              emit
            )
            const provided = Effect.updateContext(body, within) as Effect.Effect<ForeignResult, ForeignFailure>
            return provided.pipe(
              Effect.catch((failure) =>
                typeof failure === "string" ? Effect.fail(failure) : Effect.die(fromReason(prepared.call, failure))
              ),
              Effect.tap((result) => Effect.sync(() => keep(result)))
            )
          })
        )
    })
    return {
      name,
      descriptor,
      isForeign: true,
      review: {
        original,
        changes: [title, description, parameters, success, progress].flatMap(({ changes }) => changes),
        ignoredPatterns: [parameters, success, progress].flatMap(({ ignored }) => ignored)
      },
      decode: (value) => {
        const issues = decode(value, parameters.validate)
        return issues.length === 0 ? Effect.succeed(value) : Effect.fail(issues)
      },
      encodeParameters: Effect.succeed,
      run: (prepared) => report(erased, prepared)
    }
  })

// -----------------------------------------------------------------------------
// Running
// -----------------------------------------------------------------------------

/** What the implementation is given in place of parameters. */
interface Started {
  readonly parameters: Schema.JsonObject
  readonly prepared: PreparedCall
  readonly keep: (result: ForeignResult) => void
}

/** Its value alone is the value; of one that does not fit, the content is what is known. */
const report = (erased: ErasedTool, prepared: PreparedCall): ReturnType<ErasedTool["run"]> =>
  ToolStream.suspend(() => {
    let returned: ForeignResult | undefined
    const started = {
      parameters: prepared.parameters,
      prepared,
      keep: (result: ForeignResult) => {
        returned = result
      }
    }
    const { attempt, call, caller, origin, parametersHash, session, tool } = prepared
    return erased.run({ attempt, call, caller, origin, parametersHash, session, tool, parameters: started }).pipe(
      ToolStream.map((result) => ({ ...result, value: returned?.value ?? null })),
      ToolStream.mapError((error) =>
        error.reason._tag === "InvalidOutput" && error.reason.what === "success" && hasContent(returned)
          ? fromReason(
              call,
              new InvalidOutput({ ...error.reason, partial: { value: null, content: contentOf(returned) } })
            )
          : error
      )
    )
  })

const isContent = Schema.is(Schema.Array(ToolContent.ToolContent))

/** Whatever else does not fit, the content may. */
const hasContent = (result: ForeignResult | undefined): result is ForeignResult =>
  result !== undefined && isContent(result.content)

const contentOf = ({ content, value }: ForeignResult): ReadonlyArray<ToolContent.ToolContent> =>
  content ?? [ToolContent.text(JSON.stringify(value ?? null))]

const declare = (
  { description, hints, name, title }: ErasedTool["descriptor"],
  success: Prepared,
  progress: Prepared
): AnyDeclaration => ({
  toolName: name,
  title,
  description,
  hints,
  parametersSchema: Schema.Unknown,
  progressSchema: Schema.Json.check(Schema.makeFilter((value) => complaint(progress.validate(value)))),
  successSchema: Schema.Struct({
    value: Schema.optional(Schema.Json),
    content: Schema.optional(Schema.Array(ToolContent.ToolContent)),
    isError: Schema.optional(Schema.Boolean)
  }).check(
    Schema.makeFilter((result: ForeignResult) => {
      if (result.isError === true) return undefined
      if (result.value === undefined && success.required) return "it has no structured value, and its schema wants one"
      return complaint(success.validate(result.value ?? null))
    })
  ),
  failureSchema: Schema.String,
  partialSchema: Schema.Json,
  toContent: contentOf,
  toPartialContent: undefined,
  isError: ({ isError }: ForeignResult) => isError ?? false,
  clocks: undefined,
  resources: undefined,
  progressPolicy: undefined,
  mergeProgress: undefined,
  describe: undefined,
  listed: undefined
})

const complaint = (issues: ReadonlyArray<Issue>): string | undefined =>
  issues.length === 0
    ? undefined
    : issues
        .slice(0, 5)
        .map(({ message, path }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`))
        .join("; ")

// -----------------------------------------------------------------------------
// Parameters
// -----------------------------------------------------------------------------

const decode = (value: unknown, validate: Prepared["validate"]): ReadonlyArray<Issue> => {
  if (!isNode(value)) {
    return [
      {
        path: [],
        message: `expected an object, got ${value === null ? "null" : Array.isArray(value) ? "array" : typeof value}`
      }
    ]
  }
  const issue = notJson(value, [])
  return issue === undefined ? validate(value) : [issue]
}

/** Embedders pass values that were never text. A key `__proto__` would set a prototype in whatever copies it. */
const notJson = (value: unknown, path: ReadonlyArray<string | number>): Issue | undefined => {
  if (path.length > maxDepth) return { path: [], message: `is nested more than ${maxDepth} levels deep` }
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined
  if (typeof value === "number")
    return Number.isFinite(value) ? undefined : { path, message: "expected a finite number" }
  const prototype: unknown = typeof value === "object" ? Object.getPrototypeOf(value) : undefined
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) {
    return { path, message: "expected JSON" }
  }
  for (const [key, item] of Object.entries(value as object)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    if (key === "__proto__") return { path: at, message: "is not allowed as a key" }
    const issue = notJson(item, at)
    if (issue !== undefined) return issue
  }
  return undefined
}

// -----------------------------------------------------------------------------
// Schemas
// -----------------------------------------------------------------------------

interface Prepared {
  readonly outward: Node
  /** There is a schema. */
  readonly required: boolean
  readonly validate: (value: unknown) => ReadonlyArray<Issue>
  readonly ignored: ReadonlyArray<IgnoredPattern>
  readonly changes: ReadonlyArray<ForeignText.Change>
}

const prepare = (
  { name, origin }: OutwardName.RawName & { readonly origin: string },
  which: UnusableTool["schema"],
  schema: unknown,
  outwardOf: (schema: unknown) => Node | string
): Effect.Effect<Prepared, UnusableTool, JsonSchemaValidator> =>
  Effect.gen(function* () {
    const { compile } = yield* JsonSchemaValidator
    const validate = yield* compile(schema ?? true)
    const shown = outwardOf(schema ?? true)
    if (typeof shown === "string") return yield* new UnusableSchema({ reason: "NotASchema", at: "#", detail: shown })
    const { changes, schema: outward } = ForeignText.schema(which, shown)
    const { length } = JSON.stringify(outward)
    if (length > ForeignText.limits.schema) {
      const detail = `it has ${length} code units without its texts, the limit is ${ForeignText.limits.schema}`
      return yield* new UnusableSchema({ reason: "TooLarge", at: "#", detail })
    }
    const hidden = ForeignText.hidden(outward)
    if (hidden !== undefined) {
      const detail = `a name in it has characters that nobody sees: ${ForeignText.makeLine(hidden, 100)}`
      return yield* new UnusableSchema({ reason: "NotASchema", at: "#", detail })
    }
    return {
      outward,
      required: schema !== undefined && schema !== null,
      validate: (value: unknown) =>
        validate(value).map(({ message, path }) => ({ path, message: ForeignText.makeLine(message, 500) })),
      ignored: validate.ignored.map((ignored) => ({ ...ignored, at: which + ignored.at })),
      changes
    }
  }).pipe(
    Effect.mapError(
      (reason) =>
        new UnusableTool({
          origin: ForeignText.makeLine(origin, 64),
          tool: ForeignText.makeLine(name, 64),
          schema: which,
          reason
        })
    )
  )

/** The schema in 2020-12, definitions in `$defs`. */
const toCurrent = (schema: unknown): Node => {
  if (!isNode(schema)) return schema === false ? { not: {} } : {}
  const { definitions, schema: root } =
    dialectOf(schema) === "draft-07" ? JsonSchema.fromSchemaDraft07(schema) : JsonSchema.fromSchemaDraft2020_12(schema)
  const { $schema: _, ...rest } = root
  return Object.keys(definitions).length === 0 ? rest : { ...rest, $defs: definitions }
}

/** References that are followed from the root. A cycle of them is no schema of an object. */
const maxReferences = 20

/** As providers take parameters: an object with properties, and no reference at its root. A text says why there is none. */
const toObject = (schema: unknown): Node | string => {
  let root = toCurrent(schema)
  for (let i = 0; typeof root["$ref"] === "string" && i < maxReferences; i++) {
    const { $defs, $ref, ...siblings } = root
    const target = $ref.startsWith("#/$defs/") && isNode($defs) ? $defs[$ref.slice("#/$defs/".length)] : undefined
    // Two sets of keywords cannot be one where both have the same.
    root =
      isNode(target) && !Object.keys(siblings).some((keyword) => Object.hasOwn(target, keyword))
        ? { ...target, ...siblings, $defs }
        : { ...siblings, allOf: [...(Array.isArray(siblings["allOf"]) ? siblings["allOf"] : []), { $ref }], $defs }
  }
  if (Object.hasOwn(root, "$ref")) return "its root refers to itself"
  const types = [root["type"] ?? "object"].flat()
  if (schema === false || !types.includes("object")) return "parameters are an object, and it does not allow one"
  return { ...root, type: "object", properties: root["properties"] ?? {} }
}
