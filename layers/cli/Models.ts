/**
 * Models by their names: `provider/model`, and where the key of each provider is.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Anthropic from "../agent/Anthropic.ts"
import * as OpenAiChat from "../agent/OpenAiChat.ts"
import * as OpenAiResponses from "../agent/OpenAiResponses.ts"
import type { Sampler } from "../agent/Sampler.ts"
import { UsageError } from "./ExitStatus.ts"

type Make<Key> = (model: string, apiKey: Key, baseUrl: string | undefined) => Layer.Layer<Sampler, never, HttpClient>

type Provider = {
  /** Where its key is. */
  readonly variable: string
  /** Whether it has no place of its own. */
  readonly needsUrl?: boolean
} & (
  | { readonly keyless: false; readonly layer: Make<Redacted.Redacted> }
  | { readonly keyless: true; readonly layer: Make<Redacted.Redacted | undefined> }
)

/** One that speaks Chat. */
const chat =
  (provider: string, url: string | undefined): Make<Redacted.Redacted | undefined> =>
  (model, apiKey, baseUrl = url) =>
    OpenAiChat.layer({ model, apiKey, baseUrl, provider })

const providers: Readonly<Record<string, Provider>> = {
  anthropic: {
    variable: "ANTHROPIC_API_KEY",
    keyless: false,
    layer: (model, apiKey, baseUrl) => Anthropic.layer({ model, apiKey, baseUrl })
  },
  openai: {
    variable: "OPENAI_API_KEY",
    keyless: false,
    layer: (model, apiKey, baseUrl) => OpenAiResponses.layer({ model, apiKey, baseUrl })
  },
  xai: { variable: "XAI_API_KEY", keyless: false, layer: chat("xai", "https://api.x.ai/v1") },
  openrouter: {
    variable: "OPENROUTER_API_KEY",
    keyless: false,
    layer: chat("openrouter", "https://openrouter.ai/api/v1")
  },
  ollama: { variable: "OLLAMA_API_KEY", keyless: true, layer: chat("ollama", "http://localhost:11434/v1") },
  vllm: { variable: "VLLM_API_KEY", keyless: true, layer: chat("vllm", "http://localhost:8000/v1") },
  /** Any other server of the kind. */
  chat: { variable: "CHAT_API_KEY", keyless: true, needsUrl: true, layer: chat("chat", undefined) }
}

const known = Object.keys(providers).join(", ")

/** Where a model may be named for all runs. */
const variable = "TOOLSTREAM_MODEL"

/**
 * The sampler of a model. Without a key it fails, and says which variable to set.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: {
  /** `provider/model`. Default: what `TOOLSTREAM_MODEL` says. */
  readonly model: string | undefined
  readonly baseUrl: string | undefined
}): Layer.Layer<Sampler, UsageError> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const named = options.model ?? (yield* setting(Config.String(variable)))
      if (named === undefined) {
        return yield* new UsageError({
          message: `no model. Give --model PROVIDER/MODEL, or set ${variable}. Providers: ${known}. Keys are read from ${keys}`
        })
      }
      const [, name = "", model = ""] = /^([^/]*)\/(.+)$/.exec(named) ?? []
      const provider = Object.hasOwn(providers, name) ? providers[name] : undefined
      if (provider === undefined) {
        return yield* new UsageError({
          message: `--model ${named}: give PROVIDER/MODEL, as in anthropic/claude-sonnet-4-5. Providers: ${known}`
        })
      }
      if (provider.needsUrl === true && options.baseUrl === undefined) {
        return yield* new UsageError({
          message: `--base-url is missing: ${name} is any server that speaks Chat Completions`
        })
      }
      const key = yield* setting(Config.Redacted(provider.variable))
      const made = provider.keyless
        ? provider.layer(model, key, options.baseUrl)
        : key === undefined
          ? yield* new UsageError({
              message: `${provider.variable} is not set. Set it to your key of ${name}, or choose another model with --model`
            })
          : provider.layer(model, key, options.baseUrl)
      return Layer.provide(made, FetchHttpClient.layer)
    })
  )

const keys = Object.entries(providers)
  .flatMap(([name, { keyless, variable }]) => (keyless ? [] : [`${variable} (${name})`]))
  .join(", ")

/** A setting; none, if it is not there or empty. */
const setting = <A>(config: Config.Config<A>): Effect.Effect<A | undefined> =>
  Effect.map(Effect.option(config), (value) =>
    Option.isSome(value) && !isBlank(value.value) ? value.value : undefined
  )

const isBlank = (value: unknown): boolean =>
  Redacted.isRedacted(value) ? isBlank(Redacted.value(value)) : typeof value === "string" && value.trim() === ""
