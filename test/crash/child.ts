/**
 * The process that is killed: it recovers what the one before left, and makes calls until it dies.
 *
 * Its one argument is JSON: where the journal is, the file that the tools append to, a seed, how many calls it makes at
 * a time (0: it recovers, and ends).
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { flushCompileCache } from "node:module"
import * as Recovery from "../../layers/journal/Recovery.ts"
import * as Permissions from "../../layers/Permissions.ts"
import * as Grants from "../../layers/permissions/Grants.ts"
import * as Resources from "../../layers/Resources.ts"
import { type Answer, Permission } from "../../src/Permission.ts"
import * as Session from "../../src/Session.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolEvent from "../../src/ToolEvent.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Place from "./place.ts"
import { type Name, say, tools } from "./report.ts"

export interface Arguments {
  readonly place: Place.Place
  readonly effects: string
  readonly seed: number
  readonly atOnce: number
}

// What is killed writes it no more, and the next compiles everything anew.
flushCompileCache()

const { atOnce, effects, place, seed }: Arguments = JSON.parse(process.argv[2]!)

const log = fs.openSync(effects, "a", 0o600)

/** On the disk when this returns. */
const touch = (name: Name, callId: string) => {
  fs.writeSync(log, `${name} ${callId}\n`)
  fs.fdatasyncSync(log)
}

const parameters = {
  /** In ms, before and after what it does. */
  before: Schema.Natural,
  after: Schema.Natural,
  /** How often it says how far it is. */
  steps: Schema.Natural,
  /** What nobody else uses at the time. */
  writes: Schema.optionalKey(Schema.String),
  asks: Schema.Boolean
}

interface Work {
  readonly before: number
  readonly after: number
  readonly steps: number
  readonly writes?: string
  readonly asks: boolean
}

const declared = {
  description: "Does something.",
  parameters,
  progress: Schema.Natural,
  success: Schema.String,
  resources: ({ writes }: Work) => (writes === undefined ? {} : { writes: [writes] })
}

class Append extends Tool.Service<Append>()("append", declared) {}
class Put extends Tool.Service<Put>()("put", { ...declared, hints: { idempotent: true } }) {}
class Look extends Tool.Service<Look>()("look", { ...declared, hints: { readOnly: true } }) {}

const work = (name: Name) =>
  Effect.succeed(({ after, before, steps }: Work) =>
    ToolStream.gen(function* () {
      const { callId } = yield* ToolCall.CurrentToolCall
      say({ _tag: "Begun", callId })
      for (let step = 0; step < steps; step++) yield* ToolStream.progress(step)
      if (before > 0) yield* Effect.sleep(before)
      touch(name, callId)
      if (after > 0) yield* Effect.sleep(after)
      yield* ToolStream.progress(steps)
      return callId
    })
  )

/** In [0, n). */
const below = (n: number) => Random.nextIntBetween(0, n, { halfOpen: true })

/** Whether it has recovered, and makes calls of its own. */
let ready = false

/** Nobody answers some of the questions, but for those of recovery, and some are answered with no. */
const person = Layer.succeed(
  Permission,
  Effect.fnUntraced(function* () {
    const patience = yield* below(10)
    if (patience === 0 && ready) return yield* Effect.never
    yield* Effect.sleep(yield* below(30))
    const answer: Answer =
      patience === 1 ? { _tag: "Denied", by: "a person", why: "no" } : { _tag: "Allowed", extent: "once" }
    return answer
  })
)

const guards = Layer.mergeAll(
  Resources.layerWith({}).pipe(
    Layer.provideMerge(
      Permissions.layerWith({
        rules: ({ parameters }) =>
          Effect.succeed(
            (parameters as Work).asks ? { _tag: "Asked", why: ["it says so"] } : { _tag: "Allowed", by: "a rule" }
          )
      }).pipe(Layer.provide(Grants.layerMemory()), Layer.provide(person))
    )
  )
)

const registry = ToolRegistry.layer(Append, Put, Look).pipe(
  Layer.provide(Append.toLayer(work("append"))),
  Layer.provide(Put.toLayer(work("put"))),
  Layer.provide(Look.toLayer(work("look")))
)

const Runtime = ToolRuntime.layerWith().pipe(
  Layer.provide(guards),
  Layer.provide(registry),
  Layer.provideMerge(Place.layer(place))
)

const one = (sessions: ReadonlyArray<Session.Session>) =>
  Effect.gen(function* () {
    const { events } = yield* ToolRuntime.ToolRuntime
    const name = tools[yield* below(tools.length)]!
    const asked: Work = {
      before: (yield* below(3)) * 10,
      after: (yield* below(3)) * 10,
      steps: yield* below(4),
      asks: (yield* below(4)) === 0,
      ...((yield* below(3)) === 0 ? { writes: `thing:${yield* below(2)}` } : {})
    }
    const session = sessions[yield* below(sessions.length)]!
    yield* Effect.gen(function* () {
      const call = yield* ToolCall.make({ name, parameters: asked })
      say({ _tag: "Made", callId: call.callId, tool: name })
      yield* Stream.runForEach(events(call), (event) =>
        Effect.sync(() => {
          if (event._tag !== "Terminal") return
          say({ _tag: "Seen", callId: call.callId, terminal: JSON.stringify(ToolEvent.toJson(event)) })
        })
      )
    }).pipe(Effect.provideService(Session.CurrentSession, session))
  })

const main = Effect.gen(function* () {
  say({ _tag: "Opened" })
  const recovered = yield* Recovery.recover
  const again = recovered.filter(({ attempt }) => attempt !== undefined).length
  say({ _tag: "Ready", recovered: recovered.length, again })
  ready = true
  const sessions = yield* Effect.forEach(["a", "b"], (id) =>
    Session.make({ workspace: "/", id: `${id}-${process.pid}-${seed}` })
  )
  yield* Effect.forEach(
    Array.from({ length: atOnce }),
    // So that calls begin at any time, not when others have ended.
    () => Effect.forever(Effect.andThen(Effect.flatMap(below(20), Effect.sleep), one(sessions))),
    { concurrency: "unbounded", discard: true }
  )
}).pipe(Effect.scoped, Effect.provide(Runtime), Random.withSeed(seed))

// It ends with whoever started it, and not before, though all of its calls wait for somebody who never answers.
process.stdin.on("close", () => process.exit(1)).resume()
await Effect.runPromise(main)
process.exit(0)
