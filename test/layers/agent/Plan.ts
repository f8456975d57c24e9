/**
 * What happens in a turn, as data: what the model says and calls, what its tools do, and
 * what the user does meanwhile. Times are ms of the test clock; models and tools act at
 * even ones, users at odd ones, so that nothing is a draw.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { CurrentSession } from "../../../src/Session.ts"
import * as Tasks from "../../../src/Tasks.ts"
import * as Tool from "../../../src/Tool.ts"
import { fromReason, PermissionDenied } from "../../../src/ToolError.ts"
import * as ToolMiddleware from "../../../src/ToolMiddleware.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import type * as History from "../../../layers/agent/History.ts"
import * as Resources from "../../../layers/Resources.ts"
import type * as ScriptedSampler from "../../../layers/testing/ScriptedSampler.ts"

/** What a call comes to, if nobody ends it. */
export const Does = Schema.Literals([
  "succeed",
  "report",
  "fail",
  "die",
  "interrupt",
  "slow",
  "write",
  "deaf",
  "hang",
  "task",
  "waited",
  "denied",
  "unknown",
  "malformed",
  "invalid"
])
export type Does = typeof Does.Type

export const CallPlan = Schema.Struct({
  does: Does,
  /** Of the provider: ids are used again in later steps, and in the same one. */
  id: Schema.Literals(["a", "b", "c", ""]),
  ms: Schema.Literals([2, 6, 14])
})
export type CallPlan = typeof CallPlan.Type

export const StepPlan = Schema.Struct({
  speaks: Schema.Boolean,
  calls: Schema.Array(CallPlan).check(Schema.isMaxLength(4)),
  /** The model is stopped at its limit of tokens. */
  cut: Schema.Boolean,
  retries: Schema.Boolean,
  everyMs: Schema.Literals([0, 2])
})
export type StepPlan = typeof StepPlan.Type

const at = Schema.Literals([1, 3, 5, 9, 15, 21, 33])

export const Plan = Schema.Struct({
  steps: Schema.Array(StepPlan).check(Schema.isMinLength(1), Schema.isMaxLength(4)),
  says: Schema.Array(Schema.Struct({ at, from: Schema.Literals(["user", "program"]) })).check(Schema.isMaxLength(3)),
  ends: Schema.Union([
    Schema.TaggedStruct("ByItself", {}),
    Schema.TaggedStruct("Cancel", { at }),
    Schema.TaggedStruct("Leave", { at })
  ]),
  wakes: Schema.Boolean,
  /** How long the reader takes over what it reads, in ms. */
  pace: Schema.Literals([0, 0, 1])
})
export type Plan = typeof Plan.Type

/** Whose call it is: it stands in its parameters and in its result. */
export const tokenOf = (step: number, call: number): string => `<${step}.${call}>`

const textOf = ({ does, ms }: CallPlan, token: string): string =>
  does === "malformed"
    ? `{"token":"${token}",`
    : does === "invalid"
      ? JSON.stringify({ token, does: "nonsense", ms })
      : JSON.stringify({ token, does, ms })

export const askedCall = (plan: CallPlan, step: number, index: number): History.AskedCall => ({
  type: "call",
  id: plan.id,
  name: plan.does === "unknown" ? "wrok" : "work",
  text: textOf(plan, tokenOf(step, index))
})

/** The response of a step. */
export const script = (step: StepPlan, number: number): ScriptedSampler.Script => ({
  parts: [
    ...(step.speaks ? [{ type: "text" as const, text: `This is step ${number}.` }] : []),
    ...step.calls.map((call, index) => askedCall(call, number, index))
  ],
  ...(step.cut ? { stop: "length" as const } : {}),
  retries: step.retries,
  ...(step.everyMs === 0 ? {} : { everyMs: step.everyMs })
})

/** What a result says if nobody ended the call. */
export const resultOf = (
  step: StepPlan,
  number: number,
  index: number
): { readonly says: string; readonly isError: boolean } => {
  const { does, id } = step.calls[index]!
  const token = tokenOf(number, index)
  if (id !== "" && step.calls.slice(0, index).some((other) => other.id === id)) return error("has this id")
  if (step.cut && index === step.calls.length - 1) {
    return does === "unknown" ? error("There is no such tool") : error("cut off before its end")
  }
  switch (does) {
    case "succeed":
    case "slow":
    case "write":
    case "deaf":
    case "hang":
    case "task":
    case "waited":
      return { says: token, isError: false }
    case "report":
      return error(token)
    case "fail":
      return error(`failed ${token}`)
    case "die":
      return error("a bug in it")
    case "interrupt":
      return error("the tool interrupted itself")
    case "denied":
      return error("Not permitted")
    case "unknown":
      return error("There is no such tool")
    case "malformed":
      return error("Not valid JSON")
    case "invalid":
      return error("parameters are invalid")
  }
}

