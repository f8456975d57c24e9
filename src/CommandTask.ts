/**
 * A running command as a task of its session.
 *
 * **Contract**
 *
 * - It is drained in a fiber of its own, whoever reads, and ends in one way: how is
 *   decided by the first who ends it.
 * - In the foreground it is its call's: it shows its output to the tool as fast as
 *   the tool takes it, and is stopped when the scope of the call closes. The first
 *   64 KiB of its output are held in memory, and what is more goes to the store.
 * - In the background it is its session's. All of its output goes to the store.
 * - Nothing of it runs when it has ended, or what does is named.
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { GrowingBytes } from "./internal/GrowingBytes.ts"
import type { ExitStatus, LeftBehind, Output, Process, SpawnFailed } from "./Processes.ts"
import { CurrentSession, type Session } from "./Session.ts"
import { type NotSpilled, type Part, Spill, type Spilled, type Store, type Writer } from "./Spill.ts"
import * as Tasks from "./Tasks.ts"
import { CurrentToolCall } from "./ToolCall.ts"

/**
 * What to run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The command as it is listed. */
  readonly command: string
  readonly spawn: Effect.Effect<Process, SpawnFailed, Scope.Scope>
  /** Counted from the start, and kept while the command is in the background: a call has a clock of its own. */
  readonly timeoutMs?: number | undefined
}

/**
 * Who sees the output of a command in the foreground.
 *
 * @category models
 * @since 0.1.0
 */
export interface Viewer {
  /** Holds the command up until it returns. The bytes are not valid after that. */
  readonly output: (output: Output) => Effect.Effect<void>
  /** There is no more. */
  readonly end: Effect.Effect<void>
}

/**
 * How a command ended.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ended {
  readonly exit: ExitStatus
  readonly leftBehind: ReadonlyArray<LeftBehind>
}

/**
 * How a command in the foreground came out: it ended, or it was left to the
 * session.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = Ended | { readonly taskId: string }

/**
 * A command that a call waits for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Foreground<out A extends Outcome = Outcome> extends Tasks.Foreground {
  readonly outcome: Effect.Effect<A>
  /** Names of environment variables that were not passed on. */
  readonly withheld: ReadonlyArray<string>
  /**
   * To be run once the command has ended: keeps its output, and says where, and how much of it, or forgets it.
   * Undefined if it is not wanted, or if the session has the command.
   */
  readonly keep: (wanted: boolean) => Effect.Effect<Spilled | undefined>
}

/**
 * Starts commands, and ends those that run when its scope closes. A tool makes
 * one when its layer is built: what its processes stand on closes after it, but
 * perhaps before their session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Commands {
  /** Starts one in the background of the current session. It is listed. */
  readonly background: (options: Options) => Effect.Effect<Tasks.Task, SpawnFailed>
  /** Starts one for the running call. The closing of the scope stops it, unless the session has it by then. */
  readonly foreground: (options: Options, viewer: Viewer) => Effect.Effect<Foreground, SpawnFailed, Scope.Scope>
  /** The same for a call that makes something of the output: without it the command is of no use, and the session cannot take it. */
  readonly attended: (options: Options, viewer: Viewer) => Effect.Effect<Foreground<Ended>, SpawnFailed, Scope.Scope>
}

