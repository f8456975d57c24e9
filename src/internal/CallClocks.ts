/**
 * The clocks of one call.
 *
 * A clock costs a timer only while there is something to wait for: a call that
 * ends where it was started has none.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Limits } from "./Limits.ts"

type Timer = Fiber.Fiber<void>

/** What the clocks ask of their call. */
export interface Owner {
  readonly limits: Limits
  readonly clock: Clock.Clock
  readonly acceptedAt: number
  readonly started: boolean
  /** Whether its tool runs, and is not waiting for anything around it. */
  readonly runs: boolean
  readonly later: (delayMs: number, act: () => void) => Timer
  readonly expired: (clock: "total" | "idle" | "queue" | "approval", limitMs: number) => void
}

export class CallClocks {
  private readonly owner: Owner
  private armed = false
  private totalTimer: Timer | undefined
  /** When `totalTimer` fires, in ms of the clock. */
  private deadline = Infinity
  private idle: Idle | undefined
  /** How long it has waited so far, in ms. */
  private waited: Record<"queue" | "approval", number> | undefined

  constructor(owner: Owner) {
    this.owner = owner
  }

  /** The limits are others than they were. */
  changed(): void {
    if (this.armed) this.armTotal()
  }

  /** The call has to wait for something. */
  arm(): void {
    this.armed = true
    this.armTotal()
    if (this.owner.started) this.began()
  }

  /** Begins a wait. Gives what ends it. */
  wait(stage: "queue" | "approval"): () => void {
    const { owner } = this
    const waited = (this.waited ??= { queue: 0, approval: 0 })
    const limitMs = owner.limits[stage]
    const since = owner.clock.currentTimeMillisUnsafe()
    const timer =
      limitMs === Infinity
        ? undefined
        : owner.later(Math.max(0, limitMs - waited[stage]), () => owner.expired(stage, limitMs))
    return () => {
      waited[stage] += Math.max(0, owner.clock.currentTimeMillisUnsafe() - since)
      timer?.interruptUnsafe()
    }
  }

  /** The tool has started. */
  began(): void {
    if (this.armed && this.owner.limits.idle !== Infinity) this.idleness.arm()
  }

  /** Progress shows that it is not idle. */
  emitting(emitted: Effect.Effect<void>): Effect.Effect<void> {
    const idle = this.idleness
    let waits = false
    const waiting = Effect.suspend(() => {
      waits = true
      idle.begin()
      return emitted
    })
    return Effect.onExitPrimitive(waiting, () => (waits ? idle.end() : undefined))
  }

  stop(): void {
    this.totalTimer?.interruptUnsafe()
    this.idle?.stop()
  }

  /** Made when there is something to wait for, too: to ask for the time takes its time. */
  private get idleness(): Idle {
    return (this.idle ??= new Idle(this.owner, this.owner.limits.idle))
  }

  private armTotal(): void {
    const { owner } = this
    const { limits } = owner
    const deadline = owner.acceptedAt + limits.total
    if (deadline === this.deadline) return
    this.deadline = deadline
    this.totalTimer?.interruptUnsafe()
    this.totalTimer =
      deadline === Infinity
        ? undefined
        : owner.later(Math.max(0, deadline - owner.clock.currentTimeMillisUnsafe()), () =>
            owner.expired("total", limits.total)
          )
  }
}

/** Looks again when it might have run out. No timer is moved for a progress value: there may be many. */
class Idle {
  private readonly owner: Owner
  private readonly limitMs: number
  private since: number
  /** Emitters that wait for their reader. */
  private waiting = 0
  private timer: Timer | undefined

  constructor(owner: Owner, limitMs: number) {
    this.owner = owner
    this.limitMs = limitMs
    this.since = owner.clock.currentTimeMillisUnsafe()
  }

  arm(): void {
    // A tool that is run again is the same tool.
    if (this.timer === undefined) this.look()
  }

  begin(): void {
    this.waiting++
  }

  end(): undefined {
    this.waiting--
    this.since = this.owner.clock.currentTimeMillisUnsafe()
  }

  stop(): void {
    this.timer?.interruptUnsafe()
  }

  private look(): void {
    const { limitMs, owner } = this
    const now = owner.clock.currentTimeMillisUnsafe()
    // It stands still: when it goes on it starts anew, so it cannot run out sooner than that.
    if (this.waiting > 0 || !owner.runs) this.since = now
    const left = this.since + limitMs - now
    if (left <= 0) owner.expired("idle", limitMs)
    else this.timer = owner.later(left, () => this.look())
  }
}
