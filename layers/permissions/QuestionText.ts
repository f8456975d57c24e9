/**
 * What a call would do, as it is shown to whoever is asked: the command, the change,
 * the host. Nothing in it acts on a terminal.
 *
 * @since 0.1.0
 */
import * as PlainText from "../../src/PlainText.ts"

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (tool: string, parameters: unknown): string => {
  const given = typeof parameters === "object" && parameters !== null ? Object.entries(parameters) : []
  const values = new Map<string, unknown>(given)
  const text = (key: string): string => String(values.get(key))
  const rest = (...shown: ReadonlyArray<string>): ReadonlyArray<string> =>
    given.filter(([key]) => !shown.includes(key)).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  const lines = (): ReadonlyArray<string> => {
    switch (tool) {
      case "bash":
      case "monitor":
      case "build":
        return values.has("command") ? [text("command"), ...rest("command")] : rest()
      case "apply_patch":
        return [text("patch")]
      case "edit_file":
        return [
          text("path"),
          ...marked("-", text("oldText")),
          ...marked("+", text("newText")),
          ...rest("path", "oldText", "newText")
        ]
      case "write_file":
        return [text("path"), ...marked("+", text("content"))]
      default:
        return rest()
    }
  }
  return PlainText.make(lines().join("\n"))
}

const marked = (mark: string, text: string): ReadonlyArray<string> =>
  text === "" ? [] : text.split("\n").map((line) => `${mark} ${line}`)