/**
 * What there is to tell of a command in the end: who outlived it, and where all of its output is, if some is not shown.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rest {
  readonly leftBehind: ReadonlyArray<LeftBehind>
  readonly spill?: Spilled
}

/**
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Commands, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new Set<Running>()),
    (all) => Effect.forEach(Array.from(all), (running) => running.shutdown, { concurrency: "unbounded", discard: true })
  ),
  (all) => {
    const inForeground = <A extends Foreground>(options: Options, viewer: Viewer, seenAs: (running: Running) => A) =>
      Effect.uninterruptible(
        Effect.flatMap(Effect.scope, (scope) =>
          Effect.flatMap(start(all, options, viewer), (running) => {
            const { tasks } = running.session
            const seen = seenAs(running)
            const left = Effect.andThen(running.release(itsCall), tasks.detach(seen))
            return Effect.as(Effect.andThen(Scope.addFinalizer(scope, left), tasks.attach(seen)), seen)
          })
        )
      )
    return {
      background: (options) =>
        Effect.uninterruptible(Effect.tap(start(all, options, undefined), (running) => running.hand)),
      foreground: (options, viewer) => inForeground(options, viewer, (running): Foreground => running),
      attended: (options, viewer) => inForeground(options, viewer, attended)
    }
  }
)

const attended = ({ callId, keep, outcome, stop, withheld }: Running): Foreground<Ended> => ({
  callId,
  keep,
  stop,
  withheld,
  leave: Effect.undefined,
  outcome: Effect.flatMap(outcome, (outcome) =>
    "exit" in outcome ? Effect.succeed(outcome) : Effect.die(new Error("nobody can leave it to the session"))
  )
})

/**
 * Waits until it came out, and tells what is left of it. If the call is interrupted it is stopped, and only who is still
 * alive is told: what is stopped takes with it what it started.
 *
 * @category running
 * @since 0.1.0
 */
export const settle = <A extends Outcome>(
  command: Foreground<A>,
  options: {
    /** Whether some of the output is not shown, asked once there is no more of it. */
    readonly isCut: () => boolean
    readonly tell: (rest: Rest) => void
  }
): Effect.Effect<A> => {
  const rest = (leftBehind: ReadonlyArray<LeftBehind>) =>
    Effect.map(
      Effect.suspend(() => command.keep(options.isCut())),
      (spill) => options.tell(spill === undefined ? { leftBehind } : { leftBehind, spill })
    )
  return Effect.flatMap(
    Effect.onInterrupt(command.outcome, () =>
      Effect.flatMap(command.stop(itsCall), ({ leftBehind }) => rest(leftBehind.filter(isAlive)))
    ),
    (outcome) => ("exit" in outcome ? Effect.as(rest(outcome.leftBehind), outcome) : Effect.succeed(outcome))
  )
}

/**
 * Of those who outlived a command that was stopped: what it started is no news, unless it still runs.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isAlive = ({ fate }: LeftBehind): boolean => fate === "alive"

const itsCall = "its call"

const programEnd = "the end of the program"

/** Bytes of a command in the foreground that are held. More is memory for every call; less goes to the disk without need. */
const maxHeld = 64 * 1024

const start = Effect.fnUntraced(function* (all: Set<Running>, options: Options, viewer: Viewer | undefined) {
  const scope = Scope.makeUnsafe()
  const session = yield* CurrentSession
  const child = yield* Scope.provide(options.spawn, scope)
  const recording = new Recording(yield* Spill, session, scope)
  const running = new Running(child, yield* Effect.cached(child.sweep), recording, options, {
    all,
    session,
    scope,
    viewer,
    clock: yield* Clock.Clock,
    callId: Option.getOrUndefined(Context.getOption(yield* Effect.context<never>(), CurrentToolCall))?.callId
  })
  yield* running.begin
  return running
})

interface Place {
  readonly all: Set<Running>
  readonly session: Session
  readonly scope: Scope.Closeable
  readonly viewer: Viewer | undefined
  readonly clock: Clock.Clock
  readonly callId: string | undefined
}

class Running implements Tasks.Task, Foreground {
  readonly callId: string | undefined
  readonly session: Session
  readonly withheld: ReadonlyArray<string>
  private name: string | undefined
  /** How it ended, or is being ended. */
  private claim: Exclude<Tasks.TaskStatus, { readonly _tag: "Running" }> | undefined
  /** The command itself does not run any more. */
  private over = false
  private exit: ExitStatus | undefined
  private left: ReadonlyArray<LeftBehind> = []
  private endedAt: number | undefined
  private owner: "call" | "session" = "call"
  private drain: Fiber.Fiber<void> | undefined
  private timer: Fiber.Fiber<boolean> | undefined
  private readonly startedAt: number
  private readonly result = Deferred.makeUnsafe<Outcome>()
  private readonly whole = Deferred.makeUnsafe<void>()
  private readonly child: Process
  private readonly sweep: Effect.Effect<ReadonlyArray<LeftBehind>>
  private readonly recording: Recording
  private readonly options: Options
  private readonly place: Place

