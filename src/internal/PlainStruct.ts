/**
 * Structs that are their own JSON form: of strings, booleans, literals, and numbers
 * that have one. A codec looks at each field in turn and takes three times as long,
 * which is what a small call, and progress in small pieces, cost most.
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

/**
 * Decodes, and encodes, as the codec does; undefined where the schema is not of that kind. A value with a key that the
 * schema does not know is left to the codec.
 *
 * @internal
 */
export const make = (codec: SchemaAST.AST): Copy | undefined => {
  if (codec._tag !== "Objects" || !isBare(codec) || codec.checks !== undefined) return undefined
  if (codec.indexSignatures.length > 0 || codec.propertySignatures.length === 0) return undefined
  const required: Array<readonly [key: string, test: Test]> = []
  const optional: Array<readonly [key: string, test: Test]> = []
  for (const { name, type } of codec.propertySignatures) {
    if (typeof name !== "string" || name === "__proto__") return undefined
    const test = testOf(type)
    if (type.context?.isOptional === true) optional.push([name, test ?? never])
    else if (test === undefined) return undefined
    else required.push([name, test])
  }
  const copy: Copy = (value) => {
    if (typeof value !== "object" || value === null) return undefined
    const fields = value as Record<string, unknown>
    let known = required.length
    for (const [key, test] of required) if (!test(fields[key])) return undefined
    for (const [key, test] of optional) {
      if (!(key in fields)) continue
      if (!test(fields[key])) return undefined
      known++
    }
    // Not one key more: an own one would be copied, and an inherited one would not.
    const copied = { ...fields }
    let keys = 0
    for (const _key in copied) keys++
    return keys === known ? copied : undefined
  }
  return required.length + optional.length === unchecked(codec) ? copy : guarded(copy)
}

/** How many fields have no check, which is code of somebody else. */
const unchecked = ({ propertySignatures }: SchemaAST.Objects) =>
  propertySignatures.filter(({ type }) => type.checks === undefined).length

/** A check that throws does so again in the codec, which tells it. */
const guarded =
  (copy: Copy): Copy =>
  (value) => {
    try {
      return copy(value)
    } catch {
      return undefined
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
    case "Union": {
      const literals: Array<unknown> = []
      for (const type of ast.types) {
        if (type._tag !== "Literal" || typeof type.literal !== "string" || !isBare(type)) return undefined
        if (type.checks !== undefined) return undefined
        literals.push(type.literal)
      }
      return (value) => literals.includes(value)
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
