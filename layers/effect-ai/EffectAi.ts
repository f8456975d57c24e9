/**
 * The tools of this library in the loops of `effect/ai`, and its tools in ours.
 *
 * @since 0.1.0
 */
import * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as ErasedTool from "../../src/ErasedTool.ts"
import type * as Tool from "../../src/Tool.ts"
import { make as makeCall } from "../../src/ToolCall.ts"
import * as ToolContent from "../../src/ToolContent.ts"
import { toContent, ToolError } from "../../src/ToolError.ts"
import type { ToolEvent } from "../../src/ToolEvent.ts"
import { type NameTaken, ToolRegistry } from "../../src/ToolRegistry.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import type { ToolResult } from "../../src/ToolResult.ts"
import * as ToolStream from "../../src/ToolStream.ts"

// -----------------------------------------------------------------------------
// Ours in theirs
// -----------------------------------------------------------------------------

/**
 * One of our tools, as `effect/ai` knows tools: it is described by JSON Schema and takes any object.
 *
 * @category models
 * @since 0.1.0
 */
export type AiTools = Record<
  string,
  AiTool.Dynamic<
    string,
    {
      readonly parameters: JsonSchema.JsonSchema
      readonly success: typeof Schema.Unknown
      readonly failure: typeof ToolError
      readonly failureMode: "return"
    }
  >
>

/**
 * The tools that are registered now, as a toolkit: for those who keep their own loop.
 *
 * **Details**
 *
 * A call runs through the runtime, with every guarantee of it. Progress comes as preliminary results, then exactly one
 * result that is not: also of a tool that dies, is interrupted, or is not there. A failure is a result that says so
 * (`isFailure`), and so is a success that the model must see as an error. What the model reads is `modelOutput`.
 *
 * @category converting
 * @since 0.1.0
 */
export const toToolkit: Effect.Effect<Toolkit.WithHandler<AiTools>, never, ToolRegistry | ToolRuntime> = Effect.gen(
  function* () {
    const runtime = yield* ToolRuntime
    const listed = yield* Effect.flatMap(ToolRegistry, ({ snapshot }) => snapshot)
    return {
      tools: Object.fromEntries(listed.map((tool) => [tool.name, aiTool(tool)])),
      handle: (name, params, toolCallId) =>
        Effect.map(makeCall({ name: String(name), parameters: params, externalId: toolCallId }), (call) =>
          Stream.map(runtime.events(call), resultOf)
        )
    }
  }
)

const aiTool = ({ description, hints, name, parametersSchema, title }: ErasedTool.ToolDescriptor): AiTools[string] => {
  const tool = AiTool.dynamic(name, {
    description,
    parameters: parametersSchema,
    success: Schema.Unknown,
    failure: ToolError,
    failureMode: "return"
  })
  const annotated = tool
    .annotate(AiTool.Title, title)
    .annotate(AiTool.Readonly, hints.readOnly)
    .annotate(AiTool.Destructive, hints.destructive)
    .annotate(AiTool.Idempotent, hints.idempotent)
    .annotate(AiTool.OpenWorld, hints.openWorld)
  // Its type forgets what it is.
  return AiTool.isDynamic(annotated) ? annotated : tool
}

const encodeError = Schema.encodeSync(ToolError)

const resultOf = (event: ToolEvent): AiTool.HandlerResult<AiTools[string]> => {
  if (event._tag === "Progress") {
    return { result: event.value, encodedResult: event.value, isFailure: false, preliminary: true }
  }
  if (event.result._tag === "Success") {
    const { content, isError, value } = event.result
    return {
      result: value,
      encodedResult: value,
      modelOutput: outputOf(content),
      isFailure: isError,
      ...(isError ? { failureOrigin: "handler" } : {}),
      preliminary: false
    }
  }
  const { error } = event.result
  return {
    result: error,
    encodedResult: encodeError(error),
    modelOutput: outputOf(toContent(error)),
    isFailure: true,
    failureOrigin: error.reason._tag === "InvalidParameters" ? "parameters" : "handler",
    preliminary: false
  }
}

const outputOf = (content: ReadonlyArray<ToolContent.ToolContent>): ReadonlyArray<Prompt.ToolModelOutputPart> =>
  content.map((item) => {
    switch (item.type) {
      case "text":
        return Prompt.makePart("text", { text: item.text })
      case "image":
        return Prompt.makePart("file", { mediaType: item.mimeType, data: item.data })
      case "resource":
        return Prompt.makePart("text", { text: `[resource: ${item.uri}]` })
    }
  })

// -----------------------------------------------------------------------------
// Theirs in ours
// -----------------------------------------------------------------------------

/**
 * The tools of a toolkit as tools of ours.
 *
 * **Details**
 *
 * Parameters are decoded by the tool's own schema; those of a tool that has only a JSON Schema go to its handler as
 * they are, any object. Preliminary results are progress, the last result is the result; a handler that gives none, dies or fails ends
 * the call as the law says. Services of the handlers are taken from the context.
 *
 * @category converting
 * @since 0.1.0
 */
export const fromToolkit = <Tools extends Record<string, AiTool.Any>>(
  toolkit: Toolkit.WithHandler<Tools>
): Effect.Effect<ReadonlyArray<ErasedTool.ErasedTool>, never, AiTool.HandlerServices<Tools[keyof Tools]>> =>
  Effect.contextWith((context: Context.Context<AiTool.HandlerServices<Tools[keyof Tools]>>) =>
    Effect.succeed(
      Object.entries(toolkit.tools).map(([name, tool]) =>
        fromHandler(tool, context, (parameters, toolCallId) =>
          Stream.unwrap(toolkit.handle(name, parameters, toolCallId))
        )
      )
    )
  )

