/**
 * A prepared call, as the runtime makes it: it knows the call that runs it, so that
 * nobody has to look for it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ErasedTool } from "../ErasedTool.ts"
import type { Approved } from "../Journal.ts"
import { CurrentSession, type Session } from "../Session.ts"
import { CurrentToolCall, type ToolCall } from "../ToolCall.ts"
import type { PreparedCall } from "../ToolMiddleware.ts"
import type { ToolStream } from "../ToolStream.ts"
import { type Emit, fromBody, fromBodyWith } from "./Body.ts"
import * as CanonicalJson from "./CanonicalJson.ts"
import * as Current from "./Current.ts"

/** @internal */
export class Prepared implements PreparedCall {
  readonly call: ToolCall
  readonly tool: ErasedTool
  readonly parameters: unknown
  readonly origin: string | undefined
  /** Undefined outside of a runtime. */
  readonly current: Current.Current | undefined
  private hash: string | undefined

  constructor(
    call: ToolCall,
    tool: ErasedTool,
    parameters: unknown,
    current: Current.Current | undefined,
    origin: string | undefined
  ) {
    this.origin = origin
    this.call = call
    this.tool = tool
    this.parameters = parameters
    this.current = current
  }

  get caller(): ToolCall | undefined {
    const { current } = this
    return current === undefined ? undefined : Option.getOrUndefined(Context.getOption(current.outer, CurrentToolCall))
  }

  get attempt(): number {
    return this.current?.attempt ?? 1
  }

  get approval(): Approved | undefined {
    return this.current?.approval
  }

  get session(): Session {
    return this.current === undefined ? Context.get(Context.empty(), CurrentSession) : this.current.session
  }

  get parametersHash(): Effect.Effect<string> {
    return Effect.suspend(() =>
      this.hash !== undefined
        ? Effect.succeed(this.hash)
        : Effect.map(
            this.tool.encodeParameters(this.parameters),
            (parameters) => (this.hash = CanonicalJson.sha256(parameters))
          )
    )
  }
}

/**
 * A stream that knows the call it runs in, if there is one: that of the prepared call, or, of one that a middleware
 * made, that of the fiber.
 *
 * @internal
 */
export const fromCall = <P, A, E, R>(
  prepared: PreparedCall,
  run: (emit: Emit<P>, current: Current.Current | undefined) => Effect.Effect<A, E, R>
): ToolStream<P, A, E, R> =>
  prepared instanceof Prepared
    ? fromBodyWith(prepared.current, run)
    : fromBody((emit: Emit<P>) => Effect.withFiber((fiber) => run(emit, Current.of(fiber.context))))

/** The call that the runtime prepared. */
export const currentOf = (prepared: PreparedCall): Current.Current | undefined =>
  prepared instanceof Prepared ? prepared.current : undefined

/** The call whose tool made it. */
export const callerOf = (prepared: PreparedCall): Current.Current | undefined =>
  prepared instanceof Prepared ? prepared.current?.caller : undefined
