import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Otlp from "effect/observability/Otlp"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import * as TestClock from "effect/testing/TestClock"
import * as http from "node:http"
import type * as net from "node:net"
import * as Resources from "../../layers/Resources.ts"
import * as Telemetry from "../../layers/Telemetry.ts"
import * as CallStage from "../../src/CallStage.ts"
import * as ErasedTool from "../../src/ErasedTool.ts"
import * as Tool from "../../src/Tool.ts"
import * as ToolMiddleware from "../../src/ToolMiddleware.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import { call, erased, guarded, succeeds, terminal } from "../Harness.ts"

/** What was exported, by the path it was sent to. */
const collector = Effect.acquireRelease(
  Effect.callback<{
    readonly url: string
    readonly bodies: Array<readonly [string, any]>
    readonly server: http.Server
  }>((resume) => {
    const bodies: Array<readonly [string, any]> = []
    const server = http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        bodies.push([request.url ?? "", JSON.parse(Buffer.concat(chunks).toString())])
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as net.AddressInfo
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, bodies, server }))
    })
  }),
  ({ server }) => Effect.promise(() => new Promise((resolve) => server.close(resolve)))
)

const valueOf = (value: any): unknown => Object.values(value)[0]
const attributesOf = (item: any): Record<string, unknown> =>
  Object.fromEntries((item.attributes ?? []).map(({ key, value }: any) => [key, valueOf(value)]))

/** Spans that end up in a list. */
const recording = (spans: Array<Tracer.NativeSpan>) =>
  Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })

class Login extends Tool.Service<Login>()("login", {
  description: "Logs in.",
  parameters: { user: Schema.String, password: Schema.Redacted(Schema.String) },
  success: Schema.Struct({ token: Schema.Redacted(Schema.String), seen: Schema.String })
}) {}