  constructor(
    child: Process,
    sweep: Effect.Effect<ReadonlyArray<LeftBehind>>,
    recording: Recording,
    options: Options,
    place: Place
  ) {
    this.child = child
    this.sweep = sweep
    this.recording = recording
    this.options = options
    this.place = place
    this.callId = place.callId
    this.session = place.session
    this.withheld = child.withheld
    this.startedAt = this.now()
    place.all.add(this)
  }

  /** Made when it is first asked for: few commands in the foreground become a task, and random bytes cost some 50 µs. */
  get id(): string {
    return (this.name ??= Tasks.makeId())
  }

  readonly begin: Effect.Effect<void> = Effect.suspend(() => {
    const { scope } = this.place
    return Effect.andThen(
      Effect.forkIn(
        Effect.map(this.child.exit, (exit) => this.exited(exit)),
        scope,
        { startImmediately: true }
      ),
      Effect.map(Effect.forkIn(this.run, scope), (fiber) => {
        this.drain = fiber
      })
    )
  })

  readonly info: Effect.Effect<Tasks.TaskInfo> = Effect.sync(() => ({
    taskId: this.id,
    command: this.options.command,
    status: this.over && this.claim !== undefined ? this.claim : { _tag: "Running" as const },
    durationMs: Math.max(0, Math.round((this.endedAt ?? this.now()) - this.startedAt)),
    outputBytes: this.recording.totalBytes,
    leftBehind: this.left
  }))

  readonly ended = Effect.suspend(() => Effect.andThen(Deferred.await(this.whole), this.info))

  readonly outcome = Effect.suspend(() => Deferred.await(this.result))

  readonly forget = Effect.suspend(() => this.recording.discard)

  readonly read = (offset: number, length: number): Effect.Effect<Part, NotSpilled> =>
    this.recording.read(offset, length)

  readonly spilled: Effect.Effect<Spilled | undefined> = Effect.suspend(() => this.recording.kept)

  readonly more = (sizeBytes: number): Effect.Effect<void> =>
    Effect.suspend(() =>
      this.recording.storedBytes > sizeBytes || Deferred.isDoneUnsafe(this.whole)
        ? Effect.void
        : Effect.andThen(this.recording.changed, this.more(sizeBytes))
    )

  readonly kill = (by: string): Effect.Effect<boolean> => this.end({ _tag: "Killed", by })

  readonly stop = (by: string): Effect.Effect<Tasks.TaskInfo> => Effect.andThen(this.release(by), this.info)

