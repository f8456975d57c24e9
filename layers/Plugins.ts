/**
 * Tools from an ES module that is not part of the program.
 *
 * **Contract**
 *
 * A plugin is a module whose default export is a `Layer` that registers tools: it
 * may require `ToolRegistry`, and whatever the built-in tools ask. It runs in this
 * process with all of its rights, from the moment it is loaded.
 *
 * ```ts
 * export default Layer.provide(ToolRegistry.layerRegister(Greet), GreetLive)
 * ```
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as ToolRegistry from "../src/ToolRegistry.ts"
import type { Ports } from "./Builtin.ts"

/**
 * The module did not load, is no plugin, or failed while it registered its tools.
 *
 * @category errors
 * @since 0.1.0
 */
export class PluginFailed extends Schema.TaggedError<PluginFailed>()("PluginFailed", {
  module: Schema.String,
  why: Schema.String
}) {
  override get message() {
    return `The plugin ${this.module} was not loaded: ${this.why}`
  }
}

/**
 * Loads the module and builds its layer.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  /** What `import` takes: a URL, or the name of a package. */
  url: string
): Layer.Layer<never, PluginFailed, ToolRegistry.ToolRegistry | Ports> =>
  Layer.unwrap(
    Effect.tryPromise({
      try: (): Promise<{ readonly default?: unknown }> => import(url),
      catch: (error) => new PluginFailed({ module: url, why: whyNotImported(error) })
    }).pipe(
      Effect.flatMap(({ default: exported }) =>
        isPlugin(exported)
          ? Effect.succeed(registering(url, exported))
          : Effect.fail(new PluginFailed({ module: url, why: whyNoPlugin(exported) }))
      )
    )
  )

/**
 * What became of the plugins that were asked for.
 *
 * @category services
 * @since 0.1.0
 */
export class Plugins extends Context.Service<
  Plugins,
  {
    /** The modules whose tools are registered. */
    readonly loaded: ReadonlyArray<string>
    /** Those that failed. Nothing of them is registered. */
    readonly failed: ReadonlyArray<PluginFailed>
  }
>()("toolstream/layers/Plugins") {}

/**
 * Loads several modules, one after the other. One that fails fails alone: what it
 * had registered is taken back, and the others are there.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerAll = (urls: ReadonlyArray<string>): Layer.Layer<Plugins, never, ToolRegistry.ToolRegistry | Ports> =>
  Layer.effect(
    Plugins,
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const loaded: Array<string> = []
      const failed: Array<PluginFailed> = []
      for (const url of urls) {
        const own = yield* Scope.fork(scope)
        yield* Layer.buildWithScope(layer(url), own).pipe(
          Effect.onError((cause) => Scope.close(own, Exit.failCause(cause))),
          Effect.match({
            onSuccess: () => loaded.push(url),
            onFailure: (failure) => failed.push(failure)
          })
        )
      }
      return { loaded, failed }
    })
  )

type Plugin = Layer.Layer<never, unknown, ToolRegistry.ToolRegistry | Ports>

/** That it is a layer can be seen; what it requires shows when it is built. */
const isPlugin = (exported: unknown): exported is Plugin => Layer.isLayer(exported)

/** A plugin that breaks, in whatever way, is one that was not loaded. */
const registering = (
  url: string,
  plugin: Plugin
): Layer.Layer<never, PluginFailed, ToolRegistry.ToolRegistry | Ports> =>
  Layer.catchCause(Layer.provide(plugin, registryFor(url)), (cause) =>
    Layer.effectDiscard(
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.fail(new PluginFailed({ module: url, why: messageOf(Cause.squash(cause)) }))
    )
  )

/** A plugin's tools are listed as its own, and take no other's name. */
const registryFor = (url: string): Layer.Layer<ToolRegistry.ToolRegistry, never, ToolRegistry.ToolRegistry> =>
  Layer.effect(
    ToolRegistry.ToolRegistry,
    Effect.map(ToolRegistry.ToolRegistry, (registry) => ToolRegistry.withOrigin(registry, url))
  )

const whyNoPlugin = (exported: unknown): string =>
  exported === undefined
    ? "it has no default export. Export a Layer that registers tools as default."
    : `its default export is ${typeof exported === "function" ? "a function" : "no Layer"}. ` +
      "Export a Layer that registers tools as default."

/** Who asked for it is of no interest, unless it is the plugin that asked for another module. */
const whyNotImported = (error: unknown): string =>
  messageOf(error).replace(` imported from ${import.meta.filename}`, "")

const messageOf = (error: unknown): string =>
  error instanceof Error ? (error.message === "" ? error.name : error.message) : String(error)
