/**
 * A lock for sets of files, first come, first served.
 *
 * **Laws**
 *
 * - Of two that ask for a common key, the one that came later holds nothing before
 *   the other has let go. Those without a common key never wait for each other, even
 *   if a third stands between them that waits for both.
 * - All keys of one request are queued for in one step, in one order: no deadlock.
 *   Nobody overtakes on a key: no starvation.
 * - Who is interrupted while it waits leaves no trace.
 *
 * Each key has a queue; a request holds when it is the first in each of its queues.
 * So a step costs as many operations as it has keys, however many others wait.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/**
 * A place in the queues.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ticket {
  /** Of its arrival. It stays when it queues again, for more keys. */
  readonly number: number
  keys: ReadonlySet<string>
  /** Queues in which it is not the first. */
  ahead: number
  holds: boolean
  granted: (() => void) | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export class HeldFiles {
  private readonly queues = new Map<string, Array<Ticket>>()
  private arrivals = 0
  /** How often somebody let go. What was looked at before may be different since. */
  releases = 0

  /** Queues up. At once: the order of arrival is the order of calls. */
  arrive(keys: Iterable<string>): Ticket {
    const ticket: Ticket = { number: this.arrivals++, keys: new Set(keys), ahead: 0, holds: false, granted: undefined }
    this.enter(ticket)
    return ticket
  }

  /** Lets go and queues again for these keys, ahead of all who came later and do not hold. */
  again(ticket: Ticket, keys: Iterable<string>): void {
    const next = this.remove(ticket)
    ticket.keys = new Set(keys)
    this.enter(ticket)
    for (const waiter of next) this.grant(waiter)
  }

  /** Waits until it holds. Interrupted, it still has to leave. */
  wait(ticket: Ticket): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      if (ticket.holds) return resume(Effect.void)
      ticket.granted = () => resume(Effect.void)
      return Effect.sync(() => {
        ticket.granted = undefined
      })
    })
  }

  /** Lets go, or gives up its place. */
  leave(ticket: Ticket): void {
    for (const waiter of this.remove(ticket)) this.grant(waiter)
  }

  /** Keys that somebody holds or waits for. */
  get size(): number {
    return this.queues.size
  }

  /** Those who are now the first in a queue. */
  private remove(ticket: Ticket): ReadonlyArray<Ticket> {
    this.releases++
    const next: Array<Ticket> = []
    for (const key of ticket.keys) {
      const queue = this.queues.get(key)
      const place = queue?.indexOf(ticket) ?? -1
      if (queue === undefined || place < 0) continue
      queue.splice(place, 1)
      if (queue.length === 0) this.queues.delete(key)
      else if (place === 0) {
        queue[0]!.ahead--
        next.push(queue[0]!)
      }
    }
    ticket.keys = new Set()
    ticket.holds = false
    return next
  }

  private enter(ticket: Ticket): void {
    ticket.ahead = 0
    for (const key of ticket.keys) {
      const queue = this.queues.get(key)
      if (queue === undefined) {
        this.queues.set(key, [ticket])
        continue
      }
      const later = queue.findLastIndex((other) => other.holds || other.number < ticket.number) + 1
      queue.splice(later, 0, ticket)
      if (later > 0) ticket.ahead++
      else if (queue.length > 1) queue[1]!.ahead++
    }
    this.grant(ticket)
  }

  private grant(ticket: Ticket): void {
    if (ticket.holds || ticket.ahead > 0) return
    ticket.holds = true
    ticket.granted?.()
    ticket.granted = undefined
  }
}
