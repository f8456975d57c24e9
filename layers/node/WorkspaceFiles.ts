/**
 * `WorkspaceFiles` on the file system of this machine.
 *
 * **Details**
 *
 * - A path is resolved as the kernel would, so `link/..` is what it is for every other
 *   program. What does not exist is judged by its deepest existing ancestor, and by
 *   where a dangling link points; that is also where it is made.
 * - `~` and `~/…` are the home directory of the process, then judged like any path.
 * - A file that may not be written to is not replaced, though its folder would allow it.
 *   A link is written through; to delete it removes the link.
 * - The mode is kept, the owner where the process may give it; what of them is not is
 *   named. Node knows no extended attributes, and no call of its tells whether a file has
 *   any: those, access lists among them, are lost without a word when a file is replaced.
 *   A file of several names is written over in place, and keeps them.
 * - Files of more than 64 MiB are not changed. Temporary files lie beside those they
 *   become, under names that begin with `.toolstream-`.
 * - Nobody but those who ask here waits for a held file. What other programs do to it is
 *   seen before the commit; a change made in the microseconds between the last look and
 *   the rename is lost.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import * as os from "node:os"
import * as Path from "node:path"
import { WorkspaceFiles } from "../../src/WorkspaceFiles.ts"
import * as GuardedFiles from "./internal/GuardedFiles.ts"
import * as SystemCalls from "./internal/SystemCalls.ts"
import * as Walk from "./internal/Walk.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Directories that may be reached besides the workspace. Absolute. */
  readonly roots?: ReadonlyArray<string> | undefined
  /**
   * Where commits are recorded until they are done. Default: `toolstream/commits` in `$XDG_STATE_HOME`, or in
   * `~/.local/state`. The next start with the same one ends what a crash broke off.
   */
  readonly state?: string | undefined
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = ({ roots = [], state }: Options): Layer.Layer<WorkspaceFiles> =>
  Layer.effect(
    WorkspaceFiles,
    GuardedFiles.make(
      { calls: SystemCalls.node, byDescriptor: Walk.canWalkByDescriptor(), roots },
      state ?? defaultState()
    )
  )

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<WorkspaceFiles> = Layer.suspend(() => layerWith({}))

const defaultState = (): string => {
  const { XDG_STATE_HOME } = process.env
  const base =
    XDG_STATE_HOME !== undefined && Path.isAbsolute(XDG_STATE_HOME)
      ? XDG_STATE_HOME
      : Path.join(os.homedir(), ".local", "state")
  return Path.join(base, "toolstream", "commits")
}
