/**
 * `JsonSchemaValidator`, answered by ajv.
 *
 * ajv writes each validator as JavaScript and evaluates it with `new Function`: where
 * code generation is forbidden (a strict content security policy, some edge runtimes)
 * every schema is unusable. What a stranger's schema could do with that is bounded
 * here: its size before anything is generated, its patterns by an engine that is linear
 * in the text, the work of a validation by a budget.
 *
 * @since 0.1.0
 */
import { Ajv as Ajv07, type ErrorObject, type Options, _ } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { RE2JS } from "re2js"
import {
  type Dialect,
  dialectOf,
  type IgnoredPattern,
  type Issue,
  JsonSchemaValidator,
  UnusableSchema,
  type Validator
} from "../src/JsonSchemaValidator.ts"
import * as PlainText from "../src/PlainText.ts"
import { isNode, mapChildren, type Node, pointer } from "../src/SchemaTree.ts"
import * as Similarity from "../src/Similarity.ts"

/**
 * What a foreign schema may cost.
 *
 * @category constants
 * @since 0.1.0
 */
export const limits = {
  /** Code units of its JSON text. Less refuses servers that describe at length; more is more to copy than any model reads. */
  text: 262_144,
  /** Schemas in it. A compile takes about 0.15 ms for each and blocks the process meanwhile; less refuses large APIs. */
  schemas: 2000,
  /** Schemas inside one another. More comes near the end of the stack in the compiler. */
  depth: 64,
  /** References. Each chain of them nests the compiler, too. */
  references: 500,
  /**
   * References followed in one validation, 20 ns each at least. Two references to one schema, twenty times over, are a
   * million: less refuses values of some size for recursive schemas, more blocks the process for seconds.
   */
  steps: 1_000_000,
  /**
   * Instructions of the patterns times code units of the texts they run on, in one validation, up to 60 ns each. What
   * goes beyond counts as a match: less gives up on ordinary lists of texts, more blocks the process for seconds.
   */
  patternWork: 20_000_000,
  /** Code units of a pattern. More compiles for longer than it will ever save. */
  pattern: 512,
  /** Instructions of all patterns, about 4 µs each to compile; `[a-z]{1000}` is a thousand. Those beyond are not asserted. */
  patternSize: 20_000,
  /** Issues that are told. A model corrects a few at a time; all of them could fill its context. */
  issues: 50
}

const base: Options = {
  strict: false,
  validateFormats: false,
  allErrors: true,
  verbose: true,
  // Otherwise every object has a "constructor" and a "toString".
  ownProperties: true,
  // A schema that is referred to a hundred times would be written a hundred times.
  inlineRefs: false,
  logger: false,
  meta: false,
  validateSchema: false,
  addUsedSchema: false
}

const make = Effect.sync(() => {
  const metaSchemas = new Map<Dialect, (schema: unknown) => string | undefined>()
  /** What the meta-schema has to say. It is compiled once, at first use: that takes 50 ms. */
  const misfit = (dialect: Dialect, schema: unknown): UnusableSchema | undefined => {
    let check = metaSchemas.get(dialect)
    if (check === undefined) metaSchemas.set(dialect, (check = metaSchema(dialect)))
    const found = check(schema)
    return found === undefined ? undefined : unusable("NotASchema", found, "this is not what the keyword takes")
  }

  const compile = (schema: unknown): Validator => {
    if (schema === true) return Object.assign(() => [], { ignored: [] })
    if (schema === false)
      return Object.assign(() => [{ path: [], message: "nothing is allowed here" }], { ignored: [] })
    const own = copy(schema)
    const dialect = dialectOf(own)
    const budget = { steps: 0, work: 0 }
    const patterns = measure(own, budget)
    const wrong = misfit(dialect, own)
    if (wrong !== undefined) throw wrong
    const ignored = [...patterns.values()].flatMap((pattern) => ("why" in pattern ? [pattern] : []))
    const ajv = engine(dialect, patterns, budget)
    const validate = ajv.compile<unknown>(relax(own, dialect, patterns, ignored.length > 0).node as Node)
    return Object.assign(
      (value: unknown): ReadonlyArray<Issue> => {
        budget.steps = limits.steps
        budget.work = limits.patternWork
        return Result.match(
          Result.try(() => (validate(value) ? [] : (validate.errors ?? []))),
          {
            onSuccess: (errors) => issuesOf(errors, value),
            onFailure: () => [{ path: [], message: "is nested too deeply, or in too many ways, to be checked" }]
          }
        )
      },
      { ignored }
    )
  }

  return JsonSchemaValidator.of({
    compile: (schema) =>
      // Compiling blocks: let others run between two schemas of a server.
      Effect.andThen(Effect.yieldNow, Effect.try({ try: () => compile(schema), catch: reasonOf }))
  })
})

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<JsonSchemaValidator> = Layer.effect(JsonSchemaValidator, make)

