/**
 * What a subcommand works with: the tools, a runtime over them, and a session in
 * the workspace, as the options say.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Stdio from "effect/Stdio"
import * as Sandbox from "../../src/Sandbox.ts"
import * as Session from "../../src/Session.ts"
import type { ToolRegistry } from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import type * as Builtin from "../Builtin.ts"
import * as BuiltinTool from "../BuiltinTool.ts"
import * as Guards from "../Guards.ts"
import * as Modes from "../Modes.ts"
import * as Ports from "../node/Ports.ts"
import type { PluginFailed } from "../Plugins.ts"
import { UsageError } from "./ExitStatus.ts"
import * as Permitted from "./Permitted.ts"
import * as Prompt from "./Prompt.ts"
import * as Workspace from "./Workspace.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends Permitted.Options {
  readonly plugins: ReadonlyArray<string>
  readonly sandbox: Sandbox.Sandbox
  /** Passes variables that are named like secrets on to commands. Default: no. */
  readonly inheritEnv?: boolean | undefined
  /** The session that is taken up again in the workspace. Default: a new one. */
  readonly session?: ((workspace: string) => Effect.Effect<string | undefined, UsageError>) | undefined
  /** The folder of a journal of the calls, or of those of a session. Default: none is kept. */
  readonly journal?: string | ((sessionId: string) => string) | undefined
  /** What stands between the tools and this machine. Default: nothing. */
  readonly ports?: ((local: Layer.Layer<Builtin.Ports>) => Layer.Layer<Builtin.Ports>) | undefined
  /** The name of the only tool that will be called: no other built-in tool is loaded. Default: it is not known. */
  readonly only?: string | undefined
}

/**
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const workspace = yield* Workspace.at(options.workspace)
      const id = options.session === undefined ? undefined : yield* options.session(workspace)
      const local = options.inheritEnv === true ? Ports.layerWith({ processes: { inherit: "all" } }) : Ports.layer
      const tools = Layer.provideMerge(yield* registry(options), options.ports?.(local) ?? local)
      return ToolRuntime.layer.pipe(
        // Nearest to the runtime: what is not permitted waits for nothing, and what waits for a person holds nothing.
        Layer.provide(Permitted.layer({ ...options, workspace })),
        Layer.provide(Modes.layer),
        Layer.provide(Guards.layerWith({ permissions: false })),
        Layer.provideMerge(yield* withPlugins(tools, options.plugins)),
        Layer.provideMerge(journalOf(options.journal)),
        // Below all of it: what a plugin does when it is loaded belongs to the session, too.
        Layer.provideMerge(
          Layer.mergeAll(Session.layer({ workspace, id }), Sandbox.layer(options.sandbox), yield* asking(options))
        )
      )
    })
  )

/** All tools, unless one is enough. Whoever misnames it is told what names there are, and a plugin may use any. */
const registry = ({ only, plugins }: Pick<Options, "only" | "plugins">) =>
  Effect.promise(async () => {
    const one = only === undefined || plugins.length > 0 ? undefined : await BuiltinTool.load(only)
    return one ?? (await import("../Builtin.ts")).registry
  })

/** What tools ask a person, where one sits at the terminal, and it is not a protocol that is typed there. */
const asking = Effect.fnUntraced(function* ({ asksCaller = false }: Pick<Permitted.Options, "asksCaller">) {
  const { stdinIsTerminal } = yield* Stdio.Stdio
  return !asksCaller && (yield* stdinIsTerminal) ? Prompt.questions : Layer.empty
})

const journalOf = (journal: string | ((sessionId: string) => string) | undefined) =>
  typeof journal === "function"
    ? Layer.unwrap(Effect.map(Session.CurrentSession, ({ id }) => journalIn(journal(id))))
    : journalIn(journal)

/** Below the runtime, which writes to it. */
const journalIn = (directory: string | undefined): Layer.Layer<never, UsageError> =>
  directory === undefined
    ? Layer.empty
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("../node/FileJournal.ts")),
          (FileJournal) => FileJournal.layer({ directory })
        )
      ).pipe(
        Layer.catch(({ message }) =>
          Layer.effectDiscard(Effect.fail(new UsageError({ message: `--journal ${message}` })))
        )
      )

type Tools = Layer.Layer<Builtin.Ports | ToolRegistry, PluginFailed>

const withPlugins = (tools: Tools, plugins: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    if (plugins.length === 0) return tools
    const Plugins = yield* Effect.promise(() => import("../Plugins.ts"))
    const urls = new Set(yield* Effect.forEach(plugins, urlOf))
    // One after another: of two that register the same name the second is at fault, every time.
    return Array.from(urls).reduce<Tools>((layer, url) => Layer.provideMerge(Plugins.layer(url), layer), tools)
  })

/** A path, unless it is a URL. */
const urlOf = Effect.fn("cli.urlOf")(function* (module: string) {
  if (/^[a-z][a-z0-9+.-]+:/i.test(module)) return module
  const path = yield* Path.Path
  return (yield* Effect.orDie(path.toFileUrl(path.resolve(module)))).href
})
