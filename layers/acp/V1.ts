/**
 * A turn in the words of ACP v1: what happens in it, as `session/update`s.
 *
 * **Contract**
 *
 * - Of each call: `tool_call` first, as soon as the model names it, then updates, then one
 *   with `completed` or `failed`, and nothing after it. A call that was named and never
 *   made has its ending as well.
 * - An update replaces what was there: progress is sent accumulated.
 * - It remembers one turn, and asks nobody: whoever sends has the order.
 *
 * All that is particular to this version of the protocol is here and in `CallView`; what
 * another version needs is another `Mapping`.
 *
 * **Source** ACP v1, "Prompt Turn", "Tool Calls", "Agent Plan".
 *
 * @since 0.1.0
 */
import type {
  ContentBlock,
  PermissionOption,
  PromptResponse,
  SessionUpdate,
  StopReason,
  ToolCallContent,
  ToolCallUpdate
} from "@agentclientprotocol/sdk"
import type { Answer, Question } from "../../src/Permission.ts"
import type * as Questions from "../../src/Questions.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import { text as textItem } from "../../src/ToolContent.ts"
import { toContent } from "../../src/ToolError.ts"
import type * as ToolEvent from "../../src/ToolEvent.ts"
import type * as History from "../agent/History.ts"
import type { TurnEvent, TurnStop } from "../agent/Turn.ts"
import * as CallView from "./CallView.ts"
import type { Mapping, Choice, TurnView } from "./Mapping.ts"

/** A call of the turn, as the client knows it. */
interface Shown {
  readonly name: string
  accepted: boolean
  ended: boolean
  running: boolean
  /** What its progress has said. */
  said: string
  terminalId: string | undefined
  parameters: unknown
}

class View implements TurnView {
  private readonly calls = new Map<string, Shown>()
  private readonly absolute: (path: string) => string

  constructor(absolute: (path: string) => string) {
    this.absolute = absolute
  }

  event(event: TurnEvent): ReadonlyArray<SessionUpdate> {
    switch (event._tag) {
      case "Text":
        return chunk("agent_message_chunk", event.text)
      case "Reasoning":
        return chunk("agent_thought_chunk", event.text)
      case "Retrying":
        return [
          ...this.unmade("The response in which it was named was given up."),
          ...chunk("agent_thought_chunk", `\n(The response is asked for again: ${event.why})\n`)
        ]
      case "ToolCallStart":
        return this.named(event.callId, event.name)
      case "Accepted":
        return this.accepted(event.call)
      case "Progress":
        return this.progress(event)
      case "Terminal":
        return this.terminal(event)
      case "Said":
      case "Sampling":
      case "ToolCallDelta":
      case "ToolCallEnd":
      case "Usage":
      case "Replied":
      case "Compacted":
      case "CompactionFailed":
        return []
    }
  }

  ended(): ReadonlyArray<SessionUpdate> {
    return this.unmade("The turn ended before it was made.")
  }

  attached(callId: string, terminalId: string): ReadonlyArray<SessionUpdate> {
    const call = this.calls.get(callId)
    if (call === undefined || call.ended) return []
    call.terminalId = terminalId
    return this.update(callId, call)
  }

  started(callId: string): ReadonlyArray<SessionUpdate> {
    const call = this.calls.get(callId)
    return call === undefined || call.ended || call.running ? [] : this.update(callId, call)
  }

  private named(callId: string, name: string): ReadonlyArray<SessionUpdate> {
    if (this.calls.has(callId)) return []
    const { kind, title } = CallView.make(name, undefined, this.absolute)
    this.calls.set(callId, {
      name,
      accepted: false,
      ended: false,
      running: false,
      said: "",
      terminalId: undefined,
      parameters: undefined
    })
    return [{ sessionUpdate: "tool_call", toolCallId: callId, title, kind, status: "pending" }]
  }

  private accepted({ callId, name, parameters }: Extract<TurnEvent, { _tag: "Accepted" }>["call"]) {
    const first = this.named(callId, name)
    const call = this.calls.get(callId)
    if (call === undefined) return first
    call.accepted = true
    call.parameters = parameters
    const view = CallView.make(name, parameters, this.absolute)
    const update: SessionUpdate = {
      sessionUpdate: "tool_call_update",
      toolCallId: callId,
      ...view,
      ...(parameters === undefined ? {} : { rawInput: parameters })
    }
    return [...first, update]
  }

  private progress({ callId, value }: ToolEvent.Progress): ReadonlyArray<SessionUpdate> {
    const call = this.calls.get(callId)
    if (call === undefined || call.ended) return []
    const text = CallView.progressText(value)
    call.said = CallView.tail(call.said + text)
    // The client shows its terminal itself.
    if (call.running && (call.terminalId !== undefined || text === "")) return []
    return this.update(callId, call)
  }

