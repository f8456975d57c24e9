/**
 * What waits to be said to the model: it is taken out between two samples, all of it,
 * in the order in which it came, once.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Message } from "../History.ts"

/** A message that waits. */
export interface Waiting {
  readonly message: Message
  /** A turn is there for it: one that runs goes on, one that is idle begins. */
  readonly wakes: boolean
  /** The task whose end it tells. */
  readonly taskId?: string | undefined
}

export class Inbox {
  private waiting: ReadonlyArray<Waiting> = []
  private readonly told = new Set<string>()
  private wake: Deferred.Deferred<void> | undefined

  put(waiting: Waiting): void {
    if (waiting.taskId !== undefined && this.told.has(waiting.taskId)) return
    this.waiting = [...this.waiting, waiting]
    if (!waiting.wakes || this.wake === undefined) return
    Deferred.doneUnsafe(this.wake, Effect.void)
    this.wake = undefined
  }

  /** The end of this task has been told to the model in another way. */
  tell(taskId: string): void {
    this.told.add(taskId)
    this.waiting = this.waiting.filter((waiting) => waiting.taskId !== taskId)
  }

  take(): ReadonlyArray<Message> {
    const messages = this.waiting.map(({ message }) => message)
    this.waiting = []
    return messages
  }

  get wakes(): boolean {
    return this.waiting.some(({ wakes }) => wakes)
  }

  /** Waits until there is something that wakes. */
  readonly woken: Effect.Effect<void> = Effect.suspend(() =>
    this.wakes ? Effect.void : Deferred.await((this.wake ??= Deferred.makeUnsafe()))
  )
}
