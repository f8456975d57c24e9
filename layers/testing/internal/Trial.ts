/**
 * One scenario, played with a tool in a runtime of its own, and all that was seen
 * of it. It judges nothing.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { CurrentClocks } from "../../../src/Clocks.ts"
import type { ErasedTool } from "../../../src/ErasedTool.ts"
import * as Journal from "../../../src/Journal.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import { type Stats, ToolRuntime } from "../../../src/ToolRuntime.ts"
import type { Scenario, Step } from "../LawViolation.ts"
import * as RecordingJournal from "../RecordingJournal.ts"
import * as RecordingReader from "../RecordingReader.ts"
import type { Time } from "./Time.ts"
import { type Run, watch } from "./Watched.ts"

/** What all trials of a check share. */
export interface Setup {
  readonly tool: ErasedTool
  readonly runtime: (grace: number) => Layer.Layer<ToolRuntime, never, ToolRegistry.ToolRegistry>
  readonly graceMs: number
  readonly limitMs: number
  readonly lingerMs: number
  readonly endless: boolean
}

export interface Entry {
  readonly at: number
  readonly entry: Journal.Entry
}

/** One call of a trial. */
export interface Call {
  readonly call: ToolCall.ToolCall
  readonly reader: RecordingReader.RecordingReader
  readonly journal: ReadonlyArray<Entry>
  readonly runs: ReadonlyArray<Run>
  /** The tool still ran when the journal was told of the terminal. */
  readonly openAtTerminal: boolean
  readonly startedAt: number
  /** When somebody interfered, if it came to it. */
  readonly interferedAt: number | undefined
  /** What had not come when the time for it was over: the end of the tool, the terminal, or the end of the reader. */
  readonly overdue: "tool" | "terminal" | "reader" | undefined
}

export interface Trial {
  readonly scenario: Scenario
  readonly calls: ReadonlyArray<Call>
  readonly stats: Stats
  readonly inFlight: number
  /** The runtime could be closed. */
  readonly closed: boolean
  readonly durationMs: number
}

/** Told to whoever reads a terminal that came of a check's own cancel. */
export const why = "the law check"

/** Beyond what a call may take to stop: for the registry, which waits for its leases, and for finalizers of the runtime. */
const closingMs = 10_000

