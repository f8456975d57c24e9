/**
 * The port to which output goes that is too long to be shown.
 *
 * **Contract**
 *
 * - What is written is there, byte for byte, under a handle that a model can name
 *   (`out_…`), as long as the store has room and its session lives. Only its own
 *   session can read it.
 * - A store that cannot take more of an output says why, and takes nothing of it from
 *   then on: the call goes on, and its terminal says what is missing.
 * - What has ended first is removed first to make room; see `SpillQuota`.
 * - What is read while it is written is what is there now.
 *
 * Where no layer provides a store, a small one in memory is used.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { GrowingBytes } from "./internal/GrowingBytes.ts"
import * as Token from "./internal/Token.ts"
import { CurrentSession } from "./Session.ts"
import { type Limits, SpillQuota } from "./SpillQuota.ts"

/**
 * Why not all of an output is there: it is longer than what is kept of one; the disk
 * is full, or failed; it had to go, to make room or with its session; it was written
 * to after its end.
 *
 * @category models
 * @since 0.1.0
 */
export const Missing = Schema.Literals(["limit", "disk full", "disk failed", "removed", "closed"])
export type Missing = typeof Missing.Type

/**
 * What can be said of something that was spilled.
 *
 * @category models
 * @since 0.1.0
 */
export const Spilled = Schema.Struct({
  handle: Schema.String.annotate({ description: "Names the whole output." }),
  sizeBytes: Schema.Natural,
  /** Everything is there. Otherwise what came after `sizeBytes` is missing. */
  complete: Schema.Boolean,
  /** Why it is not complete. */
  missing: Schema.optionalKey(Missing)
})
export type Spilled = typeof Spilled.Type

/**
 * Something that is being written.
 *
 * @category models
 * @since 0.1.0
 */
export interface Writer {
  readonly handle: string
  /** Appends. The bytes are not used after it returned. It does not fail: see `state`. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void>
  readonly state: Effect.Effect<Spilled>
  /** Forgets what was written, when nobody will ask for it. */
  readonly discard: Effect.Effect<void>
}

/**
 * A part of what was spilled.
 *
 * @category models
 * @since 0.1.0
 */
export interface Part {
  readonly bytes: Uint8Array
  /** Of the whole, as far as it is stored now. */
  readonly sizeBytes: number
  /** No more is written to it. */
  readonly ended: boolean
}

/**
 * There is nothing under the handle, or it cannot be read.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotSpilled extends Schema.TaggedError<NotSpilled>()("NotSpilled", {
  handle: Schema.String,
  why: Schema.Literals(["unknown", "unreadable"])
}) {
  override get message() {
    return this.why === "unknown"
      ? `There is no output ${this.handle}. It may have been removed to make room.`
      : `The output ${this.handle} cannot be read.`
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Store {
  /** Opens a place for output of the current session. Closing the scope ends the writing, not what was written. */
  readonly open: Effect.Effect<Writer, never, Scope.Scope>
  /** At most `length` bytes from `offset` on, of an output of the current session. */
  readonly read: (handle: string, offset: number, length: number) => Effect.Effect<Part, NotSpilled>
}

/**
 * A new handle, which cannot be guessed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeHandle = (): string => `out_${Token.make()}`

const because: Readonly<Record<Missing, string>> = {
  limit: "that is the most that is kept of one",
  "disk full": "the disk is full",
  "disk failed": "the disk failed",
  removed: "it was removed to make room",
  closed: "it had been closed"
}

/**
 * Why not all of it is there, as the end of a sentence: nothing if all is.
 *
 * @category converting
 * @since 0.1.0
 */
export const why = (spilled: Spilled | undefined): string =>
  spilled?.missing === undefined ? "" : `: ${because[spilled.missing]}`

/**
 * The call that reads it, for a model.
 *
 * @category converting
 * @since 0.1.0
 */
export const toCall = (
  { handle }: Spilled,
  parameters?: { readonly offsetBytes?: number; readonly pattern?: string }
): string => `read_output ${JSON.stringify({ handle, ...parameters })}`

/**
 * Where all of an output is, for a model: one sentence.
 *
 * @category converting
 * @since 0.1.0
 */