  private update(callId: string, call: Shown): ReadonlyArray<SessionUpdate> {
    call.running = true
    const content: Array<ToolCallContent> =
      call.terminalId !== undefined
        ? [{ type: "terminal", terminalId: call.terminalId }]
        : call.said === ""
          ? []
          : [CallView.textContent(CallView.fenced(call.said))]
    return [
      {
        sessionUpdate: "tool_call_update",
        toolCallId: callId,
        status: "in_progress",
        ...(content.length === 0 ? {} : { content })
      }
    ]
  }

  private terminal({ callId, result }: ToolEvent.Terminal): ReadonlyArray<SessionUpdate> {
    const call = this.calls.get(callId)
    if (call === undefined || call.ended) return []
    call.ended = true
    return [
      { sessionUpdate: "tool_call_update", toolCallId: callId, ...ending(call, result, this.absolute) },
      ...(result._tag === "Success" ? plan(call.name, result.value) : [])
    ]
  }

  /** Ends the calls that were named, and will not be made. */
  private unmade(why: string): ReadonlyArray<SessionUpdate> {
    return Array.from(this.calls).flatMap(([callId, call]): ReadonlyArray<SessionUpdate> => {
      if (call.accepted || call.ended) return []
      call.ended = true
      return [
        {
          sessionUpdate: "tool_call_update",
          toolCallId: callId,
          status: "failed",
          content: [CallView.textContent(`${why} It was not executed.`)]
        }
      ]
    })
  }
}

/** UTF-16 code units of JSON that is sent as `rawOutput`. More is told by the content. */
const maxRaw = 64 * 1024

const ending = (
  call: Pick<Shown, "name" | "terminalId">,
  result: ToolEvent.Terminal["result"],
  absolute: (path: string) => string
): Omit<ToolCallUpdate, "toolCallId"> => {
  const terminal: Array<ToolCallContent> =
    call.terminalId === undefined ? [] : [{ type: "terminal", terminalId: call.terminalId }]
  if (result._tag === "Failure") {
    const { message, reason } = result.error
    return {
      status: "failed",
      content: [...terminal, ...CallView.contents("", toContent(result.error))],
      rawOutput: { error: { reason: reason._tag, message } }
    }
  }
  const { content, isError, value } = result
  const { diffs, locations } = CallView.changes(call.name, value, absolute)
  const raw = JSON.stringify(value) ?? ""
  return {
    status: isError ? "failed" : "completed",
    content: diffs.length > 0 ? diffs : terminal.length > 0 ? terminal : CallView.contents(call.name, content),
    ...(locations.length === 0 ? {} : { locations }),
    ...(raw === "" || raw.length > maxRaw ? {} : { rawOutput: value })
  }
}

const plan = (name: string, value: unknown): ReadonlyArray<SessionUpdate> =>
  name === "todo_write"
    ? [
        {
          sessionUpdate: "plan",
          entries: CallView.todosOf(value).map((todo) => ({ ...todo, priority: "medium" }))
        }
      ]
    : []

const chunk = (
  sessionUpdate: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk",
  text: string
): ReadonlyArray<SessionUpdate> => (text === "" ? [] : [{ sessionUpdate, content: { type: "text", text } }])

/** What was said before, told again. Each call with its ending at once. */
const replay: Mapping["replay"] = (history, terminalOf, absolute) =>
  history.flatMap((item): ReadonlyArray<SessionUpdate> => {
    if (item._tag === "Message") {
      return item.from === "user"
        ? item.content.map((part) => ({ sessionUpdate: "user_message_chunk", content: block(part) }))
        : item.from === "summary"
          ? item.content.flatMap((part) => (part.type === "text" ? chunk("agent_thought_chunk", part.text) : []))
          : []
    }
    return item.parts.flatMap((part): ReadonlyArray<SessionUpdate> => {
      switch (part.type) {
        case "text":
          return chunk("agent_message_chunk", part.text)
        case "reasoning":
          return chunk("agent_thought_chunk", part.text)
        case "call":
          return replayCall(part, terminalOf(part.callId), absolute)
      }
    })
  })

