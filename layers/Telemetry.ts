/**
 * Calls as spans and as a duration histogram, over Effect's tracer and metrics.
 * What exports them is a layer of the application, such as `effect/observability`'s
 * `Otlp.layer`; the tracer is that of whoever calls.
 *
 * **Details**
 *
 * - One span for every call that was accepted, `execute_tool {name}`, from its
 *   acceptance to its terminal, with a child for each stage: `queue`, `approval`,
 *   `run`, `drain`. What a tool traces itself is below `run`. Where the tracer is Effect's
 *   own, which keeps spans for nobody, and the caller has none, none is made.
 * - `gen_ai.execute_tool.duration`, in seconds, by tool and, of what failed, by
 *   `error.type`. A name that no tool has is counted as `_OTHER`: models invent many.
 * - `error.type` is the tag of the reason, `tool_error` for a success that the model
 *   must see as an error.
 * - Arguments and results are opt-in: they are what people and their files say. What
 *   a schema declares as `Schema.Redacted` is a hash even then.
 *
 * **Source** OpenTelemetry semantic conventions for generative AI, `execute_tool`, status Development.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import { CallObserver, type Observer, type Watch } from "../src/CallObserver.ts"
import type { Stage } from "../src/CallStage.ts"
import type { ErasedTool } from "../src/ErasedTool.ts"
import type { ToolCall } from "../src/ToolCall.ts"
import { ToolError } from "../src/ToolError.ts"
import type { Terminal } from "../src/ToolEvent.ts"
import type { PreparedCall } from "../src/ToolMiddleware.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Records the arguments of each call as `gen_ai.tool.call.arguments`. Default: no. */
  readonly arguments?: boolean | undefined
  /** Records the value of each success as `gen_ai.tool.call.result`. Default: no. */
  readonly results?: boolean | undefined
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: Options): Layer.Layer<never> =>
  Layer.sync(CallObserver, (): Observer => (call, context) => {
    const surroundings = surroundingsOf(context)
    return surroundings.isSeen ? new WatchedCall(call, context, options) : new CountedCall(call, surroundings)
  })

/**
 * Without arguments and results.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = layerWith({})

/** In seconds. As the conventions advise for durations of operations. */
const boundaries = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]

/** One for each tool and ending, made when it is first needed: to add attributes to one takes longer than to update it. */
const durations = new Map<string, Metric.Histogram<number>>()

const durationOf = (tool: string, errorType: string | undefined): Metric.Histogram<number> => {
  const key = errorType === undefined ? tool : `${tool} ${errorType}`
  const known = durations.get(key)
  if (known !== undefined) return known
  const made = Metric.histogram("gen_ai.execute_tool.duration", {
    description: "Duration of a tool call, from its acceptance to its terminal.",
    attributes: {
      unit: "s",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      ...(errorType === undefined ? {} : { "error.type": errorType })
    },
    boundaries
  })
  durations.set(key, made)
  return made
}

/** Stands for what has too many names. */
const other = "_OTHER"

/** What a call counts as that took this long. */
const count = (
  call: ToolCall,
  tool: ErasedTool | undefined,
  { result, stats }: Terminal,
  { metrics }: Surroundings
): string | undefined => {
  const failure = result._tag === "Failure" ? result.error.reason._tag : undefined
  const errorType = result._tag === "Success" && result.isError ? "tool_error" : failure
  const name = tool?.name ?? (failure === "ToolNotFound" ? other : call.name)
  durationOf(name, errorType).updateUnsafe(stats.durationMs / 1000, metrics)
  return errorType
}

/** A call whose spans nobody would see. */
class CountedCall implements Watch {
  readonly span = undefined
  private tool: ErasedTool | undefined
  private readonly call: ToolCall
  private readonly surroundings: Surroundings

  constructor(call: ToolCall, surroundings: Surroundings) {
    this.call = call
    this.surroundings = surroundings
  }

  prepared({ tool }: PreparedCall): void {
    this.tool = tool
  }

  stage<A, E, R>(_stage: Stage, start: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return start()
  }

  ended(terminal: Terminal): void {
    count(this.call, this.tool, terminal, this.surroundings)
  }
}

class WatchedCall implements Watch {
  readonly span: Tracer.Span
  private tool: ErasedTool | undefined
  private readonly call: ToolCall
  private readonly context: Context.Context<never>
  private readonly options: Options
  private readonly surroundings: Surroundings
  /** A stage that ended where it was started: it is told as ended by what comes next. */
  private last: { readonly span: Tracer.Span; readonly errorType: string | undefined } | undefined
  /** Stages that have not ended. */
  private open: Set<Tracer.Span> | undefined

  constructor(call: ToolCall, context: Context.Context<never>, options: Options) {
    this.call = call
    this.context = context
    this.options = options
    this.surroundings = surroundingsOf(context)
    const span = this.make(`execute_tool ${call.name}`, this.surroundings.parent, this.now())
    span.attribute("gen_ai.operation.name", "execute_tool")
    span.attribute("gen_ai.tool.name", call.name)
    span.attribute("gen_ai.tool.call.id", call.externalId ?? call.callId)
    span.attribute("gen_ai.tool.type", "function")
    this.span = span
  }

