/**
 * Checks any tool against the law: every call that was accepted yields zero or
 * more progress, then exactly one terminal, and nothing after it.
 *
 * A check calls the tool with generated parameters, in a real runtime, and
 * interferes: readers leave, break and are slow; the call is cancelled and the
 * runtime shut down after every progress value and at times in between; its clock
 * runs out; it is called again. An effect like any other, it goes with any test
 * runner: it fails with a `LawViolation` whose message says what to do.
 *
 * **Contract**
 *
 * - A scenario runs in a runtime of its own, on a clock of its own that starts at
 *   0 and moves by itself, or with `clock: "real"` in the time of the world.
 * - Scenarios go from simple to intricate, and parameters are reduced while the
 *   same law is broken: what is reported is the least of both that was found.
 * - The same `seed` gives the same parameters. On the virtual clock it gives the
 *   same check.
 *
 * Not found: what a tool does wrong behind its back, such as a file that it
 * leaves open; a synchronous loop, which holds up the check, too.
 *
 * @since 0.1.0
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Clocks from "../../src/Clocks.ts"
import * as ErasedTool from "../../src/ErasedTool.ts"
import type * as Tool from "../../src/Tool.ts"
import type { ToolRegistry } from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import { adviceOn, realWorld } from "./internal/Advice.ts"
import { ladder } from "./internal/Ladder.ts"
import { within } from "./internal/Time.ts"
import { play, type Setup, type Trial } from "./internal/Trial.ts"
import { type Breach, endingOf, judge, type Terms, terminalsOf, timeline } from "./internal/Verdict.ts"
import { type Law, LawViolation, NoParameters, type Scenario } from "./LawViolation.ts"

/**
 * How to check.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How many parameters are generated; with each, every scenario is played. Default: 20; 3 in real time. */
  readonly runs?: number | undefined
  /** Default: drawn from `Random`, and told by the violation. */
  readonly seed?: string | number | undefined
  /** "real" for a tool that waits for the world: files, processes, timers, the network. Default: "virtual". */
  readonly clock?: "virtual" | "real" | undefined
  /** A call with which nobody interferes has ended by then. Default: 1 minute; 5 seconds in real time. */
  readonly limit?: Duration.Input | undefined
  /** A call has stopped by then, unless its tool declares a longer `grace`. Default: 1 second; 2 seconds in real time. */
  readonly grace?: Duration.Input | undefined
  /** How long is waited for what a tool left running. Default: 10 seconds; 10 milliseconds in real time. */
  readonly linger?: Duration.Input | undefined
  /** Progress values, and as many moments, at which somebody interferes. Default: 8; 3 in real time. */
  readonly steps?: number | undefined
  /** Tries at simpler parameters, once a violation is found. Default: 100; 10 in real time. */
  readonly maxShrinks?: number | undefined
  /** Laws that are no laws for this tool: "Endless" of one that runs until it is cancelled. */
  readonly allow?: ReadonlyArray<Law> | undefined
  /**
   * What runs the tool, with the middleware that it runs in; its own grace is to be no longer than `grace`. A fault of
   * it is found, too. Default: a `ToolRuntime` without middleware.
   */
  readonly runtime?: Layer.Layer<ToolRuntime.ToolRuntime, never, ToolRegistry> | undefined
}

/**
 * Parameters to check with: values, or what generates them.
 *
 * @category models
 * @since 0.1.0
 */
export type ParametersOf<P> = ReadonlyArray<P> | Arbitrary.Arbitrary<P>

/**
 * What was done, and how it ended. No law was broken.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  /** How many parameters the tool was called with. */
  readonly parameters: number
  readonly calls: number
  /** Trials by scenario. */
  readonly scenarios: Readonly<Record<string, number>>
  /** Calls by how they ended: "Success", the tag of a reason, with its phase if it has one. */
  readonly endings: Readonly<Record<string, number>>
  /** Progress values that came after the result of their call. They are dropped, which is no violation. */
  readonly late: number
  readonly seed: string | number
}