const unusable = (reason: UnusableSchema["reason"], at: string, detail: string) =>
  new UnusableSchema({ reason, at: PlainText.take(at, 200), detail: PlainText.makeLine(PlainText.take(detail, 300)) })

const reasonOf = (thrown: unknown): UnusableSchema => {
  if (thrown instanceof UnusableSchema) return thrown
  if (thrown instanceof RangeError) return unusable("TooLarge", "#", "its references are nested too deeply")
  if (thrown instanceof Ajv07.MissingRefError || thrown instanceof Ajv2020.MissingRefError) {
    return missing("#", thrown.missingRef)
  }
  return unusable("NotASchema", "#", thrown instanceof Error ? thrown.message : String(thrown))
}

const missing = (at: string, reference: string) =>
  unusable(
    "MissingReference",
    at,
    `"${reference}" refers to nothing in the schema, and nothing is loaded from elsewhere`
  )

/** JSON of its own, which nobody changes later. */
const copy = (schema: unknown): Node => {
  if (!isNode(schema)) throw unusable("NotASchema", "#", "a schema is an object or a boolean")
  const text = JSON.stringify(schema)
  if (text.length > limits.text) {
    throw unusable("TooLarge", "#", `it has ${text.length} code units, the limit is ${limits.text}`)
  }
  return JSON.parse(text)
}

/** A pattern as it runs, or why it does not. */
type Pattern = { readonly test: (text: string) => boolean } | IgnoredPattern

/** What is left of a validation's limits. */
interface Budget {
  steps: number
  work: number
}

/** Walks the schema once: counts, refuses what ajv would misread, compiles the patterns. */
const measure = (root: Node, budget: Budget): ReadonlyMap<string, Pattern> => {
  const patterns = new Map<string, Pattern>()
  let schemas = 0
  let references = 0
  let size = 0
  const compiled = (pattern: string, at: string): Pattern => {
    if (pattern.length > limits.pattern) return { at, pattern, why: `it is longer than ${limits.pattern} code units` }
    const why = `the patterns of the schema have more than ${limits.patternSize} instructions`
    if (size > limits.patternSize) return { at, pattern, why }
    const found = compilePattern(pattern, at)
    if ("why" in found) return found
    const cost = found.programSize()
    size += cost
    if (size > limits.patternSize) return { at, pattern, why }
    return {
      test: (text) => {
        const work = cost * text.length
        if (work > budget.work) return true
        budget.work -= work
        return found.test(text)
      }
    }
  }
  const visit = (node: Node, at: string, depth: number): void => {
    if (++schemas > limits.schemas) throw unusable("TooLarge", at, `it holds more than ${limits.schemas} schemas`)
    if (depth > limits.depth) throw unusable("TooLarge", at, `schemas are nested more than ${limits.depth} deep`)
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const reference = node[keyword]
      if (typeof reference !== "string") continue
      if (++references > limits.references) {
        throw unusable("TooLarge", at, `it holds more than ${limits.references} references`)
      }
      if (inherited(root, reference)) throw missing(at, reference)
    }
    const found = isNode(node["patternProperties"]) ? Object.keys(node["patternProperties"]) : []
    for (const pattern of typeof node["pattern"] === "string" ? [...found, node["pattern"]] : found) {
      if (!patterns.has(pattern)) patterns.set(pattern, compiled(pattern, at))
    }
    mapChildren(node, (child, path) => {
      if (path[1] === "__proto__") throw unusable("NotASchema", at, "ajv cannot validate a property named __proto__")
      if (isNode(child)) visit(child, pointer(at, path), depth + 1)
      else if (typeof child === "boolean") schemas++
    })
  }
  visit(root, "#", 0)
  return patterns
}

