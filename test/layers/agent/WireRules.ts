/**
 * What the providers refuse, as a check of the requests that were made: written from
 * their documents and error texts, not from the code under test.
 */
import * as Subsets from "../dialects/Subsets.ts"

type Json = Readonly<Record<string, unknown>>

const record = (value: unknown): Json => (typeof value === "object" && value !== null ? { ...value } : {})
const list = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.map(record) : [])

const name = /^[a-zA-Z0-9_-]{1,64}$/

/** Half a character anywhere in it: "no low surrogate in string". */
const halves = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return value.isWellFormed() ? [] : ["half a character"]
  if (typeof value !== "object" || value === null) return []
  return Object.values(value).flatMap(halves)
}

const json = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * **Source** OpenAI, Chat: "An assistant message with 'tool_calls' must be followed by tool messages responding to each
 * 'tool_call_id'"; "messages with role 'tool' must be a response to a preceding message with 'tool_calls'".
 */
export const chat = (body: unknown): ReadonlyArray<string> => {
  const { messages, tools } = record(body)
  const problems: Array<string> = [...halves(body)]
  let open: Array<unknown> = []
  const seen = new Set<unknown>()
  for (const [at, message] of list(messages).entries()) {
    const where = `message ${at} (${String(message["role"])})`
    if (message["role"] === "tool") {
      if (!open.includes(message["tool_call_id"])) problems.push(`${where}: an answer to no call that is open`)
      open = open.filter((id) => id !== message["tool_call_id"])
      if (typeof message["content"] !== "string") problems.push(`${where}: no text`)
      continue
    }
    if (open.length > 0) problems.push(`${where}: no answer to ${open.join(", ")}`)
    open = []
    const calls = list(message["tool_calls"])
    if ("tool_calls" in message && calls.length === 0) problems.push(`${where}: an empty list of calls`)
    for (const call of calls) {
      const made = record(call["function"])
      if (seen.has(call["id"])) problems.push(`${where}: the id ${String(call["id"])} is used twice`)
      seen.add(call["id"])
      open.push(call["id"])
      if (!name.test(String(made["name"]))) problems.push(`${where}: the name ${String(made["name"])}`)
      if (!isObject(json(made["arguments"]))) problems.push(`${where}: arguments are no object`)
    }
  }
  if (open.length > 0) problems.push(`the end: no answer to ${open.join(", ")}`)
  for (const tool of list(tools)) {
    const made = record(tool["function"])
    problems.push(...Subsets.openai({ type: "function", strict: false, ...made }))
  }
  return problems
}

/**
 * **Source** OpenAI, Responses: "No tool output found for function call", "No tool call found for function call output".
 */
export const responses = (body: unknown): ReadonlyArray<string> => {
  const { input, tools } = record(body)
  const problems: Array<string> = [...halves(body)]
  let open: Array<unknown> = []
  const seen = new Set<unknown>()
  for (const [at, item] of list(input).entries()) {
    const where = `item ${at} (${String(item["type"] ?? item["role"])})`
    if (item["type"] === "function_call") {
      const id = item["call_id"]
      if (typeof id !== "string" || id === "" || id.length > 64) problems.push(`${where}: the id ${String(id)}`)
      if (seen.has(id)) problems.push(`${where}: the id ${String(id)} is used twice`)
      seen.add(id)
      open.push(id)
      if (!name.test(String(item["name"]))) problems.push(`${where}: the name ${String(item["name"])}`)
      if (!isObject(json(item["arguments"]))) problems.push(`${where}: arguments are no object`)
    } else if (item["type"] === "function_call_output") {
      if (!open.includes(item["call_id"])) problems.push(`${where}: an output of no call that is open`)
      open = open.filter((id) => id !== item["call_id"])
      if (typeof item["output"] !== "string" && !Array.isArray(item["output"])) problems.push(`${where}: no output`)
    } else if (item["role"] === "user" && open.length > 0) {
      problems.push(`${where}: no output of ${open.join(", ")}`)
      open = []
    }
  }
  if (open.length > 0) problems.push(`the end: no output of ${open.join(", ")}`)
  return [...problems, ...list(tools).flatMap((tool) => Subsets.openai(tool))]
}

