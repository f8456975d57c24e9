/**
 * What stands around every call, composed: permissions, clocks, bounded output, progress
 * policies, rate limits, resources, telemetry. Each is a layer of its own and works alone; the law holds
 * in whatever order they are stacked.
 *
 * **Details**
 *
 * From the runtime inwards: permissions, so that what is not permitted waits for nothing and
 * what waits for a person holds nothing; output and progress policies, so that nothing is held for
 * a store or a reader that is slow; rate limits, so that a call that comes too often does not wait
 * first; resources, nearest to the tool, so that nothing is held that is not used.
 * Clocks and telemetry are no part of the order: the runtime asks them.
 *
 * Provide them to a runtime of its own, `ToolRuntime.layerWith()`: `ToolRuntime.layer`
 * is one layer, and a program builds a layer once, with what it stood on first.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Policy } from "../src/Clocks.ts"
import type { WorkspaceFiles } from "../src/WorkspaceFiles.ts"
import * as Clocks from "./Clocks.ts"
import * as Output from "./Output.ts"
import * as Grants from "./permissions/Grants.ts"
import * as Permissions from "./Permissions.ts"
import * as Progress from "./Progress.ts"
import type * as RateLimits from "./RateLimits.ts"
import * as Resources from "./Resources.ts"
import * as Telemetry from "./Telemetry.ts"

/**
 * Each guard as it is told, or off.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Default: those of `Clocks.layer`. */
  readonly clocks?: Policy | false | undefined
  /** What a model reads is bounded. Default: as `Output.layer` does. */
  readonly output?: Output.Options | false | undefined
  /**
   * Who may do what. By default what is compiled into the program and reads only runs, and the rest asks `Permission`,
   * where the answer is no unless a layer below says who is to be asked. `false`: every call runs.
   */
  readonly permissions?: PermissionOptions | false | undefined
  /** Default: on. */
  readonly progress?: boolean | undefined
  /** Default: no limits. */
  readonly rates?: RateLimits.Rates | undefined
  /** Default: those of `Resources.layer`. */
  readonly resources?: Resources.Options | false | undefined
  /** Default: on, without arguments and results. */
  readonly telemetry?: Telemetry.Options | false | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface PermissionOptions extends Permissions.Options {
  /** Where it is remembered what people grant. Default: in memory. */
  readonly grants?: Layer.Layer<Grants.Grants> | undefined
}

/**
 * To be provided to a runtime.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerWith = (options: Options): Layer.Layer<never, never, WorkspaceFiles> => {
  const { clocks, output = {}, permissions = {}, progress = true, rates = {}, resources = {}, telemetry = {} } = options
  const inwards = [
    ...(permissions === false ? [] : [permitting(permissions)]),
    ...(output === false ? [] : [Output.layerWith(output)]),
    ...(progress ? [Progress.layer] : []),
    ...(Object.keys(rates).length === 0 ? [] : [limiting(rates)]),
    ...(resources === false ? [] : [Resources.layerWith(resources)])
  ]
  return Layer.mergeAll(
    inwards.reduceRight((inner, outer) => Layer.provide(outer, inner), Layer.empty),
    clocks === false ? Layer.empty : clocks === undefined ? Clocks.layer : Clocks.layerWith(clocks),
    telemetry === false ? Layer.empty : Telemetry.layerWith(telemetry)
  )
}

/** Loaded only where there are limits. */
const limiting = (rates: RateLimits.Rates) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./RateLimits.ts")),
      ({ layer }) => layer(rates)
    )
  )

const permitting = ({ grants = Grants.layerMemory(), ...options }: PermissionOptions): Layer.Layer<never> =>
  Layer.provide(Permissions.layerWith(options), grants)

/**
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never, never, WorkspaceFiles> = layerWith({})
