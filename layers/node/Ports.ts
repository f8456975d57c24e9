/**
 * Everything that the built-in tools ask of the world, answered on Node.
 *
 * @since 0.1.0
 */
import * as NodePath from "@effect/platform-node/NodePath"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Search } from "../../src/Search.ts"
import type { Ports } from "../Builtin.ts"
import * as Re2 from "../Re2.ts"
import * as ProcessesPort from "./internal/ProcessesPort.ts"
import type * as Processes from "./Processes.ts"
import * as SpillFiles from "./SpillFiles.ts"
import * as WorkspaceFiles from "./WorkspaceFiles.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly processes?: Processes.Options | undefined
}

/** Loaded by the first command. */
const spawner = Effect.promise(() => import("./internal/ProcessSpawner.ts"))

/** By ripgrep, which is loaded by the first search. */
const search: Layer.Layer<Search> = Layer.effect(
  Search,
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const ripgrep = yield* Effect.promise(() => import("./Ripgrep.ts")).pipe(
      Effect.flatMap(({ layer }) => Layer.buildWithScope(layer, scope)),
      Effect.map((context) => Context.get(context, Search)),
      Effect.uninterruptible,
      Effect.cached
    )
    return Search.of({
      search: (query) => Stream.unwrap(Effect.map(ripgrep, ({ search }) => search(query))),
      searchText: (query, text) => Stream.unwrap(Effect.map(ripgrep, ({ searchText }) => searchText(query, text))),
      files: (listing) => Stream.unwrap(Effect.map(ripgrep, ({ files }) => files(listing)))
    })
  })
)

/**
 * @category layers
 * @since 0.1.0
 */
export const layerWith = ({ processes = {} }: Options): Layer.Layer<Ports> =>
  Layer.mergeAll(
    ProcessesPort.layerWith(spawner, processes),
    search,
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
