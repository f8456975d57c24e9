/**
 * What the client of a session offers its tools: its buffers and its terminals.
 *
 * It is a fact of the moment, read where a port is asked: one program serves many
 * clients, and tools that were built before any of them came.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * The client did not do what it was asked for, or is gone.
 *
 * @category errors
 * @since 0.1.0
 */
export class ClientRefused extends Schema.TaggedError<ClientRefused>()("ClientRefused", {
  /** JSON-RPC. Undefined if there is no client any more. */
  code: Schema.optionalKey(Schema.Int),
  detail: Schema.String
}) {
  override get message() {
    return this.code === undefined ? `The editor is gone: ${this.detail}` : `The editor refused: ${this.detail}`
  }
}

/**
 * Text as the client's user sees it, saved or not.
 *
 * @category models
 * @since 0.1.0
 */
export interface Buffers {
  /** Of an absolute path. */
  readonly read: (path: string) => Effect.Effect<string, ClientRefused>
  readonly write: (path: string, content: string) => Effect.Effect<void, ClientRefused>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TerminalCommand {
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** Absolute. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Bytes that are kept: of more the beginning is dropped. */
  readonly outputByteLimit: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TerminalExit {
  readonly code: number | undefined
  readonly signal: string | undefined
}

/**
 * A command in a terminal of the client.
 *
 * @category models
 * @since 0.1.0
 */
export interface Terminal {
  readonly id: string
  /** What it has written so far, or the end of it. */
  readonly output: Effect.Effect<{ readonly text: string; readonly truncated: boolean }, ClientRefused>
  readonly exit: Effect.Effect<TerminalExit, ClientRefused>
  readonly kill: Effect.Effect<void, ClientRefused>
  /** The client may forget it, and goes on showing it. */
  readonly release: Effect.Effect<void, ClientRefused>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Client {
  readonly buffers: Buffers | undefined
  readonly terminals:
    | {
        /** Starts a command, and shows it as what this call does. */
        readonly create: (
          command: TerminalCommand,
          callId: string | undefined
        ) => Effect.Effect<Terminal, ClientRefused>
      }
    | undefined
}

/**
 * The client of the running fiber. Undefined by default: there is none.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentClient = Context.Reference<Client | undefined>("toolstream/acp/CurrentClient", {
  defaultValue: () => undefined
})
