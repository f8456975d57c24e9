/**
 * One line of `run`: the call it asks for, and the calls it waits for.
 *
 * **Form**
 *
 * `{"id", "name", "parameters", "after"}`. `id` is a string, or a number, which
 * stands for its text; without one it is the number of the line. `parameters` are
 * `{}` if absent. `after` is an array of ids of earlier lines. There is nothing
 * else: a misspelt key would silently do nothing.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ToolCall from "../../src/ToolCall.ts"
import type { InvalidParameters } from "../../src/ToolError.ts"
import type { Line } from "../JsonLines.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** What is not known of it is left out, and the name is empty. */
  readonly call: ToolCall.ToolCall
  readonly after: ReadonlyArray<string>
  /** What keeps it from being a call. */
  readonly issues: InvalidParameters["issues"]
}

type Issue = InvalidParameters["issues"][number]

/**
 * Reads a line. One that is not of the form is a request with issues.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromLine = (line: Line): Effect.Effect<Request> =>
  // The same judgement of depth and syntax as for the parameters of a single call.
  Effect.map(ToolCall.fromText({ name: "", text: line.text }), ({ malformed, parameters, ...call }) => {
    const what = line.unreadable ?? malformed
    if (what !== undefined) return unknown(call, { path: [], message: `Line ${line.number}: ${what}` })
    if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters)) {
      return unknown(call, { path: [], message: `Line ${line.number}: not an object. ${form}` })
    }
    return fromObject(call, line.number, new Map(Object.entries(parameters)))
  })

const form = 'A line has the form {"id": "1", "name": "grep", "parameters": {"pattern": "x"}, "after": []}.'

const keys: ReadonlyArray<string> = ["id", "name", "parameters", "after"]

type Minted = Pick<ToolCall.ToolCall, "callId" | "sessionId">

const unknown = ({ callId, sessionId }: Minted, issue: Issue): Request => ({
  call: { callId, sessionId, name: "", parameters: undefined },
  after: [],
  issues: [issue]
})

const fromObject = ({ callId, sessionId }: Minted, line: number, given: ReadonlyMap<string, unknown>): Request => {
  const issues: Array<Issue> = []
  const complain = (message: string, ...path: Issue["path"]) => {
    issues.push({ path, message })
  }
  const rawId = given.get("id")
  const id = rawId === undefined ? String(line) : idOf(rawId)
  if (id === undefined) complain("Expected a string or a number", "id")
  const name = given.get("name")
  if (typeof name !== "string") complain(name === undefined ? "Missing key" : "Expected a string", "name")
  const rawAfter = given.get("after") ?? []
  const after = Array.isArray(rawAfter) ? rawAfter.map(idOf) : undefined
  if (after === undefined) complain("Expected an array of ids of earlier lines", "after")
  for (const [index, id] of (after ?? []).entries()) {
    if (id === undefined) complain("Expected a string or a number", "after", index)
  }
  for (const key of given.keys()) {
    if (!keys.includes(key)) complain(`Unknown key. A line has the keys ${keys.join(", ")}`, key)
  }
  return {
    call: {
      callId,
      sessionId,
      ...(id === undefined ? {} : { externalId: id }),
      name: typeof name === "string" ? name : "",
      parameters: given.has("parameters") ? given.get("parameters") : {}
    },
    after: (after ?? []).filter((id) => id !== undefined),
    issues
  }
}

const idOf = (id: unknown): string | undefined =>
  typeof id === "string" ? id : typeof id === "number" ? String(id) : undefined
