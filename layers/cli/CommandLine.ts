/**
 * The command line: its subcommands, their options, and what it prints about
 * itself. What a subcommand does is loaded when it is asked for.
 *
 * @since 0.1.0
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as InputFile from "../node/InputFile.ts"
import { Signals } from "../node/Signals.ts"
import { StandardStreams } from "../node/StandardStreams.ts"
import * as ExitStatus from "./ExitStatus.ts"
import { callArguments, kept, modelOptions, options, toggle } from "./Flags.ts"
import { reading } from "./PlatformReason.ts"
import { withJournal, withTools } from "./WithTools.ts"

/** Told where calls are made: a script has to know. */
const statuses =
  "Exit status: 0 if every call ended with a success (a command that exits 1 is one), 1 if some call failed or stdout " +
  "was closed, 2 if the options or the input cannot be used, 130 if interrupted."

const list = Command.make("list", options, (given) =>
  Effect.flatMap(
    Effect.promise(() => import("./List.ts")),
    (List) => List.command(given)
  )
).pipe(
  Command.withShortDescription("Show the tools"),
  Command.withDescription("Shows the tools and their parameters; with --json all that they say about themselves.")
)

const call = Command.make("call", callArguments, (given) =>
  Effect.flatMap(
    Effect.promise(() => import("./Call.ts")),
    (Call) => Call.command(given)
  )
).pipe(
  Command.withShortDescription("Call one tool"),
  Command.withDescription(
    "Calls one tool, and prints its progress as it comes, then the result. With --json every event is an object on a " +
      `line of its own.\n\n  ${statuses}`
  ),
  Command.withExamples([
    { command: `toolstream call grep '{"pattern":"TODO"}'`, description: "Search the current directory" },
    { command: `toolstream call bash '{"command":"npm test"}' --timeout 60000 --json`, description: "A minute at most" }
  ])
)

const run = Command.make(
  "run",
  {
    file: Argument.String("FILE").pipe(
      Argument.withDescription("JSON lines; - or nothing reads stdin"),
      Argument.withDefault("-")
    ),
    ...options,
    ...kept
  },
  (given) =>
    withJournal(
      given,
      Effect.gen(function* () {
        const { cancelAfter, file, json, timeout } = given
        const Run = yield* Effect.promise(() => import("./Run.ts"))
        const Printer = yield* Effect.promise(() => import("./Printer.ts"))
        const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
        const bytes = file === "-" ? reading("stdin", stdin) : reading(file, InputFile.stream(file))
        if (file === "-" && (yield* stdinIsTerminal)) {
          const { talk } = yield* StandardStreams
          yield* talk("Reading calls from the terminal, a JSON object a line. Ctrl-D ends the input.\n")
        }
        // What has been started is brought to its end, even if the rest cannot be read.
        let unread: ExitStatus.UsageError | undefined
        const input = Stream.catch(bytes, (error) => {
          unread = error
          return Stream.empty
        })
        const succeeded = yield* Run.run(input, {
          printer: json ? Printer.json : Printer.plainOfMany,
          merges: !json,
          cancelAfter,
          timeout
        })
        return unread === undefined ? succeeded : yield* unread
      })
    )
).pipe(
  Command.withShortDescription("Call many tools side by side"),
  Command.withDescription(
    'Runs a call for each line {"id", "name", "parameters", "after"}. A call starts when its line is read, unless ' +
      '"after" lists the ids of earlier lines: then it starts when these have ended, however they ended. Without an ' +
      `"id" it is the number of the line. Events are printed as they come.\n\n  ${statuses}`
  ),
  Command.withExamples([
    { command: "toolstream run turn.jsonl", description: "The calls of a file" },
    { command: "agent | toolstream run --json", description: "The calls of a program, each as soon as it is written" }
  ])
)

