/**
 * Processes of the operating system, on Node.
 *
 * Why not `effect/process`: see docs/decisions/0006.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Containment, Processes } from "../../src/Processes.ts"
import type * as ProcessEnvironment from "./internal/ProcessEnvironment.ts"
import * as ProcessesPort from "./internal/ProcessesPort.ts"
import * as ProcessSpawner from "./internal/ProcessSpawner.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * How those are held together that a command starts. Where it cannot be had, it is the next that can: each process says
   * what it got.
   *
   * Default: `marker`. A `namespace` costs a third of a start more, and shows: `$$` is 1, so that temporary files named
   * by it collide, `kill $$` does nothing, and numbers are not those in /proc. A `cgroup` costs some 15 ms a start.
   */
  readonly containment?: Containment | "best" | undefined
  /**
   * What commands get of the environment: `core`, all but what is named like a secret (KEY, TOKEN, SECRET, PASSWORD and
   * their like), or `all`. What was withheld, each process says. Default: `core`.
   */
  readonly inherit?: ProcessEnvironment.Inherit | undefined
  /** End what programs left that died, before anything is started. Default: true. It costs some ms, once. */
  readonly endLeftovers?: boolean | undefined
  /** Where bubblewrap is, which makes the sandboxes of Linux. Default: where systems install it; the PATH is not searched. */
  readonly bwrap?: string | undefined
}

/**
 * The environment that is passed on is that of the moment when the layer is built.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: Options = {}): Layer.Layer<Processes> =>
  ProcessesPort.layerWith(Effect.succeed(ProcessSpawner), options)

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Processes> = layerWith()
