/**
 * `Processes` in the terminals of an editor, where the session's client offers them: its
 * user sees the command run, and may end it.
 *
 * What a terminal cannot do runs on this machine, as without it: a command that is given
 * an input, and one that a sandbox is asked for.
 *
 * Less than a process of this machine gives:
 *
 * - The output is one text, as the terminal shows it: all of it counts as stdout. Of more
 *   than 4 MiB between two looks the beginning is lost, and that is said in it.
 * - What the command leaves behind is not known, and the environment is the editor's: no
 *   variable is withheld.
 * - It is looked at ten times a second, and not held back by a slow reader.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Path } from "effect/Path"
import * as Stream from "effect/Stream"
import {
  type Command,
  type ExitStatus,
  type Output,
  type Process,
  Processes,
  SpawnFailed
} from "../../src/Processes.ts"
import { CurrentSandbox } from "../../src/Sandbox.ts"
import { CurrentSession } from "../../src/Session.ts"
import { CurrentToolCall } from "../../src/ToolCall.ts"
import { CurrentClient, type Terminal, type TerminalExit } from "./Client.ts"

/** Bytes that a terminal keeps of its output. More makes every look dearer: each brings all of it. */
const outputByteLimit = 4 * 1024 * 1024

/** In ms, between two looks at a short output, and at a long one. */
const lookMs = 100
const longLookMs = 1000

/** UTF-16 code units from which on an output is long. */
const long = 256 * 1024

/** UTF-16 code units by which it is found again where what was seen ended, when the beginning was dropped. */
const anchorUnits = 1024

/** How long a command that was killed may take to be gone, before its terminal is released anyway. */
const patience = "5 seconds"

/**
 * Over the processes of this machine.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Processes, never, Processes | Path> = Layer.effect(
  Processes,
  Effect.gen(function* () {
    const local = yield* Processes
    const path = yield* Path

    const spawn = Effect.fn("ClientTerminals.spawn")(function* (command: Command) {
      const client = yield* CurrentClient
      const sandbox = yield* CurrentSandbox
      if (client?.terminals === undefined || command.input !== undefined || sandbox.length > 0) {
        return yield* local.spawn(command)
      }
      const { terminals } = client
      const { workspace } = yield* CurrentSession
      const call = yield* Effect.serviceOption(CurrentToolCall)
      const running = yield* Effect.acquireRelease(
        Effect.map(
          Effect.mapError(
            terminals.create(
              {
                program: command.program,
                args: command.args,
                cwd: path.resolve(workspace, command.cwd ?? "."),
                env: command.env ?? {},
                outputByteLimit
              },
              Option.getOrUndefined(call)?.callId
            ),
            ({ message }) => new SpawnFailed({ reason: "Other", message: `${message} Nothing was run.` })
          ),
          (terminal) => new Running(terminal)
        ),
        (running) => running.end
      )
      yield* Effect.forkScoped(running.watch, { startImmediately: true })
      const process: Process = {
        // A terminal does not tell it.
        pid: 0,
        output: running.output,
        exit: running.exit,
        sweep: Effect.as(running.stop, []),
        withheld: []
      }
      return process
    })
    return Processes.of({ ...local, spawn })
  })
)

class Running {
  private readonly terminal: Terminal
  private readonly exited = Deferred.makeUnsafe<ExitStatus>()

  constructor(terminal: Terminal) {
    this.terminal = terminal
  }

  /** Waits for the exit, and tells it. */
  get watch(): Effect.Effect<void> {
    return Effect.flatMap(
      Effect.match(this.terminal.exit, { onFailure: () => hungUp, onSuccess: statusOf }),
      (status) => Deferred.succeed(this.exited, status)
    )
  }

  get exit(): Effect.Effect<ExitStatus> {
    return Deferred.await(this.exited)
  }

  /** The command is gone, or was given up. */
  get stop(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (yield* Deferred.isDone(this.exited)) return
      yield* Effect.ignore(this.terminal.kill)
      yield* Effect.timeoutOrElse(
        Effect.match(this.terminal.exit, { onFailure: () => hungUp, onSuccess: statusOf }).pipe(
          Effect.flatMap((status) => Deferred.succeed(this.exited, status))
        ),
        {
          duration: patience,
          orElse: () => Effect.logWarning(`the command in terminal ${this.terminal.id} was killed, and has not ended`)
        }
      )
    })
  }

  get end(): Effect.Effect<void> {
    return Effect.andThen(this.stop, Effect.ignore(this.terminal.release))
  }

  /** What is new at each look, and the rest after the exit. */
  get output(): Stream.Stream<Output> {
    const first: Looked = { seen: undefined, ended: false }
    return Stream.unfold(first, ({ ended, seen }) =>
      Effect.gen({ self: this }, function* () {
        if (ended) return undefined
        if (seen !== undefined) {
          yield* Effect.raceFirst(Effect.asVoid(this.exit), Effect.sleep(seen.length > long ? longLookMs : lookMs))
        }
        // In this order: what was written before the exit is there after it.
        const isLast = yield* Deferred.isDone(this.exited)
        const looked = yield* Effect.option(this.terminal.output)
        if (Option.isNone(looked)) return undefined
        const { text, truncated } = looked.value
        const bytes = new TextEncoder().encode(added(seen ?? "", text, truncated))
        const next: Looked = { seen: text, ended: isLast }
        return [{ stream: "stdout", bytes } as const, next] as const
      })
    ).pipe(Stream.filter(({ bytes }) => bytes.length > 0))
  }
}

/** What was there at the last look, and whether there is another one. */
interface Looked {
  readonly seen: string | undefined
  readonly ended: boolean
}

/** What a terminal that is closed does to what runs in it. */
const hungUp: ExitStatus = { _tag: "Signalled", signal: "SIGHUP" }

const statusOf = ({ code, signal }: TerminalExit): ExitStatus =>
  signal !== undefined || code === undefined
    ? { _tag: "Signalled", signal: signal ?? "SIGHUP" }
    : { _tag: "Exited", code }

/**
 * What is in an output that was not in it before. A terminal may show a line anew, as a progress bar does: then that
 * line and what follows are new.
 */
const added = (seen: string, text: string, truncated: boolean): string => {
  if (text.startsWith(seen)) return text.slice(seen.length)
  if (truncated) {
    const anchor = seen.slice(-anchorUnits)
    const at = anchor === "" ? -1 : text.lastIndexOf(anchor)
    return at < 0 ? `[… output that was not seen in time …]\n${text}` : text.slice(at + anchor.length)
  }
  const lineStart = text.slice(0, commonLength(text, seen)).lastIndexOf("\n") + 1
  return `${seen.endsWith("\n") ? "" : "\n"}${text.slice(lineStart)}`
}

const commonLength = (a: string, b: string): number => {
  const shorter = Math.min(a.length, b.length)
  for (let at = 0; at < shorter; at++) if (a[at] !== b[at]) return at
  return shorter
}