const trust = Command.make(
  "trust",
  {
    workspace: options.workspace,
    hash: Flag.String("hash").pipe(
      Flag.withMetavar("HASH"),
      Flag.withDescription("Of the file as you have read it: trusts it without a question, if it is still that one"),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    ),
    revoke: toggle("revoke", "Trust it no longer")
  },
  (given) =>
    Effect.gen(function* () {
      const status = yield* ExitStatus.ExitStatus
      const signals = yield* Signals
      const Trust = yield* Effect.promise(() => import("./Trust.ts"))
      const Workspace = yield* Effect.promise(() => import("./Workspace.ts"))
      const agreed = yield* Trust.run({ ...given, workspace: yield* Workspace.at(given.workspace) })
      yield* status.set(
        (yield* signals.received) ? ExitStatus.interrupted : agreed ? ExitStatus.succeeded : ExitStatus.failed
      )
    })
).pipe(
  Command.withShortDescription("Trust the file of rules of a workspace"),
  Command.withDescription(
    "Shows what .toolstream/permissions.json of the workspace allows and which hooks it has, and asks whether that is to " +
      "be in force. Changed by one byte, the file is not trusted any more."
  )
)

const { cancelAfter: _, ...agentOptions } = options
/** A server prints nothing but its protocol. */
const { json: _json, ...serverOptions } = agentOptions
/** What is made again has the clocks of its tool. */
const { timeout: _timeout, ...recoverOptions } = agentOptions

const agent = Command.make(
  "agent",
  {
    prompt: Argument.String("PROMPT").pipe(
      Argument.withDescription("What to do; - reads it from stdin; without one it is a chat"),
      Argument.optional,
      Argument.map(Option.getOrUndefined)
    ),
    resume: toggle("resume", "Take up the last conversation in the workspace again"),
    session: Flag.String("session").pipe(
      Flag.withMetavar("ID"),
      Flag.withDescription("Take up this conversation again"),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    ),
    ...modelOptions,
    ...agentOptions
  },
  (given) =>
    Effect.gen(function* () {
      const Agent = yield* Effect.promise(() => import("./Agent.ts"))
      const { stdin } = yield* Stdio.Stdio
      const path = yield* Path.Path
      const prompt =
        given.prompt === undefined
          ? undefined
          : given.prompt === "-"
            ? { bytes: reading("stdin", stdin) }
            : { text: given.prompt }
      const journal = yield* Agent.journal
      return yield* withTools({ ...given, journal }, Agent.run({ ...given, prompt }), (workspace) =>
        Effect.provideService(Agent.session(given, workspace), Path.Path, path)
      )
    })
).pipe(
  Command.withShortDescription("Have a model use the tools"),
  Command.withDescription(
    "Holds a conversation with a model that uses the tools: what it says on stdout, what its tools do on stderr. With " +
      "--json every event of a turn is an object on a line of its own. Ctrl-C stops the turn and keeps the " +
      "conversation. Keys are read from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, XAI_API_KEY, " +
      "OPENROUTER_API_KEY.\n\n  Exit status of a prompt: 0 if the model came to its end, 1 if it did not or gave no " +
      "response, 2 if the options cannot be used, 130 if interrupted."
  ),
  Command.withExamples([
    { command: `toolstream agent 'Why does the build fail?' --allow 'bash(npm *)'`, description: "One prompt" },
    { command: "toolstream agent --resume", description: "The last conversation here, as a chat" }
  ])
)

const permissions = Command.make(
  "permissions",
  {
    ...options,
    name: Argument.String("NAME").pipe(Argument.withDescription("The tool")),
    parameters: Argument.String("JSON").pipe(Argument.withDescription("Its parameters"), Argument.withDefault("{}"))
  },
  (given) =>
    withTools(
      given,
      Effect.gen(function* () {
        const Explain = yield* Effect.promise(() => import("./Explain.ts"))
        return yield* Explain.run(given)
      })
    )
).pipe(
  Command.withShortDescription("Explain what is decided of a call"),
  Command.withDescription(
    "Says what the rules decide of a call: which rule, where it stands, and why. Nothing is run, and nobody is asked."
  ),
  Command.withExamples([
    { command: `toolstream permissions bash '{"command":"git status | head"}'`, description: "Would it be asked for?" },
    { command: "toolstream permissions trust", description: "Let this workspace allow what its file says" }
  ]),
  Command.withSubcommands([trust])
)

