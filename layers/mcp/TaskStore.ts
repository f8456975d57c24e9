/**
 * What outlives the process of a task: that it exists, and how it ended.
 *
 * A task's id is the `callId` of its call, so that a journal of calls is a store of tasks.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { type JournalError, Records } from "../../src/Journal.ts"
import type { Terminal } from "../../src/ToolEvent.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Store {
  /** Returns when it is durable that the call was accepted. It has been dispatched. */
  readonly created: (callId: string) => Effect.Effect<void>
  /** Of a call that does not run in this process: its terminal; or that it has none yet; none, if nothing is known of it. */
  readonly read: (callId: string) => Effect.Effect<Option.Option<Terminal | "open">>
}

/**
 * By default nothing outlives the process.
 *
 * @category references
 * @since 0.1.0
 */
export const TaskStore = Context.Reference<Store>("toolstream/mcp/TaskStore", {
  defaultValue: () => ({ created: () => Effect.void, read: () => Effect.succeedNone })
})

/** How long a journal that knows a call may take to say that it does not: it would have, of one that it does not know. */
const patience = "20 millis"

/** How long it may take to find the terminal, before the call is taken to be open. It may have to read files. */
const search = "1 second"

/** Between two looks for an acceptance that is on its way. */
const again = Schedule.spaced("5 millis")

/**
 * Tasks in the journal of the calls.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerJournal: Layer.Layer<never, never, Records> = Layer.effect(
  TaskStore,
  Effect.map(Records, ({ events }): Store => {
    const isUnknown = ({ reason }: JournalError) => reason === "Unknown"
    return {
      // A journal tells of nothing that may still be lost.
      created: (callId) =>
        Stream.runHead(events(callId)).pipe(
          Effect.timeoutOption(patience),
          Effect.retry({ while: isUnknown, schedule: again }),
          Effect.orDie
        ),
      read: (callId) =>
        events(callId).pipe(
          Stream.filter((event) => event._tag === "Terminal"),
          Stream.runHead,
          Effect.timeoutOption(search),
          Effect.map((found) =>
            Option.some<Terminal | "open">(Option.getOrElse(Option.flatten(found), () => "open" as const))
          ),
          Effect.catchIf(isUnknown, () => Effect.succeedNone),
          Effect.orDie
        )
    }
  })
)
