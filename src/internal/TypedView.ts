/**
 * A typed tool over a dispatch of JSON: parameters are encoded, and whatever comes
 * back is decoded.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import type * as Tool from "../Tool.ts"
import * as ToolCall from "../ToolCall.ts"
import { fromReason, InvalidOutput, InvalidParameters, type ToolError } from "../ToolError.ts"
import type { ToolResult } from "../ToolResult.ts"
import type { ToolStream } from "../ToolStream.ts"
import { fromBody, runBody } from "./Body.ts"
import { codec, encoder, formatLines } from "./JsonCodec.ts"

/** How a view ends without a success: as the declaration says, or otherwise. */
type End<F> = { readonly declared: F } | { readonly undeclared: ToolError }

type Dispatch = (call: ToolCall.ToolCall) => ToolStream<unknown, ToolResult, ToolError>

const codecs = new WeakMap<Tool.AnyDeclaration, ReturnType<typeof makeCodecs>>()

/** Made once for a declaration, however often it is called. */
const codecsOf = (tool: Tool.AnyDeclaration) => {
  const known = codecs.get(tool) ?? makeCodecs(tool)
  codecs.set(tool, known)
  return known
}

const makeCodecs = (tool: Tool.AnyDeclaration) => {
  const decode = (schema: Schema.Top) => SchemaParser.decodeUnknownEffect(codec(schema))
  return {
    encodeParameters: encoder(tool.parametersSchema),
    decodeProgress: decode(tool.progressSchema),
    decodeSuccess: decode(tool.successSchema),
    decodeFailure: decode(tool.failureSchema)
  }
}

/** @internal */
export const make = <T extends Tool.AnyDeclaration>(
  tool: T,
  dispatch: Dispatch
): ((parameters: Tool.Parameters<T>) => ToolStream<Tool.Progress<T>, Tool.Success<T>, End<Tool.Failure<T>>>) => {
  const { decodeFailure, decodeProgress, decodeSuccess, encodeParameters } = codecsOf(tool)
  return (parameters) =>
    fromBody((emit) =>
      Effect.gen(function* () {
        const call = yield* ToolCall.make({ name: tool.toolName, parameters: undefined })
        const misfit = (what: InvalidOutput["what"]) => (issue: SchemaIssue.Issue) => ({
          undeclared: fromReason(call, new InvalidOutput({ what, issue: formatLines(issue), phase: "completed" }))
        })
        const encoded = yield* Effect.mapError(encodeParameters(parameters), (issue) => ({
          undeclared: fromReason(call, new InvalidParameters({ issues: [{ path: [], message: formatLines(issue) }] }))
        }))
        let unreadable: End<Tool.Failure<T>> | undefined
        const result = yield* runBody(dispatch({ ...call, parameters: encoded }), (chunk) =>
          Effect.matchEffect(
            Effect.forEach(chunk, (item) => decodeProgress(item)),
            {
              onSuccess: (items) => (Arr.isReadonlyArrayNonEmpty(items) ? emit(items) : Effect.void),
              // The run goes on to its end, so that its terminal is known; what cannot be read is told in its place.
              onFailure: (issue) =>
                Effect.sync(() => {
                  unreadable ??= misfit("progress")(issue)
                })
            }
          )
        ).pipe(
          Effect.catch((error): Effect.Effect<never, End<Tool.Failure<T>>> =>
            error.reason._tag === "ToolFailed"
              ? Effect.flatMap(Effect.mapError(decodeFailure(error.reason.failure), misfit("failure")), (declared) =>
                  Effect.fail({ declared })
                )
              : Effect.fail({ undeclared: error })
          )
        )
        if (unreadable !== undefined) return yield* Effect.fail(unreadable)
        return yield* Effect.mapError(decodeSuccess(result.value), misfit("success"))
      })
    )
}

/**
 * The view whose failures are the declaration's and the runtime's.
 *
 * @internal
 */
export const guarded = <T extends Tool.AnyDeclaration>(
  tool: T,
  dispatch: Dispatch
): ((parameters: Tool.Parameters<T>) => ToolStream<Tool.Progress<T>, Tool.Success<T>, Tool.Failure<T> | ToolError>) => {
  const run = make(tool, dispatch)
  return (parameters) =>
    fromBody((emit) =>
      Effect.mapError(runBody(run(parameters), emit), (end) => ("declared" in end ? end.declared : end.undeclared))
    )
}
