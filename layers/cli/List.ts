/**
 * `list`: the tools there are.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as PlainText from "../../src/PlainText.ts"
import { type ListedTool, program, ToolRegistry } from "../../src/ToolRegistry.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import { type Options, withTools } from "./WithTools.ts"

/**
 * The subcommand.
 *
 * @category running
 * @since 0.1.0
 */
export const command = (given: Options & { readonly json: boolean }) =>
  withTools(
    given,
    Effect.gen(function* () {
      const { write } = yield* StandardStreams
      const tools = yield* Effect.flatMap(ToolRegistry, ({ snapshot }) => snapshot)
      yield* write((given.json ? json : plain)(tools))
      return true
    })
  )

/**
 * Everything that the tools say about themselves.
 *
 * @category converting
 * @since 0.1.0
 */
export const json = (tools: ReadonlyArray<ListedTool>): string =>
  `${JSON.stringify(
    tools.map(
      ({
        description,
        failureSchema,
        hints,
        name,
        origin,
        parametersSchema,
        progressSchema,
        successSchema,
        title
      }) => ({
        name,
        title,
        description,
        parametersSchema,
        progressSchema,
        successSchema,
        failureSchema,
        hints,
        origin
      })
    ),
    null,
    2
  )}\n`

/**
 * Their names, what they are for, and their parameters.
 *
 * @category converting
 * @since 0.1.0
 */
export const plain = (tools: ReadonlyArray<ListedTool>): string =>
  PlainText.make(
    tools
      .map(({ description, name, origin, parametersSchema, title }) =>
        [
          `${name}: ${title}`,
          `  ${description}`,
          ...(origin === program ? [] : [`  From ${origin}.`]),
          ...parametersOf(parametersSchema)
        ].join("\n")
      )
      .join("\n\n")
  ) + (tools.length === 0 ? "" : "\n")

const parametersOf = (schema: JsonSchema.JsonSchema): ReadonlyArray<string> => {
  const required: ReadonlyArray<unknown> = Array.isArray(schema["required"]) ? schema["required"] : []
  const fields = Object.entries(record(schema["properties"]))
  const names = fields.map(([name]) => (required.includes(name) ? name : `[${name}]`))
  const width = Math.max(0, ...names.map((name) => name.length))
  return fields.map(([, field], index) => {
    const { description } = record(field)
    const about = typeof description === "string" ? `${typeOf(field)}. ${description}` : typeOf(field)
    return `    ${names[index]?.padEnd(width)}  ${about}`
  })
}

const typeOf = (schema: unknown): string => {
  const { anyOf, enum: literals, items, type } = record(schema)
  if (Array.isArray(literals)) return literals.map((literal) => JSON.stringify(literal)).join(" | ")
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(" | ")
  if (type === "array") return `array of ${typeOf(items)}`
  return typeof type === "string" ? type : "any"
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}