  prepared({ parameters, tool }: PreparedCall): void {
    this.tool = tool
    this.span.attribute("gen_ai.tool.description", tool.descriptor.description)
    if (this.options.arguments !== true) return
    const encoded = Effect.runSyncExit(tool.encodeParameters(parameters))
    if (Exit.isSuccess(encoded)) this.tell("gen_ai.tool.call.arguments", encoded.value, tool.redact?.parameters)
  }

  stage<A, E, R>(stage: Stage, start: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const now = this.now()
    this.endLast(now)
    const span = this.make(stage, this.span, now)
    const run = start()
    if (Exit.isExit(run)) {
      // To ask for the time costs as much as the rest of it.
      this.last = { span, errorType: Exit.isSuccess(run) ? undefined : kindOf(run.cause) }
      return run
    }
    ;(this.open ??= new Set()).add(span)
    return Effect.onExitPrimitive(Effect.provideService(run, Tracer.ParentSpan, span), (exit) => {
      this.open?.delete(span)
      this.end(span, Exit.isSuccess(exit) ? undefined : kindOf(exit.cause), this.now())
      return undefined
    }) as Effect.Effect<A, E, R>
  }

  ended(terminal: Terminal): void {
    const { span, surroundings, tool } = this
    const { result } = terminal
    const errorType = count(this.call, tool, terminal, surroundings)
    if (errorType !== undefined) span.attribute("error.type", errorType)
    if (result._tag === "Success" && this.options.results === true) {
      this.tell("gen_ai.tool.call.result", result.value, tool?.redact?.success)
    }
    // What was interrupted before it began, or goes on although its call was given up.
    const now = this.now()
    this.endLast(now)
    for (const stage of this.open ?? []) this.end(stage, "Interrupted", now)
    this.end(span, errorType, now)
  }

  private endLast(now: bigint): void {
    const { last } = this
    this.last = undefined
    if (last !== undefined) this.end(last.span, last.errorType, now)
  }

  /** What the tool said of its failure is a result: only its kind is told. */
  private end(span: Tracer.Span, errorType: string | undefined, now: bigint): void {
    span.end(now, errorType === undefined ? Exit.void : Exit.fail(new Failed(errorType)))
  }

  private now(): bigint {
    return this.surroundings.clock.currentTimeNanosUnsafe()
  }

  private make(name: string, parent: Tracer.AnySpan | undefined, startTime: bigint): Tracer.Span {
    if (!this.surroundings.isPlain) {
      return Effect.runSyncWith(this.context)(Effect.makeSpan(name, parent === undefined ? { root: true } : { parent }))
    }
    return this.surroundings.tracer.span({
      name,
      parent: parent === undefined ? Option.none() : Option.some(parent),
      annotations: Context.empty(),
      links: [],
      startTime,
      kind: "internal",
      root: parent === undefined,
      sampled: parent?.sampled ?? true
    })
  }

  private tell(name: string, json: unknown, redact: ((json: unknown) => unknown) | undefined): void {
    this.span.attribute(name, JSON.stringify(redact === undefined ? json : redact(json)) ?? "null")
  }
}

/** What a context says of spans. Contexts are few, calls are many, and each look into one takes its time. */
interface Surroundings {
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly tracer: Tracer.Tracer
  /** What a metric looks for in it, and nothing in front of that. */
  readonly metrics: Context.Context<never>
  readonly parent: Tracer.AnySpan | undefined
  /** Effect's own tracer keeps spans for nobody, unless somebody has begun one. */
  readonly isSeen: boolean
  /** Nothing is asked of spans made here: then one is made as Effect makes it, without a fiber. */
  readonly isPlain: boolean
}

const known = new WeakMap<Context.Context<never>, Surroundings>()
/** Of the call before, which most calls have in common with it. */
let last: Surroundings | undefined

const surroundingsOf = (context: Context.Context<never>): Surroundings => {
  if (context === last?.context) return last
  const found = known.get(context)
  if (found !== undefined) return (last = found)
  const tracer = Context.get(context, Tracer.Tracer)
  const parent = Context.getOrUndefined(context, Tracer.ParentSpan)
  const made: Surroundings = {
    context,
    clock: Context.get(context, Clock.Clock),
    tracer,
    metrics: Context.make(Metric.MetricRegistry, Context.get(context, Metric.MetricRegistry)).pipe(
      Context.add(Metric.CurrentMetricAttributes, Context.get(context, Metric.CurrentMetricAttributes))
    ),
    parent,
    isSeen: tracer !== Tracer.nativeTracer || parent !== undefined,
    isPlain:
      Context.get(context, References.TracerEnabled) &&
      Context.get(context, References.TracerTimingEnabled) &&
      Object.keys(Context.get(context, References.TracerSpanAnnotations)).length === 0 &&
      Context.get(context, References.TracerSpanLinks).length === 0 &&
      Context.get(context, Tracer.MinimumTraceLevel) === "All"
  }
  known.set(context, made)
  return (last = made)
}

const kindOf = (cause: Cause.Cause<unknown>): string => {
  const failed = cause.reasons.find(Cause.isFailReason)
  if (failed?.error instanceof ToolError) return failed.error.reason._tag
  return Cause.hasInterrupts(cause) ? "Interrupted" : "ToolDefect"
}

/** How a span says that its call has failed. Where in this program it is said helps nobody. */
class Failed extends Error {
  override readonly name: string
  override readonly stack = ""
  constructor(name: string) {
    super(name)
    this.name = name
  }
}
