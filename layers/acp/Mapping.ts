/**
 * What a version of the protocol makes of turns: the one place to change when the protocol
 * does. `V1` is the mapping of version 1.
 *
 * @since 0.1.0
 */
import type { ContentBlock, PromptResponse, RequestPermissionRequest, SessionUpdate } from "@agentclientprotocol/sdk"
import type * as Permission from "../../src/Permission.ts"
import type * as Questions from "../../src/Questions.ts"
import type { ToolContent } from "../../src/ToolContent.ts"
import type * as ToolEvent from "../../src/ToolEvent.ts"
import type * as History from "../agent/History.ts"
import type { TurnEvent, TurnStop } from "../agent/Turn.ts"

/**
 * One turn, as it is told to a client: updates, in the order in which they are to be sent.
 *
 * @category models
 * @since 0.1.0
 */
export interface TurnView {
  readonly event: (event: TurnEvent) => ReadonlyArray<SessionUpdate>
  /** The turn has ended. */
  readonly ended: () => ReadonlyArray<SessionUpdate>
  /** A call runs in this terminal of the client. */
  readonly attached: (callId: string, terminalId: string) => ReadonlyArray<SessionUpdate>
  /** A call was permitted. */
  readonly started: (callId: string) => ReadonlyArray<SessionUpdate>
}

/**
 * A question to the client's user, and how what was chosen is understood.
 *
 * @category models
 * @since 0.1.0
 */
export interface Choice<Answer> {
  readonly request: Omit<RequestPermissionRequest, "sessionId">
  readonly answer: (optionId: string) => Answer
}

/**
 * `absolute` makes a path absolute, from the workspace of the session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Mapping {
  readonly view: (absolute: (path: string) => string) => TurnView
  /** What was said before. `terminalOf` gives what a journal knows of a call. */
  readonly replay: (
    history: History.History,
    terminalOf: (callId: string) => ToolEvent.Terminal["result"] | undefined,
    absolute: (path: string) => string
  ) => ReadonlyArray<SessionUpdate>
  readonly askPermission: (
    question: Permission.Question,
    absolute: (path: string) => string
  ) => Choice<Permission.Answer>
  readonly askChoice: (question: Questions.Question, absolute: (path: string) => string) => Choice<Questions.Answer>
  readonly prompt: (blocks: ReadonlyArray<ContentBlock>) => ReadonlyArray<ToolContent>
  readonly stopped: (stop: TurnStop) => PromptResponse
}
