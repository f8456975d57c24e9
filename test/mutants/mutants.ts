/**
 * Ways to break the core. Each is one change of one place; `from` stands there exactly once.
 *
 * @since 0.1.0
 */
export interface Mutant {
  readonly name: string
  /** From `src`. */
  readonly file: string
  readonly from: string
  readonly to: string
  /** That have to notice. Default: those of the core. */
  readonly tests?: ReadonlyArray<string>
}

/** Must pass, or the others prove nothing. */
export const control = "nothing is broken"

const mutant = (name: string, file: string, from: string, to: string): Mutant => ({ name, file, from, to })

const handoff = "internal/Handoff.ts"
const body = "internal/Body.ts"
const call = "internal/Call.ts"
const stream = "ToolStream.ts"
const erasure = "ErasedTool.ts"
const journal = "internal/CallJournal.ts"
const recovery = "../layers/journal/Recovery.ts"
const policy = "ProgressPolicy.ts"
const clocks = "internal/CallClocks.ts"

export const mutants: ReadonlyArray<Mutant> = [
  mutant(
    "emit does not wait for the next pull",
    handoff,
    "      this.read = offer\n      this.wake(Exit.succeed(progress))\n    }\n    return offer",
    "      this.wake(Exit.succeed(progress))\n      return undefined\n    }\n    return offer"
  ),
  mutant(
    "emitters are served last come, first served",
    handoff,
    "this.offers.push(offer)",
    "this.offers.unshift(offer)"
  ),
  mutant("an interrupted emitter does not take its chunk back", handoff, "this.offers.splice(index, 1)", ""),
  mutant("a reader that leaves keeps the emitters waiting", handoff, "this.read?.resume()\n    for", "for"),
  mutant(
    "an emitter goes on before a reader that drains is done",
    handoff,
    "this.wake(rest)\n      return offer",
    "this.wake(rest)\n      return undefined"
  ),
  mutant("progress is given to a reader that is at work", handoff, "!this.busy && this.offers", "this.offers"),
  mutant(
    "the end comes to a reader that is at work",
    handoff,
    "this.reader !== undefined && !this.busy",
    "this.reader !== undefined"
  ),
  mutant(
    "what comes between two operations of a reader is not seen",
    handoff,
    "if (next !== undefined) return resume(next)",
    ""
  ),
  mutant(
    "what a reader throws is thrown at the emitter",
    handoff,
    "const done = given(f, progress)",
    "const done = f(progress)"
  ),
  mutant("progress after the end is offered", handoff, "this.open = false", ""),
  mutant(
    "what is taken back is not counted",
    handoff,
    "    this.offers.splice(index, 1)\n    this.drop(offer.progress)",
    "    this.offers.splice(index, 1)"
  ),
  mutant(
    "a reader that leaves does not wait for the finalizers",
    body,
    "return Fiber.await(this.fiber)",
    "return Effect.void"
  ),
  mutant("nesting costs stack", body, "Effect.suspend(() => effectOf(self, emit))", "effectOf(self, emit)"),
  mutant(
    "gen closes its scope late",
    stream,
    "Effect.scoped(\n      Effect.suspend(() => {\n        const iterator",
    "(<A, E, R>(x: Effect.Effect<A, E, R>) => Effect.flatMap(Effect.scope, () => x) as Effect.Effect<A, E, R>)(\n      Effect.suspend(() => {\n        const iterator"
  ),
  mutant(
    "gen loses the progress before the result",
    stream,
    "return chunk === undefined ? rest",
    "return chunk === undefined || step.done ? rest"
  ),
  mutant(
    "settle lets an inner interruption through",
    stream,
    "lift(self, Effect.exit)",
    "lift(self, (effect) => Effect.flatMap(Effect.exit(effect), (exit) => Exit.hasInterrupts(exit) ? Effect.interrupt : Effect.succeed(exit)))"
  ),
  mutant(
    "concurrent waits for the progress",
    stream,
    "Effect.raceFirst(terminal, Effect.andThen(",
    "Effect.andThen(Effect.andThen("
  ),
  mutant("split forgets how the run ended", stream, "ended ??= Pull", "Pull"),
  mutant("a repeated externalId is accepted", "ToolRuntime.ts", "seen.size === seen.add(externalId).size", "false"),
  mutant(
    "a repeated externalId is refused without a batch",
    "ToolRuntime.ts",
    "const root = dispatchWith(toolOf)",
    "const root = dispatchWith(inBatch())"
  ),
  mutant(
    "a callId in flight is accepted",
    "ToolRuntime.ts",
    "if (inFlight.get(call.callId) !== undefined)",
    "if (false as boolean)"
  ),
  mutant("a closed runtime accepts calls", "ToolRuntime.ts", "closed = true", ""),
  mutant(
    "a reader of many that leaves ends none of them",
    "ToolRuntime.ts",
    "Exit.isSuccess(exit) ? undefined : leaveAll(running.values())",
    "undefined"
  ),
  mutant(
    "a reader of many leaves one after the other",
    "ToolRuntime.ts",
    '(call) => call.leave() ?? Effect.void, {\n    concurrency: "unbounded"',
    "(call) => call.leave() ?? Effect.void, {\n    concurrency: 1"
  ),
  mutant("a reader of many has done when one has ended", "ToolRuntime.ts", "left++\n", ""),
  mutant(
    "progress that nobody reads is waited with",
    call,
    'form === "end"\n          ? Exit.void\n          : this',
    "this"
  ),
  mutant(
    "a reader that leaves lets the call run",
    "ToolRuntime.ts",
    "const leave = Effect.suspend(() => (begun instanceof Call ? (begun.leave() ?? Effect.void) : Effect.void))",
    "const leave = Effect.void"
  ),
  mutant(
    "a reader that runs the body and leaves lets the call run",
    "ToolRuntime.ts",
    "return Effect.onExitPrimitive(all, () => (begun instanceof Call ? begun.leave() : undefined))",
    "return all"
  ),
  mutant(
    "the clocks of the caller are not asked",
    call,
    "resolve(this.call.name, declared, Context.get(this.outer, CurrentClocks))",
    "resolve(this.call.name, declared, {})"
  ),
  mutant("the clocks of the tool are not asked", "internal/Prepare.ts", "member.clocks?.(parameters)", "undefined"),
  mutant("a malformed call is decoded", "internal/Prepare.ts", "call.malformed !== undefined", "false"),
  mutant(
    "the member of a family is not asked for",
    "internal/Prepare.ts",
    "Effect.mapError(tool.choose, (reason) => fromReason(running.call, reason))",
    "Effect.die(tool)"
  ),
  mutant(
    "unknown keys are let through",
    "internal/JsonCodec.ts",
    "decode(value) : decode(value, strict)",
    "decode(value) : decode(value)"
  ),
  mutant("a plain struct takes unknown keys", "internal/PlainJson.ts", "keys === known ?", "keys >= known ?"),
  mutant(
    "the first of a union that fits is not taken",
    "internal/PlainJson.ts",
    "if (!refuses(value)) return undefined",
    "void refuses"
  ),
  mutant(
    "an array is taken for a struct",
    "internal/PlainJson.ts",
    "isObject(value) && !Array.isArray(value)",
    "isObject(value)"
  ),
  mutant("what is inside of a plain struct is not copied", "internal/PlainJson.ts", "copied[key] = part", "void part"),
  mutant("a plain struct is not checked", "internal/PlainJson.ts", "ast.checks === undefined ? test", "true ? test"),
  mutant(
    "only the first issue is told",
    "internal/JsonCodec.ts",
    'onExcessProperty: "error", errors: "all"',
    'onExcessProperty: "error"'
  ),
  mutant(
    "a call that cancels itself while it is started goes on",
    call,
    "if (this.ending !== undefined) return this.fork(Effect.interrupt)",
    ""
  ),
  mutant("a call that is being started is not in flight", "internal/InFlight.ts", "    this.starting = call\n", ""),
  mutant("a call that waits is not in flight", call, "this.shared.inFlight.note(this)", ""),
  mutant("cancel does not interrupt", call, "this.fiber?.interruptUnsafe()", ""),
  mutant(
    "no grace period",
    call,
    "if (grace !== Infinity) this.graceTimer = this.later(grace, () => this.detach())",
    ""
  ),
  mutant(
    "the grace is over at once",
    call,
    "this.later(grace, () => this.detach())",
    "this.later(0, () => this.detach())"
  ),
  mutant(
    "a late end is delivered",
    call,
    "if (this.shared.detached.delete(this)) this.shared.late++\n      return",
    "if (this.shared.detached.delete(this)) this.shared.late++"
  ),
  mutant("a detached fiber is forgotten", call, "this.shared.detached.add(this)", ""),
  mutant(
    "the journal is told after the reader",
    call,
    "if (journal === undefined) return this.deliver(exit)",
    "this.deliver(exit)\n    if (journal === undefined) return"
  ),
  mutant(
    "progress is journalled after the terminal",
    call,
    "journal === undefined || this.settled ? undefined : journal.progress(events)",
    "journal?.progress(events)"
  ),
  mutant("the id stays taken", call, "this.shared.inFlight.ended(this)", ""),
  mutant(
    "the last reason is told",
    call,
    "if (this.ending !== undefined || this.settled) return",
    "if (this.settled) return"
  ),
  mutant("a started call says that it was not executed", call, "this.started = true", ""),
  mutant("a call that waits says that it was stopped", call, 'this.running ? "stopped" : "not-started"', '"stopped"'),
  mutant(
    "what is known is not told",
    "internal/Current.ts",
    "partial === undefined || encodePartial === undefined",
    "true"
  ),
  mutant("of two clocks the later holds", "internal/Limits.ts", "a < b ? a : b", "a < b ? b : a"),
  mutant("seq does not rise", call, "this.seq++", "this.seq"),
  mutant("what was dropped counts as delivered", call, "delivered: emitted - dropped", "delivered: emitted"),
  mutant(
    "the tool may go on after progress that does not fit",
    erasure,
    "this.spoilt === undefined ? this.encoded(chunk) : this.told()",
    "this.encoded(chunk)"
  ),
  mutant("progress that does not fit does not interrupt", erasure, "own?.end(ending)", ""),
  mutant(
    "a success that does not fit is let through",
    erasure,
    '(issue) => Exit.fail(fromReason(this.call, invalid("success", issue)("completed", this.known())))',
    "() => this.reported(success, success)"
  ),
  mutant("a ToolError inside is a defect", erasure, "reason.defect instanceof ToolError", "(false as boolean)"),
  mutant("a success is never an error", erasure, "tool.isError?.(success as never) ?? false", "false"),
  mutant("the view does not decode progress", "internal/TypedView.ts", "decodeProgress(item)", "Effect.succeed(item)"),
  mutant(
    "the caller's services win",
    "internal/Current.ts",
    "Context.merge(outer, services)",
    "Context.merge(services, outer)"
  ),
  mutant("the layer's session wins", "internal/Current.ts", "  CurrentSession\n]", "]"),
  mutant("a schema without a JSON form is registered", erasure, "if (path !== undefined)", "if (false as boolean)"),
  mutant(
    "closing a registration does not wait",
    "ToolRegistry.ts",
    "if (Array.from(this.leases).every(({ call }) => call?.settled)) return Effect.void",
    "return Effect.void"
  ),
  mutant(
    "an old registration takes the new one's name along",
    "ToolRegistry.ts",
    "entries.get(tool.name) === entry && entries.delete",
    "entries.delete"
  ),
  mutant("an id repeats within a millisecond", "internal/Id.ts", "(++counter & 0x3fff)", "(counter & 0x3fff)"),
  mutant(
    "nobody goes to make room",
    "SpillQuota.ts",
    "this.total + granted > this.limits.totalBytes",
    "(false as boolean)"
  ),
  mutant("who asks for room goes", "SpillQuota.ts", "bytes > 0 && holder !== besides", "bytes > 0"),
  mutant("a forged marker passes for ours", "BoundedText.ts", "while (taken.has(String(number))) number++", ""),
  mutant("content is cut within a character", "BoundedContent.ts", "while (isContinuation(bytes[start])) start++", ""),
  mutant(
    "what is known is told past the middleware",
    "internal/Current.ts",
    "viewPartial === undefined ? encoded : viewPartial(encoded)",
    "true ? encoded : encoded"
  ),
  mutant(
    "what a policy holds is not handed over at the end",
    policy,
    "onSuccess: (value) => Effect.as(slot.drain, value)",
    "onSuccess: (value) => Effect.succeed(value)"
  ),
  mutant("what is merged is not counted", policy, "      count.merged++\n", ""),
  mutant(
    "what is left over is not counted",
    policy,
    "if (this.take() !== undefined) this.count.omitted++",
    "this.take()"
  ),
  mutant(
    "what a detached call holds is not counted",
    call,
    "const omitted = this.omitted + this.held",
    "const omitted = this.omitted"
  ),
  mutant("a sample does not wait", policy, "if (left <= 0) return Effect.void", "return Effect.void"),
  mutant(
    "the idle clock runs while progress waits for its reader",
    clocks,
    "if (this.waiting > 0 || !owner.runs) this.since = now",
    "if (!owner.runs) this.since = now"
  ),
  mutant(
    "the idle clock runs around the tool",
    clocks,
    "if (this.waiting > 0 || !owner.runs) this.since = now",
    "if (this.waiting > 0) this.since = now"
  ),
  mutant(
    "progress does not show that a tool is not idle",
    clocks,
    "this.waiting--\n    this.since = this.owner.clock.currentTimeMillisUnsafe()",
    "this.waiting--"
  ),
  mutant(
    "waits do not add up",
    clocks,
    "waited[stage] += Math.max(0, owner.clock.currentTimeMillisUnsafe() - since)",
    ""
  ),
  mutant("a wait has no clock", clocks, "limitMs === Infinity\n", "limitMs > 0\n"),
  mutant(
    "a clock outlives its call",
    clocks,
    "  stop(): void {\n    this.totalTimer?.interruptUnsafe()",
    "  stop(): void {"
  ),
  mutant(
    "a default cannot be replaced",
    "internal/Limits.ts",
    'ofTool === undefined || isDefault(ofTool) ? undefined : ms(name, ofTool, "tool")',
    'ofTool === undefined ? undefined : ms(name, isDefault(ofTool) ? ofTool.byDefault : ofTool, "tool")'
  ),
  mutant("caps are exceeded", "internal/Limits.ts", "limits[name] = Math.min(limits[name], caps[name])", ""),
  mutant("a clock may be anything", "internal/Limits.ts", "value >= 1 && value <= longest", "true"),
  mutant("a stage is not told", call, "this.waits = [...this.waits, wait]", ""),
  mutant("what a tool says of being killed is not heard", "Detached.ts", "current.kills = [...current.kills, own]", ""),
  mutant("a secret is let through", "internal/Redaction.ts", "if (isRedacted(ast)) return hidden", ""),
  mutant(
    "what is held is not given back if its effect never ran",
    "ToolMiddleware.ts",
    "    current?.atEnd(release)\n",
    ""
  ),
  mutant(
    "that a call is in the journal is noted a step later",
    journal,
    "    return Effect.catchCause(whole(written === undefined ? write : Effect.map(write, written)), (cause) => {",
    "    const kept = whole(write)\n    return Effect.catchCause(written === undefined ? kept : Effect.map(kept, written), (cause) => {"
  ),
  mutant(
    "what changes something starts before that is durable",
    journal,
    'readOnly(prepared) && attempt === 1 ? "buffered" : "durable"',
    '"buffered"'
  ),
  mutant(
    "a terminal is seen before it is durable",
    journal,
    'this.journal.write(entry, "durable")',
    'this.journal.write(entry, "buffered")'
  ),
  mutant(
    "whoever claims to read only is believed",
    journal,
    "isOwn(tool, origin) && tool.descriptor.hints.readOnly",
    "tool.descriptor.hints.readOnly"
  ),
  mutant(
    "a call that was not taken has an end in the journal",
    journal,
    "if (!this.accepted) return Exit.succeed(undefined)",
    ""
  ),
  mutant("a secret result is kept", journal, "if (redact === undefined) return terminal", "return terminal"),
  mutant("secret parameters are kept", journal, "redact === undefined ? parameters : redact(parameters)", "parameters"),
  mutant(
    "secret progress is kept",
    journal,
    "redact === undefined ? events : events.map",
    "true ? events : events.map"
  ),
  mutant(
    "a terminal that is not kept does not say so",
    call,
    "if (why === undefined) return this.deliver(exit)",
    "return this.deliver(exit)"
  ),
  mutant("any tool is run again", call, "this.attempt > 1 && !repeatable(prepared)", "false"),
  mutant(
    "a call made again says that it was not executed",
    call,
    "this.attempt > 1 && !this.running && Exit.isFailure(ended)",
    "false"
  ),
  mutant("progress of a call made again starts at 0", call, "this.seq = resumption?.seq ?? 0", "this.seq = 0"),
  mutant(
    "recovery takes every call for not started",
    recovery,
    "started === undefined && !decoded.readOnly",
    "started === undefined"
  ),
  mutant(
    "recovery leaves what it cannot repeat",
    recovery,
    ": settled(records, call, fate.reason)",
    ": Effect.succeed(undefined)"
  ),
  mutant("deep text is parsed", "internal/ParametersText.ts", "depth(text) > maxDepth", "false")
]
