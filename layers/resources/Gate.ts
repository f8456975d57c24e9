/**
 * Who may run now: a fair gate over named resources.
 *
 * **Laws**
 *
 * - Mutual exclusion: nobody is inside with one who writes what it reads or writes.
 * - Readers are inside together, as far as `weight` allows.
 * - Arrival order: of two that conflict, the one that asked first is let in first.
 * - No starvation: whoever waits is let in after a bounded number of others.
 * - No deadlock: all that one asks for is asked for at once, in one step. Who asks
 *   from inside, for something it runs, shares what it holds and goes before those
 *   outside; where even so each would wait for the other, it is refused.
 * - Who is interrupted while it waits holds nothing, and wakes those it was in the way of.
 *
 * To ask and to leave cost a constant amount of work for each key, however many
 * wait; only who asks again, or from inside, may have to pass others.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Namespace, type Place } from "./internal/Queues.ts"

/**
 * What one asks for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Claim {
  readonly reads?: Iterable<string> | undefined
  readonly writes?: Iterable<string> | undefined
  /** Alone, whatever others ask for. */
  readonly exclusive?: boolean | undefined
  /** Of the gate's capacity. Default: 1. More than the capacity counts as all of it. */
  readonly weight?: number | undefined
}

const noKeys: ReadonlyMap<string, boolean> = new Map()
/** Of one that stands nowhere: frozen, so that nobody's place ends up in it. */
const none: Array<never> = []
Object.freeze(none)

/**
 * One who asked.
 *
 * @category models
 * @since 0.1.0
 */
export class Ticket {
  /** Of its arrival. */
  readonly number: number
  /** Who asks from inside has asked for something that this one runs. */
  readonly within: Ticket | undefined
  /** By key, whether it writes. */
  keys: ReadonlyMap<string, boolean> = noKeys
  /** Reasons why it still has to wait. That it is open is one. */
  blocked = 0
  /** It does not know yet all it asks for. */
  open: boolean
  weight = 0
  state: "waiting" | "queued" | "inside" | "gone" = "waiting"
  places: Array<Place<Ticket>> = none
  children: Set<Ticket> | undefined
  /** Where those inside of it queue for what it holds. */
  inner: Namespace<Ticket> | undefined
  resume: ((effect: Effect.Effect<void>) => void) | undefined

  constructor(number: number, within: Ticket | undefined, open: boolean) {
    this.number = number
    this.within = within
    this.open = open
  }

  get isNested(): boolean {
    return this.within !== undefined
  }

  /** Whether it goes before another that waits as it does. */
  precedes(other: Ticket): boolean {
    if (other.state === "inside") return false
    return this.isNested === other.isNested ? this.number < other.number : this.isNested
  }
}

/** Every ticket reads it, an exclusive one writes it. No resource has an empty name. */
const everything = ""

/**
 * @category models
 * @since 0.1.0
 */
export class Gate {
  private readonly capacity: number
  private readonly queues = new Namespace<Ticket>(everything)
  /** Those whose keys are free, but for whom there is no room: served in order, so that a heavy one is not passed by. */
  private readonly queued = new Set<Ticket>()
  private room: number
  private arrivals = 0
  /** Tickets that are inside, and that wait. */
  inside = 0
  waiting = 0
  /** How often somebody left. What was looked at before may be different since. */
  releases = 0

  constructor(capacity = Infinity) {
    this.capacity = capacity
    this.room = capacity
  }

  /**
   * Asks, at once: the order of arrival is the order of calls. One that is `open` does not know yet all it asks for,
   * and is not let in before it was `settled`. Of an `asker` that is inside it shares what that one holds.
   */
  arrive(claim: Claim, open = false, asker?: Ticket): Ticket {
    const within = asker?.state === "inside" ? asker : undefined
    const ticket = new Ticket(this.arrivals++, within, open)
    this.waiting++
    if (within !== undefined) (within.children ??= new Set()).add(ticket)
    this.enter(ticket, claim)
    return ticket
  }

  /** One that was open knows what it asks for. */
  settle(ticket: Ticket, claim: Claim): void {
    ticket.open = false
    this.again(ticket, claim)
  }

  /** Asks for something else, ahead of all who came later and are not inside. */
  again(ticket: Ticket, claim: Claim): void {
    if (ticket.state === "gone") return
    this.back(ticket)
    // Nobody takes the place that it is about to take again.
    const freed: Array<Ticket> = []
    this.withdraw(ticket, (other) => {
      if (--other.blocked === 0) freed.push(other)
    })
    this.enter(ticket, claim)
    for (const other of freed) if (other.blocked === 0 && other.state === "waiting") this.admit(other)
    this.letIn()
  }