/**
 * Checks a tool, with parameters that its schema generates unless others are
 * given. It is called as often as there are scenarios: a tool that changes the
 * world is to be given a world of its own.
 *
 * **Example**
 *
 * ```ts
 * LawCheck.check(ReadFile.ReadFile, { clock: "real", parameters: [{ path: "README.md" }] }).pipe(
 *   Effect.provide(ReadFile.layer)
 * )
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const check = <T extends Tool.Any>(
  tool: T,
  options: Options & { readonly parameters?: ParametersOf<Tool.Parameters<T>> | undefined } = {}
): Effect.Effect<Report, LawViolation | NoParameters, T["Identifier"]> =>
  Effect.gen(function* () {
    const erased = yield* Effect.orDie(ErasedTool.fromTool(tool))
    const cannot = (detail: string) => new NoParameters({ tool: tool.toolName, detail })
    const parameters =
      options.parameters ??
      (yield* Effect.try({
        try: () => Arbitrary.schema(tool.parametersSchema),
        catch: (cause) => cannot(`nothing can be generated from the schema of its parameters (${String(cause)})`)
      }))
    const encode = (decoded: unknown) =>
      Effect.catchDefect(erased.encodeParameters(decoded), (defect) =>
        Effect.fail(cannot(`${JSON.stringify(decoded) ?? "undefined"} does not fit its schema (${String(defect)})`))
      )
    return yield* run(erased, parameters, encode, options)
  })

/**
 * Checks a tool that knows no types: one from another process, or of a JSON
 * Schema. Parameters are JSON, as a caller sends them.
 *
 * @category running
 * @since 0.1.0
 */
export const checkErased = (
  tool: ErasedTool.ErasedTool,
  options: Options & { readonly parameters: ParametersOf<unknown> }
): Effect.Effect<Report, LawViolation | NoParameters> => run(tool, options.parameters, Effect.succeed, options)

const run = <P>(
  tool: ErasedTool.ErasedTool,
  parameters: ParametersOf<P>,
  encode: (parameters: P) => Effect.Effect<unknown, NoParameters>,
  options: Options
): Effect.Effect<Report, LawViolation | NoParameters> =>
  Effect.gen(function* () {
    const isReal = options.clock === "real"
    const seed = options.seed ?? (yield* Random.nextIntBetween(0, 2 ** 31))
    const check = new Check(tool, options)
    const property = (value: P): Effect.Effect<boolean, LawViolation | NoParameters> =>
      Effect.as(
        Effect.flatMap(encode(value), (json) => check.withParameters(json)),
        true
      )
    if (!Arbitrary.isArbitrary(parameters)) {
      if (parameters.length === 0) return yield* new NoParameters({ tool: tool.name, detail: "none were given" })
      yield* Effect.forEach(parameters, property, { discard: true })
      return check.report(seed)
    }
    const result = yield* Arbitrary.checkEffect(parameters, property, {
      runs: options.runs ?? (isReal ? 3 : 20),
      maxShrinks: options.maxShrinks ?? (isReal ? 10 : 100),
      seed
    })
    switch (result._tag) {
      case "Passed":
        return check.report(seed)
      case "Falsified": {
        const error = result.failure._tag === "PropertyError" ? result.failure.error : undefined
        if (!(error instanceof LawViolation)) return yield* error ?? Effect.die(result)
        return yield* new LawViolation({ ...error, foundWith: check.foundWith, seed })
      }
      default:
        return yield* new NoParameters({
          tool: tool.name,
          detail: `of what was generated for its parameters, too much was discarded (seed ${JSON.stringify(seed)})`
        })
    }
  })

/** Moments at which somebody may wake up in one call, before it counts as endless. */
const maxWakes = 10_000

/** The same once an endless call was found: all of those that are to show it again take as long. */
const maxWakesAgain = 500

/** What a call in real time may be late by, on a busy machine. */
const slackMs = 1_000

/** Counts, and remembers which law was broken. */
class Check {
  foundWith: unknown
  private readonly setup: Setup
  private readonly options: Options
  private readonly allow: ReadonlyArray<Law>
  /** Once a law is broken, simpler parameters have to break it in the same way. */
  private broken: { readonly law: Law; readonly scenario: Scenario["_tag"] } | undefined
  private parameters = 0
  private calls = 0
  private late = 0
  private readonly scenarios: Record<string, number> = {}
  private readonly endings: Record<string, number> = {}

