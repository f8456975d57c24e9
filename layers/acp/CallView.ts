/**
 * A call as an editor shows it: what it does, in a line; of what kind; and which files it
 * is about. Of tools that are not known here, their names.
 *
 * **Source** ACP v1, "Tool Calls": `title`, `kind`, `locations`. Paths are absolute.
 *
 * @since 0.1.0
 */
import type { ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk"
import * as PlainText from "../../src/PlainText.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import * as UnifiedDiff from "./UnifiedDiff.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface CallView {
  readonly title: string
  readonly kind: ToolKind
  readonly locations: Array<ToolCallLocation>
}

/** UTF-16 code units of a title. More does not fit on a line. */
const maxTitle = 120

/** UTF-16 code units of a text that is sent to be shown. More slows an editor, and nobody reads it there. */
const maxText = 64 * 1024

const kinds: Readonly<Record<string, ToolKind>> = {
  read_file: "read",
  list_dir: "read",
  list_tasks: "read",
  task_output: "read",
  read_output: "read",
  wait_tasks: "read",
  glob: "search",
  grep: "search",
  write_file: "edit",
  edit_file: "edit",
  apply_patch: "edit",
  bash: "execute",
  monitor: "execute",
  build: "execute",
  kill_task: "execute",
  todo_write: "think",
  enter_plan: "switch_mode",
  exit_plan: "switch_mode",
  web_fetch: "fetch"
}

/**
 * What is known of a call by the name of its tool.
 *
 * @category getters
 * @since 0.1.0
 */
export const kindOf = (name: string): ToolKind => (Object.hasOwn(kinds, name) ? kinds[name]! : "other")

/**
 * A call with its parameters, as the model sent them: whatever they are. `absolute` makes a path one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (name: string, parameters: unknown, absolute: (path: string) => string): CallView => {
  const given = record(parameters)
  const text = (key: string) => {
    const value = given[key]
    return typeof value === "string" && value !== "" ? value : undefined
  }
  const title = titleOf(name, text)
  const line = typeof given["offset"] === "number" && given["offset"] > 0 ? { line: given["offset"] } : {}
  const locations = pathsOf(name, text)
    .filter((path) => !path.startsWith("~"))
    .map((path) => ({ path: absolute(path), ...line }))
  return { title: PlainText.take(PlainText.makeLine(title), maxTitle), kind: kindOf(name), locations }
}

type Text = (key: string) => string | undefined

const titleOf = (name: string, text: Text): string => {
  const path = text("path")
  const where = path === undefined ? "" : ` in ${path}`
  switch (name) {
    case "read_file":
      return `Read ${path ?? "a file"}`
    case "list_dir":
      return `List ${path ?? "the workspace"}`
    case "glob":
      return `Find ${text("pattern") ?? "files"}${where}`
    case "grep":
      return `Search for ${text("pattern") ?? "a pattern"}${where}`
    case "write_file":
      return `Write ${path ?? "a file"}`
    case "edit_file":
      return `Edit ${path ?? "a file"}`
    case "apply_patch":
      return `Patch ${patched(text("patch") ?? "").join(", ") || "files"}`
    case "bash":
    case "monitor":
    case "build":
      return text("command") ?? name
    case "todo_write":
      return "Update the todos"
    case "ask_user":
      return text("question") ?? "Ask the user"
    case "enter_plan":
      return "Plan first"
    case "exit_plan":
      return "Show the plan"
    case "web_fetch":
      return `Fetch ${text("url") ?? "a page"}`
    default:
      return name
  }
}

const pathsOf = (name: string, text: Text): ReadonlyArray<string> => {
  if (name === "apply_patch") return patched(text("patch") ?? "")
  const path = text("path")
  return path === undefined ? [] : [path]
}

/** The files that a patch names, without reading it closely. */
const patched = (patch: string): ReadonlyArray<string> =>
  Array.from(patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$/gm), ([, path]) => path!)

/**
 * What a person who is asked sees of what the call would change.
 *
 * @category converting
 * @since 0.1.0
 */
