/**
 * Hooks that are commands: a program is told of a call as JSON on stdin, and answers with
 * JSON on stdout.
 *
 * **Form**
 *
 * ```json
 * {"hook":"before","tool":"bash","parameters":{"command":"ls"},"callId":"…","sessionId":"…","workspace":"/…"}
 * ```
 *
 * A hook `before` a call answers `{"_tag":"Nothing"}`, `{"_tag":"Allow"}`, `{"_tag":"Deny","why":"…"}` or
 * `{"_tag":"Rewrite","parameters":{…}}`. One `after` it is given its `result` besides, `{"value","content","isError"}`, and
 * answers `{"content":[…]}`: items that the model reads after those of the tool.
 *
 * **Contract**
 *
 * - It is one process for each call of a tool that it is for, contained, in the workspace,
 *   with the environment that `Processes` passes on. It ends with the call, and whatever
 *   it started with it.
 * - It stands outside of the sandbox of the calls that it judges, as the program does: there
 *   it could not even read its own file. One that runs what lies in the workspace is to be
 *   given a sandbox of its own.
 * - Parameters are those that are to run, secrets included: it may have to rewrite them.
 * - What is no answer is a failure (`HookFailed`): another exit status than 0, no JSON,
 *   JSON that does not fit, none until the deadline. A hook `before` that fails denies.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { BoundedText } from "../../src/BoundedText.ts"
import * as PlainText from "../../src/PlainText.ts"
import { type ExitStatus, isSuccess, Processes } from "../../src/Processes.ts"
import { CurrentSandbox, off, type Sandbox } from "../../src/Sandbox.ts"
import { CurrentSession } from "../../src/Session.ts"
import { ToolContent } from "../../src/ToolContent.ts"
import type { PreparedCall } from "../../src/ToolMiddleware.ts"
import type { ToolResult } from "../../src/ToolResult.ts"
import { type After, type Before, HookFailed, nothing, Saying } from "./Hooks.ts"
import { namesTool } from "./Rules.ts"

/**
 * A command, and what it is for.
 *
 * @category models
 * @since 0.1.0
 */
export interface CommandHook {
  /** Told to the model with a no. */
  readonly name: string
  /** The tools that it is asked about, `*` for any text in a name. Default: all. */
  readonly tool?: string | undefined
  /** A program, found on the PATH or absolute, and its arguments. No shell reads them. */
  readonly command: readonly [program: string, ...args: ReadonlyArray<string>]
  /** How long it may take, in ms. Default: 10 s. */
  readonly timeoutMs?: number | undefined
  /** The sandbox that it runs in, whatever that of the calls is. Default: none. */
  readonly sandbox?: Sandbox | undefined
}

/** Longer, and a hook that hangs holds up every call; shorter, and one that starts an interpreter on a busy machine denies. */
const defaultTimeoutMs = 10_000

/** Bytes of an answer. More is no answer that a person waits for; less refuses parameters that hold a file. */
const maxAnswer = 1024 * 1024

/** Bytes at each end of what it says on stderr. More would be all that the model reads of the call. */
const maxTalk = 500

/**
 * A hook that is asked before a call.
 *
 * @category constructors
 * @since 0.1.0
 */
export const before = (hook: CommandHook): Effect.Effect<Before, never, Processes> =>
  Effect.map(Processes, (processes) => ({
    name: hook.name,
    ask: (prepared) =>
      concerns(hook, prepared)
        ? told("before", prepared).pipe(
            Effect.flatMap((input) => asked(processes, hook, prepared, input, saying)),
            Effect.map((saying) => (saying._tag === "Deny" ? { ...saying, why: shown(saying.why, maxWhy) } : saying))
          )
        : nothing
  }))

/**
 * A hook that is told of a success.
 *
 * @category constructors
 * @since 0.1.0
 */
export const after = (hook: CommandHook): Effect.Effect<After, never, Processes> =>
  Effect.map(Processes, (processes) => ({
    name: hook.name,
    tell: (prepared, result) =>
      concerns(hook, prepared)
        ? told("after", prepared, result).pipe(
            Effect.flatMap((input) => asked(processes, hook, prepared, input, addition)),
            Effect.map(({ content = [] }) => content)
          )
        : Effect.succeed([])
  }))

