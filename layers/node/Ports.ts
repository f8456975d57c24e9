/**
 * Everything that the built-in tools ask of the world, answered on Node.
 *
 * @since 0.1.0
 */
import * as NodePath from "@effect/platform-node/NodePath"
import * as Layer from "effect/Layer"
import type { Ports } from "../Builtin.ts"
import * as Re2 from "../Re2.ts"
import * as Processes from "./Processes.ts"
import * as Ripgrep from "./Ripgrep.ts"
import * as SpillFiles from "./SpillFiles.ts"
import * as WorkspaceFiles from "./WorkspaceFiles.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly processes?: Processes.Options | undefined
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = ({ processes }: Options): Layer.Layer<Ports> =>
  Layer.mergeAll(
    Processes.layerWith(processes),
    Ripgrep.layer,
    WorkspaceFiles.layer,
    SpillFiles.layer,
    Re2.layer,
    NodePath.layer
  )

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Ports> = layerWith({})
