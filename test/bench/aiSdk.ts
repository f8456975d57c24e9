/**
 * The way a tool call takes in Vercel's AI SDK: `parseToolCall`, then `executeToolCall`, as its `generateText` and
 * `streamText` do. They are no part of what it exports, so a copy of its file is loaded that exports them.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import type { Schema } from "./zod.ts"

interface Parsed {
  readonly invalid?: boolean
}

export interface AiSdk {
  readonly tool: (tool: {
    readonly description: string
    readonly inputSchema: Schema<object>
    readonly execute: (input: never) => unknown
  }) => unknown
  readonly parseToolCall: (options: {
    readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: string }
    readonly tools: object
  }) => Promise<Parsed>
  readonly executeToolCall: (options: {
    readonly toolCall: Parsed
    readonly tools: object
    readonly toolsContext: object
    readonly callId: string
    readonly messages: ReadonlyArray<never>
    readonly onPreliminaryToolResult?: (result: { readonly output: unknown }) => void
  }) => Promise<{ readonly output: { readonly output: unknown } }>
}

const folder = path.join(import.meta.dirname, "node_modules/ai/dist")

export const load = async (): Promise<AiSdk> => {
  const copy = path.join(folder, "toolstream-bench.js")
  const source = fs.readFileSync(path.join(folder, "index.js"), "utf8")
  fs.writeFileSync(copy, `${source}\nexport { parseToolCall, executeToolCall }\n`)
  return import(pathToFileURL(copy).href)
}

/** One call, from the text that a model wrote to the value of its result. */
export const call = async (
  { executeToolCall, parseToolCall }: AiSdk,
  tools: object,
  toolName: string,
  input: string,
  onPreliminaryToolResult?: (result: { readonly output: unknown }) => void
): Promise<unknown> => {
  const toolCall = await parseToolCall({ toolCall: { toolCallId: "1", toolName, input }, tools })
  const options = { toolCall, tools, toolsContext: {}, callId: "1", messages: [] }
  const told = onPreliminaryToolResult === undefined ? options : { ...options, onPreliminaryToolResult }
  return (await executeToolCall(told)).output.output
}
