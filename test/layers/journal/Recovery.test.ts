import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Recovery from "../../../layers/journal/Recovery.ts"
import * as Permissions from "../../../layers/Permissions.ts"
import * as Grants from "../../../layers/permissions/Grants.ts"
import type * as ErasedTool from "../../../src/ErasedTool.ts"
import * as Journal from "../../../src/Journal.ts"
import { Permission } from "../../../src/Permission.ts"
import { Processes } from "../../../src/Processes.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import { call, erased, type Play, verdict } from "../../Harness.ts"

const kinds = ["writes", "repeatable", "reads"] as const
type Kind = (typeof kinds)[number]

const hinted = (kind: Kind, play: Play): ErasedTool.ErasedTool => {
  const tool = erased(kind, play)
  const hints = { ...tool.descriptor.hints, readOnly: kind === "reads", idempotent: kind !== "writes" }
  return { ...tool, descriptor: { ...tool.descriptor, hints } }
}

/** What outlives a process: entries, in the order they were written, and how far they are durable. */
interface Disk {
  entries: Array<Journal.Entry>
  durable: number
}

/** The calls without a terminal. */
const openOn = ({ entries }: Disk): ReadonlyArray<Journal.OpenCall> => {
  const open = new Map<string, Journal.OpenCall>()
  for (const entry of entries) {
    const id = Journal.callIdOf(entry)
    if (entry._tag === "Accepted") open.set(id, { accepted: entry, nextSeq: 0 })
    else if (entry._tag === "Terminal") open.delete(id)
    else open.set(id, Journal.follow(open.get(id)!, entry))
  }
  return [...open.values()]
}

/**
 * A process on the disk. It dies at its n-th write: from then on nothing that it does happens. Nobody waits for it: what
 * it was writing it writes for ever.
 */
const processOn = (
  disk: Disk,
  diesAt: number,
  tools: (alive: () => boolean) => ReadonlyArray<ErasedTool.ErasedTool>,
  guards: Layer.Layer<never> = Layer.empty
) =>
  Effect.gen(function* () {
    let writes = 0
    const service: Journal.Service = {
      progress: "full",
      write: (entry, durability) =>
        Effect.suspend((): Effect.Effect<void, Journal.JournalError> => {
          if (++writes >= diesAt) return Effect.never
          const id = Journal.callIdOf(entry)
          if (
            entry._tag === "Terminal" &&
            disk.entries.some((other) => other._tag === "Terminal" && other.callId === id)
          ) {
            return Effect.fail(new Journal.JournalError({ reason: "Settled", detail: `${id} has a terminal` }))
          }
          disk.entries.push(entry)
          if (durability === "buffered") return Effect.void
          disk.durable = disk.entries.length
          return Effect.yieldNow
        }),
      events: () => Stream.empty,
      claim: Effect.sync(() => openOn(disk))
    }
    const scope = yield* Scope.make()
    const registered = Layer.effectDiscard(
      Effect.gen(function* () {
        const registry = yield* ToolRegistry.ToolRegistry
        for (const tool of tools(() => writes < diesAt)) yield* Effect.orDie(registry.register(tool))
      })
    ).pipe(Layer.provideMerge(ToolRegistry.layerEmpty))
    return {
      scope,
      /** At the latest now. */
      kill: Effect.sync(() => void (writes = Infinity)),
      layer: ToolRuntime.layerWith({ grace: 100 }).pipe(
        Layer.provide(guards),
        Layer.provide(registered),
        Layer.provideMerge(Journal.layer(Effect.succeed(service)))
      )
    }
  })

/** Time for whatever can happen, but for what sleeps. */
const passes = Effect.repeat(Effect.andThen(TestClock.adjust(0), Effect.yieldNow), { times: 20 })

/** What was not durable may be gone, from any point on. */
const crash = (disk: Disk, keep: number): void => {
  disk.entries.length = Math.min(disk.entries.length, Math.max(disk.durable, keep))
  disk.durable = disk.entries.length
}

const Below = (n: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: n - 1 }))

