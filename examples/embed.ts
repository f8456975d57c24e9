/**
 * A tool of your own, with a dependency, in an Effect app: `node examples/embed.ts`.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Tool from "../src/Tool.ts"
import * as ToolCall from "../src/ToolCall.ts"
import * as ToolEvent from "../src/ToolEvent.ts"
import * as ToolRegistry from "../src/ToolRegistry.ts"
import * as ToolRuntime from "../src/ToolRuntime.ts"
import * as ToolStream from "../src/ToolStream.ts"

// What the tool needs of your app: a service, as everywhere in Effect.
class Stock extends Context.Service<Stock, { readonly count: (item: string) => Effect.Effect<number> }>()(
  "app/Stock"
) {}

class UnknownItem extends Schema.TaggedError<UnknownItem>()("UnknownItem", { item: Schema.String }) {
  override get message() {
    return `There is no item "${this.item}". Try apple or pear.`
  }
}

// The declaration, which is also the key of its implementation: what goes in, what is told on the way, what comes out.
class CountStock extends Tool.Service<CountStock>()("count_stock", {
  description: "Counts how many of each item are in stock.",
  parameters: { items: Schema.Array(Schema.String) },
  progress: Schema.Struct({ item: Schema.String, count: Schema.Natural }),
  success: Schema.Struct({ total: Schema.Natural }),
  failure: UnknownItem
}) {}

// The implementation: progress with `yield*`, then the one result, or the one failure that it declares.
const layer = CountStock.toLayer(
  Effect.gen(function* () {
    const stock = yield* Stock
    return ({ items }: Tool.Parameters<typeof CountStock>) =>
      ToolStream.gen(function* () {
        let total = 0
        for (const item of items) {
          const count = yield* stock.count(item)
          if (count === 0) return yield* Effect.fail(new UnknownItem({ item }))
          yield* ToolStream.progress({ item, count })
          total += count
        }
        return { total }
      })
  })
)

const program = Effect.gen(function* () {
  const runtime = yield* ToolRuntime.ToolRuntime

  // Typed and guarded: clocks, cancellation, every guarantee of the runtime.
  const guarded = yield* runtime.call(CountStock, { items: ["apple", "pear"] }).pipe(ToolStream.runResult)
  yield* Console.log("guarded:", guarded.total)

  // Typed and unguarded: the tool itself, as a plain function of your app.
  const { execute } = yield* CountStock
  const unguarded = yield* execute({ items: ["kiwi"] }).pipe(ToolStream.runResult, Effect.flip)
  yield* Console.log("unguarded:", unguarded.message)

  // Erased: JSON as a model writes it, events as they leave the process. A misspelt key is a terminal, no exception.
  for (const parameters of [{ items: ["apple", "pear"] }, { item: "apple" }]) {
    const call = yield* ToolCall.make({ name: "count_stock", parameters })
    yield* Stream.runForEach(runtime.events(call), (event) =>
      Console.log("erased:", JSON.stringify(ToolEvent.toJson(event)))
    )
  }
})

const StockLayer = Layer.succeed(Stock, {
  count: (item) => Effect.succeed({ apple: 3, pear: 4 }[item] ?? 0)
})

const AppLayer = ToolRuntime.layer.pipe(
  Layer.provide(ToolRegistry.layer(CountStock)),
  Layer.provideMerge(layer),
  Layer.provide(StockLayer)
)

Effect.runPromise(Effect.provide(program, AppLayer))