/** ajv looks references up in plain objects, where it finds a `constructor`. */
const inherited = (root: Node, reference: string): boolean => {
  const [base = "", ...keys] = reference.split(/#?\//)
  if (reference.replace(/#.*$/s, "") in Object.prototype) return true
  let here: unknown = base === "" ? root : undefined
  return keys.some((key) => {
    const own = typeof here === "object" && here !== null && Object.hasOwn(here, key)
    here = own ? Object.getOwnPropertyDescriptor(here, key)?.value : undefined
    return !own && key in Object.prototype
  })
}

const compilePattern = (pattern: string, at: string): RE2JS | IgnoredPattern =>
  Result.match(
    Result.try(() => RE2JS.compile(RE2JS.translateRegExp(pattern))),
    {
      onSuccess: (compiled): RE2JS | IgnoredPattern => compiled,
      onFailure: (thrown) => {
        const why = thrown instanceof Error ? thrown.message : String(thrown)
        // Parsed, never run: look-around and back references are patterns, and cannot be run in linear time.
        if (isRegExp(pattern, "u") || isRegExp(pattern, "")) return { at, pattern, why }
        throw unusable("InvalidPattern", at, `"${pattern}" is no regular expression: ${why}`)
      }
    }
  )

const isRegExp = (pattern: string, flags: string) => Result.isSuccess(Result.try(() => new RegExp(pattern, flags)))

/** A schema that accepts all that the original accepts; `loose` if it may accept more. */
interface Relaxed {
  readonly node: unknown
  readonly loose: boolean
}

/**
 * Leaves out what ajv takes for more than an unknown keyword, and the patterns that are
 * not asserted, with whatever would turn accepting more into accepting less.
 */
const relax = (schema: unknown, dialect: Dialect, patterns: ReadonlyMap<string, Pattern>, some: boolean): Relaxed => {
  if (!isNode(schema)) return { node: schema, loose: false }
  const ignored = (pattern: string) => "why" in (patterns.get(pattern) ?? {})
  // Where a reference leads is not looked at: where some pattern is ignored, it may be there.
  let loose = some && ("$ref" in schema || "$dynamicRef" in schema)
  const looseIn = new Set<string>()
  const children = mapChildren(schema, (child, [keyword]) => {
    const relaxed = relax(child, dialect, patterns, some)
    if (relaxed.loose) looseIn.add(keyword)
    // What is in definitions counts where it is referred to.
    if (relaxed.loose && keyword !== "$defs" && keyword !== "definitions") loose = true
    return relaxed.node
  })
  const { $async: _async, $schema: _schema, id: _id, nullable, ...rest } = children
  const node: Record<string, unknown> = rest
  // ajv ignores all else that is beside a $ref in draft-07.
  if (dialect === "draft-07" && "$ref" in node) delete node["type"]
  if (nullable === true && "type" in node) node["nullable"] = true
  if (typeof node["pattern"] === "string" && ignored(node["pattern"])) {
    delete node["pattern"]
    loose = true
  }
  if (isNode(node["patternProperties"])) {
    const entries = Object.entries(node["patternProperties"])
    const run = entries.filter(([pattern]) => !ignored(pattern))
    if (run.length < entries.length) {
      // The empty pattern: any property may be one of those, and is not additional.
      node["patternProperties"] = { "": true, ...Object.fromEntries(run) }
      loose = true
    }
  }
  if (looseIn.has("not")) delete node["not"]
  if (looseIn.has("if")) delete node["if"]
  if (looseIn.has("contains")) delete node["maxContains"]
  if (looseIn.has("oneOf")) {
    node["allOf"] = [...(Array.isArray(node["allOf"]) ? node["allOf"] : []), { anyOf: node["oneOf"] }]
    delete node["oneOf"]
  }
  return { node, loose }
}

const engine = (dialect: Dialect, patterns: ReadonlyMap<string, Pattern>, budget: Budget) => {
  const regExp = Object.assign(
    (pattern: string) => {
      const compiled = patterns.get(pattern)
      // The empty one stands for those that are ignored. ajv keeps patterns apart by their text.
      return {
        test: compiled !== undefined && "test" in compiled ? compiled.test : () => true,
        toString: () => JSON.stringify(pattern)
      }
    },
    { code: "re2js" }
  )
  const options: Options = { ...base, code: { regExp, optimize: false } }
  // In draft-07 nothing beside a $ref counts.
  const ajv = dialect === "2020-12" ? new Ajv2020(options) : new Ajv07({ ...options, ignoreKeywordsWithRef: true })
  linearUniqueItems(ajv)
  const step = () => {
    if (--budget.steps < 0) throw new RangeError("too many steps")
  }
  for (const keyword of ["$ref", "$dynamicRef"]) {
    const rule = ajv.RULES.all[keyword]
    if (typeof rule !== "object" || !("code" in rule.definition) || rule.definition.code === undefined) continue
    const { code } = rule.definition
    rule.definition = {
      ...rule.definition,
      code: (context, ruleType) => {
        context.gen.code(_`${context.gen.scopeValue("func", { ref: step })}()`)
        code(context, ruleType)
      }
    }
  }
  return ajv
}

/** That of ajv compares every item with every other one. */
const linearUniqueItems = (ajv: Ajv07 | Ajv2020) =>
  ajv.removeKeyword("uniqueItems").addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    errors: false,
    validate: (unique: boolean, items: ReadonlyArray<unknown>) =>
      !unique || new Set(items.map(canonical)).size === items.length
  })

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, item) =>
    isNode(item) ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1))) : item
  )

