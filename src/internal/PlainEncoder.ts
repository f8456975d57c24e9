/**
 * Encodes what is its own JSON form: a struct of strings, booleans and literals.
 * A codec looks at each of its fields in turn and takes three times as long, which
 * is what progress in small pieces costs most.
 *
 * @since 0.1.0
 */
import type * as SchemaAST from "effect/SchemaAST"

/**
 * Undefined for what only the codec can encode, or refuse.
 *
 * @internal
 */
export type Encode = (value: unknown) => object | undefined

type Test = (value: unknown) => boolean

/**
 * Encodes as the codec does, or undefined where the schema is not of that kind. An optional field may be anything:
 * a value that has it is left to the codec.
 *
 * @internal
 */
export const make = (codec: SchemaAST.AST): Encode | undefined => {
  if (codec._tag !== "Objects" || !isBare(codec)) return undefined
  if (codec.indexSignatures.length > 0 || codec.propertySignatures.length === 0) return undefined
  const required: Array<readonly [key: string, test: Test]> = []
  const optional: Array<string> = []
  for (const { name, type } of codec.propertySignatures) {
    if (typeof name !== "string" || name === "__proto__") return undefined
    const test = testOf(type)
    if (type.context?.isOptional === true) optional.push(name)
    else if (test === undefined) return undefined
    else required.push([name, test])
  }
  return (value) => {
    if (typeof value !== "object" || value === null) return undefined
    const fields = value as Record<string, unknown>
    for (const key of optional) if (key in fields) return undefined
    for (const [key, test] of required) if (!test(fields[key])) return undefined
    // Not one key more: an own one would be copied, and an inherited one would not.
    const copy = { ...fields }
    let keys = 0
    for (const _key in copy) keys++
    return keys === required.length ? copy : undefined
  }
}

/** Nothing is to be done but to look at its type. */
const isBare = (ast: SchemaAST.AST): boolean =>
  ast.encoding === undefined &&
  ast.checks === undefined &&
  !("encodingChecks" in ast && ast.encodingChecks !== undefined) &&
  ast.annotations?.["parseOptions"] === undefined

// One function for all fields of a type: each is called in one place, which then calls few.
const isString: Test = (value) => typeof value === "string"
const isBoolean: Test = (value) => typeof value === "boolean"

const testOf = (ast: SchemaAST.AST): Test | undefined => {
  if (!isBare(ast)) return undefined
  switch (ast._tag) {
    case "String":
      return isString
    case "Boolean":
      return isBoolean
    case "Literal":
      return typeof ast.literal === "string" ? (value) => value === ast.literal : undefined
    case "Union": {
      const literals: Array<unknown> = []
      for (const type of ast.types) {
        if (type._tag !== "Literal" || typeof type.literal !== "string" || !isBare(type)) return undefined
        literals.push(type.literal)
      }
      return (value) => literals.includes(value)
    }
    default:
      return undefined
  }
}