  /** Ends it, unless it is the session's or has ended. */
  release(by: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.owner === "session" || Deferred.isDoneUnsafe(this.whole)) return Effect.void
      this.claim ??= { _tag: "Killed", by }
      return this.tearDown
    })
  }

  readonly keep = (wanted: boolean): Effect.Effect<Spilled | undefined> =>
    Effect.suspend(() => {
      if (this.owner === "session") return Effect.undefined
      return wanted ? Effect.scoped(this.recording.keep) : Effect.as(this.recording.discard, undefined)
    })

  readonly shutdown: Effect.Effect<void> = Effect.suspend(() =>
    this.owner === "session" ? Effect.asVoid(this.kill(programEnd)) : this.release(programEnd)
  )

  readonly leave: Effect.Effect<Tasks.Task | undefined> = Effect.suspend(() =>
    this.owner === "session" || Deferred.isDoneUnsafe(this.result) ? Effect.undefined : Effect.as(this.hand, this)
  )

  /** Gives it to the session. */
  readonly hand: Effect.Effect<void> = Effect.uninterruptible(
    Effect.suspend(() => {
      this.owner = "session"
      this.recording.wanted = true
      const { tasks } = this.session
      return Effect.andThen(
        Effect.andThen(Effect.andThen(this.limit, tasks.detach(this)), tasks.add(this)),
        Effect.sync(() => Deferred.doneUnsafe(this.result, Effect.succeed({ taskId: this.id })))
      )
    })
  )

  /** Not in the scope, whose closing would wait for the timer that waits for it. */
  private readonly limit: Effect.Effect<void> = Effect.suspend(() => {
    const { timeoutMs } = this.options
    if (timeoutMs === undefined || this.endedAt !== undefined) return Effect.void
    const left = Math.max(0, this.startedAt + timeoutMs - this.now())
    const timer = Effect.andThen(Effect.sleep(left), this.end({ _tag: "TimedOut", limitMs: timeoutMs }))
    return Effect.map(Effect.forkDetach(timer), (fiber) => {
      this.timer = fiber
    })
  })

  private now(): number {
    return this.place.clock.currentTimeMillisUnsafe()
  }

  private exited(exit: ExitStatus): void {
    this.exit = exit
    this.claim ??= exit
    this.over = true
  }

  /** Until the command has exited and its output is read. */
  private readonly run: Effect.Effect<void> = Effect.suspend(() =>
    Stream.runForEachArray(this.child.output, (outputs) => this.takeAll(outputs)).pipe(
      Effect.andThen(Effect.suspend(() => this.viewer?.end ?? Effect.void)),
      Effect.andThen(this.child.exit),
      Effect.flatMap((exit) => {
        this.exited(exit)
        return Effect.uninterruptible(Effect.andThen(this.swept, this.finish))
      }),
      Effect.catchCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : this.broke(cause)))
    )
  )

  /** What comes while it is ended is no progress of a call that is over. */
  private get viewer(): Viewer | undefined {
    return this.owner === "call" && this.claim?._tag !== "Killed" ? this.place.viewer : undefined
  }

  /** Nearly always one. */
  private takeAll(outputs: NonEmptyReadonlyArray<Output>): Effect.Effect<void> {
    return outputs.length === 1
      ? this.take(outputs[0])
      : Effect.forEach(outputs, (output) => this.take(output), { discard: true })
  }

  private take(output: Output): Effect.Effect<void> {
    const recorded = this.recording.write(output.bytes)
    const { viewer } = this
    if (viewer === undefined) return recorded
    return recorded === Effect.void ? viewer.output(output) : Effect.andThen(recorded, viewer.output(output))
  }

  /** A fault of whoever sees or stores the output: nobody would drain the command any more. */
  private broke(cause: Cause.Cause<never>): Effect.Effect<void> {
    return Effect.uninterruptible(
      Effect.suspend(() => {
        this.claim ??= { _tag: "Killed", by: "a fault of the program" }
        const told = Deferred.doneUnsafe(this.result, Exit.failCause(cause))
        const log = told ? Effect.void : Effect.logError("a task is ended: its output cannot be read", cause)
        return Effect.andThen(log, Effect.andThen(this.swept, this.finish))
      })
    )
  }

  private readonly swept: Effect.Effect<void> = Effect.suspend(() =>
    Effect.map(
      // Whoever waits for the end is told of it, whatever is wrong with the port.
      Effect.catchCause(this.sweep, (cause) =>
        Effect.as(Effect.logError("the processes of a task may be left", cause), [])
      ),
      (left: ReadonlyArray<LeftBehind>) => {
        this.left = left
        this.over = true
      }
    )
  )

  private end(claim: NonNullable<Running["claim"]>): Effect.Effect<boolean> {
    return Effect.uninterruptible(
      Effect.suspend(() => {
        if (this.claim !== undefined) return Effect.as(Deferred.await(this.whole), false)
        this.claim = claim
        return Effect.as(this.tearDown, true)
      })
    )
  }

  private readonly tearDown: Effect.Effect<void> = Effect.uninterruptible(
    Effect.suspend(() => {
      const stopped = this.drain === undefined ? Effect.void : Fiber.interrupt(this.drain)
      return Effect.andThen(this.swept, Effect.andThen(stopped, this.finish))
    })
  )

  private readonly finish: Effect.Effect<void> = Effect.suspend(() => {
    if (this.endedAt !== undefined) return Deferred.await(this.whole)
    this.endedAt = this.now()
    this.timer?.interruptUnsafe()
    this.place.all.delete(this)
    return this.recording.end.pipe(
      Effect.andThen(Scope.close(this.place.scope, Exit.void)),
      Effect.andThen(
        Effect.sync(() => {
          Deferred.doneUnsafe(this.whole, Effect.void)
          this.recording.notify()
          // It was ended by SIGKILL if its end was not seen: nothing else is left to try.
          const exit = this.exit ?? { _tag: "Signalled" as const, signal: "SIGKILL" }
          Deferred.doneUnsafe(this.result, Effect.succeed({ exit, leftBehind: this.left }))
        })
      )
    )
  })
}

