/**
 * Checks any journal against the contract of its port.
 *
 * In each round some processes write calls at the same time, and readers come at any time. Then a process ends, others
 * claim what it left open, at the same time if there are several, and go on with it; in the end all of them are gone,
 * and a new one must find what was durable. What should happen is known by a list of what was written.
 *
 * An effect like any other, it goes with any test runner: it fails with a `JournalViolation`. It runs in the time of
 * the world.
 *
 * Not found: what only a crash shows, of the process or the machine, and what a full disk does.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Journal from "../../src/Journal.ts"
import * as Script from "./internal/JournalScript.ts"

/**
 * The journal to check.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject<E> {
  /** As one process has it. When the scope closes, that process is dead. */
  readonly open: Effect.Effect<Journal.Service, E, Scope.Scope>
  /** Whether several processes may have it at the same time. */
  readonly shared: boolean
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Default: 20. */
  readonly rounds?: number | undefined
  /** Default: drawn from `Random`, and told by the violation. */
  readonly seed?: number | undefined
  /** What takes longer will never happen. Default: 10 seconds. */
  readonly limit?: Duration.Input | undefined
}

/**
 * What was done.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly calls: number
  readonly entries: number
  readonly readers: number
  readonly claimed: number
}

const rules = {
  Order: "a reader is told what is kept, in its order, without gap or duplicate, from where it asked",
  Stuck: "what is promised happens",
  Durable: "what is durable is found again",
  Settled: "a call has one terminal and nothing after it",
  Foreign: "a call is added to by the process that it belongs to",
  Unknown: "what was not accepted is no call",
  Closed: "a journal that has ended takes nothing",
  Claim: "a dead process's open calls are claimed once, in the order of their acceptance, and no others",
  OpenCall: "what is claimed is told as it was written",
  Failed: "it works"
} as const

/**
 * A journal broke its contract.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalViolation extends Schema.TaggedError<JournalViolation>()("JournalViolation", {
  rule: Schema.Literals([
    "Order",
    "Stuck",
    "Durable",
    "Settled",
    "Foreign",
    "Unknown",
    "Closed",
    "Claim",
    "OpenCall",
    "Failed"
  ]),
  detail: Schema.String,
  round: Schema.Natural,
  seed: Schema.Finite
}) {
  override get message() {
    return `A journal broke its contract: ${rules[this.rule]}.\n${this.detail}\nSeed ${this.seed}, round ${this.round}.`
  }
}

/** What is known of a call. */
interface Call {
  readonly callId: string
  /** In the order of acceptance, and by whom: of two processes nobody knows which was first. */
  readonly place: number
  readonly acceptedBy: Process
  process: Process
  /** What was written, and so many of them are durable. */
  written: Array<Journal.Entry>
  durable: number
}

interface Process {
  readonly journal: Journal.Service
  readonly scope: Scope.Closeable
}

interface Reader {
  readonly call: Call
  readonly process: Process
  readonly from: number
  readonly seen: Array<Journal.Kept>
  readonly fiber: Fiber.Fiber<void, Journal.JournalError>
}

class Broken {
  readonly _tag = "Broken"
  readonly rule: JournalViolation["rule"]
  readonly detail: string
  constructor(rule: JournalViolation["rule"], detail: string) {
    this.rule = rule
    this.detail = detail
  }
}

const broken = (rule: JournalViolation["rule"], detail: string) => Effect.fail(new Broken(rule, detail))

/**
 * @category running
 * @since 0.1.0
 */