describe("Telemetry", () => {
  it.live("exports calls over OTLP, by the names of the conventions", () =>
    Effect.gen(function* () {
      const { bodies, url } = yield* collector
      const scope = yield* Scope.make()
      const otlp = yield* Layer.buildWithScope(
        Otlp.layer({ baseUrl: url, resource: { serviceName: "test" }, metricsExportInterval: "1 hour" }).pipe(
          Layer.provide(OtlpSerialization.layerJson),
          Layer.provide(FetchHttpClient.layer)
        ),
        scope
      )
      yield* Effect.provideContext(
        Effect.scoped(
          Effect.gen(function* () {
            const { events } = yield* guarded(
              {
                echo: succeeds,
                fails: erased("fails", () => ToolStream.fail("secret of the tool")),
                slow: {
                  ...erased("slow", () => ToolStream.fromEffect(Effect.as(Effect.sleep(20), []))),
                  resources: () => ({ exclusive: true })
                }
              },
              Layer.mergeAll(Telemetry.layer, Resources.layer)
            )
            const run = (id: string, name: string, parameters: unknown = {}, externalId?: string) =>
              Stream.runDrain(events(call(id, name, parameters, externalId)))
            yield* Effect.withSpan(run("1", "echo", {}, "toolu_1"), "the caller")
            yield* run("2", "fails")
            yield* run("3", "nope")
            yield* run("4", "echo", { n: "not a number" })
            yield* Effect.all([run("5", "slow"), run("6", "slow")], { concurrency: 2 })
          })
        ),
        otlp
      )
      yield* Scope.close(scope, Exit.void)
      const spans = bodies
        .filter(([path]) => path === "/v1/traces")
        .flatMap(([, body]) =>
          body.resourceSpans.flatMap((each: any) => each.scopeSpans.flatMap((each: any) => each.spans))
        )
      const byCall = (id: string) => spans.find((span: any) => attributesOf(span)["gen_ai.tool.call.id"] === id)
      const echo = byCall("toolu_1")
      assert.strictEqual(echo.name, "execute_tool echo")
      assert.strictEqual(echo.kind, 1, "internal")
      const { "gen_ai.tool.description": description, ...attributes } = attributesOf(echo)
      assert.deepStrictEqual(attributes, {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "gen_ai.tool.call.id": "toolu_1",
        "gen_ai.tool.type": "function"
      })
      assert.isString(description)
      assert.strictEqual(echo.parentSpanId, spans.find((span: any) => span.name === "the caller").spanId)
      const childrenOf = (span: any) =>
        spans.filter((each: any) => each.parentSpanId === span.spanId).map(({ name }: any) => name)
      assert.deepStrictEqual(childrenOf(echo), ["run"])
      assert.deepStrictEqual(childrenOf(byCall("6")).toSorted(), ["queue", "run"])
      const errors = ["2", "3", "4", "5"].map((id) => attributesOf(byCall(id))["error.type"])
      assert.deepStrictEqual(errors, ["ToolFailed", "ToolNotFound", "InvalidParameters", undefined])
      assert.strictEqual(byCall("2").status.code, 2)
      assert.notInclude(JSON.stringify(bodies), "secret of the tool")

      const metrics = bodies
        .filter(([path]) => path === "/v1/metrics")
        .flatMap(([, body]) =>
          body.resourceMetrics.flatMap((each: any) => each.scopeMetrics.flatMap((each: any) => each.metrics))
        )
      const durations = metrics.find(({ name }: any) => name === "gen_ai.execute_tool.duration")
      assert.strictEqual(durations.unit, "s")
      const points = durations.histogram.dataPoints.map((point: any) => {
        const { "gen_ai.tool.name": tool, "error.type": error } = attributesOf(point)
        return [tool, error ?? "", Number(point.count)]
      })
      const sorted = (rows: ReadonlyArray<unknown>) => rows.map((row) => JSON.stringify(row)).toSorted()
      assert.deepStrictEqual(
        sorted(points),
        sorted([
          ["echo", "", 1],
          ["echo", "InvalidParameters", 1],
          ["fails", "ToolFailed", 1],
          ["_OTHER", "ToolNotFound", 1],
          ["slow", "", 2]
        ])
      )
    })
  )

  const login = ErasedTool.fromImplementation(Login, {
    execute: ({ password, user }: { readonly user: string; readonly password: Redacted.Redacted<string> }) =>
      ToolStream.succeed({ token: password, seen: user })
  })
  const parameters = { user: "me", password: "hunter2-hunter2" }

  it.effect("a tracer that surrounds what runs in a span surrounds the handler, too", () =>
    Effect.gen(function* () {
      let active: string | undefined
      const surrounding = Tracer.make({
        span: (options) => new Tracer.NativeSpan(options),
        context: (primitive, fiber) => {
          const before = active
          const span = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
          active = span?._tag === "Span" ? span.name : undefined
          try {
            return primitive["~effect/Effect/evaluate"](fiber)
          } finally {
            active = before
          }
        }
      })
      const seen: Array<unknown> = []
      const { events } = yield* guarded(
        {
          t: () => {
            seen.push(active)
            return ToolStream.succeed([])
          }
        },
        Telemetry.layer
      )
      yield* Stream.runDrain(events(call("1"))).pipe(
        Effect.withSpan("the caller"),
        Effect.provideService(Tracer.Tracer, surrounding)
      )
      assert.deepStrictEqual(seen, ["execute_tool t"])
    })
  )

  it.effect("tells arguments and results only if asked to, and then no secret", () =>
    Effect.gen(function* () {
      for (const options of [{}, { arguments: true, results: true }]) {
        const spans: Array<Tracer.NativeSpan> = []
        const { events } = yield* guarded({ login }, Telemetry.layerWith(options))
        const all = yield* Stream.runCollect(events(call("1", "login", parameters))).pipe(
          Effect.provideService(Tracer.Tracer, recording(spans))
        )
        assert.include(JSON.stringify(all), "hunter2", "the caller gets the result")
        const told = JSON.stringify(spans.map(({ attributes }) => [...attributes]))
        assert.notInclude(told, "hunter2")
        const attributes = spans[0]!.attributes
        if (options.arguments === true) {
          assert.match(String(attributes.get("gen_ai.tool.call.arguments")), /^\{"user":"me","password":"\[redacted #/)
          assert.match(String(attributes.get("gen_ai.tool.call.result")), /^\{"token":"\[redacted #.*"seen":"me"\}$/)
        } else {
          assert.isFalse(attributes.has("gen_ai.tool.call.arguments"))
          assert.isFalse(attributes.has("gen_ai.tool.call.result"))
        }
      }
    })
  )

  it.effect(
    "a stage is a child of the call, what the tool traces is below its run, and every ending ends the span",
    () =>
      Effect.gen(function* () {
        const spans: Array<Tracer.NativeSpan> = []
        const asks = ToolMiddleware.layer(
          Effect.succeed(
            (next) => (prepared) =>
              ToolStream.lift(next(prepared), (run) =>
                CallStage.within("approval", "a person", Effect.yieldNow).pipe(
                  Effect.andThen(run),
                  Effect.tap(() => CallStage.within("drain", "a store", Effect.yieldNow))
                )
              )
          )
        )
        const { events } = yield* guarded(
          {
            t: erased("t", () => ToolStream.fromEffect(Effect.withSpan(Effect.succeed([]), "within the tool"))),
            hangs: erased(
              "hangs",
              () => ToolStream.fromEffect(Effect.as(Effect.uninterruptible(Effect.sleep(60_000)), [])),
              {
                total: 5
              }
            )
          },
          Layer.merge(Telemetry.layer, asks)
        )
        const traced = <A, E>(effect: Effect.Effect<A, E>) =>
          Effect.provideService(effect, Tracer.Tracer, recording(spans))
        yield* traced(Stream.runDrain(events(call("1"))))
        const nameOf = (id: string | undefined) => spans.find(({ spanId }) => spanId === id)?.name
        assert.deepStrictEqual(
          spans.map(({ name, parent }) => [name, parent._tag === "Some" ? nameOf(parent.value.spanId) : undefined]),
          [
            ["execute_tool t", undefined],
            ["approval", "execute_tool t"],
            ["run", "execute_tool t"],
            ["within the tool", "run"],
            ["drain", "execute_tool t"]
          ]
        )
        assert.isTrue(spans.every(({ status }) => status._tag === "Ended"))
        spans.length = 0
        const detached = yield* Effect.forkChild(traced(Stream.runDrain(events(call("2", "hangs")))))
        yield* Effect.yieldNow
        for (let i = 0; i < 12; i++) yield* TestClock.adjust(10)
        assert.isDefined(detached.pollUnsafe())
        assert.deepStrictEqual([spans[0]!.name, spans[0]!.status._tag], ["execute_tool hangs", "Ended"])
        assert.strictEqual(spans[0]!.attributes.get("error.type"), "TimedOut")
      })
  )

  it.effect("where nobody sees spans none is made, and the call is counted", () =>
    Effect.gen(function* () {
      const inside = (name: string) =>
        erased(name, () =>
          ToolStream.fromEffect(
            Effect.map(Effect.option(Effect.currentParentSpan), (span) => (span._tag === "Some" ? [1] : []))
          )
        )
      const { events } = yield* guarded({ unseen: inside("unseen"), seen: inside("seen") }, Telemetry.layer)
      const spansIn = (name: string) => Effect.map(Stream.runCollect(events(call(name, name))), terminal)
      assert.deepStrictEqual(yield* spansIn("unseen"), [])
      assert.deepStrictEqual(yield* Effect.withSpan(spansIn("seen"), "the caller's"), [1])
      const counted = (yield* Metric.snapshot).flatMap(({ attributes, id, state }) =>
        id === "gen_ai.execute_tool.duration" && /seen/.test(attributes?.["gen_ai.tool.name"] ?? "") && "count" in state
          ? [state.count]
          : []
      )
      assert.deepStrictEqual(counted, [1, 1])
    })
  )

  it.effect("an observer that throws changes no call", () =>
    Effect.gen(function* () {
      const broken = Tracer.make({
        span: () => {
          throw new Error("the tracer is broken")
        }
      })
      const { events } = yield* guarded({ t: succeeds }, Telemetry.layer)
      const all = yield* Stream.runCollect(events(call("1"))).pipe(Effect.provideService(Tracer.Tracer, broken))
      assert.strictEqual(all.at(-1)?._tag, "Terminal")
    })
  )
})