const mcp = Command.make(
  "mcp",
  {
    ...serverOptions,
    http: Flag.Int("http").pipe(
      Flag.filter(
        (port) => port >= 0 && port <= 65_535,
        () => "a port from 0 to 65535"
      ),
      Flag.withMetavar("PORT"),
      Flag.withDescription("Serve many clients on this port (0: any that is free) instead of one on stdin"),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    ),
    host: Flag.String("host").pipe(
      Flag.withDefault("127.0.0.1"),
      Flag.withMetavar("HOST"),
      Flag.withDescription("The address to listen on; 127.0.0.1 by default")
    ),
    noAuth: toggle("no-auth", "Serve whoever reaches the port, without a token"),
    journal: Flag.String("journal").pipe(
      Flag.withMetavar("DIR"),
      Flag.withDescription("Keep what becomes of every call in this folder; long calls can go on as tasks then"),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    )
  },
  (given) =>
    withJournal(
      { ...given, asksCaller: true },
      Effect.gen(function* () {
        const Mcp = yield* Effect.promise(() => import("./Mcp.ts"))
        const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
        const version = yield* Version
        if (given.http === undefined && (yield* stdinIsTerminal)) {
          const { talk } = yield* StandardStreams
          yield* talk("This is for an MCP client to start, which writes to stdin, a message a line. Ctrl-D ends it.\n")
        }
        return yield* given.http === undefined
          ? Mcp.stdio(reading("stdin", stdin), { ...given, version })
          : Mcp.http({ ...given, version, port: given.http, auth: !given.noAuth })
      })
    )
).pipe(
  Command.withShortDescription("Serve the tools over MCP"),
  Command.withDescription(
    "Serves the tools to an MCP client on stdin and stdout, or to many on a port. What has to be asked for is asked of the " +
      "client's user, if the client can show forms; else it is refused, unless a rule allows it. On stdin it ends when " +
      "the input does, with status 0.\n\n  On a port clients need the token that is printed on stderr, or the one in " +
      "TOOLSTREAM_MCP_TOKEN, as `Authorization: Bearer TOKEN`. A client works in a folder of the workspace with " +
      "?workspace=DIR in its URL, and in a session of its own with ?session=NAME, if its revision of the protocol has none."
  ),
  Command.withExamples([
    { command: "toolstream mcp --allow 'bash(npm test)'", description: "As an MCP client starts it" },
    { command: "toolstream mcp --http 7777", description: "For many clients, at http://127.0.0.1:7777/mcp" }
  ])
)

const journal = Command.make(
  "journal",
  {
    directory: Argument.String("DIR").pipe(Argument.withDescription("The folder of a journal")),
    follow: toggle("follow", "Go on with every call that starts or ends, until Ctrl-C"),
    recover: toggle("recover", "End every call that a process left open, or make it again where that is safe"),
    ...recoverOptions
  },
  (given) =>
    Effect.gen(function* () {
      const status = yield* ExitStatus.ExitStatus
      const signals = yield* Signals
      const Journal = yield* Effect.promise(() => import("./Journal.ts"))
      if (given.recover && given.follow) {
        return yield* new ExitStatus.UsageError({ message: "--recover and --follow are two commands" })
      }
      if (given.recover) return yield* withTools({ ...given, journal: given.directory }, Journal.recover(given))
      const whole = yield* Journal.show(given)
      yield* status.set(
        (yield* signals.received) ? ExitStatus.interrupted : whole ? ExitStatus.succeeded : ExitStatus.failed
      )
    })
).pipe(
  Command.withShortDescription("Show the calls of a journal, or recover them"),
  Command.withDescription(
    "Shows every call that a journal has, by session: when it was accepted, how far it came or how it ended. With --json " +
      "each is an object on a line of its own. Lines that are not what was written are told, and the status is 1.\n\n  " +
      "With --recover every call that a dead process left open is ended, or made again if its tool is safe to repeat."
  ),
  Command.withExamples([
    { command: "toolstream run turn.jsonl --journal j", description: "Keep what becomes of these calls" },
    { command: "toolstream journal j --recover", description: "After a crash" }
  ])
)

