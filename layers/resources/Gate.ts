/**
 * Who may run now: a fair gate over named resources.
 *
 * **Laws**
 *
 * - Mutual exclusion: nobody is inside with one who writes what it reads or writes.
 * - Readers are inside together, as far as `weight` allows.
 * - Arrival order: of two that conflict, the one that asked first is let in first.
 * - No starvation: whoever waits is let in after a bounded number of others.
 * - No deadlock: all that one asks for is asked for at once, in one order for all.
 * - Who is interrupted while it waits holds nothing, and wakes those it was in the way of.
 *
 * An entry costs a constant amount of work for each of its keys, however many wait.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/**
 * What one asks for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Claim {
  readonly reads?: ReadonlyArray<string> | undefined
  readonly writes?: ReadonlyArray<string> | undefined
  /** Alone, whatever others ask for. */
  readonly exclusive?: boolean | undefined
  /** Of the gate's capacity. Default: 1. More than the capacity counts as all of it. */
  readonly weight?: number | undefined
}

/** A place in the queue of one key. */
interface Place {
  readonly entry: Entry
  readonly writes: boolean
  readonly queue: Queue
  /** It is not behind anybody that it conflicts with. */
  eligible: boolean
  before: Place | undefined
  after: Place | undefined
}

/** Those who hold a key or wait for it, in the order they came. The eligible ones stand at the front. */
class Queue {
  first: Place | undefined
  private last: Place | undefined
  readonly key: string
  constructor(key: string) {
    this.key = key
  }

  add(entry: Entry, writes: boolean): Place {
    const { last } = this
    // Behind a front of readers another reader is of that front.
    const eligible = last === undefined || (!writes && last.eligible && !last.writes)
    const place: Place = { entry, writes, queue: this, eligible, before: last, after: undefined }
    if (last === undefined) this.first = place
    else last.after = place
    this.last = place
    return place
  }

  /** Takes a place out, and tells those who need not wait for anybody here any more. */
  remove(place: Place, released: (entry: Entry) => void): void {
    const { after, before } = place
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    // The front grows from where the gap is: everybody before it was eligible, or nobody behind it can be.
    for (let next = after; next !== undefined && !next.eligible; next = next.after) {
      const previous = next.before
      if (previous !== undefined && (next.writes || previous.writes || !previous.eligible)) return
      next.eligible = true
      released(next.entry)
    }
  }
}

/** One who asked. */
class Entry {
  readonly places: Array<Place> = []
  readonly weight: number
  /** Keys on which it still has to wait. */
  blocked = 0
  state: "waiting" | "queued" | "inside" | "gone" = "waiting"
  resume: ((effect: Effect.Effect<void>) => void) | undefined
  constructor(weight: number) {
    this.weight = weight
  }
}

/** Every entry reads it, an exclusive one writes it. No resource has an empty name. */
const everything = ""

/**
 * @category models
 * @since 0.1.0
 */
export interface Gate {
  /** Runs an effect inside. */
  readonly within: <A, E, R>(claim: Claim, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** How many are inside, and how many wait. */
  readonly counts: Effect.Effect<{ readonly inside: number; readonly waiting: number }>
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: {
  /** The weights inside at once. Default: no limit. */
  readonly capacity?: number | undefined
}): Gate => {
  const capacity = options?.capacity ?? Infinity
  const queues = new Map<string, Queue>()
  /** Those whose keys are free, but for whom there is no room: served in order, so that a heavy one is not passed by. */
  const queued: Array<Entry> = []
  let room = capacity
  let inside = 0
  let waiting = 0

  const admit = (entry: Entry): void => {
    entry.state = "queued"
    queued.push(entry)
    letIn()
  }

  const letIn = (): void => {
    for (let next = queued[0]; next !== undefined && next.weight <= room; next = queued[0]) {
      queued.shift()
      room -= next.weight
      next.state = "inside"
      inside++
      waiting--
      next.resume?.(Effect.void)
    }
  }

  const released = (entry: Entry): void => {
    if (--entry.blocked === 0 && entry.state === "waiting") admit(entry)
  }

  const enter = (claim: Claim): Entry => {
    const entry = new Entry(Math.min(claim.weight ?? 1, capacity))
    const writes = new Set(claim.exclusive === true ? [everything, ...(claim.writes ?? [])] : claim.writes)
    waiting++
    for (const key of new Set([everything, ...writes, ...(claim.reads ?? [])])) {
      const queue = queues.get(key) ?? new Queue(key)
      queues.set(key, queue)
      const place = queue.add(entry, writes.has(key))
      entry.places.push(place)
      if (!place.eligible) entry.blocked++
    }
    if (entry.blocked === 0) admit(entry)
    return entry
  }

  const leave = (entry: Entry): void => {
    if (entry.state === "gone") return
    if (entry.state === "inside") {
      inside--
      room += entry.weight
    } else {
      waiting--
      if (entry.state === "queued") queued.splice(queued.indexOf(entry), 1)
    }
    entry.state = "gone"
    for (const place of entry.places) {
      place.queue.remove(place, released)
      if (place.queue.first === undefined) queues.delete(place.queue.key)
    }
    letIn()
  }

  return {
    within: (claim, effect) =>
      Effect.suspend(() => {
        const entry = enter(claim)
        const entered = Effect.callback<void>((resume) => {
          if (entry.state === "inside") return resume(Effect.void)
          entry.resume = resume
        })
        return Effect.ensuring(
          entry.state === "inside" ? effect : Effect.andThen(entered, effect),
          Effect.sync(() => leave(entry))
        )
      }),
    counts: Effect.sync(() => ({ inside, waiting }))
  }
}
