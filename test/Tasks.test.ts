import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import type { LeftBehind } from "../src/Processes.ts"
import * as Session from "../src/Session.ts"
import * as Tasks from "../src/Tasks.ts"

/** A task that ends when it is told to. */
class Told implements Tasks.Task {
  readonly id: string
  readonly done = Deferred.makeUnsafe<void>()
  status: Tasks.TaskStatus = { _tag: "Running" }
  forgotten = false
  leftBehind: ReadonlyArray<LeftBehind> = []
  constructor(id: string) {
    this.id = id
  }
  readonly info = Effect.sync(() => ({
    taskId: this.id,
    command: `run ${this.id}`,
    status: this.status,
    durationMs: 0,
    outputBytes: 0,
    leftBehind: this.leftBehind
  }))
  readonly ended = Effect.andThen(Deferred.await(this.done), this.info)
  readonly read = () => Effect.succeed({ bytes: new Uint8Array(0), sizeBytes: 0, ended: false })
  readonly spilled = Effect.undefined
  readonly more = () => Effect.void
  readonly forget = Effect.sync(() => {
    this.forgotten = true
  })
  readonly kill = (by: string) => this.end({ _tag: "Killed", by })
  end(status: Tasks.TaskStatus): Effect.Effect<boolean> {
    return Effect.sync(() => {
      if (this.status._tag !== "Running") return false
      this.status = status
      return Deferred.doneUnsafe(this.done, Effect.void)
    })
  }
}

const ids = (tasks: Tasks.Tasks) => Effect.map(tasks.all, (all) => all.map(({ id }) => id))

/** A session in a scope of its own, and what it logs. */
const session = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const { tasks } = yield* Scope.provide(Session.make({ workspace: "/" }), scope)
  const lines: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => lines.push(String(message)))])
  return { tasks, lines, close: Effect.provide(Scope.close(scope, Exit.void), logger) }
})

describe("Tasks", () => {
  it("ids are short and not to be guessed", () => {
    const made = new Set(Array.from({ length: 10_000 }, Tasks.makeId))
    assert.strictEqual(made.size, 10_000)
    for (const id of made) assert.match(id, /^task_[0-9a-hjkmnp-tv-z]{13}$/)
  })

  it.effect("an unknown id fails, and the known ones are named", () =>
    Effect.gen(function* () {
      const { tasks } = yield* session
      const none = yield* Effect.flip(tasks.get("task_x"))
      assert.strictEqual(none.message, "There is no task task_x; there are no tasks.")
      yield* tasks.add(new Told("a"))
      yield* tasks.add(new Told("b"))
      assert.strictEqual((yield* tasks.get("a")).id, "a")
      assert.deepStrictEqual((yield* Effect.flip(tasks.get("task_x"))).known, ["a", "b"])
    })
  )

  it.effect("of those that have ended the last 100 are remembered, and who runs stays", () =>
    Effect.gen(function* () {
      const { tasks } = yield* session
      const all = Array.from({ length: 103 }, (_, index) => new Told(`t${index}`))
      yield* Effect.forEach(all, tasks.add)
      // The first to start goes on, the second ends last.
      for (const task of [...all.slice(2), all[1]!]) {
        yield* task.end({ _tag: "Exited", code: 0 })
        yield* Effect.yieldNow
      }
      yield* Effect.yieldNow
      const known = yield* ids(tasks)
      assert.deepStrictEqual(known.slice(0, 3), ["t0", "t1", "t4"])
      assert.strictEqual(known.length, 101)
      assert.deepStrictEqual(
        all.filter(({ forgotten }) => forgotten).map(({ id }) => id),
        ["t2", "t3"]
      )
      assert.strictEqual((yield* Effect.flip(tasks.get("t2")))._tag, "TaskNotFound")
    })
  )

  it.effect("C39: when the session closes all are ended, and who survives is named", () =>
    Effect.gen(function* () {
      const { close, lines, tasks } = yield* session
      const all = ["a", "b", "c"].map((id) => new Told(id))
      yield* Effect.forEach(all, tasks.add)
      all[1]!.leftBehind = [
        { pid: 7, name: "sleep", fate: "alive" },
        { pid: 8, fate: "killed" }
      ]
      yield* close
      assert.deepStrictEqual(
        all.map(({ status }) => status),
        Array.from({ length: 3 }, () => ({ _tag: "Killed", by: "the end of the session" }) as const)
      )
      assert.deepStrictEqual(lines, ["alive at the end of their tasks: sleep (pid 7) of b, run b"])
    })
  )

  it.effect("tasks are ended before what was left to the session is closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { scope: left, tasks } = yield* Scope.provide(Session.make({ workspace: "/" }), scope)
      const task = new Told("t")
      yield* tasks.add(task)
      let status = ""
      yield* Scope.addFinalizer(
        left,
        Effect.sync(() => (status = task.status._tag))
      )
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(status, "Killed")
    })
  )

  it.effect("C39: what is started in a session that has closed is ended at once", () =>
    Effect.gen(function* () {
      const { close, lines, tasks } = yield* session
      yield* close
      const late = new Told("late")
      yield* tasks.add(late)
      assert.strictEqual(late.status._tag, "Killed")
      let stopped = ""
      const stop = (by: string) =>
        Effect.andThen(
          Effect.sync(() => (stopped = by)),
          late.info
        )
      yield* tasks.attach({ callId: "c", leave: Effect.undefined, stop })
      assert.strictEqual(stopped, "the end of the session")
      assert.deepStrictEqual(lines, [])
    })
  )

  it.effect("a call that waits for no command has nothing to send to the background", () =>
    Effect.gen(function* () {
      const { tasks } = yield* session
      const told = new Told("t")
      const waiting = { callId: "c", leave: Effect.succeed(told), stop: () => told.info }
      assert.isUndefined(yield* tasks.background("c"))
      yield* tasks.attach(waiting)
      assert.strictEqual(yield* tasks.background("c"), told)
      assert.isUndefined(yield* tasks.background("d"))
      yield* tasks.detach(waiting)
      assert.isUndefined(yield* tasks.background("c"))
    })
  )

  it.effect("sessions do not see each other's tasks", () =>
    Effect.gen(function* () {
      const { tasks } = yield* Session.CurrentSession
      yield* tasks.add(new Told("outside"))
      const inside = yield* Effect.provide(
        Effect.flatMap(Session.CurrentSession, ({ tasks }) => ids(tasks)),
        Layer.fresh(Session.layer({ workspace: "/" }))
      )
      assert.deepStrictEqual(inside, [])
    })
  )
})