const acp = Command.make(
  "acp",
  {
    ...serverOptions,
    ...kept,
    ...modelOptions
  },
  (given) =>
    Effect.gen(function* () {
      const Acp = yield* Effect.tryPromise({
        try: () => import("./Acp.ts"),
        catch: () =>
          new ExitStatus.UsageError({
            message: "the package @agentclientprotocol/sdk is missing. Install it beside toolstream"
          })
      })
      const { stdin } = yield* Stdio.Stdio
      return yield* withTools(
        { ...given, asksCaller: true, ports: Acp.ports },
        Acp.stdio(reading("stdin", stdin), { ...given, version: yield* Version })
      )
    })
).pipe(
  Command.withShortDescription("Be the agent of an editor"),
  Command.withDescription(
    "Serves a model that uses the tools to an editor that speaks the Agent Client Protocol, on stdin and stdout. Each " +
      "session works in the folder that the editor opens, asks in the editor, and reads and writes its buffers and uses " +
      "its terminals where it offers them. It ends when stdin does, with status 0."
  ),
  Command.withExamples([
    { command: "toolstream acp --model anthropic/claude-sonnet-4-5", description: "As an editor starts it" }
  ])
)

const command = Command.make("toolstream").pipe(
  Command.withDescription("Runs the tools that AI agents call: progress as it comes, then exactly one result."),
  Command.withSubcommands([list, call, run, agent, permissions, mcp, acp, journal])
)

/** Of this program. */
class Version extends Context.Service<Version, string>()("toolstream/cli/Version") {}

/** What `--help`, `--version` and usage errors look like. Only what was asked for is data. */
const presenter = Effect.gen(function* () {
  const { talk, write } = yield* StandardStreams
  const status = yield* ExitStatus.ExitStatus
  const { canColor } = yield* TerminalCapabilities.TerminalCapabilities
  const { formatHelpDoc } = CliOutput.defaultFormatter({ colors: canColor })
  const asked = (text: string) =>
    Effect.catch(write(`${text}\n`), (error) =>
      Effect.andThen(talk(ExitStatus.lineOf(error.message)), status.set(ExitStatus.failed))
    )
  return CliOutput.layerPresenter({
    present: (event) => {
      switch (event._tag) {
        case "Version":
          return asked(`${event.name} ${event.version}`)
        case "Help":
          return event.reason === "Requested"
            ? asked(formatHelpDoc(event.helpDoc))
            : talk(`${formatHelpDoc(event.helpDoc)}\n`)
        case "InvalidInvocation":
          return talk(
            event.errors.map(({ message }) => ExitStatus.lineOf(message)).join("") +
              `Usage: ${event.helpDoc.usage}\nSee ${event.commandPath.join(" ")} --help\n`
          )
      }
    }
  })
})

/**
 * Runs the command line. Gives the status to exit with; what there is to say about a failure has been said.
 *
 * @category running
 * @since 0.1.0
 */
export const main = (version: string, args: ReadonlyArray<string>) =>
  Command.runWith(command, { version })(args).pipe(
    Effect.provide(Layer.unwrap(presenter)),
    Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })),
    Effect.provideService(Version, version),
    ExitStatus.of,
    Effect.provide(NodeServices.layer)
  )