export const check = <E>(subject: Subject<E>, options: Options = {}): Effect.Effect<Report, JournalViolation | E> =>
  Effect.gen(function* () {
    const seed = options.seed ?? (yield* Random.nextIntBetween(0, 2 ** 31))
    const limit = Duration.fromInputUnsafe(options.limit ?? "10 seconds")
    let report: Report = { calls: 0, entries: 0, readers: 0, claimed: 0 }
    for (let round = 0; round < (options.rounds ?? 20); round++) {
      const told = yield* new Round(subject, `${seed.toString(36)}-${round}`, limit).run.pipe(
        Effect.scoped,
        Random.withSeed(`${seed}/${round}`),
        Effect.catchIf(
          (error) => error instanceof Broken,
          ({ detail, rule }) => Effect.fail(new JournalViolation({ rule, detail, round, seed }))
        )
      )
      report = {
        calls: report.calls + told.calls,
        entries: report.entries + told.entries,
        readers: report.readers + told.readers,
        claimed: report.claimed + told.claimed
      }
    }
    return report
  })

class Round<E> {
  readonly subject: Subject<E>
  readonly id: string
  readonly limit: Duration.Duration
  private readonly calls: Array<Call> = []
  private readonly readers: Array<Reader> = []
  private claims = 0

  constructor(subject: Subject<E>, id: string, limit: Duration.Duration) {
    this.subject = subject
    this.id = id
    this.limit = limit
  }

  readonly run: Effect.Effect<Report, Broken | E, Scope.Scope> = Effect.suspend(() => this.rounds())

  private rounds() {
    return Effect.gen({ self: this }, function* () {
      const first = yield* this.open
      const second = this.subject.shared ? yield* this.open : undefined
      const processes = second === undefined ? [first] : [first, second]
      const scripts = yield* Script.scripts(this.id, processes.length, first.journal.progress)
      yield* this.strangers(first)
      yield* Effect.forEach(scripts, (script) => this.play(script, processes), {
        concurrency: "unbounded",
        discard: true
      })
      yield* this.readToTheEnd
      yield* this.neverAgain(processes)

      yield* this.die(first)
      yield* this.closed(first)
      const heirs = second === undefined ? [yield* this.open] : [second, yield* this.open]
      yield* this.claim(first, heirs)
      yield* this.goOn(heirs)
      yield* this.readToTheEnd
      yield* this.neverAgain(heirs)

      // Somebody may still have died with calls that are open.
      yield* Effect.forEach(heirs, (heir) => this.die(heir), { discard: true })
      const last = yield* this.open
      yield* this.claim(undefined, [last])
      yield* this.readAgain(last)
      yield* this.settle
      yield* this.die(last)
      return {
        calls: this.calls.length,
        entries: this.calls.reduce((sum, { written }) => sum + written.length, 0),
        readers: this.readers.length,
        claimed: this.claims
      }
    })
  }

