/**
 * The port to which output goes that is too long to be shown.
 *
 * **Contract**
 *
 * - What is written is there, byte for byte, under a handle that a model can name
 *   (`out_…`), as long as the store has room and its session lives. Only its own
 *   session can read it.
 * - A store that cannot take more says so once, and takes nothing from then on: the
 *   call goes on, and its terminal says what is missing.
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

/**
 * What can be said of something that was spilled.
 *
 * @category models
 * @since 0.1.0
 */
export const Spilled = Schema.Struct({
  handle: Schema.String.annotate({ description: "Names the whole output." }),
  sizeBytes: Schema.Natural,
  /** Everything is there. Otherwise the store was full, or failed, after `sizeBytes`. */
  complete: Schema.Boolean
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

/** What one output, and all of them, may take of the memory, in bytes. Less loses the end of a chatty task's output. */
const memory = { outputBytes: 1024 * 1024, totalBytes: 16 * 1024 * 1024 }

/**
 * A store in memory. Of each output it takes the first `outputBytes`, and it
 * forgets the oldest to have room for the newest. With 0 it takes nothing.
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
  let total = 0

  const remove = (handle: string): void => {
    const output = outputs.get(handle)
    if (output === undefined) return
    outputs.delete(handle)
    total -= output.bytes.length
    output.removed()
  }

  const write = (handle: string, output: Output, bytes: Uint8Array): void => {
    if (!output.complete) return
    const room = Math.min(outputBytes, totalBytes) - output.bytes.length
    const taken = bytes.length <= room ? bytes : bytes.subarray(0, room)
    output.complete = taken === bytes
    output.bytes.append(taken)
    total += taken.length
    for (const [oldest] of outputs) {
      if (total <= totalBytes) return
      if (oldest !== handle) remove(oldest)
    }
  }

  return {
    open: Effect.gen(function* () {
      const { scope } = yield* CurrentSession
      const handle = makeHandle()
      const output = new Output(scope)
      outputs.set(handle, output)
      if (!sessions.has(scope)) {
        sessions.add(scope)
        yield* Scope.addFinalizer(
          scope,
          Effect.sync(() => {
            for (const [handle, output] of outputs) if (output.session === scope) remove(handle)
          })
        )
      }
      yield* Effect.addFinalizer(() => Effect.sync(() => output.close()))
      return {
        handle,
        write: (bytes) => Effect.sync(() => output.open && write(handle, output, bytes)),
        state: Effect.sync(() => ({ handle, sizeBytes: output.bytes.length, complete: output.complete })),
        discard: Effect.sync(() => remove(handle))
      }
    }),
    read: (handle, offset, length) =>
      Effect.flatMap(CurrentSession, ({ scope }) => {
        const output = outputs.get(handle)
        return output === undefined || output.session !== scope
          ? Effect.fail(new NotSpilled({ handle, why: "unknown" }))
          : Effect.succeed({ bytes: output.bytes.read(offset, length), sizeBytes: output.bytes.length })
      })
  }
}

class Output {
  readonly session: Scope.Scope
  bytes = new GrowingBytes()
  complete = true
  open = true
  constructor(session: Scope.Scope) {
    this.session = session
  }
  close(): void {
    this.open = false
  }
  removed(): void {
    this.bytes = new GrowingBytes()
    this.complete = false
  }
}

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