describe("Recovery", () => {
  it.effect.prop(
    "wherever a process dies, and whoever recovers after it: one terminal for each call that is kept",
    [
      Schema.Array(Below(3)).check(Schema.isMinLength(1), Schema.isMaxLength(5)),
      Below(24),
      Below(24),
      Below(12),
      Below(12)
    ],
    ([script, diesAt, keep, recoveryDiesAt, recoveryKeeps]) =>
      Effect.gen(function* () {
        const disk: Disk = { entries: [], durable: 0 }
        const started = new Map<string, number>()
        const seen = new Map<string, unknown>()
        const tools = (alive: () => boolean) =>
          kinds.map((kind) =>
            hinted(kind, ({ n = 0 }) =>
              ToolStream.gen(function* () {
                if (!alive()) return yield* Effect.never
                started.set(`${kind} ${n}`, (started.get(`${kind} ${n}`) ?? 0) + 1)
                yield* ToolStream.progress(n)
                yield* Effect.yieldNow
                return [n]
              })
            )
          )
        const first = yield* processOn(disk, diesAt, tools)
        const context = yield* Layer.buildWithScope(first.layer, first.scope)
        const { events } = Context.get(context, ToolRuntime.ToolRuntime)
        yield* Effect.forEach(script, (kind, n) =>
          Effect.forkDetach(
            Stream.runForEach(events(call(`${n}`, kinds[kind]!, { n })), (event) =>
              Effect.sync(() => event._tag === "Terminal" && seen.set(event.callId, verdict(event.result)))
            ),
            { startImmediately: true }
          )
        )
        yield* passes
        yield* first.kill
        crash(disk, keep)
        const begun = new Set(disk.entries.flatMap((entry) => (entry._tag === "Started" ? [entry.callId] : [])))

        // Killed while it recovers, and then not.
        for (const [dies, kept] of [
          [recoveryDiesAt, recoveryKeeps],
          [Infinity, Infinity]
        ] as const) {
          const next = yield* processOn(disk, dies, tools)
          const recovering = yield* Effect.forkDetach(
            Layer.buildWithScope(next.layer, next.scope).pipe(
              Effect.flatMap((context) => Effect.provide(Recovery.recover, context))
            ),
            { startImmediately: true }
          )
          yield* passes
          if (dies === Infinity) {
            yield* Fiber.join(recovering)
            // Again, it finds nothing.
            const context = yield* Layer.buildWithScope(next.layer, yield* Scope.make())
            assert.deepStrictEqual(yield* Effect.provide(Recovery.recover, context), [])
          } else {
            yield* next.kill
            crash(disk, kept)
          }
        }

        const accepted = disk.entries.flatMap((entry) => (entry._tag === "Accepted" ? [entry.call.callId] : []))
        const terminals = disk.entries.flatMap((entry) =>
          entry._tag === "Terminal" ? [[entry.callId, verdict(entry.result)] as const] : []
        )
        assert.deepStrictEqual(terminals.map(([id]) => id).toSorted(), accepted.toSorted())
        const ends = new Map(terminals)
        // What somebody read is what is kept.
        for (const [id, result] of seen) assert.deepStrictEqual(ends.get(id), result)
        script.forEach((kind, n) => {
          const key = `${kinds[kind]!} ${n}`
          const runs = started.get(key) ?? 0
          const end = ends.get(`${n}`)
          if (kinds[kind] === "writes") assert.isAtMost(runs, 1, "what changes something ran twice")
          else if (begun.has(`${n}`)) assert.deepStrictEqual(end, [n], `${key} was begun and is not done`)
          // That it was not executed is said only where it is so.
          if (Option.isSome(notStarted(end))) assert.strictEqual(runs, 0, `${key} ran`)
        })
      }),
    { arbitrary: { runs: 150 }, timeout: 60_000 }
  )

  it.effect("what a lost call left running, and what was ended of it, is told", () =>
    Effect.gen(function* () {
      const accepted = (callId: string): Journal.Accepted => ({
        _tag: "Accepted",
        call: { callId, sessionId: "s", name: "writes" },
        workspace: ".",
        at: 0
      })
      const disk: Disk = { entries: [accepted("a"), accepted("b")], durable: 2 }
      const { layer } = yield* processOn(disk, Infinity, () => [])
      const processes = Processes.of({
        spawn: () => Effect.die("nothing is started"),
        leftovers: [
          { pid: 7, name: "sleep", fate: "terminated", callId: "a" },
          { pid: 8, name: "node", fate: "killed" }
        ]
      })
      const recovered = yield* Recovery.recover.pipe(Effect.provideService(Processes, processes), Effect.provide(layer))
      assert.deepStrictEqual(
        recovered.map(({ terminal }) => verdict(terminal.result)),
        [
          {
            _tag: "Lost",
            detail: "What it left running was ended when the program started again: sleep (pid 7, terminated)."
          },
          { _tag: "Lost" }
        ]
      )
    })
  )

  it.effect("what a person permitted before the crash need not be asked again, unless it has changed or is old", () =>
    Effect.gen(function* () {
      const parameters = { n: 1 }
      for (const [parametersHash, after, asks] of [
        [undefined, 0, 1],
        [undefined, 3_700_000, 2],
        ["another", 0, 2]
      ] as const) {
        const disk: Disk = { entries: [], durable: 0 }
        let asked = 0
        const ask = Layer.succeed(Permission, () =>
          Effect.sync(() => {
            asked++
            return { _tag: "Allowed", extent: "once" } as const
          })
        )
        const guards = Permissions.layerWith({}).pipe(Layer.provide(Grants.layerMemory()), Layer.provide(ask))
        const tools = () => [hinted("repeatable", () => ToolStream.fromEffect(Effect.as(Effect.sleep(10), [1])))]
        const before = yield* processOn(disk, Infinity, tools, guards)
        const { events } = Context.get(yield* Layer.buildWithScope(before.layer, before.scope), ToolRuntime.ToolRuntime)
        const fiber = yield* Effect.forkChild(Stream.runDrain(events(call("1", "repeatable", parameters))), {
          startImmediately: true
        })
        yield* passes
        // It runs, and dies.
        const left = disk.entries.map((entry) =>
          entry._tag === "Approved" && parametersHash !== undefined ? { ...entry, parametersHash } : entry
        )
        assert.deepStrictEqual(
          left.map(({ _tag }) => _tag),
          ["Accepted", "Decoded", "Approved", "Started"]
        )
        yield* Fiber.interrupt(fiber)
        const next = yield* processOn({ entries: left, durable: left.length }, Infinity, tools, guards)
        yield* TestClock.adjust(after)
        const recovering = yield* Effect.forkChild(
          Layer.buildWithScope(next.layer, next.scope).pipe(
            Effect.flatMap((context) => Effect.provide(Recovery.recover, context))
          ),
          { startImmediately: true }
        )
        yield* passes
        yield* TestClock.adjust(10)
        const [recovered] = yield* Fiber.join(recovering)
        assert.deepStrictEqual(recovered && [recovered.attempt, verdict(recovered.terminal.result)], [2, [1]])
        assert.strictEqual(asked, asks, "times a person is asked")
      }
    })
  )
})

const notStarted = Schema.decodeUnknownOption(Schema.Struct({ phase: Schema.Literal("not-started") }))