  private readonly open: Effect.Effect<Process, E, Scope.Scope> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
      return { journal: yield* Scope.provide(this.subject.open, scope), scope }
    })
  )

  /** What it had is lost as far as it was not durable; its readers are gone. */
  private die(process: Process) {
    return Effect.gen({ self: this }, function* () {
      for (const reader of this.readers) {
        if (reader.process === process) yield* Fiber.interrupt(reader.fiber)
      }
      yield* Scope.close(process.scope, Exit.void)
    })
  }

  // ---------------------------------------------------------------------------
  // Writing
  // ---------------------------------------------------------------------------

  private play({ callId, process, steps }: Script.Script, processes: ReadonlyArray<Process>) {
    return Effect.gen({ self: this }, function* () {
      const own = processes[process]!
      let call: Call | undefined
      for (const step of steps) {
        switch (step._tag) {
          case "Pause":
            yield* Effect.yieldNow
            break
          case "Join":
            if (call !== undefined) {
              // Another process knows of a call what is durable.
              const other = processes.find((other) => other !== own && step.elsewhere && call!.durable > 0)
              yield* this.join(call, other ?? own, step.from)
            }
            break
          case "Write":
            if (call === undefined) {
              call = { callId, place: this.calls.length, acceptedBy: own, process: own, written: [], durable: 0 }
              this.calls.push(call)
            }
            yield* this.write(call, step.entry, step.durability)
        }
      }
    })
  }

  private write(call: Call, entry: Journal.Entry, durability: Journal.Durability) {
    return Effect.gen({ self: this }, function* () {
      // A durable entry stands for all that were written before it.
      const before = this.calls
        .filter(({ process }) => process === call.process)
        .map((call) => [call, call.written.length] as const)
      yield* this.works(call.process.journal.write(entry, durability), `${entry._tag} of ${call.callId}`)
      call.written.push(entry)
      if (durability === "buffered") return
      for (const [call, count] of before) call.durable = Math.max(call.durable, count)
      call.durable = call.written.length
    })
  }

  /** What succeeds, and before long. */
  private works<A>(effect: Effect.Effect<A, Journal.JournalError>, what: string): Effect.Effect<A, Broken> {
    return effect.pipe(
      Effect.mapError((error) => new Broken("Failed", `${what}: ${error.reason}: ${error.detail}`)),
      Effect.timeoutOrElse({ duration: this.limit, orElse: () => broken("Stuck", what) })
    )
  }

  private refused(
    rule: JournalViolation["rule"],
    effect: Effect.Effect<unknown, Journal.JournalError>,
    reasons: ReadonlyArray<Journal.JournalError["reason"]>,
    what: string
  ): Effect.Effect<void, Broken> {
    return effect.pipe(
      Effect.timeoutOrElse({ duration: this.limit, orElse: () => broken("Stuck", what) }),
      Effect.matchEffect({
        onSuccess: () => broken(rule, `${what} was taken`),
        onFailure: (error) =>
          error._tag === "Broken"
            ? Effect.fail(error)
            : reasons.includes(error.reason)
              ? Effect.void
              : broken(rule, `${what} fails as ${error.reason}, not as ${reasons.join(" or ")}: ${error.detail}`)
      })
    )
  }

  private strangers({ journal }: Process) {
    return Effect.gen({ self: this }, function* () {
      const callId = `${this.id}-stranger`
      const end = yield* Script.terminal(callId, "tool")
      yield* this.refused("Unknown", journal.write(end, "durable"), ["Unknown"], "a terminal of no call")
      yield* this.refused("Unknown", Stream.runDrain(journal.events(callId)), ["Unknown"], "a reader of no call")
    })
  }

  private closed({ journal }: Process) {
    const callId = `${this.id}-late`
    const call = { callId, sessionId: "session", name: "tool" }
    const accepted: Journal.Entry = { _tag: "Accepted", call, workspace: "/", at: 0 }
    return this.refused("Closed", journal.write(accepted, "durable"), ["Closed"], "a call after the end")
  }

  /** Of every call that has ended, at the process that ended it if that is alive. */
  private neverAgain(alive: ReadonlyArray<Process>) {
    return Effect.forEach(
      this.calls.filter(isEnded),
      ({ callId, process }) =>
        Effect.gen({ self: this }, function* () {
          const { journal } = alive.includes(process) ? process : alive[0]!
          const end = yield* Script.terminal(callId, "tool")
          yield* this.refused("Settled", journal.write(end, "durable"), ["Settled"], "a second terminal")
          const [more] = yield* Script.progress(callId, journal.progress, 99, 1)
          yield* this.refused("Settled", journal.write(more!, "durable"), ["Settled"], "progress after a terminal")
        }),
      { discard: true }
    )
  }

  // ---------------------------------------------------------------------------
  // Reading
  // ---------------------------------------------------------------------------

  private join(call: Call, process: Process, from: number) {
    return Effect.gen({ self: this }, function* () {
      const seen: Array<Journal.Kept> = []
      const fiber = yield* process.journal.events(call.callId, from).pipe(
        Stream.runForEach((kept) => Effect.sync(() => void seen.push(kept))),
        Effect.forkScoped
      )
      this.readers.push({ call, process, from, seen, fiber })
    })
  }

  private readonly readToTheEnd = Effect.suspend(() =>
    Effect.forEach(
      this.readers,
      (reader) =>
        Effect.gen({ self: this }, function* () {
          const who = `the reader of ${reader.call.callId} from ${reader.from}`
          if (isEnded(reader.call)) yield* this.works(Effect.asVoid(Fiber.await(reader.fiber)), who)
          yield* this.judge(reader, who)
        }),
      { discard: true }
    )
  )

  private judge({ call, fiber, from, seen }: Reader, who: string): Effect.Effect<void, Broken> {
    const expected = keptOf(call, from)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined && Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
      return broken("Order", `${who} ends with ${Cause.pretty(exit.cause)}`)
    }
    const whole = exit !== undefined && Exit.isSuccess(exit)
    if (whole && seen.at(-1)?._tag !== "Terminal") return broken("Order", `${who} does not end with the terminal`)
    return same(whole ? expected : expected.slice(0, seen.length), seen)
      ? Effect.void
      : broken("Order", `${who} was told ${show(seen)} instead of ${show(expected)}`)
  }

  private readAgain(process: Process) {
    return Effect.forEach(
      this.calls,
      (call) =>
        Effect.gen({ self: this }, function* () {
          if (call.written.length === 0) {
            const reading = Stream.runDrain(process.journal.events(call.callId))
            return yield* this.refused("Unknown", reading, ["Unknown"], "a reader of a call that was lost")
          }
          const from = yield* Random.nextIntBetween(0, 4)
          const expected = keptOf(call, from)
          const read = process.journal.events(call.callId, from).pipe(Stream.take(expected.length), Stream.runCollect)
          const seen = expected.length === 0 ? [] : yield* this.works(read, `reading ${call.callId} from ${from} again`)
          if (!same(expected, seen)) {
            yield* broken("Durable", `${call.callId} from ${from} is ${show(seen)} instead of ${show(expected)}`)
          }
        }),
      { discard: true }
    )
  }

  // ---------------------------------------------------------------------------
  // Claiming
  // ---------------------------------------------------------------------------

  /** The calls of a process, or of all, are claimed by others at the same time. */
  private claim(dead: Process | undefined, heirs: ReadonlyArray<Process>) {
    return Effect.gen({ self: this }, function* () {
      const left = this.calls.filter((call) => !isEnded(call) && (dead === undefined || call.process === dead))
      const claims = yield* Effect.forEach(
        heirs,
        (heir) =>
          this.works(
            Effect.map(heir.journal.claim, (open) => [heir, open] as const),
            "claim"
          ),
        { concurrency: "unbounded" }
      )
      const found = new Set<Call>()
      for (const [heir, open] of claims) {
        const places = new Map<Process, number>()
        for (const claimed of open) {
          const { callId } = claimed.accepted.call
          const call = left.find((call) => call.callId === callId)
          if (call === undefined) return yield* broken("Claim", `${callId} is claimed, which was not left open`)
          if (found.has(call)) return yield* broken("Claim", `${callId} is claimed twice`)
          if (call.place < (places.get(call.acceptedBy) ?? -1)) {
            return yield* broken("Claim", `${callId} is claimed after one accepted later`)
          }
          found.add(call)
          places.set(call.acceptedBy, call.place)
          yield* this.take(call, claimed, heir)
        }
      }
      for (const call of left) {
        if (found.has(call)) continue
        if (call.durable > 0) return yield* broken("Durable", `${call.callId} is not found again`)
        call.written = []
      }
      for (const heir of heirs) {
        const again = yield* this.works(heir.journal.claim, "a second claim")
        if (again.length > 0) return yield* broken("Claim", `${again.length} calls are claimed a second time`)
      }
      this.claims += found.size
    })
  }

  /** Of what was not durable the end may be lost: as much as can be is taken to be kept. */
  private take(call: Call, claimed: Journal.OpenCall, heir: Process): Effect.Effect<void, Broken> {
    const { written } = call
    const lengths = Array.from({ length: written.length + 1 - Math.max(1, call.durable) }, (_, i) => written.length - i)
    const kept = lengths.find((length) => Equal.equals(json(openOf(written.slice(0, length))), json(claimed)))
    if (kept === undefined) {
      const expected = openOf(written)
      return broken("OpenCall", `${JSON.stringify(claimed)} is claimed, not ${JSON.stringify(expected)}`)
    }
    call.process = heir
    call.written = written.slice(0, kept)
    call.durable = kept
    const told = this.readers.filter((reader) => reader.call === call && reader.seen.length > 0)
    return Effect.forEach(
      told,
      ({ from, seen }) =>
        same(keptOf(call, from).slice(0, seen.length), seen)
          ? Effect.void
          : broken("Durable", `of ${call.callId} a reader was told ${show(seen)}, which is lost`),
      { discard: true }
    )
  }

  /** Some of what was claimed goes on, and some of it ends; nobody else may. */
  private goOn(heirs: ReadonlyArray<Process>) {
    return Effect.forEach(
      this.calls.filter((call) => !isEnded(call) && call.written.length > 0),
      (call) =>
        Effect.gen({ self: this }, function* () {
          const { callId } = call
          const { nextSeq } = openOf(call.written)
          const end = yield* Script.terminal(callId, "tool")
          for (const other of heirs) {
            if (other === call.process) continue
            const reasons = ["Closed", "Unknown"] as const
            yield* this.refused("Foreign", other.journal.write(end, "durable"), reasons, "another's terminal")
          }
          yield* this.join(call, call.process, nextSeq)
          yield* this.write(call, { _tag: "Started", callId, attempt: 2, repeatable: true, at: 9 }, "durable")
          for (const entry of yield* Script.progress(callId, call.process.journal.progress, nextSeq, 3)) {
            yield* this.write(call, entry, "buffered")
          }
          if (yield* Random.nextBoolean) yield* this.write(call, end, "durable")
        }),
      { concurrency: "unbounded", discard: true }
    )
  }

  /** The next round begins with nothing open. */
  private readonly settle = Effect.suspend(() =>
    Effect.forEach(
      this.calls.filter((call) => !isEnded(call) && call.written.length > 0),
      (call) => Effect.flatMap(Script.terminal(call.callId, "tool"), (end) => this.write(call, end, "durable")),
      { discard: true }
    )
  )
}

