/**
 * What the types of a tool say, and what must not compile. Checked by `tsc`, never run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Tool from "../../src/Tool.ts"
import { CurrentToolCall } from "../../src/ToolCall.ts"
import type { ToolError } from "../../src/ToolError.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import { ToolRuntime } from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { type Equal, holds } from "./equal.ts"

class Database extends Context.Service<Database, { readonly find: (key: string) => Effect.Effect<number, "lost"> }>()(
  "test/Database"
) {}
class Cache extends Context.Service<Cache, { readonly size: number }>()("test/Cache") {}
class Missing extends Schema.TaggedError<Missing>()("Missing", { key: Schema.String }) {}
class OtherError extends Schema.TaggedError<OtherError>()("OtherError", {}) {}

class Plain extends Tool.Service<Plain>()("plain", {
  description: "No progress, no failure.",
  parameters: { a: Schema.Finite, b: Schema.optionalKey(Schema.Finite) },
  success: Schema.Finite
}) {}
class Full extends Tool.Service<Full>()("full", {
  description: "All there is.",
  parameters: { key: Schema.String },
  progress: Schema.Struct({ done: Schema.Int }),
  success: Schema.Struct({ value: Schema.Finite }),
  failure: Missing,
  partial: Schema.Struct({ seen: Schema.Int }),
  isError: ({ value }) => value < 0,
  toContent: ({ value }) => [{ type: "text", text: String(value) }],
  toPartialContent: ({ seen }) => [{ type: "text", text: String(seen) }],
  clocks: ({ key }) => ({ total: key.length })
}) {}

// -----------------------------------------------------------------------------
// Declarations
// -----------------------------------------------------------------------------

holds<Equal<Tool.Parameters<typeof Plain>, { readonly a: number; readonly b?: number }>>()
holds<Equal<Tool.Progress<typeof Plain>, never>>()
holds<Equal<Tool.Failure<typeof Plain>, never>>()
holds<Equal<Tool.Partial<typeof Plain>, number>>()
holds<Equal<Tool.Progress<typeof Full>, { readonly done: number }>>()
holds<Equal<Tool.Failure<typeof Full>, Missing>>()
holds<Equal<Tool.Partial<typeof Full>, { readonly seen: number }>>()

Tool.Service<Plain>()("x", {
  description: "",
  success: Schema.Finite,
  // @ts-expect-error it reads the declared success
  toContent: (text: string) => [{ type: "text", text }]
})

// -----------------------------------------------------------------------------
// Layers: exactly what the handler and its building need
// -----------------------------------------------------------------------------

const plain = Plain.toLayer(({ a, b = 0 }) => Effect.succeed(a + b))
holds<Equal<typeof plain, Layer.Layer<Plain>>>()

const full = Full.toLayer(
  Effect.gen(function* () {
    const { size } = yield* Cache
    return ({ key }) =>
      ToolStream.gen(function* () {
        const { callId } = yield* CurrentToolCall
        yield* ToolStream.progress({ done: size + callId.length })
        const { find } = yield* Database
        return { value: yield* Effect.mapError(find(key), () => new Missing({ key })) }
      })
  })
)
holds<Equal<typeof full, Layer.Layer<Full, never, Database | Cache>>>()

const failing = Plain.toLayer(
  Effect.as(Effect.fail(new OtherError()), ({ a }: { readonly a: number }) => Effect.succeed(a))
)
holds<Equal<typeof failing, Layer.Layer<Plain, OtherError>>>()

// @ts-expect-error a wrong success, of an effect
Plain.toLayer(() => Effect.succeed("text"))
// @ts-expect-error a wrong success, of a stream
Plain.toLayer(() => ToolStream.succeed("text"))
// @ts-expect-error no success
Plain.toLayer(() => undefined)
// @ts-expect-error a failure that is not declared
Plain.toLayer(() => Effect.fail(new Missing({ key: "" })))
// @ts-expect-error a failure that is another
Full.toLayer(() => ToolStream.fail(new OtherError()))
Plain.toLayer(
  // @ts-expect-error progress without a progress schema
  () =>
    ToolStream.gen(function* () {
      yield* ToolStream.progress(1)
      return 1
    })
)
Full.toLayer(
  // @ts-expect-error progress of another type
  () =>
    ToolStream.gen(function* () {
      yield* ToolStream.progress({ done: "1" })
      return { value: 1 }
    })
)
// @ts-expect-error parameters that are not declared
Plain.toLayer(({ c }) => Effect.succeed(c))

// -----------------------------------------------------------------------------
// The registry and the runtime
// -----------------------------------------------------------------------------

holds<
  Equal<
    ReturnType<typeof ToolRegistry.layer<[typeof Plain, typeof Full]>>,
    Layer.Layer<ToolRegistry.ToolRegistry, never, Plain | Full>
  >
>()
const both = ToolRegistry.layer(Plain, Full)
holds<Equal<typeof both, Layer.Layer<ToolRegistry.ToolRegistry, never, Plain | Full>>>()
const one = ToolRegistry.layer(Plain)
holds<Equal<typeof one, Layer.Layer<ToolRegistry.ToolRegistry, never, Plain>>>()
const none = ToolRegistry.layer()
holds<Equal<typeof none, Layer.Layer<ToolRegistry.ToolRegistry>>>()
// @ts-expect-error not a tool
ToolRegistry.layer(Database)

const called = Effect.map(ToolRuntime, ({ call }) => call(Full, { key: "" }))
holds<
  Equal<
    Effect.Success<typeof called>,
    ToolStream.ToolStream<{ readonly done: number }, { readonly value: number }, Missing | ToolError>
  >
>()
Effect.map(ToolRuntime, ({ call }) =>
  // @ts-expect-error parameters of another tool
  call(Full, { a: 1 })
)

const unguarded = Effect.map(Full, ({ execute }) => execute({ key: "" }))
holds<
  Equal<
    Effect.Success<typeof unguarded>,
    ToolStream.ToolStream<{ readonly done: number }, { readonly value: number }, Missing>
  >
>()
holds<Equal<Effect.Services<typeof unguarded>, Full>>()

// -----------------------------------------------------------------------------
// gen infers progress, failure, services and result exactly
// -----------------------------------------------------------------------------

const inner = ToolStream.fromStream(Stream.fromIterable(["a"]), {
  initial: () => 0,
  step: (n) => n + 1,
  finish: (n) => Effect.succeed(n)
})
holds<Equal<typeof inner, ToolStream.ToolStream<string, number>>>()

const generated = ToolStream.gen(function* () {
  yield* ToolStream.progress({ done: 1 })
  const { find } = yield* Database
  const n = yield* find("x")
  const m = yield* ToolStream.forward(inner)
  if (n > m) return yield* Effect.fail(new Missing({ key: "x" }))
  return `${n}`
})
holds<Equal<typeof generated, ToolStream.ToolStream<{ done: number } | string, string, "lost" | Missing, Database>>>()

const nothing = ToolStream.gen(function* () {
  return 1
})
holds<Equal<typeof nothing, ToolStream.ToolStream<never, number>>>()

const scoped = ToolStream.gen(function* () {
  yield* Effect.addFinalizer(() => Effect.void)
  return 1
})
holds<Equal<typeof scoped, ToolStream.ToolStream<never, number>>>()

const made = ToolStream.make(
  Stream.fromIterable(["a"]),
  Effect.flatMap(Database, ({ find }) => find("x"))
)
holds<Equal<typeof made, ToolStream.ToolStream<string, number, "lost", Database>>>()
const apart = ToolStream.split(made)
holds<
  Equal<
    Effect.Success<typeof apart>,
    readonly [progress: Stream.Stream<string, "lost">, terminal: Effect.Effect<number, "lost">]
  >
>()
const pair = ToolStream.zip(inner, nothing)
holds<Equal<typeof pair, ToolStream.ToolStream<string, readonly [number, number]>>>()