/**
 * Registers the tools of a toolkit until the layer's scope closes.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerToolkit = <Tools extends Record<string, AiTool.Any>>(
  toolkit: Toolkit.WithHandler<Tools>
): Layer.Layer<never, NameTaken, ToolRegistry | AiTool.HandlerServices<Tools[keyof Tools]>> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const registry = yield* ToolRegistry
      for (const tool of yield* fromToolkit(toolkit)) yield* registry.register(tool)
    })
  )

/** The encoded result, and what the model reads of it. */
const Outcome = Schema.Struct({ value: Schema.Json, content: Schema.Array(ToolContent.ToolContent) })

type Handle = (parameters: any, toolCallId: string | undefined) => Stream.Stream<Handled, unknown, unknown>
type Handled = Pick<
  AiTool.HandlerResult<AiTool.Any>,
  "encodedResult" | "isFailure" | "modelOutput" | "preliminary" | "result"
>

/** What the implementation is given in place of parameters. */
interface Started {
  readonly parameters: unknown
  readonly toolCallId: string | undefined
}

const fromHandler = (tool: AiTool.Any, context: Context.Context<any>, handle: Handle): ErasedTool.ErasedTool => {
  const schema = AiTool.isDynamic(tool) && tool.jsonSchema !== undefined ? AnyObject : tool.parametersSchema
  const erased = ErasedTool.fromImplementation(declarationOf(tool, schema), {
    execute: ({ parameters, toolCallId }: Started) =>
      ToolStream.callback((emit: (progress: Schema.Json) => Effect.Effect<void>) =>
        Effect.gen(function* () {
          const encoded = yield* Effect.orDie(Schema.encodeUnknownEffect(schema)(parameters))
          let last: Handled | undefined
          yield* handle(encoded, toolCallId).pipe(
            Stream.runForEach((result) => {
              if (result.preliminary) return emit(jsonOf(result.encodedResult))
              last = result
              return Effect.void
            }),
            Effect.mapError(wordsOf)
          )
          return yield* outcomeOf(last)
        }).pipe(Effect.provideContext(context))
      )
  })
  return {
    ...erased,
    descriptor: { ...erased.descriptor, parametersSchema: AiTool.getJsonSchema(tool) },
    run: (prepared) => {
      const { attempt, call, caller, origin, parametersHash, session } = prepared
      const parameters: Started = { parameters: prepared.parameters, toolCallId: call.externalId }
      const started = { attempt, call, caller, origin, parametersHash, session, tool: prepared.tool, parameters }
      return ToolStream.map(erased.run(started), unwrapped)
    }
  }
}

const outcomeOf = (last: Handled | undefined): Effect.Effect<typeof Outcome.Type, string> => {
  if (last === undefined) return Effect.die(new Error("its handler gave no result"))
  if (last.isFailure) return Effect.fail(wordsOf(last.result))
  const value = jsonOf(last.encodedResult)
  const content =
    last.modelOutput === undefined ? [ToolContent.text(JSON.stringify(value))] : contentOf(last.modelOutput)
  return Effect.succeed({ value, content })
}

const AnyObject = Schema.Record(Schema.String, Schema.Json)

const isOutcome = Schema.is(Outcome)

const unwrapped = (result: ToolResult): ToolResult =>
  isOutcome(result.value) ? { ...result, value: result.value.value } : result

const declarationOf = (tool: AiTool.Any, parametersSchema: Schema.Top): Tool.AnyDeclaration => {
  const readOnly = Context.get(tool.annotations, AiTool.Readonly)
  return {
    toolName: tool.name,
    title: Context.getOrElse(tool.annotations, AiTool.Title, () => tool.name),
    description: AiTool.getDescription(tool) ?? "",
    parametersSchema,
    progressSchema: Schema.Json,
    successSchema: Outcome,
    failureSchema: Schema.String,
    partialSchema: Outcome,
    toContent: ({ content }: typeof Outcome.Type) => content,
    toPartialContent: undefined,
    isError: undefined,
    hints: {
      readOnly,
      destructive: !readOnly && Context.get(tool.annotations, AiTool.Destructive),
      idempotent: readOnly || Context.get(tool.annotations, AiTool.Idempotent),
      openWorld: Context.get(tool.annotations, AiTool.OpenWorld)
    },
    clocks: undefined,
    resources: undefined,
    progressPolicy: undefined,
    mergeProgress: undefined,
    describe: undefined,
    listed: undefined
  }
}

const isJson = Schema.is(Schema.Json)

const jsonOf = (value: unknown): Schema.Json => (isJson(value) ? value : null)

const wordsOf = (failure: unknown): string =>
  failure instanceof Error ? failure.message : typeof failure === "string" ? failure : JSON.stringify(failure)

const contentOf = (parts: ReadonlyArray<Prompt.ToolModelOutputPart>): ReadonlyArray<ToolContent.ToolContent> =>
  parts.map((part) => {
    if (part.type === "text") return ToolContent.text(part.text)
    const { data, mediaType } = part
    return data instanceof URL
      ? { type: "resource", uri: data.href, mimeType: mediaType }
      : { type: "image", mimeType: mediaType, data: typeof data === "string" ? data : Base64.encode(data) }
  })
