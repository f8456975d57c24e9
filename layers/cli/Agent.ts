/**
 * `agent`: a conversation with a model that uses the tools: one prompt, or a chat.
 *
 * **Contract**
 *
 * - Ctrl-C ends the turn, and not the conversation: its calls are cancelled and have their
 *   results. A second one, before that is done, ends the program.
 * - What is typed at a terminal while a turn runs is said in it, after the results of the
 *   calls that run. Where a question is asked, it is the answer.
 * - The conversation is kept in a file, and taken up again with `--resume`. Calls that a crash left open are ended by
 *   what their journal knows.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schedule from "effect/Schedule"
import * as Stdio from "effect/Stdio"
import type * as Stream from "effect/Stream"
import { CurrentClocks } from "../../src/Clocks.ts"
import { Records } from "../../src/Journal.ts"
import * as PlainText from "../../src/PlainText.ts"
import { CurrentSession } from "../../src/Session.ts"
import { text } from "../../src/ToolContent.ts"
import * as ToolStream from "../../src/ToolStream.ts"
import * as Compaction from "../agent/Compaction.ts"
import * as Conversation from "../agent/Conversation.ts"
import type * as History from "../agent/History.ts"
import * as Recall from "../agent/Recall.ts"
import type { TurnResult } from "../agent/Turn.ts"
import * as SessionFiles from "../node/SessionFiles.ts"
import { Signals } from "../node/Signals.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import * as AgentPrinter from "./AgentPrinter.ts"
import * as ExitStatus from "./ExitStatus.ts"
import * as JsonLines from "../JsonLines.ts"
import * as Models from "./Models.ts"
import * as TerminalLines from "./TerminalLines.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options<E, R> {
  /** Undefined for a chat. */
  readonly prompt: { readonly text: string } | { readonly bytes: Stream.Stream<Uint8Array, E, R> } | undefined
  readonly model: string | undefined
  readonly baseUrl: string | undefined
  readonly json: boolean
  /** Tokens that the model can read. */
  readonly contextTokens: number
  /** Responses in a turn. */
  readonly maxSamples: number | undefined
  /** The total clock in ms, of each call. */
  readonly timeout: number | undefined
}

/** Between two attempts to cancel a turn that has not begun yet, in ms. */
const again = 2

/**
 * What a model is told of its work.
 *
 * @category constructors
 * @since 0.1.0
 */
export const system = (workspace: string) =>
  `You are an agent that works with tools in the directory ${workspace}. Use them to find out what is so before you say ` +
  "it, and to do what you are asked for. Call several at once where none needs the result of another. Paths are " +
  "relative to that directory. When a call is refused, interrupted or fails, its result says what was done and what " +
  "was not: go by it. Change nothing that you were not asked to change. When you are done, say in few words what you " +
  "did, and what you did not."

/**
 * Where conversations are kept.
 *
 * @category constructors
 * @since 0.1.0
 */
export const folder = Effect.gen(function* () {
  const path = yield* Path.Path
  const home = yield* Config.String("HOME").pipe(Config.withDefault("/"))
  const given = yield* Config.String("XDG_STATE_HOME").pipe(Config.withDefault(""))
  // A relative one is to be ignored, says the XDG Base Directory Specification 0.8.
  return path.join(path.isAbsolute(given) ? given : path.join(home, ".local", "state"), "toolstream", "sessions")
}).pipe(Effect.orDie)

/**
 * Where the journal of the calls of each conversation is.
 *
 * @category constructors
 * @since 0.1.0
 */
export const journal = Effect.gen(function* () {
  const path = yield* Path.Path
  const kept = yield* folder
  return (sessionId: string) => path.join(kept, `${sessionId}.journal`)
})

/** What is known of the calls that were open when the conversation was left. */
const recall = Effect.gen(function* () {
  const records = yield* Effect.serviceOption(Records)
  return Option.isSome(records) ? yield* Effect.provideService(Recall.make, Records, records.value) : undefined
}).pipe(Effect.catch((error) => Effect.as(Effect.logWarning(error.message), undefined)))