/**
 * Whether a hook is asked about calls of a tool.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isFor = ({ tool = "*" }: Pick<CommandHook, "tool">, name: string): boolean => namesTool(tool, name)

const concerns = (hook: CommandHook, { tool }: PreparedCall): boolean => isFor(hook, tool.name)

const Addition = Schema.Struct({ content: Schema.optionalKey(Schema.Array(ToolContent)) })

/** How an answer is read, and what to print instead of one that cannot be. */
interface Answer<A> {
  readonly read: (json: unknown) => Result.Result<A, Schema.SchemaError>
  readonly forms: string
}

const saying: Answer<Saying> = {
  read: Schema.decodeUnknownResult(Saying, { onExcessProperty: "error" }),
  forms: '{"_tag":"Nothing"}, {"_tag":"Allow"}, {"_tag":"Deny","why":"…"} or {"_tag":"Rewrite","parameters":{…}}'
}

const addition: Answer<typeof Addition.Type> = {
  read: Schema.decodeUnknownResult(Addition, { onExcessProperty: "error" }),
  forms: '{} or {"content":[{"type":"text","text":"…"}]}'
}

/** What it is told. */
const told = (hook: "before" | "after", prepared: PreparedCall, result?: ToolResult) => {
  const { call, parameters, session, tool } = prepared
  return Effect.map(tool.encodeParameters(parameters), (parameters) =>
    JSON.stringify({
      hook,
      tool: tool.name,
      parameters,
      callId: call.callId,
      externalId: call.externalId,
      sessionId: session.id,
      workspace: session.workspace,
      result
    })
  )
}

const asked = <A>(
  processes: Processes["Service"],
  { command: [program, ...args], sandbox = off, timeoutMs = defaultTimeoutMs }: CommandHook,
  { session }: PreparedCall,
  input: string,
  { forms, read }: Answer<A>
): Effect.Effect<A, HookFailed> =>
  Effect.gen(function* () {
    const process = yield* Effect.mapError(
      processes
        .spawn({ program, args, input })
        .pipe(Effect.provideService(CurrentSession, session), Effect.provideService(CurrentSandbox, sandbox)),
      ({ message }) => new HookFailed({ why: message.replace(/\.$/, "") })
    )
    const stdout: Array<Uint8Array> = []
    const stderr = new BoundedText(maxTalk)
    let length = 0
    yield* Stream.runForEach(process.output, ({ bytes, stream }) => {
      if (stream === "stderr") {
        stderr.appendBytes(bytes)
        return Effect.void
      }
      stdout.push(bytes.slice())
      length += bytes.length
      return length <= maxAnswer ? Effect.void : failed(`it printed more than ${maxAnswer} bytes`, stderr)
    })
    const exit = yield* process.exit
    if (!isSuccess(exit)) return yield* failed(`it ${endOf(exit)}`, stderr)
    const json = parse(stdout)
    if (Result.isFailure(json)) return yield* failed(`${json.failure}; it prints ${forms}`, stderr)
    const answer = read(json.success)
    return Result.isSuccess(answer)
      ? answer.success
      : yield* failed(`what it printed does not fit; it prints ${forms}`, stderr)
  }).pipe(
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: timeoutMs,
      orElse: () => Effect.fail(new HookFailed({ why: `it had no answer after ${timeoutMs} ms` }))
    })
  )

const failed = (why: string, stderr: BoundedText) => {
  const said = PlainText.make(stderr.render().text).trim()
  return Effect.fail(new HookFailed({ why: said === "" ? why : `${why}. It says: ${said}` }))
}

const endOf = (exit: ExitStatus): string =>
  exit._tag === "Exited" ? `exited with ${exit.code}` : `was killed by ${exit.signal}`

/** Of what is no JSON, so much is shown, in UTF-16 code units. */
const maxShown = 100

/** UTF-16 code units of why it denies. More is no reason; less cuts off what to do instead. */
const maxWhy = 2_000

const shown = (text: string, units: number): string => PlainText.make(PlainText.take(text.trim(), units))

const parse = (chunks: ReadonlyArray<Uint8Array>): Result.Result<unknown, string> => {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  chunks.reduce((at, chunk) => (bytes.set(chunk, at), at + chunk.length), 0)
  const text = new TextDecoder().decode(bytes)
  return Result.try({
    try: (): unknown => JSON.parse(text),
    catch: () => (text.trim() === "" ? "it printed nothing" : `it printed no JSON: ${shown(text, maxShown)}`)
  })
}
