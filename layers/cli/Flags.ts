/**
 * The flags that several subcommands have.
 *
 * @since 0.1.0
 */
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Sandbox from "../../src/Sandbox.ts"

/** The longest time that the clocks of JavaScript know, in ms. Longer ones would fire at once. */
const maxMs = 2 ** 31 - 1

const ms = (name: string, description: string) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (ms) => ms >= 1 && ms <= maxMs,
      () => `a whole number of milliseconds from 1 to ${maxMs}`
    ),
    Flag.withMetavar("MS"),
    Flag.withDescription(description),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  )

/**
 * A flag that is there or not.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDefault(false), Flag.withDescription(description))

/**
 * Of whatever works with tools.
 *
 * @category models
 * @since 0.1.0
 */
export const options = {
  json: toggle("json", "Print JSON"),
  workspace: Flag.String("workspace").pipe(
    Flag.withDefault("."),
    Flag.withMetavar("DIR"),
    Flag.withDescription("The directory that the tools work in; the current one by default")
  ),
  plugins: Flag.String("plugin").pipe(
    Flag.atLeast(0),
    Flag.withMetavar("MODULE"),
    Flag.withDescription("An ES module whose default export is a Layer that registers tools; may be repeated")
  ),
  cancelAfter: ms("cancel-after", "Cancel each call so long after its acceptance"),
  timeout: ms("timeout", "How long each call may take, from its acceptance to its end"),
  yes: toggle("yes", "Allow every call that no rule denies, without asking"),
  allow: Flag.String("allow").pipe(
    Flag.atLeast(0),
    Flag.withMetavar("RULE"),
    Flag.withDescription("Allow what the rule says, as in 'bash(git status *)', without asking; may be repeated")
  ),
  sandbox: Flag.String("sandbox").pipe(
    Flag.withDefault("off"),
    Flag.filterMap(
      (text) => Result.getSuccess(Sandbox.parse(text)),
      () => Sandbox.form
    ),
    Flag.withMetavar("PROFILE"),
    Flag.withDescription(`What commands may do: ${Sandbox.form}. Off by default`)
  ),
  inheritEnv: toggle("inherit-env", "Pass all environment variables on to commands, those named like secrets too")
}

/**
 * Where calls are made on the user's behalf, they can be kept.
 *
 * @category models
 * @since 0.1.0
 */
export const kept = {
  journal: Flag.String("journal").pipe(
    Flag.withMetavar("DIR"),
    Flag.withDescription("Keep what becomes of every call in this folder, which is made if it is not there"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  )
}

/**
 * Of a single call.
 *
 * @category models
 * @since 0.1.0
 */
export const callArguments = {
  name: Argument.String("NAME").pipe(Argument.withDescription("The name of the tool")),
  parameters: Argument.String("JSON").pipe(
    Argument.withDescription("Its parameters, a JSON object; - reads them from stdin; {} by default"),
    Argument.withDefault("")
  ),
  ...options,
  ...kept,
  id: Flag.String("id").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("An id of yours, told with every event of the call"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  )
}

/** Tokens that the models of today can read, the smaller ones among them. */
const contextTokens = 200_000

/**
 * Of whatever has a model use the tools.
 *
 * @category models
 * @since 0.1.0
 */
export const modelOptions = {
  model: Flag.String("model").pipe(
    Flag.withMetavar("PROVIDER/MODEL"),
    Flag.withDescription(
      "As in anthropic/claude-sonnet-4-5 or ollama/qwen3; TOOLSTREAM_MODEL by default. Providers: anthropic, openai, xai, openrouter, ollama, vllm, chat"
    ),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  baseUrl: Flag.String("base-url").pipe(
    Flag.withMetavar("URL"),
    Flag.withDescription("Where the provider is, if not in its own place"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  contextTokens: Flag.Int("context-tokens").pipe(
    Flag.filter(
      (tokens) => tokens >= 1000,
      () => "a whole number of tokens, at least 1000"
    ),
    Flag.withDefault(contextTokens),
    Flag.withMetavar("N"),
    Flag.withDescription(`Tokens that the model can read; ${contextTokens} by default. What comes near is summarised`)
  ),
  maxSamples: Flag.Int("max-samples").pipe(
    Flag.filter(
      (samples) => samples >= 1,
      () => "a whole number, at least 1"
    ),
    Flag.withMetavar("N"),
    Flag.withDescription("Responses of the model in a turn, at most; 200 by default"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  )
}
