/**
 * The built-in tools, each to be loaded alone: a program that makes one call is done before
 * it has loaded all of them. `Builtin` has them together.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import type * as Tool from "../src/Tool.ts"
import * as ToolRegistry from "../src/ToolRegistry.ts"
import type { Ports } from "./Builtin.ts"

/**
 * A registry, and what its tools ask of the world.
 *
 * @category models
 * @since 0.1.0
 */
export type Registry = Layer.Layer<ToolRegistry.ToolRegistry, never, Ports>

/**
 * A registry of the one tool of that name. Undefined if no built-in tool has it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const load = (name: string): Promise<Registry> | undefined =>
  Object.hasOwn(loaders, name) ? loaders[name]?.() : undefined

/**
 * Their names.
 *
 * @category constants
 * @since 0.1.0
 */
export const names = (): ReadonlyArray<string> => Object.keys(loaders)

const registry = <T extends Tool.Any>(tool: T, layer: Layer.Layer<T["Identifier"], never, Ports>): Registry =>
  Layer.provide(ToolRegistry.layer(tool), layer)

const loaders: Readonly<Record<string, () => Promise<Registry>>> = {
  read_file: () => import("../tools/ReadFile.ts").then(({ ReadFile, layer }) => registry(ReadFile, layer)),
  list_dir: () => import("../tools/ListDir.ts").then(({ ListDir, layer }) => registry(ListDir, layer)),
  glob: () => import("../tools/Glob.ts").then(({ Glob, layer }) => registry(Glob, layer)),
  grep: () => import("../tools/Grep.ts").then(({ Grep, layer }) => registry(Grep, layer)),
  write_file: () => import("../tools/WriteFile.ts").then(({ WriteFile, layer }) => registry(WriteFile, layer)),
  edit_file: () => import("../tools/edit-file/EditFile.ts").then(({ EditFile, layer }) => registry(EditFile, layer)),
  apply_patch: () =>
    import("../tools/apply-patch/ApplyPatch.ts").then(({ ApplyPatch, layer }) => registry(ApplyPatch, layer)),
  bash: () => import("../tools/bash/Bash.ts").then(({ Bash, layer }) => registry(Bash, layer)),
  list_tasks: () => import("../tools/ListTasks.ts").then(({ ListTasks, layer }) => registry(ListTasks, layer)),
  task_output: () => import("../tools/TaskOutput.ts").then(({ TaskOutput, layer }) => registry(TaskOutput, layer)),
  read_output: () => import("../tools/ReadOutput.ts").then(({ ReadOutput, layer }) => registry(ReadOutput, layer)),
  wait_tasks: () => import("../tools/WaitTasks.ts").then(({ WaitTasks, layer }) => registry(WaitTasks, layer)),
  kill_task: () => import("../tools/KillTask.ts").then(({ KillTask, layer }) => registry(KillTask, layer)),
  monitor: () => import("../tools/Monitor.ts").then(({ Monitor, layer }) => registry(Monitor, layer)),
  build: () => import("../tools/build/Build.ts").then(({ Build, layer }) => registry(Build, layer)),
  todo_write: () => import("../tools/TodoWrite.ts").then(({ TodoWrite, layer }) => registry(TodoWrite, layer)),
  ask_user: () => import("../tools/AskUser.ts").then(({ AskUser, layer }) => registry(AskUser, layer)),
  enter_plan: () => import("../tools/EnterPlan.ts").then(({ EnterPlan, layer }) => registry(EnterPlan, layer)),
  exit_plan: () => import("../tools/ExitPlan.ts").then(({ ExitPlan, layer }) => registry(ExitPlan, layer))
}