const replayCall = (
  { callId, name, result, text }: History.Call,
  terminal: ToolEvent.Terminal["result"] | undefined,
  absolute: (path: string) => string
): ReadonlyArray<SessionUpdate> => {
  const parameters = parsed(text)
  const end: Omit<ToolCallUpdate, "toolCallId"> =
    terminal === undefined
      ? {
          status: result.isError ? "failed" : "completed",
          content: [
            ...(result.isError ? [] : CallView.preview(name, parameters, absolute)),
            ...CallView.contents(result.isError ? "" : name, result.content)
          ]
        }
      : ending({ name, terminalId: undefined }, terminal, absolute)
  const done = terminal?._tag === "Success" || (terminal === undefined && !result.isError)
  return [
    {
      sessionUpdate: "tool_call",
      toolCallId: callId,
      ...CallView.make(name, parameters, absolute),
      status: "pending",
      ...(parameters === undefined ? {} : { rawInput: parameters })
    },
    { sessionUpdate: "tool_call_update", toolCallId: callId, ...end },
    // The parameters of this tool are its success.
    ...(done ? plan(name, parameters) : [])
  ]
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const block = (part: ToolContent): ContentBlock =>
  part.type === "resource"
    ? {
        type: "resource_link",
        uri: part.uri,
        name: part.uri,
        ...(part.mimeType === undefined ? {} : { mimeType: part.mimeType })
      }
    : part

/** The options of a question of permission. */
const permits: ReadonlyArray<PermissionOption> = [
  { optionId: "once", name: "Allow", kind: "allow_once" },
  { optionId: "session", name: "Allow for this session", kind: "allow_always" },
  { optionId: "always", name: "Always allow exactly this here", kind: "allow_always" },
  { optionId: "no", name: "Reject", kind: "reject_once" }
]

const askPermission = ({ call, text, why }: Question, absolute: (path: string) => string): Choice<Answer> => {
  const preview = CallView.preview(call.name, call.parameters, absolute)
  const words = [...(preview.length > 0 || text === "" ? [] : [CallView.fenced(text)]), ...why].join("\n\n")
  return {
    request: {
      toolCall: {
        toolCallId: call.callId,
        ...CallView.make(call.name, call.parameters, absolute),
        status: "pending",
        content: [...preview, ...(words === "" ? [] : [CallView.textContent(words)])],
        ...(call.parameters === undefined ? {} : { rawInput: call.parameters })
      },
      options: [...permits]
    },
    answer: (optionId) =>
      optionId === "once" || optionId === "session" || optionId === "always"
        ? { _tag: "Allowed", extent: optionId }
        : { _tag: "Denied", by: "the user", why: "no reason was given" }
  }
}

const none = "none"

const askChoice = (
  { call, options, text }: Questions.Question,
  absolute: (path: string) => string
): Choice<Questions.Answer> => ({
  request: {
    toolCall: {
      toolCallId: call.callId,
      ...CallView.make(call.name, call.parameters, absolute),
      status: "pending",
      content: [CallView.textContent(text)]
    },
    options: [
      ...options.map((name, index): PermissionOption => ({ optionId: String(index), name, kind: "allow_once" })),
      { optionId: none, name: "None of these", kind: "reject_once" }
    ]
  },
  answer: (optionId) => {
    const option = options[Number(optionId)]
    return option === undefined
      ? { _tag: "Declined", why: "the user wants none of the options" }
      : { _tag: "Chosen", option }
  }
})

const stopReason = (stop: TurnStop): StopReason => {
  switch (stop._tag) {
    case "End":
      return "end_turn"
    case "Length":
      return "max_tokens"
    case "Refusal":
      return "refusal"
    case "Cancelled":
      return "cancelled"
    case "LimitReached":
      return stop.limit === "tokens" ? "max_tokens" : "max_turn_requests"
    case "Repeated":
      return "max_turn_requests"
  }
}

/** What a prompt brings. A resource that is embedded is a text with its address. */
const prompt = (blocks: ReadonlyArray<ContentBlock>): ReadonlyArray<ToolContent> =>
  blocks.map((block): ToolContent => {
    switch (block.type) {
      case "text":
        return textItem(block.text)
      case "image":
        return { type: "image", data: block.data, mimeType: block.mimeType }
      case "audio":
        return textItem(`[a recording, ${block.mimeType}, which cannot be heard here]`)
      case "resource_link":
        return textItem(`[${block.name}](${block.uri})`)
      case "resource":
        return "text" in block.resource
          ? textItem(`<resource uri=${JSON.stringify(block.resource.uri)}>\n${block.resource.text}\n</resource>`)
          : textItem(`[${block.resource.uri}, which is no text]`)
    }
  })

/**
 * The mapping of version 1.
 *
 * @category constants
 * @since 0.1.0
 */
export const mapping: Mapping = {
  view: (absolute) => new View(absolute),
  replay,
  askPermission,
  askChoice,
  prompt,
  stopped: (stop): PromptResponse => ({ stopReason: stopReason(stop) })
}
