/**
 * A session of its own with background tasks, for tests on real processes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeProcesses from "../../../layers/node/Processes.ts"
import * as SpillFiles from "../../../layers/node/SpillFiles.ts"
import * as Session from "../../../src/Session.ts"
import type * as Tool from "../../../src/Tool.ts"
import * as ToolRegistry from "../../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../../src/ToolRuntime.ts"
import * as ToolStream from "../../../src/ToolStream.ts"
import * as Bash from "../../../tools/bash/Bash.ts"
import * as KillTask from "../../../tools/KillTask.ts"
import * as ListTasks from "../../../tools/ListTasks.ts"
import * as TaskOutput from "../../../tools/TaskOutput.ts"
import * as WaitTasks from "../../../tools/WaitTasks.ts"
import * as Workspace from "../../layers/node/Workspace.ts"

/** All of it, in a new directory. The session closes first, the directory is removed last. */
export const layer = Layer.unwrap(
  Effect.map(Workspace.make(), ({ root, top }) =>
    Session.layer({ workspace: root }).pipe(
      Layer.provideMerge(ToolRuntime.layer),
      Layer.provideMerge(
        ToolRegistry.layer(
          Bash.Bash,
          ListTasks.ListTasks,
          TaskOutput.TaskOutput,
          WaitTasks.WaitTasks,
          KillTask.KillTask
        )
      ),
      Layer.provideMerge(
        Layer.mergeAll(Bash.layer, ListTasks.layer, TaskOutput.layer, WaitTasks.layer, KillTask.layer)
      ),
      Layer.provideMerge(
        Layer.mergeAll(NodeProcesses.layer, SpillFiles.layerWith({ directory: path.join(top, "spill") }))
      )
    )
  )
)

/** One call through the runtime. */
export const call = <T extends Tool.Any>(tool: T, parameters: Tool.Parameters<T>) =>
  Effect.flatMap(ToolRuntime.ToolRuntime, (runtime) => ToolStream.runResult(runtime.call(tool, parameters)))

/** Starts a command in the background. Gives its id. */
export const start = (command: string, parameters: Omit<Tool.Parameters<typeof Bash.Bash>, "command"> = {}) =>
  Effect.map(call(Bash.Bash, { ...parameters, command, background: true }), (success) => {
    if ("exit" in success) throw new Error("it ran in the foreground")
    return success.taskId
  })

/** A task by its id. */
export const task = (taskId: string) => Effect.flatMap(Session.CurrentSession, ({ tasks }) => tasks.get(taskId))

/** All of its output, as text. */
export const output = (taskId: string) =>
  Effect.flatMap(task(taskId), ({ read }) =>
    Effect.map(read(0, 1024 * 1024), ({ bytes }) => new TextDecoder().decode(bytes))
  )

/** Waits until a task has written a text. */
export const written = (taskId: string, text: string): Effect.Effect<string, unknown> =>
  Effect.gen(function* () {
    const { more } = yield* task(taskId)
    for (let so = ""; ; yield* more(Buffer.byteLength(so))) {
      so = yield* output(taskId)
      if (so.includes(text)) return so
    }
  })

/** Makes a file in the workspace, which a command may wait for. */
export const touch = (name: string) =>
  Effect.map(Session.CurrentSession, ({ workspace }) => fs.writeFileSync(path.join(workspace, name), ""))

/** The processes of a group that run; zombies do not. */
export const inGroup = (group: number): ReadonlyArray<string> =>
  spawnSync("ps", ["-e", "-o", "pgid=,stat=,args="], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((line) => line.trim().startsWith(`${group} `) && !/^\s*\d+ Z/.test(line))

/** Runs an effect in a session that is closed after it. */
export const session = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(layer, scope)
    const exit = yield* Effect.exit(Effect.provideContext(effect, context))
    yield* Scope.close(scope, exit)
    return yield* exit
  })
