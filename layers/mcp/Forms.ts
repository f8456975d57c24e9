/**
 * Tools, results and failures as MCP says them.
 *
 * **Details**
 *
 * - What a model can mend is a result with `isError`, not a protocol error. Its text is
 *   the message of the failure, and what is known of the result; the failure itself is
 *   encoded under `toolstream/error` in `_meta`, because `structuredContent` is for values
 *   of the tool's own output schema.
 * - Of a defect the client learns that there was one. What it was is for the log.
 * - Results are plain data: effect makes and checks one of the client's revision of each.
 * - A value that is no object is structured from 2026-07-28 on only. Before, a string is said as it is: its text, without
 *   the quotes of its JSON.
 *
 * @since 0.1.0
 */
import * as McpSchema from "effect/ai/McpSchema"
import * as Base64 from "effect/encoding/Base64"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ToolContent } from "../../src/ToolContent.ts"
import * as ToolError from "../../src/ToolError.ts"
import type { ListedTool } from "../../src/ToolRegistry.ts"
import type { ToolResult } from "../../src/ToolResult.ts"
import { toolSchema } from "../dialects/ToolSchema.ts"

/**
 * The key in `_meta` under which a failure is encoded.
 *
 * @category constants
 * @since 0.1.0
 */
export const errorKey = "toolstream/error"

/**
 * A tool as it is listed.
 *
 * **Source** MCP 2026-07-28, server/tools, "Tool"; 2025-11-25 is the same in this.
 *
 * @category converting
 * @since 0.1.0
 */
export const toolOf = (listed: ListedTool): McpSchema.Tool => {
  const { annotations, ...tool } = toolSchema(listed, "mcp")
  const icons = listed.icons?.map((icon) => new McpSchema.Icon(icon))
  return new McpSchema.Tool({
    ...tool,
    annotations: McpSchema.ToolAnnotations.make({ title: listed.title, ...annotations }),
    ...(icons === undefined ? {} : { icons })
  })
}

/**
 * A result, with its bytes as whoever takes it has them: base64 on the wire, bytes in effect's own tables.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallResult<Bytes> {
  readonly content: Array<Content<Bytes>>
  readonly structuredContent?: unknown
  readonly isError: boolean
  readonly _meta?: { readonly [key: string]: unknown }
}

/**
 * @category models
 * @since 0.1.0
 */
export type Content<Bytes> =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: Bytes; readonly mimeType: string }
  | {
      readonly type: "resource"
      readonly resource: { readonly uri: string; readonly mimeType?: string } & (
        | { readonly text: string }
        | { readonly blob: Bytes }
      )
    }
  | { readonly type: "resource_link"; readonly uri: string; readonly name: string; readonly mimeType?: string }

/**
 * @category models
 * @since 0.1.0
 */
export type BytesOf<Bytes> = (base64: string, bytes: Uint8Array) => Bytes

/**
 * As they are on the wire.
 *
 * @category converting
 * @since 0.1.0
 */
export const base64: BytesOf<string> = (base64) => base64

/**
 * As effect's server has them.
 *
 * @category converting
 * @since 0.1.0
 */
export const bytes: BytesOf<Uint8Array> = (_, bytes) => bytes

/**
 * The success of a tool, also one that the model must see as an error.
 *
 * **Source** MCP 2026-07-28, server/tools, "Tool Result"; 2025-11-25 has no `structuredContent` but objects.
 *
 * @category converting
 * @since 0.1.0
 */
export const resultOf = <Bytes>(
  { content, isError, value }: ToolResult,
  revision: string,
  bytesOf: BytesOf<Bytes>
): CallResult<Bytes> => {
  const items = content.map((item) => contentOf(item, revision, bytesOf))
  if (value === undefined) return { content: items, isError }
  if (revision >= withAnyValue || Predicate.isReadonlyObject(value))
    return { content: items, structuredContent: value, isError }
  const [only] = items
  return typeof value === "string" && items.length === 1 && only?.type === "text" && only.text === JSON.stringify(value)
    ? { content: [{ type: "text", text: value }], isError }
    : { content: items, isError }
}

/**
 * @category converting
 * @since 0.1.0
 */
export const failureOf = <Bytes>(
  error: ToolError.ToolError,
  revision: string,
  bytesOf: BytesOf<Bytes>
): CallResult<Bytes> => {
  const told = discreet(error)
  return {
    content: ToolError.toContent(told).map((item) => contentOf(item, revision, bytesOf)),
    isError: true,
    _meta: { [errorKey]: encodeError(told) }
  }
}

/** Its values are JSON already, so that nothing in it can fail to encode. */
const encodeError = Schema.encodeSync(ToolError.ToolError)

const discreet = (error: ToolError.ToolError): ToolError.ToolError => {
  const { callId, reason, tool } = error
  return reason._tag === "ToolDefect"
    ? ToolError.fromReason(
        { callId, name: tool },
        new ToolError.ToolDefect({ ...reason, detail: "the log of the server tells which" })
      )
    : error
}

/** Whoever knows no such item reads what it would have been. */
const contentOf = <Bytes>(item: ToolContent, revision: string, bytesOf: BytesOf<Bytes>): Content<Bytes> => {
  switch (item.type) {
    case "text":
      return { type: "text", text: item.text }
    case "image":
      return withBytes(item.data, item.mimeType, (bytes) => ({
        type: "image",
        data: bytesOf(item.data, bytes),
        mimeType: item.mimeType
      }))
    case "resource": {
      const { data, mimeType, text, uri } = item
      const about = { uri, ...(mimeType === undefined ? {} : { mimeType }) }
      if (text !== undefined) return { type: "resource", resource: { ...about, text } }
      if (data !== undefined) {
        return withBytes(data, uri, (bytes) =>
          mimeType?.startsWith("audio/") !== true
            ? { type: "resource", resource: { ...about, blob: bytesOf(data, bytes) } }
            : revision >= withAudio
              ? { type: "audio", data: bytesOf(data, bytes), mimeType }
              : { type: "text", text: `[${mimeType}, ${bytes.length} bytes]` }
        )
      }
      return revision >= withLinks
        ? { type: "resource_link", ...about, name: nameOf(uri) }
        : { type: "text", text: `[resource: ${uri}]` }
    }
  }
}

/** The first revisions that have them. Revisions are dates. */
const withAudio = "2025-03-26"
const withLinks = "2025-06-18"
const withAnyValue = "2026-07-28"

const withBytes = <Bytes>(base64: string, what: string, use: (bytes: Uint8Array) => Content<Bytes>): Content<Bytes> =>
  Result.match(Base64.decode(base64), {
    onSuccess: use,
    onFailure: (): Content<Bytes> => ({ type: "text", text: `[${what}: its base64 is broken]` })
  })

/** The last part of a URI, which is what a person knows it by. */
const nameOf = (uri: string): string => /[^/]+(?=\/*$)/.exec(uri)?.[0] ?? uri
