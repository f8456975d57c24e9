/**
 * Progress, each item validated by its schema on its way out, then a result. Time is that of the whole call, by item.
 *
 * Chunked: the tool is a generator, whose progress arrives in chunks. Single: the tool emits one item, and goes on when
 * the reader has done with it. Its reader runs the stream with a function; pulled, it asks for each item with an
 * operation of its own, as a `Channel` or a `Stream` does, and the fibers of both change places for it.
 */
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Tool from "../../src/Tool.ts"
import * as ToolCall from "../../src/ToolCall.ts"
import * as ToolRegistry from "../../src/ToolRegistry.ts"
import * as ToolRuntime from "../../src/ToolRuntime.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { compare, type Comparison, type Contender, race } from "./race.ts"
import * as AiSdk from "./aiSdk.ts"
import * as Zod from "./zod.ts"

const chunked = "progress in chunks, dispatched"
const single = "progress one by one, dispatched"
const pulled = "progress pulled one by one, dispatched"
const toolkit = "effect/ai's `Toolkit.handle`, preliminary results"
const generator = "an async generator with zod for each item"
const bare = "an async generator that validates nothing"
const aiSdk = "the AI SDK's preliminary results"

const unit = "ns/item"
const vsToolkit: ReadonlyArray<Comparison> = [
  { id: "progress.chunked.vs-toolkit", ours: chunked, theirs: toolkit, unit, floor: null },
  { id: "progress.single.vs-toolkit", ours: single, theirs: toolkit, unit, floor: null }
]
const vsGenerator: ReadonlyArray<Comparison> = [
  { id: "progress.chunked.vs-zod-generator", ours: chunked, theirs: generator, unit, floor: null },
  { id: "progress.single.vs-zod-generator", ours: single, theirs: generator, unit, floor: null }
]
const vsBare: ReadonlyArray<Comparison> = [
  { id: "progress.chunked.vs-generator", ours: chunked, theirs: bare, unit, floor: 1, goal: 1.5 },
  { id: "progress.single.vs-generator", ours: single, theirs: bare, unit, floor: 0.5, goal: 1 },
  { id: "progress.pulled.vs-generator", ours: pulled, theirs: bare, unit, floor: null }
]
const vsAiSdk: ReadonlyArray<Comparison> = [
  { id: "progress.chunked.vs-ai-sdk", ours: chunked, theirs: aiSdk, unit, floor: 4, goal: 8 }
]
export const comparisons = [...vsGenerator, ...vsToolkit, ...vsBare, ...vsAiSdk]

const items = 100_000
/** Enough to hide the call, few enough for a sample of the usual length. */
const toolkitItems = 20_000
/** As many as ours has in flight at most. Unbounded, a handler that does not wait fills the memory. */
const toolkitBuffer = 64

const Item = Schema.Struct({ n: Schema.Int })

class Count extends Tool.Service<Count>()("count", {
  description: "Counts.",
  parameters: { to: Schema.Int },
  progress: Item,
  success: Item
}) {}
class CountSingly extends Tool.Service<CountSingly>()("count_singly", {
  description: "Counts.",
  parameters: { to: Schema.Int },
  progress: Item,
  success: Item
}) {}

const CountLive = Count.toLayer(({ to }) =>
  ToolStream.gen(function* () {
    for (let n = 0; n < to; n++) yield* ToolStream.progress({ n })
    return { n: to }
  })
)
const CountSinglyLive = CountSingly.toLayer(({ to }) =>
  ToolStream.callback((emit) => {
    let n = 0
    return Effect.as(Effect.whileLoop({ while: () => n < to, body: () => emit({ n: n++ }), step: () => {} }), { n: to })
  })
)

const AiCount = AiTool.make("count", {
  description: "Counts.",
  parameters: Schema.Struct({ to: Schema.Int }),
  success: Item
})
const AiTools = Toolkit.make(AiCount)
const AiToolsLive = AiTools.toLayer({
  count: ({ to }, { preliminary }) => {
    let n = 0
    const all = Effect.whileLoop({ while: () => n < to, body: () => preliminary({ n: n++ }), step: () => {} })
    return Effect.as(all, { n: to })
  }
})

export const live = ToolRuntime.layer.pipe(
  Layer.provide(ToolRegistry.layer(Count, CountSingly)),
  Layer.provide([CountLive, CountSinglyLive]),
  Layer.merge(AiToolsLive)
)

const check = (seen: number, result: unknown, to: number) => {
  const n = (result as { readonly n?: unknown } | undefined)?.n
  if (seen !== to || n !== to) throw new Error(`saw ${seen} of ${to} items, and then ${String(n)}`)
}

