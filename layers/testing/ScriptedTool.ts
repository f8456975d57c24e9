/**
 * Tools whose behaviour is data: for tests of middleware, consumers and
 * runtimes. A script can be generated, shrunk and printed like any value.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Clocks } from "../../src/Clocks.ts"
import * as ErasedTool from "../../src/ErasedTool.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolStream from "../../src/ToolStream.ts"

/**
 * One thing that a tool does before its end.
 *
 * @category models
 * @since 0.1.0
 */
export const Action = Schema.Union([
  Schema.TaggedStruct("Emit", { value: Schema.Json }),
  Schema.TaggedStruct("Sleep", { ms: Schema.Natural }),
  /** Lets others run. */
  Schema.TaggedStruct("Yield", {}),
  /** Progress that does not fit its schema. */
  Schema.TaggedStruct("Misfit", {})
])
export type Action = typeof Action.Type

/**
 * How a tool ends: as its declaration says; by a defect, in the effect (`Die`) or
 * thrown before there is one (`Throw`); by interrupting itself; never; with a
 * success or failure that does not fit its schema.
 *
 * @category models
 * @since 0.1.0
 */
export const End = Schema.Union([
  Schema.TaggedStruct("Succeed", { value: Schema.Json }),
  Schema.TaggedStruct("Fail", { failure: Schema.Json }),
  Schema.TaggedStruct("Die", { message: Schema.String }),
  Schema.TaggedStruct("Throw", { message: Schema.String }),
  Schema.TaggedStruct("Interrupt", {}),
  Schema.TaggedStruct("Hang", {}),
  Schema.TaggedStruct("MisfitSuccess", {}),
  Schema.TaggedStruct("MisfitFailure", {})
])
export type End = typeof End.Type

/**
 * @category models
 * @since 0.1.0
 */
export const Script = Schema.Struct({
  actions: Schema.Array(Action),
  end: End,
  /** It ignores interruption, from its first action to its end. */
  deaf: Schema.optionalKey(Schema.Boolean),
  /** How long its finalizer takes. */
  cleanUpMs: Schema.optionalKey(Schema.Natural),
  /** Progress that a fiber of its own emits when the tool has ended, one a millisecond. */
  late: Schema.optionalKey(Schema.Natural)
})
export type Script = typeof Script.Type

/**
 * What a run of a script did.
 *
 * @category models
 * @since 0.1.0
 */
export interface Run {
  readonly startedAt: number
  /** Actions that were done. */
  readonly done: number
  /** When its finalizer had run, in ms of the clock. */
  readonly closedAt: number | undefined
}

/**
 * The declaration of scripted tools. Its parameters are ignored, and may be
 * anything.
 *
 * @category tools
 * @since 0.1.0
 */
export class Scripted extends Tool.Service<Scripted>()("scripted", {
  description: "Does what its script says.",
  parameters: { input: Schema.optionalKey(Schema.Json) },
  progress: Schema.Json,
  success: Schema.Json,
  failure: Schema.Json
}) {}

/**
 * A tool that does what a script says, and what its runs have done so far.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  script: Script,
  options: {
    /** Default: "scripted". */
    readonly name?: string | undefined
    readonly clocks?: Clocks | undefined
  } = {}
): { readonly tool: ErasedTool.ErasedTool; readonly runs: ReadonlyArray<Run> } => {
  const runs: Array<Run> = []
  const { clocks, name = Scripted.toolName } = options
  const erased = ErasedTool.fromImplementation(Scripted, { execute: () => stream(script, runs) })
  return {
    runs,
    tool: {
      ...erased,
      name,
      descriptor: { ...erased.descriptor, name, title: name },
      clocks: clocks === undefined ? undefined : () => clocks
    }
  }
}

/**
 * What a script does, as a stream.
 *
 * @category converting
 * @since 0.1.0
 */
export const stream = (
  script: Script,
  runs: Array<Run> = []
): ToolStream.ToolStream<Schema.Json, Schema.Json, Schema.Json> =>
  ToolStream.suspend(() => {
    if (script.end._tag === "Throw" && script.actions.length === 0) throw new Error(script.end.message)
    return ToolStream.callback<Schema.Json, Schema.Json, Schema.Json, Scope.Scope>((emit) =>
      Effect.gen(function* () {
        const index = runs.length
        runs.push({ startedAt: yield* Clock.currentTimeMillis, done: 0, closedAt: undefined })
        const change = (part: Partial<Run>) =>
          Effect.sync(() => {
            runs[index] = { ...runs[index]!, ...part }
          })
        yield* Effect.addFinalizer(() =>
          Effect.gen(function* () {
            if (script.cleanUpMs !== undefined) yield* Effect.sleep(script.cleanUpMs)
            yield* change({ closedAt: yield* Clock.currentTimeMillis })
            if (script.late !== undefined) yield* Effect.forkDetach(emitLate(emit, script.late))
          })
        )
        const body = Effect.gen(function* () {
          for (const [done, action] of script.actions.entries()) {
            yield* act(action, emit)
            yield* change({ done: done + 1 })
          }
          return yield* end(script.end)
        })
        return yield* script.deaf === true ? Effect.uninterruptible(body) : body
      })
    )
  })

type Emit = (value: Schema.Json) => Effect.Effect<void>

/** A number, and none of JSON. */
const misfit = Number.NaN

const act = (action: Action, emit: Emit): Effect.Effect<void> => {
  switch (action._tag) {
    case "Emit":
      return emit(action.value)
    case "Sleep":
      return Effect.sleep(action.ms)
    case "Yield":
      return Effect.yieldNow
    case "Misfit":
      return emit(misfit)
  }
}

const end = (end: End): Effect.Effect<Schema.Json, Schema.Json> => {
  switch (end._tag) {
    case "Succeed":
      return Effect.succeed(end.value)
    case "Fail":
      return Effect.fail(end.failure)
    case "Die":
      return Effect.die(new Error(end.message))
    case "Throw":
      return Effect.suspend(() => {
        throw new Error(end.message)
      })
    case "Interrupt":
      return Effect.interrupt
    case "Hang":
      return Effect.never
    case "MisfitSuccess":
      return Effect.succeed(misfit)
    case "MisfitFailure":
      return Effect.fail(misfit)
  }
}

const emitLate = (emit: Emit, count: number): Effect.Effect<void> =>
  Effect.forEach(
    Array.from({ length: count }, (_, n) => n),
    (n) => Effect.andThen(Effect.sleep(1), emit(n)),
    { discard: true }
  )