const error = (says: string) => ({ says, isError: true })

/** What the tools did. */
export interface World {
  /** Tokens of calls whose tool was started. */
  readonly started: Set<string>
  /** The turn was told to end. */
  ending: boolean
  /** Tokens of calls that were started after that. */
  readonly late: Set<string>
  /** By id: the tasks that were started, and whether a result told of their end. */
  readonly tasks: Map<string, { readonly waited: boolean }>
}

export const makeWorld = (): World => ({ started: new Set(), ending: false, late: new Set(), tasks: new Map() })

class Work extends Tool.Service<Work>()("work", {
  description: "Does what it is told.",
  parameters: { token: Schema.String, does: Does, ms: Schema.Natural },
  progress: Schema.String,
  success: Schema.Struct({ token: Schema.String, tasks: Schema.Array(Schema.Json) }),
  failure: Schema.String,
  toContent: ({ token }) => [{ type: "text", text: `done ${token}` }],
  isError: ({ token }) => token.startsWith("error"),
  resources: ({ does }) => (does === "write" ? { exclusive: true } : {})
}) {}

const work = (world: World) =>
  Work.toLayer(
    Effect.succeed(({ does, ms, token }) =>
      ToolStream.callback((emit: (text: string) => Effect.Effect<void>) =>
        Effect.gen(function* () {
          world.started.add(token)
          if (world.ending) world.late.add(token)
          yield* emit(`begins ${token}`)
          const done = { token, tasks: [] }
          switch (does) {
            case "report":
              return { ...done, token: `error ${token}` }
            case "fail":
              return yield* Effect.fail(`failed ${token}`)
            case "die":
              return yield* Effect.die(new Error("died"))
            case "interrupt":
              return yield* Effect.interrupt
            case "slow":
            case "write":
              return yield* Effect.as(Effect.sleep(ms), done)
            case "deaf":
              return yield* Effect.uninterruptible(Effect.as(Effect.sleep(ms), done))
            case "hang":
              return yield* Effect.never
            case "task":
            case "waited": {
              const waited = does === "waited"
              const info = yield* task(world, ms, waited)
              if (!waited) return done
              return { ...done, tasks: [{ taskId: (yield* info).taskId, status: { _tag: "Exited" } }] }
            }
            default:
              return done
          }
        })
      )
    )
  )

/** A task in the background that ends after so long. Gives what waits for its end. */
const task = Effect.fnUntraced(function* (world: World, ms: number, waited: boolean) {
  const { tasks } = yield* CurrentSession
  const id = Tasks.makeId()
  const info = (status: Tasks.TaskStatus): Tasks.TaskInfo => ({
    taskId: id,
    command: "sleep",
    status,
    durationMs: ms,
    outputBytes: 0,
    leftBehind: []
  })
  world.tasks.set(id, { waited })
  const ended = Effect.as(Effect.sleep(ms), info({ _tag: "Exited", code: 0 }))
  yield* tasks.add({
    id,
    info: Effect.succeed(info({ _tag: "Running" })),
    ended,
    read: () => Effect.die("not asked"),
    spilled: Effect.undefined,
    more: () => Effect.void,
    kill: () => Effect.succeed(false),
    forget: Effect.void
  })
  return ended
})

/** What is told to do what is denied is denied. */
const denials = ToolMiddleware.layer(
  Effect.succeed((next) => (prepared) => {
    const { parameters } = prepared
    return typeof parameters === "object" && parameters !== null && "does" in parameters && parameters.does === "denied"
      ? ToolStream.fail(fromReason(prepared.call, new PermissionDenied({ by: "the plan", why: "it says so" })))
      : next(prepared)
  })
)

/** The tool and a runtime over it. */
export const layer = (world: World) =>
  ToolRuntime.layerWith({ grace: 8 }).pipe(
    Layer.provide(denials),
    Layer.provide(Resources.layerWith({})),
    Layer.provideMerge(ToolRegistry.layer(Work)),
    Layer.provide(work(world))
  )
