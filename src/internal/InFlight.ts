/**
 * The calls of a runtime that have no terminal yet, by `callId`.
 *
 * A call that is being started stands on the stack of the one whose tool makes it, and
 * most end there. To note each by its id would take as long as to decode its parameters.
 *
 * @since 0.1.0
 */

interface Entry {
  readonly call: { readonly callId: string }
  readonly settled: boolean
  /** The one that was being started when it was. */
  below: this | undefined
}

/** @internal */
export class InFlight<Call extends Entry> {
  private readonly noted = new Map<string, Call>()
  private starting: Call | undefined

  get(callId: string): Call | undefined {
    for (let call = this.starting; call !== undefined; call = call.below) {
      if (call.call.callId === callId && !call.settled) return call
    }
    // To look for it in an empty map, all of the id would be read.
    return this.noted.size === 0 ? undefined : this.noted.get(callId)
  }

  /** In the order of their acceptance. */
  get all(): ReadonlyArray<Call> {
    const starting: Array<Call> = []
    for (let call = this.starting; call !== undefined; call = call.below) if (!call.settled) starting.push(call)
    return [...this.noted.values(), ...starting.toReversed()]
  }

  /** It is being started, until `started`. */
  start(call: Call): void {
    call.below = this.starting
    this.starting = call
  }

  started(call: Call): void {
    this.starting = call.below
    call.below = undefined
  }

  /** It has not ended where it was started. */
  note(call: Call): void {
    this.noted.set(call.call.callId, call)
  }

  ended(call: Call): void {
    if (this.noted.size > 0) this.noted.delete(call.call.callId)
  }
}
