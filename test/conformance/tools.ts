/**
 * Tools of the conformance suite.
 *
 * **Source** modelcontextprotocol/conformance, examples/servers/typescript/README.md: names, inputs and results.
 */
import * as Effect from "effect/Effect"
import { type Answers, type Client, CurrentClient, type Questions } from "../../layers/mcp/Client.ts"
import type * as ErasedTool from "../../src/ErasedTool.ts"
import { InvalidParameters, fromReason, Lost, ToolFailed } from "../../src/ToolError.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import type { PreparedCall } from "../../src/ToolMiddleware.ts"
import type { ToolRegistry } from "../../src/ToolRegistry.ts"
import * as ToolStream from "../../src/ToolStream.ts"

export const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

type Parameters = Readonly<Record<string, unknown>>
type Emit = (progress: unknown) => Effect.Effect<void>
type Run = (
  parameters: Parameters,
  client: Client,
  emit: Emit,
  prepared: PreparedCall
) => Effect.Effect<ReadonlyArray<ToolContent>, string>

const text = (text: string): ReadonlyArray<ToolContent> => [{ type: "text", text }]

const tool = (name: string, schema: Parameters, run: Run): ErasedTool.ErasedTool => ({
  name,
  descriptor: {
    name,
    title: name,
    description: name,
    parametersSchema: { type: "object", ...schema },
    progressSchema: {},
    successSchema: { not: {} },
    failureSchema: { type: "string" },
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false }
  },
  decode: (parameters) =>
    typeof parameters === "object" ? Effect.succeed(parameters) : Effect.fail<InvalidParameters["issues"]>([]),
  encodeParameters: Effect.succeed,
  run: (prepared) =>
    ToolStream.callback((emit: Emit) =>
      Effect.gen(function* () {
        const client = yield* CurrentClient
        if (client === undefined) return yield* Effect.die("it was not called over MCP")
        const content = yield* Effect.mapError(
          run(prepared.parameters as Parameters, client, emit, prepared),
          (detail) => fromReason(prepared.call, new ToolFailed({ failure: detail, detail }))
        )
        return { value: undefined, content, isError: false }
      })
    )
})

const properties = (properties: Parameters, required: ReadonlyArray<string> = []) => ({ properties, required })
const string = { type: "string" }

const form = (message: string, properties: Parameters, required: ReadonlyArray<string> = []): Questions[string] => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties, required } }
})
const sampling = (prompt: string): Questions[string] => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens: 100 }
})
const roots: Questions[string] = { method: "roots/list" }

const accepted = (answers: Answers, key: string): Parameters =>
  answers[key]?.["action"] === "accept" ? { ...(answers[key]["content"] as Parameters) } : {}

const ask = (client: Client, questions: Questions, state?: string) =>
  Effect.mapError(client.ask(questions, state), ({ message }) => message)

/** Asks one form; its answer is the text. */
const elicits = (name: string, form: (parameters: Parameters) => Questions[string]) =>
  tool(name, properties({ message: string }), (parameters, client) =>
    Effect.map(ask(client, { form: form(parameters) }), ({ form }) =>
      text(`User response: action=${String(form?.["action"])}, content=${JSON.stringify(form?.["content"] ?? {})}`)
    )
  )

const log =
  (...messages: ReadonlyArray<string>): Run =>
  (_, client) =>
    Effect.as(
      Effect.forEach(messages, (message) => Effect.andThen(client.log("info", message), Effect.sleep("50 millis"))),
      text("ok")
    )

