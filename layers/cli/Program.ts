/**
 * The command line as a process: what it is given, and how it ends.
 *
 * @since 0.1.0
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Signals from "../node/Signals.ts"
import * as StandardStreams from "../node/StandardStreams.ts"
import * as CommandLine from "./CommandLine.ts"
import * as ExitStatus from "./ExitStatus.ts"
import * as TerminalLines from "./TerminalLines.ts"

/** Of code that nobody waits for: a plugin's, most likely. There is no call that it could be the end of. */
const broken = (error: unknown): void => {
  process.stderr.write(ExitStatus.lineOf(`internal error: ${error instanceof Error ? error.message : String(error)}`))
  process.exit(ExitStatus.internal)
}

/**
 * Runs the command line in this process, and ends it.
 *
 * @category running
 * @since 0.1.0
 */
export const start = (version: string, args: ReadonlyArray<string>): void => {
  process.on("uncaughtException", broken)
  process.on("unhandledRejection", broken)

  // A fiber that waits keeps no process alive.
  setInterval(() => {}, 2 ** 31 - 1)

  const services = Layer.mergeAll(
    Layer.provideMerge(TerminalLines.layer, NodeServices.layer),
    Signals.layer,
    StandardStreams.layer,
    // stdout is for data.
    Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])
  )

  Effect.runFork(Effect.provide(CommandLine.main(version, args), services)).addObserver((exit) => {
    // What was written has been written: every write was waited for.
    if (Exit.isSuccess(exit)) process.exit(exit.value)
    broken(Cause.squash(exit.cause))
  })
}