const metaSchema = (dialect: Dialect): ((schema: unknown) => string | undefined) => {
  const options: Options = { ...base, meta: true, allErrors: false, verbose: false }
  const ajv = dialect === "2020-12" ? new Ajv2020(options) : new Ajv07(options)
  linearUniqueItems(ajv)
  const check = ajv.getSchema(
    dialect === "2020-12" ? "https://json-schema.org/draft/2020-12/schema" : "http://json-schema.org/draft-07/schema"
  )
  return (schema) =>
    check === undefined || check(schema) === true ? undefined : `#${check.errors?.[0]?.instancePath ?? ""}`
}

// -----------------------------------------------------------------------------
// Words
// -----------------------------------------------------------------------------

const issuesOf = (errors: ReadonlyArray<ErrorObject>, value: unknown): ReadonlyArray<Issue> => {
  const told = new Map<string, Issue>()
  const unions = new Set(errors.filter(isUnion).map((error) => error.instancePath))
  for (const [index, error] of errors.entries()) {
    // Before words are found for it: a large result may have a hundred thousand.
    if (told.size === limits.issues) {
      return [...told.values(), { path: [], message: `there may be ${errors.length - index} more issues` }]
    }
    // The union says it for all its members.
    if (error.keyword === "type" && unions.has(error.instancePath)) continue
    const message = messageOf(error, errors)
    if (message === undefined) continue
    const { missingProperty, additionalProperty, unevaluatedProperty } = error.params
    const key: unknown = missingProperty ?? additionalProperty ?? unevaluatedProperty ?? error.propertyName
    const path = pathOf(error.instancePath, value)
    const issue = { path: typeof key === "string" ? [...path, key] : path, message }
    told.set(JSON.stringify(issue), issue)
  }
  return [...told.values()]
}

const isUnion = ({ keyword, params }: ErrorObject) =>
  keyword === "anyOf" || (keyword === "oneOf" && !Array.isArray(params["passingSchemas"]))

