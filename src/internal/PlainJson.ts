/**
 * Values that are their own JSON form: structs of strings, booleans, literals, and numbers
 * that have one, of each other, and arrays and unions of them. A codec looks at each
 * part in turn and takes three times as long, which is what a small call, and progress
 * in small pieces, cost most.
 *
 * @since 0.1.0
 */
import type * as SchemaAST from "effect/SchemaAST"

/**
 * A copy, or undefined for what only the codec can decode, encode or refuse.
 *
 * @internal
 */
export type Copy = (value: unknown) => object | undefined

type Test = (value: unknown) => boolean

interface Plain {
  readonly copy: Copy
  /** Whether the codec is sure to refuse a value. */
  readonly refuses: Test
}

interface Field {
  readonly key: string
  readonly test: Test
}

interface Inner {
  readonly key: string
  readonly copy: Copy
}

// Counted loops: in code that runs seldom, and is not optimised, an iterator makes an object for each step.

/**
 * Decodes, and encodes, as the codec does; undefined where the schema is not of that kind. A value with a key that the
 * schema does not know is left to the codec.
 *
 * @internal
 */
export const make = (codec: SchemaAST.AST): Copy | undefined => plainOf(codec)?.copy

const plainOf = (ast: SchemaAST.AST): Plain | undefined => {
  if (!isBare(ast) || ast.checks !== undefined) return undefined
  switch (ast._tag) {
    case "Objects":
      return structOf(ast)
    case "Arrays":
      return arrayOf(ast)
    case "Union":
      return unionOf(ast)
    default:
      return undefined
  }
}

const structOf = (ast: SchemaAST.Objects): Plain | undefined => {
  if (ast.indexSignatures.length > 0 || ast.propertySignatures.length === 0) return undefined
  const required: Array<Field> = []
  const optional: Array<Field> = []
  const inner: Array<Inner> = []
  for (const { name, type } of ast.propertySignatures) {
    if (typeof name !== "string" || name === "__proto__") return undefined
    let test = testOf(type)
    if (test === undefined) {
      const plain = plainOf(type)
      if (plain !== undefined) {
        inner.push({ key: name, copy: plain.copy })
        test = isObject
      }
    }
    if (type.context?.isOptional === true) optional.push({ key: name, test: test ?? never })
    else if (test === undefined) return undefined
    else required.push({ key: name, test })
  }
  const flat = (value: unknown): Record<string, unknown> | undefined => {
    if (!isFields(value)) return undefined
    let known = required.length
    for (let i = 0; i < required.length; i++) if (!required[i]!.test(value[required[i]!.key])) return undefined
    for (let i = 0; i < optional.length; i++) {
      const { key, test } = optional[i]!
      if (!(key in value)) continue
      if (!test(value[key])) return undefined
      known++
    }
    // Not one key more: an own one would be copied, and an inherited one would not.
    const copied = { ...value }
    let keys = 0
    for (const _key in copied) keys++
    return keys === known ? copied : undefined
  }
  const deep: Copy = (value) => {
    const copied = flat(value)
    if (copied === undefined) return undefined
    for (let i = 0; i < inner.length; i++) {
      const { copy, key } = inner[i]!
      if (!(key in copied)) continue
      const part = copy(copied[key])
      if (part === undefined) return undefined
      copied[key] = part
    }
    return copied
  }
  const refuses: Test = (value) => !isFields(value) || required.some(({ key, test }) => !test(value[key]))
  const copy = inner.length === 0 ? flat : deep
  return ast.propertySignatures.every(({ type }) => type.checks === undefined)
    ? { copy, refuses }
    : { copy: guarded(copy, undefined), refuses: guarded(refuses, false) }
}