/**
 * The conversation that is taken up again: the one with this id, or the last one of the workspace; undefined for a new one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const session = Effect.fn("cli.agent.session")(function* (
  { resume, session }: { readonly resume: boolean; readonly session: string | undefined },
  workspace: string
) {
  if (!resume && session === undefined) return undefined
  const kept = yield* folder
  if (session !== undefined) {
    if (Option.isSome(yield* SessionFiles.records(kept, session))) return session
    return yield* new ExitStatus.UsageError({ message: `--session ${session}: there is none in ${kept}` })
  }
  const latest = yield* SessionFiles.latest(kept, workspace)
  if (Option.isSome(latest)) return latest.value
  return yield* new ExitStatus.UsageError({ message: `--resume: no conversation was held in ${workspace}` })
})

/**
 * Holds the conversation. Gives the status to exit with.
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fn("cli.agent")(function* <E, R>(options: Options<E, R>) {
  const sampler = yield* Layer.build(Models.layer(options))
  const { id, workspace } = yield* CurrentSession
  const streams = yield* StandardStreams
  const signals = yield* Signals
  const lines = yield* TerminalLines.TerminalLines
  const { stdinIsTerminal } = yield* Stdio.Stdio
  const interactive = options.prompt === undefined && (yield* stdinIsTerminal)
  const kept = yield* folder
  const before = Option.getOrElse(yield* SessionFiles.records(kept, id), () => [])
  const conversation = yield* Effect.provideContext(
    Conversation.make({
      system: system(workspace),
      limits: { samples: options.maxSamples },
      compaction: Compaction.summarising({ contextTokens: options.contextTokens }),
      wakes: options.prompt === undefined,
      log: SessionFiles.open(kept, { sessionId: id, workspace }),
      records: before,
      recover: before.length === 0 ? undefined : yield* recall
    }),
    sampler
  )
  const printer = (options.json ? AgentPrinter.json : AgentPrinter.plain)(streams)

  /** One turn, to its end. Undefined, if the model gave no response. */
  const turn = Effect.scoped(
    Effect.gen(function* () {
      const interrupted = yield* signals.interrupts
      const cancel = Effect.flatMap(Effect.raceFirst(interrupted, signals.first), (why) =>
        Effect.repeat(conversation.cancel(why), {
          until: (cancelled) => cancelled,
          schedule: Schedule.spaced(again)
        })
      )
      const run = ToolStream.runForEachArray(conversation.turn, printer.events)
      const follow = interactive ? said(lines, conversation) : Effect.never
      const result = yield* Effect.raceFirst(run, Effect.raceFirst(Effect.andThen(cancel, Effect.never), follow))
      yield* printer.ended(result)
      return result
    })
  ).pipe(
    Effect.provideService(CurrentClocks, options.timeout === undefined ? {} : { total: options.timeout }),
    Effect.catchTag("SamplerError", (error) => Effect.as(printer.failed(error), undefined))
  )

  if (options.prompt !== undefined) {
    const { text: prompt, unreadable } =
      "text" in options.prompt
        ? { ...options.prompt, unreadable: undefined }
        : { unreadable: undefined, ...(yield* JsonLines.whole(options.prompt.bytes)) }
    if (unreadable !== undefined) return yield* new ExitStatus.UsageError({ message: `the prompt: ${unreadable}` })
    if (prompt.trim() === "") return yield* new ExitStatus.UsageError({ message: "the prompt is empty" })
    yield* conversation.say([text(prompt)])
    return statusOf(yield* turn)
  }

  if (interactive) {
    yield* streams.talk(
      `${before.length === 0 ? "A new conversation" : "The conversation goes on"}: ${id}, in ${PlainText.makeLine(workspace)}\n` +
        `Ctrl-C stops a turn, Ctrl-D ends the conversation.\n${lastOf(yield* conversation.history)}`
    )
  }
  // What was waiting for an answer when it was left gets one.
  if (before.length > 0) yield* turn
  for (;;) {
    if (interactive) yield* streams.talk("\n> ")
    const next = yield* Effect.raceFirst(
      Effect.raceFirst(
        Effect.match(lines.next, {
          onFailure: () => ({ _tag: "Over" as const }),
          onSuccess: (line) => ({ _tag: "Line" as const, line })
        }),
        Effect.as(conversation.woken, { _tag: "Woken" as const })
      ),
      Effect.as(signals.first, { _tag: "Ended" as const })
    )
    if (next._tag !== "Line" && next._tag !== "Woken") {
      if (interactive) yield* streams.talk("\n")
      return next._tag === "Over" ? ExitStatus.succeeded : ExitStatus.interrupted
    }
    if (next._tag === "Line") {
      if (next.line.trim() === "") continue
      yield* conversation.say([text(next.line)])
    }
    yield* turn
    if (yield* signals.received) return ExitStatus.interrupted
  }
})

/** UTF-16 code units of what was said last that are shown when a conversation goes on. */
const maxLast = 600

/** What was said last, for whoever goes on with it. */
const lastOf = (history: History.History): string => {
  const asked = history.findLastIndex((item) => item._tag === "Message" && item.from === "user")
  if (asked < 0) return ""
  const texts = history
    .slice(asked)
    .flatMap((item) =>
      item._tag === "Message"
        ? item.from === "user"
          ? [`> ${item.content.map((part) => (part.type === "text" ? part.text : "")).join(" ")}`]
          : []
        : item.parts.flatMap((part) => (part.type === "text" && part.text.trim() !== "" ? [part.text.trim()] : []))
    )
  return `\n${texts.map((text) => `${PlainText.take(PlainText.make(text), maxLast)}\n`).join("")}`
}

/** What is typed while a turn runs. */
const said = (
  lines: TerminalLines.TerminalLines["Service"],
  conversation: Conversation.Conversation
): Effect.Effect<never> =>
  Effect.matchEffect(
    Effect.flatMap(lines.next, (line) => (line.trim() === "" ? Effect.void : conversation.say([text(line)]))),
    { onFailure: () => Effect.never, onSuccess: () => said(lines, conversation) }
  )

const statusOf = (result: TurnResult | undefined): number => {
  switch (result?.stop._tag) {
    case "End":
      return ExitStatus.succeeded
    case "Cancelled":
      return ExitStatus.interrupted
    default:
      return ExitStatus.failed
  }
}
