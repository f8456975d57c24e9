/**
 * Whose call it is: the conversation a call belongs to, and where it works.
 *
 * Read per call through `CurrentSession`. No tool keeps a session when its layer
 * is built, so one process serves many side by side.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Id from "./internal/Id.ts"
import * as Mode from "./Mode.ts"
import * as Tasks from "./Tasks.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Session {
  /** Unique for ever. */
  readonly id: string
  /** The directory that relative paths start from. Resolved by the port that opens the file. */
  readonly workspace: string
  /** Its commands in the background. */
  readonly tasks: Tasks.Tasks
  /** How far its calls may go without a person. */
  readonly mode: Mode.SessionMode
  /** Closes when the session ends. What a call leaves to its session is put here. */
  readonly scope: Scope.Scope
}

/**
 * The session of the running fiber. Outside of any it is one for the whole
 * process, in the process's current directory, which never closes.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentSession = Context.Reference<Session>("toolstream/Session/CurrentSession", {
  defaultValue: () => ({
    id: Id.make(),
    workspace: ".",
    tasks: Tasks.makeUnsafe(),
    mode: Mode.makeUnsafe(),
    scope: Scope.makeUnsafe()
  })
})

/**
 * A session that ends when the surrounding scope closes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: {
  readonly workspace: string
  readonly id?: string | undefined
  /** To begin with. Default: `ask`. */
  readonly mode?: Mode.Mode | undefined
}): Effect.Effect<Session, never, Scope.Scope> =>
  Effect.gen(function* () {
    // In this order: tasks are ended before what they stand on is closed.
    const scope = yield* Scope.fork(yield* Effect.scope)
    const tasks = yield* Tasks.make
    const { id = Id.make(), mode, workspace } = options
    return { id, workspace, tasks, mode: Mode.makeUnsafe(mode), scope }
  })

/**
 * Makes the calls of everything built on this layer belong to one new session.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: { readonly workspace: string; readonly id?: string | undefined }): Layer.Layer<never> =>
  Layer.effect(CurrentSession, make(options))