export const play = (setup: Setup, parameters: unknown, scenario: Scenario, maxWakes: number) =>
  Effect.fnUntraced(function* (time: Time): Effect.fn.Return<Trial> {
    const clock = yield* Clock.clockWith(Effect.succeed)
    const now = () => clock.currentTimeMillisUnsafe()
    const { runs, tool } = watch(setup.tool)
    const isOpen = (callId: string) => runs.some((run) => run.callId === callId && run.open)
    const openAtTerminal = new Set<string>()
    const journal = yield* RecordingJournal.make({
      onWrite: (entry) => {
        if (entry._tag === "Terminal" && isOpen(entry.callId)) openAtTerminal.add(entry.callId)
      }
    })
    const scope = yield* Scope.make()
    const aside = yield* Scope.make()
    const runtime = Context.get(
      yield* Layer.buildWithScope(
        Layer.fresh(setup.runtime(setup.graceMs).pipe(Layer.provide(registry(tool)), Layer.provide(journal.layer))),
        scope
      ),
      ToolRuntime
    )
    const interferedAt = new Map<string, number>()
    const interfered = ({ callId }: ToolCall.ToolCall) => {
      if (!interferedAt.has(callId)) interferedAt.set(callId, now())
    }
    let closing: Fiber.Fiber<void> | undefined
    const close = Effect.suspend(() =>
      closing === undefined
        ? Effect.map(
            Effect.forkIn(Scope.close(scope, Exit.void), aside, { startImmediately: true }),
            (fiber) => (closing = fiber)
          )
        : Effect.void
    )

    /** One call, read in a fiber of its own. */
    const start = Effect.fnUntraced(function* () {
      const call = yield* ToolCall.make({ name: tool.name, parameters })
      const startedAt = now()
      let fiber: Fiber.Fiber<unknown, unknown> | undefined
      const acts: Partial<Record<Scenario["_tag"], Effect.Effect<unknown>>> = {
        Cancel: runtime.cancel(call.callId, why),
        Leave: Effect.suspend(() => (fiber === undefined ? Effect.void : Fiber.interrupt(fiber))),
        Shutdown: close
      }
      const act = acts[scenario._tag]
      const step: Step | undefined = "at" in scenario ? scenario.at : undefined
      // In a fiber of its own: it waits for the terminal, and the reader must not wait for it.
      const interfere =
        act === undefined
          ? Effect.void
          : Effect.suspend(() => {
              // The call may have ended before the reader was at its end.
              if (!ended({ call, reader })) interfered(call)
              return Effect.asVoid(Effect.forkIn(act, aside, { startImmediately: true }))
            })
      const reader = yield* RecordingReader.make({
        view: "view" in scenario ? scenario.view : "events",
        pace: scenario._tag === "Drain" && scenario.paceMs > 0 ? scenario.paceMs : undefined,
        leaveAfter: scenario._tag === "Take" ? scenario.n : undefined,
        breakAfter: scenario._tag === "Break" ? scenario.n : undefined,
        onProgress: (count) => (step?._tag === "AfterProgress" && step.n === count ? interfere : Effect.void)
      })
      const reading = reader.read(runtime, call)
      const limited =
        scenario._tag === "Timeout" ? Effect.provideService(reading, CurrentClocks, { total: scenario.ms }) : reading
      const reads = Effect.withFiber<void>((self) => {
        // Before it gets anything: it may be interrupted for the first thing that it gets.
        fiber = self
        return limited
      })
      yield* Effect.forkIn(reads, aside, { startImmediately: true })
      if (step?._tag === "AfterProgress" && step.n === 0) yield* interfere
      if (step?._tag === "AfterMs") {
        yield* Effect.forkIn(Effect.andThen(Effect.sleep(step.ms), interfere), aside, { startImmediately: true })
      }
      return { call, reader, startedAt }
    })
    type Started = Effect.Success<ReturnType<typeof start>>

    const ended = ({ call, reader }: Pick<Started, "call" | "reader">): boolean => {
      if (reader.end === undefined) return false
      // Refused at the door, it is not in the journal.
      return hasTerminal(call.callId) || !journal.entries.some(({ entry }) => Journal.callIdOf(entry) === call.callId)
    }
    const hasTerminal = (callId: string): boolean =>
      journal.entries.some(({ entry }) => entry._tag === "Terminal" && entry.callId === callId)
    const over = (started: ReadonlyArray<Started>) => () => started.every(ended)
    const wait = Effect.fnUntraced(function* (...started: ReadonlyArray<Started>) {
      yield* time.until(over(started), setup.limitMs, maxWakes)
      if (over(started)() || !setup.endless) return
      // It may run until it is cancelled, and so it is.
      for (const { call } of started) {
        interfered(call)
        yield* Effect.forkIn(runtime.cancel(call.callId, why), aside, { startImmediately: true })
      }
      yield* time.until(over(started), setup.limitMs, maxWakes)
    })

    const began = now()
    const started = [yield* start()]
    if (scenario._tag === "Twice" && scenario.atOnce) started.push(yield* start())
    yield* wait(...started)
    const durationMs = now() - began
    if (scenario._tag === "Twice" && !scenario.atOnce && over(started)()) {
      const second = yield* start()
      started.push(second)
      yield* wait(second)
    }
    const overdue = new Map(
      started.flatMap((one) => {
        if (ended(one)) return []
        const { callId } = one.call
        return [[callId, isOpen(callId) ? "tool" : hasTerminal(callId) ? "reader" : "terminal"] as const]
      })
    )
    if (overdue.size === 0) yield* time.linger(setup.lingerMs)

    const stats = yield* runtime.stats
    const inFlight = yield* runtime.inFlight
    yield* close
    yield* time.until(() => closing?.pollUnsafe() !== undefined, setup.graceMs + closingMs, maxWakes)
    const closed = closing?.pollUnsafe() !== undefined
    // Not waited for: what it interrupts may be deaf.
    yield* Effect.forkDetach(Scope.close(aside, Exit.void), { startImmediately: true })
    return {
      scenario,
      calls: started.map(({ call, reader, startedAt }) => ({
        call,
        reader,
        startedAt,
        journal: journal.entries.filter((item) => Journal.callIdOf(item.entry) === call.callId),
        runs: runs.filter((run) => run.callId === call.callId),
        interferedAt: interferedAt.get(call.callId),
        overdue: overdue.get(call.callId),
        openAtTerminal: openAtTerminal.has(call.callId)
      })),
      stats,
      inFlight: inFlight.filter(({ phase }) => phase !== "detached").length,
      closed,
      durationMs
    }
  })

const registry = (tool: ErasedTool): Layer.Layer<ToolRegistry.ToolRegistry> =>
  Layer.effect(
    ToolRegistry.ToolRegistry,
    Effect.gen(function* () {
      const registry = yield* ToolRegistry.ToolRegistry
      yield* Effect.orDie(registry.register(tool))
      return registry
    })
  ).pipe(Layer.provide(Layer.fresh(ToolRegistry.layerEmpty)))