const isEnded = ({ written }: Call): boolean => written.at(-1)?._tag === "Terminal"

const keptOf = ({ written }: Call, from: number): ReadonlyArray<Journal.Kept> =>
  written.filter(
    (entry): entry is Journal.Kept =>
      entry._tag === "Terminal" || ((entry._tag === "Progress" || entry._tag === "Watermark") && entry.seq >= from)
  )

const openOf = ([accepted, ...others]: ReadonlyArray<Journal.Entry>): Journal.OpenCall => {
  if (accepted?._tag !== "Accepted") throw new Error("A call begins with its acceptance")
  return others.reduce<Journal.OpenCall>(
    (open, entry) => (entry._tag === "Accepted" || entry._tag === "Terminal" ? open : Journal.follow(open, entry)),
    { accepted, nextSeq: 0 }
  )
}

/** Without what is undefined. */
const json = (open: Journal.OpenCall): unknown => JSON.parse(JSON.stringify(open))

const same = (some: ReadonlyArray<Journal.Kept>, others: ReadonlyArray<Journal.Kept>): boolean =>
  Equal.equals(some.map(Journal.toJson), others.map(Journal.toJson))

const show = (kept: ReadonlyArray<Journal.Kept>): string =>
  `[${kept.map((entry) => (entry._tag === "Terminal" ? "Terminal" : entry.seq)).join(" ")}]`
