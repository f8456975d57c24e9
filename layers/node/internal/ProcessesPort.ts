/**
 * The port of processes, wherever what starts them is loaded from.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as os from "node:os"
import { Processes } from "../../../src/Processes.ts"
import type { Options } from "../Processes.ts"
import * as ProcessEnvironment from "./ProcessEnvironment.ts"
import { endLeftovers } from "./ProcessLeftovers.ts"
import type * as ProcessSpawner from "./ProcessSpawner.ts"
import { ProcessTable } from "./ProcessTable.ts"

/** `load` is run when the first process is started: most programs that make one call start none. */
export const layerWith = (load: Effect.Effect<typeof ProcessSpawner>, options: Options): Layer.Layer<Processes> =>
  Layer.effect(
    Processes,
    Effect.gen(function* () {
      const table = yield* Effect.acquireRelease(
        Effect.sync(() => ProcessTable.open()),
        (table) => Effect.sync(() => table?.close())
      )
      const leftovers = table !== undefined && options.endLeftovers !== false ? yield* endLeftovers(table) : []
      const given = {
        containment: options.containment ?? "marker",
        // Reading it anew costs 0.1 ms, a thirtieth of a start.
        environment: ProcessEnvironment.make(process.env, options.inherit ?? "core"),
        home: process.env.HOME ?? os.homedir(),
        bwrap: options.bwrap
      }
      const scope = yield* Effect.scope
      const spawner = yield* load.pipe(
        Effect.flatMap((ProcessSpawner) => Scope.provide(ProcessSpawner.make(table, given), scope)),
        Effect.uninterruptible,
        Effect.cached
      )
      return Processes.of({ spawn: (command) => Effect.flatMap(spawner, (spawn) => spawn(command)), leftovers })
    })
  )
