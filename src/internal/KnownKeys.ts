/**
 * Whether a value has only keys that a schema knows: a question that a decoder
 * answers ten times slower than it decodes.
 *
 * @since 0.1.0
 */
import * as SchemaAST from "effect/SchemaAST"

type Test = (value: unknown) => boolean

const anything: Test = () => true

/**
 * A test for what a schema decodes from, or undefined where only the decoder can tell: in unions, records, and types
 * that refer to themselves. A value that passes has no unknown key; one that does not may have none, either.
 *
 * @internal
 */
export const test = (ast: SchemaAST.AST): Test | undefined => of(SchemaAST.toEncoded(ast))

const of = (ast: SchemaAST.AST): Test | undefined => {
  switch (ast._tag) {
    case "String":
    case "Number":
    case "Boolean":
    case "Literal":
    case "Null":
      return anything
    case "Objects":
      return ofObjects(ast)
    case "Arrays":
      return ofArrays(ast)
    default:
      return undefined
  }
}

const ofObjects = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): Test | undefined => {
  if (indexSignatures.length > 0 || propertySignatures.length === 0) return undefined
  const known = new Set<string>()
  const inner: Array<readonly [key: string, test: Test]> = []
  for (const { name, type } of propertySignatures) {
    const below = of(type)
    if (typeof name !== "string" || below === undefined) return undefined
    known.add(name)
    if (below !== anything) inner.push([name, below])
  }
  return (value) => {
    if (typeof value !== "object" || value === null) return false
    for (const key in value) if (!known.has(key)) return false
    for (const [key, below] of inner) {
      const item = (value as Record<string, unknown>)[key]
      if (item !== undefined && !below(item)) return false
    }
    return true
  }
}

const ofArrays = ({ elements, rest }: SchemaAST.Arrays): Test | undefined => {
  const [item] = rest
  if (elements.length > 0 || rest.length !== 1 || item === undefined) return undefined
  const below = of(item)
  return below === undefined || below === anything
    ? below
    : (value) => Array.isArray(value) && value.every((item) => below(item))
}