export const callTools = (registry: ToolRegistry["Service"]): ReadonlyArray<ErasedTool.ErasedTool> => [
  tool("test_simple_text", {}, () => Effect.succeed(text("This is a simple text response for testing."))),
  tool("test_image_content", {}, () => Effect.succeed([{ type: "image", data: png, mimeType: "image/png" }])),
  tool("test_audio_content", {}, () =>
    Effect.succeed([{ type: "resource", uri: "test://audio", data: wav, mimeType: "audio/wav" }])
  ),
  tool("test_embedded_resource", {}, () =>
    Effect.succeed([
      {
        type: "resource",
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content."
      }
    ])
  ),
  tool("test_multiple_content_types", {}, () =>
    Effect.succeed([
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: png, mimeType: "image/png" },
      {
        type: "resource",
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: '{"test":"data","value":123}'
      }
    ])
  ),
  tool("test_tool_with_logging", {}, log("Tool execution started", "Tool processing data", "Tool execution completed")),
  tool("test_logging_tool", {}, log("ran")),
  tool("test_streaming_elicitation", {}, () => Effect.succeed(text("ok"))),
  tool("test_tool_with_progress", {}, (_, _client, emit) =>
    Effect.as(
      Effect.forEach([0, 50, 100], (progress) =>
        Effect.andThen(emit({ progress, total: 100, message: `step ${progress}` }), Effect.sleep("50 millis"))
      ),
      text("done")
    )
  ),
  tool("test_error_handling", {}, () => Effect.fail("This tool intentionally returns an error for testing")),
  tool(
    "test_x_mcp_header",
    properties({ region: { ...string, "x-mcp-header": "Region" }, level: { type: "integer" } }),
    ({ region }) => Effect.succeed(text(`region=${String(region)}`))
  ),
  tool(
    "json_schema_2020_12_tool",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: string, city: string } } },
      properties: {
        name: string,
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: string,
        email: string
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // oxlint-disable-next-line no-thenable
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false
    },
    (parameters) => Effect.succeed(text(JSON.stringify(parameters)))
  ),
  tool("test_sampling", properties({ prompt: string }, ["prompt"]), ({ prompt }, client) =>
    Effect.map(ask(client, { sampling: sampling(String(prompt)) }), ({ sampling }) =>
      text(`LLM response: ${String((sampling?.["content"] as Parameters | undefined)?.["text"])}`)
    )
  ),
  elicits("test_elicitation", ({ message }) =>
    form(String(message), { response: { ...string, description: "User's response" } }, ["response"])
  ),
  elicits("test_elicitation_sep1034_defaults", () =>
    form("defaults", {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true }
    })
  ),
  elicits("test_elicitation_sep1330_enums", () =>
    form("enums", {
      untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
      titledSingle: {
        type: "string",
        oneOf: [
          { const: "value1", title: "First Option" },
          { const: "value2", title: "Second Option" },
          { const: "value3", title: "Third Option" }
        ]
      },
      legacyEnum: {
        type: "string",
        enum: ["opt1", "opt2", "opt3"],
        enumNames: ["Option One", "Option Two", "Option Three"]
      },
      untitledMulti: {
        type: "array",
        minItems: 1,
        maxItems: 3,
        items: { type: "string", enum: ["option1", "option2", "option3"] }
      },
      titledMulti: {
        type: "array",
        minItems: 1,
        maxItems: 3,
        items: {
          anyOf: [
            { const: "value1", title: "First Choice" },
            { const: "value2", title: "Second Choice" },
            { const: "value3", title: "Third Choice" }
          ]
        }
      }
    })
  ),
  tool("test_missing_capability", {}, (_, client) =>
    Effect.as(ask(client, { llm_answer: sampling("capital of France?") }), text("ok"))
  ),
  tool("test_input_required_result_elicitation", {}, (_, client) =>
    Effect.map(ask(client, { user_name: form("name?", { name: string }, ["name"]) }), (answers) =>
      text(`Hello, ${String(accepted(answers, "user_name")["name"])}!`)
    )
  ),
  tool("test_input_required_result_sampling", {}, (_, client) =>
    Effect.map(ask(client, { capital_question: sampling("capital of France?") }), (answers) =>
      text(`done ${JSON.stringify(answers["capital_question"])}`)
    )
  ),
  tool("test_input_required_result_list_roots", {}, (_, client) =>
    Effect.map(ask(client, { client_roots: roots }), (answers) =>
      text(`roots ${JSON.stringify(answers["client_roots"])}`)
    )
  ),
  tool("test_input_required_result_request_state", {}, (_, client) =>
    Effect.map(ask(client, { confirm: form("ok?", { ok: { type: "boolean" } }, ["ok"]) }, "asked"), () =>
      text(client.state === "asked" ? "state-ok" : "no state")
    )
  ),
  tool("test_input_required_result_tampered_state", {}, (_, client) =>
    Effect.map(ask(client, { confirm: form("ok?", { ok: { type: "boolean" } }, ["ok"]) }, "asked"), () =>
      text(client.state === "asked" ? "integrity-ok" : "no state")
    )
  ),
  tool("test_input_required_result_multiple_inputs", {}, (_, client) =>
    Effect.as(
      ask(
        client,
        { user_name: form("n", { name: string }, ["name"]), greeting: sampling("greet"), client_roots: roots },
        "asked"
      ),
      text("all inputs")
    )
  ),
  tool("test_input_required_result_multi_round", {}, (_, client) =>
    Effect.gen(function* () {
      yield* ask(client, { step1: form("s1", { name: string }, ["name"]) }, "1")
      yield* ask(client, { step2: form("s2", { color: string }, ["color"]) }, "2")
      return text("done")
    })
  ),
  tool("test_input_required_result_capabilities", {}, (_, client) => {
    const questions: Questions = {
      ...(client.capabilities.sampling === undefined ? {} : { q1: sampling("hi") }),
      ...(client.capabilities.elicitation === undefined ? {} : { q2: form("n", { name: string }) })
    }
    return Object.keys(questions).length === 0
      ? Effect.succeed(text("none"))
      : Effect.as(ask(client, questions), text("ok"))
  }),
  tool("test_trigger_tool_change", {}, () =>
    Effect.scoped(
      Effect.as(Effect.orDie(registry.register(tool("another_tool", {}, () => Effect.succeed([])))), text("ok"))
    )
  )
]

