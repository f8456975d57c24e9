/**
 * What a model reads of any call is bounded, whatever the tool: a middleware.
 *
 * **Details**
 *
 * - It touches only what is longer than its limit, which is more than what the built-in
 *   tools show of text. Of longer content the first and the last part stay, the rest is
 *   counted, and all of it is spilled: the last note says how `read_output` reads it.
 * - Messages of failures are bounded as well. What is known of a call that was ended is
 *   bounded, but not spilled: its terminal waits for nothing.
 * - The value of a result is not what a model reads, and stays whole. So do images.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as CallStage from "../src/CallStage.ts"
import * as BoundedContent from "../src/BoundedContent.ts"
import { BoundedText, omissionToText } from "../src/BoundedText.ts"
import { Spill, type Spilled, stateOf, type Store, toCall, toText } from "../src/Spill.ts"
import { ToolError } from "../src/ToolError.ts"
import * as ToolMiddleware from "../src/ToolMiddleware.ts"
import type { Partial, ToolResult } from "../src/ToolResult.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Bytes of UTF-8 of the text that a model reads of one result. Default: 100,000, some 25,000 tokens. */
  readonly limitBytes?: number | undefined
}

/** Less cuts what built-in tools show; more lets one call crowd out the others in a model's context. */
const defaultLimit = 100_000

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = ({ limitBytes = defaultLimit }: Options): Layer.Layer<never> =>
  ToolMiddleware.layer(
    Effect.map(Spill, (store): ToolMiddleware.ToolMiddleware => {
      const bounded: ToolMiddleware.Conclusion = {
        success: (result) => boundResult(store, result, limitBytes),
        failure: (error) => Effect.flatMap(boundError(store, error, limitBytes), Effect.fail),
        partial: (partial) => boundPartial(partial, limitBytes)
      }
      return (next) => (prepared) => ToolMiddleware.concluding(next(prepared), prepared, bounded)
    })
  )

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = layerWith({})

/** Not interrupted: the tool has done its work, and only its report is to be stored. */
const spill = (store: Store, bytes: Uint8Array): Effect.Effect<Spilled> =>
  Effect.gen(function* () {
    const { state, write } = yield* store.open
    yield* write(bytes)
    return yield* state
  }).pipe(
    Effect.scoped,
    Effect.uninterruptible,
    // Nor does a store that breaks its contract cost the call its result.
    Effect.catchCause((cause) => Effect.as(Effect.logError("spill", cause), stateOf("", 0, "disk failed")))
  )

/** How to read on where something is missing. */
const whereOf = (spilled: Spilled, offsetBytes: number): string =>
  spilled.sizeBytes > offsetBytes && spilled.complete
    ? `To read them: ${toCall(spilled, { offsetBytes })}.`
    : toText(spilled)

const boundResult = (store: Store, result: ToolResult, limitBytes: number): Effect.Effect<ToolResult> => {
  const bounded = BoundedContent.make(result.content, limitBytes)
  return bounded === undefined
    ? Exit.succeed(result)
    : Effect.map(CallStage.within("drain", "the store of its output", spill(store, bounded.whole)), (spilled) => ({
        ...result,
        content: BoundedContent.withNote(bounded, whereOf(spilled, bounded.headBytes))
      }))
}

const boundPartial = (partial: Partial, limitBytes: number): Partial => {
  const bounded = BoundedContent.make(partial.content, limitBytes)
  return bounded === undefined
    ? partial
    : { ...partial, content: BoundedContent.withNote(bounded, "They are not kept.") }
}

const boundError = (store: Store, error: ToolError, limitBytes: number): Effect.Effect<ToolError> => {
  const { callId, message, reason, tool } = error
  if (message.length * 3 <= limitBytes) return Effect.succeed(error)
  const kept = new BoundedText(Math.floor(limitBytes / 2))
  kept.append(message)
  const rendered = kept.render()
  if (rendered.omittedBytes === 0) return Effect.succeed(error)
  return Effect.map(spill(store, new TextEncoder().encode(message)), (spilled) => {
    const note = [...omissionToText("this message", rendered), whereOf(spilled, 0)].join(" ")
    return new ToolError({ tool, callId, message: `${rendered.text}\n${note}`, reason })
  })
}