  constructor(tool: ErasedTool.ErasedTool, options: Options) {
    const isReal = options.clock === "real"
    const { runtime } = options
    this.options = options
    this.allow = options.allow ?? []
    this.setup = {
      tool,
      runtime: runtime === undefined ? (grace) => ToolRuntime.layerWith({ grace }) : () => runtime,
      graceMs: millis(options.grace ?? (isReal ? "2 seconds" : "1 second")),
      limitMs: millis(options.limit ?? (isReal ? "5 seconds" : "1 minute")),
      lingerMs: millis(options.linger ?? (isReal ? "10 millis" : "10 seconds")),
      endless: this.allow.includes("Endless")
    }
  }

  report(seed: string | number): Report {
    const { calls, endings, late, parameters, scenarios } = this
    return { parameters, calls, scenarios, endings, late, seed }
  }

  withParameters(parameters: unknown): Effect.Effect<void, LawViolation> {
    return Effect.flatMap(this.terms(parameters), (terms) => {
      this.parameters++
      return Effect.flatMap(this.play(parameters, terms, probe), (natural) =>
        Effect.forEach(
          ladder(natural, this.options.steps ?? (this.options.clock === "real" ? 3 : 8)).filter(
            ({ _tag }) => this.broken === undefined || this.broken.scenario === _tag
          ),
          (scenario) => this.play(parameters, terms, scenario),
          { discard: true }
        )
      )
    })
  }

  /** What the tool declares of itself for these parameters counts. */
  private terms(parameters: unknown): Effect.Effect<Terms> {
    const { limitMs, tool } = this.setup
    const declared = tool.clocks === undefined ? Effect.undefined : Effect.map(tool.decode(parameters), tool.clocks)
    return Effect.map(Effect.exit(declared), (exit) => {
      const clocks = Exit.isSuccess(exit) ? exit.value : undefined
      return {
        allow: this.allow,
        graceMs: clocks?.grace === undefined ? this.setup.graceMs : millis(durationOf(clocks.grace)),
        slackMs: this.options.clock === "real" ? slackMs : 0,
        limitMs,
        timed: clocks?.total !== undefined || clocks?.idle !== undefined
      }
    })
  }

  private play(parameters: unknown, terms: Terms, scenario: Scenario): Effect.Effect<Trial, LawViolation> {
    const kind = this.options.clock ?? "virtual"
    const wakes = this.broken?.law === "Endless" ? maxWakesAgain : maxWakes
    return Effect.flatMap(within(kind)(play(this.setup, parameters, scenario, wakes)), (trial) => {
      this.count(trial)
      const breach = judge(trial, terms)
      if (breach === undefined || (this.broken !== undefined && this.broken.law !== breach.law)) {
        return Effect.succeed(trial)
      }
      if (this.broken === undefined) {
        this.broken = { law: breach.law, scenario: scenario._tag }
        this.foundWith = parameters
      }
      return Effect.fail(this.violation(parameters, trial, breach))
    })
  }

  private violation(parameters: unknown, trial: Trial, { detail, law }: Breach): LawViolation {
    const advice = adviceOn(law, detail)
    const waits = this.options.clock !== "real" && (law === "Endless" || law === "Deaf")
    return new LawViolation({
      tool: this.setup.tool.name,
      law,
      detail,
      advice: waits ? `${advice} ${realWorld}` : advice,
      parameters,
      foundWith: parameters,
      scenario: trial.scenario,
      seen: timeline(trial)
    })
  }

  private count({ calls, scenario }: Trial): void {
    add(this.scenarios, scenario._tag)
    this.calls += calls.length
    for (const call of calls) {
      for (const terminal of terminalsOf(call)) add(this.endings, endingOf(terminal))
      for (const run of call.runs) this.late += run.late
    }
  }
}

const probe: Scenario = { _tag: "Drain", view: "events", paceMs: 0 }

const add = (counts: Record<string, number>, key: string): void => {
  counts[key] = (counts[key] ?? 0) + 1
}

const durationOf = (clock: Duration.Input | Clocks.Default): Duration.Input =>
  typeof clock === "object" && "byDefault" in clock ? clock.byDefault : clock

const millis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))
