/**
 * Prompts and resources of the conformance suite. They are effect's own business: our server only carries them.
 *
 * **Source** modelcontextprotocol/conformance, examples/servers/typescript/README.md.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as Base64 from "effect/encoding/Base64"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { png } from "./tools.ts"

const image = Result.getOrThrow(Base64.decode(png))

const user = (content: McpSchema.ContentBlock) => ({ role: "user" as const, content })

/** Asks for what it needs by a round of its own. */
const asking = Layer.effectDiscard(
  Effect.gen(function* () {
    const server = yield* McpServer.McpServer
    yield* server.addPrompt({
      prompt: new McpSchema.Prompt({ name: "test_input_required_result_prompt", description: "asks", arguments: [] }),
      annotations: Context.empty(),
      completions: {},
      handle: () =>
        Effect.map(McpSchema.McpRequestContext, ({ inputResponses }) => {
          const { content } = inputResponses?.["user_context"] ?? {}
          const context = (content as { readonly context?: string } | undefined)?.context
          return context === undefined
            ? new McpSchema.InputRequired({
                inputRequests: {
                  user_context: {
                    method: "elicitation/create",
                    params: {
                      mode: "form",
                      message: "context?",
                      requestedSchema: {
                        type: "object",
                        properties: { context: { type: "string" } },
                        required: ["context"]
                      }
                    }
                  }
                }
              })
            : new McpSchema.GetPromptResult({ messages: [user({ type: "text", text: context })] })
        })
    })
    yield* server.addPrompt({
      prompt: new McpSchema.Prompt({ name: "test_trigger", description: "nothing", arguments: [] }),
      annotations: Context.empty(),
      completions: {},
      handle: () => Effect.succeed(new McpSchema.GetPromptResult({ messages: [] }))
    })
  })
)

export const prompts = Layer.mergeAll(
  asking,
  McpServer.prompt({
    name: "test_simple_prompt",
    description: "simple",
    content: () => Effect.succeed("This is a simple prompt for testing.")
  }),
  McpServer.prompt({
    name: "test_prompt_with_arguments",
    description: "arguments",
    parameters: { arg1: Schema.String, arg2: Schema.String },
    completion: {
      arg1: (given: string) => Effect.succeed(["paris", "park", "party"].filter((city) => city.startsWith(given)))
    },
    content: ({ arg1, arg2 }) => Effect.succeed(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)
  }),
  McpServer.prompt({
    name: "test_prompt_with_embedded_resource",
    description: "embedded",
    parameters: { resourceUri: Schema.String },
    content: ({ resourceUri }) =>
      Effect.succeed([
        user({
          type: "resource",
          resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." }
        }),
        user({ type: "text", text: "Please process the embedded resource above." })
      ])
  }),
  McpServer.prompt({
    name: "test_prompt_with_image",
    description: "image",
    content: () =>
      Effect.succeed([
        user({ type: "image", data: image, mimeType: "image/png" }),
        user({ type: "text", text: "Please analyze the image above." })
      ])
  })
)

const resource = (uri: string, mimeType: string, content: { readonly text: string } | { readonly blob: Uint8Array }) =>
  Layer.effectDiscard(
    Effect.flatMap(McpServer.McpServer, ({ addResource }) =>
      addResource({
        resource: new McpSchema.Resource({ uri, name: uri, mimeType, description: "for tests" }),
        annotations: Context.empty(),
        handle: Effect.succeed(McpSchema.ReadResourceResult.make({ contents: [{ uri, mimeType, ...content }] }))
      })
    )
  )

export const resources = Layer.mergeAll(
  resource("test://static-text", "text/plain", { text: "This is the content of the static text resource." }),
  resource("test://static-binary", "image/png", { blob: image }),
  resource("test://watched-resource", "text/plain", { text: "watched" }),
  McpServer.resource`test://template/${McpSchema.param("id", Schema.String)}/data`({
    name: "template",
    mimeType: "application/json",
    content: (_uri: string, id: string) =>
      Effect.succeed(JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }))
  })
)