export const toText = (spilled: Spilled): string => {
  const { complete, missing, sizeBytes } = spilled
  if (complete) return `All ${sizeBytes} bytes: ${toCall(spilled)}.`
  return sizeBytes === 0
    ? `No more of it is kept${missing === "limit" ? "" : why(spilled)}.`
    : `Only the first ${sizeBytes} bytes are kept${why(spilled)}. To read them: ${toCall(spilled)}.`
}

/** Less loses the end of a chatty task's output. */
const memory: Limits = { outputBytes: 1024 * 1024, totalBytes: 16 * 1024 * 1024 }

/**
 * A store in memory. Of each output it takes the first `outputBytes`. With 0 it takes
 * nothing.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeMemory = (options?: {
  /** Default: 1 MiB. */
  readonly outputBytes?: number | undefined
  /** Default: 16 MiB. */
  readonly totalBytes?: number | undefined
}): Store => {
  const { outputBytes = memory.outputBytes, totalBytes = memory.totalBytes } = options ?? {}
  const outputs = new Map<string, Output>()
  const sessions = new WeakSet<Scope.Scope>()
  const quota = new SpillQuota<Output>({ outputBytes, totalBytes })

  const forget = (output: Output): void => {
    outputs.delete(output.handle)
    output.removed()
  }

  const remove = (output: Output): void => {
    quota.release(output)
    forget(output)
  }

  const write = (output: Output, bytes: Uint8Array): void => {
    if (bytes.length > 0 && !output.open) output.missing ??= "closed"
    if (output.missing !== undefined) return
    const { granted, removed } = quota.take(output, bytes.length)
    removed.forEach(forget)
    output.bytes.append(granted === bytes.length ? bytes : bytes.subarray(0, granted))
    if (granted < bytes.length) output.missing = "limit"
  }

  return {
    open: Effect.gen(function* () {
      const { scope } = yield* CurrentSession
      const output = new Output(makeHandle(), scope)
      outputs.set(output.handle, output)
      quota.begin(output)
      if (!sessions.has(scope)) {
        sessions.add(scope)
        yield* Scope.addFinalizer(
          scope,
          Effect.sync(() => {
            for (const output of outputs.values()) if (output.session === scope) remove(output)
          })
        )
      }
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          output.open = false
          quota.end(output)
        })
      )
      return {
        handle: output.handle,
        write: (bytes) => Effect.sync(() => write(output, bytes)),
        state: Effect.sync(() => output.state),
        discard: Effect.sync(() => remove(output))
      }
    }),
    read: (handle, offset, length) =>
      Effect.flatMap(CurrentSession, ({ scope }) => {
        const output = outputs.get(handle)
        return output === undefined || output.session !== scope
          ? Effect.fail(new NotSpilled({ handle, why: "unknown" }))
          : Effect.succeed({
              bytes: output.bytes.read(offset, length),
              sizeBytes: output.bytes.length,
              ended: !output.open
            })
      })
  }
}

class Output {
  readonly handle: string
  readonly session: Scope.Scope
  bytes = new GrowingBytes()
  missing: Missing | undefined
  open = true
  constructor(handle: string, session: Scope.Scope) {
    this.handle = handle
    this.session = session
  }
  get state(): Spilled {
    return stateOf(this.handle, this.bytes.length, this.missing)
  }
  removed(): void {
    this.bytes = new GrowingBytes()
    this.missing = "removed"
  }
}

/**
 * What can be said of an output of which so much is stored.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stateOf = (handle: string, sizeBytes: number, missing: Missing | undefined): Spilled =>
  missing === undefined ? { handle, sizeBytes, complete: true } : { handle, sizeBytes, complete: false, missing }

/**
 * Where output of the running fiber's session goes.
 *
 * @category references
 * @since 0.1.0
 */
export const Spill = Context.Reference<Store>("toolstream/Spill", { defaultValue: () => makeMemory() })

/**
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = (options?: Parameters<typeof makeMemory>[0]): Layer.Layer<never> =>
  Layer.sync(Spill, () => makeMemory(options))

/**
 * Keeps nothing: what is not shown is lost.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerOff: Layer.Layer<never> = layerMemory({ outputBytes: 0 })
