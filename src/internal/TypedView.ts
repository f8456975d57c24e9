/**
 * A typed tool over a dispatch of JSON: parameters are encoded, and whatever comes
 * back is decoded.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as SchemaIssue from "effect/SchemaIssue"
import type * as Tool from "../Tool.ts"
import * as ToolCall from "../ToolCall.ts"
import { fromReason, InvalidOutput, InvalidParameters, type ToolError } from "../ToolError.ts"
import type { ToolResult } from "../ToolResult.ts"
import type { ToolStream } from "../ToolStream.ts"
import { fromBody, runBody } from "./Body.ts"
import { hasSucceeded } from "./Done.ts"
import { encoder, formatLines, reader } from "./JsonCodec.ts"

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

const makeCodecs = (tool: Tool.AnyDeclaration) => ({
  encodeParameters: encoder(tool.parametersSchema),
  decodeProgress: reader(tool.progressSchema),
  decodeSuccess: reader(tool.successSchema),
  decodeFailure: reader(tool.failureSchema)
})

/** @internal */
export const make = <T extends Tool.AnyDeclaration>(
  tool: T,
  dispatch: Dispatch
): ((parameters: Tool.Parameters<T>) => ToolStream<Tool.Progress<T>, Tool.Success<T>, End<Tool.Failure<T>>>) => {
  const { decodeFailure, decodeProgress, decodeSuccess, encodeParameters } = codecsOf(tool)
  return (parameters) =>
    fromBody((emit) =>
      Effect.flatMap(ToolCall.make({ name: tool.toolName, parameters: undefined }), (call) => {
        type Failed = End<Tool.Failure<T>>
        const misfit =
          (what: InvalidOutput["what"]) =>
          (issue: SchemaIssue.Issue): Failed => ({
            undeclared: fromReason(call, new InvalidOutput({ what, issue: formatLines(issue), phase: "completed" }))
          })
        let unreadable: Failed | undefined
        const tell = (chunk: Arr.NonEmptyReadonlyArray<unknown>) =>
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
        const succeeded = ({ value }: ToolResult): Effect.Effect<Tool.Success<T>, Failed> => {
          if (unreadable !== undefined) return Exit.fail(unreadable)
          const decoded = decodeSuccess(value)
          return hasSucceeded(decoded)
            ? Exit.succeed(decoded.value as Tool.Success<T>)
            : (Effect.mapError(decoded, misfit("success")) as Effect.Effect<Tool.Success<T>, Failed>)
        }
        const failed = (error: ToolError): Effect.Effect<never, Failed> =>
          error.reason._tag === "ToolFailed"
            ? Effect.flatMap(Effect.mapError(decodeFailure(error.reason.failure), misfit("failure")), (declared) =>
                Exit.fail({ declared })
              )
            : Exit.fail({ undeclared: error })
        const made = (json: unknown) =>
          Effect.matchEffect(runBody(dispatch({ ...call, parameters: json }), tell), {
            onSuccess: succeeded,
            onFailure: failed
          })
        const encoded = encodeParameters(parameters)
        if (hasSucceeded(encoded)) return made(encoded.value)
        const unsendable = (issue: SchemaIssue.Issue): Failed => ({
          undeclared: fromReason(call, new InvalidParameters({ issues: [{ path: [], message: formatLines(issue) }] }))
        })
        return Effect.flatMap(Effect.mapError(encoded, unsendable), made)
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