  /** Waits until it is inside. Interrupted, it still has to leave. */
  wait(ticket: Ticket): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      if (ticket.state === "inside") return resume(Effect.void)
      ticket.resume = resume
      return Effect.sync(() => {
        ticket.resume = undefined
      })
    })
  }

  /** Goes out, or gives up its place. */
  leave(ticket: Ticket): void {
    if (ticket.state === "gone") return
    this.back(ticket)
    this.waiting--
    ticket.state = "gone"
    ticket.within?.children?.delete(ticket)
    this.withdraw(ticket, this.released)
    this.letIn()
  }

  /** Whether it would wait for somebody who waits for it. Only one who asks from inside can. */
  isDeadlocked(ticket: Ticket): boolean {
    const seen = new Set<Ticket>()
    const reaches = (from: Ticket): boolean => {
      for (const next of waitsFor(from)) {
        if (next === ticket) return true
        if (seen.has(next)) continue
        seen.add(next)
        if (reaches(next)) return true
      }
      return false
    }
    return ticket.isNested && ticket.state !== "inside" && (this.wantsMore(ticket) || reaches(ticket))
  }

  /** Runs an effect inside. */
  within<A, E, R>(claim: Claim, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      let ticket: Ticket | undefined
      // Whoever is interrupted between the two has a ticket, and gives it back.
      const entered = Effect.suspend(() => {
        ticket = this.arrive(claim)
        return ticket.state === "inside" ? effect : Effect.andThen(this.wait(ticket), effect)
      })
      return Effect.onExitPrimitive(entered, () => {
        if (ticket !== undefined) this.leave(ticket)
        return undefined
      })
    })
  }

  private enter(ticket: Ticket, claim: Claim): void {
    const keys = keysOf(claim)
    ticket.keys = keys
    ticket.blocked = ticket.open ? 1 : 0
    // What runs inside of another runs in its room.
    ticket.weight = ticket.isNested ? 0 : Math.min(claim.weight ?? 1, this.capacity)
    if (ticket.isNested || keys.size > 1) for (const [key, writes] of keys) this.queue(ticket, key, writes)
    else this.place(ticket, this.queues, everything, keys.get(everything) === true)
    if (ticket.blocked === 0) this.admit(ticket)
  }

  private queue(ticket: Ticket, key: string, writes: boolean): void {
    const queues = ticket.isNested ? this.namespaceFor(ticket, key, writes) : this.queues
    if (queues === upgrade) ticket.blocked++
    else if (queues !== undefined) this.place(ticket, queues, key, writes)
  }

  private place(ticket: Ticket, queues: Namespace<Ticket>, key: string, writes: boolean): void {
    const place = queues.add(key, ticket, writes, this.blocked)
    if (ticket.places === none) ticket.places = [place]
    else ticket.places.push(place)
    if (!place.eligible) ticket.blocked++
  }

  /** Where a nested ticket queues for a key: nowhere, if somebody it is inside of shares it already. */
  private namespaceFor(ticket: Ticket, key: string, writes: boolean) {
    for (let holder = ticket.within; holder !== undefined; holder = holder.within) {
      const held = holder.keys.get(everything) === true ? true : holder.keys.get(key)
      if (held === undefined) continue
      if (held) return (holder.inner ??= new Namespace())
      return writes ? upgrade : undefined
    }
    return this.queues
  }

  /** Whether it wants to write what somebody it is inside of only reads: that one will not let go before it is done. */
  private wantsMore(ticket: Ticket): boolean {
    return Array.from(ticket.keys).some(([key, writes]) => this.namespaceFor(ticket, key, writes) === upgrade)
  }

  private withdraw(ticket: Ticket, released: (other: Ticket) => void): void {
    const { places } = ticket
    ticket.places = none
    for (const place of places) place.queue.remove(place, released)
  }

  /** Takes a ticket out of the state it is in. */
  private back(ticket: Ticket): void {
    if (ticket.state === "inside") {
      this.inside--
      this.waiting++
      this.releases++
      this.room += ticket.weight
    } else if (ticket.state === "queued") this.queued.delete(ticket)
    ticket.state = "waiting"
  }

  private admit(ticket: Ticket): void {
    ticket.state = "queued"
    // What weighs nothing waits for no room.
    if (ticket.weight === 0) return this.let(ticket)
    if (this.queued.size === 0 && ticket.weight <= this.room) return this.let(ticket)
    this.queued.add(ticket)
    this.letIn()
  }

  private letIn(): void {
    if (this.queued.size > 0)
      for (const next of this.queued) {
        if (next.weight > this.room) return
        this.queued.delete(next)
        this.let(next)
      }
  }

  private let(ticket: Ticket): void {
    this.room -= ticket.weight
    ticket.state = "inside"
    this.inside++
    this.waiting--
    const { resume } = ticket
    ticket.resume = undefined
    resume?.(Effect.void)
  }

  private readonly released = (ticket: Ticket): void => {
    if (--ticket.blocked === 0 && ticket.state === "waiting") this.admit(ticket)
  }

  private readonly blocked = (ticket: Ticket): void => {
    ticket.blocked++
    this.back(ticket)
  }
}

/** What most calls ask for, and what one does that runs alone. */
const nothing: ReadonlyMap<string, boolean> = new Map([[everything, false]])
const alone: ReadonlyMap<string, boolean> = new Map([[everything, true]])

const keysOf = ({ exclusive, reads, writes }: Claim): ReadonlyMap<string, boolean> => {
  if (reads === undefined && writes === undefined) return exclusive === true ? alone : nothing
  const keys = new Map([[everything, exclusive === true]])
  for (const key of reads ?? []) keys.set(key, false)
  for (const key of writes ?? []) keys.set(key, true)
  return keys
}

/** Stands for a key that would have to be held in another way than it is. */
const upgrade = "upgrade"

/** For whose end a ticket waits: of one inside, that of all that it runs; else, that of those it is behind. */
const waitsFor = function* (ticket: Ticket): Iterable<Ticket> {
  if (ticket.state === "inside") {
    yield* ticket.children ?? []
    return
  }
  for (const place of ticket.places) {
    for (let before = place.before; before !== undefined; before = before.before) {
      if (before.writes || place.writes) yield before.owner
    }
  }
}