/**
 * **Source** Anthropic, Messages: "`tool_use` ids were found without `tool_result` blocks immediately after", "unexpected
 * `tool_use_id` found in `tool_result` blocks", "`tool_use` ids must be unique", "text content blocks must be non-empty",
 * "roles must alternate", "`tool_use.input`: Input should be a valid dictionary".
 */
export const anthropic = (body: unknown): ReadonlyArray<string> => {
  const { max_tokens, messages, tools } = record(body)
  const problems: Array<string> = [...halves(body)]
  if (typeof max_tokens !== "number") problems.push("max_tokens is missing")
  let open: Array<unknown> = []
  let role = "assistant"
  const seen = new Set<unknown>()
  const blank = (block: Json) => block["type"] === "text" && String(block["text"]).trim() === ""
  for (const [at, message] of list(messages).entries()) {
    const where = `message ${at} (${String(message["role"])})`
    const content = list(message["content"])
    if (message["role"] === role) problems.push(`${where}: the same role twice`)
    role = String(message["role"])
    if (content.length === 0) problems.push(`${where}: empty`)
    const results = content.filter(({ type }) => type === "tool_result")
    for (const [index, result] of results.entries()) {
      if (!open.includes(result["tool_use_id"])) problems.push(`${where}: a result of no call right before`)
      open = open.filter((id) => id !== result["tool_use_id"])
      if (content[index] !== result) problems.push(`${where}: something stands before a result`)
      if (list(result["content"]).some(blank)) problems.push(`${where}: a blank text`)
    }
    if (open.length > 0) problems.push(`${where}: no result of ${open.join(", ")}`)
    open = []
    if (content.some(blank)) problems.push(`${where}: a blank text`)
    for (const call of content.filter(({ type }) => type === "tool_use")) {
      if (role !== "assistant") problems.push(`${where}: a call by the user`)
      if (!name.test(String(call["id"]))) problems.push(`${where}: the id ${String(call["id"])}`)
      if (seen.has(call["id"])) problems.push(`${where}: the id ${String(call["id"])} is used twice`)
      seen.add(call["id"])
      open.push(call["id"])
      if (!name.test(String(call["name"]))) problems.push(`${where}: the name ${String(call["name"])}`)
      if (!isObject(call["input"])) problems.push(`${where}: the input is no object`)
    }
  }
  if (open.length > 0) problems.push(`the end: no result of ${open.join(", ")}`)
  if (role !== "user") problems.push("the last message is not the user's")
  return [...problems, ...list(tools).flatMap((tool) => Subsets.anthropic(tool))]
}

/**
 * A journal that has every request in the form of Chat, but not in its order: each call has one answer, after it, and
 * each answer its call.
 */
export const journal = (messages: unknown): ReadonlyArray<string> => {
  const all = list(messages)
  const asked = all.flatMap((message, at) => list(message["tool_calls"]).map((call) => ({ at, call })))
  const answered = all.flatMap((message, at) =>
    message["role"] === "tool" ? [{ at, id: message["tool_call_id"] }] : []
  )
  return [
    ...asked.flatMap(({ at, call }) => {
      const answers = answered.filter(({ id }) => id === call["id"])
      const made = record(call["function"])
      return [
        ...(answers.length === 1 && answers[0]!.at > at
          ? []
          : [`message ${at}: ${answers.length} answers to ${String(call["id"])}`]),
        ...(name.test(String(made["name"])) ? [] : [`message ${at}: the name ${String(made["name"])}`])
      ]
    }),
    ...answered.flatMap(({ at, id }) =>
      asked.some(({ call }) => call["id"] === id) ? [] : [`message ${at}: an answer to no call`]
    )
  ]
}

/** By the path that a request went to. */
export const violations = (path: string, body: unknown): ReadonlyArray<string> =>
  path.endsWith("/messages") ? anthropic(body) : path.endsWith("/responses") ? responses(body) : chat(body)