/** Undefined where another error says it better. */
const messageOf = (error: ErrorObject, errors: ReadonlyArray<ErrorObject>): string | undefined => {
  const { data, instancePath, keyword, params, parentSchema } = error
  const { limit } = params
  switch (keyword) {
    case "required":
      return "is required"
    case "dependentRequired":
    case "dependencies":
      return `is required together with ${quote(params["property"])}`
    case "additionalProperties":
    case "unevaluatedProperties": {
      const keys = Object.keys(parentSchema?.["properties"] ?? {})
      const name: unknown = params["additionalProperty"] ?? params["unevaluatedProperty"]
      if (keys.length === 0) return "is not known; no properties are"
      const meant = keys.length > maxCompared ? undefined : Similarity.meant(String(name), keys)
      return meant === undefined
        ? `is not known; there are ${list(keys)}`
        : `is not known; did you mean ${list([meant])}? There are ${list(keys)}`
    }
    case "type":
      return `expected ${list([params["type"]].flat(), " or ")}, got ${kindOf(data)}`
    case "enum":
      return `expected one of ${list(params["allowedValues"].map(quote))}`
    case "const":
      return `expected ${quote(params["allowedValue"])}`
    case "minimum":
    case "exclusiveMinimum":
    case "maximum":
    case "exclusiveMaximum":
      return `expected a number ${params["comparison"]} ${limit}`
    case "multipleOf":
      return `expected a multiple of ${params["multipleOf"]}`
    case "minLength":
    case "maxLength":
      return `expected ${bound(keyword)} ${limit} code points`
    case "minItems":
    case "maxItems":
      return `expected ${bound(keyword)} ${limit} items`
    case "minProperties":
    case "maxProperties":
      return `expected ${bound(keyword)} ${limit} keys`
    case "pattern":
      return `expected text that matches ${quote(params["pattern"])}`
    case "uniqueItems":
      return "expected no item twice"
    case "contains":
      return "expected other items, or another number of them"
    case "additionalItems":
    case "unevaluatedItems":
    case "items":
      return `expected ${bound("maxItems")} ${params["limit"] ?? params["len"]} items`
    case "propertyNames":
      return undefined
    case "if":
      return undefined
    case "anyOf":
    case "oneOf": {
      if (!isUnion(error)) return "fits more than one of the forms of which it must have one"
      const types = errors.flatMap((other) =>
        other.keyword === "type" && other.instancePath === instancePath ? [other.params["type"]].flat() : []
      )
      return types.length === 0
        ? "has none of the forms it may have"
        : `has none of the forms it may have; expected ${list([...new Set(types)], " or ")}, got ${kindOf(data)}`
    }
    case "not":
      return "has a form it must not have"
    case "false schema":
      return "is not allowed"
    default:
      return error.message ?? `does not fit ${keyword}`
  }
}

/** Names that an unknown one is compared with. It takes up to 0.1 ms each, and a schema may have thousands. */
const maxCompared = 100

const bound = (keyword: string) => (keyword.startsWith("min") ? "at least" : "at most")

const quote = (value: unknown): string => {
  const text = PlainText.makeLine(JSON.stringify(value) ?? "nothing")
  return text.length <= 80 ? text : `${PlainText.take(text, 80)}…`
}

const list = (names: ReadonlyArray<string>, separator = ", "): string => {
  const shown = names.slice(0, 30).map((name) => PlainText.take(PlainText.makeLine(name), 80))
  return shown.join(separator) + (names.length > shown.length ? ` and ${names.length - shown.length} more` : "")
}

const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

/** Of a JSON Pointer; only the value tells whether `0` is an index. */
const pathOf = (instancePath: string, value: unknown): ReadonlyArray<string | number> => {
  let here = value
  return instancePath
    .split("/")
    .slice(1)
    .map((part) => {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~")
      const step = Array.isArray(here) ? Number(key) : key
      here = typeof here === "object" && here !== null ? Object.getOwnPropertyDescriptor(here, key)?.value : undefined
      return step
    })
}
