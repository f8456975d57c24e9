/**
 * From a leased tool to a running one: choose the member of a family, decode once,
 * go through the middleware.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { hasSucceeded } from "./Done.ts"
import type { ErasedTool, Registrable } from "../ErasedTool.ts"
import type { ToolCall } from "../ToolCall.ts"
import { fromReason, InvalidParameters, type ToolError } from "../ToolError.ts"
import type { Invocation } from "../ToolMiddleware.ts"
import type { ToolResult } from "../ToolResult.ts"
import type { ToolStream } from "../ToolStream.ts"
import { effectOf, type Emit, fromBody } from "./Body.ts"
import type { Call } from "./Call.ts"
import { Prepared } from "./Prepared.ts"
import * as Repair from "./Repair.ts"
import * as WellFormed from "./WellFormed.ts"

/** @internal */
export const prepare =
  (running: Call, invocation: Invocation) =>
  (tool: Registrable, origin: string): ToolStream<unknown, ToolResult, ToolError> =>
    fromBody((emit) => {
      if (!("choose" in tool)) return go(running, invocation, tool, origin, emit)
      const member = Effect.mapError(tool.choose, (reason) => fromReason(running.call, reason))
      return Effect.flatMap(member, (member) => go(running, invocation, member, origin, emit))
    })

// Functions of the module: most calls get through all of them at once, and would make a closure for each.

const go = (
  running: Call,
  invocation: Invocation,
  member: ErasedTool,
  origin: string,
  emit: Emit<unknown>
): Effect.Effect<ToolResult, ToolError> => {
  const decoded = decode(member, running.call)
  return hasSucceeded(decoded)
    ? goOn(running, invocation, member, origin, emit, decoded.value)
    : Effect.flatMap(decoded, (parameters) => goOn(running, invocation, member, origin, emit, parameters))
}

const goOn = (
  running: Call,
  invocation: Invocation,
  member: ErasedTool,
  origin: string,
  emit: Emit<unknown>,
  parameters: unknown
): Effect.Effect<ToolResult, ToolError> => {
  const prepared = new Prepared(running.call, member, parameters, running, origin)
  const before = running.prepared(prepared, member.clocks?.(parameters))
  return before === undefined
    ? effectOf(invocation(prepared), emit)
    : Effect.flatMap(before, () => effectOf(invocation(prepared), emit))
}

/**
 * Runs a tool without a runtime: decoded and encoded, but unguarded.
 *
 * @internal
 */
export const execute = (tool: ErasedTool, call: ToolCall): ToolStream<unknown, ToolResult, ToolError> =>
  fromBody((emit) =>
    now(decode(tool, call), (parameters) =>
      effectOf(tool.run(new Prepared(call, tool, parameters, undefined, undefined)), emit)
    )
  )

const decode = (tool: ErasedTool, call: ToolCall): Effect.Effect<unknown, ToolError> => {
  if (call.malformed !== undefined) return refuse(call, [{ path: [], message: call.malformed }])
  const illFormed = WellFormed.firstIllFormed(call.parameters)
  if (illFormed !== undefined) return refuse(call, [{ path: illFormed, message: WellFormed.complaint }])
  const decoded = tool.decode(call.parameters)
  return hasSucceeded(decoded)
    ? (decoded as Exit.Exit<unknown>)
    : Effect.catch(decoded, (issues) => {
        const repaired = Repair.repair(call.parameters, tool.descriptor.parametersSchema)
        return repaired === call.parameters
          ? refuse(call, issues)
          : Effect.catch(tool.decode(repaired), (issues) => refuse(call, issues))
      })
}

const refuse = (call: ToolCall, issues: InvalidParameters["issues"]) =>
  Exit.fail(
    fromReason(
      call,
      new InvalidParameters({
        issues: issues.map(({ message, path }) => ({
          path,
          // Optional ones have been forgiven: who sends null here takes it for "none".
          message: path.length > 0 && at(call.parameters, path) === null ? "is required, and cannot be null" : message
        }))
      })
    )
  )

const at = (value: unknown, path: InvalidParameters["issues"][number]["path"]): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    value
  )

/** `flatMap` that does not go through the run loop when the outcome is known. */
const now = <A, E, A2, E2>(
  effect: Effect.Effect<A, E>,
  f: (value: A) => Effect.Effect<A2, E2>
): Effect.Effect<A2, E | E2> => (hasSucceeded(effect) ? f(effect.value as A) : Effect.flatMap(effect, f))