async function* plain({ to }: { readonly to: number }) {
  for (let n = 0; n < to; n++) yield { n }
  return { n: to }
}

/** Whoever reads an async generator item by item. */
const read = (
  name: string,
  count: (parameters: { readonly to: number }) => AsyncGenerator<unknown, unknown>
): Contender => ({
  name,
  units: items,
  run: async (n) => {
    for (let i = 0; i < n; i++) {
      const iterator = count({ to: items })
      let seen = 0
      let step = await iterator.next()
      for (; !step.done; step = await iterator.next()) seen++
      check(seen, step.value, items)
    }
  }
})

export const measure = (rounds: number) =>
  Effect.gen(function* () {
    const runtime = yield* ToolRuntime.ToolRuntime
    const handlers = yield* AiTools
    const run = Effect.runPromiseWith(yield* Effect.context())

    type Dispatched = ReturnType<typeof runtime.dispatch>
    type Count = (chunk: ReadonlyArray<unknown>) => Effect.Effect<void>
    const pull = (stream: Dispatched, count: Count) => Channel.runForEach(stream, count)
    const drain = (stream: Dispatched, count: Count) => ToolStream.runForEachArray(stream, count)
    const dispatched = (name: string, tool: string, readWith: typeof pull): Contender => ({
      name,
      units: items,
      run: async (n) => {
        for (let i = 0; i < n; i++) {
          const call = await run(ToolCall.make({ name: tool, parameters: { to: items } }))
          let seen = 0
          const read = readWith(runtime.dispatch(call), (chunk) => {
            seen += chunk.length
            return Effect.void
          })
          const { value } = await run(read)
          check(seen, value, items)
        }
      }
    })
    const theirToolkit: Contender = {
      name: toolkit,
      units: toolkitItems,
      run: async (n) => {
        for (let i = 0; i < n; i++) {
          let seen = 0
          let result: unknown
          const read = Effect.flatMap(
            handlers.handle("count", { to: toolkitItems }),
            Stream.runForEachArray((chunk) =>
              Effect.sync(() => {
                for (const { encodedResult, preliminary } of chunk) {
                  if (preliminary) seen++
                  else result = encodedResult
                }
              })
            )
          )
          await run(Effect.provideService(read, Toolkit.PreliminaryBuffer, toolkitBuffer))
          check(seen, result, toolkitItems)
        }
      }
    }
    const theirGenerator = yield* Effect.promise(async (): Promise<Contender> => {
      const z = await Zod.load()
      const input = z.object({ to: z.int() })
      const item = z.object({ n: z.int() })
      async function* count(parameters: unknown) {
        const { to } = input.parse(parameters)
        for (let n = 0; n < to; n++) yield item.parse({ n })
        return item.parse({ n: to })
      }
      return read(generator, count)
    })

    const theirSdk = yield* Effect.promise(async (): Promise<Contender> => {
      const [z, sdk] = await Promise.all([Zod.load(), AiSdk.load()])
      const count = sdk.tool({
        description: "Counts.",
        inputSchema: z.object({ to: z.int() }),
        // The last value that it yields is its result.
        execute: async function* ({ to }: { readonly to: number }) {
          for (let n = 0; n < to; n++) yield { n }
          yield { n: to }
        }
      })
      const input = JSON.stringify({ to: toolkitItems })
      return {
        name: aiSdk,
        units: toolkitItems,
        run: async (n) => {
          for (let i = 0; i < n; i++) {
            let seen = 0
            const result = await AiSdk.call(sdk, { count }, "count", input, () => {
              seen++
            })
            check(seen - 1, result, toolkitItems)
          }
        }
      }
    })

    const inChunks = dispatched(chunked, "count", drain)
    const oneByOne = dispatched(single, "count_singly", drain)
    const pulledSingly = dispatched(pulled, "count_singly", pull)
    // Two races: the garbage of Toolkit would be collected in the other's samples.
    return yield* Effect.promise(async () => [
      ...compare(await race([inChunks, oneByOne, theirGenerator], { rounds }), vsGenerator),
      ...compare(await race([inChunks, oneByOne, theirToolkit], { rounds }), vsToolkit),
      ...compare(await race([inChunks, oneByOne, pulledSingly, read(bare, plain)], { rounds }), vsBare),
      ...compare(await race([inChunks, theirSdk], { rounds }), vsAiSdk)
    ])
  }).pipe(Effect.provide(live), Effect.scoped, Effect.runPromise)