const arrayOf = ({ elements, rest: [item, ...rest] }: SchemaAST.Arrays): Plain | undefined => {
  if (item === undefined || elements.length > 0 || rest.length > 0) return undefined
  const test = testOf(item)
  const copyOf =
    test === undefined ? plainOf(item)?.copy : guarded((value: unknown) => (test(value) ? value : undefined), undefined)
  if (copyOf === undefined) return undefined
  const copy: Copy = (value) => {
    if (!Array.isArray(value)) return undefined
    const copied: Array<unknown> = []
    for (const item of value) {
      const part = copyOf(item)
      if (part === undefined) return undefined
      copied.push(part)
    }
    return copied
  }
  return { copy, refuses: (value) => !Array.isArray(value) }
}

/** The first that fits is that of the codec, too: those before it are sure to be refused. */
const unionOf = ({ options, types }: SchemaAST.Union): Plain | undefined => {
  const members = types.map(plainOf).filter((plain) => plain !== undefined)
  if (options?.mode === "oneOf" || members.length < types.length) return undefined
  const copy: Copy = (value) => {
    for (const { copy, refuses } of members) {
      const copied = copy(value)
      if (copied !== undefined) return copied
      if (!refuses(value)) return undefined
    }
    return undefined
  }
  return { copy, refuses: (value) => members.every(({ refuses }) => refuses(value)) }
}

/** A check, which is code of somebody else, may throw: it does so again in the codec, which tells it. */
const guarded =
  <A>(f: (value: unknown) => A, otherwise: A): ((value: unknown) => A) =>
  (value) => {
    try {
      return f(value)
    } catch {
      return otherwise
    }
  }

/** Nothing is to be done but to look at its type, and to check it. */
const isBare = (ast: SchemaAST.AST): boolean =>
  ast.encoding === undefined &&
  !("encodingChecks" in ast && ast.encodingChecks !== undefined) &&
  ast.annotations?.["parseOptions"] === undefined

// One function for all fields of a type: each is called in one place, which then calls few.
const isString: Test = (value) => typeof value === "string"
const isNumber: Test = (value) => typeof value === "number"
const isBoolean: Test = (value) => typeof value === "boolean"
const isNull: Test = (value) => value === null
const isObject: Test = (value) => typeof value === "object" && value !== null
/** An array is no struct, even of one that requires nothing. */
const isFields = (value: unknown): value is Record<string, unknown> => isObject(value) && !Array.isArray(value)
const never: Test = () => false

const testOf = (ast: SchemaAST.AST): Test | undefined => {
  if (!isBare(ast)) return undefined
  const test = typeTestOf(ast)
  return test === undefined || ast.checks === undefined ? test : checked(test, ast, ast.checks)
}

const typeTestOf = (ast: SchemaAST.AST): Test | undefined => {
  switch (ast._tag) {
    case "String":
      return isString
    case "Number":
      return isNumber
    case "Boolean":
      return isBoolean
    case "Literal":
      return typeof ast.literal === "string" ? (value) => value === ast.literal : undefined
    case "Null":
      return isNull
    case "Union": {
      const literals = ast.types.flatMap((type) =>
        type._tag === "Literal" && typeof type.literal === "string" && isBare(type) && type.checks === undefined
          ? [type.literal]
          : []
      )
      if (literals.length === ast.types.length) return (value) => literals.includes(value as string)
      const tests = ast.types.map(testOf).filter((test) => test !== undefined)
      return ast.options?.mode !== "oneOf" && tests.length === ast.types.length
        ? (value) => tests.some((test) => test(value))
        : undefined
    }
    default:
      return undefined
  }
}

const checked = (test: Test, ast: SchemaAST.AST, checks: SchemaAST.Checks): Test => {
  const filters = filtersOf(checks)
  return (value) => {
    if (!test(value)) return false
    for (const filter of filters) if (filter.run(value, ast, byDefault) !== undefined) return false
    return true
  }
}

const byDefault: SchemaAST.ParseOptions = {}

const filtersOf = (checks: ReadonlyArray<SchemaAST.Check<any>>): ReadonlyArray<SchemaAST.Filter<any>> =>
  checks.flatMap((check) => (check._tag === "Filter" ? [check] : filtersOf(check.checks)))
