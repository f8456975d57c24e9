/**
 * The queues of a gate: for each key, those who hold it or wait for it.
 *
 * @since 0.1.0
 */

/** Who stands in a queue. */
interface Owner<Self> {
  /** Whether it goes before another. Never before one that is inside. */
  readonly precedes: (other: Self) => boolean
}

/**
 * A place in the queue of one key.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place<O extends Owner<O>> {
  readonly owner: O
  readonly writes: boolean
  readonly queue: Queue<O>
  /** It is not behind anybody that it conflicts with. */
  eligible: boolean
  before: Place<O> | undefined
  after: Place<O> | undefined
}

/** Those who hold a key or wait for it, in their order. The eligible ones stand at the front. */
class Queue<O extends Owner<O>> {
  private first: Place<O> | undefined
  private last: Place<O> | undefined
  private readonly key: string
  private readonly queues: Map<string, Queue<O>>

  private readonly stays: boolean

  constructor(key: string, queues: Map<string, Queue<O>>, stays: boolean) {
    this.key = key
    this.queues = queues
    this.stays = stays
  }

  /** Puts somebody in, and tells those who have to wait again. */
  add(owner: O, writes: boolean, blocked: (owner: O) => void): Place<O> {
    let before = this.last
    while (before !== undefined && owner.precedes(before.owner)) before = before.before
    const after = before === undefined ? this.first : before.after
    const place: Place<O> = { owner, writes, queue: this, eligible: false, before, after }
    if (before === undefined) this.first = place
    else before.after = place
    if (after === undefined) this.last = place
    else after.before = place
    place.eligible = mayGo(place)
    for (let next = after; next !== undefined && next.eligible && !mayGo(next); next = next.after) {
      next.eligible = false
      blocked(next.owner)
    }
    return place
  }

  /** Takes a place out, and tells those who need not wait for anybody here any more. */
  remove(place: Place<O>, released: (owner: O) => void): void {
    const { after, before } = place
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    if (this.first === undefined && !this.stays) this.queues.delete(this.key)
    // The front grows from where the gap is: everybody before it was eligible, or nobody behind it can be.
    for (let next = after; next !== undefined && !next.eligible && mayGo(next); next = next.after) {
      next.eligible = true
      released(next.owner)
    }
  }
}

/** The first, and behind a front of readers another reader. */
const mayGo = <O extends Owner<O>>({ before, writes }: Place<O>): boolean =>
  before === undefined || (!writes && before.eligible && !before.writes)

/**
 * Queues by key. A key that nobody asks for has none.
 *
 * @category models
 * @since 0.1.0
 */
export class Namespace<O extends Owner<O>> {
  private readonly queues = new Map<string, Queue<O>>()
  /** The key that everybody asks for: its queue stays. */
  private readonly common: string | undefined

  constructor(common?: string) {
    this.common = common
  }

  add(key: string, owner: O, writes: boolean, blocked: (owner: O) => void): Place<O> {
    let queue = this.queues.get(key)
    if (queue === undefined) {
      queue = new Queue(key, this.queues, key === this.common)
      this.queues.set(key, queue)
    }
    return queue.add(owner, writes, blocked)
  }
}