export const taskTools: ReadonlyArray<ErasedTool.ErasedTool> = [
  tool("greet", properties({ name: string }), ({ name }) => Effect.succeed(text(`Hello, ${String(name)}!`))),
  tool("slow_compute", properties({ seconds: { type: "number" }, label: string }), ({ label, seconds }) =>
    Effect.delay(Effect.succeed(text(`Computed ${String(label ?? "")}`)), `${Number(seconds ?? 1)} seconds`)
  ),
  tool("failing_job", {}, () => Effect.fail("job failed")),
  // What makes a protocol error of a call: that its answer was lost.
  tool("protocol_error_job", {}, (_, _client, _emit, { call }) => Effect.die(fromReason(call, new Lost()))),
  tool("confirm_delete", properties({ filename: string }), ({ filename }, client) =>
    Effect.map(
      ask(client, { confirm: form(`Delete ${String(filename)}?`, { confirm: { type: "boolean" } }, ["confirm"]) }),
      ({ confirm }) => text(confirm?.["action"] === "accept" ? `deleted ${String(filename)}` : "kept")
    )
  ),
  tool("multi_input", {}, (_, client) =>
    Effect.map(
      ask(client, {
        name: form("name?", { name: string }, ["name"]),
        sure: form("sure?", { confirm: { type: "boolean" } }, ["confirm"])
      }),
      (answers) => text(JSON.stringify(answers))
    )
  ),
  tool("test_tool_with_task", {}, (_, client) =>
    Effect.flatMap(ask(client, { user_name: form("name?", { name: string }, ["name"]) }), (answers) =>
      Effect.delay(Effect.succeed(text(`Hello ${String(accepted(answers, "user_name")["name"])}`)), "200 millis")
    )
  )
]
