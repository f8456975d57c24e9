/**
 * What commands may do to the machine, whatever they are told.
 *
 * - `workspace`: they write only in the workspace and in a temporary folder of the
 *   session. Credentials of the user are not to be seen, and the sockets of other
 *   programs not to be reached.
 * - `read-only`: the same, and the workspace is not written to either.
 * - `no-network`: they reach no program that they did not start, on this machine or on another, except by a socket in
 *   the workspace.
 *
 * Several hold together: what one forbids is forbidden. None is `off`.
 *
 * **Contract**
 *
 * It is asked for by whoever makes the calls, and holds for all that is started
 * through the port `Processes`. Where it cannot be had, nothing is started:
 * `SpawnFailed`, of the reason `SandboxUnavailable`. The tools for files have a guard
 * of their own.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/**
 * @category models
 * @since 0.1.0
 */
export const Profile = Schema.Literals(["workspace", "read-only", "no-network"])
export type Profile = typeof Profile.Type

/**
 * The profiles that hold, each once; none is no sandbox.
 *
 * @category models
 * @since 0.1.0
 */
export const Sandbox = Schema.Array(Profile)
export type Sandbox = typeof Sandbox.Type

/**
 * Commands may do what this program may.
 *
 * @category constructors
 * @since 0.1.0
 */
export const off: Sandbox = []

/**
 * How profiles are written, for those who write them.
 *
 * @category constructors
 * @since 0.1.0
 */
export const form = `off, or some of ${Profile.literals.join(", ")}, as in workspace,no-network`

/**
 * Reads profiles as they are written on a command line. The failure says how they are to be written.
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (text: string): Result.Result<Sandbox, string> => {
  if (text.trim() === "off") return Result.succeed(off)
  const names = text.split(",").map((name) => name.trim())
  const unknown = names.find((name) => !Profile.literals.some((profile) => profile === name))
  return unknown === undefined
    ? Result.succeed(Profile.literals.filter((profile) => names.includes(profile)))
    : Result.fail(`${JSON.stringify(unknown)} is no sandbox here. There are ${form}`)
}

/**
 * Which files commands may write: any that this program may, those in the workspace, or none; in the last two cases the
 * temporary folder as well.
 *
 * @category converting
 * @since 0.1.0
 */
export const writes = (sandbox: Sandbox): "anywhere" | "workspace" | "nowhere" =>
  sandbox.includes("read-only") ? "nowhere" : sandbox.includes("workspace") ? "workspace" : "anywhere"

/**
 * @category converting
 * @since 0.1.0
 */
export const hasNetwork = (sandbox: Sandbox): boolean => !sandbox.includes("no-network")

/**
 * What a model is to know of it, in a sentence; nothing where there is none.
 *
 * @category converting
 * @since 0.1.0
 */
export const toText = (sandbox: Sandbox): ReadonlyArray<string> => {
  if (sandbox.length === 0) return []
  const files = {
    anywhere: [],
    workspace: ["only the workspace and the temporary folder $TMPDIR can be written"],
    nowhere: ["only the temporary folder $TMPDIR can be written"]
  }[writes(sandbox)]
  const limits = [...files, ...(hasNetwork(sandbox) ? [] : ["there is no network"])]
  return [`Commands run in a sandbox that the user chose: ${limits.join(", and ")}.`]
}

/**
 * The sandbox of the calls that the running fiber makes. Default: off.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentSandbox = Context.Reference<Sandbox>("toolstream/Sandbox/CurrentSandbox", {
  defaultValue: () => off
})

/**
 * The sandbox that a command ran in, for a field `sandbox` in the result of a tool; absent where there was none.
 *
 * @category models
 * @since 0.1.0
 */
export const Told = Schema.optionalKey(
  Sandbox.annotate({ description: "The sandbox that the command ran in, chosen by the user." })
)

/**
 * The current sandbox as such a field.
 *
 * @category converting
 * @since 0.1.0
 */
export const told: Effect.Effect<{ readonly sandbox?: Sandbox }> = Effect.map(CurrentSandbox, (sandbox) =>
  sandbox.length === 0 ? {} : { sandbox }
)

/**
 * The description of a tool that runs commands, with what the current sandbox keeps them from.
 *
 * @category converting
 * @since 0.1.0
 */
export const describe = (description: string): Effect.Effect<string> =>
  Effect.map(CurrentSandbox, (sandbox) => [description, ...toText(sandbox)].join(" "))

/**
 * Has the calls of everything built on this layer run their commands in a sandbox.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (sandbox: Sandbox): Layer.Layer<never> => Layer.succeed(CurrentSandbox, sandbox)
