import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Recovery from "../../../layers/journal/Recovery.ts"
import * as SqlJournal from "../../../layers/journal/SqlJournal.ts"
import * as Permissions from "../../../layers/Permissions.ts"
import * as Grants from "../../../layers/permissions/Grants.ts"
import * as Journal from "../../../src/Journal.ts"
import { Permission } from "../../../src/Permission.ts"
import * as Tool from "../../../src/Tool.ts"
import * as ToolCall from "../../../src/ToolCall.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as PostgresServer from "../../PostgresServer.ts"

class Server extends Context.Service<Server, PostgresServer.Server>()("test/Server") {}

class Put extends Tool.Service<Put>()("put", {
  description: "Puts a value where it belongs.",
  parameters: { value: Schema.String },
  success: Schema.String,
  hints: { idempotent: true }
}) {}

/** A process: its runtime and its journal, which dies first when it is killed. */
const processOn = (
  schema: string,
  run: (value: string) => Effect.Effect<string>,
  options: { readonly onAsked: () => void; readonly expiry?: number }
) =>
  Effect.gen(function* () {
    const server = yield* Server
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const journal = yield* Layer.buildWithScope(SqlJournal.layer().pipe(Layer.provide(server.layer(schema))), scope)
    const person = Layer.succeed(Permission, () =>
      Effect.sync(() => {
        options.onAsked()
        return { _tag: "Allowed", extent: "once" } as const
      })
    )
    const guards = Permissions.layerWith(options.expiry === undefined ? {} : { approvalExpiry: options.expiry }).pipe(
      Layer.provide(Grants.layerMemory()),
      Layer.provide(person)
    )
    const runtime = yield* Layer.build(
      ToolRuntime.layerWith({ grace: 100 }).pipe(
        Layer.provide(guards),
        Layer.provide(
          ToolRegistry.layer(Put).pipe(Layer.provide(Put.toLayer(Effect.succeed(({ value }) => run(value)))))
        ),
        Layer.provide(Layer.succeedContext(journal))
      )
    )
    return { kill: Scope.close(scope, Exit.void), context: Context.merge(journal, runtime) }
  })

/** A person has permitted a call, and the process dies while the call runs. */
const interrupted = (schema: string) =>
  Effect.gen(function* () {
    const started = yield* Deferred.make<void>()
    let asked = 0
    const first = yield* processOn(schema, () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never), {
      onAsked: () => void asked++
    })
    const call = yield* ToolCall.make({ name: "put", parameters: { value: "a" } })
    const { events } = Context.get(first.context, ToolRuntime.ToolRuntime)
    const reader = yield* Effect.forkChild(Stream.runDrain(events(call)), { startImmediately: true })
    yield* Deferred.await(started)
    yield* first.kill
    yield* Fiber.interrupt(reader)
    assert.strictEqual(asked, 1)
    return call.callId
    // Its terminal comes too late for the journal, which is logged.
  }).pipe(Effect.provide(Logger.layer([])))

const recovered = (schema: string, expiry?: number) =>
  Effect.gen(function* () {
    let asked = 0
    const second = yield* processOn(
      schema,
      Effect.succeed,
      expiry === undefined ? { onAsked: () => void asked++ } : { onAsked: () => void asked++, expiry }
    )
    const calls = yield* Effect.provide(Recovery.recover, second.context)
    const records = Context.get(second.context, Journal.Records)
    const kept = yield* Stream.runCollect(records.events(calls[0]!.call.callId))
    return { asked, calls, kept }
  })

describe.skipIf(PostgresServer.absent)(
  "A restart on the journal in Postgres (with Debian's package postgresql)",
  { timeout: 60_000 },
  () => {
    layer(Layer.effect(Server, PostgresServer.make), { excludeTestServices: true, timeout: "60 seconds" })((it) => {
      it.effect("the permission of before holds for a call that is made again", () =>
        Effect.gen(function* () {
          const schema = yield* (yield* Server).schema
          const callId = yield* interrupted(schema)
          const { asked, calls, kept } = yield* recovered(schema)
          assert.strictEqual(asked, 0)
          assert.deepStrictEqual(
            calls.map(({ attempt, call }) => [call.callId, attempt]),
            [[callId, 2]]
          )
          assert.deepStrictEqual(
            kept.map((event) => event._tag === "Terminal" && event.result._tag),
            ["Success"]
          )
        })
      )

      it.effect("one that has expired is asked for again", () =>
        Effect.gen(function* () {
          const schema = yield* (yield* Server).schema
          yield* interrupted(schema)
          yield* Effect.sleep(5)
          const { asked, calls } = yield* recovered(schema, 1)
          assert.strictEqual(asked, 1)
          assert.lengthOf(calls, 1)
        })
      )

      it.effect("one for other parameters is asked for again", () =>
        Effect.gen(function* () {
          const server = yield* Server
          const schema = yield* server.schema
          yield* interrupted(schema)
          const sql = Context.get(yield* Layer.build(server.layer(schema)), PgClient)
          // Somebody had permitted something else.
          const changed = yield* sql.unsafe(
            `UPDATE toolstream_entries SET body = jsonb_set(body::jsonb, '{parametersHash}', '"other"')::text
            WHERE tag = 'Approved' RETURNING 1`
          )
          assert.lengthOf(changed, 1)
          const { asked } = yield* recovered(schema)
          assert.strictEqual(asked, 1)
        })
      )
    })
  }
)