export const preview = (
  name: string,
  parameters: unknown,
  absolute: (path: string) => string
): Array<ToolCallContent> => {
  const { content, newText, oldText, path } = record(parameters)
  if (typeof path !== "string") return []
  if (name === "edit_file" && typeof oldText === "string" && typeof newText === "string") {
    return [{ type: "diff", path: absolute(path), oldText, newText }]
  }
  return name === "write_file" && typeof content === "string"
    ? [{ type: "diff", path: absolute(path), newText: content }]
    : []
}

/**
 * What a success changed: its files, as far as it tells.
 *
 * @category converting
 * @since 0.1.0
 */
export const changes = (
  name: string,
  value: unknown,
  absolute: (path: string) => string
): { readonly diffs: Array<ToolCallContent>; readonly locations: Array<ToolCallLocation> } => {
  const { files } = record(value)
  const changed = kindOf(name) !== "edit" ? [] : Array.isArray(files) ? files.map(record) : [record(value)]
  const hunks = changed.flatMap(({ diff, path }) =>
    typeof diff === "string" && typeof path === "string"
      ? UnifiedDiff.hunks(diff).map((hunk) => ({ path: absolute(path), ...hunk }))
      : []
  )
  return {
    diffs: hunks.map(({ newText, oldText, path }) => ({
      type: "diff",
      path,
      newText,
      ...(oldText === undefined ? {} : { oldText })
    })),
    locations: hunks.map(({ line, path }) => ({ path, line }))
  }
}

/**
 * The todos of a `todo_write`, if they are.
 *
 * @category converting
 * @since 0.1.0
 */
export const todosOf = (
  value: unknown
): ReadonlyArray<{ readonly content: string; readonly status: "pending" | "in_progress" | "completed" }> => {
  const { todos } = record(value)
  return (Array.isArray(todos) ? todos : []).flatMap((todo) => {
    const { content, status } = record(todo)
    return typeof content === "string" && (status === "pending" || status === "in_progress" || status === "completed")
      ? [{ content, status }]
      : []
  })
}

/**
 * The text of a progress value, if it has one: what a command wrote, a line, a message.
 *
 * @category converting
 * @since 0.1.0
 */
export const progressText = (value: unknown): string => {
  if (typeof value === "string") return `${value}\n`
  const { line, message, path, text } = record(value)
  if (typeof text === "string") return text
  const said = [line, message, path].find((part) => typeof part === "string")
  return said === undefined ? "" : `${said}\n`
}

/**
 * What the model reads, as an editor shows it. Text of files and of commands is no Markdown.
 *
 * @category converting
 * @since 0.1.0
 */
export const contents = (name: string, content: ReadonlyArray<ToolContent>): Array<ToolCallContent> =>
  content.map((item, index): ToolCallContent => {
    switch (item.type) {
      case "text":
        return textContent(isVerbatim(name) && index === 0 ? fenced(item.text) : tail(item.text))
      case "image":
        return { type: "content", content: item }
      case "resource":
        return {
          type: "content",
          content: {
            type: "resource_link",
            uri: item.uri,
            name: item.uri,
            ...(item.mimeType === undefined ? {} : { mimeType: item.mimeType })
          }
        }
    }
  })

/**
 * @category constructors
 * @since 0.1.0
 */
export const textContent = (text: string): ToolCallContent => ({ type: "content", content: { type: "text", text } })

/**
 * Text that is shown as it is. Of what is long the end.
 *
 * @category converting
 * @since 0.1.0
 */
export const fenced = (text: string): string => {
  const shown = tail(text)
  const longest = Math.max(2, ...Array.from(shown.matchAll(/`{3,}/g), ([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}\n${shown}${shown.endsWith("\n") ? "" : "\n"}${fence}`
}

/**
 * The end of a long text.
 *
 * @category converting
 * @since 0.1.0
 */
export const tail = (text: string): string =>
  text.length <= maxText ? text : `[… ${text.length - maxText} left out]\n${text.slice(-maxText).toWellFormed()}`

const isVerbatim = (name: string): boolean => ["read", "search", "execute"].includes(kindOf(name))

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}