/** The output of one command, as it was written. */
class Recording {
  /** All of it is to be in the store. */
  wanted = false
  /** Bytes that the command wrote. */
  totalBytes = 0
  private held: GrowingBytes | undefined = new GrowingBytes()
  private writer: Writer | undefined
  private spilled: Spilled | undefined
  private waiting: Deferred.Deferred<void> | undefined
  private readonly store: Store
  private readonly session: Session
  private readonly scope: Scope.Scope

  constructor(store: Store, session: Session, scope: Scope.Scope) {
    this.store = store
    this.session = session
    this.scope = scope
  }

  get storedBytes(): number {
    return this.spilled?.sizeBytes ?? this.held?.length ?? 0
  }

  /** Waits for the next output, or the end. */
  readonly changed: Effect.Effect<void> = Effect.suspend(() =>
    Deferred.await((this.waiting ??= Deferred.makeUnsafe<void>()))
  )

  notify(): void {
    const { waiting } = this
    this.waiting = undefined
    if (waiting !== undefined) Deferred.doneUnsafe(waiting, Effect.void)
  }

  write(bytes: Uint8Array): Effect.Effect<void> {
    if (!this.wanted && this.held !== undefined && this.held.length + bytes.length <= maxHeld) {
      this.held.append(bytes)
      this.totalBytes += bytes.length
      return Effect.void
    }
    // What the store was given is its own until it returns.
    return Effect.uninterruptible(
      Effect.andThen(
        this.open,
        Effect.suspend(() => this.append(bytes, bytes.length))
      )
    )
  }

  read(offset: number, length: number): Effect.Effect<Part, NotSpilled> {
    return Effect.suspend(() => {
      const { held, writer } = this
      if (writer !== undefined && held === undefined) {
        return Effect.provideService(this.store.read(writer.handle, offset, length), CurrentSession, this.session)
      }
      const bytes = held?.read(offset, length) ?? new Uint8Array(0)
      return Effect.succeed({ bytes, sizeBytes: held?.length ?? 0, ended: held === undefined })
    })
  }

  /** There is no more output. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => (this.wanted ? this.open : Effect.void))

  /** Has the store keep it. */
  readonly keep: Effect.Effect<Spilled | undefined, never, Scope.Scope> = Effect.suspend(() =>
    Effect.andThen(
      Effect.flatMap(Effect.scope, (scope) => this.openIn(scope)),
      this.kept
    )
  )

  /** What the store has of it by now. It may have had to make room. */
  readonly kept: Effect.Effect<Spilled | undefined> = Effect.suspend(() => this.writer?.state ?? Effect.undefined)

  readonly discard: Effect.Effect<void> = Effect.suspend(() => {
    const discarded = this.writer?.discard ?? Effect.void
    this.held = undefined
    return discarded
  })

  private readonly open: Effect.Effect<void> = Effect.suspend(() => this.openIn(this.scope))

  /** Opens the place in the store, and moves there what was held. */
  private openIn(scope: Scope.Scope): Effect.Effect<void> {
    const { held } = this
    if (held === undefined || this.writer !== undefined) return Effect.void
    const opened = Effect.provideService(Scope.provide(this.store.open, scope), CurrentSession, this.session)
    return Effect.flatMap(opened, (writer) => {
      this.writer = writer
      return Effect.andThen(
        this.append(held.view, 0),
        Effect.sync(() => {
          this.held = undefined
        })
      )
    })
  }

  private append(bytes: Uint8Array, fresh: number): Effect.Effect<void> {
    const { writer } = this
    if (writer === undefined) return Effect.void
    const written = bytes.length === 0 ? Effect.void : writer.write(bytes)
    return Effect.map(Effect.andThen(written, writer.state), (spilled) => {
      this.spilled = spilled
      this.totalBytes += fresh
      this.notify()
    })
  }
}
