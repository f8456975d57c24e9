/**
 * The command line as a process: what it is given, and how it ends.
 *
 * @since 0.1.0
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeStdio from "@effect/platform-node/NodeStdio"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Signals from "../node/Signals.ts"
import * as StandardStreams from "../node/StandardStreams.ts"
import * as ExitStatus from "./ExitStatus.ts"
import * as PlainArguments from "./PlainArguments.ts"
import * as TerminalLines from "./TerminalLines.ts"

/** Of code that nobody waits for: a plugin's, most likely. There is no call that it could be the end of. */
const broken = (error: unknown): void => {
  process.stderr.write(ExitStatus.lineOf(`internal error: ${error instanceof Error ? error.message : String(error)}`))
  process.exit(ExitStatus.internal)
}

/** What most subcommands ask of the platform. */
const platform = Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeStdio.layer)

const services = Layer.mergeAll(
  Layer.provideMerge(TerminalLines.layer, platform),
  Signals.layer,
  StandardStreams.layer,
  // stdout is for data.
  Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])
)

/** Loads what the arguments ask for, and no more. */
const program = async (version: () => string, args: ReadonlyArray<string>) => {
  const plain = PlainArguments.read(args)
  switch (plain?.command) {
    case "call": {
      const { command } = await import("./Call.ts")
      return ExitStatus.of(command(plain.given))
    }
    case "list": {
      const { command } = await import("./List.ts")
      return ExitStatus.of(command(plain.given))
    }
    case undefined: {
      const { main } = await import("./CommandLine.ts")
      return main(version(), args)
    }
  }
}

/**
 * Runs the command line in this process, and ends it.
 *
 * @category running
 * @since 0.1.0
 */
export const start = async (version: () => string, args: ReadonlyArray<string>): Promise<void> => {
  process.on("uncaughtException", broken)
  process.on("unhandledRejection", broken)

  // A fiber that waits keeps no process alive.
  setInterval(() => {}, 2 ** 31 - 1)

  Effect.runFork(Effect.provide(await program(version, args), services)).addObserver((exit) => {
    // What was written has been written: every write was waited for.
    if (Exit.isSuccess(exit)) process.exit(exit.value)
    broken(Cause.squash(exit.cause))
  })
}
